"""Makes mistakes in sums, means and maxima, and in how two numbers are combined."""

import ast
import re
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.masks import is_triangle
from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    input_site,
    leave_out,
    mistake,
    mistakes,
    option,
    put,
    restate,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import ORDINALS, axis_of, other_axes

REDUCTIONS = ("sum", "mean", "amax", "max", "prod")

OTHERS = {"sum": ["mean"], "mean": ["sum", "amax"], "amax": ["amin", "mean"], "max": ["min"]}
OTHER_DIVISORS = ("mean", "amax", "norm")  # than a sum

AXES = {  # by whether something is divided by it: along another axis, over all, without its axis
    False: ("wrong_axis.reduction", "wrong_axis.everything", "wrong_axis.lost"),
    True: ("wrong_divisor.axis", "wrong_divisor.everything", "wrong_divisor.lost"),
}

OPERATIONS: dict[type[ast.operator], dict[str, str]] = {
    ast.Add: {
        "LEFT - RIGHT": "wrong_operation.difference_for_sum",
        "LEFT": "wrong_operation.no_second_term",
    },
    ast.Sub: {"LEFT + RIGHT": "wrong_operation.sum_for_difference"},
    ast.Mult: {
        "LEFT + RIGHT": "wrong_operation.sum_for_product",
        "LEFT": "wrong_operation.no_second_factor",
        "LEFT / RIGHT": "wrong_operation.quotient_for_product",
    },
}

QUOTIENTS = (  # in the place of LEFT / RIGHT
    ("LEFT", "wrong_divisor.none"),
    ("LEFT * RIGHT", "wrong_divisor.product"),
)

BY_ARGUMENT = (  # in the place of LEFT / RIGHT, where RIGHT is an argument
    ("LEFT", "wrong_operation.no_divisor"),
    ("LEFT * RIGHT", "wrong_operation.product_for_quotient"),
)

BY_COUNT = (  # in the place of LEFT / RIGHT, where RIGHT is another number
    ("LEFT", "wrong_operation.no_division"),
    ("LEFT * RIGHT", "wrong_operation.product_for_division"),
)
ROOT = re.compile(r"sqrt|\*\*")
SUM = re.compile(r"\b(sum|norm|amax|max|mean)\(")
WORDS = {"norm": "length", "amax": "maximum", "amin": "minimum", "max": "maximum", "min": "minimum"}


def reductions(scope: Scope) -> Iterator[Rewrite]:
    """Sums and means: along another axis, over everything, without the axis, or another one."""
    binary = (site.node for site in scope.of(ast.BinOp))
    divisors = {id(node.right) for node in binary if isinstance(node.op, ast.Div)}
    for site in scope.calls(*REDUCTIONS):
        call = site.node
        source = input_site(site)
        name = name_of(call.func)
        if source is None or not isinstance(call.func, ast.Attribute) or name in scope.locals:
            continue
        dim = option(call, "dim", 1)
        divides = id(call) in divisors
        other_axis, everything, other_shape = AXES[divides]
        what = "divisor" if divides else {"sum": "sum", "mean": "mean"}.get(name, "maximum")
        keeps = ", keepdim=True" if any(one.arg == "keepdim" for one in call.keywords) else ""
        make = partial(put, site, X=source, D=dim)
        if dim is not None:
            for axis in other_axes(dim, (0, 1, -1, -2, 2)):
                edit = make(f"X.{name}(dim={axis}{keeps})")
                words = {"what": what, "axis": ORDINALS[axis], "right": axis_of(dim)}
                yield mistake(other_axis, edit, other_axis, **words)
            if not divides:
                yield mistake("step_missing.reduction", make("X"), what=what)
            yield mistake(everything, make(f"X.{name}()"), what=what)
            if keeps:
                yield mistake(other_shape, make(f"X.{name}(dim=D)"), what=what)
        if divides and name != "mean":
            yield mistake("wrong_divisor.count", make("X.shape[-1]"))
        for other in OTHER_DIVISORS if divides and name == "sum" else OTHERS.get(name, ()):
            text = f"X.{other}(dim=D{keeps})" if dim is not None else f"X.{other}()"
            old, new = WORDS.get(name, name), WORDS.get(other, other)
            key = "wrong_divisor.other" if divides else "wrong_reduction.other"
            yield mistake(key, make(text), old=old, new=new)


def all_reductions(scope: Scope) -> Iterator[Rewrite]:
    """Several sums, means and maxima along the same axis, all along another one."""
    found: dict[tuple[str, str], list[Edit]] = {}
    for one in reductions(scope):
        if one.key in {"wrong_axis.reduction", "wrong_divisor.axis"}:
            found.setdefault((one.words["axis"], one.words["right"]), []).extend(one.edits)
    for (axis, right), edits in found.items():
        if len(edits) > 1:
            yield mistake("wrong_axis.all", edits, axis=axis, right=right)


def operations(scope: Scope) -> Iterator[Rewrite]:
    """Two numbers that are combined by another operation, or of which one has no effect."""
    slices = [site.node for site in scope.of(ast.Slice)]
    bounds = {id(bound) for one in slices for bound in (one.lower, one.upper)}  # see `positions`
    for site in scope.of(ast.BinOp):
        node = site.node
        divides = isinstance(node.op, ast.Div) and not ROOT.search(ast.unparse(node.right))
        if divides and isinstance(node.right, ast.BinOp | ast.Call | ast.Name):
            name = name_of(node.right)
            is_argument = isinstance(node.right, ast.Name) and name in scope.argument_names
            divisor = ast.unparse(scope.locals.get(name, node.right))
            of_sums = QUOTIENTS if SUM.search(divisor) else BY_COUNT
            table = BY_ARGUMENT if is_argument else of_sums
            yield from mistakes(partial(put, site), table, name=name)
        known = id(node) in bounds or is_triangle(node.right)  # other rules say what these hide
        others = OPERATIONS.get(type(node.op), {}) if not known else {}
        yield from mistakes(partial(put, site), others.items())
    for site in scope.of(ast.AugAssign):
        if not isinstance(site.node.op, ast.Add):
            continue
        parts = {"T": site.node.target, "V": site.node.value}
        yield mistake("wrong_reduction.last_term", restate(site, "T = V", **parts))
        yield mistake("wrong_reduction.no_term", leave_out(site))
