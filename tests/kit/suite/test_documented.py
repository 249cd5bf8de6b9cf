"""The ledger of documented tensors."""

from pathlib import Path

import pytest
import torch

from autograder.course import Course
from autograder.errors import CourseError
from autograder.suite import documented
from autograder.suite.checks import WrongAnswer
from autograder.suite.documented import DocumentedTensor


def entry(value: object, **changed: object) -> DocumentedTensor:
    """A ledger entry that prints *value* to four decimals."""
    facts = {"name": "a", "document": "d", "cell": "In [1]", "drawn": "given", "stage": ("01",)}
    return DocumentedTensor(value=value, **(facts | {"decimals": 4} | changed))


@pytest.fixture
def path(tiny: Course) -> Path:
    """The tiny course's documented.toml."""
    return tiny.documented


def test_entries_are_found_by_name(path: Path):
    """An entry holds the printed value as a float32 tensor."""
    doubled = documented.read(path)["tiny.doubled"]

    assert torch.equal(doubled.tensor, torch.tensor([1.0, 3.0, 5.0]))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("tiny.doubled", "tiny.numbers", "two entries are named", id="twins"),
        pytest.param("decimals", "digits", "digits", id="unknown-key"),
        pytest.param('drawn = "given"\n', "", "drawn", id="missing-key"),
        pytest.param("format_version = 1", "format_version = 2", "format_version", id="version"),
    ],
)
def test_a_ledger_that_contradicts_itself_is_refused(path: Path, old: str, new: str, words: str):
    """The message names file, place and fault."""
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(CourseError, match=words) as caught:
        documented.read(path)

    assert "documented.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "atol"),
    [
        pytest.param({}, 0.5e-4 + 1e-5, id="printed"),
        pytest.param({"decimals": 2}, 0.5e-2 + 1e-5, id="two-decimals"),
        pytest.param({"from_printed": True}, 1e-4 + 1e-5, id="computed-from-a-print"),
        pytest.param({"exact": True}, 0.0, id="given"),
    ],
)
def test_the_tolerance_is_half_a_unit_of_the_last_digit(changed: dict, atol: float):
    """Digits that were printed are compared to the digit, given ones exactly."""
    assert entry([1.0], **changed).atol == pytest.approx(atol)


def test_a_print_is_met_or_refused():
    """Half a unit off is the same print, a whole one is another."""
    printed = entry([0.4306, 0.6194])
    printed.matches(torch.tensor([0.43064, 0.61936]))

    with pytest.raises(WrongAnswer):
        printed.matches(torch.tensor([0.4307, 0.6194]))


def test_a_single_number_is_compared_as_one():
    """A print without brackets is a number."""
    entry(0.9544).matches(torch.tensor(0.95441))

    with pytest.raises(WrongAnswer):
        entry(0.9544).matches(0.9546)


def test_given_whole_numbers_stay_whole():
    """A printed shape is int64, and met exactly."""
    shape = entry([6, 3], exact=True, decimals=0)
    shape.matches(torch.tensor([6, 3]))

    assert shape.tensor.dtype == torch.int64
    with pytest.raises(WrongAnswer):
        shape.matches(torch.tensor([6 + 1j, 3]))


def test_only_what_was_asked_for_is_used(path: Path):
    """To look through the ledger is no use of its entries; an entry asked for by name is used."""
    found = documented.read(path)
    names = [item.name for item in found.values()]
    assert "tiny.doubled" in found
    assert dict(found.items()).keys() == set(found)
    _ = found["tiny.numbers"]

    assert names == ["tiny.numbers", "tiny.doubled"]
    assert found.used == {"tiny.numbers"}


def test_one_process_shares_one_ledger(path: Path):
    """What the checks of all stages have used is known in one place."""
    assert documented.shared(path) is documented.shared(path)
