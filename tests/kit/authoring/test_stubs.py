"""Tests building a stub from markers and rules, and the errors about misplaced markers."""

import ast
import subprocess
import sys
from textwrap import dedent

import pytest

from autograder.authoring import stubs
from autograder.course import Stage
from autograder.errors import CourseError
from autograder.suite.checks import read_rules
from tests.kit.factories import WriteCourse

SOLUTION = '''\
"""Attention, by hand."""

### BEGIN SOLUTION
import math

### END SOLUTION
import torch
from torch import Tensor, nn


### BEGIN SOLUTION
def _scale(scores: Tensor, d_k: int) -> Tensor:
    return scores / math.sqrt(d_k)


### END SOLUTION
def attention_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compare each query with each key; (T, d), (T, d) -> (T, T)."""
    ### BEGIN SOLUTION
    scores = queries @ keys.T  # (T, T)

    return _scale(scores, keys.shape[-1])
    ### END SOLUTION


class SelfAttention(nn.Module):
    """Attend to oneself."""

    def __init__(self, d_in: int) -> None:
        """Draw one weight."""
        super().__init__()
        ### BEGIN SOLUTION
        self.W_query = nn.Parameter(torch.rand(d_in, d_in))
        ### END SOLUTION

    ### BEGIN SOLUTION
    def _mix(self, weights: Tensor) -> Tensor:
        return weights @ self.W_query

    ### END SOLUTION
    def forward(self, x: Tensor) -> Tensor:
        """Answer (T, d_in)."""
        if x.dim() > 2:
            ### BEGIN SOLUTION
            return self._mix(x[0])
            ### END SOLUTION
        return x
'''

STUB = '''\
"""Attention, by hand."""

import torch
from torch import Tensor, nn


def attention_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Compare each query with each key; (T, d), (T, d) -> (T, T)."""
    raise NotImplementedError


class SelfAttention(nn.Module):
    """Attend to oneself."""

    def __init__(self, d_in: int) -> None:
        """Draw one weight."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Answer (T, d_in)."""
        if x.dim() > 2:
            raise NotImplementedError
        return x
'''

RULES = '''
format_version = 1

[[rule]]
name = "dtype"
sentence = "Results have the dtype of the inputs."
methods = []
whole_stage = true

[[rule]]
name = "refuses"
sentence = """A `ValueError` that the docstring promises is checked for, \\
and this sentence is so long that it takes two lines."""
methods = ["refuses"]
stated_by = "Raises an error"
'''
UNRULED = '''"""Two tiny things."""


def double(x):
    """Twice x."""
    raise NotImplementedError


class Scale:
    """A factor for each feature,

    learned.
    """
'''
LAST = f"- Properties {stubs.OTHER_INPUTS}"
BOTH = '@check("double", points=1, rules=("dtype",))\ndef test_a(): ...\n'
BOTH += '@check("Scale", points=1, rules=("dtype",))\ndef test_b(): ...\n'


def test_a_solution_becomes_the_stub():
    """A region in a function becomes one raise; elsewhere it is removed."""
    assert stubs.strip_solutions(SOLUTION, "attention.py") == STUB


@pytest.mark.parametrize(
    "solution",
    [
        pytest.param(SOLUTION, id="helpers-imports-and-methods"),
        pytest.param(
            """\
            A = 1
            ### BEGIN SOLUTION
            B = 2
            ### END SOLUTION
            C = 3
            """,
            id="between-constants",
        ),
        pytest.param(
            """\
            ### BEGIN SOLUTION
            A = 1
            ### END SOLUTION


            def f():
                return 1
            """,
            id="at-the-beginning",
        ),
        pytest.param(
            """\
            def f():
                return 1


            ### BEGIN SOLUTION
            def g():
                return 1


            ### END SOLUTION
            """,
            id="at-the-end",
        ),
        pytest.param(
            """\
            class A:
                ### BEGIN SOLUTION
                x = 1

                ### END SOLUTION
                def f(self):
                    return 1
            """,
            id="first-in-a-class",
        ),
        pytest.param(
            """\
            class A:
                def f(self):
                    return 1

                ### BEGIN SOLUTION
                def g(self):
                    return 1

                ### END SOLUTION


            ### BEGIN SOLUTION
            def h():
                return 1


            ### END SOLUTION
            B = 1
            """,
            id="two-in-a-row",
        ),
    ],
)
def test_the_stub_is_formatted(solution, tmp_path):
    """The formatter changes nothing in the stub of a formatted solution."""
    stub = tmp_path / "stub.py"
    stub.write_text(stubs.strip_solutions(dedent(solution), "attention.py"))

    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--diff", stub]
    done = subprocess.run(ruff, capture_output=True, text=True, check=False)  # noqa: S603 -- ours

    assert done.returncode == 0, done.stdout


