"""Tests a stage added by the steps of docs/author.md, and the findings of `verify` about it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from autograder import course as courses
from autograder.authoring import release, verify
from autograder.authoring.recording import open_recorder
from autograder.course import Course
from autograder.course_file import Exercise
from autograder.sandbox.supervisor import ForkServer
from autograder.suite import public_record
from autograder.suite.checks import CheckSpec, CollectedCheck, Layer
from autograder.suite.documented import TORCH_VERSION
from tests.kit.commands import forget_suites
from tests.kit.factories import HIDDEN, MISCONCEPTIONS, course_files, rewrite_records, write_files

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
LAW = '''

@check("double", points=2, layer="laws")
def test_twice_two_is_four(student):
    """Twice two is four."""
    agrees(student.call("double", torch.full((2, 2), 2.0)), torch.full((2, 2), 4.0))
'''
EXTRA = {
    "tests/hidden/01_tiny/test_tiny.py": HIDDEN.replace("points=3", "points=1").replace(
        "from autograder.suite.checks", "import torch\n\nfrom autograder.suite.checks"
    )
    + LAW,
    "tests/hidden/01_tiny/hollow.py": HOLLOW,
    "tests/hidden/01_tiny/variants/lambdas.py": VARIANT,
}
WriteCourse = Callable[..., Course]


@pytest.fixture(autouse=True)
def _shared_fork_server(lent_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verify with the fork server of all tests, which has imported torch already."""
    monkeypatch.setattr(verify, "ForkServer", lambda *_arguments: lent_fork_server)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The added stage after `release`, for copying."""
    root = tmp_path_factory.mktemp("released") / "course"
    write_files(root, course_files(("01_tiny",)) | EXTRA)
    with forget_suites():  # each command runs in its own process
        release.build(courses.load(root))
    return root


@pytest.fixture
def added(released: Path, tmp_path: Path) -> Iterator[Course]:
    """A copy of the added stage."""
    with forget_suites():
        yield courses.load(shutil.copytree(released, tmp_path / "course"))


def test_a_stage_needs_four_folders_and_one_line(added: Course):
    """A stage added by the recipe is verified without any change to the engine."""
    report = verify.verify(added, full=True)

    assert report.findings == ()
    line, last, head, row = report.lines
    assert line.startswith(
        "01_tiny: stub 0, solution 10, 2 misconceptions caught and named, 1 correct variant right"
    )
    assert last == f"2 documented tensors used and reproduced with torch {TORCH_VERSION}"
    assert head.startswith("| stage | one misconception |")
    assert row == "| 01_tiny | 6.9 (5 to 8.8) | 38% | 0 (0 to 0) | none | 0 | none |"


def test_the_usual_proof_measures_no_distance(added: Course):
    """The usual proof runs and names every misconception, and leaves out the distances."""
    report = verify.verify(added)

    assert report.findings == ()
    assert report.lines[0].endswith("2 misconceptions caught and named")
    assert report.details == ()


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
            "hollow.py earn 5, more than 2",
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
            "tests/hidden/01_tiny/variants/lambdas.py",
            "double = ",
            "import missing_package\n\ndouble = ",
            "variant lambdas.py can't be imported",
            id="a-variant-that-can-not-be-imported",
        ),
        pytest.param(
            "tests/hidden/documented.toml",
            "value = [1.0, 3.0, 5.0]",
            "value = [1.0, 3.0, 5.1]",
            "the solution scores 9.2",
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
            "double or its `forward` has no docstring",
            id="an-exercise-without-docstring",
        ),
        pytest.param(
            "assignments/01_tiny/tiny.py",
            "raise NotImplementedError",
            "return 2 * x",
            "tiny.py was edited",
            id="an-edited-module",
        ),
        pytest.param(
            "assignments/01_tiny/stage.toml",
            "module",
            "# in\nmodule",
            "stage.toml is stale",
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

    full = file.endswith(("hollow.py", "lambdas.py"))  # the usual proof does not grade them
    findings = verify.verify(courses.load(added.root), full=full).findings

    assert any(finding in line for line in findings), findings


def test_a_function_inside_an_exercise_needs_no_docstring(tmp_path: Path):
    """A function that a solution defines as one of its steps is not a public method."""
    solution = tmp_path / "tiny.py"
    solution.write_text(
        'def double(x):\n    """Twice x."""\n\n    def add(y):\n        return x + y\n\n'
        "    return add(x)\n"
    )
    stage = SimpleNamespace(solution=solution, exercises=[Exercise("double", hints=("a", "b"))])

    assert list(verify.undocumented_exercises(stage)) == []


def test_copies_give_no_points_and_other_exercises_do():
    """Points are for what a student writes in this stage."""
    exercises = [Exercise("double", copied_from="00_old"), Exercise("Scale"), Exercise("half")]
    given = {"double": 0.5, "Scale": 0.0, "half": 1.0}
    checks = [
        CollectedCheck(None, CheckSpec(name, points, Layer.PROBE, ()))
        for name, points in given.items()
    ]

    assert list(verify.misplaced_points(SimpleNamespace(exercises=exercises), checks)) == [
        "double is a copy, so its checks give no points, not 0.5.",
        "the checks of Scale give no points.",
    ]


def test_each_part_of_a_stage_is_reported_when_it_begins(added: Course):
    """A line names the stage and the part, in the order in which `verify` works on them."""
    lines: list[str] = []
    verify.verify(added, report=lines.append)

    assert lines == [
        "01_tiny: verifying the hidden suite",
        "01_tiny: verifying the records",
    ]


@pytest.mark.slow
def test_the_distance_to_each_bound_is_a_detail(added: Course):
    """For each check with a bound, the right code that comes closest is listed."""
    report = verify.verify(added, full=True)

    line = next(one for one in report.details if "test_doubles_unseen_numbers" in one)

    assert line.startswith("01_tiny, test_doubles_unseen_numbers: ")
    assert line.endswith(" times the noise from its bound")


def test_a_folder_that_course_toml_does_not_list_is_a_finding(added: Course):
    """An unknown stage folder is reported with its path and what to do."""
    (added.root / "solutions" / "02_forgotten").mkdir()

    assert list(verify.unknown_folders(added)) == [
        "solutions/02_forgotten is not a stage of course.toml: add it there or delete it."
    ]


SUITE = "tests/hidden/01_tiny/test_tiny.py"
BANK = "tests/hidden/01_tiny/misconceptions.py"
HIDES = HIDDEN.replace(
    'points=3, layer="probe"', 'points=3, layer="probe", hidden="sizes by heart"'
)
KNOWN_SIZE = """
    Misconception(
        id="knows_one_size",
        exercise="double",
        explanation="Only three numbers are doubled.",
        question="What if there are more?",
        swaps=(("return 2 * x", "return 2 * x if x.shape == (3,) else x"),),
    ),
