"""Tests that lack of memory, and a library that can't be loaded, are recognized in every form."""

import errno
import sys

import pytest
import torch

from autograder.errors import OutOfMemoryError, lacks_memory, library_error, require_memory
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


def raised_while_loading(source: str, module: str) -> Exception:
    """Return the exception that *source* raises as the content of *module*."""
    try:
        exec(compile(source, f"{module}.py", "exec"), {"__name__": module})  # noqa: S102  # the sources are in this file
    except Exception as error:  # noqa: BLE001  # every exception counts
        return error
    pytest.fail("nothing was raised")


@pytest.mark.parametrize(
    ("source", "module", "library"),
    [
        pytest.param("raise OSError('WinError 126: fbgemm.dll')", "torch", "torch", id="dll"),
        pytest.param("raise ImportError('libtorch_cpu.so')", "torch", "torch", id="import"),
        pytest.param("None.nothing", "torch._C", "torch", id="attribute"),
        pytest.param("raise ImportError('ABI')", "numpy.core", "NumPy", id="numpy"),
        pytest.param(
            "raise RuntimeError('Numpy is not available')", "autograder.x", "NumPy", id="abi"
        ),
        pytest.param("from torch import nothing_here", "autograder.x", "torch", id="old-torch"),
        pytest.param(
            "import types\ntypes.ModuleType('torch').Tensor", "autograder.x", "torch", id="empty"
        ),
        pytest.param(
            "raise ModuleNotFoundError('no package', name='torch.nn')",
            *("autograder.x", "torch"),
            id="own-file",
        ),
        pytest.param(
            "raise ModuleNotFoundError('no', name='torch')", "autograder.x", "torch", id="missing"
        ),
    ],
)
def test_a_library_that_cannot_be_loaded_is_named(source: str, module: str, library: str):
    """An import of torch or NumPy that fails names the library, the reason and the remedy."""
    error = raised_while_loading(source, module)
    found = library_error(error)

    assert str(found).startswith(f"{library} can't be loaded: {type(error).__name__}")
    assert "python -m pip install" in str(found)


@pytest.mark.parametrize("module", ["_lzma", "_bz2", "_ctypes", "_sqlite3", "zlib"])
def test_a_missing_part_of_python_is_named(monkeypatch: pytest.MonkeyPatch, module: str):
    """A Python that was built without a library is told so, and torch is not blamed for it."""
    monkeypatch.setitem(sys.modules, module, None)
    found = library_error(raised_while_loading(f"import {module}", "torch"))

    assert str(found).startswith(f"This Python can't load its own module {module}")
    assert sys.executable in str(found)
    assert "-dev)" in str(found)


@pytest.mark.parametrize("extension", ["so", "pyd"])
def test_a_part_of_python_whose_library_is_gone_is_named(extension: str):
    """A module of Python's own that exists, but does not load, is named like a missing one."""
    error = ImportError("libffi.so.7: no", name="_ctypes", path=f"/lib/_ctypes.{extension}")

    assert str(library_error(error)).startswith("This Python can't load its own module _ctypes")


@pytest.mark.parametrize(
    "error",
    [
        ImportError("no name", name="random", path="/home/ada/random.py"),
        ModuleNotFoundError("not a package", name="queue.helpers"),
        ModuleNotFoundError("no module", name="attention_helpers"),
    ],
)
def test_a_file_named_like_a_part_of_python_is_not_a_part_of_it(error: ImportError):
    """An import that fails in somebody's own file says nothing about Python."""
    assert library_error(error) is None


@pytest.mark.parametrize("source", ["1 / 0", "import torch\ntorch.zeros(2) @ torch.zeros(3)"])
def test_another_error_is_not_blamed_on_a_library(source: str):
    """An exception that torch raises in a call, or that has nothing to do with it, stays a bug."""
    assert library_error(raised_while_loading(source, "autograder.x")) is None