def test_a_region_has_lines_and_text():
    """A region has its markers' line numbers, counted from 1, and its text."""
    region = stubs.regions(SOLUTION, "attention.py")[0]

    assert (region.first, region.last) == (3, 6)
    assert region.text == "import math\n"
    assert not region.in_function


@pytest.mark.parametrize(
    ("solution", "line", "complaint"),
    [
        pytest.param("a = 1\n### END SOLUTION\n", 2, "without a BEGIN", id="end-without-begin"),
        pytest.param("### BEGIN SOLUTION\na = 1\n", 1, "without an END", id="begin-without-end"),
        pytest.param(
            "### BEGIN SOLUTION\na = 1\n### BEGIN SOLUTION\n### END SOLUTION\n",
            3,
            "region that begins in line 1",
            id="begin-inside-begin",
        ),
        pytest.param(
            "def f():\n    ### BEGIN SOLUTION\n    return 1\n### END SOLUTION\n",
            4,
            "not indented like its BEGIN in line 2",
            id="end-indented-otherwise",
        ),
        pytest.param(
            "def f():\n### BEGIN SOLUTION\n    return 1\n### END SOLUTION\n",
            2,
            "not indented like the statement in line 3",
            id="both-indented-otherwise",
        ),
        pytest.param(
            "def f():\n    ### BEGIN SOLUTION\n    a = 1\ndef g():\n    return 1\n"
            "    ### END SOLUTION\n",
            4,
            "ends the block",
            id="across-functions",
        ),
        pytest.param(
            "if a:\n    ### BEGIN SOLUTION\n    b = 1\nelse:\n    b = 2\n    ### END SOLUTION\n",
            4,
            "ends the block",
            id="across-branches",
        ),
        pytest.param(
            "### BEGIN SOLUTION\n# soon\n### END SOLUTION\n", 1, "no statement", id="empty-region"
        ),
        pytest.param(
            'a = """\n### BEGIN SOLUTION\n"""\n', 2, "is inside a string", id="in-a-string"
        ),
        pytest.param("def f(:\n", 1, "invalid syntax", id="no-python"),
    ],
)
def test_a_misplaced_marker_is_refused(solution, line, complaint):
    """A marker without its partner or outside its block stops the release with file and line."""
    with pytest.raises(CourseError, match=rf"^attention\.py:{line}: .*{complaint}.*; "):
        stubs.strip_solutions(solution, "attention.py")


@pytest.mark.parametrize(
    "line",
    [
        "## BEGIN SOLUTION",
        "#### BEGIN SOLUTION",
        "###BEGIN SOLUTION",
        "### Begin solution",
        "### BEGIN SOLUTION here",
        "### BEGIN  SOLUTION",
        "### BEGIN_SOLUTION",
        "### BEGIN SOLUTOIN",
        "### END",
        "# end solution",
        "b = 2  ### END SOLUTION",
        "### BEGIN HIDDEN TESTS",
    ],
)
def test_a_line_that_resembles_a_marker_is_refused(line):
    """A misspelled marker is an error, not a comment that gives the solution to students."""
    solution = f"### BEGIN SOLUTION\na = 1\n### END SOLUTION\n{line}\n"

    with pytest.raises(CourseError, match=r"^attention\.py:4: .* looks like a solution marker"):
        stubs.strip_solutions(solution, "attention.py")


@pytest.mark.parametrize(
    "comment", ["# The end of the sequence.", "### Endings", "# begin with the scores"]
)
def test_a_comment_stays_a_comment(comment):
    """An ordinary comment with the word begin or end is kept."""
    solution = f"### BEGIN SOLUTION\na = 1\n### END SOLUTION\n{comment}\n"

    stub = stubs.strip_solutions(solution, "attention.py")

    assert stub == f"{comment}\n"


def test_a_module_without_a_region_is_refused():
    """A module without a region is refused, because a marker was forgotten."""
    with pytest.raises(CourseError, match=r"^attention\.py has no solution"):
        stubs.strip_solutions("a = 1\n", "attention.py")


def test_a_stub_must_be_python():
    """A region is refused if the module is not Python without it."""
    solution = "class A:\n    ### BEGIN SOLUTION\n    a = 1\n    ### END SOLUTION\n"

    with pytest.raises(CourseError, match=r"without its solutions.*valid Python"):
        stubs.strip_solutions(solution, "attention.py")


