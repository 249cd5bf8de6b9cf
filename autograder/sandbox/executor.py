"""Executes requests on a loaded module.

The same code runs in the worker for a submission, and in the supervisor for solutions and wrong
programs, so that all of them get the same requests. A worker's statements about its module can be
forged, because student code runs in the same process. The supervisor therefore gives few points or
none for any statement except returned tensors.
"""

import contextlib
import inspect
import linecache
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, Final

import msgspec
import torch
from torch import Tensor, nn

from autograder.sandbox import static_names
from autograder.sandbox.call_counters import Attempts, CallCounters
from autograder.sandbox.module_parameters import (
    MissingError,
    load,
    match,
    parameters,
    replace,
    require_tensor,
)
from autograder.sandbox.notebook_magics import SourceParts, read_parts
from autograder.sandbox.protocol import (
    MAX_PROBLEMS,
    MAX_TEXT,
    Problem,
    Reply,
    Request,
    SourceValue,
    Verb,
)
from autograder.sandbox.statements import (
    ProblemReader,
    StatementRunner,
    is_definition,
    statement_at,
)
from autograder.sandbox.tensors import Encoder, decode, differs, has_array

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

    Both take seconds of a worker's time. Optimizers and ``torch.func.grad`` import the compiler
    only to mark functions that it must not compile, and a backward pass imports SymPy to compare
    two shapes. Small modules answer these calls. Compiled code would give the same results, and the
    sandbox can't run the C++ compiler.
    """
    vars(torch)["compile"] = lambda model=None, **_: _unchanged if model is None else model
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


COUNTED = ("functions", "operators", "products")
HOOKS = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")
MAX_REBOUND = 10  # reported names of classes that were bound again; students do not write more


class RequestExecutor:
    """Holds one student's module and executes requests on it."""

    def __init__(self, name: str, *, notebook: bool, max_bytes: int) -> None:
        postpone_compiler()
        self._name = name
        self._notebook = notebook
        self._max_bytes = max_bytes
        self.module = ModuleType("__main__" if notebook else name)  # Jupyter does the same
        self.counters = CallCounters()
        self.attempts = Attempts()
        self.report: Callable[[int], object] = lambda _number: None  # gets each statement's number
        self._runner = StatementRunner(vars(self.module))
        self._objects: list[nn.Module] = []
        self.names: defaultdict[int, dict[str, str]] = defaultdict(dict)  # see module_parameters
        self._problems = ProblemReader()
        self._parsed: dict[tuple[bytes, ...], tuple[SourceParts, ...]] = {}

    def answer(self, request: Request) -> Reply:
        """Execute *request*; an exception of the student's code becomes a ``Problem``."""
        try:
            return self._execute(request)
        except MissingError as error:
            problem = Problem(kind="missing", text=str(error)[:MAX_TEXT])
        except BaseException as error:  # noqa: BLE001  # also SystemExit and KeyboardInterrupt
            problem = self._problems.describe(error)
        return Reply(problem=problem)

    def perform(self, request: Request) -> tuple[object, list[object]]:
        """Execute *request*; return the result of the code and the arguments after the call.

        Keyword arguments follow the positional ones. Exceptions of the code are not caught.
        """
        if request.fresh:
            self.forget()
        args = [decode(value, self.find, arrays=True) for value in request.args]
        kwargs = {
            key: decode(value, self.find, arrays=True) for key, value in request.kwargs.items()
        }
        if request.seed is not None:
            # torch.manual_seed also formats three stack traces for absent devices
            torch.default_generator.manual_seed(request.seed)
        result = VERBS[request.verb](Call(self, request, [*args], {**kwargs}))
        return result, [*args, *kwargs.values()]

    def _execute(self, request: Request) -> Reply:
        result, args = self.perform(request)
        if request.verb == "read" and isinstance(result, SourceValue):
            return Reply(value=result)
        sent = [*request.args, *request.kwargs.values()]
        pairs = enumerate(zip(args, sent, strict=True))
        changed = tuple(index for index, (arg, value) in pairs if differs(arg, value))
        value = Encoder(self._keep, self._max_bytes, arrays=has_array(sent)).encode(result)
        return Reply(value=value, changed=changed)

    def read(self, cells: tuple[bytes, ...]) -> SourceValue:
        """Parse *cells* without running them, and keep their parts for ``run``."""
        parts = self._read_parts(cells)
        self._parsed = {cells: parts}
        return SourceValue(static_names.definitions([one.tree for one in parts]))

    def run(self, cells: tuple[bytes, ...], left_out: Sequence[object] = ()) -> list[object]:
        """Run *cells* as the module without some statements, and return their problems."""
        sys.modules[self._name] = self.module
        vars(self.module)["__file__"] = f"{self._name}.py"
        if cells not in self._parsed:
            self._parsed = {cells: self._read_parts(cells)}
        parts = self._parsed.pop(cells)
        numbers = [one for one in left_out if isinstance(one, int)]
        self._runner = StatementRunner(vars(self.module), self.report, numbers, parts)
        problems = self._run_cells(cells, parts)
        rebound = [
            Problem(kind="rebound", statement=statement_at(item.source, item.line, (item.name,)))
            for item in self._runner.rebindings()
        ]
        problems = [*rebound[:MAX_REBOUND], *problems][:MAX_PROBLEMS]
        return [msgspec.to_builtins(problem) for problem in problems]

    def definition(self, name: str) -> object:
        """Return the object *name* of the module: its class or function, even if that is rebound.

        A name such as "nn.Embedding" means torch's own class.
        """
        if name.startswith("nn."):
            return operator.attrgetter(name)(torch)
        found: object = getattr(self.module, name, None)
        return found if is_definition(found) else self._runner.definitions.get(name, found)

    def find(self, handle: int) -> nn.Module:
        """Return the torch module that *handle* names; raise ``MissingError`` if there is none."""
        if not 0 <= handle < len(self._objects):
            raise MissingError("The module that this check created no longer exists")
        return self._objects[handle]

    def quote_from(self, label: str) -> None:
        """Quote lines of the file *label*, too, which a different executor has read."""
        self._problems.files.add(label)

    def _label(self, number: int) -> str:
        return f"cell {number}" if self._notebook else f"{self._name}.py"

    def _read_parts(self, cells: tuple[bytes, ...]) -> tuple[SourceParts, ...]:
        return tuple(read_parts(cell, self._label(at)) for at, cell in enumerate(cells, start=1))

    def _run_cells(
        self, cells: tuple[bytes, ...], parsed: tuple[SourceParts, ...]
    ) -> list[Problem]:
        problems: list[Problem] = []
        for number, (cell, parts) in enumerate(zip(cells, parsed, strict=True), start=1):
            label = self._label(number)
            self._problems.files.add(label)
            lines = cell.decode("utf-8", "replace").splitlines(keepends=True)
            linecache.cache[label] = (len(cell), None, lines, label)
            for failure in self._runner.run(parts, label):
                if len(problems) < MAX_PROBLEMS:
                    problems.append(self._problems.describe_statement(failure, label))
        return problems

    def forget(self) -> None:
        """Drop the modules that the last check created, and the names of functions that ran."""
        self._objects.clear()
        self.names.clear()

    def _keep(self, module: nn.Module) -> int:
        self._objects.append(module)
        return len(self._objects) - 1


