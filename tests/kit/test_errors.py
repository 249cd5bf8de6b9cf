"""Tests that an error caused by lack of memory is recognized in every form."""

import errno

import pytest
import torch

from autograder.errors import OutOfMemoryError, lacks_memory, require_memory
from autograder.results import Status
from autograder.sandbox.faults import Raised
from autograder.suite.checks import WrongAnswer


def of_torch() -> RuntimeError:
    """Return the error of torch's allocator."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    return caught.value


def while_handling(error: Exception) -> WrongAnswer:
    """Return the exception of a check that handled *error*."""
    wrong = WrongAnswer(Status.WRONG_VALUE, "It is wrong.")
    wrong.__context__ = error
    return wrong


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(MemoryError(), id="python"),
        pytest.param(of_torch(), id="torch"),
        pytest.param(OSError(errno.ENOMEM, "Cannot allocate memory"), id="system"),
        pytest.param(RuntimeError("std::bad_alloc"), id="c++"),
        pytest.param(ImportError("libm.so: failed to map segment"), id="import"),
        pytest.param(while_handling(MemoryError()), id="what-it-led-to"),
    ],
)
def test_a_lack_of_memory_is_recognized(error: Exception):
    """A lack of memory is an error of this process, and a different process may have enough."""
    assert lacks_memory(error)
    with pytest.raises(OutOfMemoryError, match="no memory left"):
        require_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(None, id="nothing"),
        pytest.param(RuntimeError("mat1 and mat2"), id="other-text"),
        pytest.param(
            Raised("E", "can't allocate memory", "std::bad_alloc", public="E"), id="theirs"
        ),
        pytest.param(while_handling(ValueError("out of memory")), id="other-type"),
    ],
)
def test_other_errors_are_none(error: Exception | None):
    """An exception with the words of a student's code does not count as a lack of memory."""
    assert not lacks_memory(error)
    require_memory(error)
