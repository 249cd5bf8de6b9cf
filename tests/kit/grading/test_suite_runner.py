"""Judging in one pytest session: outcomes, whose fault it is, and suites that can't be used."""

from collections.abc import Callable

import pytest

from autograder.course import Course
from autograder.errors import CourseError, GraderError
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import ExerciseResult, Outcome, Status, SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission

SUITE = "tests/hidden/01_tiny/test_tiny.py"

Judged = Callable[..., SubmissionResult]


@pytest.fixture
def judged(tiny: Course, fork_server: ForkServer, submit) -> Judged:
    """Judge text, or cells, by the hidden suite of the tiny course."""

    def grade(*cells: str, course: Course = tiny) -> SubmissionResult:
        submission = submit(*cells)
        with open_suites(course, course.stages) as runner:
            return grade_one(runner, fork_server, submission)

    return grade


def ends(result: SubmissionResult) -> dict[str, tuple[str, str]]:
    """Outcome and status of each check, by name without ``test_``."""
    return {
        check.name.removeprefix("test_"): (str(check.outcome), str(check.status))
        for exercise in result.exercises
        for check in exercise.checks
    }


def suite_of(statement: str) -> dict[str, str]:
    """A hidden suite of one check that does *statement* and counts its runs."""
    text = f"""
from autograder.suite.checks import check
runs = []

@check("double", points=2)
def test_a(student):
    runs.append(1)
    {statement}
"""
    return {SUITE: text}


def exercise_of(result: SubmissionResult, name: str) -> ExerciseResult:
    """The result of exercise *name*."""
    return next(exercise for exercise in result.exercises if exercise.name == name)


def test_the_solution_earns_everything(judged: Judged, solved: Submission):
    """Every check passes, points add up, and the title is the docstring."""
    result = judged(solved.code.cells[0].decode())
    first = result.exercises[0].checks[0]

    assert (result.status, result.score, result.max_score) == (Status.GRADED, 10.0, 10.0)
    assert first.title == "Twice the documented numbers are the documented doubles."
    assert {outcome for outcome, _ in ends(result).values()} == {Outcome.PASSED}


def test_each_check_ends_in_its_own_way(judged: Judged):
    """Wrong fails, broken errs, missing is skipped."""
    result = judged("def double(x):\n    assert x.ndim == 1\n    return 3 * x\n")

    assert ends(result) == {
        "doubles_the_documented_numbers": ("failed", "wrong-value"),
        "doubles_unseen_numbers": ("errored", "raised"),
        "scales_each_feature": ("skipped", "missing"),
    }
    assert (result.score, result.max_score) == (0.0, 10.0)


def test_a_stub_is_not_begun(judged: Judged):
    """An exercise that still raises ``NotImplementedError`` is told so."""
    result = judged("def double(x):\n    raise NotImplementedError\n")

    assert ends(result)["doubles_unseen_numbers"] == ("errored", "not-implemented")


def test_a_hidden_check_shows_no_value_and_no_words_of_the_student(judged: Judged):
    """What the student's code says about hidden inputs stays with the instructor."""
    result = judged("def double(x):\n    raise ValueError(f'input {x}')\n")
    documented, hidden = exercise_of(result, "double").checks

    assert "input tensor" in documented.message
    assert hidden.message == "double raised an exception in line 2."


def test_the_mistake_is_named(judged: Judged, solved: Submission):
    """An answer that equals a known mistake's has its name, explanation and question."""
    squared = solved.code.cells[0].decode().replace("2 * x", "x * x")
    diagnosis = exercise_of(judged(squared), "double").checks[1].diagnosis

    assert diagnosis is not None
    assert diagnosis.misconception == "squares"
    assert diagnosis.hint == "What is twice three?"


def test_what_an_exception_at_module_level_keeps_is_judged(judged: Judged):
    """What stood above is judged, what stands below was not reached."""
    result = judged("def double(x):\n    return x + x\n1 / 0\nclass Scale: ...\n")

    assert result.status is Status.IMPORT_ERROR
    assert exercise_of(result, "double").score == 5.0
    assert ends(result)["scales_each_feature"] == ("skipped", "import-error")


def test_a_failing_cell_is_a_notice(judged: Judged):
    """A notebook's failing cell is reported and passed over."""
    result = judged("1 / 0", "def double(x):\n    return x + x\n")

    assert result.status is Status.GRADED
    assert exercise_of(result, "double").score == 5.0
    assert "cell 1, line 1 raised ZeroDivisionError" in result.notices[0]


def test_an_import_that_crashes_skips_everything(judged: Judged):
    """Nothing of such a module can be used; the sentence says where to look."""
    result = judged("import os; os._exit(1)")

    assert result.status is Status.CRASHED
    assert set(ends(result).values()) == {("skipped", "crashed")}


def test_crashes_of_one_exercise_cost_no_other(judged: Judged, solved: Submission):
    """When one exercise is given up, the next is served all the same."""
    crashing = solved.code.cells[0].decode().replace("return 2 * x", "import os; os._exit(1)")
    result = judged(crashing)

    assert exercise_of(result, "double").score == 0.0
    assert exercise_of(result, "Scale").score == 5.0