def test_secret_lines_are_long_and_not_in_the_stub():
    """Short lines, imports and lines of the stub are not secret; a trailing comment is removed."""
    assert stubs.secret_lines(SOLUTION, "attention.py") == {
        "def _scale(scores: Tensor, d_k: int) -> Tensor:",
        "return scores / math.sqrt(d_k)",
        "scores = queries @ keys.T",
        "return _scale(scores, keys.shape[-1])",
        "self.W_query = nn.Parameter(torch.rand(d_in, d_in))",
        "def _mix(self, weights: Tensor) -> Tensor:",
        "return weights @ self.W_query",
        "return self._mix(x[0])",
    }


@pytest.fixture
def stage(write_course: WriteCourse) -> Stage:
    """The tiny stage, in a course with two rules."""
    return write_course({"tests/hidden/rules.toml": RULES}).stages[0]


def docstring(text: str, name: str = "") -> str:
    """The docstring of the module, or of a definition in it."""
    tree = ast.parse(text)
    found = [node for node in tree.body if getattr(node, "name", None) == name]
    return ast.get_docstring(found[0] if name else tree) or ""


def test_a_rule_of_the_whole_stage_is_in_the_docstring_of_the_module(stage: Stage):
    """The rule follows a title, without a list of exercises, and no other docstring has it."""
    stub = stubs.add_rules(UNRULED, stage, BOTH)

    assert docstring(stub) == (
        f"Two tiny things.\n\n{stubs.TITLE}\n\n- Results have the dtype of the inputs.\n{LAST}"
    )
    assert stub.count("Results have") == 1


@pytest.mark.parametrize("name", ["double", "Scale"])
def test_a_rule_of_one_exercise_is_in_its_docstring(stage: Stage, name: str):
    """A docstring of one line grows, and a long sentence takes several lines."""
    suite = f'@check("{name}", points=1, rules=("refuses",))\ndef test_a(): ...\n'
    stub = stubs.add_rules(UNRULED, stage, suite)

    assert "so long" not in docstring(stub)
    assert " ".join(docstring(stub, name).split()).endswith("so long that it takes two lines.")
    assert max(map(len, stub.splitlines())) <= stubs.WIDTH


def test_a_suite_without_rules_has_the_rule_of_the_grader(stage: Stage):
    """The stub states that documented values count only with other inputs, even without rules."""
    stub = stubs.add_rules(UNRULED, stage, BOTH.replace('"dtype",', ""))

    assert docstring(stub) == f"Two tiny things.\n\n{stubs.TITLE}\n\n{LAST}"


def test_an_unknown_rule_is_refused(stage: Stage):
    """A rule without a sentence in rules.toml is refused."""
    with pytest.raises(CourseError, match=r"names the rule 'dtyp', which is not in .*rules\.toml"):
        stubs.add_rules(UNRULED, stage, BOTH.replace('"dtype"', '"dtyp"'))


def test_a_rule_of_an_unknown_exercise_is_refused(stage: Stage):
    """A rule is refused if its exercise is assigned in a form that the kit does not read."""
    suite = 'A, B = "double", "Scale"\n@check(A, points=1, rules=("dtype",))\ndef test_a(): ...\n'
    with pytest.raises(CourseError, match=r"names the exercise 'A', which is not in stage\.toml"):
        stubs.add_rules(UNRULED, stage, suite)


def test_a_rule_that_an_author_has_stated_is_not_written_again(stage: Stage):
    """The words of `stated_by` in a docstring state the rule in the author's own way."""
    suite = '@check("double", points=1, rules=("refuses",))\ndef test_a(): ...\n'
    by_hand = UNRULED.replace("Twice x.", "Twice x. Raises an error\n    for text.\n    ")
    stub = stubs.add_rules(by_hand, stage, suite)

    assert docstring(stub, "double") == "Twice x. Raises an error\nfor text."
    assert list(stubs.unstated(stub, suite, read_rules(stage.rules))) == []


def test_a_sentence_continues_the_last_line_of_a_docstring(stage: Stage):
    """The lines that the author wrote stay as they are."""
    suite = '@check("double", points=1, rules=("refuses",))\ndef test_a(): ...\n'
    by_hand = UNRULED.replace("Twice x.", "Twice x.\n\n    For any x\n    at all.\n    ")
    stub = stubs.add_rules(by_hand, stage, suite)

    assert docstring(stub, "double").startswith("Twice x.\n\nFor any x\nat all. A `ValueError` ")


def test_a_rule_that_the_stub_does_not_state_is_found(stage: Stage):
    """A rule that the stub does not state is found, regardless of line breaks."""
    known = read_rules(stage.rules)
    suite = BOTH.replace('"dtype"', '"refuses"')
    stub = stubs.add_rules(UNRULED, stage, suite)

    assert list(stubs.unstated(stub, suite, known)) == []
    assert list(stubs.unstated(stub, BOTH, known)) == ["dtype"]
    assert list(stubs.unstated(UNRULED, suite, known)) == ["refuses"]
