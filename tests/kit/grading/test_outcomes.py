"""Tests the texts about the outcomes of checks and of submissions."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from msgspec.structs import replace

from autograder.course import Course
from autograder.course_file import Reveal
from autograder.grading.grade import grade
from autograder.grading.outcomes import (
    IMPORT_FAILED,
    MAX_NOTICES,
    PYTHON,
    CheckOutcome,
    describe_problem,
    environment_notice,
    failed_grading,
    import_submission,
    is_import_missing,
    missing_exercise,
    notices_of,
    submission_status,
    unreadable,
)
from autograder.results import CheckResult, Outcome, Status
from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.protocol import Problem, Statement
from autograder.sandbox.static_names import Definition
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Submission
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer, Notice, WrongAnswer
from autograder.suite.compare import agrees

WRONG = """
import torch
from torch import nn


def double(x):
    return x**2
"""


@pytest.fixture
def checks(
    write_course: Callable[..., Course],
    submit: Callable[..., Submission],
    lent_fork_server: ForkServer,  # noqa: ARG001  # used instead of a new one
) -> Callable[[str], dict[str, CheckResult]]:
    """Grade a misconception in a course with this ``[reveal]``; return its checks by name."""

    def graded(reveal: str) -> dict[str, CheckResult]:
        head = f'format_version = 1\nid = "tiny"\ntitle = "Tiny"\nstages = ["01_tiny"]\n{reveal}'
        course = write_course({"course.toml": head})
        result = grade(course, [submit(WRONG)], jobs=1).submissions[0]
        return {check.name: check for exercise in result.exercises for check in exercise.checks}

    return graded


def test_a_hidden_check_names_the_mistake_but_no_value(checks):
    """By default a hidden check names the property and the mistake, and shows no tensor."""
    hidden = checks("")["test_doubles_unseen_numbers"]

    assert hidden.message == "The result has wrong values."
    assert hidden.diagnosis is not None
    assert hidden.diagnosis.misconception == "squares"
    assert hidden.grid is None


def test_a_course_may_reveal_nothing_about_hidden_checks(checks):
    """With `hidden_checks = "nothing"` a hidden check shows only its title."""
    hidden = checks('[reveal]\nhidden_checks = "nothing"\n')["test_doubles_unseen_numbers"]

    assert hidden.outcome == "failed"
    assert (hidden.message, hidden.diagnosis) == ("", None)


def test_a_course_may_hide_documented_values(checks):
    """With `documented_values = false` a documented check shows no tensor and no number."""
    shown = checks("")["test_doubles_the_documented_numbers"]
    hidden = checks("[reveal]\ndocumented_values = false\n")["test_doubles_the_documented_numbers"]

    assert shown.grid is not None
    assert hidden.grid is None
    assert hidden.message == "The result has wrong values."


NOTHING = Reveal(hidden_checks="nothing", documented_values=False)
RAISED = Raised("ValueError", "boom", "double raised ValueError in line 3: boom", public="no word")


def probe_outcome(*, public: bool) -> CheckOutcome:
    """Return the outcome of a check with hidden inputs in a course that reveals nothing."""
    item = SimpleNamespace(name="test_a")
    check = CollectedCheck(item, CheckSpec("double", 1.0, Layer.PROBE, ()))
    return CheckOutcome(check, NOTHING, public=public)


def wrong_answer() -> WrongAnswer:
    """Return how a comparison of two small tensors ends."""
    with pytest.raises(WrongAnswer) as caught:
        agrees(torch.ones(2), torch.zeros(2))
    return caught.value


def test_a_public_check_shows_the_exception_in_every_layer():
    """A public check shows the reader's own exception, for every setting of the course."""
    assert probe_outcome(public=True).failed(RAISED).message == RAISED.message
    assert probe_outcome(public=False).failed(RAISED).message == ""


