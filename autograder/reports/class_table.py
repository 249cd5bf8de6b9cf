"""The class as a table in the terminal."""

from rich.table import Table
from rich.text import Text

from autograder.results import Outcome, Results, Status, SubmissionResult
from autograder.sanitize import sanitize


def table(results: Results) -> Table:
    """Lay out one row a submission: who, what, how many points, and what is wrong first."""
    view = Table(title=_title(results), title_justify="left", box=None, pad_edge=False)
    view.add_column("student", overflow="fold")
    view.add_column("stage", overflow="fold")
    view.add_column("points", justify="right", no_wrap=True)
    view.add_column("first trouble", overflow="fold", ratio=1)
    for result in map(sanitize, results.submissions):
        view.add_row(
            Text(result.student), Text(result.stage or "?"), _points(result), Text(trouble(result))
        )
    return view


def trouble(result: SubmissionResult) -> str:
    """Say the first thing that went wrong, in one line; empty where all is well."""
    if result.status is not Status.GRADED:
        return f"{result.status}: {_line(result.message)}"
    for exercise in result.exercises:
        for check in exercise.checks:
            if check.outcome is not Outcome.PASSED:
                told = check.diagnosis.explanation if check.diagnosis else check.message
                return f"{exercise.name}: {_line(told)}"
    return ""


def _title(results: Results) -> str:
    count = len(results.submissions)
    return f"{count} submission{'' if count == 1 else 's'}, isolation {results.isolation}"


def _points(result: SubmissionResult) -> Text:
    if result.score is None or result.max_score is None:
        return Text("none", style="red" if result.status is Status.GRADER_ERROR else "yellow")
    full = result.score == result.max_score
    return Text(f"{result.score:g} / {result.max_score:g}", style="green" if full else "")


def _line(message: str) -> str:
    return message.strip().partition("\n")[0]
