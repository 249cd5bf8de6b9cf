"""Where a module is taken through its verbs: in the worker for students, in the supervisor for us.

The same code answers for a student's submission (behind the wire), for the reference solution and
for the misconceptions (in the supervisor's own process), so that all three are asked alike.
Everything it says about a student's module is testimony: the worker is theirs. The supervisor
trusts only the bytes of the answers, and gives little or nothing for the rest.
"""

import contextlib
import inspect
import linecache
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType

import msgspec
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.sandbox import static_names
from autograder.sandbox.magics import compile_cells
from autograder.sandbox.protocol import MAX_TEXT, Problem, ProblemKind, Reply, Request
from autograder.sandbox.tensors import Encoder, decode

MAX_TRACED = 50_000  # operators watched in one call; an honest one runs some dozens
OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "Cannot allocate memory")


class AbsentError(Exception):
    """The student's module has no such name, parameter or mode."""


class RequestExecutor:
    """Holds one student's module and does to it what requests say."""

    def __init__(self, name: str, *, notebook: bool, max_bytes: int) -> None:
        self._name = name
        self._notebook = notebook
        self._max_bytes = max_bytes
        self._module = ModuleType(name)
        self._objects: list[nn.Module] = []
        self._files: set[str] = set()

    def answer(self, request: Request) -> Reply:
        """Do *request*; whatever the student's code raises becomes a ``Problem``."""
        try:
            return self._do(request)
        except AbsentError as error:
            problem = Problem(kind="missing", text=str(error)[:MAX_TEXT])
        except BaseException as error:  # noqa: BLE001  # SystemExit and KeyboardInterrupt included
            problem = self._told(error)
        return Reply(number=request.number, problem=problem)

    def _do(self, request: Request) -> Reply:
        if request.fresh:
            self._objects.clear()
        args = [decode(value, self._find) for value in request.args]
        kwargs = {key: decode(value, self._find) for key, value in request.kwargs.items()}
        before = [arg.clone() if isinstance(arg, Tensor) else None for arg in args]
        if request.seed is not None:
            # torch.manual_seed does the same, and formats three stack traces for absent devices
            torch.default_generator.manual_seed(request.seed)
        result = getattr(self, f"_verb_{request.verb}")(request, args, kwargs)
        changed = tuple(
            index
            for index, (arg, copy) in enumerate(zip(args, before, strict=True))
            if isinstance(arg, Tensor) and copy is not None and _differs(arg, copy)
        )
        value = Encoder(self._keep, self._max_bytes).encode(result)
        return Reply(number=request.number, value=value, changed=changed)

    # The module itself

    def _verb_read(self, request: Request, _args: list[object], _kwargs: object) -> object:
        trees = static_names.parse(compile_cells(request.cells, notebook=self._notebook))
        return [msgspec.to_builtins(item) for item in static_names.definitions(trees)]

    def _verb_run(self, request: Request, _args: list[object], _kwargs: object) -> object:
        sys.modules[self._name] = self._module
        vars(self._module)["__file__"] = f"{self._name}.py"
        return [msgspec.to_builtins(problem) for problem in self._run(request.cells)]

    def _run(self, cells: tuple[bytes, ...]) -> Iterator[Problem]:
        cleaned = compile_cells(cells, notebook=self._notebook)
        for number, cell in enumerate(cleaned, start=1):
            label = f"cell {number}" if self._notebook else f"{self._name}.py"
            self._files.add(label)
            lines = cell.decode("utf-8", "replace").splitlines(keepends=True)
            linecache.cache[label] = (len(cell), None, lines, label)
            try:
                code = compile(cell, label, "exec", dont_inherit=True)
                exec(code, vars(self._module))  # noqa: S102  # running it is what we are here for
            except BaseException as error:  # noqa: BLE001  # sys.exit() in a cell included
                yield self._told(error)
                if not self._notebook:
                    return

    def _verb_has(self, request: Request, _args: list[object], _kwargs: object) -> object:
        return callable(getattr(self._module, request.name, None))

    def _verb_signature(self, request: Request, _args: list[object], _kwargs: object) -> object:
        parameters = inspect.signature(self._target(request)).parameters.values()
        return [
            {"name": item.name, "kind": item.kind.name, "optional": item.default is not item.empty}
            for item in parameters
        ]

    # Functions and modules

    def _verb_call(self, request: Request, args: list[object], kwargs: dict[str, object]) -> object:
        return self._defined(request.name)(*args, **kwargs)

    def _verb_new(self, request: Request, args: list[object], kwargs: dict[str, object]) -> object:
        made = self._defined(request.name)(*args, **kwargs)
        if not isinstance(made, nn.Module):
            msg = f"{request.name} is no torch.nn.Module"
            raise AbsentError(msg)
        return made

    def _verb_forward(
        self, request: Request, args: list[object], kwargs: dict[str, object]
    ) -> object:
        return self._find(request.handle)(*args, **kwargs)

    def _verb_mode(self, request: Request, _args: list[object], _kwargs: object) -> object:
        self._find(request.handle).train(request.name == "train")
        return None

    def _verb_move(self, request: Request, _args: list[object], _kwargs: object) -> object:
        """Move to device or dtype *name*, and say where everything is now."""
        module = self._find(request.handle)
        where = getattr(torch, request.name, None)
        module.to(where if isinstance(where, torch.dtype) else request.name)
        held = [*module.named_parameters(), *module.named_buffers()]
        return {name: f"{item.device.type} {item.dtype}" for name, item in held}

    def _verb_parameters(self, request: Request, _args: list[object], _kwargs: object) -> object:
        return dict(self._find(request.handle).named_parameters())

    def _verb_shapes(self, request: Request, _args: list[object], _kwargs: object) -> object:
        """Shapes alone: of a large model the numbers themselves would be too much to send."""
        return {name: list(p.shape) for name, p in self._find(request.handle).named_parameters()}

    def _verb_buffers(self, request: Request, _args: list[object], _kwargs: object) -> object:
        return dict(self._find(request.handle).named_buffers())

    def _verb_state(self, request: Request, _args: list[object], _kwargs: object) -> object:
        return dict(self._find(request.handle).state_dict())

    def _verb_load(
        self, request: Request, _args: list[object], kwargs: dict[str, object]
    ) -> object:
        """Copy the named values into the parameters of these names, and nothing else."""
        parameters = dict(self._find(request.handle).named_parameters())
        for name, value in kwargs.items():
            if name not in parameters:
                msg = f"there is no parameter {name}; found: {', '.join(parameters) or 'none'}"
                raise AbsentError(msg)
            parameter, wanted = parameters[name], _tensor(value)
            if parameter.shape != wanted.shape:
                msg = f"{name} has shape {tuple(parameter.shape)}, not {tuple(wanted.shape)}"
                raise AbsentError(msg)
            with torch.no_grad():
                parameter.copy_(wanted)
        return None

    def _verb_gradients(
        self, request: Request, args: list[object], kwargs: dict[str, object]
    ) -> object:
        """Call, then send the cotangent (first argument) back to inputs and parameters."""
        cotangent, *inputs = args
        inputs = [_leaf(value) for value in inputs]
        output = self._target(request)(*inputs, **kwargs)
        leaves = {
            f"input {index}": value
            for index, value in enumerate(inputs)
            if isinstance(value, Tensor) and value.requires_grad
        }
        if request.handle >= 0:
            leaves |= dict(self._find(request.handle).named_parameters())
        return {"output": output, "gradients": _backward(output, _tensor(cotangent), leaves)}

    def _verb_operators(
        self, request: Request, args: list[object], kwargs: dict[str, object]
    ) -> object:
        """Call under watch: how often each torch function and operator ran, on what size."""
        with _Functions() as functions, _Operators() as operators:
            self._target(request)(*args, **kwargs)
        return {"functions": dict(functions.seen), "operators": dict(operators.seen)}

    def _verb_draw(self, _request: Request, _args: list[object], _kwargs: object) -> object:
        return torch.rand(4)

    # Finding and keeping

    def _target(self, request: Request) -> Callable[..., object]:
        return self._find(request.handle) if request.handle >= 0 else self._defined(request.name)

    def _defined(self, name: str) -> Callable[..., object]:
        found: object = getattr(self._module, name, None)
        if not callable(found):
            msg = f"{name} is not defined"
            raise AbsentError(msg)
        return found

    def _find(self, handle: int) -> nn.Module:
        if not 0 <= handle < len(self._objects):
            msg = "the module that this check had made is gone"
            raise AbsentError(msg)
        return self._objects[handle]

    def _keep(self, module: nn.Module) -> int:
        self._objects.append(module)
        return len(self._objects) - 1

    # Telling what went wrong

    def _told(self, error: BaseException) -> Problem:
        with contextlib.suppress(BaseException):  # an exception of theirs may lie about its parts
            return self._describe(error)
        return Problem(kind="raised", type="an exception that can't be shown")

    def _describe(self, error: BaseException) -> Problem:
        kind = type(error)
        text = _text(error)
        place, line, code = self._place(error.__traceback__)
        if isinstance(error, SyntaxError) and error.filename in self._files:
            place, line, code = error.filename or "", error.lineno or 0, (error.text or "").strip()
            text = error.msg or text
        return Problem(
            kind=_kind(error, text),
            type=kind.__name__[:80],
            text=text[:MAX_TEXT],
            place=place,
            line=line,
            code=code[:200],
        )

    def _place(self, trace: TracebackType | None) -> tuple[str, int, str]:
        """Find the innermost line of the student's own."""
        for frame in reversed(traceback.extract_tb(trace)):
            if frame.filename in self._files:
                return frame.filename, frame.lineno or 0, (frame.line or "").strip()
        return "", 0, ""


