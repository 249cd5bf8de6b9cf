"""Finds mistakes that the source alone shows, such as a method without ``self``.

The source is compared with the signatures of the stub. A *sure* sign explains every failure, and is
stated before anything about results. Any other sign is stated if no known mistake gives the same
results as the code.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from autograder.diagnosis.conditions import unused
from autograder.diagnosis.contract import Contract, methods
from autograder.diagnosis.sentences import Sentence, TextEntry, fill, read_entries
from autograder.diagnosis.student_code import (
    Definition,
    Function,
    StudentCode,
    is_along,
    loses_axis,
    name_of,
    names_in,
)
from autograder.results import Diagnosis

CONSTRUCTOR = "__init__"
LAYERS = frozenset({"Linear", "Embedding", "Parameter"} | {"ModuleList", "Sequential"})
# Methods and functions that return a new tensor and change nothing.
PURE = frozenset(
    {"masked_fill", "transpose", "permute", "view", "reshape", "flatten", "unflatten"}
    | {"unsqueeze", "squeeze", "softmax", "matmul", "bmm", "exp", "log", "sqrt", "sum", "mean"}
    | {"div", "mul", "add", "sub", "pow", "contiguous", "expand", "repeat", "repeat_interleave"}
    | {"tril", "triu", "clone", "detach", "to", "float", "double", "clamp", "narrow", "where"}
    | {"cat", "stack", "chunk", "split"}
)
NUMBERS = dict(enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight"]))


class SignText(TextEntry, frozen=True):
    """The sentences about one sign."""

    sentence: Sentence
    question: Sentence


SIGNS = dict(read_entries(Path(__file__).with_name("signs.toml"), SignText))


class Sign(NamedTuple):
    """A mistake that the source shows; a *sure* one explains every failure.

    One that *needs* words explains only the exceptions whose text contains them.
    """

    name: str
    sentence: str
    question: str
    sure: bool = True
    needs: str = ""

    @classmethod
    def of(cls, key: str, /, **words: object) -> "Sign":
        """Return the sign *key*, whose sentence has *words* in the place of its placeholders."""
        text = SIGNS[key]
        return cls(key, fill(text.sentence, words, key), text.question)

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis that a student reads."""
        return Diagnosis(self.name, self.sentence, self.question)


def signs(
    code: StudentCode, exercise: str, contract: Contract, texts: Collection[str] = ()
) -> list[Sign]:
    """List the signs in the source of *exercise*, the sure ones first.

    *texts* are those of the exceptions that the code raised.
    """
    found = code.definitions.get(exercise, [])
    if not found:
        return []
    last = found[-1]
    every = [
        *_leftovers(found),
        *_arguments(last, contract),
        *_uninitialized(last),
        *_unstored(last),
        *_bare_names(last, code),
        *_layers_in_calls(last, code),
        *_lost_results(last),
        *(() if texts else _unread_names(last)),
        *_lost_returns(last),
        *_defaults(last, contract),
        *_lost_axes(last),
    ]
    seen = [sign for sign in every if not sign.needs or any(sign.needs in one for one in texts)]
    return sorted(seen, key=lambda sign: not sign.sure)


def has_leftover(code: StudentCode, exercise: str) -> bool:
    """Whether *exercise* is written, although its last definition raises NotImplementedError."""
    found = code.definitions.get(exercise)
    return found is not None and next(_leftovers(found), None) is not None


def _leftovers(found: Sequence[Definition]) -> Iterator[Sign]:
    """Find a ``raise NotImplementedError`` among other statements, or the stub after the code."""
    *earlier, last = found
    for function in methods(last).values():
        raising = [each for each in function.body if _raises_unwritten(each)]
        rest = [each for each in function.body if each not in raising and not _is_given(each)]
        if raising and rest:
            line = raising[0].lineno
            yield Sign.of("still_raises", line=line)
        elif raising and earlier and not any(map(_raises_unwritten, ast.walk(earlier[-1]))):
            lines = {"line": earlier[-1].lineno, "last": last.lineno}
            yield Sign.of("defined_twice", name=last.name, **lines)


