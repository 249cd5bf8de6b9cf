"""Tests that each sentence of a lab that claims a cannot, only, never or always has its proof."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

SOURCE = Path(__file__).parents[2] / "source"
LISTED = tomllib.loads((Path(__file__).parent / "lab_claims.toml").read_text("utf-8"))
CLAIM = re.compile(r"\b(cannot|can't|needs?|only|no other|never|always)\b", re.IGNORECASE)
CODE = re.compile(r"```.*?```|\$\$.*?\$\$", re.DOTALL)
TITLE = re.compile(r"\[[^\]]*\]\([^)]*\)")  # of a paper or a lab
SAME = ("All your code is in the module", "# Stage")  # in every lab
KINDS = ("definition", "proof: ", "cell: ", "question: ")


def claims(stage: str) -> Iterator[str]:
    """Yield the sentences of the lab of *stage* that contain one of the words."""
    (lab,) = SOURCE.glob(f"{stage}_*/lab.ipynb")
    for cell in nbformat.read(lab, as_version=4).cells:
        if cell.cell_type == "markdown":
            text = CODE.sub(" ", cell.source.partition("### BEGIN MARK")[0])
            for sentence in re.split(r"(?<=[.?!])\s+|\n", text):
                if CLAIM.search(TITLE.sub("", sentence)) and not sentence.startswith(SAME):
                    yield sentence.strip()


def test_the_labs_of_stages_00_to_18_are_listed():
    """A lab without such a sentence has an empty table."""
    assert list(LISTED) == [f"{number:02}" for number in range(19)]


@pytest.mark.parametrize("stage", LISTED)
def test_each_claim_is_listed_with_its_proof(stage: str):
    """Add a new sentence to lab_claims.toml with its proof, or write it without the word."""
    assert set(claims(stage)) == set(LISTED[stage])


@pytest.mark.parametrize("stage", LISTED)
def test_each_proof_has_a_kind(stage: str):
    """A proof, a cell that shows it, a question that it belongs to, or a definition."""
    assert [proof for proof in LISTED[stage].values() if not proof.startswith(KINDS)] == []
