"""Tests grading in one pytest session: outcomes, the attribution of errors, unusable suites."""

import gc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import torch

from autograder.authoring import release
from autograder.course import Course
from autograder.errors import CourseError, GraderError
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.reports.feedback import Dependency
from autograder.reports.feedback_builder import build_feedback
from autograder.results import ExerciseResult, Outcome, Status, SubmissionResult
from autograder.sandbox.session import Session
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from autograder.suite.checks import WrongAnswer
from tests.kit.factories import CHAIN, SOLUTION, chain_files

SUITE = "tests/hidden/01_tiny/test_tiny.py"
SQUARED = SOLUTION.replace("2 * x", "x ** 2")  # `double` is wrong

Graded = Callable[..., SubmissionResult]


@pytest.fixture
def graded(tiny: Course, fork_server: ForkServer, submit) -> Graded:
    """Grade text, or cells, by the hidden suite of the tiny course."""

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
    """Return a hidden suite of one check that runs *statement* and counts its runs."""
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
    """Return the result of exercise *name*."""
    return next(exercise for exercise in result.exercises if exercise.name == name)


@pytest.mark.parametrize(
    ("code", "points"),
    [
        pytest.param(SOLUTION, 5.0, id="right"),
        pytest.param(SQUARED, 0.0, id="wrong"),
    ],
)
def test_a_value_of_another_torch_counts_with_the_hidden_checks(
    tiny: Course, graded: Graded, code: str, points: float
):
    """A value of a newer torch is not compared; its points depend on the other checks."""
    text = tiny.documented.read_text()
    tiny.documented.write_text(text.replace("decimals = 4", 'decimals = 4\ntorch = ">=99"'))

    double = exercise_of(graded(code), "double")

    assert double.score == points
    assert double.checks[0].points == (2.0 if code == SOLUTION else 0.0)
    assert ("torch >=99" in double.checks[0].message) == (code == SOLUTION)


def test_the_solution_earns_everything(graded: Graded, solved: Submission):
    """Every check passes, points add up, and the title is the docstring."""
    result = graded(solved.code.cells[0].decode())
    first = result.exercises[0].checks[0]

    assert (result.status, result.score, result.max_score) == (Status.GRADED, 10.0, 10.0)
    assert first.title == "Twice the documented numbers are the documented doubles."
    assert {outcome for outcome, _ in ends(result).values()} == {Outcome.PASSED}


def test_checks_that_show_values_run_before_hidden_inputs_arrive(graded: Graded, write_course):
    """A worker can't repeat hidden inputs in the message of another exercise's check."""
    suite = """
import torch
from autograder.suite.checks import check

@check("double", points=2, layer="probe")
def test_a(student, probe):
    student.call("double", probe.normal(2))

@check("Scale", points=1, layer="documented")
def test_b(student):
    student.new("Scale", 2)
"""
    code = """
seen = []

def double(x):
    seen.append(x)
    return 2 * x

def Scale(d):
    raise KeyError(f"saw {len(seen)} hidden inputs")
"""
    result = graded(code, course=write_course({SUITE: suite}))

    assert ends(result)["a"] == (Outcome.PASSED, Status.OK)
    assert "saw 0 hidden inputs" in exercise_of(result, "Scale").checks[0].message


def test_a_conftest_above_the_course_does_not_run(graded: Graded, tiny: Course, tmp_path: Path):
    """A conftest.py in a folder above the course does not run."""
    (tmp_path / "conftest.py").write_text("raise SystemExit('not the course')", "utf-8")

    assert tiny.root.parent == tmp_path
    assert graded("").status == Status.GRADED


def test_a_conftest_next_to_the_hidden_suites_does_not_run(graded: Graded, tiny: Course):
    """A conftest next to the hidden suites, which no digest contains, does not run."""
    (tiny.root / "tests" / "conftest.py").write_text("raise SystemExit('not a suite')", "utf-8")

    assert graded("").status == Status.GRADED


