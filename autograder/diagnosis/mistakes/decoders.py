"""Makes mistakes in the other parts of a decoder: norms, positions, activations and caches."""

import ast
from collections.abc import Iterator
from typing import Any

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    before,
    constant,
    input_site,
    mistake,
    number_of,
    option,
    put,
    site_of,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import EPSILON

DECIMAL = 10  # a base of logarithms
ROOT = 0.5  # a power of which other rules speak
JOINS = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")
ROOTS = {"sqrt": "torch.sqrt(A) + E", "rsqrt": "1 / (torch.sqrt(A) + E)"}
POWERS = {"0.5": "A ** 0.5 + E", "-0.5": "1 / (A ** 0.5 + E)"}


def variances(scope: Scope) -> Iterator[Rewrite]:
    """A variance that is divided by one less than the number of features."""
    for site in scope.calls("var", "std", "var_mean", "std_mean"):
        call = site.node
        kept = [one for one in call.keywords if one.arg not in {"unbiased", "correction"}]
        if len(kept) < len(call.keywords):
            new = ast.copy_location(ast.Call(call.func, call.args, kept), call)
            yield mistake("variance_unbiased", put(site, "NEW", NEW=new))
    for site in scope.calls("mean"):
        source, dim = input_site(site), option(site.node, "dim", 1)
        if source and dim is not None and _is_difference(scope, _squared(source.node)):
            keeps = ", keepdim=True" if option(site.node, "keepdim", 2) is not None else ""
            text = f"X.sum(dim=D{keeps}) / (X.shape[D] - 1)"
            yield mistake("variance_unbiased", put(site, text, X=source, D=dim))


def epsilons(scope: Scope) -> Iterator[Rewrite]:
    """The small number that is added to the root, not to what is below it."""
    for site in scope.sites:
        match site.node:
            case ast.Call(func) if name_of(func) in ROOTS and (source := input_site(site)):
                inside, template = source.node, ROOTS[name_of(func)]
            case ast.BinOp(inside, ast.Pow(), power) if ast.unparse(power) in POWERS:
                template = POWERS[ast.unparse(power)]
            case _:
                continue
        match inside:
            case ast.BinOp(left, ast.Add(), right) if name_of(right).lower() in EPSILON:
                edit = put(site, f"({template})", A=left, E=right)
                yield mistake("eps_outside_root", edit)


def means_subtracted(scope: Scope) -> Iterator[Rewrite]:
    """A mean that is subtracted where only the mean of the squares counts."""
    for site in scope.calls("mean"):
        source = input_site(site)
        match _squared(source.node) if source else None:
            case ast.Name(name) if name in scope.tensors:
                text = f"{name} = {name} - {name}.mean(dim=-1, keepdim=True)"
                yield mistake("step_extra.mean", before(scope.start, text))


def factors(scope: Scope) -> Iterator[Rewrite]:
    """A number that must multiply something, and does not."""
    bounds = {id(bound) for site in scope.of(ast.Slice) for bound in ast.walk(site.node)}
    for site in scope.of(ast.BinOp):
        match site.node:
            case node if id(node) in bounds:  # other rules say what a slice leaves out
                continue
            case ast.BinOp(left, ast.Mult(), _) if (number := number_of(left)) is not None:
                yield _without(scope, number, put(site, "-RIGHT" if number < 0 else "RIGHT"))
    for site in scope.calls("arange"):
        match site.node.args:
            case [ast.Constant(0), end, ast.Constant(2)]:
                yield _without(scope, 2, put(site, "FUNC(END // 2)", END=end))


def _without(scope: Scope, number: float, edit: Edit, key: str = "factor_missing") -> Rewrite:
    """Return the mistake of a factor *number* that *edit* removes from the exercise."""
    every = ast.walk(scope.owner or scope.node)
    count = sum(isinstance(one, ast.Constant) and one.value == abs(number) for one in every)
    return mistake(key, edit, number=abs(number), count=count)


def constants(scope: Scope) -> Iterator[Rewrite]:
    """A number of a formula with another value, in one place or in all; a missing power."""
    parts = {id(one) for site in scope.of(ast.Subscript) for one in ast.walk(site.node.slice)}
    found: dict[tuple[Any, float], list[Edit]] = {}
    for site in (one for one in scope.of(ast.BinOp) if id(one.node) not in parts):
        node = site.node
        for place in (site_of(site, node, "left"), site_of(site, node, "right")):
            number = number_of(place.node)
            for other in _other_numbers(node.op, number) if number else ():
                found.setdefault((number, other), []).append(constant(place, other))
        match node:
            case ast.BinOp(base, ast.Pow(), ast.Constant(int(power))):
                edit = put(site, "BASE", BASE=base)
                yield _without(scope, power, edit, "factor_missing.power")
    for site in scope.calls("log"):
        match site.node.args:
            case [ast.Constant(value)]:
                found[value, DECIMAL] = [put(site, f"FUNC({DECIMAL})")]
    for (_, other), edits in found.items():
        for some in [[one] for one in edits] + ([edits] if len(edits) > 1 else []):
            yield mistake("constant_wrong.number", some, size=abs(other))


def _other_numbers(operator: ast.operator, number: float) -> list[float]:
    """List what students write for *number*: half of it, twice it, and in a product one more."""
    if abs(number) == ROOT or isinstance(operator, ast.Mod | ast.FloorDiv):
        return []
    half = number / 2 if number % 2 else number // 2
    is_sum = isinstance(operator, ast.Add | ast.Sub)
    known = {0, number} if is_sum else {0, 1, number}  # of a missing factor, another rule speaks
    near = [] if is_sum else [number + 1, number - 1]
    return [one for one in dict.fromkeys((half, 2 * number, *near)) if one not in known]


def repeated(scope: Scope) -> Iterator[Rewrite]:
    """Parts that are repeated in turn where each must be followed by its copies."""
    for site in scope.calls("repeat_interleave"):
        source, times = input_site(site), option(site.node, "repeats", 1)
        dim = option(site.node, "dim", 2)
        if source and times is not None and dim is not None:
            edit = put(site, "torch.cat([X] * N, dim=D)", X=source, N=times, D=dim)
            yield mistake("repeat_for_interleave", edit)


def joined(scope: Scope) -> Iterator[Rewrite]:
    """Two parts that are joined in the other order."""
    for site in scope.calls(*JOINS):
        match site.node.args:
            case [ast.Tuple([one, other]) | ast.List([one, other]), *_]:
                edit = put(site_of(site, site.node.args, 0), "(B, A)", A=one, B=other)
                yield mistake("parts_exchanged", edit)


def _squared(node: ast.expr) -> ast.expr | None:
    """Return the tensor whose square *node* is."""
    match node:
        case ast.BinOp(base, ast.Pow(), ast.Constant(2)):
            return base
    return None


def _is_difference(scope: Scope, node: ast.expr | None) -> bool:
    """Whether *node* is a difference, or the name of one."""
    match node:
        case ast.BinOp(_, ast.Sub()):
            return True
        case ast.Name(name):
            return isinstance(scope.locals.get(name), ast.BinOp) and _is_difference(
                scope, scope.locals[name]
            )
    return False