def _arguments(definition: Definition, contract: Contract) -> Iterator[Sign]:
    """Find methods without ``self``, and other numbers of arguments than in the stub."""
    own = methods(definition)
    for name, signature in contract.signatures.items():
        if name not in own or own[name].decorator_list:
            continue
        mine, right = own[name].args, contract.arguments(name)
        first = [each.arg for each in mine.args[:1]]
        shown = name or definition.name
        is_method = bool(right.args) and right.args[0].arg == "self"
        if is_method and first != ["self"] and len(mine.args) < len(right.args):
            yield Sign.of("no_self", name=shown, line=own[name].lineno)
        elif not is_method and first == ["self"]:
            yield Sign.of("self_in_function", name=shown)
        elif not _accepts(mine, right):
            count, wanted = (len(args.args) - is_method for args in (mine, right))
            taken = f"{NUMBERS.get(count, count)} argument{'' if count == 1 else 's'}"
            words = {"taken": taken, "wanted": NUMBERS.get(wanted, wanted), "signature": signature}
            yield Sign.of("other_signature", name=shown, **words)
        for new, old in _renamed(mine, right):
            found = Sign.of("other_names", old=old, new=new, name=shown)
            yield found._replace(sure=False, needs=f"unexpected keyword argument '{old}'")


def _accepts(mine: ast.arguments, right: ast.arguments) -> bool:
    """Whether a function with the arguments *mine* takes every call that the stub takes."""
    if mine.vararg:
        return True
    most, least = (len(args.posonlyargs + args.args) for args in (mine, right))
    required = most - len(mine.defaults)
    enough = most >= least or bool(mine.kwonlyargs or mine.kwarg)
    return enough and required <= least - len(right.defaults)


def _renamed(mine: ast.arguments, right: ast.arguments) -> Iterator[tuple[str, str]]:
    """Yield the name of each argument that has a different one in the stub, and that one."""
    known = {each.arg for each in (*mine.args, *mine.kwonlyargs)}
    names = {each.arg for each in right.args}
    for new, old in zip(mine.args, right.args, strict=False):
        if old.arg not in known and new.arg not in names:
            yield new.arg, old.arg


def _defaults(definition: Definition, contract: Contract) -> Iterator[Sign]:
    """Find default values that differ from those of the stub."""
    own = methods(definition)
    for name in contract.signatures.keys() & own.keys():
        mine, right = _default_values(own[name].args), _default_values(contract.arguments(name))
        for argument in mine.keys() & right.keys():
            new, old = _text(mine[argument]), _text(right[argument])
            if new != old:
                words = {"argument": argument, "new": new, "old": old}
                found = Sign.of("other_default", name=name or definition.name, **words)
                yield found._replace(sure=False)


def _uninitialized(definition: Definition) -> Iterator[Sign]:
    """Find a constructor of a module that does not initialize nn.Module."""
    constructor = methods(definition).get(CONSTRUCTOR)
    bases = definition.bases if isinstance(definition, ast.ClassDef) else []
    is_module = any(name_of(base) == "Module" for base in bases)
    used = {getattr(each, "attr", "") for each in ast.walk(constructor or definition)}
    if is_module and constructor is not None and CONSTRUCTOR not in used:
        yield Sign.of("not_initialized", line=constructor.lineno)


def _unstored(definition: Definition) -> Iterator[Sign]:
    """Find a value that the constructor computes for a name that is only read with ``self.``."""
    constructor = methods(definition).get(CONSTRUCTOR) if _is_class(definition) else None
    if constructor is None:
        return
    stored, read = _own(definition, ast.Store), _own(definition, ast.Load)
    for each in ast.walk(constructor):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            name = each.targets[0].id
            if name in read - stored and name not in _texts(constructor):
                yield Sign.of("self_forgotten", line=each.lineno, name=name)


def _bare_names(definition: Definition, code: StudentCode) -> Iterator[Sign]:
    """Find an attribute or an argument of the constructor that a method reads without ``self``."""
    own = methods(definition) if _is_class(definition) and "*" not in code.names else {}
    stored = _own(definition, ast.Store)
    given = {each.arg for each in own[CONSTRUCTOR].args.args} if CONSTRUCTOR in own else set()
    known = code.names | vars(builtins).keys()
    for name, function in own.items():
        inside = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
        names = [each for each in ast.walk(function) if isinstance(each, ast.Name)]
        inside |= {each.id for each in names if not isinstance(each.ctx, ast.Load)}
        inside |= {each.name for each in ast.walk(function) if isinstance(each, Definition)}
        for each in (one for one in names if one.id not in known | inside):
            if name != CONSTRUCTOR and each.id in stored | given:
                lost = "" if each.id in stored else ", and `__init__` does not store it"
                yield Sign.of("self_missing", line=each.lineno, name=each.id, lost=lost)


def _layers_in_calls(definition: Definition, code: StudentCode) -> Iterator[Sign]:
    """Find a layer that each call builds again."""
    classes = {name for name, some in code.definitions.items() if _is_class(some[-1])}
    for name, function in methods(definition).items():
        if name in {"", CONSTRUCTOR} or name.startswith("_") or not _is_class(definition):
            continue
        for each in (one for one in ast.walk(function) if isinstance(one, ast.Call)):
            called = name_of(each.func)
            if called in LAYERS or (called in classes and called != definition.name):
                yield Sign.of("layer_in_forward", line=each.lineno, name=called)