def test_each_check_ends_in_its_own_way(graded: Graded):
    """A wrong answer fails, an exception is an error, a missing exercise is skipped."""
    result = graded("def double(x):\n    assert x.ndim == 1\n    return 3 * x\n")

    assert ends(result) == {
        "doubles_the_documented_numbers": ("failed", "wrong-value"),
        "doubles_unseen_numbers": ("errored", "raised"),
        "scales_each_feature": ("skipped", "missing"),
    }
    assert (result.score, result.max_score) == (0.0, 10.0)


def test_a_stub_is_not_implemented(graded: Graded):
    """An exercise that still raises ``NotImplementedError`` has its own status."""
    result = graded("def double(x):\n    raise NotImplementedError\n")

    assert ends(result)["doubles_unseen_numbers"] == ("errored", "not-implemented")


def test_a_hidden_check_shows_no_value_and_no_text_of_the_student(graded: Graded):
    """The student's code can't reveal hidden inputs in the text or the line of an exception."""
    result = graded("def double(x):\n    raise ValueError(f'input {x}')\n")
    documented, hidden = exercise_of(result, "double").checks

    assert "input tensor" in documented.message
    assert hidden.message == "double raised an exception."


def test_the_mistake_is_named(graded: Graded, solved: Submission):
    """An answer equal to that of a misconception gets its name, explanation and question."""
    squared = solved.code.cells[0].decode().replace("2 * x", "x * x")
    diagnosis = exercise_of(graded(squared), "double").checks[1].diagnosis

    assert diagnosis is not None
    assert diagnosis.misconception == "squares"
    assert diagnosis.hint == "What is twice three?"


def test_a_failing_line_costs_itself(graded: Graded, solved: Submission):
    """The whole file is graded, and the line is a notice."""
    code = solved.code.cells[0].decode()
    result = graded(f"import tiktoken\n{code}\nprint(undefined)\n")

    assert (result.status, result.message, result.score) == (Status.GRADED, "", 10.0)
    assert result.notices[0] == (
        "line 1 raised ModuleNotFoundError: No module named 'tiktoken' (import tiktoken)"
    )
    assert "raised NameError: name 'undefined' is not defined" in result.notices[1]


def test_an_exercise_whose_definition_fails_costs_itself(graded: Graded):
    """A failed definition is reported with its line and reason; the other exercise is graded."""
    sibling = "from sibling import Base\nclass Scale(Base): ...\n"
    result = graded(f"{sibling}def double(x):\n    return x + x\n")

    assert exercise_of(result, "double").score == 5.0
    assert ends(result)["scales_each_feature"] == ("skipped", "import-error")
    assert result.exercises[1].checks[0].message == (
        "Scale is not defined: line 2, which should define it, raised an exception."
    )


def test_a_definition_that_is_not_valid_python_costs_itself(graded: Graded):
    """The rest of the file is graded, and a notice has the line."""
    result = graded("def double(x):\n    return x + x\nclass Scale\n")

    assert exercise_of(result, "double").score == exercise_of(result, "double").max_score
    assert ends(result)["scales_each_feature"] == ("skipped", "import-error")
    assert "line 3 is not valid Python" in result.notices[0]


def test_a_file_without_valid_python_is_an_import_error(graded: Graded):
    """If nothing can be read, the message has the first line to fix."""
    result = graded("class Scale\n")

    assert (result.status, result.score) == (Status.IMPORT_ERROR, 0.0)
    assert "Fix line 1 first" in result.message


def test_a_class_whose_name_is_rebound_is_graded(graded: Graded, solved: Submission):
    """An instance with the name of an exercise gives a notice that it is not a class."""
    code = solved.code.cells[0].decode()
    result = graded(f"{code}\nScale = Scale(3)\n")

    assert result.score == 10.0
    assert "gives the name `Scale` to something that is not a class" in result.notices[0]


def test_a_misspelt_exercise_is_recognized(graded: Graded):
    """The message about a missing exercise suggests the misspelled name in the file."""
    result = graded("def douple(x):\n    return x + x\n")

    assert exercise_of(result, "double").checks[0].message == (
        "double is not defined in your file; did you mean `douple`?"
    )


