"""The documented tensors: reading the file, and comparing with printed digits."""

from pathlib import Path

import pytest
import torch

from autograder.course import Course
from autograder.errors import CourseError
from autograder.suite import documented
from autograder.suite.checks import WrongAnswer
from autograder.suite.documented import DocumentedTensor


def entry(value: object, **changed: object) -> DocumentedTensor:
    """A documented tensor that is printed as *value*, to four decimals."""
    facts = {"name": "a", "document": "d", "cell": "In [1]", "drawn": "given", "stage": ("01",)}
    return DocumentedTensor(value=value, **(facts | {"decimals": 4} | changed))


@pytest.fixture
def path(tiny: Course) -> Path:
    """The tiny course's documented.toml."""
    return tiny.documented


def test_tensors_are_found_by_name(path: Path):
    """The printed value is a float32 tensor."""
    doubled = documented.read(path)["tiny.doubled"]

    assert torch.equal(doubled.tensor, torch.tensor([1.0, 3.0, 5.0]))


@pytest.mark.parametrize(
    ("old", "new", "excerpt"),
    [
        pytest.param("tiny.doubled", "tiny.numbers", "two tensors are named", id="duplicates"),
        pytest.param("decimals", "digits", "digits", id="unknown-key"),
        pytest.param('drawn = "given"\n', "", "drawn", id="missing-key"),
        pytest.param("format_version = 1", "format_version = 2", "format_version", id="version"),
    ],
)
def test_an_invalid_file_is_refused(path: Path, old: str, new: str, excerpt: str):
    """The message names the file and what is wrong in it."""
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(CourseError, match=excerpt) as caught:
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
    """Printed values are compared to the last digit, given ones exactly."""
    assert entry([1.0], **changed).atol == pytest.approx(atol)


def test_values_with_other_printed_digits_are_refused():
    """A difference of half a unit is right, of a whole unit wrong."""
    printed = entry([0.4306, 0.6194])
    printed.matches(torch.tensor([0.43064, 0.61936]))

    with pytest.raises(WrongAnswer):
        printed.matches(torch.tensor([0.4307, 0.6194]))


def test_a_single_number_is_compared_as_a_number():
    """A value that is printed without brackets is a number."""
    entry(0.9544).matches(torch.tensor(0.95441))

    with pytest.raises(WrongAnswer):
        entry(0.9544).matches(0.9546)


def test_given_integers_stay_integers():
    """A printed shape is int64 and compared exactly."""
    shape = entry([6, 3], exact=True, decimals=0)
    shape.matches(torch.tensor([6, 3]))

    assert shape.tensor.dtype == torch.int64
    with pytest.raises(WrongAnswer):
        shape.matches(torch.tensor([6 + 1j, 3]))


def test_only_tensors_asked_for_by_name_are_used(path: Path):
    """Going through all tensors does not count as using them."""
    found = documented.read(path)
    names = [item.name for item in found.values()]
    assert "tiny.doubled" in found
    assert dict(found.items()).keys() == set(found)
    _ = found["tiny.numbers"]

    assert names == ["tiny.numbers", "tiny.doubled"]
    assert found.used == {"tiny.numbers"}
