"""Mistakes between the scores and the weights: scale, softmax and mask."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.rewrites import (
    Edit,
    Rewrite,
    Scope,
    Site,
    input_site,
    is_module,
    mistake,
    name_of,
    option,
    put,
    site_of,
)
from autograder.diagnosis.operators.vocabulary import PROJECTIONS, role_of

ROOTS = (0.5, -0.5)
SOFTMAX = "softmax"
TRIANGLES = ("tril", "triu")
CONSTANT_SIZES = (2, 3, 4, 8, 64)  # that students take from a document for every size
HIDES_ALL = {"softmax_axis", "mask_shifted", "mask_inverted", "mask_axis"}
HIDING = ("float('-inf')", "-1e9")  # where a row is hidden altogether, they show different things
FILLS = {
    "-20.0": "Hidden scores are low, but not low enough: hidden tokens keep a small weight.",
    "-10.0": "Hidden scores are low, but not low enough: hidden tokens keep a small weight.",
    "0.0": "Hidden scores become zero or nearly zero, whose exponential is one: they still count.",
    "-1.0": "Hidden scores become a small negative number: they still count.",
    "float('inf')": "Hidden scores become plus infinity, which takes all the weight or makes NaN.",
}
OTHERS_THAN_SOFTMAX = (
    ("X", "The scores are used as weights: no softmax makes them positive and sum to one."),
    (
        "torch.sigmoid(X)",
        "Each score becomes a weight by itself; those of a row do not sum to one.",
    ),
    (
        "torch.log_softmax(X, dim=D)",
        "The logarithms of weights, none of them positive, are used as weights.",
    ),
    (
        "(lambda s: s / s.sum(dim=D, keepdim=True))(X)",
        "The scores are divided by their sum, without the exponential: a weight can be negative.",
    ),
    ("torch.exp(X)", "The exponentials of the scores are not divided by their sum."),
    (
        "torch.nn.functional.one_hot(X.argmax(dim=D), X.shape[D]).to(X.dtype)",
        "Only the key with the largest score counts; all others get the weight zero.",
    ),
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
        yield mistake(
            "scale_wrong_power",
            put(site, "LEFT / SIZE", SIZE=size),
            f"All in all {what} are divided by the size of a key, not by its square root.",
        )
        yield mistake(
            "scale_wrong_power",
            put(site, "LEFT / (SIZE * 0.5)", SIZE=size),
            f"All in all {what} are divided by half the size of a key, not by its square root.",
        )
        yield mistake(
            "scale_wrong_power",
            put(site, "LEFT * RIGHT"),
            f"The scale makes {what} larger by the square root of the key size, not smaller, which "
            "makes the softmax sharper.",
            "Should longer keys make the scores larger?",
        )
        yield mistake(
            "scale_wrong_power",
            put(site, "(LEFT / SIZE) ** 0.5", SIZE=size),
            f"The root of {what} is taken as well, and that of a negative number is NaN.",
            "Of which number alone should the root be taken?",
        )
        yield from _other_sizes(scope, site, what)
        if after := next(scope.calls(SOFTMAX), None):
            root = node.right
            edits = (put(site, "LEFT"), put(after, "OLD / ROOT", ROOT=root))
            yield mistake("scale_misplaced", edits)


def _other_sizes(scope: Scope, site: Site, what: str) -> Iterator[Rewrite]:
    for template, phrase in _sizes(scope):
        edit = put(site, f"LEFT / ({template}) ** 0.5")
        sentence = f"{what[:1].upper()}{what[1:]} are divided by the square root of {phrase}."
        question = "How many products does one score add up?"
        yield mistake("scale_wrong_size", edit, sentence, question, group="scale_wrong_size")


def _sizes(scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield every size in scope as an expression, and what it is."""
    for name in scope.tensors:
        yield f"{name}.shape[-1]", f"the size of the last axis of `{name}`"
        holds_tokens = not name.startswith("W") and role_of(ast.Name(name)) in {"", *PROJECTIONS}
        what = "the number of tokens in" if holds_tokens else "the size of axis -2 of"
        yield f"{name}.shape[-2]", f"{what} `{name}`"
        yield f"{name}.shape[0]", f"the size of the first axis of `{name}`"
    for role in ("queries", "keys", "values"):
        if (local := scope.by_role.get(role)) and local not in scope.tensors:
            yield f"{local}.shape[-2]", "the number of tokens"
            yield f"{local}.shape[1]", f"the size of the second axis of the {role}"
    for name in scope.numbers:
        yield name, f"`{name}`"
    if scope.owner is not None:
        for name, layer in _attributes(scope.owner):
            if isinstance(layer, ast.Call) and name_of(layer.func) == "Linear":
                yield f"self.{name}.out_features", f"the number of features that `{name}` gives"
            elif isinstance(layer, ast.Name):
                yield f"self.{name}", f"`{layer.id}`"
    for number in CONSTANT_SIZES:
        yield str(number), f"{number}, whatever a key's size is"