def test_a_failing_cell_is_a_notice(graded: Graded):
    """The line that failed is reported, and the lines and cells below it run."""
    result = graded("1 / 0\n", "undefined\ndef double(x):\n    return x + x\n")

    assert result.status is Status.GRADED
    assert exercise_of(result, "double").score == 5.0
    assert [notice.partition(":")[0] for notice in result.notices] == [
        "cell 1, line 1 raised ZeroDivisionError",
        "cell 2, line 1 raised NameError",
    ]


def test_an_import_that_crashes_skips_everything(graded: Graded):
    """A module that crashes during its import skips every check."""
    result = graded("import os; os._exit(1)")

    assert result.status is Status.CRASHED
    assert set(ends(result).values()) == {("skipped", "crashed")}


def test_crashes_of_one_exercise_cost_no_other(graded: Graded, solved: Submission):
    """When one exercise crashes too often, the next one is still graded."""
    crashing = solved.code.cells[0].decode().replace("return 2 * x", "import os; os._exit(1)")
    result = graded(crashing)

    assert exercise_of(result, "double").score == 0.0
    assert exercise_of(result, "Scale").score == 5.0


def test_stages_are_graded_in_any_order(
    write_course, fork_server: ForkServer, submit, solved: Submission
):
    """Submissions of two stages alternate in one session."""
    course = write_course(stages=("01_tiny", "02_more"))
    text = solved.code.cells[0].decode()
    submissions = [submit(text, stage=name) for name in ("01_tiny", "02_more", "01_tiny")]
    with open_suites(course, course.stages) as runner:
        scores = [grade_one(runner, fork_server, item).score for item in submissions]

    assert scores == [10.0, 10.0, 10.0]


def test_an_error_in_a_check_is_the_answers_fault_if_the_solution_passes(
    graded: Graded, write_course
):
    """An error of a check is the answer's fault if the solution passes the same check."""
    course = write_course(suite_of("student.call('double', 1.0).is_integer()"))
    result = graded("def double(x):\n    return {1}\n", course=course)

    assert ends(result) == {"a": ("failed", "bad-output")}


def test_a_check_is_skipped_if_an_exercise_that_it_needs_is_missing(graded: Graded, write_course):
    """A check is skipped if an exercise in its ``needs`` is missing."""
    needing = suite_of("student.call('double', 1.0)")[SUITE].replace("=2", '=2, needs=("Scale",)')
    result = graded("def double(x):\n    return 2 * x\n", course=write_course({SUITE: needing}))

    assert ends(result) == {"a": ("skipped", "missing")}


def test_our_own_bug_costs_one_grade_only(write_course, fork_server: ForkServer, submit):
    """If the check raises on the solution too, there is no grade; other submissions have one."""
    course = write_course(suite_of("assert len(runs) not in {2, 3}"))  # bob's, and the solution's
    class_ = [submit("def double(x): ...", student=name) for name in ("alice", "bob", "carol")]
    with open_suites(course, course.stages) as runner:
        results = [grade_one(runner, fork_server, item) for item in class_]

    assert [result.score for result in results] == [2.0, None, 2.0]
    assert results[1].status is Status.GRADER_ERROR
    assert "not the student" in results[1].message


def test_an_error_on_the_solution_is_a_grader_error(write_course, open_session, solved: Submission):
    """If the check raises on the solution too, it is an error of the grader."""
    course = write_course(suite_of("1 / 0"))

    with (
        open_suites(course, course.stages) as runner,
        pytest.raises(GraderError, match="ZeroDivisionError"),
    ):
        runner.grade_submission(solved, open_session(solved.code.cells[0].decode()))


