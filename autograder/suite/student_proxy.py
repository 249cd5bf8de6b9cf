"""Provides the `student` of a check: a proxy for a module in another process.

Each method sends one request. The first request of a check seeds torch's generator, so that the
check runs in the same way for every student and every wrong program. Later, only the check itself
sets seeds. All answers are kept, so that a failed check can be compared with known mistakes.
"""

import re
from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from torch import Tensor

from autograder.results import Status
from autograder.sandbox.faults import Fault, NoGradients, Raised
from autograder.sandbox.protocol import (
    BadMessageError,
    ObjectValue,
    Problem,
    ProblemKind,
    Reply,
    Value,
    Verb,
)
from autograder.sandbox.static_names import Definition, Use, reached_uses
from autograder.sandbox.tensors import Encoder, decode, encode_array, encode_tensor
from autograder.suite.answer_values import (
    Gradients,
    Operators,
    as_dict,
    as_list,
    read_gradients,
    read_operators,
    read_tensors,
)
from autograder.suite.checks import Notice, WrongAnswer
from autograder.suite.own_results import detached, mark, unmark

YOUR_MODULE = "Your module"  # the subject of sentences without a name
# How the worker's texts begin if a result has no gradients.
NO_GRADIENTS = ("expected a tensor, not ", "the result has shape ")
LIMITS: Final[Mapping[ProblemKind, tuple[Status, str]]] = MappingProxyType(
    {
        "out-of-memory": (Status.OUT_OF_MEMORY, "asked for more memory than it may use"),
        "out-of-disk": (Status.OUT_OF_DISK, "wrote more than its folder may hold"),
        "out-of-time": (Status.TIMEOUT, "did not finish in time"),
    }
)
FORMS: Final[Mapping[ProblemKind, tuple[Status, str]]] = MappingProxyType(
    {
        "bad-output": (Status.BAD_OUTPUT, "returns too much data"),
    }
)


def fault_of(problem: Problem, name: str) -> Fault:
    """Return the fault for a problem; the student's code can't choose its public sentence.

    The public sentence does not even contain the line, because code that knows a hidden input could
    choose the line in which it raises an exception.
    """
    where = f" in line {problem.line}" if problem.line else ""
    if re.fullmatch(r"cell \d{1,4}", problem.place):  # any other place may be forged
        where = f" in {problem.place}, line {problem.line}"
    if problem.kind == "missing":
        public = (
            f"{name} lacks a function, class or parameter that this check needs, or the shape of a "
            "parameter is wrong."
        )
        return Fault(Status.MISSING, f"{problem.text.rstrip('.')}.", public=public)
    if problem.kind == "not-implemented":
        public = f"{name} still raises NotImplementedError"
        return Fault(Status.NOT_IMPLEMENTED, f"{public}{where}.", public=f"{public}.")
    if problem.kind in LIMITS:
        status, what = LIMITS[problem.kind]
        return Fault(status, f"{name} {what}{where}.", public=f"{name} {what}.")
    if problem.kind in FORMS:
        status, what = FORMS[problem.kind]
        return Fault(status, f"{name}: {problem.text}.", public=f"{name} {what}.")
    code = f": {problem.code}" if problem.code else ""
    if not problem.line and problem.text.startswith(NO_GRADIENTS):
        public = f"{name} returned a result of the wrong type or shape."
        return NoGradients(problem.type, problem.text, f"{public}\n{problem.text}", public=public)
    is_torchs = problem.type == "RuntimeError" and not problem.refusal
    return Raised(
        problem.type,
        OPERATOR.sub("", problem.text, count=1) if is_torchs else problem.text,
        f"{name} raised {problem.type}{where}{code}\n{problem.text}".rstrip(),
        public=f"{name} raised an exception.",
        refusal=problem.refusal,
    )


OPERATOR: Final = re.compile(r"\A(?:add)?mm: ")  # torch 2.15 begins some texts with the operator
SHORT = 20  # characters; a notice shows only the length of a longer list
# The path to a part of nested values: indices, and names of arguments or dictionary entries.
PartPath = tuple[int | str, ...]
# For a tensor, or for the entries of a tuple or dictionary by index or name.
Cotangent = Tensor | Mapping[int | str, Tensor]
SEND_BYTES = 1 << 26  # for the inputs of a request; if a check sends more, it is wrong


class Channel(Protocol):
    """Answers requests about a module: in the sandbox for students, directly for the solution."""

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the source, and the names that they use."""

    def ask(self, verb: Verb, **fields: object) -> Reply:
        """Send one request; raise ``Fault`` if there is no answer."""


class Parameter(NamedTuple):
    """A parameter's value, and whether it is trained."""

    value: Tensor
    requires_grad: bool


