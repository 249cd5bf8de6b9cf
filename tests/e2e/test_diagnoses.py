"""Tests the diagnoses of wrong programs by both sources of evidence, and the grades of right ones.

Commit each change of a golden diagnosis with its reason; ``golden_diagnoses.py`` writes the files.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from difflib import unified_diff
from typing import NamedTuple

import pytest
import torch
from packaging.version import Version

from autograder.course import load
from autograder.diagnosis import misconceptions
from autograder.grading.suite_runner import open_suites
from autograder.results import ExerciseResult, Status
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel, solution_channel
from tests.e2e import golden_diagnoses
from tests.e2e.conftest import GradeClass
from tests.e2e.golden_diagnoses import CORPORA, ROOT, blocks, golden, text_of
from tools.fresh_mistakes import Program, kinds, programs, submit

COURSE = load(ROOT)
STAGES = [stage.name for stage in COURSE.stages]
FRESH = programs()
WRONG = [one for one in FRESH if one.mistakes]
RIGHT = [one for one in FRESH if not one.mistakes]
PER_STAGE = {0: 3, 1: 10, 2: 6}  # the least number of programs, by their number of mistakes
NAMED = {1: (859, 876), 2: (241, 262)}  # the least share of the programs with so many mistakes
# The texts of these errors say the same as the misconceptions, or which shapes do not fit.
OTHER_NAMES = {
    "multiplies_by_the_stored_weight": {"layer_written_out"},
    "transposed": {"transposes_the_weights"},
    "leaves_the_mask_whole": {"sizes_do_not_broadcast"},
    "softmax_axis": {"runs_down_the_columns"},
}
NAMES = re.compile(r" / | \+ ")
LINE = re.compile(r"\d+ of \d+: ([\w /+]+): ")


class Named(NamedTuple):
    """A name or description; *number* counts the equal names of one diagnosis."""

    exercise: str
    name: str
    number: int


def named_by_grading() -> dict[tuple[str, str], set[Named]]:
    """Return the names and descriptions of grading, by origin and name of the program."""
    found: dict[tuple[str, str], set[Named]] = defaultdict(set)
    for stage in COURSE.stages:
        for block in golden(stage.name).split("\n\n"):
            title, _, text = block.partition("\n")
            program, _, exercise = title.removeprefix("## ").rpartition(" (")
            origin, name = program.split(": ", 1)
            key = origin, name if origin != "rewrite" else f"{stage.name}/{name}"
            for line in LINE.findall(text.partition("recorded:")[0]):
                names = NAMES.split(line)
                every = enumerate(names)
                found[key] |= {Named(exercise, one, names[:i].count(one)) for i, one in every}
    return found


# Up to two minutes each; `verify` names the misconceptions of all stages. Stage 01 has functions,
# and 04 has modules.
MARKS = {"01_dot_product_attention": [], "04_self_attention": pytest.mark.slow}


@pytest.mark.skipif(
    Version(torch.__version__) < Version("2.13"), reason="the files were written with torch 2.13"
)
@pytest.mark.parametrize(
    "stage", [pytest.param(name, marks=MARKS.get(name, pytest.mark.nightly)) for name in STAGES]
)
def test_diagnoses_are_golden(stage: str):
    """Grading and a student's machine give each program the diagnosis in the golden file."""
    found = blocks(COURSE, COURSE.stage(stage))
    expected, given = (text.splitlines() for text in (golden(stage), text_of(found)))

    assert "\n".join(unified_diff(expected, given, "golden", "now", lineterm="", n=3)) == ""


def test_no_right_program_has_a_diagnosis():
    """Right programs and variants pass every check, in any idiom."""
    titles = [line for stage in STAGES for line in golden(stage).splitlines() if line[:2] == "##"]

    assert len(titles) > 600
    assert [title for title in titles if title.startswith(("## right", "## variant"))] == []


def states_its_fault(one: Program) -> bool:
    """Whether the first failed check of a program states a broken rule or a missing name."""
    stage, wrong = COURSE.stage(one.stage), one.mistakes[0].exercise
    [text] = submit(COURSE, one).code.cells
    channel = LocalChannel("program", text, solution_channel(stage.solution))
    with open_suites(COURSE, [stage], diagnose=False) as runner:
        checks = [item for item in runner.checks(stage.name) if item.spec.exercise == wrong]
        first = next(filter(None, (runner.run(item.item, channel).error for item in checks)), None)
    return isinstance(first, WrongAnswer) and first.status in {Status.FORBIDDEN, Status.MISSING}


@pytest.mark.parametrize("count", NAMED)
def test_fresh_mistakes_have_names(count: int):
    """A program with two mistakes gets two names, or one name in each of two exercises.

    A description of the wrong numbers counts as a name, and so does a check that states which line
    breaks a rule, or which name is missing.
    """
    named = named_by_grading()
    least, every = NAMED[count]
    wanted = [one for one in WRONG if len(one.mistakes) == count]
    identified = [one for one in wanted if len(named["fresh", one.id]) >= count]
    unnamed = [one for one in wanted if one not in identified]
    identified += [one for one in unnamed if count == 1 and states_its_fault(one)]

    assert len(wanted) == every
    assert len(identified) >= least