def test_a_suite_may_replace_a_fixture_of_the_kit(graded: Graded, write_course):
    """A suite may define its own `probe`, which can use the kit's fixture."""
    own = "\n@pytest.fixture\ndef probe(probe):\n    return probe.seed, 7\n"
    suite = suite_of("assert probe[1] == 7")[SUITE].replace("(student)", "(student, probe)")
    code = "def double(x):\n    return 2 * x\n"
    result = graded(code, course=write_course({SUITE: f"import pytest\n{suite}{own}"}))

    assert ends(result) == {"a": (Outcome.PASSED, Status.OK)}


def test_a_fixture_of_a_suite_has_what_the_check_has(graded: Graded, write_course):
    """A fixture and its check draw successive numbers and use the same student."""
    own = "\n@pytest.fixture\ndef given(student, probe):\n    return student, probe\n"
    suite = suite_of("assert given == (student, probe)")[SUITE]
    suite = suite.replace("(student)", "(given, student, probe)")
    code = "def double(x):\n    return 2 * x\n"
    result = graded(code, course=write_course({SUITE: f"import pytest\n{suite}{own}"}))

    assert ends(result) == {"a": (Outcome.PASSED, Status.OK)}


@pytest.mark.parametrize(
    ("suite", "excerpt"),
    [
        pytest.param("def test_a(student): ...\n", "has no @check", id="no-decorator"),
        pytest.param("def test_a(:\n", "can't be collected", id="syntax"),
        pytest.param("import nothing_of_this_name\n", "nothing_of_this_name", id="import"),
        pytest.param("", "has no check", id="empty"),
        pytest.param(
            suite_of("pass")[SUITE].replace("@check", "import pytest\n@pytest.mark.skip\n@check"),
            "skip",
            id="skipped",
        ),
    ],
)
def test_an_unusable_suite_is_the_courses_fault(write_course, suite: str, excerpt: str):
    """A suite that cannot be used is a CourseError, and nothing is graded."""
    course = write_course({SUITE: suite})

    with pytest.raises(CourseError, match=excerpt), open_suites(course, course.stages):
        pass


def test_checks_are_listed_in_order(tiny: Course):
    """Every check is listed in order, with its name and its points."""
    with open_suites(tiny, tiny.stages) as runner:
        checks = runner.checks("01_tiny")

    assert [(check.name, check.spec.points) for check in checks] == [
        ("test_doubles_the_documented_numbers", 2),
        ("test_doubles_unseen_numbers", 3),
        ("test_scales_each_feature", 5),
    ]


def test_the_public_suite_grades_too(built: Course, fork_server: ForkServer, solved: Submission):
    """The suite that students run themselves gives points as well."""
    with open_suites(built, built.stages, public=True) as runner:
        result = grade_one(runner, fork_server, solved)

    assert (result.score, result.max_score) == (10.0, 10.0)


PRINTS = "print('imported')\ndef double(x):\n    print('x is', x.tolist())\n    return x\n"


def test_the_public_suite_keeps_what_was_printed(built: Course, fork_server: ForkServer, submit):
    """The output of the import is kept for the file, and that of a call for its check."""
    with open_suites(built, built.stages, public=True) as runner:
        result = grade_one(runner, fork_server, submit(PRINTS))

    assert result.printed == "imported"
    assert result.exercises[0].checks[0].printed == "x is [0.5, 1.5, 2.5]"


def test_the_hidden_suite_keeps_nothing_of_what_was_printed(graded: Graded):
    """The output of code is not kept in the hidden suite, because it could show inputs."""
    result = graded(PRINTS)

    assert ends(result)["doubles_unseen_numbers"][0] == "failed"
    assert b"x is" not in msgspec.json.encode(result)
    assert b"imported" not in msgspec.json.encode(result)


def test_a_wrong_documented_value_is_reported(tiny: Course):
    """The report names the check whose documented value the solution does not give."""
    tiny.documented.write_text(
        tiny.documented.read_text().replace("[1.0, 3.0, 5.0]", "[1.0, 3.0, 5.1]")
    )
    with open_suites(tiny, tiny.stages) as runner:
        wrong = list(runner.wrong_documented_values(tiny.stages[0]))

    assert len(wrong) == 1
    assert "test_doubles_the_documented_numbers" in wrong[0]


