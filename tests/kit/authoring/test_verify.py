"""A stage that an author added as docs/author.md says, and what `verify` reports about it."""

from collections.abc import Callable

import pytest

from autograder import course as courses
from autograder.authoring import release, verify
from autograder.course import Course
from autograder.sandbox.supervisor import ForkServer
from tests.kit.commands import forget_suites

HOLLOW = """
import torch
from torch import nn


def double(x):
    return torch.zeros_like(x)


class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.factor = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return torch.zeros_like(x)
"""
VARIANT = HOLLOW.replace(
    "def double(x):\n    return torch.zeros_like(x)", "double = lambda x: x + x"
)
VARIANT = VARIANT.replace("return torch.zeros_like(x)", "return torch.mul(self.factor, x)")
EXTRA = {
    "tests/hidden/01_tiny/hollow.py": HOLLOW,
    "tests/hidden/01_tiny/variants/lambdas.py": VARIANT,
}
WriteCourse = Callable[..., Course]


@pytest.fixture(autouse=True)
def _shared_fork_server(lent_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify with the fork server of all tests, which has imported torch already."""
    monkeypatch.setattr(verify, "ForkServer", lambda *_arguments: lent_fork_server)


@pytest.fixture
def added(write_course: WriteCourse) -> Course:
    """The added stage, released."""
    written = write_course(EXTRA)
    with forget_suites():  # a command has a process of its own
        release.build(written)
    return written


def test_a_stage_needs_four_folders_and_one_line(added: Course):
    """A stage added by the recipe is verified without any change to the engine."""
    report = verify.verify(added)

    assert report.findings == ()
    assert report.lines == (
        "01_tiny: stub 0, solution 10, 2 misconceptions caught and named, 1 correct variants right",
        "2 documented tensors used and reproduced",
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        pytest.param(
            "tests/hidden/01_tiny/test_tiny.py",
            "points=5",
            "points=4",
            "worth 9 points",
            id="points-that-do-not-add-up",
        ),
        pytest.param(
            "tests/hidden/01_tiny/misconceptions.py",
            '(("2 * x", "x ** 2"),)',
            '(("2 * x", "x * 2"),)',
            "squares loses nothing",
            id="a-misconception-that-is-right",
        ),
        pytest.param(
            "tests/hidden/01_tiny/hollow.py",
            "return torch.zeros_like(x)\n\n\nclass",
            "return x + x\n\n\nclass",
            "zeros of the right shapes earn 5.0",
            id="a-placeholder-that-earns",
        ),
        pytest.param(
            "tests/hidden/01_tiny/variants/lambdas.py",
            "x + x",
            "x + 1",
            "variant lambdas.py scores",
            id="a-variant-that-is-wrong",
        ),
        pytest.param(
            "tests/hidden/documented.toml",
            "value = [1.0, 3.0, 5.0]",
            "value = [1.0, 3.0, 5.1]",
            "the solution scores 8.0",
            id="a-documented-value-that-is-not-true",
        ),
        pytest.param(
            "tests/hidden/documented.toml",
            'name = "tiny.doubled"',
            'name = "tiny.unused"\ndocument = "tiny"\ncell = "-"\ndrawn = "-"\ndecimals = 1\n'
            'stage = ["01_tiny"]\nvalue = [1.0]\n\n[[tensor]]\nname = "tiny.doubled"',
            "no check uses tiny.unused",
            id="a-documented-tensor-that-no-check-uses",
        ),
        pytest.param(
            "source/01_tiny/stage.toml",
            '"How much is twice?"',
            '" "',
            "double has an empty hint",
            id="an-empty-hint",
        ),
        pytest.param(
            "solutions/01_tiny/tiny.py",
            '    """Twice x, shape unchanged."""\n',
            "",
            "double or its forward has no docstring",
            id="an-exercise-without-docstring",
        ),
        pytest.param(
            "assignments/01_tiny/tiny.py",
            "raise NotImplementedError",
            "return 2 * x",
            "tiny.py is stale",
            id="a-stale-assignment",
        ),
    ],
)
def test_what_does_not_hold_is_a_finding(
    added: Course, file: str, old: str, new: str, finding: str
):
    """Each inconsistency of a course is reported by name."""
    path = added.root / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    if file.startswith(("source", "solutions")):
        release.build(added)

    findings = verify.verify(courses.load(added.root)).findings

    assert any(finding in line for line in findings), findings


def test_a_folder_that_course_toml_does_not_list_is_a_finding(added: Course):
    """An unknown stage folder is reported with its path and what to do."""
    (added.root / "solutions" / "02_forgotten").mkdir()

    assert list(verify.unknown_folders(added)) == [
        "solutions/02_forgotten is not a stage of course.toml: list it there or delete it."
    ]