def test_a_public_check_shows_values_in_every_layer():
    """A public check shows values that a check with hidden inputs must not show."""
    shown, hidden = (
        probe_outcome(public=public).failed(wrong_answer()) for public in (True, False)
    )

    assert "2 of 2 entries." in shown.message
    assert shown.grid.yours == (("1", "1"),)
    assert (hidden.message, hidden.grid) == ("", None)


def test_a_public_check_shows_why_an_answer_is_unusable():
    """If a public check cannot use an answer, the message shows the error of the check."""
    error = AttributeError("a list has no shape")

    assert (
        "AttributeError: a list has no shape" in probe_outcome(public=True).unusable(error).message
    )
    assert "AttributeError" not in probe_outcome(public=False).unusable(error).message


def test_what_was_printed_is_shown_next_to_a_public_check():
    """Printed text appears next to a public check; next to a hidden one it could show inputs."""
    public, hidden = probe_outcome(public=True), probe_outcome(public=False)

    assert public.add_printed(public.failed(RAISED), "x = 3").printed == "x = 3"
    assert public.add_printed(public.passed(), "x = 3").printed == "x = 3"
    assert hidden.add_printed(hidden.failed(RAISED), "x = 3").printed == ""


@pytest.mark.parametrize(
    ("public", "message"),
    [
        pytest.param(True, "On 3, line 7 fails.", id="public"),
        pytest.param(False, "It fails.", id="hidden"),
    ],
)
def test_a_notice_is_next_to_a_check_that_passed(*, public: bool, message: str):
    """A check with a notice has full points; with hidden inputs the notice shows no number."""
    check = probe_outcome(public=public).check
    notice = Notice("On 3, line 7 fails.", "It fails.")
    result = CheckOutcome(check, Reveal(), public=public).passed([notice])

    assert (result.outcome, result.points) == (Outcome.PASSED, result.max_points)
    assert result.message == message


@pytest.mark.parametrize("public", [True, False])
def test_a_name_whose_import_failed_is_linked_to_it(*, public: bool):
    """If code may be quoted, the message contains the failed import and the next step."""
    imported = failed(
        3, "Head", type="ModuleNotFoundError", text="No module named 'x'", code="from x import Head"
    )
    raised = Raised("NameError", "name 'Head' is not defined", "double raised.", public="Raised.")
    check = probe_outcome(public=public).check
    result = CheckOutcome(check, Reveal(), (imported,), public=public).failed(raised)

    assert result is not None
    assert result.message == (
        "double raised.\n`Head` is missing because line 3 raised ModuleNotFoundError: No module "
        "named 'x' (from x import Head). No package `x` is installed here. If `x.py` is your own "
        "file, copy `Head` into this file."
        if public
        else f"Raised.\n{IMPORT_FAILED}"
    )
    assert is_import_missing(raised, (imported,))
    assert not is_import_missing(raised, (failed(3, "Tail", type="ImportError"),))


def failed(
    line: int = 7, *names: str, cell: int = 0, kind: str = "raised", **fields: object
) -> Problem:
    """Return a problem of the statement in *line*, which binds *names*."""
    place = f"cell {cell}" if cell else "tiny.py"
    facts = {"type": "ValueError", "text": "bad\nworse", "place": place, "line": line}
    return Problem(kind=kind, statement=Statement(place, line, names), **(facts | fields))


NO_NN = failed(1, "nn", type="ModuleNotFoundError", text="No module named 'troch'")
BROKEN = failed(10, "double", kind="not-compiled", type="SyntaxError", text="oh", code="def (")
NUL_BYTES = failed(
    0,
    "double",
    kind="not-compiled",
    type="SyntaxError",
    text="source code string cannot contain null bytes",
)
EXERCISES = ("double", "Scale")