class _Functions(TorchFunctionMode):
    """Counts torch functions as the student's code calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if len(self.seen) < MAX_TRACED:
            self.seen[getattr(func, "__name__", str(func))[:80]] += 1
        return func(*args, **(kwargs or {}))


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's base is untyped
    """Counts operators as they run, each with the size of its largest input."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        if len(self.seen) < MAX_TRACED:
            size = max((arg.numel() for arg in _tensors(args)), default=0)
            self.seen[f"{func} {size}"] += 1
        return func(*args, **(kwargs or {}))


def _tensors(things: object) -> Iterator[Tensor]:
    if isinstance(things, Tensor):
        yield things
    elif isinstance(things, list | tuple):
        for thing in things:
            yield from _tensors(thing)


def _tensor(value: object) -> Tensor:
    if not isinstance(value, Tensor):
        msg = f"expected a tensor, not {type(value).__name__}"
        raise TypeError(msg)
    return value


def _leaf(value: object) -> object:
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.requires_grad_()
    return value


def _backward(
    output: object, cotangent: Tensor, leaves: dict[str, Tensor]
) -> dict[str, Tensor | None]:
    """Gradients by name; ``None`` where none arrives."""
    gradients: dict[str, Tensor | None] = dict.fromkeys(leaves)
    wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    if not wanted or not _tensor(output).requires_grad:
        return gradients
    found = torch.autograd.grad(_tensor(output), [*wanted.values()], cotangent, allow_unused=True)
    return gradients | dict(zip(wanted, found, strict=True))


def _differs(after: Tensor, before: Tensor) -> bool:
    if after.shape != before.shape or after.dtype != before.dtype:
        return True
    same = (after == before) | ((after != after) & (before != before))  # noqa: PLR0124  # NaN equals itself here
    return not bool(same.all())


def _kind(error: BaseException, text: str) -> ProblemKind:
    if isinstance(error, NotImplementedError):
        return "not-implemented"
    if isinstance(error, MemoryError) or any(words in text for words in OUT_OF_MEMORY):
        return "out-of-memory"
    return "raised"


def _text(error: BaseException) -> str:
    with contextlib.suppress(BaseException):  # a student's __str__ may raise anything
        text = str(error)
        if type(text) is str:
            return text[:MAX_TEXT].encode("utf-8", "replace").decode()  # lone surrogates are none
    return ""
