"""Mistakes in axes: not exchanged, only cut anew, or heads put together along another one."""

import ast
from collections.abc import Iterator
from functools import partial

from autograder.diagnosis.operators.rewrites import (
    Rewrite,
    Site,
    input_site,
    mistake,
    name_of,
    option,
    put,
    site_of,
    transposed,
)
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import ORDINALS, axis_of, capital, role_of

OTHER_AXES = ((0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (-2, -1))


def axes(scope: Scope) -> Iterator[Rewrite]:
    """Axes that are not exchanged, only cut anew, or exchanged with others."""
    for site in scope.of((ast.Call, ast.Attribute)):
        tensor = transposed(site.node)
        if tensor is None or scope.is_constructor:
            continue
        what = scope.phrase(tensor)
        of = f" of {what}" if what else ""
        make = partial(put, site)
        two = f"{_pair(site.node)}{of}"
        sentence = f"{capital(two)} are not exchanged although they must be."
        yield mistake("transposed", make("OBJECT"), sentence)
        sentence = (
            f"{capital(two)} must be exchanged; a new shape alone leaves all numbers in their "
            "order, so that they end up in wrong places."
        )
        yield mistake("reshaped", make("OBJECT.reshape(OLD.shape)"), sentence)
        for one, other in OTHER_AXES:
            yield mistake(
                "transposed",
                make(f"OBJECT.transpose({one}, {other})"),
                f"The wrong axes{of} are exchanged: the {ORDINALS[one]} and the {ORDINALS[other]}.",
                group=f"other axes {of}",
            )
    for site in scope.of(ast.Assign):
        value = site.node.value
        if transposed(value) is not None and _is_cut(transposed(value)):
            what = role_of(site.node.targets[0])
            sentence = f"The {what or 'features'} are not split into heads."
            uncut = put(site_of(site, site.node, "value"), "CUT", CUT=value.func.value.func.value)
            yield mistake("heads_mixed", uncut, sentence)
    swaps = [site for site in scope.calls("transpose") if _is_cut(site.node.func.value)]
    if len(swaps) > 1:
        sentence = (
            "The axes of heads and tokens must be exchanged; a new shape alone leaves all numbers "
            "in their order, so that heads and tokens are mixed up."
        )
        all_cut = [put(site, "OBJECT.reshape(OLD.shape)") for site in swaps]
        yield mistake("reshaped", all_cut, sentence)
    for site in scope.calls("view", "reshape"):
        if site.node.args and isinstance(site.node.args[-1], ast.BinOp):
            sentence = "The features of the heads alternate; those of each must be one block."
            alternating = put(site_of(site, site.node.func, "value"), "OLD.transpose(-2, -1)")
            yield mistake("heads_mixed", alternating, sentence)
        if len(site.node.args) == 4:  # noqa: PLR2004  # items, tokens, heads, features
            parts = dict(zip("ABCD", site.node.args, strict=True))
            cut = put(site, "OBJECT.view(A, B, D, C).transpose(-1, -2)", **parts)
            yield mistake(
                "reshaped",
                cut,
                "Neighbouring features go to different heads; each head must get one block.",
                "Which features belong to head 0?",
                group="interleaved heads",
            )


def _pair(node: ast.expr) -> str:
    """Say which two axes are exchanged: of a matrix, or of what the two numbers name."""
    match node:
        case ast.Call(ast.Attribute(), [one, other]) if {axis_of(one)[:3], axis_of(other)[:3]} == {
            "the"
        }:
            first = axis_of(one).removesuffix(" axis")
            return f"{first} and {axis_of(other)}"
        case ast.Attribute():
            return "the two axes"
    return "the axes of tokens and features"


def _is_cut(node: ast.expr | None) -> bool:
    """Whether *node* is a tensor in a new shape."""
    return isinstance(node, ast.Call) and name_of(node.func) in {"view", "reshape"}


def heads(scope: Scope) -> Iterator[Rewrite]:
    """The results of heads, put together."""
    for site in scope.calls("cat", "concat"):
        parts = input_site(site)
        dim = option(site.node, "dim", 1)
        if parts is None or dim is None:
            continue
        for axis in (0, 1, -2):
            sentence = (
                f"The results of the heads are put together along the {ORDINALS[axis]} axis, not "
                f"along {axis_of(dim)}."
            )
            edit = put(site, f"torch.cat(H, dim={axis})", H=parts)
            yield mistake("concat_axis", edit, sentence, group="concat_axis")
        for place in ("0", "1", "-1"):
            sentence = (
                "The results of the heads get an axis of their own; they must be side by side."
            )
            yield _together(site, parts, f"torch.stack(H, dim={place})", "concat_axis", sentence)
        for text, kind, sentence in (
            (
                "sum(H)",
                "heads_mixed",
                "The heads are added up, so no later step can distinguish them.",
            ),
            (
                "sum(H) / len(H)",
                "heads_mixed",
                "The heads are averaged, so no later step can distinguish them.",
            ),
            (
                "torch.cat(H[::-1], dim=D)",
                "heads_mixed",
                "The results of the heads are side by side in the reverse order.",
            ),
            (
                "torch.stack(H, dim=-1).flatten(-2)",
                "heads_mixed",
                "The results of the heads are interleaved: each must be one block.",
            ),
            (
                "torch.cat([H[0]] * len(H), dim=D)",
                "heads_repeated",
                "The result of the first head stands for all of them.",
            ),
            (
                "torch.cat([H[-1]] * len(H), dim=D)",
                "heads_repeated",
                "The result of the last head stands for all of them.",
            ),
            ("H[0]", "heads_mixed", "Only the first head's result is returned."),
            ("H[-1]", "heads_mixed", "Only the last head's result is returned."),
        ):
            yield _together(site, parts, text, kind, sentence, dim)


def _together(  # a row of a table
    site: Site, parts: Site, text: str, kind: str, sentence: str, dim: ast.expr | None = None
) -> Rewrite:
    return mistake(kind, put(site, text, H=parts, D=dim), sentence)


RULES = (axes, heads)
