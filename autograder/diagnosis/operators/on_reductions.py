"""Mistakes in sums, means and maxima, and in how two numbers are combined."""

import ast
from collections.abc import Callable, Iterator
from functools import partial

from autograder.diagnosis.operators.on_masks import is_triangle
from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    constant,
    input_site,
    leave_out,
    mistake,
    name_of,
    option,
    put,
    restate,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import ORDINALS, axis_of, other_axes

REDUCTIONS = ("sum", "mean", "amax", "max", "prod")

OTHERS = {
    "sum": ("mean",),
    "mean": ("sum", "amax"),
    "amax": ("amin", "mean"),
    "max": ("min",),
}

OPERATIONS: dict[type[ast.operator], dict[str, str]] = {
    ast.Add: {
        "LEFT - RIGHT": "A difference stands where a sum must be.",
        "LEFT": "The second term of a sum is left out.",
    },
    ast.Sub: {"LEFT + RIGHT": "A sum stands where a difference must be."},
    ast.Mult: {
        "LEFT + RIGHT": "A sum stands where a product must be.",
        "LEFT": "The second factor of a product is left out.",
        "LEFT / RIGHT": "A quotient stands where a product must be.",
    },
}


def reductions(scope: Scope) -> Iterator[Rewrite]:
    """Sums and means: along another axis, over everything, without the axis, or another one."""
    divisors = {id(node) for site in scope.of(ast.BinOp) for node in _divisor(site.node)}
    for site in scope.calls(*REDUCTIONS):
        call = site.node
        source = input_site(site)
        name = name_of(call.func)
        if source is None or not isinstance(call.func, ast.Attribute) or name in scope.locals:
            continue
        dim = option(call, "dim", 1)
        divides = id(call) in divisors
        kind = "wrong_divisor" if divides else "wrong_axis"
        what = "divisor" if divides else {"sum": "sum", "mean": "mean"}.get(name, "maximum")
        keeps = ", keepdim=True" if any(one.arg == "keepdim" for one in call.keywords) else ""
        make = partial(put, site, X=source, D=dim)
        if dim is not None:
            for axis in other_axes(dim, (0, 1, -1, -2, 2)):
                along = f"along the {ORDINALS[axis]} axis, not along {axis_of(dim)}"
                sentence = f"The {what} is taken {along}."
                text = f"X.{name}(dim={axis}{keeps})"
                yield mistake(kind, make(text), sentence, group=f"{kind} axis")
            if not divides:
                yield mistake("step_missing", make("X"), f"No {what} is taken.")
            sentence = f"The {what} is taken over everything, not along one axis."
            yield mistake(kind, make(f"X.{name}()"), sentence)
            if keeps:
                sentence = (
                    f"The {what} loses its axis, so broadcasting lines it up with another one."
                )
                question = f"Which shape has the {what}, and which entries does each number meet?"
                yield mistake(kind, make(f"X.{name}(dim=D)"), sentence, question)
        yield from _other_divisors(make, name, dim, keeps) if divides or name == "mean" else ()
        for other in OTHERS.get(name, ()):
            text = f"X.{other}(dim=D{keeps})" if dim is not None else f"X.{other}()"
            words = {"amax": "maximum", "amin": "minimum", "max": "maximum", "min": "minimum"}
            old, new = words.get(name, name), words.get(other, other)
            sentence = f"A {new} stands where a {old} must be."
            sentence = f"The divisor is a {new}, not a {old}." if divides else sentence
            yield mistake("wrong_divisor" if divides else "wrong_reduction", make(text), sentence)