def test_stages_are_judged_in_any_order(
    write_course, fork_server: ForkServer, submit, solved: Submission
):
    """Submissions of two stages alternate in one session."""
    course = write_course(stages=("01_tiny", "02_more"))
    text = solved.code.cells[0].decode()
    submissions = [submit(text, stage=name) for name in ("01_tiny", "02_more", "01_tiny")]
    with open_suites(course, course.stages) as runner:
        scores = [grade_one(runner, fork_server, item).score for item in submissions]

    assert scores == [10.0, 10.0, 10.0]


def test_a_check_that_breaks_on_an_odd_answer_is_the_answers_fault(judged: Judged, write_course):
    """If the solution passes, whatever the check raised was the answer's doing."""
    course = write_course(suite_of("student.call('double', 1.0).is_integer()"))
    result = judged("def double(x):\n    return {1}\n", course=course)

    assert ends(result) == {"a": ("failed", "bad-output")}


def test_a_check_is_skipped_where_what_it_needs_is_missing(judged: Judged, write_course):
    """A check that stands on another exercise waits for it."""
    needing = suite_of("student.call('double', 1.0)")[SUITE].replace("=2", '=2, needs=("Scale",)')
    result = judged("def double(x):\n    return 2 * x\n", course=write_course({SUITE: needing}))

    assert ends(result) == {"a": ("skipped", "missing")}


def test_our_own_bug_costs_the_grade_and_nobody_elses(
    write_course, fork_server: ForkServer, submit
):
    """Where the check breaks on the solution too, there is no grade; the others have theirs."""
    course = write_course(suite_of("assert len(runs) not in {2, 3}"))  # bob's, and the solution's
    class_ = [submit("def double(x): ...", student=name) for name in ("alice", "bob", "carol")]
    with open_suites(course, course.stages) as runner:
        results = [grade_one(runner, fork_server, item) for item in class_]

    assert [result.score for result in results] == [2.0, None, 2.0]
    assert results[1].status is Status.GRADER_ERROR
    assert "not the student" in results[1].message


def test_a_bug_of_ours_is_a_grader_error(write_course, open_session, solved: Submission):
    """Where the solution breaks the check as well, the judge says that it failed itself."""
    course = write_course(suite_of("1 / 0"))

    with (
        open_suites(course, course.stages) as runner,
        pytest.raises(GraderError, match="ZeroDivisionError"),
    ):
        runner.grade_submission(solved, open_session(solved.code.cells[0].decode()))


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        pytest.param("def test_a(student): ...\n", "has no @check", id="no-card"),
        pytest.param("def test_a(:\n", "can't be collected", id="syntax"),
        pytest.param("import nothing_of_this_name\n", "nothing_of_this_name", id="import"),
        pytest.param("", "holds no check", id="empty"),
    ],
)
def test_a_suite_that_can_not_be_used_is_the_courses_fault(write_course, suite: str, words: str):
    """No submission is judged by half a suite."""
    course = write_course({SUITE: suite})

    with pytest.raises(CourseError, match=words), open_suites(course, course.stages):
        pass


def test_a_missing_suite_is_the_courses_fault(tiny: Course):
    """A stage without a hidden suite can't be graded."""
    tiny.stages[0].hidden_suite.unlink()

    with pytest.raises(CourseError, match="can't be collected"), open_suites(tiny, tiny.stages):
        pass


def test_cards_are_listed_in_order(tiny: Course):
    """Name, title and points of every check."""
    with open_suites(tiny, tiny.stages) as runner:
        specs = runner.specs("01_tiny")

    assert [(name, spec.points) for name, _, spec in specs] == [
        ("test_doubles_the_documented_numbers", 2),
        ("test_doubles_unseen_numbers", 3),
        ("test_scales_each_feature", 5),
    ]


def test_the_public_suite_is_judged_alike(
    tiny: Course, fork_server: ForkServer, solved: Submission
):
    """The suite that students run themselves grades as well."""
    with open_suites(tiny, tiny.stages, public=True) as runner:
        result = grade_one(runner, fork_server, solved)

    assert (result.score, result.max_score) == (1.0, 1.0)


def test_an_untrue_document_is_told(tiny: Course):
    """A documented value that the solution does not give is the ledger's fault."""
    tiny.documented.write_text(
        tiny.documented.read_text().replace("[1.0, 3.0, 5.0]", "[1.0, 3.0, 5.1]")
    )
    with open_suites(tiny, tiny.stages) as runner:
        untrue = list(runner.wrong_documented_values(tiny.stages[0]))

    assert len(untrue) == 1
    assert "test_doubles_the_documented_numbers" in untrue[0]


def test_an_error_within_comes_out(tiny: Course):
    """An error that is raised while the suites are open is not swallowed by pytest."""
    msg = "from within"

    with pytest.raises(CourseError, match=msg), open_suites(tiny, tiny.stages):
        raise CourseError(msg)


def test_the_users_pytest_settings_are_kept_out(tiny: Course, monkeypatch: pytest.MonkeyPatch):
    """PYTEST_ADDOPTS neither disturbs a grading run nor is lost by it."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    with open_suites(tiny, tiny.stages) as runner:
        specs = runner.specs("01_tiny")

    assert len(specs) == 3