def _attributes(owner: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that the class sets, and what it sets them to."""
    for node in ast.walk(owner):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                yield name, value


def needless_scale(scope: Scope) -> Iterator[Rewrite]:
    """A scale where the exercise asks for none."""
    if any(_is_root(site.node.right) for site in scope.of(ast.BinOp)) or scope.is_constructor:
        return
    for site in scope.calls(SOFTMAX):
        if (scores := input_site(site)) and scope.tensors:
            size = f"{scope.tensors[0]}.shape[-1]"
            for template in (f"OLD / ({size}) ** 0.5", f"OLD / ({size})"):
                yield mistake("scale_extra", put(scores, template), group="scale_extra")
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.MatMult):
            what = scope.phrase(site.node) or "the products"
            sentence = f"Something divides {what} by a size, which the exercise does not ask for."
            if role_of(site.node.left) == "weights":
                yield mistake(
                    "wrong_reduction",
                    put(site, "OLD / LEFT.shape[-1]"),
                    "The mean of the weighted tokens is taken instead of their sum.",
                    "What do the weights already sum to?",
                    group="scale_extra",
                )
            for template in ("OLD / LEFT.shape[-1] ** 0.5", "OLD / LEFT.shape[-1]"):
                yield mistake("scale_extra", put(site, template), sentence, group="scale_extra")


def softmax(scope: Scope) -> Iterator[Rewrite]:
    """The softmax: over another axis, twice, or something else in its place."""
    for site in scope.calls(SOFTMAX):
        scores, dim = input_site(site), option(site.node, "dim", 1)
        if scores is None or dim is None:
            continue
        for axis, sentence in (
            ("-2", "The weights of one key sum to one over all queries; those of a query must."),
            ("0", "The softmax runs over the first axis, that of queries or items, not of keys."),
            (
                "1",
                "The softmax runs over the second axis, which in a batch does not hold keys.",
            ),
        ):
            yield mistake(
                "softmax_axis",
                _around(site, scores, f"torch.softmax(X, dim={axis})", dim),
                sentence,
                group="softmax_axis",
            )
        template = "(lambda s: torch.softmax(s.flatten(), dim=0).reshape(s.shape))(X)"
        yield mistake(
            "softmax_axis",
            _around(site, scores, template, dim),
            "All weights together sum to one; those of each query must.",
        )
        for template, sentence in OTHERS_THAN_SOFTMAX:
            yield mistake("softmax_missing", _around(site, scores, template, dim), sentence)
        yield mistake("softmax_twice", put(site, "torch.softmax(OLD, dim=D)", D=dim))


def needless_mask(scope: Scope) -> Iterator[Rewrite]:
    """A causal mask where the exercise asks for none."""
    if any(True for method in scope.methods for _ in method.calls(*TRIANGLES)):
        return
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            text = "(lambda s: s.masked_fill(torch.ones_like(s).triu(1) == 1, float('-inf')))(OLD)"
            sentence = "Later tokens are hidden, which this exercise does not ask for."
            yield mistake("mask_extra", put(scores, text), sentence)


def _around(site: Site, scores: Site, template: str, dim: ast.expr) -> Edit:
    """Put *template* in the place of the softmax at *site*."""
    return put(site, template, X=scores, D=dim)


def mask(scope: Scope) -> Iterator[Rewrite]:
    """The filling of hidden scores: forgotten, late, inverted, with another value."""
    for site in scope.calls("masked_fill"):
        scores, hidden = input_site(site), option(site.node, "mask", 1)
        if scores is None or hidden is None:
            continue
        fill = partial(put, site, X=scores, M=hidden)
        yield mistake("mask_missing", fill("X"))
        for value in HIDING:
            text = f"X.masked_fill(~(M), {value})"
            yield mistake("mask_inverted", fill(text), group="mask_inverted")
        for value, sentence in FILLS.items():
            yield mistake("mask_fill", fill(f"X.masked_fill(M, {value})"), sentence)
        yield from _sums(scope, site, scores, hidden)
        turned = fill("X.masked_fill((M).transpose(-2, -1), float('-inf'))")
        yield mistake("mask_axis", turned, group="mask_inverted")  # of a triangle it is the other
        yield mistake(
            "batch_mixed",
            fill("X.masked_fill((M)[:1], float('-inf'))"),
            "The mask of the first item applies to all items.",
        )
        if isinstance(scores.node, ast.Name) and scores.node.id in scope.tensors:
            yield mistake(
                "in_place",
                fill("X.masked_fill_(M, float('-inf'))"),
                f"The caller's `{scores.node.id}` is overwritten.",
            )
        if after := next(scope.calls(SOFTMAX), None):
            yield from _late_masks(scope, site, after, hidden)
    for site in scope.calls("unsqueeze"):
        if role_of(site.node.func.value) == "mask" and not scope.is_constructor:
            yield mistake("mask_axis", put(site, "OBJECT.unsqueeze(-1)"))


def _sums(scope: Scope, site: Site, scores: Site, hidden: ast.expr) -> Iterator[Rewrite]:
    """A mask that is added, or multiplied by infinity; one that is not the caller's."""
    fill = partial(put, site, X=scores, M=hidden)
    mask = hidden.left if isinstance(hidden, ast.Compare) else hidden
    sentence = "The mask is added to the scores, which hides nothing."
    yield mistake("mask_fill", put(site, "X + A", X=scores, A=mask), sentence)
    sentence = "Zero times infinity is NaN: the product makes NaN of what must be visible."
    question = "What is 0 times infinity, and what fills positions without a product?"
    yield mistake("mask_fill", fill("X + (M) * float('-inf')"), sentence, question)
    if isinstance(mask, ast.Name) and mask.id in scope.tensors:
        sentence = f"`{mask.id}` has no effect: later tokens are hidden, whatever it holds."
        text = "(lambda s: s.masked_fill(torch.ones_like(s).tril() == 0, float('-inf')))(X)"
        yield mistake("argument_ignored", fill(text), sentence)


def _late_masks(scope: Scope, site: Site, after: Site, hidden: ast.expr) -> Iterator[Rewrite]:
    test = _condition(scope, site)
    for value, sentence in (
        ("0.0", ""),
        (
            "float('-inf')",
            "Minus infinity comes after the softmax: nothing turns it into zero.",
        ),
    ):
        text = f"OLD.masked_fill(M, {value})"
        if test is not None:
            text = f"({text} if TEST else OLD)"
        late = put(after, text, M=hidden, TEST=test)
        yield mistake("mask_after_softmax", (put(site, "OBJECT"), late), sentence)


def _condition(scope: Scope, site: Site) -> ast.expr | None:
    """Return the condition under which the node at *site* runs."""
    for other in scope.of(ast.If):
        if any(node is site.node for part in other.node.body for node in ast.walk(part)):
            return other.node.test  # type: ignore[no-any-return]  # a place holds any node
    return None


def triangle(scope: Scope) -> Iterator[Rewrite]:
    """The triangle of a causal mask: shifted, the other one, or none."""
    for site in scope.calls(*TRIANGLES):
        call = site.node
        ones, diagonal = input_site(site), option(call, "diagonal", 1)
        if ones is None:
            continue
        lower = name_of(call.func) == "tril"
        at = ast.literal_eval(diagonal) if isinstance(diagonal, ast.Constant) else 0
        make = partial(put, site, X=ones)
        for more, sentence in (
            (1, "Each token also sees the one after it."),
            (
                -1,
                "Each token is hidden from itself, so that nothing is left for the first one.",
            ),
            (2, "Each token also sees the two after it."),
            (-2, "Each token is hidden from itself and from the one before it."),
        ):
            text = f"X.{name_of(call.func)}({at + more})"
            yield mistake("mask_shifted", make(text), sentence)
        other = "triu" if lower else "tril"
        for shift in dict.fromkeys((-at, 1 - at if lower else at - 1, at)):
            yield mistake(
                "mask_inverted",
                make(f"X.{other}({shift})"),
                "The mask is the wrong triangle: tokens see the later ones, not the earlier ones.",
                group="mask_inverted",
            )
        nothing, everything = ("X", "torch.zeros_like(X)")[:: 1 if lower else -1]
        yield mistake("mask_missing", make(nothing))
        sentence = "All tokens are hidden: the triangle leaves nothing visible."
        yield mistake("mask_extra", make(everything), sentence)
        only = "X.tril().triu()" if lower else "X - X.tril().triu()"
        yield mistake("mask_extra", make(only), "Each token sees only itself.")
        if lower:
            yield from _forms(site)
    for site in scope.of(ast.Return):
        if isinstance(site.node.value, ast.Compare):
            yield from _forms(site_of(site, site.node, "value"))
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Mult) and _is_triangle(site.node.right):
            yield mistake("mask_missing", put(site, "LEFT"))


