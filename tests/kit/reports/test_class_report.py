"""Tests the class report, and the class as a table in the terminal."""

import io
import re

import pytest
from rich.console import Console

from autograder.course import Course
from autograder.reports.class_report import (
    GuessedChoice,
    GuessedQuestion,
    build_stage_reports,
    class_table,
    missing_labs,
    page_names,
)
from autograder.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Flag,
    FlagKind,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission, WriteCourse, class_page_of


def words(page: str) -> str:
    """The text of *page* with single spaces."""
    return " ".join(re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def test_the_class_is_summed_up(tiny: Course, graded_class: Results):
    """The summary has the number of submissions, the graded ones, and the median."""
    text = words(class_page_of(tiny, graded_class))

    assert "5 submissions, isolation full" in text
    assert "submissions 5 graded 3 full marks 1 median 50 % mean 50 %" in text


def test_scores_are_drawn_and_listed(tiny: Course, graded_class: Results):
    """Scores are shown as a histogram and as a table with the same numbers."""
    page = class_page_of(tiny, graded_class)

    assert len(re.findall("<rect ", page)) == 3
    assert "0 to 9 1 10 to 19 0" in words(page)
    assert "50 to 59 1" in words(page)
    assert "90 to 99 0 100 1" in words(page)


def test_each_exercise_shows_how_many_have_all_its_points(tiny: Course, graded_class: Results):
    """The share of full marks counts only graded submissions."""
    assert "double 1 of 3 33 %" in words(class_page_of(tiny, graded_class))


def test_a_mistake_leads_to_its_students_and_its_exercise(tiny: Course, graded_class: Results):
    """A row has the question for the class, links to the exercise, and to each student's page."""
    page = class_page_of(tiny, graded_class)
    row = page[page.index("What to teach next") : page.index("Submissions that need")]

    assert "The scores are not scaled . Ask the class: How long are the vectors?" in words(row)
    assert 'href="#exercise-1-1"' in row
    assert '<tr id="exercise-1-1">' in page
    assert '<a href="alan--01-tiny.html#exercise-1"><bdi>alan</bdi></a>' in row
    assert '<a href="emmy--01-tiny.html#exercise-1"><bdi>emmy</bdi></a>' in row


def test_all_mistakes_are_listed(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """The first ten mistakes are visible, and all others are in a fold with their number."""
    checks = [
        check(Outcome.FAILED, diagnosis=Diagnosis(f"m{i}", f"Mistake {i:02}.", "Why?"))
        for i in range(12)
    ]
    page = class_page_of(tiny, results(submission(*checks)))
    shown, folded = page.split("<details><summary>2 more mistakes</summary>")

    assert [f"Mistake {i:02}<" in shown for i in range(12)] == [True] * 10 + [False] * 2
    assert "Mistake 11<" in folded


def test_what_the_grader_cannot_decide_needs_manual_review(tiny: Course, graded_class: Results):
    """Manual review lists unreadable files and grader errors, but no ordinary wrong answers."""
    page = class_page_of(tiny, graded_class)
    listed = words(
        page[page.index("Submissions that need manual review") : page.index("Exercises</h3>")]
    )

    assert "ruth unreadable: Nothing was submitted." in listed
    assert "zoe grader-error: Ours." in listed
    assert "emmy" not in listed


def test_missing_written_answers_are_counted(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """The page counts and filters missing answers, and the terminal has a line for the stage."""
    notice = "No lab.ipynb was submitted, so the written answers (4 points) count as missing."
    flags = (Flag(FlagKind.NO_LAB, notice),)
    run = results(submission(check(), flags=flags), submission(check(), student="bob"))
    page = class_page_of(tiny, run)

    assert "without written answers 1" in words(page)
    assert page.count('data-states="full nolab"') == 1
    assert list(missing_labs(run)) == [
        "01_tiny: 1 submission has no lab.ipynb, so the written answers count as missing."
    ]


def test_the_table_in_the_terminal_has_names(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """A student has the name and the id, or the id alone."""
    run = results(submission(check(), student="s7"), submission(check(), student="bob"))
    table = class_table(run, {"s7": "Ada King"})

    assert [str(cell) for cell in table.columns[0].cells] == ["Ada King (s7)", "bob"]


def test_every_submission_links_to_its_page(tiny: Course, graded_class: Results):
    """A submission shows its points, or "none" if there is no grade, and links to its page."""
    page = class_page_of(tiny, graded_class)

    assert '<a href="ada--01-tiny.html"><bdi>ada</bdi></a>' in page
    assert "ada 2 / 2" in words(page)
    assert "zoe grader-error grader-error: Ours. none" in words(page)


def test_each_stage_has_a_section_in_the_order_of_the_course(
    write_course: WriteCourse, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Stages are in the order of the course, and submissions without a stage come last."""
    course = write_course(stages=("02_tiny", "01_tiny"))
    run = results(*(submission(check(), stage=stage) for stage in ("", "01_tiny", "02_tiny")))
    page = class_page_of(course, run)

    assert re.findall(r'href="(alice[^"]+)"', page) == [
        "alice--02-tiny.html",
        "alice--01-tiny.html",
        "alice--no-stage.html",
    ]
    assert "Stage unknown" in page


def test_a_run_without_submissions_says_so(tiny: Course, results: MakeResults):
    """An empty folder is reported and is not an error."""
    assert "Nothing was graded in this run." in class_page_of(tiny, results())


def test_a_class_that_could_not_be_graded_has_no_median(
    tiny: Course, submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
):
    """A class without grades has no median."""
    run = results(
        submission(status=Status.UNREADABLE), submission(failed_check, status=Status.TIMEOUT)
    )
    text = words(class_page_of(tiny, results(run.submissions[0])))

    assert "submissions 1 graded 0" in text
    assert "median" not in text
    assert "median" in words(class_page_of(tiny, run))


def test_the_report_is_values_before_it_is_a_page(tiny: Course, graded_class: Results):
    """Two of five submissions need manual review, and each row has the name of its page."""
    (stage,) = build_stage_reports(tiny, graded_class, {})

    assert [row.page for row in stage.rows] == page_names(graded_class.submissions)
    assert [row.student for row in stage.review] == ["ruth", "zoe"]


def test_points_with_right_neighbours_are_counted_apart(
    tiny: Course,
    check: MakeCheck,
    submission: MakeSubmission,
    results: MakeResults,
    given_check: CheckResult,
):
    """Points with our code are in the sums of the stage and after each score."""
    text = words(
        class_page_of(tiny, results(submission(check(), given_check), submission(check())))
    )

    assert "points with right neighbours 2" in text
    assert "4 / 4 2 with right neighbours" in text
    assert text.count("right neighbours") == 2


def table_check(outcome: Outcome, message: str = "") -> CheckResult:
    """A check worth two points."""
    points = 2.0 if outcome is Outcome.PASSED else 0.0
    status = Status.OK if outcome is Outcome.PASSED else Status.WRONG_VALUE
    return CheckResult(
        name="test_a", title="a", outcome=outcome, status=status, points=points, max_points=2.0,
        message=message,
    )  # fmt: skip


def table_submission(*checks: CheckResult, status: Status = Status.GRADED, **changed: object):
    """A submission of one exercise."""
    exercise = ExerciseResult.of("double", checks)
    facts = {"score": exercise.score, "max_score": exercise.max_score, "exercises": (exercise,)}
    return SubmissionResult(student="alice", stage="01_tiny", status=status, **(facts | changed))


def shown(*submissions: SubmissionResult) -> str:
    """The table as a terminal of 100 columns shows it."""
    console = Console(file=io.StringIO(), width=100)
    results = Results(course="tiny", isolation="full", submissions=submissions)
    console.print(class_table(results, {}))
    return console.file.getvalue()


def test_a_row_says_who_what_and_how_many_points():
    """The table has a row for each submission, and a title with their number."""
    text = shown(
        table_submission(table_check(Outcome.PASSED), table_check(Outcome.FAILED, "It differs."))
    )

    assert "1 submission, isolation full" in text
    assert "alice    01_tiny   2 / 4  double: It differs." in text


def test_no_grade_is_not_a_zero():
    """After a grader error, the table shows "none" in place of points."""
    failed = table_submission(
        status=Status.GRADER_ERROR, score=None, max_score=None, message="Ours."
    )

    assert "none" in shown(failed)
    assert "0 / " not in shown(failed)


def test_a_students_text_is_not_markup():
    """Brackets and colors in names and messages are shown as they are."""
    text = shown(table_submission(table_check(Outcome.FAILED, "raised KeyError: [red]x[/red]")))

    assert "[red]x[/red]" in text


def test_names_stand_in_the_place_of_ids(tiny: Course, graded_class: Results):
    """The class report shows the name above the id, or the id alone if there is no name."""
    page = class_page_of(tiny, graded_class, {"ada": "Ada Lovelace", "alan": "\u202eAlan"})

    assert '<a href="ada--01-tiny.html"><bdi>Ada Lovelace</bdi></a>' in page
    assert "Ada Lovelace ada 2 / 2" in words(page)
    assert "<bdi>emmy</bdi>" in page
    assert "\u202e" not in page


def test_each_check_has_its_statistics(
    tiny: Course, check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """A check has its share and difficulty, and a dash without a correlation."""
    outcomes = (Outcome.PASSED, Outcome.PASSED, Outcome.FAILED)
    text = words(class_page_of(tiny, results(*(submission(check(item)) for item in outcomes))))

    assert "double Twice one is two. 2 of 3 67 % 33 % \N{EN DASH}" in text
    assert "It is shown for at least 20 submissions" in text


def test_the_same_file_is_shown_without_a_claim(
    tiny: Course, submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
):
    """Both students with the same file are shown, without a claim about the author."""
    run = results(*(submission(failed_check, student=name, sha256="s") for name in ("ada", "bob")))
    text = words(class_page_of(tiny, run))

    assert "2 submissions of the same file ada , bob" in text
    assert "equal code does not show who wrote it" in text
    assert not re.search("cheat|plagiar|copied", text)


def test_the_first_trouble_is_never_hidden(tiny: Course, graded_class: Results):
    """On a phone the first problem is below the name and not hidden."""
    page = class_page_of(tiny, graded_class)

    assert page.count('class="problem small soft"') == 5
    assert re.search(r"\.submissions \.problem \{ grid-area: 2", page)


@pytest.mark.parametrize(
    ("facts", "states"),
    [
        pytest.param({"score": 2.0, "max_score": 2.0}, "full", id="full"),
        pytest.param({"score": 1.0, "max_score": 2.0}, "open", id="points-missing"),
        pytest.param({"status": Status.UNREADABLE}, "none review", id="no-grade"),
    ],
)
def test_a_row_has_the_words_by_which_it_is_filtered(
    tiny: Course, submission: MakeSubmission, results: MakeResults, facts: dict, states: str
):
    """A row of the report holds the words that the script filters by."""
    page = class_page_of(tiny, results(submission(**facts)))

    assert f'data-states="{states}"' in page


def test_a_class_of_three_hundred_is_a_small_page(tiny: Course, large_class: Results):
    """A class of 300 has a row for each student, without pictures or network."""
    names = {item.student: f"Name {item.student}" for item in large_class.submissions}
    page = class_page_of(tiny, large_class, names)

    assert page.count("data-states=") == 300
    assert all(name in page for name in names.values())
    assert len(page.encode()) < 300_000


def test_guesses_are_counted_for_each_choice(tiny: Course, graded_class: Results):
    """Each choice has its number of guesses and their confidence; without guesses there is none."""
    choices = (
        GuessedChoice("<all>", (60, 80), is_right=False),
        GuessedChoice("one", (), is_right=True),
    )
    page = class_page_of(
        tiny, graded_class, guesses={"01_tiny": [GuessedQuestion("Which?", choices)]}
    )

    assert "Which? Choice Share Guesses Sure" in words(page)
    assert "&lt;all&gt; 2 of 2 70 % one the right choice 0 of 2" in words(page)
    assert "Guesses before" not in class_page_of(tiny, graded_class)