@dataclass(frozen=True)
class Call:
    """A request with decoded arguments, and the executor that executes it."""

    executor: RequestExecutor
    request: Request
    args: list[object]
    kwargs: dict[str, object]

    @property
    def definition(self) -> Callable[..., object]:
        """The function or class that the request names; raises ``MissingError``."""
        found = self.executor.definition(self.request.name)
        if not callable(found):
            raise MissingError(f"{self.request.name} is not defined")
        return found

    def run(self) -> object:
        """Call the definition."""
        return self.definition(*self.args, **self.kwargs)

    @property
    def module(self) -> nn.Module:
        """The torch module that the request's handle names."""
        return self.executor.find(self.request.handle)

    @property
    def names(self) -> dict[str, str]:
        """The names of the course by the names of the module's parameters, if they differ."""
        return self.executor.names[self.request.handle]

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """The parameters of the module, under the names of the course."""
        return parameters(self.module, self.names)

    @property
    def target(self) -> Callable[..., object]:
        """The torch module if the request has a handle, otherwise the definition."""
        return self.module if self.request.handle >= 0 else self.definition


def _signature(call: Call) -> object:
    parameters = inspect.signature(call.target).parameters.values()
    return [
        {"name": item.name, "kind": item.kind.name, "optional": item.default is not item.empty}
        for item in parameters
    ]


def _new(call: Call) -> nn.Module:
    created = call.run()
    if not isinstance(created, nn.Module):
        raise MissingError(f"{call.request.name} is not a torch.nn.Module")
    return created


def _method(call: Call) -> object:
    found = getattr(call.module, call.request.name, None)
    if not callable(found):
        raise MissingError(f"There is no method {call.request.name}")
    return found(*call.args, **call.kwargs)


def _mode(call: Call) -> None:
    call.module.train(call.request.name == "train")


