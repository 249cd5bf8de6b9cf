"""The class report."""

import re

from autograder.course import Course
from autograder.reports.class_report import build_stage_reports
from autograder.reports.html import class_page
from autograder.results import CheckResult, Diagnosis, Outcome, Results, Status
from tests.factories import MakeCheck, MakeResults, MakeSubmission, WriteCourse


def words(page: str) -> str:
    """The text of *page* with single spaces."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def test_the_class_is_summed_up(tiny: Course, graded_class: Results):
    """How many, how many were graded, and the median."""
    text = words(class_page(tiny, graded_class))

    assert "5 submissions, isolation full" in text
    assert "submissions 5 graded 3 full marks 1 median 50 % mean 50 %" in text


def test_scores_are_drawn_and_listed(tiny: Course, graded_class: Results):
    """A histogram, and the same numbers as a table."""
    page = class_page(tiny, graded_class)

    assert len(re.findall("<rect ", page)) == 3
    assert "0 to 9 1 10 to 19 0" in words(page)
    assert "50 to 59 1" in words(page)
    assert "90 to 99 0 100 1" in words(page)


def test_each_exercise_shows_how_many_have_all_its_points(tiny: Course, graded_class: Results):
    """Of those that were graded."""
    assert "double 1 of 3 33 %" in words(class_page(tiny, graded_class))


def test_misconceptions_are_counted_by_students_and_checks(tiny: Course, graded_class: Results):
    """Each row has the number of students and of checks."""
    text = words(class_page(tiny, graded_class))

    assert "The scores are not scaled . 2 2" in text
    assert "forgets" not in text


def test_one_mistake_in_two_variants_is_one_mistake(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """The same explanation in `v1` and `v2` of a module is counted once."""
    checks = (
        check(Outcome.FAILED, diagnosis=Diagnosis(name, "Not scaled.", "Why?"))
        for name in ("forgets_in_v2", "forgets")
    )
    text = words(class_page(tiny, results(submission(*checks))))

    assert "Not scaled . 1 2" in text
    assert text.count("Not scaled .") == 1


def test_what_the_grader_can_not_decide_needs_manual_review(tiny: Course, graded_class: Results):
    """Unreadable files and grader errors, with the reason, but no ordinary wrong answer."""
    page = class_page(tiny, graded_class)
    listed = words(
        page[page.index("Submissions that need manual review") : page.index("Exercises</h3>")]
    )

    assert "ruth unreadable: Nothing was handed in." in listed
    assert "zoe grader-error: Ours." in listed
    assert "emmy" not in listed


def test_every_submission_links_to_its_page(tiny: Course, graded_class: Results):
    """It shows points, or "none" where there is no grade."""
    page = class_page(tiny, graded_class)

    assert '<a href="ada--01-tiny.html"><bdi>ada</bdi></a>' in page
    assert "ada 2 / 2" in words(page)
    assert "zoe grader-error grader-error: Ours. none" in words(page)


def test_each_stage_has_a_section_in_the_order_of_the_course(
    write_course: WriteCourse, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """A submission without a stage comes last."""
    course = write_course(stages=("02_tiny", "01_tiny"))
    run = results(*(submission(check(), stage=stage) for stage in ("", "01_tiny", "02_tiny")))
    page = class_page(course, run)

    assert re.findall(r'href="(alice[^"]+)"', page) == [
        "alice--02-tiny.html",
        "alice--01-tiny.html",
        "alice--no-stage.html",
    ]
    assert "Stage unknown" in page


def test_a_run_without_submissions_says_so(tiny: Course, results: MakeResults):
    """An empty folder is no error."""
    assert "Nothing was graded in this run." in class_page(tiny, results())


def test_a_class_that_could_not_be_graded_has_no_median(
    tiny: Course, submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
):
    """No number is made up."""
    run = results(
        submission(status=Status.UNREADABLE), submission(failed_check, status=Status.TIMEOUT)
    )
    text = words(class_page(tiny, results(run.submissions[0])))

    assert "submissions 1 graded 0" in text
    assert "median" not in text
    assert "median" in words(class_page(tiny, run))


def test_the_report_is_values_before_it_is_a_page(tiny: Course, graded_class: Results):
    """Two of five submissions need manual review, each with the page that was named for it."""
    pages = [f"{number}.html" for number in range(5)]
    (stage,) = build_stage_reports(tiny, graded_class, pages)

    assert [row.page for row in stage.rows] == pages
    assert [row.student for row in stage.review] == ["ruth", "zoe"]


def test_points_that_are_carried_forward_are_counted_apart(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    results: MakeResults,
    carried_check: CheckResult,
):
    """In the sums of the stage, and behind the score of the submission."""
    text = words(class_page(tiny, results(submission(check(), carried_check), submission(check()))))

    assert "points carried forward 2" in text
    assert "4 / 4 2 carried forward" in text
    assert text.count("carried forward") == 2
