"""Tests documented tensors: reading the file, and comparing with printed digits."""

import re
from pathlib import Path

import pytest
import torch

from autograder.course import Course
from autograder.errors import CourseError
from autograder.suite import documented
from autograder.suite.checks import WrongAnswer
from autograder.suite.documented import TORCH_VERSION, DocumentedTensor, noting_uncompared
from autograder.suite.noise import LEAST_MARGIN, watching_bounds


def entry(value: object, **changed: object) -> DocumentedTensor:
    """A documented tensor that is printed as *value*, to four decimals."""
    facts = {"name": "a", "document": "d", "cell": "In [1]", "drawn": "given", "stage": ("01",)}
    return DocumentedTensor(value=value, **(facts | {"decimals": 4} | changed))


def significant(value: object) -> DocumentedTensor:
    """A documented tensor that is printed with three significant digits."""
    return entry(value, decimals=None, digits=3)


@pytest.fixture
def path(tiny: Course) -> Path:
    """The tiny course's documented.toml."""
    return tiny.documented


def test_tensors_are_found_by_name(path: Path):
    """A printed value is found by its name, as a float32 tensor."""
    doubled = documented.read(path)["tiny.doubled"]

    assert torch.equal(doubled.tensor, torch.tensor([1.0, 3.0, 5.0]))


@pytest.mark.parametrize(
    ("form", "value", "right", "wrong"),
    [
        pytest.param(
            "plain", ["tea", [1, 2], []], ("tea", [1, 2], ()), ["tea", [1], []], id="list"
        ),
        pytest.param("plain", "tea", "tea", b"tea", id="text"),
        pytest.param("dict", [[[1, 2], 3]], {(1, 2): 3}, {(2, 1): 3}, id="dictionary"),
        pytest.param("dict", [["tea", [1]]], {"tea": [1]}, [["tea", [1]]], id="no-dictionary"),
    ],
)
def test_a_document_may_print_other_values(form: str, value: object, right: object, wrong: object):
    """Texts, lists and dictionaries are compared as they are."""
    printed = entry(value, decimals=None, form=form)
    printed.matches(right)

    with pytest.raises(WrongAnswer):
        printed.matches(wrong)


@pytest.mark.parametrize(
    ("form", "value", "decimals", "words"),
    [
        ("plain", "tea", 4, "is exact, so it has neither"),
        ("dict", [1], None, "is a list of lists"),
        ("dict", "tea", None, "is a list of lists"),
    ],
)
def test_an_entry_of_other_values_is_exact(form: str, value: object, decimals, words: str):
    """An entry that contradicts its form is refused."""
    with pytest.raises(ValueError, match=words):
        entry(value, decimals=decimals, form=form)


def test_a_course_without_the_file_has_no_documented_tensors(path: Path):
    """A course that compares with no document needs no documented.toml."""
    path.unlink()

    assert documented.read(path) == {}


def test_an_entry_may_have_its_own_tokens(path: Path):
    """The tokens of the file name the axes of every entry without its own tokens."""
    path.write_text(path.read_text().replace("decimals = 4", "decimals = 4\ntokens = []", 1))
    tensors = documented.read(path)

    assert tensors["tiny.doubled"].tokens == ()
    assert tensors["tiny.numbers"].tokens


@pytest.mark.parametrize(
    ("old", "new", "excerpt"),
    [
        pytest.param("tiny.doubled", "tiny.numbers", "two tensors are named", id="duplicates"),
        pytest.param("decimals", "figures", "figures", id="unknown-key"),
        pytest.param("decimals = 4", "", "`decimals` or `digits`", id="no-precision"),
        pytest.param("decimals = 4", "decimals = 4\ndigits = 2", "not both", id="two-precisions"),
        pytest.param("decimals = 4", "digits = 0", "at least 1", id="no-digits"),
        pytest.param("decimals = 4", 'decimals = 4\ntorch = "2.9"', "2.9", id="no-requirement"),
        pytest.param('drawn = "given"\n', "", "drawn", id="missing-key"),
        pytest.param("format_version = 1", "format_version = 2", "format_version", id="version"),
    ],
)
def test_an_invalid_file_is_refused(path: Path, old: str, new: str, excerpt: str):
    """The message about an invalid file names the file and the error."""
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
    """Printed values are compared to the last digit, and given values exactly."""
    assert float(entry([1.0], **changed).atol) == pytest.approx(atol)


def test_significant_digits_give_each_number_its_own_tolerance():
    """Numbers printed as -2.54e-04 are compared to their third digit, however small they are."""
    gradients = significant([-2.54e-4, 6.72e-5, 0.0])
    gradients.matches(torch.tensor([-2.5444e-4, 6.7244e-5, 1e-9]))

    for wrong in ([-2.55e-4, 6.72e-5, 0.0], [-2.54e-4, 6.73e-5, 0.0], [-2.54e-4, 6.72e-5, 1e-7]):
        with pytest.raises(WrongAnswer):
            gradients.matches(torch.tensor(wrong))


def test_a_message_shows_every_significant_digit():
    """A message shows a small number with its digits and not as 0.0000."""
    with pytest.raises(WrongAnswer, match=re.escape("is 0.000255; it should be 0.000254.")):
        significant(2.54e-4).matches(2.55e-4)
    with pytest.raises(WrongAnswer, match=re.escape("by up to 0.000001.")) as caught:
        significant([2.54e-4]).matches(torch.tensor([2.55e-4]))

    assert caught.value.grid().expected == (("0.000254",),)


def test_the_margin_of_small_numbers_is_as_small_as_they_are():
    """A right number that is 4e-4 in size is not reported as close to its bound."""
    with watching_bounds() as margins:
        significant([2.54e-4]).matches(torch.tensor([2.544e-4]))

    assert min(margins) > LEAST_MARGIN


def test_an_older_torch_compares_only_the_shape():
    """A value of a later torch is not compared, and a notice tells the student."""
    printed = entry([1.0, 2.0], torch=">=99")
    with noting_uncompared() as notices:
        printed.matches(torch.zeros(2))

    assert f"torch >=99, but torch {TORCH_VERSION} is installed" in notices[0].message
    with pytest.raises(WrongAnswer):
        printed.matches(torch.zeros(3))


def test_the_proof_names_what_this_torch_does_not_compute():
    """`verify` and `doctor` print the version, and the values that were not compared."""
    held, other = entry(1.0, torch=">=2.6"), entry(2.0, torch=">=99", name="b")

    assert documented.proof([held]) == f"with torch {TORCH_VERSION}"
    assert documented.proof([held, other]).endswith(", not compared: b (torch >=99)")


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