def _forms(site: Site) -> Iterator[Rewrite]:
    """A mask of zeros and minus infinity, or one that is mirrored."""
    text = "torch.zeros((OLD).shape).masked_fill((OLD) == 0, float('-inf'))"
    yield mistake("mask_form", put(site, text))
    sentence = "The mask is mirrored: its columns are in the reverse order."
    yield mistake("mask_inverted", put(site, "(OLD).flip(-1)"), sentence)


def with_large_fills(scope: Scope, rewrite: Rewrite) -> Iterator[Rewrite]:
    """Fill with a large number instead of infinity as well: alone, that is right too.

    With some mistakes, all that a softmax sees is hidden; only then do the two differ.
    """
    calls = [site for other in scope.methods for site in other.calls("masked_fill")]
    fills = [site_of(site, site.node.args, 1) for site in calls if len(site.node.args) > 1]
    if fills and rewrite.kind in HIDES_ALL:
        edits = [put(site, "-1e9") for site in fills]
        yield rewrite._replace(edits=(*rewrite.edits, *edits))


def stable_softmax(scope: Scope) -> Iterator[Rewrite]:
    """The shift that keeps exponentials finite: forgotten, or that of all slices together."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if isinstance(node.op, ast.Sub) and isinstance(node.right, ast.Call):
            name = name_of(node.right.func)
            inner = node.right.func
            if name not in {"amax", "max"} or is_module(getattr(inner, "value", inner)):
                continue
            yield mistake(
                "softmax_unstable",
                put(site, "LEFT"),
                "Nothing is subtracted before the exponential, so that large scores overflow.",
            )
            for text, sentence in (
                (
                    "LEFT - LEFT.max()",
                    "The maximum of all scores is subtracted, not that of each slice.",
                ),
                ("LEFT - LEFT.mean()", "The mean is subtracted, which large scores still exceed."),
                ("LEFT / LEFT.abs().max()", "The scores are divided by the largest one."),
            ):
                yield mistake("softmax_unstable", put(site, text), sentence)


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
        case ast.BinOp(size):
            return size
        case ast.Call(_, [size]):
            return size
        case ast.Call(ast.Attribute(size)):
            return size
    return node


def _is_triangle(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) in TRIANGLES


RULES = (scale, needless_scale, softmax, needless_mask, mask, triangle, stable_softmax)
