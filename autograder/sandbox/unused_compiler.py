"""Avoids torch's compiler and the import of SymPy, which take seconds of a worker's time.

Optimizers and ``torch.func.grad`` import the compiler, ``torch._dynamo``, on first use, only to
mark functions that it must not compile. A backward pass from a given gradient imports the module of
symbolic shapes, and with it SymPy, only to compare two shapes. Small modules answer these calls,
until code needs any other name. ``torch.compile`` returns its argument, which then runs
uncompiled: the compiler starts other programs, which the sandbox does not allow.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

COMPILER = "torch._dynamo"
SHAPES = "torch.fx.experimental.symbolic_shapes"


class _Postponed(ModuleType):
    """Replaces a module of torch until code needs a name that is not defined here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # requested by code that inspects all modules
            raise AttributeError(name)
        return getattr(_import_now(self.__name__), name)


class _Submodules(MetaPathFinder, Loader):
    """Imports the compiler before a submodule, which the compiler may then have loaded."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.startswith(f"{COMPILER}."):
            _import_now(COMPILER)
            return ModuleSpec(name, self) if name in sys.modules else None
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        pass


def postpone_compiler() -> None:
    """Let torch import its compiler and SymPy only if code needs them, and compile nothing.

    Compiled code gives the same results, and the sandbox can't run the C++ compiler.
    """
    vars(torch)["compile"] = _uncompiled
    if COMPILER not in sys.modules:
        vars(torch)["_dynamo"] = sys.modules[COMPILER] = _Postponed(COMPILER)  # as by an import
        vars(sys.modules[COMPILER]).update(
            __path__=[str(Path(torch.__file__).with_name("_dynamo"))],
            disable=_unchanged,
            graph_break=lambda _message="": None,
            compiled_autograd=SimpleNamespace(_disable=contextlib.nullcontext),
        )
        sys.meta_path.insert(0, _Submodules())
    if SHAPES not in sys.modules:
        sys.modules[SHAPES] = _Postponed(SHAPES)
        vars(sys.modules[SHAPES]).update(sym_eq=_sym_eq, expect_true=_expect_true)


def _uncompiled(model: Any = None, **_: object) -> Any:
    """Return *model* as it is, or the decorator that does so."""
    return _unchanged if model is None else model


def _unchanged(function: Callable[..., object], *_: object, **__: object) -> Callable[..., object]:
    return function  # nothing compiles it


def _sym_eq(x: Any, y: Any) -> Any:
    if all(isinstance(one, torch.Size) and {*map(type, one)} <= {int} for one in (x, y)):
        return x == y
    return _import_now(SHAPES).sym_eq(x, y)


def _expect_true(a: Any, skip: int = 0) -> Any:
    return a if isinstance(a, bool) else _import_now(SHAPES).expect_true(a, skip)


def _import_now(name: str) -> ModuleType:
    """Import torch's module *name*, and remove the module that replaces it."""
    if isinstance(sys.modules.get(name), _Postponed):
        del sys.modules[name]
    return import_module(name)