@pytest.mark.parametrize(
    ("file", "right", "wrong", "check"),
    [
        pytest.param(
            "tests/hidden/documented.toml",
            "[1.0, 3.0, 5.0]",
            "[1.0, 3.0, 5.1]",
            "test_doubles_the_documented_numbers",
            id="a-documented-value",
        ),
        pytest.param(
            SUITE, "agrees(yours(x), ours(x))", "agrees(yours(x), x)",
            "test_scales_each_feature", id="a-check",
        ),
        pytest.param(
            SUITE, "agrees(yours(x), ours(x))", "undefined",
            "test_scales_each_feature", id="a-broken-check",
        ),
        pytest.param(
            "solutions/01_tiny/tiny.py", "return 2 * x", "return 3 * x",
            "test_doubles_the_documented_numbers", id="the-solution",
        ),
    ],
)  # fmt: skip
def test_a_wrong_course_is_refused(tiny: Course, file: str, right: str, wrong: str, check: str):
    """The message names the check that the solution fails, and the commands that give details."""
    path = tiny.root / file
    path.write_text(path.read_text("utf-8").replace(right, wrong), "utf-8")

    with (
        open_suites(tiny, tiny.stages) as runner,
        pytest.raises(CourseError, match=f"01_tiny, {check}: .*\n.*verify --stage 01_tiny"),
    ):
        runner.require_right_solutions()


def test_a_right_course_is_not_refused(tiny: Course):
    """The solution of each stage whose suite is open earns everything."""
    with open_suites(tiny, tiny.stages) as runner:
        runner.require_right_solutions()


def test_documented_tensors_that_checks_used_are_known(tiny: Course):
    """Only the tensors that a check asked for by name count as used."""
    with open_suites(tiny, tiny.stages) as runner:
        before = runner.used_documented_tensors
        list(runner.wrong_documented_values(tiny.stages[0]))

        assert before == frozenset()
        assert runner.used_documented_tensors == {"tiny.numbers", "tiny.doubled"}


def test_the_points_of_each_exercise_are_summed(tiny: Course):
    """The points of `double` and of `Scale` are the sums of their checks' points."""
    with open_suites(tiny, tiny.stages) as runner:
        assert runner.points(tiny.stages[0]) == {"double": 5, "Scale": 5}


@pytest.fixture
def carried(graded: Graded, write_course) -> Callable[..., dict[str, tuple[float, str]]]:
    """Grade text in the course whose exercises use each other: points and givens."""

    def grade(text: str, changed: dict[str, str] | None = None) -> dict[str, tuple[float, str]]:
        course = write_course(chain_files("01_tiny") | (changed or {}))
        return {
            exercise.name: (exercise.score, "".join({check.given for check in exercise.checks}))
            for exercise in graded(text, course=course).exercises
        }

    return grade


def test_a_right_exercise_is_paid_above_a_wrong_one(carried):
    """Correct code that uses a wrong exercise earns its points, even through a third exercise."""
    found = carried(SQUARED + CHAIN)

    assert found["double"][1] == ""
    assert (found["quadruple"], found["octuple"]) == ((3.0, "double"), (1.0, "double"))


def test_the_page_of_a_right_exercise_says_what_to_fix(graded: Graded, write_course):
    """A check that passes with right neighbours names them, and has no diagnosis."""
    result = graded(SQUARED + CHAIN, course=write_course(chain_files("01_tiny")))
    check = exercise_of(result, "quadruple").checks[0]

    assert (check.outcome, check.status, check.points) == (Outcome.PASSED, Status.OK, 2.0)
    assert check.message == "Right, with our double in place of yours. Fix double first."
    assert (check.diagnosis, result.given) == (None, 4.0)