def test_a_mistake_is_named_in_any_idiom():
    """A rewrite of a misconception gets the same name, or one that answers cannot distinguish."""
    named = named_by_grading()
    unnamed = []
    for path in sorted((CORPORA / "rewrites").glob("*/*.py")):
        stage, mistake = path.parent.name, path.stem.split("__")[0]
        bank = {item.id: item for item in misconceptions.read(COURSE.stage(stage).misconceptions)}
        same = {mistake, *(bank[mistake].ties if mistake in bank else ())}
        same |= OTHER_NAMES.get(mistake, set())
        if not same & {one.name for one in named["rewrite", f"{stage}/{path.stem}"]}:
            unnamed.append(path.name)

    assert unnamed == []


CHANGED = {  # misconceptions with different results without a refusal, by their reasons
    "writes_the_block_of_the_example": "the refusal reads the block, so it comes in other checks",
    "checks_top_k_only_when_it_draws": "its late refusal is removed, too",
    "fills_in_position_by_position": "the refusal runs functions that the check lists",
}


class WithoutRefusals(ast.NodeTransformer):
    """Removes each ``if`` that only raises."""

    def visit_If(self, node: ast.If) -> ast.AST:
        """Remove an ``if`` that only raises."""
        refuses = all(isinstance(one, ast.Raise) for one in node.body) and not node.orelse
        return ast.copy_location(ast.Pass(), node) if refuses else self.generic_visit(node)


def unrefused(text: str, exercise: str) -> str:
    """Return a module in which *exercise* refuses no arguments."""
    tree = ast.parse(text)
    for node in tree.body:
        if getattr(node, "name", "") == exercise:
            WithoutRefusals().visit(node)
    return ast.unparse(tree)


@pytest.mark.nightly  # three minutes; the golden diagnoses have such programs, too
@pytest.mark.parametrize("stage", STAGES)
def test_a_missing_refusal_hides_no_misconception(stage: str):
    """A missing refusal, a common second fault, does not hide the name of a mistake."""
    found = COURSE.stage(stage)
    solution = found.solution.read_text("utf-8")
    hidden = []
    with open_suites(COURSE, [found]) as runner:
        source = runner.diagnostician(found).source
        for item in misconceptions.read(found.misconceptions):
            wrong = item.module(solution)
            text = unrefused(wrong, item.exercise)
            about_refusals = text == unrefused(solution, item.exercise)
            if about_refusals or text == ast.unparse(ast.parse(wrong)) or item.id in CHANGED:
                continue
            program = golden_diagnoses.Program("", item.id, item.exercise, text)
            lines = golden_diagnoses.said(runner, found, source, program) or []
            names = {name for line in lines for name in LINE.findall(f"{line} ")}
            if not {item.id, *item.ties} & {one for name in names for one in NAMES.split(name)}:
                hidden.append((item.id, lines))

    assert hidden == []


@pytest.fixture
def grade(grade_class: GradeClass) -> Callable[[Program], tuple[ExerciseResult, ...]]:
    """Grades a program in the sandbox."""
    return lambda program: grade_class([submit(COURSE, program)])[0].exercises


@pytest.mark.nightly  # many other files assert that a failed check loses its points in the sandbox
@pytest.mark.parametrize("program", WRONG, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_mistake_loses_points(program: Program, grade):
    """Each exercise with a mistake loses points."""
    exercises = {mistake.exercise for mistake in program.mistakes}
    lost = {one.name for one in grade(program) if one.score < one.max_score}

    assert exercises <= lost


@pytest.mark.slow
@pytest.mark.parametrize("program", RIGHT, ids=lambda one: f"{one.stage}-{one.id}")
def test_a_right_program_earns_everything(program: Program, grade):
    """A right program in any idiom earns all points of every exercise."""
    exercises = grade(program)

    assert len(exercises) == len(COURSE.stage(program.stage).exercises)
    assert [one.name for one in exercises if one.score < one.max_score] == []


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_programs(stage: str):
    """Each stage has right programs, programs with one mistake and with two, and rewrites."""
    counts = Counter(len(one.mistakes) for one in FRESH if one.stage == stage)

    assert all(counts[mistakes] >= least for mistakes, least in PER_STAGE.items())
    assert list((CORPORA / "rewrites" / stage).glob("*.py"))


def test_every_program_has_its_own_id():
    """Ids are unique, even across stages."""
    assert len({one.id for one in FRESH}) == len(FRESH)


def test_kinds_are_a_closed_list():
    """Each mistake has kinds from the list, and each kind in the list has a mistake."""
    used = {kind for one in FRESH for mistake in one.mistakes for kind in mistake.kinds}

    assert used == set(kinds())
