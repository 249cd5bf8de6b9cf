"""Avoids the import of torch's compiler in code that is not compiled.

Optimizers and ``torch.func.grad`` import the compiler, ``torch._dynamo``, on first use, only to
mark functions that it must not compile. A backward pass from a given gradient imports the module of
symbolic shapes, and with it SymPy, only to compare two shapes. Each import takes up to some seconds
of a worker's time. Until something else is used, a small module answers these calls.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

COMPILER = "torch._dynamo"
SHAPES = "torch.fx.experimental.symbolic_shapes"


class Postponed(ModuleType):
    """Takes the place of a module of torch until code needs a name that is not defined here."""

    def __getattr__(self, name: str) -> Any:
        """Return the attribute *name* of torch's module."""
        if name.startswith("__"):  # requested by code that inspects all modules
            raise AttributeError(name)
        return getattr(import_now(self.__name__), name)


class UnusedCompiler(Postponed):
    """Answers torch's calls to its compiler in code that is not compiled."""

    compiled_autograd = SimpleNamespace(_disable=contextlib.nullcontext)

    def __init__(self) -> None:
        super().__init__(COMPILER)
        self.__path__ = []  # ``_Submodules`` finds the modules inside

    def disable(self, fn: Callable[..., object], *_: object, **__: object) -> Callable[..., object]:
        """Return *fn* itself, because nothing compiles it."""
        return fn

    def graph_break(self, msg: str = "") -> None:
        """Do nothing: there is no graph."""


class PlainShapes(Postponed):
    """Compares shapes that contain numbers only."""

    def __init__(self) -> None:
        super().__init__(SHAPES)

    def sym_eq(self, x: Any, y: Any) -> Any:
        """Return whether two shapes are equal; torch's module compares any other values."""
        if _is_plain(x) and _is_plain(y):
            return x == y
        return import_now(SHAPES).sym_eq(x, y)

    def expect_true(self, a: Any, skip: int = 0) -> Any:
        """Return *a*; torch's module examines a condition that is not a plain one."""
        return a if isinstance(a, bool) else import_now(SHAPES).expect_true(a, skip)


def _is_plain(shape: object) -> bool:
    return isinstance(shape, torch.Size) and all(type(size) is int for size in shape)


class _Submodules(MetaPathFinder):
    """Imports the compiler before one of its submodules is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path
        if not name.startswith(f"{COMPILER}."):
            return None
        compiler = import_now(COMPILER)
        if name in sys.modules:
            return ModuleSpec(name, _Imported())
        return PathFinder.find_spec(name, compiler.__path__, target)


class _Imported(Loader):
    """Loads a module that the import of the compiler has already loaded."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        pass


def postpone_compiler() -> None:
    """Let torch import its compiler and SymPy only if code needs them."""
    if SHAPES not in sys.modules:
        sys.modules[SHAPES] = PlainShapes()
    if COMPILER not in sys.modules:
        sys.modules[COMPILER] = UnusedCompiler()
        vars(torch)["_dynamo"] = sys.modules[COMPILER]  # as an import would do
        sys.meta_path.insert(0, _Submodules())


def import_now(name: str) -> ModuleType:
    """Import torch's module *name*, and remove the module that replaces it."""
    if isinstance(sys.modules.get(name), Postponed):
        if name == COMPILER:
            sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Submodules)]
        del sys.modules[name]
    return import_module(name)