@pytest.mark.parametrize(
    ("quadruple", "uses"),
    [
        pytest.param("return 3 * double(double(x))", ("double",), id="through-the-wrong-one"),
        pytest.param("return 3 * x", (), id="by-itself"),
    ],
)
def test_a_wrong_exercise_says_which_wrong_ones_it_uses(
    graded: Graded, write_course, quadruple: str, uses: tuple[str, ...]
):
    """Its problems may come from them, and its page says so above the first one."""
    course = write_course(chain_files("01_tiny"))
    code = SQUARED + CHAIN.replace("return double(double(x))", quadruple)
    result = graded(code, course=course)
    page = {one.name: one for one in build_feedback(course, result).exercises}["quadruple"]
    first = [block.text for block in page.problem if isinstance(block, Dependency)]

    assert CHAIN.count("return double(double(x))") == 1
    assert exercise_of(result, "quadruple").uses == uses
    assert first == [f"It uses {one}, which fails checks, so look there first." for one in uses]


@pytest.mark.parametrize(
    "double",
    [
        pytest.param("x ** 2.5", id="a-mistake-without-a-name"),
        pytest.param("0 * x", id="a-constant"),
        pytest.param("None", id="nothing"),
        pytest.param("1 / 0", id="an-exception"),
        pytest.param("x ** 2.5 if x.ndim == 1 else 1 / 0", id="an-exception-for-a-matrix"),
    ],
)
def test_any_mistake_below_costs_nothing_above(carried, double: str):
    """The kind of mistake in the exercise below does not matter."""
    assert carried(SOLUTION.replace("2 * x", double) + CHAIN)["quadruple"] == (3.0, "double")


@pytest.mark.parametrize("below", ["", "raise NotImplementedError"], ids=["missing", "blank"])
def test_an_exercise_that_is_not_written_costs_nothing_above(carried, below: str):
    """An exercise earns its points above one that is missing or blank."""
    written = SOLUTION.replace("return 2 * x", below) if below else SOLUTION
    text = (written if below else written.replace("def double", "def twice")) + CHAIN

    assert carried(text)["quadruple"] == (3.0, "double")


@pytest.mark.parametrize(
    ("quadruple", "points"),
    [
        pytest.param("return double(double(x)) + 1", 0.0, id="a-mistake-of-its-own"),
        pytest.param("return x ** 4", 0.0, id="the-same-mistake-without-using-it"),
        pytest.param("return double(x)", 0.0, id="uses-it-wrongly"),
        pytest.param("return double(double(x)) if x.ndim == 2 else x", 2.0, id="one-check-wrong"),
        pytest.param("raise NotImplementedError", 0.0, id="blank"),
    ],
)
def test_its_own_mistake_is_not_paid(carried, quadruple: str, points: float):
    """With right neighbours, an exercise earns the checks that then pass, and no others."""
    text = SQUARED + CHAIN.replace("return double(double(x))", quadruple)

    assert carried(text)["quadruple"][0] == points


def test_an_exercise_gains_nothing_from_one_that_it_does_not_use_in_the_course(carried):
    """`double` that calls a wrong `quadruple` is not graded with ours, which uses `double`."""
    text = SOLUTION.replace("return 2 * x", "return quadruple(x) / 2")
    wrong = CHAIN.replace("return double(double(x))", "return 4 * x + 1")

    assert carried(text + wrong)["double"] == (0.0, "")


def test_a_variant_shows_that_exercises_use_each_other(carried):
    """An exercise uses another one if it does so in the solution or in a variant."""
    solution = SOLUTION + CHAIN.replace("double(double(x))", "4 * x")
    solved = {"solutions/01_tiny/tiny.py": solution}
    variant = {"tests/hidden/01_tiny/variants/calls.py": SOLUTION + CHAIN}

    assert carried(SQUARED + CHAIN, solved)["quadruple"] == (0.0, "")
    assert carried(SQUARED + CHAIN, solved | variant)["quadruple"] == (3.0, "double")