def _other_divisors(
    make: Callable[[str], Edit], name: str, dim: ast.expr | None, keeps: str
) -> Iterator[Rewrite]:
    """Something else than the sum that divides; *keeps* is the option that keeps the axis."""
    along = f"dim=D{keeps}" if dim is not None else ""
    if name == "mean":
        sentence = "The sum is divided by one less than the number of its terms."
        if dim is not None:
            yield mistake("wrong_divisor", make("X.sum(dim=D) / (X.shape[D] - 1)"), sentence)
        return
    for text, sentence in (
        (f"X.amax({along})", "The divisor is the largest entry, not the sum."),
        (
            f"X.abs().sum({along})",
            "The divisor is the sum of the absolute values: their signs must count.",
        ),
        ("X.shape[-1]", "The divisor is the number of entries, not their sum."),
        ("X.norm()", "The divisor is the length of the vector, not its sum."),
    ):
        yield mistake("wrong_divisor", make(text), sentence)


def _divisor(node: ast.BinOp) -> Iterator[ast.expr]:
    if isinstance(node.op, ast.Div):
        yield node.right


def operations(scope: Scope) -> Iterator[Rewrite]:
    """Two numbers that are combined by another operation, or of which one has no effect."""
    slices = [site.node for site in scope.of(ast.Slice)]
    bounds = {id(bound) for one in slices for bound in (one.lower, one.upper)}  # see `positions`
    for site in scope.of(ast.BinOp):
        node = site.node
        divides = isinstance(node.op, ast.Div) and isinstance(node.right, ast.Call | ast.Name)
        if divides and "sqrt" not in ast.unparse(node.right):
            sentence = "What must be normalised is not divided."
            yield mistake("wrong_divisor", put(site, "LEFT"), sentence)
            for text, sentence in (
                ("LEFT * RIGHT", "What must be normalised is multiplied by its sum, not divided."),
                ("LEFT / LEFT", "What must be normalised is divided by itself, not by its sum."),
                ("torch.softmax(LEFT, dim=-1)", "A softmax is taken where a sum must divide."),
            ):
                yield mistake("wrong_divisor", put(site, text), sentence)
        elif isinstance(node.op, ast.Div):
            sentence = "Quotients are rounded down to whole numbers."
            question = "What is the difference between / and // in Python?"
            yield mistake("wrong_operation", put(site, "LEFT // RIGHT"), sentence, question)
        known = id(node) in bounds or is_triangle(node.right)  # other rules say what these hide
        others = OPERATIONS.get(type(node.op), {}) if not known else {}
        for template, sentence in others.items():
            yield mistake("wrong_operation", put(site, template), sentence)
    for site in scope.of(ast.AugAssign):
        yield mistake(
            "wrong_reduction",
            restate(site, "T = V", T=site.node.target, V=site.node.value),
            "Only the last term is kept: the terms are not added up.",
            "What happens to the earlier terms?",
        )
        yield mistake(
            "wrong_reduction",
            leave_out(site),
            "The terms are not added up: the sum stays as it was.",
        )
        sentence = "The terms are multiplied with each other, not added up."
        times = restate(site, "T *= V", T=site.node.target, V=site.node.value)
        yield mistake("wrong_reduction", times, sentence)
    for site in scope.of(ast.Constant):
        if isinstance(site.node.value, float) and not isinstance(site.holder, ast.BinOp):
            sentence, question = "The sum does not start at zero.", "What must a sum of zeros be?"
            if isinstance(site.holder, ast.Assign):
                more = constant(site, site.node.value + 1)
                yield mistake("wrong_reduction", more, sentence, question)


def shares(scope: Scope) -> Iterator[Rewrite]:
    """A size that is not divided by another one, or multiplied by it."""
    for site in scope.of(ast.BinOp):
        if not isinstance(site.node.op, ast.FloorDiv):
            continue
        name = name_of(site.node.right)
        what = f"`{name}`" if name in scope.argument_names else "another one"
        for text, how in (("LEFT", "not divided"), ("LEFT * RIGHT", "multiplied, not divided,")):
            sentence = f"A size is {how} by {what}."
            question = "How many features does each head get?"
            yield mistake("wrong_operation", put(site, text), sentence, question)


RULES = (reductions, operations, shares)
