"""Finds mistakes that the source alone shows, such as a method without ``self``.

The source is compared with the signatures of the stub. A *sure* sign explains every failure, and is
stated before anything about results. Any other sign is stated if no known mistake gives the same
results as the code.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from autograder.diagnosis.contract import Contract, methods
from autograder.diagnosis.student_code import (
    Definition,
    Function,
    StudentCode,
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
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


class Sign(NamedTuple):
    """A mistake that the source shows; a *sure* one explains every failure.

    One that *needs* words explains only the exceptions whose text contains them.
    """

    name: str
    sentence: str
    question: str
    sure: bool = True
    needs: str = ""

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
            yield Sign(
                "still_raises",
                f"Your code is there, but line {line} still raises NotImplementedError.",
                "Which line of the stub must you remove?",
            )
        elif raising and earlier and not any(map(_raises_unwritten, ast.walk(earlier[-1]))):
            yield Sign(
                "defined_twice",
                f"`{last.name}` is defined twice, in lines {earlier[-1].lineno} and {last.lineno}. "
                "Python uses the last one, which only raises NotImplementedError.",
                "Which of the two definitions must you remove?",
            )


def _arguments(definition: Definition, contract: Contract) -> Iterator[Sign]:
    """Find methods without ``self``, and other numbers of arguments than in the stub."""
    own = methods(definition)
    for name, signature in contract.signatures.items():
        if name not in own or _is_static(own[name]):
            continue
        mine, right = own[name].args, contract.arguments(name)
        first = [each.arg for each in mine.args[:1]]
        shown = name or definition.name
        is_method = bool(right.args) and right.args[0].arg == "self"
        if is_method and first != ["self"] and len(mine.args) < len(right.args):
            yield Sign(
                "no_self",
                f"Your `{shown}` in line {own[name].lineno} has no `self`: "
                "Python passes the module itself as the first argument of a method.",
                "What must be the first argument of every method?",
            )
        elif not is_method and first == ["self"]:
            yield Sign(
                "self_in_function",
                f"Your `{shown}` takes `self`, but it is a function and not a method.",
                "Which arguments does the stub have?",
            )
        elif not _accepts(mine, right):
            count, wanted = (len(args.args) - is_method for args in (mine, right))
            yield Sign(
                "other_signature",
                f"Your `{shown}` takes {_number(count)} argument{'' if count == 1 else 's'}, "
                f"and that of the stub takes {_number(wanted)}: ({signature}).",
                "Which arguments does the stub have, and in which order?",
            )
        for new, old in _renamed(mine, right):
            yield Sign(
                "other_names",
                f"The argument `{old}` of the stub is named `{new}` in your `{shown}`, "
                "so a call that passes it by name fails.",
                "Which names do the arguments have in the stub?",
                sure=False,
                needs=f"unexpected keyword argument '{old}'",
            )


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
            shown = name or definition.name
            if new != old:
                yield Sign(
                    "other_default",
                    f"The default value of `{argument}` is {new} in your `{shown}`, "
                    f"and {old} in the stub.",
                    "Which default does the signature in the stub give?",
                    sure=False,
                )


def _uninitialized(definition: Definition) -> Iterator[Sign]:
    """Find a constructor of a module that does not initialize nn.Module."""
    constructor = methods(definition).get(CONSTRUCTOR)
    bases = definition.bases if isinstance(definition, ast.ClassDef) else []
    is_module = any(name_of(base) == "Module" for base in bases)
    if is_module and constructor is not None and "__init__" not in _attributes(constructor):
        yield Sign(
            "not_initialized",
            f"The `__init__` in line {constructor.lineno} does not call `super().__init__()`, "
            "which must come first in a module.",
            "Which line must come first in `__init__`?",
        )


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
                yield Sign(
                    "self_forgotten",
                    f"Line {each.lineno} assigns `{name}` without `self.`, "
                    "so the module does not keep it.",
                    "What makes a value an attribute of its module?",
                )


def _bare_names(definition: Definition, code: StudentCode) -> Iterator[Sign]:
    """Find an attribute or an argument of the constructor that a method reads without ``self``."""
    own = methods(definition) if _is_class(definition) and "*" not in code.names else {}
    stored = _own(definition, ast.Store)
    given = {each.arg for each in own[CONSTRUCTOR].args.args} if CONSTRUCTOR in own else set()
    known = code.names | vars(builtins).keys()
    for name, function in own.items():
        inside = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
        inside |= {name_of(each) for each in ast.walk(function) if _is_bound(each)}
        for each in ast.walk(function):
            if not isinstance(each, ast.Name) or each.id in known | inside:
                continue
            if name != CONSTRUCTOR and each.id in stored | given:
                lost = "" if each.id in stored else ", and `__init__` does not store it"
                yield Sign(
                    "self_missing",
                    f"Line {each.lineno} reads `{each.id}` without `self.`{lost}.",
                    "Where does a method find what the constructor has stored?",
                )


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)


def _layers_in_calls(definition: Definition, code: StudentCode) -> Iterator[Sign]:
    """Find a layer that each call builds again."""
    classes = {name for name, some in code.definitions.items() if _is_class(some[-1])}
    for name, function in methods(definition).items():
        if name in {"", CONSTRUCTOR} or name.startswith("_") or not _is_class(definition):
            continue
        for each in ast.walk(function):
            if not isinstance(each, ast.Call):
                continue
            called = name_of(each.func)
            if called in LAYERS or (called in classes and called != definition.name):
                yield Sign(
                    "layer_in_forward",
                    f"Line {each.lineno} builds a new `{called}` in each call, so its weights are "
                    "new random numbers every time.",
                    "In which method are layers built, so that they keep their weights?",
                )


def _lost_results(definition: Definition) -> Iterator[Sign]:
    """Find a statement that computes a tensor and drops it."""
    layers = _own(definition, ast.Store)
    for function in methods(definition).values():
        loops = [each for each in ast.walk(function) if isinstance(each, ast.For)]
        called = {name for each in loops for name in map(name_of, ast.walk(each.target)) if name}
        for each in ast.walk(function):
            if isinstance(each, ast.Expr) and (what := _computed(each.value, layers, called)):
                yield Sign(
                    "result_dropped",
                    f"Line {each.lineno} computes {what}, but nothing keeps the result: "
                    "the tensor itself does not change.",
                    "Which name must the result of this line get?",
                )


def _lost_axes(definition: Definition) -> Iterator[Sign]:
    """Find a tensor that is combined with its own sum, which has lost an axis."""
    assigned = {
        each.targets[0].id: each.value
        for each in ast.walk(definition)
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    }
    for each in ast.walk(definition):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div | ast.Sub):
            reduced = assigned.get(name_of(each.right), each.right)
            if loses_axis(reduced) and names_in(each.left) & names_in(reduced):
                yield Sign(
                    "axis_not_kept",
                    f"Line {reduced.lineno} computes a `{name_of(reduced.func)}` along an axis "
                    "without keepdim=True, so this axis is missing in the next step.",
                    "What is the shape of each operand, and which axes does broadcasting align?",
                    sure=False,
                )


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


def _is_static(function: Function) -> bool:
    return bool(function.decorator_list)


def _own(definition: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the attributes of ``self`` that a definition reads, or those that it sets."""
    return {
        each.attr
        for each in ast.walk(definition)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, context)
        and name_of(each.value) == "self"
    }


def _attributes(node: ast.AST) -> set[str]:
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _texts(node: ast.AST) -> set[object]:
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}


def _number(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


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
