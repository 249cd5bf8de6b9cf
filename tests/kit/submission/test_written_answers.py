"""Tests that written answers wait for a person unless the lab certainly leaves them blank."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.results import Flag, FlagKind
from autograder.submission.files import SubmittedFile, check_size
from autograder.submission.notebook import MAX_NOTEBOOK, OPENING
from autograder.submission.written_answers import WAITS, WrittenAnswers, written_answers
from tests.kit.factories import Cell, cell, notebook

GIVEN = "YOUR ANSWER HERE"
ASKED = cell("markdown", "Why twice?", "asked", locked=True)
WHY = cell("markdown", GIVEN, "why", grade=True, solution=True, points=3)
SKETCH = cell("code", "raise NotImplementedError", "sketch", grade=True, solution=True, points=2)
RUN = cell("code", "x = 1")
TOUR = cell("markdown", "# Tiny things")
LAB = (TOUR, RUN, ASKED, WHY, SKETCH)
Answers = Callable[..., WrittenAnswers]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """Read the answers in a lab of *cells*, or in *data*, for a stage with two questions."""
    (tmp_path / "lab.ipynb").write_bytes(notebook(*LAB))
    stage = SimpleNamespace(assignment=tmp_path, written_answers={"why": 3.0, "sketch": 2.0})

    def read(*cells: Cell, data: bytes | None = None, name: str = "lab.ipynb") -> WrittenAnswers:
        content = notebook(*cells) if data is None else data
        file = SubmittedFile(
            path=PurePosixPath(name),
            label=name,
            read=lambda limit: check_size(content, limit, name),
        )
        return written_answers(stage, file)

    return read


def test_an_unchanged_lab_leaves_every_answer_blank(answers: Answers):
    """Nothing waits, and nothing is said, if the lab is as it was released."""
    assert answers(*LAB) == WrittenAnswers(blank=frozenset({"why", "sketch"}))


def test_an_answer_in_its_cell_waits_and_the_other_is_blank(answers: Answers):
    """Each question counts for itself; nothing is unclear here."""
    found = answers(TOUR, RUN, ASKED, {**WHY, "source": "Because."}, SKETCH)

    assert found == WrittenAnswers(blank=frozenset({"sketch"}), waiting=3.0)


def test_the_cells_of_a_lab_for_a_browser_are_no_answers(answers: Answers):
    """The badge, the first cell, exercises and links to other labs leave an answer blank."""
    link = cell("markdown", "# Tiny things, after [01](../01/lab.ipynb)")
    own = [
        cell("markdown", "[![Open in Colab](x)](y)\n\nThis copy of the lab ..."),
        cell("code", f"{OPENING}\n%pip install x"),
        cell("code", "%%exercise double\ndef double(x):\n    return 2 * x"),
    ]

    assert answers(*own, *LAB).blank == {"why", "sketch"}
    assert not answers(*own, link, *LAB).blank


@pytest.mark.parametrize(
    ("text", "is_blank"),
    [
        pytest.param("", True, id="empty"),
        pytest.param(" \n\t", True, id="spaces"),
        pytest.param(f"{GIVEN}\n", True, id="as-given-with-newline"),
        pytest.param("Because.", False, id="written"),
        pytest.param(f"{GIVEN}: because", False, id="written-behind"),
    ],
)
def test_an_answer_is_blank_if_nothing_was_written(answers: Answers, text: str, *, is_blank: bool):
    """An empty answer cell counts as unchanged."""
    found = answers(TOUR, RUN, ASKED, {**WHY, "source": text}, {**SKETCH, "source": "x = 1"})

    assert ("why" in found.blank) is is_blank
    assert "sketch" not in found.blank


@pytest.mark.parametrize(
    ("cells", "unclear"),
    [
        pytest.param((*LAB, cell("markdown", "Mine.")), ("sketch", "why"), id="text-of-ones-own"),
        pytest.param((*LAB, cell("code", "# Mine.")), ("sketch", "why"), id="code-of-ones-own"),
        pytest.param((*LAB, cell("raw", "Mine.")), ("sketch", "why"), id="raw-cell"),
        pytest.param((*LAB[:4], {**WHY, "source": "Mine."}), ("sketch",), id="copied-cell"),
        pytest.param(
            (*LAB[:2], {**ASKED, "source": "Why twice? Mine."}, *LAB[3:]),
            ("sketch", "why"),
            id="in-the-question",
        ),
        pytest.param((TOUR, {**RUN, "source": "x = 2"}, *LAB[2:]), ("sketch", "why"), id="code"),
        pytest.param(LAB[:4], ("sketch",), id="deleted"),
        pytest.param(
            (TOUR, RUN, ASKED, SKETCH, cell("markdown", "M.")), ("sketch", "why"), id="new"
        ),
        pytest.param(
            [{**one, "metadata": {}} for one in LAB], ("sketch", "why"), id="without-metadata"
        ),
        pytest.param((), ("sketch", "why"), id="no-cells"),
    ],
)
def test_an_answer_that_may_be_elsewhere_waits(
    answers: Answers, cells: tuple[Cell, ...], unclear: tuple[str, ...]
):
    """An answer that is not in its cell waits if it may be elsewhere, and a notice reports it."""
    found = answers(*cells)

    assert not found.blank.intersection(unclear)
    assert found.waiting > 0
    assert found.flag.kind is FlagKind.UNCLEAR_ANSWERS
    assert ", ".join(unclear) in found.flag.text
    assert found.flag.text.endswith(WAITS)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(notebook(*LAB)[:-40], id="cut-off"),
        pytest.param(b"", id="empty"),
        pytest.param(b"<html><title>Login</title></html>", id="page"),
        pytest.param(b"<<<<<<< HEAD\n" + notebook(*LAB), id="conflict"),
        pytest.param(b" " * MAX_NOTEBOOK + notebook(*LAB), id="too-large"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"cells": [{"cell_type": "markdown"}, 7, {}, []]}', id="no-sources"),
        pytest.param(b'{"worksheets": [{"cells": [{"input": "x"}]}]}', id="format-3"),
    ],
)
def test_answers_in_a_lab_that_cannot_be_read_wait(answers: Answers, data: bytes):
    """A damaged lab leaves no answer blank, and the notice names the file."""
    found = answers(data=data)

    assert (found.blank, found.waiting) == (frozenset(), 5.0)
    assert found.flag.kind is FlagKind.UNCLEAR_ANSWERS
    assert "lab.ipynb" in found.flag.text
    assert found.flag.text.endswith(WAITS)


@pytest.mark.parametrize(
    ("cells", "name", "is_missing"),
    [
        pytest.param([cell("code", "x = 2")], "tiny.ipynb", True, id="code"),
        pytest.param([cell("code", "x = 2")], "lab (1).ipynb", False, id="code-in-a-lab"),
        pytest.param([RUN], "tiny.ipynb", False, id="cell-of-the-lab"),
        pytest.param([cell("markdown", "Mine.")], "tiny.ipynb", False, id="text"),
    ],
)
def test_a_notebook_of_code_is_not_a_lab(
    answers: Answers, cells: list[Cell], name: str, *, is_missing: bool
):
    """A notebook for the module's code has no answers, unless something may be one."""
    assert (answers(*cells, name=name).flag.kind is FlagKind.NO_LAB) is is_missing