def session(**fields: object) -> SimpleNamespace:
    """Return a session of a module without a definition, imported without a problem."""
    facts = {"notebook": False, "problems": (), "definitions": ()}
    facts["ask"] = lambda *_verb, **_fields: SimpleNamespace(value=False)
    return SimpleNamespace(**(facts | fields))


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        pytest.param(failed(), "line 7 raised ValueError: bad", id="line"),
        pytest.param(failed(2, cell=3), "cell 3, line 2 raised ValueError: bad", id="cell"),
        pytest.param(
            failed(code="int('x')"), "line 7 raised ValueError: bad (int('x'))", id="with-code"
        ),
        pytest.param(failed(text=""), "line 7 raised ValueError", id="no-text"),
        pytest.param(
            replace(failed(), line=2), "line 7 raised ValueError in line 2: bad", id="function"
        ),
        pytest.param(
            replace(failed(4, cell=5), place="cell 2", line=1),
            "cell 5, line 4 raised ValueError in cell 2, line 1: bad",
            id="function-of-another-cell",
        ),
        pytest.param(
            BROKEN,
            f"line 10 is not valid {PYTHON}: SyntaxError: oh (def (). "
            "Fix line 10 first: `double` could not be defined.",
            id="syntax-error",
        ),
        pytest.param(
            failed(3, cell=5, kind="not-compiled", type="SyntaxError", text="oh"),
            f"cell 5, line 3 is not valid {PYTHON}: SyntaxError: oh. "
            "Fix cell 5, line 3 first: this statement could not run.",
            id="syntax-error-in-a-cell",
        ),
        pytest.param(
            failed(88, "Scale", kind="rebound"),
            (
                "line 88 gives the name `Scale` to something that is not a class or a function; "
                "your definition was graded anyway. Choose another name in that line."
            ),
            id="rebound",
        ),
        pytest.param(
            replace(failed(), statement=Statement("my words", 7), place="", line=0),
            "line 7 raised ValueError: bad",
            id="forged-place",
        ),
        pytest.param(
            Problem(kind="raised", type="ValueError"), "your file raised ValueError", id="forged"
        ),
    ],
)
def test_a_problem_is_described_by_its_place(problem: Problem, sentence: str):
    """A problem is described by the line at module level, then by the line in a function."""
    assert describe_problem(problem) == sentence


@pytest.mark.parametrize(
    ("problems", "notices"),
    [
        pytest.param((failed(),), 0, id="any-exception"),
        pytest.param((NO_NN,), 1, id="missing-package"),
        pytest.param((replace(NO_NN, kind="annotation"),), 1, id="annotation"),
        pytest.param((BROKEN,), 1, id="not-valid-here"),
    ],
)
def test_what_runs_here_is_named_where_it_may_matter(problems: tuple[Problem, ...], notices: int):
    """The versions of Python and torch, and missing packages, are in one notice."""
    found = [line for line in environment_notice(problems) if f"{PYTHON} with torch" in line]

    assert len(found) == notices
    assert ("troch" in "".join(found)) is (NO_NN.text in {one.text for one in problems})


def test_a_statement_that_reached_a_limit_is_named_with_its_reason():
    """The notice names the outermost line; a definition in it has the status of the limit."""
    stopped = failed(9, "double", kind="left-out", type="timeout", text="It took 10 s.")
    fault = missing_exercise(session(problems=(stopped,)), "double", EXERCISES)

    assert describe_problem(stopped).startswith("line 9 was left out")
    assert fault is not None
    assert (fault.status, "It took 10 s." in fault.message) == (Status.TIMEOUT, True)
    assert "It took" not in fault.public


def test_a_cell_without_a_known_line_is_named():
    """A cell that is nested too deeply to be parsed has no line."""
    problem = replace(BROKEN, statement=Statement("cell 2", 0))

    assert describe_problem(problem).startswith(f"cell 2 is not valid {PYTHON}: ")
    assert describe_problem(problem).endswith("Fix cell 2 first: this statement could not run.")


