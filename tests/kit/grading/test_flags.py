"""Tests the typed flags: what an instructor should look at in a submission."""

import pytest

from autograder.course import Course
from autograder.grading.grade import grade_one
from autograder.grading.outcomes import PYTHON
from autograder.grading.suite_runner import open_suites
from autograder.results import Flag, FlagKind
from autograder.sandbox.isolation import detect_capabilities
from autograder.sandbox.supervisor import ForkServer
from tests.kit.factories import SOLUTION, Submit

needs_full = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


@pytest.fixture
def flags_of(tiny: Course, submit: Submit, fork_server: ForkServer):
    """Grade the solution, followed by some lines, and return its flags."""

    def graded(*lines: str) -> tuple[Flag, ...]:
        with open_suites(tiny, tiny.stages) as runner:
            return grade_one(runner, fork_server, submit("\n".join((SOLUTION, *lines)))).flags

    return graded


def test_right_code_has_no_flag(flags_of):
    """Right code gives an instructor nothing to do."""
    assert flags_of() == ()


@needs_full
@pytest.mark.parametrize(
    ("line", "words"),
    [
        pytest.param("open('/etc/shadow')", "files outside its folder", id="a-file"),
        pytest.param("import glob; glob.glob('/etc/*')", "files outside its folder", id="a-folder"),
        pytest.param("import socket; socket.socket()", "the network", id="a-socket"),
        pytest.param("import subprocess; subprocess.run('ls')", "other programs", id="a-program"),
        pytest.param("import os; os.system('ls')", "other programs", id="a-shell"),
    ],
)
def test_an_attempt_inside_try_is_a_flag(flags_of, line: str, words: str):
    """An attempt that the sandbox refused is a flag, although the code caught the exception."""
    found = flags_of("try:", f"    {line}", "except OSError:", "    pass")

    assert Flag(FlagKind.REFUSED, f"the code tried to use {words}") in found


@needs_full
def test_an_attempt_in_a_call_is_a_flag(flags_of):
    """Attempts count until the last check has run."""
    peeking = ("def double(x):", "    try: open('/etc/shadow')", "    except OSError: return 2 * x")

    assert [flag.kind for flag in flags_of(*peeking)] == [FlagKind.REFUSED]


def test_files_of_the_own_folder_and_of_packages_are_no_attempt(flags_of):
    """Code may write files in its folder, and packages read their own files."""
    own = ("with open('a.txt', 'w') as file:", "    file.write('x')", "print(open('a.txt').read())")

    assert flags_of(*own, "import torch.utils.data.sampler, matplotlib") == ()


def test_a_refusal_and_a_missing_package_are_flags(flags_of):
    """The exceptions of statements are flags by their types."""
    found = flags_of("import seaborn", "raise PermissionError('Permission denied')")

    assert Flag(FlagKind.NO_PACKAGE, "not installed here: No module named 'seaborn'") in found
    assert Flag(FlagKind.REFUSED, "the sandbox refused: Permission denied") in found


def test_a_statement_for_a_different_python_is_a_flag(flags_of):
    """A statement that is not valid here may be valid for a newer Python; a NUL never is."""
    [flag] = flags_of("x = (1")

    assert flag.kind is FlagKind.NOT_VALID
    assert flag.text.endswith(f" is not valid {PYTHON}; a newer one may read it")
    assert flags_of("x = '\0'") == ()


def test_an_exercise_from_a_text_is_a_flag(tiny: Course, submit: Submit, fork_server: ForkServer):
    """A file that only runs a text defines nothing that can be read."""
    code = f"exec({SOLUTION!r})"
    with open_suites(tiny, tiny.stages) as runner:
        result = grade_one(runner, fork_server, submit(code))

    assert result.score == 10
    assert [flag.text.split()[0] for flag in result.flags] == ["double", "Scale"]
    assert {flag.kind for flag in result.flags} == {FlagKind.UNCLEAR_CODE}
    assert list(result.notices) == [flag.text for flag in result.flags]