def _lost_results(definition: Definition) -> Iterator[Sign]:
    """Find a statement that computes a tensor and drops it."""
    layers = _own(definition, ast.Store)
    for function in methods(definition).values():
        loops = [each for each in ast.walk(function) if isinstance(each, ast.For)]
        called = {name for each in loops for name in map(name_of, ast.walk(each.target)) if name}
        for each in ast.walk(function):
            if isinstance(each, ast.Expr) and (what := _computed(each.value, layers, called)):
                yield Sign.of("result_dropped", line=each.lineno, what=what)


def _unread_names(definition: Definition) -> Iterator[Sign]:
    """Find a statement that computes a tensor under a name that nothing reads."""
    for each in unused([*ast.walk(definition)]):
        if _computed(each.value, set(), set()):
            found = Sign.of("result_unused", line=each.lineno, name=name_of(each.targets[0]))
            yield found._replace(sure=False)


def _lost_returns(definition: Definition) -> Iterator[Sign]:
    """Find a function that is annotated with a result, and has no line that returns one."""
    for name, function in methods(definition).items():
        result = ast.unparse(function.returns or ast.Constant(None))
        inside = [*_without_inner(function.body)]
        may_end = any(_gives_result(each) or _raises_unwritten(each) for each in inside)
        if not may_end and not any(word in result for word in ("None", "Optional", "Never")):
            yield Sign.of("no_return", name=name or definition.name, result=result)


def _gives_result(node: ast.AST) -> bool:
    is_return = isinstance(node, ast.Return) and node.value is not None
    return is_return or isinstance(node, ast.Yield | ast.YieldFrom)


def _without_inner(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions inside it."""
    waiting = [*body]
    while waiting:
        yield (node := waiting.pop())
        if not isinstance(node, ast.Lambda | ast.ClassDef | Function):
            waiting += ast.iter_child_nodes(node)


def _lost_axes(definition: Definition) -> Iterator[Sign]:
    """Find a tensor that is combined with its own sum, which has lost an axis.

    If that was the first one, broadcasting adds it again.
    """
    assigned = {
        each.targets[0].id: each.value
        for each in ast.walk(definition)
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    }
    for each in ast.walk(definition):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div | ast.Sub):
            reduced = assigned.get(name_of(each.right), each.right)
            other = assigned.get(name_of(each.left), each.left)
            if not loses_axis(reduced) or is_along(0, reduced) or loses_axis(other):
                continue
            if names_in(each.left) & names_in(reduced):
                found = Sign.of("axis_not_kept", line=reduced.lineno, name=name_of(reduced.func))
                yield found._replace(sure=False)


def _computed(value: ast.expr, layers: set[str], called: set[str]) -> str:
    """Name what a statement computes and drops, or return ""."""
    match value:
        case ast.BinOp():
            return "a result"
        case ast.Call(ast.Attribute(ast.Name("self"), name)) if name in layers:
            return f"`self.{name}(…)`"
        case ast.Call(ast.Name(name)) if name in called:
            return f"`{name}(…)`"
        case ast.Call(ast.Attribute(_, name)) if name in PURE:
            return f"`{name}`"
    return ""


def _raises_unwritten(node: ast.AST) -> bool:
    match node:
        case ast.Raise(ast.Name("NotImplementedError") | ast.Call(ast.Name("NotImplementedError"))):
            return True
    return False


def _is_given(node: ast.stmt) -> bool:
    """Whether a statement is the docstring or `super().__init__()`, which stubs contain, too."""
    called = ast.unparse(node) if isinstance(node, ast.Expr) else ""
    return called == "super().__init__()" or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _is_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef)


def _own(definition: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the attributes of ``self`` that a definition reads, or those that it sets."""
    return {
        each.attr
        for each in ast.walk(definition)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, context)
        and name_of(each.value) == "self"
    }


def _texts(node: ast.AST) -> set[object]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}


def _default_values(args: ast.arguments) -> dict[str, ast.expr]:
    named = args.posonlyargs + args.args
    pairs = zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True)
    return {each.arg: value for each, value in pairs}


def _text(node: ast.expr) -> str:
    """Return a default value in one form: 1e-5 and 0.00001 are equal."""
    try:
        return repr(ast.literal_eval(node))
    except ValueError:
        return "computed"
    except (RecursionError, MemoryError):
        return "too long"