def test_lines_that_failed_are_notices():
    """Lines that failed are notices, in a module and in a notebook, up to a limit."""
    problems = (failed(),) * (MAX_NOTICES + 1)
    notices = notices_of(session(problems=problems), EXERCISES)

    assert notices_of(session(problems=problems[:2]), EXERCISES) == (
        "line 7 raised ValueError: bad",
        "line 7 raised ValueError: bad",
    )
    assert len(notices) == MAX_NOTICES
    assert notices[-1] == "Other lines failed too. Fix the first ones first."


def test_what_fails_in_a_cell_of_the_kit_is_not_a_notice():
    """A failure in a cell of the kit gives no notice: the sandbox lacks its imports."""
    problems = (failed(1, cell=1), failed(1, cell=2))
    (notice,) = notices_of(session(problems=problems, notebook=True), EXERCISES, given=(1,))

    assert notice.startswith("cell 2, line 1 raised")


def test_a_rebound_name_is_a_notice_if_it_is_an_exercise():
    """A rebound name gives a notice only if it is an exercise."""
    problems = (failed(3, "Scale", kind="rebound"), failed(4, "helper", kind="rebound"))
    (notice,) = notices_of(session(problems=problems), EXERCISES)

    assert notice.startswith("line 3 gives the name `Scale`")


def test_a_source_that_does_not_show_what_it_calls_is_a_notice():
    """Source that hides its calls gives a notice, so that a person reviews the rule."""
    (notice,) = notices_of(session(), EXERCISES, unclear=["The file uses `vars`."])

    assert notice == "The file uses `vars`."
    assert notices_of(session(), EXERCISES) == ()


def test_only_what_stops_the_whole_file_is_the_status_of_a_submission():
    """A failing line, or a broken statement next to others, is a notice."""
    defined = [Definition("double", 1, ())]
    fault = Fault(Status.CRASHED, "It crashed.")

    assert submission_status(session(), None) == (Status.GRADED, "")
    assert submission_status(session(problems=(BROKEN,)), fault) == (Status.CRASHED, "It crashed.")
    assert submission_status(session(problems=(failed(),)), None) == (Status.GRADED, "")
    assert submission_status(session(problems=(BROKEN,)), None)[0] is Status.IMPORT_ERROR
    assert submission_status(session(problems=(BROKEN,), definitions=defined), None)[0] is (
        Status.GRADED
    )


def test_what_stops_the_whole_file_is_said_once():
    """A fault of the whole file is the message of the submission, and not a notice."""
    broken = session(problems=(BROKEN,))

    assert submission_status(broken, None)[1] == describe_problem(BROKEN)
    assert notices_of(broken, EXERCISES) == tuple(environment_notice((BROKEN,)))


NAME_ERROR = {"type": "NameError", "text": "name 'nn' is not defined"}