def test_copies_of_an_unchanged_lab_are_blank(answers: Answers):
    """A lab that an editor doubled contains nothing else."""
    assert answers(*LAB, *LAB).blank == {"why", "sketch"}


def test_a_missing_lab_leaves_the_answers_missing(tmp_path: Path):
    """Without a lab, every answer is blank, and the notice gives the points."""
    stage: Any = SimpleNamespace(assignment=tmp_path, written_answers={"why": 3.0})
    found = written_answers(stage, None)

    assert (found.blank, found.waiting) == ({"why"}, 0.0)
    assert found.flag == Flag(
        FlagKind.NO_LAB,
        "No lab.ipynb was submitted, so the written answers (3 points) count as missing.",
    )


def test_a_stage_without_questions_has_no_answers(tmp_path: Path):
    """Nothing is read, and nothing waits."""
    stage: Any = SimpleNamespace(assignment=tmp_path, written_answers={})

    assert written_answers(stage, None) == WrittenAnswers()


PREDICT = """lab.predict(
    "Which, if any?",
    ["all of them", "one"],
    name="which",
)"""


@pytest.mark.parametrize(
    ("old", "new", "is_blank"),
    [
        pytest.param('"which",', '"which", guess=2, sure=70', True, id="number"),
        pytest.param('"which",', '"which",\n    guess = 2,\n    sure = 70.5,', True, id="lines"),
        pytest.param('"which",', "\"which\", guess='all of them', sure=70", True, id="choice"),
        pytest.param('name="which",', 'guess="2", sure="70 %", name="which",', True, id="quotes"),
        pytest.param('"which",', '"which", guess="Because.", sure=70', False, id="words"),
        pytest.param('"which",', '"which", guess=2, sure=70)  # Because.', False, id="comment"),
        pytest.param('"which",', '"which", guess=2 or "Because."', False, id="expression"),
        pytest.param("Which", "Because", False, id="question"),
    ],
)
def test_a_guess_is_no_answer_to_a_written_question(
    answers: Answers, tmp_path: Path, old: str, new: str, *, is_blank: bool
):
    """A guess in a cell of the lab leaves blank answers blank, but other words may be an answer."""
    (tmp_path / "lab.ipynb").write_bytes(notebook(*LAB, cell("code", PREDICT)))
    found = answers(*LAB, cell("code", PREDICT.replace(old, new)))

    assert bool(found.blank) is is_blank
    assert bool(found.flag) is not is_blank
