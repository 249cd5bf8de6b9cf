"""Avoids the import of torch's compiler in code that is not compiled.

Optimizers and ``torch.func.grad`` import the compiler, ``torch._dynamo``, on first use, only to
mark functions that it must not compile. The import takes some seconds of a worker's time. Until
something else is used, a small module answers these calls in place of the compiler.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace

import torch

COMPILER = "torch._dynamo"


class UnusedCompiler(ModuleType):
    """Answers torch's calls to its compiler in code that is not compiled."""

    compiled_autograd = SimpleNamespace(_disable=contextlib.nullcontext)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []  # ``_Submodules`` finds the modules inside

    def disable(self, fn: Callable[..., object], *_: object, **__: object) -> Callable[..., object]:
        """Return *fn* itself, because nothing compiles it."""
        return fn

    def graph_break(self, msg: str = "") -> None:
        """Do nothing: there is no graph."""

    def __getattr__(self, name: str) -> object:
        """Return the attribute *name* of torch's compiler."""
        if name.startswith("__"):  # requested by code that inspects all modules
            raise AttributeError(name)
        return getattr(import_compiler(), name)


class _Submodules(MetaPathFinder):
    """Imports the compiler before one of its submodules is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path
        if not name.startswith(f"{COMPILER}."):
            return None
        compiler = import_compiler()
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
    """Let torch import its compiler only if code is compiled."""
    if COMPILER not in sys.modules:
        sys.modules[COMPILER] = UnusedCompiler(COMPILER)
        vars(torch)["_dynamo"] = sys.modules[COMPILER]  # as an import would do
        sys.meta_path.insert(0, _Submodules())


def import_compiler() -> ModuleType:
    """Import the compiler, and remove the module that replaces it."""
    if isinstance(sys.modules.get(COMPILER), UnusedCompiler):
        sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Submodules)]
        del sys.modules[COMPILER]
    return import_module(COMPILER)