@pytest.mark.parametrize(
    ("fields", "status", "message", "public"),
    [
        pytest.param(
            {}, Status.MISSING, "double is not defined in your file.", "", id="not-defined"
        ),
        pytest.param(
            {"problems": (failed(),)},
            Status.MISSING,
            "double is not defined in your file.",
            "",
            id="another-line-failed",
        ),
        pytest.param(
            {"problems": (failed(12, "double", **NAME_ERROR),)},
            Status.IMPORT_ERROR,
            "double is not defined: line 12, which should define it, raised NameError: "
            "name 'nn' is not defined.",
            "double is not defined: line 12, which should define it, raised an exception.",
            id="its-line-failed",
        ),
        pytest.param(
            {"problems": (NO_NN, failed(), failed(12, "double", **NAME_ERROR))},
            Status.IMPORT_ERROR,
            "double is not defined: line 12, which should define it, raised NameError: "
            "name 'nn' is not defined. `nn` is missing because line 1 raised "
            "ModuleNotFoundError: No module named 'troch'. No package `troch` is installed here.",
            "double is not defined: line 12, which should define it, raised an exception.",
            id="the-line-above-is-why",
        ),
        pytest.param(
            {"problems": (failed(3, "double", cell=5),), "notebook": True},
            Status.IMPORT_ERROR,
            "double is not defined: cell 5, line 3, which should define it, raised ValueError: "
            "bad.",
            "double is not defined: cell 5, line 3, which should define it, raised an exception.",
            id="cell",
        ),
        pytest.param(
            {"problems": (BROKEN,)},
            Status.IMPORT_ERROR,
            f"double is not defined: {describe_problem(BROKEN)}",
            "double is not defined: line 10 is not valid Python. Fix line 10 first.",
            id="syntax-error",
        ),
        pytest.param(
            {"problems": (NUL_BYTES,)},
            Status.IMPORT_ERROR,
            "double is not defined: Your file contains NUL characters. Save it as text in UTF-8.",
            "double is not defined: your file is not valid Python. Fix your file first.",
            id="nul",
        ),
        pytest.param(
            {"definitions": (Definition("douple", 4, ()),)},
            Status.MISSING,
            "double is not defined in your file; did you mean `douple`?",
            "double is not defined in your file.",
            id="misspelt",
        ),
        pytest.param(
            {"definitions": (Definition("doubles", 4, (), assigned=True),)},
            Status.MISSING,
            "double is not defined in your file.",
            "",
            id="variable-of-a-like-name",
        ),
        pytest.param(
            {"definitions": (Definition("double", 4, (), assigned=True),)},
            Status.MISSING,
            "double is set in line 4, but it is not a class or a function once your file has run.",
            "",
            id="a-number",
        ),
        pytest.param(
            {"definitions": (Definition("double", 4, (), certain=False),)},
            Status.MISSING,
            "double is defined in line 4, but that line does not run when your file is imported. "
            'Move it out of its block, such as `if __name__ == "__main__":`.',
            "",
            id="below-the-guard",
        ),
        pytest.param(
            {"definitions": (Definition("main", 1, (), methods=("double",)),)},
            Status.MISSING,
            "double is not defined in your file, only inside `main`. Move it out, so that its "
            "first line is not indented.",
            "double is not defined in your file.",
            id="inside-a-function",
        ),
    ],
)
def test_a_missing_exercise_has_a_reason(fields: dict, status: Status, message: str, public: str):
    """A missing exercise has a reason, which quotes no exception in a hidden check."""
    found = missing_exercise(session(**fields), "double", EXERCISES)

    assert found is not None
    assert found.status is status
    assert (found.message, found.public) == (message, public or message)


def test_a_broken_cell_explains_the_exercise_that_it_defines():
    """A broken statement is the reason for the exercise that it defines, and for no other."""
    broken = replace(BROKEN, statement=Statement("cell 5", 3, ("double",)))
    notebook = session(problems=(broken,), notebook=True, definitions=[Definition("f", 1, ())])
    statuses = [missing_exercise(notebook, name, EXERCISES).status for name in EXERCISES]

    assert statuses == [Status.IMPORT_ERROR, Status.MISSING]


def test_an_exercise_that_is_defined_is_not_missing():
    """An exercise that the worker reports as defined is not missing."""
    defined = session(ask=lambda *_verb, **_fields: SimpleNamespace(value=True))

    assert missing_exercise(defined, "double", EXERCISES) is None


def test_a_fault_while_importing_is_returned():
    """After a fault while importing, no check can run."""
    fault = Fault(Status.TIMEOUT, "It took too long.")

    def fail() -> None:
        raise fault

    assert import_submission(session(open=fail)) is fault
    assert import_submission(session(open=lambda: None)) is None


def test_only_a_failure_of_the_grader_gives_no_grade(submit):
    """A submission that can't be read earns nothing."""
    submission = submit("x = 1")

    assert unreadable(submission).score == 0
    assert failed_grading(submission, ValueError("Our bug.")).score is None
    assert "not the student" in failed_grading(submission, ValueError("Our bug.")).message
