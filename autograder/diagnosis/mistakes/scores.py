"""Makes mistakes in the scores and the softmax: scale, axis, exponentials, weights."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    Scope,
    attributes_of,
    input_site,
    mistake,
    mistakes,
    option,
    put,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import PROJECTIONS, axis_of, role_of

ROOTS = (0.5, -0.5)

CONSTANT_SIZES = (2, 64)  # that students take from a document for every size

LOCAL_SIZES = (  # of the quantities that an exercise computes
    ("queries", -2, "scale_wrong_size.tokens"),
    ("keys", -2, "scale_wrong_size.tokens"),
    ("values", -2, "scale_wrong_size.tokens"),
    ("values", -1, "scale_wrong_size.value"),
)

POWERS = (  # in the place of LEFT / RIGHT, where RIGHT is the root of SIZE
    ("LEFT / SIZE", "scale_wrong_power.size"),
    ("LEFT / (SIZE * 0.5)", "scale_wrong_power.half_the_size"),
    ("LEFT / SIZE / 2", "scale_wrong_power.twice_the_size"),
    ("LEFT * RIGHT", "scale_wrong_power.larger"),
)

DIVIDED = (  # in the place of a product
    ("OLD / LEFT.shape[-1] ** 0.5", "scale_extra.root"),
    ("OLD / LEFT.shape[-1]", "scale_extra.products"),
)

SOFTMAX = "softmax"

OTHERS_THAN_SOFTMAX = (
    ("X", "softmax_missing.scores"),
    ("torch.sigmoid(X)", "softmax_missing.sigmoid"),
    ("torch.log_softmax(X, dim=D)", "softmax_missing.logarithms"),
    ("(lambda s: s / s.sum(dim=D, keepdim=True))(X)", "softmax_missing.without_exponential"),
    ("torch.exp(X)", "softmax_missing.without_sum"),
    ("torch.softmax(X.flatten(), 0).reshape(X.shape)", "wrong_divisor.everything"),
    ("(lambda e: e / e.sum(dim=D))(X.exp())", "wrong_divisor.lost"),
)

SHIFTED = "torch.softmax(X - X.amax(dim=-2, keepdim=True), dim=D)"  # not by one number in a row

AXES = (
    ("torch.softmax(X, dim=-2)", "softmax_axis.queries"),
    ("torch.softmax(X, dim=0)", "softmax_axis.first"),
    ("torch.softmax(X, dim=1)", "softmax_axis.second"),
)


def scale(scope: Scope) -> Iterator[Rewrite]:
    """The scale of the scores: forgotten, by another size or power, in another place."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if not (isinstance(node.op, ast.Div) and _is_root(node.right)):
            continue
        size = _size(node.right)
        what = scope.phrase(node.left) or "the scores"
        yield mistake("scale_missing", put(site, "LEFT"))
        yield from mistakes(partial(put, site, SIZE=size), POWERS, what=what)
        for text, key, words in _sizes(scope):
            edit = put(site, f"LEFT / ({text}) ** 0.5")
            yield mistake(key, edit, "scale_wrong_size", what=what, **words)
        if after := next(scope.calls(SOFTMAX), None):
            edits = (put(site, "LEFT"), put(after, "OLD / ROOT", ROOT=node.right))
            yield mistake("scale_misplaced", edits)


def _sizes(scope: Scope) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield every size in scope as an expression, the key of its sentence, and words for that."""
    for name in scope.tensors:
        yield f"{name}.shape[-1]", "scale_wrong_size.last_axis", {"name": name}
        holds_tokens = not name.startswith("W") and role_of(ast.Name(name)) in {"", *PROJECTIONS}
        key = "scale_wrong_size.tokens_in" if holds_tokens else "scale_wrong_size.axis_before_last"
        yield f"{name}.shape[-2]", key, {"name": name}
    for role, axis, key in LOCAL_SIZES:
        if (local := scope.by_role.get(role)) and local not in scope.tensors:
            yield f"{local}.shape[{axis}]", key, {}
    for name in scope.numbers:
        yield name, "scale_wrong_size.argument", {"name": name}
    if scope.owner is not None:
        for name, layer in attributes_of(scope.owner):
            if isinstance(layer, ast.Call) and name_of(layer.func) == "Linear":
                yield f"self.{name}.out_features", "scale_wrong_size.layer", {"layer": name}
            elif isinstance(layer, ast.Name):
                yield f"self.{name}", "scale_wrong_size.argument", {"name": layer.id}
    for number in CONSTANT_SIZES:
        yield str(number), "scale_wrong_size.constant", {"size": number}


def needless_scale(scope: Scope) -> Iterator[Rewrite]:
    """A scale where the exercise asks for none."""
    if any(_is_root(site.node.right) for site in scope.of(ast.BinOp)) or scope.is_constructor:
        return
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.MatMult):
            what = scope.phrase(site.node) or "the products"
            if role_of(site.node.left) == "weights":
                edit = put(site, "OLD / LEFT.shape[-1]")
                yield mistake("wrong_reduction.mean_of_weighted", edit, "scale_extra")
            yield from mistakes(partial(put, site), DIVIDED, "scale_extra", what=what)
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            edit = put(scores, "OLD / OLD.shape[-1] ** 0.5")
            yield mistake("scale_extra.root", edit, "scale_extra", what="the scores")


def _is_root(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(_, ast.Pow(), ast.Constant(power)):
            return power in ROOTS
        case ast.Call(func):
            return name_of(func) == "sqrt"
    return False


def _size(node: ast.expr) -> ast.expr:
    """Return the size whose root *node* takes."""
    match node:
        case ast.BinOp(size) | ast.Call(_, [size]) | ast.Call(ast.Attribute(size)):
            return size
    return node


def softmax(scope: Scope) -> Iterator[Rewrite]:
    """The softmax: over another axis, twice, or something else in its place."""
    for site in scope.calls(SOFTMAX):
        scores, dim = input_site(site), option(site.node, "dim", 1)
        if scores is None or dim is None:
            continue
        make = partial(put, site, X=scores, D=dim)
        yield from mistakes(make, AXES, "softmax_axis")
        yield from mistakes(make, OTHERS_THAN_SOFTMAX, what="divisor")
        yield mistake("wrong_axis.shift", make(SHIFTED), right=axis_of(dim))
        yield mistake("softmax_twice", put(site, "torch.softmax(OLD, dim=D)", D=dim))


def exponentials(scope: Scope) -> Iterator[Rewrite]:
    """Exponentials of a softmax that is written out, and left out in one place."""
    for name, value in scope.locals.items():
        if not (isinstance(value, ast.Call) and name_of(value.func) == "exp" and value.args):
            continue
        for site in scope.loads(name):
            edit = put(site, "EXPONENT", EXPONENT=value.args[0])
            yield mistake("softmax_missing.one_place", edit, "scores for exponentials")
