"""Lists the submissions that need manual review in a CSV file, one row for each reason."""

from collections.abc import Mapping

from autograder.exports.export_file import ExportFile, csv_content, csv_id, csv_text
from autograder.reports.manual_review import review_reasons
from autograder.reports.page_names import page_names
from autograder.results import Results
from autograder.sanitize import MAX_SENTENCE
from autograder.stored_results import scores_of

HEADER = ("student", "name", "stage", "points", "reason", "page")


def review_csv(results: Results, names: Mapping[str, str]) -> ExportFile:
    """Return a row for each reason to read a submission; *names* maps ids to known names."""
    rows = [HEADER]
    pages = page_names(scores_of(results))
    for page, result in zip(pages, results.submissions, strict=True):
        points = f"{result.score:g}" if result.max_score else ""
        who = csv_id(result.student), csv_text(names.get(result.student, ""))
        rows += [
            (*who, csv_id(result.stage), points, csv_text(reason, MAX_SENTENCE), page)
            for reason in review_reasons(result)
        ]
    return ExportFile(csv_content(rows))