class Student:
    """A proxy for the functions and classes of a module.

    *changed_inputs* lists the arguments that the last request changed in place. Keyword arguments
    follow the positional ones, and a list has changed if one of its entries has. *methods* are the
    grading methods of ``rules.toml`` that the check has used. The student reads *notices* if the
    check passes. The instructor reads *doubts*, which contain a sentence for each exercise that the
    check could not decide. *given_back* contains the arguments that were parts of earlier answers,
    such as a cache. For the number of each request it maps the path of an argument to the path of
    the part, which begins with the number of the answer. With *marks*, tensors in answers are
    marked as the student's own.
    """

    def __init__(self, channel: Channel, seed: int = 0, *, marks: bool = False) -> None:
        self.changed_inputs: tuple[int, ...] = ()
        self.methods: set[str] = set()
        self.notices: list[Notice] = []
        self.doubts: dict[str, str] = {}
        self.given_back: dict[int, dict[PartPath, PartPath]] = {}
        self._answers: list[tuple[str, Any]] = []
        self._marked: list[Any] = []  # the answers as the check gets them
        self._parts: dict[Hashable, PartPath] = {}  # of answers, which `_marked` keeps alive
        self._mark = mark if marks else lambda value: value
        self._channel = channel
        self._seed: int | None = seed

    @property
    def observed(self) -> tuple[tuple[str, Any], ...]:
        """The answers so far, each with its verb."""
        return tuple(self._answers)

    def ask(
        self,
        verb: Verb,
        name: str = "",
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        seed: int | None = None,
        handle: int = -1,
        **others: object,
    ) -> Any:
        """Send one request; *handle* is the number of the module that it addresses, if any."""
        given: Mapping[Any, Any] = {**dict(enumerate(args)), **dict(kwargs or {})}
        if back := dict(_found(given, self._parts)):
            self.given_back[len(self._answers)] = back
        reply = self._channel.ask(
            verb,
            name=name,
            handle=handle,
            args=tuple(encode_argument(arg) for arg in args),
            kwargs={key: encode_argument(value) for key, value in (kwargs or {}).items()},
            seed=self._seed if seed is None else seed,
            fresh=self._seed is not None,
            **others,
        )
        self._seed = None  # later requests seed only if the check gives a seed
        self.methods.add(verb)
        self.changed_inputs = reply.changed
        if reply.problem is not None:
            raise fault_of(reply.problem, name or YOUR_MODULE)
        try:
            value = decode(reply.value, lambda handle: RemoteModule(self, handle))
        except BadMessageError as error:
            sentence = "The answer contradicts itself"
            raise Fault(Status.BAD_OUTPUT, f"{sentence}: {error}.", public=f"{sentence}.") from None
        answer = self._mark(value)
        self._parts |= dict(_own_parts({len(self._answers): answer}))
        self._answers.append((verb, value))
        self._marked.append(answer)
        return answer

    def is_refused(
        self, verb: Verb, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], handle: int = -1
    ) -> bool:
        """Whether the code raises an exception on this request.

        If the exception is accidental and not from a check of the arguments, a notice is added.
        """
        self.methods.add("refuses")
        try:
            self.ask(verb, name, args, kwargs, handle=handle)
        except Fault as fault:
            if not isinstance(fault, Raised):
                raise
            if not fault.refusal:
                self.notices.append(_accident(fault, name, (*args, *kwargs.values())))
            self._answers.append(("refused", True))
            return True
        return False

    def has(self, name: str) -> bool:
        """Whether the module defines a function or class *name*."""
        return self.ask("has", name) is True

    def signature(self, name: str) -> list[dict[str, Any]]:
        """Return the parameters of function or class *name*: name, kind, optional."""
        found = self.ask("signature", name)
        return [item for item in as_list(found) if isinstance(item, dict)]

    def call(self, name: str, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Call function *name*, seeding torch first if *seed* is given."""
        return self.ask("call", name, args, kwargs, seed)

    def new(self, name: str, *args: Any, seed: int | None = None, **kwargs: Any) -> "RemoteModule":
        """Construct class *name*, seeding torch first if *seed* is given.

        A name such as "nn.Linear" means torch's own class, for exercises that get a module.
        """
        module = self.ask("new", name, args, kwargs, seed)
        if not isinstance(module, RemoteModule):
            raise WrongAnswer(Status.WRONG_TYPE, f"{name} is not a torch.nn.Module.")
        return module

    def gradients(self, name: str, *args: Any, cotangent: Cotangent, **kwargs: Any) -> Gradients:
        """Call function *name* and return the gradients of (result * *cotangent*).sum().

        For a result with several entries, *cotangent* maps each entry that counts to a tensor.
        """
        asked = self.ask("gradients", name, (_entries(cotangent), *args), kwargs)
        return read_gradients(asked, len(args))

    def operators(self, name: str, *args: Any, **kwargs: Any) -> Operators:
        """Call function *name* and count the operators that run."""
        return read_operators(self.ask("operators", name, args, kwargs), (*args, *kwargs.values()))

    def refuses(self, name: str, *args: Any, **kwargs: Any) -> bool:
        """Whether function or class *name* raises an exception on these arguments."""
        return self.is_refused("call", name, args, kwargs)

    def keeps_inputs(self, name: str, *args: Any, **kwargs: Any) -> bool:
        """Whether function *name* leaves its arguments and their contents unchanged."""
        self.call(name, *args, **kwargs)
        self.methods.add("keeps_inputs")
        return not self.changed_inputs

    def draws_next(self) -> Tensor:
        """Draw four numbers from torch's generator, which reveal its state."""
        drawn = self.ask("draw")
        if not isinstance(drawn, Tensor):
            raise WrongAnswer(Status.BAD_OUTPUT, "torch.rand no longer returns a tensor.")
        return drawn

    @property
    def methods_in_source(self) -> frozenset[str]:
        """The names of all methods in the source."""
        methods = (definition.methods for definition in self._channel.definitions)
        return frozenset(name for names in methods for name in names)

    def uses(self, name: str, *, possible: bool = False) -> tuple[Use, ...]:
        """List the dotted names in the source of *name* and of the code that it calls in the file.

        With *possible*, list also the names that it may use, as far as the source shows.
        """
        self.methods.add("uses")
        return reached_uses(self._channel.definitions, name, possible=possible)


class RemoteModule:
    """A proxy for an ``nn.Module`` of the student; *handle* is its number in the worker."""

    def __init__(self, student: Student, handle: int) -> None:
        self.handle = handle
        self._student = student
        self._ask = partial(student.ask, handle=handle)

    def __call__(self, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Run ``forward``, seeding torch first if *seed* is given."""
        return self._ask("forward", "", args, kwargs, seed)

    def call(self, method: str, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Call *method* in place of ``forward``, seeding torch first if *seed* is given."""
        return self._ask("method", method, args, kwargs, seed)

    def parameters(self) -> dict[str, Parameter]:
        """Return the parameters by name."""
        return _as_parameters(self._ask("parameters"))

    def named(self, *names: str) -> dict[str, Parameter]:
        """Return the parameters *names*, which must be all parameters in order if a name differs.

        Checks of other properties use it, so that wrong names cost only the checks of names.
        """
        found = _as_parameters(self._ask("parameters", args=names))
        if missing := [name for name in names if name not in found]:
            raise WrongAnswer(Status.MISSING, f"torch lists no parameter named {missing[0]}.")
        return {name: found[name] for name in names}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters by name, for models too large to send."""
        found = as_dict(self._ask("shapes"))
        return {
            name: tuple(size for size in as_list(sizes) if type(size) is int)
            for name, sizes in found.items()
        }

    def buffers(self) -> dict[str, Tensor]:
        """Return the buffers by name."""
        return read_tensors(self._ask("buffers"))

    def state(self) -> dict[str, Tensor]:
        """Return the ``state_dict``."""
        return read_tensors(self._ask("state"))

    def hooks(self) -> int:
        """Count the hooks in the module and its parts; a replaced ``forward`` counts as one.

        The worker says so itself, so a check of this number should give few points.
        """
        found: int = self._ask("hooks")
        return found

    def load(
        self, values: Mapping[str, Tensor], *, may_lack: tuple[str, ...] = ()
    ) -> "RemoteModule":
        """Copy *values* into the parameters of these names, never into buffers.

        If the names differ, but *values* are as many as the parameters and have their shapes in the
        same order, each value is copied into the parameter in its place, which later requests call
        by the name in *values*. A layer that was built without a parameter in *may_lack*, such as
        its bias, gets it. So only the checks of parameters lose points.
        """
        self._ask("load", kwargs=values, may_lack=may_lack)
        return self

    def replace(self, values: Mapping[str, Tensor | None]) -> "RemoteModule":
        """Replace the parameters of these names with *values*; ``None`` removes one.

        With this, a check prepares a module as the student's constructor should have done.
        """
        self._ask("replace", kwargs=values)
        return self

    def train(self) -> "RemoteModule":
        """Switch to training mode."""
        self._ask("mode", "train")
        return self

    def eval(self) -> "RemoteModule":
        """Switch to evaluation mode."""
        self._ask("mode", "eval")
        return self

    def move(self, where: str) -> dict[str, str]:
        """Move to the device or dtype *where*; return the new one of each parameter and buffer."""
        moved = self._ask("move", where)
        if not isinstance(moved, dict):
            raise WrongAnswer(Status.BAD_OUTPUT, "Moving the module does not work.")
        return {str(name): str(destination) for name, destination in moved.items()}

    def gradients(self, *args: Any, cotangent: Cotangent, **kwargs: Any) -> Gradients:
        """Run ``forward`` and return the gradients of (result * *cotangent*).sum().

        For a result with several entries, *cotangent* maps each entry that counts to a tensor.
        """
        asked = self._ask("gradients", "", (_entries(cotangent), *args), kwargs)
        return read_gradients(asked, len(args))

    def operators(self, *args: Any, **kwargs: Any) -> Operators:
        """Run ``forward`` and count the operators that run."""
        return read_operators(self._ask("operators", "", args, kwargs), (*args, *kwargs.values()))

    def refuses(self, *args: Any, **kwargs: Any) -> bool:
        """Whether ``forward`` raises an exception on these arguments."""
        return self._student.is_refused("forward", "", args, kwargs, self.handle)

    def keeps_inputs(self, *args: Any, **kwargs: Any) -> bool:
        """Whether ``forward`` leaves its arguments and their contents unchanged."""
        self(*args, **kwargs)
        self._student.methods.add("keeps_inputs")
        return not self._student.changed_inputs


def _accident(raised: Raised, name: str, args: tuple[Any, ...]) -> Notice:
    """Return a notice that describes an accidental exception and suggests a clearer one."""
    counts = "This counts, but the error is accidental."
    clearer = (
        "It is clearer to check the arguments first and to raise a ValueError with the reason."
    )
    given = " and ".join(filter(None, map(_shown, args)))
    what = raised.message.replace(YOUR_MODULE, YOUR_MODULE.lower(), 1)
    what = f"Called with {given}, {what}" if given else raised.message
    return Notice(
        f"{counts} {what}\n{clearer}",
        f"{counts} {clearer} `autograder check` shows the error of {name or YOUR_MODULE.lower()}.",
    )


def _shown(arg: Any) -> str:
    if isinstance(arg, Tensor):
        return f"a tensor {tuple(arg.shape)}"
    if isinstance(arg, RemoteModule):
        return ""
    text = repr(arg)
    is_long = isinstance(arg, list | tuple) and len(text) > SHORT
    return f"a list of {len(arg)}" if is_long else text


def _own_parts(
    values: Mapping[Any, Any], way: PartPath = ()
) -> Iterator[tuple[Hashable, PartPath]]:
    """Yield the identity of each part that Python never shares between values, with its path."""
    for key, value in values.items():
        path = (*way, key)
        if isinstance(value, Tensor | list | dict | set) or (
            isinstance(value, tuple | str | bytes) and len(value) > 1
        ):
            yield _identity(value), path
        yield from _own_parts(_items(value), path)


def _found(
    values: Mapping[Any, Any], known: Mapping[Hashable, PartPath], way: PartPath = ()
) -> Iterator[tuple[PartPath, PartPath]]:
    """Yield the path of each *known* part in *values*, with its known path; not in keys."""
    for key, value in values.items():
        path = (*way, key)
        if (identity := _identity(value)) in known:
            yield path, known[identity]
        elif not isinstance(value, dict) or all(isinstance(one, str) for one in value):
            yield from _found(_items(value), known, path)


def _identity(value: Any) -> Hashable:
    """Return a key for an object; a tensor and its detached copy have the same key."""
    if isinstance(value, Tensor) and value.numel():
        return value.data_ptr(), value.shape, value.stride()
    return id(value)


def _items(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list | tuple) else {}


def _entries(cotangent: Cotangent) -> Any:
    """Return *cotangent* as a list of pairs, because keys in a request must be texts."""
    if isinstance(cotangent, Tensor):
        return cotangent
    return [[key, value] for key, value in cotangent.items()]


def encode_argument(thing: Any) -> Value:
    """Encode *thing* as an argument of a request."""
    if isinstance(thing, Tensor):
        return encode_tensor(unmark(thing).detach(), SEND_BYTES)
    return _RequestEncoder(_no_module, SEND_BYTES).encode(thing)


class _RequestEncoder(Encoder):
    """Encodes arguments; a module of the worker becomes its number."""

    def encode(self, thing: object, depth: int = 0) -> Value:
        if isinstance(thing, RemoteModule):
            return ObjectValue(thing.handle)
        if array := encode_array(thing, self._remaining_bytes):
            self._remaining_bytes -= len(array.tensor.data)
            return array
        return super().encode(unmark(thing), depth)


def _no_module(module: object) -> int:
    raise TypeError(f"a check can't send a module that it made itself: {type(module).__name__}")


def _as_parameters(answer: object) -> dict[str, Parameter]:
    return {
        name: Parameter(detached(value), value.requires_grad)
        for name, value in read_tensors(answer).items()
    }