def _move(call: Call) -> object:
    """Move to device or dtype *name*; return device and dtype of every parameter and buffer."""
    where = getattr(torch, call.request.name, None)
    call.module.to(where if isinstance(where, torch.dtype) else call.request.name)
    held = [*call.module.named_parameters(), *call.module.named_buffers()]
    return {name: f"{item.device.type} {item.dtype}" for name, item in held}


def _parameters(call: Call) -> object:
    """Return the parameters; the arguments are the names that they should have, if any."""
    if call.args and not call.names:
        call.names.update(match(call.module, list(map(str, call.args))))
    return call.parameters


def _hooks(call: Call) -> int:
    """Count the hooks that a call of the module runs; a replaced ``forward`` counts as one."""
    parts = [vars(part) for part in call.module.modules()]
    count = sum(len(part.get(f"_{kind}", ())) for part in parts for kind in HOOKS)
    everywhere = vars(nn.modules.module)  # torch's hooks for all modules
    count += sum(len(everywhere.get(f"_global_{kind}", ())) for kind in HOOKS)
    return count + sum("forward" in part for part in parts)


def _gradients(call: Call) -> object:
    """Call the target, and return the gradients for the cotangents, the first argument."""
    cotangents, *inputs = call.args
    for value in inputs:
        if isinstance(value, Tensor) and value.is_floating_point():
            value.requires_grad_()
    output = call.target(*inputs, **call.kwargs)
    leaves = {
        f"input {index}": value
        for index, value in enumerate(inputs)
        if isinstance(value, Tensor) and value.requires_grad
    }
    if call.request.handle >= 0:
        leaves |= call.parameters
    return {"output": output, "gradients": _backward(output, cotangents, leaves)}


def _operators(call: Call) -> object:
    counters = call.executor.counters
    with counters.counting():
        call.target(*call.args, **call.kwargs)
    counted = {name: dict(getattr(counters, name)) for name in COUNTED}
    return counted | {"largest": counters.largest}


VERBS: Final[Mapping[Verb, Callable[[Call], object]]] = MappingProxyType(
    {
        "read": lambda call: call.executor.read(call.request.cells),
        "run": lambda call: call.executor.run(call.request.cells, call.args),
        "has": lambda call: callable(call.executor.definition(call.request.name)),
        "signature": _signature,
        "call": Call.run,
        "new": _new,
        "forward": lambda call: call.module(*call.args, **call.kwargs),
        "method": _method,
        "mode": _mode,
        "move": _move,
        "parameters": _parameters,
        "shapes": lambda call: {name: list(one.shape) for name, one in call.parameters.items()},
        "buffers": lambda call: dict(call.module.named_buffers()),
        "state": lambda call: dict(call.module.state_dict()),
        "hooks": _hooks,
        "load": lambda call: load(call.module, call.kwargs, call.request.may_lack, call.names),
        "replace": lambda call: replace(call.module, call.kwargs),
        "gradients": _gradients,
        "operators": _operators,
        "draw": lambda _call: torch.rand(4),
        "attempts": lambda call: sorted(call.executor.attempts.found),
    }
)


def _backward(
    output: object, cotangents: object, leaves: dict[str, Tensor]
) -> dict[str, Tensor | None]:
    gradients: dict[str, Tensor | None] = dict.fromkeys(leaves)
    wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    parts = _parts(output, cotangents)
    differentiable = [(part, cotangent) for part, cotangent in parts if part.requires_grad]
    if not wanted or not differentiable:
        return gradients
    for part, cotangent in parts:
        if part.shape != cotangent.shape:
            msg = f"the result has shape {tuple(part.shape)}, its gradient {tuple(cotangent.shape)}"
            raise ValueError(msg)
    outputs, given = zip(*differentiable, strict=True)
    found = torch.autograd.grad(outputs, [*wanted.values()], given, allow_unused=True)
    return gradients | dict(zip(wanted, found, strict=True))


def _parts(output: object, cotangents: object) -> list[tuple[Tensor, Tensor]]:
    """Pair each tensor of *output* with its cotangent; raise ``TypeError`` for a missing entry."""
    if isinstance(cotangents, Tensor):
        return [(require_tensor(output), cotangents)]
    pairs: list[tuple[Tensor, Tensor]] = []
    for key, cotangent in cotangents if isinstance(cotangents, list) else ():
        try:
            part = output[key]  # type: ignore[index]  # a value without entries raises an error
        except (LookupError, TypeError):
            msg = f"expected a result with an entry {key!r}, not {type(output).__name__}"
            raise TypeError(msg) from None
        pairs.append((require_tensor(part), require_tensor(cotangent)))
    return pairs