def test_helpers_of_the_solution_replace_none_of_the_students(carried):
    """The student's helper of the same name stays as it is in the second run."""
    helper = "def helper(x):\n    return {}\n\n"
    solution = helper.format("2 * x") + SOLUTION.replace("2 * x", "helper(x)") + CHAIN
    solved = {
        "solutions/01_tiny/tiny.py": solution,
        "tests/hidden/01_tiny/misconceptions.py": "MISCONCEPTIONS = ()\n",
    }
    text = helper.format("double(double(x))") + SQUARED
    text += CHAIN.replace("double(double(x))", "helper(x)")

    assert carried(text, solved)["quadruple"] == (3.0, "double")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("__import__('os')._exit(1)", id="a-crash"),
        pytest.param("while True: pass", id="a-hang", marks=pytest.mark.nightly),
    ],
)
def test_an_end_of_the_second_run_costs_only_its_checks(carried, end: str):
    """If code ends its process as soon as it sees ours, the next exercise is still paid."""
    ends = f"if double is not own:\n        {end}\n    return double(double(x))"
    text = SQUARED + CHAIN.replace("return double(double(x))", ends) + "\nown = double\n"
    found = carried(text)

    assert found["quadruple"] == (0.0, "")
    assert found["octuple"] == (1.0, "double and quadruple")


def test_nothing_is_kept_from_a_second_run(carried):
    """A file that is written in the second run of one exercise is gone in that of the next."""
    keeps = "double is own or open('kept', 'w').close()\n    return double(double(x))"
    uses = "return 8 * x if __import__('os').path.exists('kept') else x"
    chain = CHAIN.replace("return double(double(x))", keeps)
    chain = chain.replace("return double(quadruple(x))", uses)
    found = carried(SQUARED + chain + "\nown = double\n")

    assert (found["quadruple"], found["octuple"]) == ((3.0, "double"), (0.0, ""))


def test_a_course_may_grade_without_right_neighbours(carried, tiny: Course):
    """`right_neighbours = false` in `course.toml` turns the second run off."""
    head = (tiny.root / "course.toml").read_text("utf-8")
    off = {"course.toml": f"{head}\n[grading]\nright_neighbours = false\n"}

    assert carried(SQUARED + CHAIN, off)["quadruple"] == (0.0, "")


def test_the_public_suite_has_no_second_run(write_course, fork_server: ForkServer, submit):
    """The public suite gives no points, and a student's copy has no solution."""
    files = chain_files("01_tiny")
    course = write_course(files)
    release.build(course)
    with open_suites(course, course.stages, public=True) as runner:
        result = grade_one(runner, fork_server, submit(SQUARED + CHAIN))

    assert result.given == 0
    assert exercise_of(result, "quadruple").score == 0


def test_a_large_wrong_reply_is_not_kept(tiny: Course, fork_server: ForkServer):
    """Only the outcome of a check with large replies is kept, so that memory has a limit."""
    code = SOLUTION.replace("return 2 * x", "return torch.zeros(1 << 19)")
    session = Session(fork_server, "tiny", (code.encode(),), notebook=False)
    with open_suites(tiny, tiny.stages) as runner, closing(session):
        check = next(one for one in runner.checks("01_tiny") if one.spec.exercise == "double")
        observation = runner.run(check.item, session)

    assert isinstance(observation.error, WrongAnswer)
    assert observation.error.__traceback__ is None
    assert observation.answers == ()
    assert session.received > 1 << 21


def test_a_large_reply_in_a_cycle_is_freed(write_course, fork_server: ForkServer):
    """Large replies are freed after their check, without waiting for an automatic collection."""
    size = 1 << 19
    keep = 'rows = [student.call("double", [1.0])]; rows.append(rows)'
    course = write_course(suite_of(keep))
    code = f"import torch\n\n\ndef double(x):\n    return torch.zeros({size})\n"
    session = Session(fork_server, "tiny", (code.encode(),), notebook=False)
    gc.disable()
    try:
        with open_suites(course, course.stages) as runner, closing(session):
            runner.run(runner.checks("01_tiny")[0].item, session)
            left = [one for one in gc.get_objects() if type(one) is torch.Tensor]
    finally:
        gc.enable()

    assert session.received > size
    assert size not in [one.numel() for one in left]