"""
REASON = "the sizes of public inputs are known"
LISTED = KNOWN_SIZE.replace("swaps=", f'only_hidden="{REASON}", swaps=')
MANY = "".join(
    KNOWN_SIZE.replace("knows_one_size", f"times_{n}").replace("2 * x if", f"{n} * x if")
    for n in range(3, 51)
)
PASSES = "01_tiny: misconception knows_one_size passes the public suite"
SHARE = "01_tiny: 1 of 3 misconceptions pass the public suite."


def gaps(write_course: WriteCourse, *entries: str) -> list[str]:
    """Build the tiny course, with a hidden check and more misconceptions; report its findings."""
    bank = MISCONCEPTIONS.removesuffix(")\n") + "".join(entries) + ")\n"
    course = write_course({SUITE: HIDES, BANK: bank})
    with forget_suites():
        release.build(course)
    return list(verify.public_gaps(course.stages[0]))


def test_a_misconception_that_passes_the_public_suite_is_a_finding(write_course: WriteCourse):
    """A misconception that passes the public suite without a reason is a finding."""
    (found,) = gaps(write_course, KNOWN_SIZE, MANY)

    assert found.startswith(PASSES)


def test_a_reason_why_only_hidden_inputs_can_show_it_is_enough(write_course: WriteCourse):
    """One misconception of 51 may need hidden inputs, because this is less than 2 %."""
    assert gaps(write_course, LISTED, MANY) == []


def test_too_many_are_a_finding_with_reasons_too(write_course: WriteCourse):
    """More than 2 % of misconceptions that pass are a finding, even with reasons."""
    assert gaps(write_course, LISTED) == [SHARE]


def test_a_reason_that_is_not_true_is_a_finding(write_course: WriteCourse):
    """A false `only_hidden` is a finding: the public suite detects the tripled numbers."""
    tripled = LISTED.replace("2 * x if", "3 * x if")

    assert gaps(write_course, tripled) == [
        "01_tiny: knows_one_size fails the public suite, so `only_hidden` is false."
    ]


RULES = """
format_version = 1

[[rule]]
name = "gradients"
sentence = "Gradients flow back to every argument."
methods = ["gradients"]
"""
GRADIENTS = '''

@check("double", points=2, layer="gradients", rules=("gradients",))
def test_gradients(student, reference, probe):
    """Gradients flow back."""
    x = probe.normal(3, 2)
    yours, ours = (who.gradients("double", x, cotangent=x).inputs for who in (student, reference))

    agrees(yours[0], ours[0])
'''
RULED = EXTRA | {
    "tests/hidden/rules.toml": RULES,
    SUITE: HIDDEN.replace("points=3", "points=1") + GRADIENTS,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        pytest.param(SUITE, "none", "none", "", id="stated-and-named"),
        pytest.param(
            SUITE,
            ', rules=("gradients",)',
            "",
            "01_tiny: test_gradients grades by `gradients` but names none of the rules gradients.",
            id="a-rule-that-a-check-does-not-name",
        ),
        pytest.param(
            "assignments/01_tiny/tiny.py",
            "Gradients flow back to every argument.",
            "",
            "01_tiny: checks grade the rule 'gradients', which the stub does not state.",
            id="a-rule-that-the-stub-does-not-state",
        ),
    ],
)
def test_rules_are_verified(write_course: WriteCourse, file: str, old: str, new: str, finding: str):
    """A graded rule that the stub does not state is a finding."""
    course = write_course(RULED)
    with forget_suites():
        release.build(course)
    path = course.root / file
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")

    others = ("is stale", "was edited")  # the edited built file is a separate finding
    found = verify.verify(course).findings
    findings = [line for line in found if not any(words in line for words in others)]

    assert findings == ([finding] if finding else [])


def test_a_record_of_other_numbers_is_a_finding(added: Course):
    """A record with a right digest and wrong numbers is a finding."""
    stage = added.stages[0]
    record = public_record.read(stage.records)
    other = replace(record, replies=record.replies | {"test_scales_each_feature": ()})
    rewrite_records(stage, replies=other)

    with open_recorder(added, [stage]) as recorder:
        found = list(verify.wrong_records(stage, recorder))

    assert found == ["01_tiny: records.bin has different numbers for test_scales_each_feature."]
