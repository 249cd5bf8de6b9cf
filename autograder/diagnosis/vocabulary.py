"""Names the quantities of attention as students do."""

import ast
from collections.abc import Sequence
from typing import Final

ROLES: Final = {
    "queries": ("q", "query", "queries"),
    "keys": ("k", "key", "keys"),
    "values": ("v", "value", "values"),
    "scores": ("score", "scores", "scaled", "masked", "similarities", "sims", "shifted"),
    "weights": ("weights", "attention_weights", "exponentials"),
    "context vectors": ("context", "contexts", "context_vectors"),
    "mask": ("mask", "visible", "hidden", "future", "tril", "padding_mask"),
    "logits": ("logits",),
    "targets": ("targets", "labels"),
    "losses": ("loss", "losses"),
    "logarithms of the sums": ("logsumexp", "logsumexps", "lse"),
    "angles": ("angle", "angles", "theta"),
    "cosines": ("cos", "cosines"),
    "sines": ("sin", "sines"),
    "variances": ("var", "variance", "variances"),
    "normalized vectors": ("normed", "normalized", "normalised"),
    "cached keys and values": ("cache", "kv_cache", "past_key_values"),
    "keys of the past": ("old_keys", "past_keys", "cached_keys"),
    "values of the past": ("old_values", "past_values", "cached_values"),
}

BY_NAME: Final = {name: role for role, names in ROLES.items() for name in names}

EPSILON: Final = ("eps", "epsilon")  # the small number below a root
PROJECTIONS: Final = ("queries", "keys", "values")
ORDINALS: Final = {
    0: "first",
    1: "second",
    2: "third",
    3: "fourth",
    -1: "last",
    -2: "second to last",
    -3: "third to last",
}
COUNTED: Final = {"B": "items", "T": "tokens", "H": "heads", "num_heads": "heads"}
COUNTED_BY_HEAD: Final = {"d": "features of a head", "D": "features"}


def role_of_name(name: str) -> str:
    """Return the role of a quantity of this name in attention, or "" if the name does not say."""
    return BY_NAME.get(name.lower().removeprefix("w_"), "")


def role_of(node: ast.expr | None) -> str:  # noqa: PLR0911  # one kind of node a line
    """Return the role of *node* in attention, such as "queries", or "" if its name does not say."""
    match node:
        case ast.Name(name) | ast.Attribute(ast.Name("self"), name):
            return role_of_name(name)
        case ast.Call(ast.Attribute(ast.Name("self")) as layer):
            return role_of(layer)
        case ast.Call(ast.Attribute(_, "softmax")):
            return "weights"
        case ast.Call(ast.Attribute(value)) | ast.Subscript(value) | ast.Attribute(value):
            return role_of(value)
        case ast.BinOp(left, ast.MatMult(), right):
            parts = role_of(left), role_of(right)
            if parts == ("queries", "keys"):
                return "scores"
            if parts[0] == "weights":
                return "context vectors"
            return parts[1] if _is_parameter(right) else ""
        case ast.BinOp(left):
            return role_of(left)
    return ""


def _is_parameter(node: ast.expr) -> bool:
    """Whether *node* is a matrix of weights, as opposed to the products with its inputs."""
    match node:
        case ast.Attribute(ast.Name("self")):
            return True
        case ast.Name(name):
            return is_parameter(name)
    return False


def is_parameter(name: str) -> bool:
    """Whether *name* is that of a matrix which makes queries, keys or values, not of these."""
    return name.startswith("W")


def axis_of(dim: ast.expr | None) -> str:
    """Say which axis *dim* means: "the last axis", or the argument that says it."""
    match dim:
        case ast.Name(name) | ast.Attribute(_, name):
            return f"`{name}`"
        case ast.Constant(int(axis)):
            return f"the {ORDINALS[axis]} axis"
        case ast.UnaryOp(ast.USub(), ast.Constant(int(axis))):
            return f"the {ORDINALS[-axis]} axis"
    return "the right one"


def other_axes(dim: ast.expr | None, axes: Sequence[int]) -> list[int]:
    """List those of *axes* that are not literally *dim*."""
    return [axis for axis in axes if f"the {ORDINALS[axis]} axis" != axis_of(dim)]


def counted(size: ast.expr | None) -> str:
    """Name what a size of heads and their inputs counts, such as "tokens", or return ""."""
    match size:
        case ast.Name(name) | ast.Attribute(_, name):
            return {**COUNTED, **COUNTED_BY_HEAD}.get(name, "")
        case ast.BinOp(_, ast.FloorDiv()):
            return "features of a head"
        case ast.BinOp(_, ast.Mult()):
            return "features of all heads"
    return ""


def alternatives(sentences: Sequence[str], *, more: bool) -> str:
    """Join *sentences* by "Or:"; a sentence that several mistakes share appears once."""
    different = list(dict.fromkeys(sentences))
    if len(different) == 1:
        return different[0]
    rest = ["a different mistake with the same result."] if more else []
    return f"Either: {' Or: '.join([*different, *rest])}"


def capital(text: str) -> str:
    """Return *text* with a capital letter, as at the beginning of a sentence."""
    return text[:1].upper() + text[1:]
