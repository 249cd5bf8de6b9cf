"""Steps that the exercise does not ask for, and sizes that do not come from the input."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.on_softmax import SOFTMAX
from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Site,
    constant,
    mistake,
    name_of,
    put,
    site_of,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import (
    COUNTED,
    ORDINALS,
    axis_of,
    other_axes,
    role_of,
)

FIXED_SIZES = (2, 3, 4, 6, 8)  # those of the documents, and common choices
FIXED_SHARES = (0.5, 0.1, 0.2)
FIXED_AXES = (-1, 0, 1)
DIGITS = (4, 3, 2)
UNIT = "torch.nn.functional.normalize"


def extra_steps(scope: Scope) -> Iterator[Rewrite]:
    """A softmax, a length of one, a rounding, or another tensor that is added to the result."""
    if scope.is_constructor:
        return
    softmax = any(scope.calls(SOFTMAX))
    for value in _results(scope):
        if not softmax and scope.tensors:
            yield mistake("softmax_extra", put(value, "torch.softmax(OLD, dim=-1)"))
        yield mistake("length_extra.rows", put(value, f"{UNIT}(OLD, dim=-1)"))
        for digits in DIGITS:
            text = f"torch.round(OLD, decimals={digits})"
            yield mistake("rounded", put(value, text), "rounded")
        names = [name for role, name in scope.by_role.items() if role == "queries"]
        for name in dict.fromkeys((*scope.tensors, *names)):
            role = role_of(ast.Name(name))
            key = "sum_extra.quantity" if role else "sum_extra.argument"
            yield mistake(key, put(value, f"OLD + {name}"), role=role, name=name)
        if isinstance(value.node, ast.Call) and value.node.args:
            yield mistake("sum_extra.input", put(value, "OLD + FIRST"))


def _results(scope: Scope) -> list[Site]:
    """List the places of the values that are returned."""
    returns = [site for site in scope.of(ast.Return) if site.node.value is not None]
    values = [site_of(site, site.node, "value") for site in returns]
    return [site for site in values if not isinstance(site.node, ast.Tuple)]


def lengths(scope: Scope) -> Iterator[Rewrite]:
    """Vectors that are scaled to length one before they are compared."""
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.MatMult) and role_of(site.node.left) != "weights":
            for axis in (-2, -1):  # of the factor on the right: columns, or a single vector
                text = f"{UNIT}(LEFT, dim=-1) @ {UNIT}(RIGHT, dim={axis})"
                yield mistake("length_extra.vectors", put(site, text), "cosine")
    if any(scope.of(ast.AugAssign)) and len(scope.arguments) > 1:
        one, other = scope.arguments[:2]
        size = "sum(v * v for v in {}) ** 0.5"
        product = f"({size.format(one)}) * ({size.format(other)})"
        for value in _results(scope):
            yield mistake("length_extra.cosine", put(value, f"OLD / ({product})"))
            mean = put(value, f"OLD / len({one})")
            yield mistake("wrong_reduction.other", mean, old="sum", new="mean")


def weights(scope: Scope) -> Iterator[Rewrite]:
    """Weights that come in and are changed, or that do not count."""
    for site in scope.of(ast.Name):
        arrives = site.node.id in scope.tensors and role_of(site.node) == "weights"
        if not arrives or not isinstance(site.node.ctx, ast.Load):
            continue
        for text, key in (
            ("torch.softmax(OLD, dim=-1)", "softmax_twice.weights"),
            ("(OLD / OLD.sum(dim=-1, keepdim=True))", "softmax_twice.sum"),
            ("torch.full_like(OLD, 1 / OLD.shape[-1])", "weights_equal"),
        ):
            yield mistake(key, put(site, text))
    for site in scope.calls(SOFTMAX):
        yield mistake("weights_equal", put(site, "torch.full_like(OLD, 1 / OLD.shape[-1])"))


def exponentials(scope: Scope) -> Iterator[Rewrite]:
    """Exponentials of a softmax that is written out: left out, of another base or sign."""
    for site in scope.calls("exp"):
        for text, key in (
            ("2 ** FIRST", "softmax_missing.powers_of_two"),
            ("FUNC(-(FIRST))", "sign_reversed"),
            ("FIRST", "softmax_missing.no_exponentials"),
        ):
            yield mistake(key, put(site, text))
    for name, value in scope.locals.items():
        if not (isinstance(value, ast.Call) and name_of(value.func) == "exp" and value.args):
            continue
        for site in scope.of(ast.Name):
            if site.node.id == name and isinstance(site.node.ctx, ast.Load):
                edit = put(site, "EXPONENT", EXPONENT=value.args[0])
                yield mistake("softmax_missing.one_place", edit, "scores for exponentials")
    for site in scope.calls(SOFTMAX):
        if site.node.args:
            argument = site_of(site, site.node.args, 0)
            yield mistake("sign_reversed", put(argument, "-(OLD)"))


def fixed_sizes(scope: Scope) -> Iterator[Rewrite]:
    """Arguments in whose place the same number always stands."""
    for name in (one for one in scope.plain if one not in scope.optional):
        loads = [site for site in scope.of(ast.Name) if site.node.id == name]
        loads = [site for site in loads if isinstance(site.node.ctx, ast.Load)]
        shares = "dropout" in name
        numbers = FIXED_SHARES if shares else FIXED_AXES if name == "dim" else FIXED_SIZES
        for number in numbers if loads else ():
            edits = [constant(site, number) for site in loads]
            yield mistake("argument_ignored.alone", edits, f"{name} is fixed", name=name)


def other_sizes(scope: Scope) -> Iterator[Rewrite]:
    """Sizes that are always the same number, or come from another axis."""
    for site in scope.of(ast.BinOp):
        left = site.node.left
        if isinstance(site.node.op, ast.FloorDiv) and isinstance(left, ast.Subscript):
            for axis in (0, 1):
                edit = put(site, f"SHAPE[{axis}] // RIGHT", SHAPE=left.value)
                yield _from_axis(scope, edit, left, axis, "A size")
    for site in scope.of(ast.Assign):
        value = site.node.value
        sized = isinstance(value, ast.Subscript) and name_of(value.value) == "shape"
        if not sized or not isinstance(value.slice, ast.Constant | ast.UnaryOp):
            continue
        make = partial(put, site_of(site, site.node, "value"))
        name = name_of(site.node.targets[0])
        what = f"`{name}`" if name in scope.argument_names else "A size"
        what = f"The number of {COUNTED[name]}" if name in COUNTED else what
        for number in FIXED_SIZES:
            yield mistake("size_fixed.number", make(str(number)), what=what)
        for axis in other_axes(value.slice, (0, 1, -1)):
            edit = make(f"SHAPE[{axis}]", SHAPE=value.value)
            yield _from_axis(scope, edit, value, axis, what)


def _from_axis(scope: Scope, edit: Edit, size: ast.Subscript, axis: int, what: str) -> Rewrite:
    of = scope.phrase(getattr(size.value, "value", None)) or "the input"
    words = {"what": what, "of": of, "axis": ORDINALS[axis], "right": axis_of(size.slice)}
    return mistake("size_of_another_axis.read", edit, **words)


RULES = (extra_steps, lengths, weights, exponentials, fixed_sizes, other_sizes)
