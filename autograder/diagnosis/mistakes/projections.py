"""Makes mistakes in queries, keys and values, and in their products."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    attributes_of,
    mistake,
    mistakes,
    put,
    swapped,
    transposed,
)
from autograder.diagnosis.student_code import name_of
from autograder.diagnosis.vocabulary import PROJECTIONS, is_parameter, role_of

FEATURES = "features compared with features"  # a group of mistakes

TURNED = ("factors_exchanged.features", FEATURES)

DIRECTIONS = "(lambda n: n(LEFT, dim=-1) @ n(RIGHT, dim=-2))(torch.nn.functional.normalize)"

NO_BIAS = "FIRST @ FUNC.weight.T"
NOT_TURNED = "torch.nn.functional.linear(FIRST, FUNC.weight.T, FUNC.bias)"

USED_FOR = {  # another quantity is used where this one must be
    "queries": "projection_exchanged.for_queries",
    "keys": "projection_exchanged.for_keys",
    "values": "projection_exchanged.for_values",
}

TURNED_WEIGHTS = (  # `t` leaves the weights of a single query as they are
    ("LEFT.transpose(-2, -1) @ RIGHT", "transposed.weights"),
    ("(LEFT.t() if LEFT.ndim < 3 else LEFT.mT) @ RIGHT", "transposed.weights"),
)

PAIRED = ("Linear", "rand", "randn", "draw", "transpose", "view", "reshape", "softmax")


def products(scope: Scope) -> Iterator[Rewrite]:
    """A matrix product: operands swapped, repeated, transposed, or not added up."""
    for site in scope.of(ast.BinOp):
        node = site.node
        if not isinstance(node.op, ast.MatMult):
            continue
        if transposed(node.right) is not None:
            yield from _repeated(scope, site)
        elif role_of(node.left) == "weights":
            yield from mistakes(partial(put, site), TURNED_WEIGHTS)
        yield from _other_products(scope, site)


def _is_named_otherwise(site: Site) -> bool:
    """Whether one factor alone is what other rules return, or project."""
    if role_of(site.node.left) == "weights":
        return isinstance(site.holder, ast.Return)
    return bool(role_of(site.node.right))


def _other_products(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """The factors in the other order, only one of them, or their products not added up."""
    make = partial(put, site)
    left = scope.phrase(site.node.left) or "the first factor"
    turned = transposed(site.node.right)
    right = scope.phrase(turned or site.node.right) or "the second factor"
    if right != left:
        key, group = TURNED if turned is not None else ("factors_exchanged.order", "")
        yield mistake(key, make("RIGHT @ LEFT"), group, one=left, other=right)
        if turned is not None or not _is_named_otherwise(site):
            key = "step_missing.product_of" if left.startswith("`") else "step_missing.product"
            yield mistake(key, make("LEFT"), one=left, other=right)
    if turned is not None:
        text = "LEFT.transpose(-2, -1) @ RIGHT.transpose(-2, -1)"
        yield mistake("wrong_axis.features", make(text), FEATURES)
        yield mistake("scale_extra.lengths", make(DIRECTIONS))
    elif role_of(site.node.left) != "weights":
        yield mistake("wrong_axis.products", make("(LEFT * RIGHT).sum(0)"))


def _repeated(scope: Scope, site: Site) -> Iterator[Rewrite]:
    left = scope.phrase(site.node.left) or "the vectors"
    right = scope.phrase(transposed(site.node.right)) or "the vectors"
    if left == right:
        return
    for text, what, other in (
        ("LEFT @ LEFT.transpose(-2, -1)", left, right),
        ("RIGHT.transpose(-2, -1) @ RIGHT", right, left),
    ):
        group = f"{what} for {other}".replace("the ", "")
        yield mistake("operand_repeated.compared", put(site, text), group, what=what)


def projections(scope: Scope) -> Iterator[Rewrite]:
    """One of queries, keys and values used for another, or the inputs for one of them."""
    if scope.is_constructor:
        return
    attributes = [site.node for site in scope.of(ast.Attribute)]
    shapes = {id(node.value) for node in attributes if node.attr == "shape"}
    turned = [node.value for node in attributes if node.attr in {"T", "mT"}]
    turned_matrices = {id(node) for node in turned if is_parameter(name_of(node))}
    tensors = {str(role): name for role, name in scope.by_role.items() if role in PROJECTIONS}
    names = (*scope.tensors, *scope.locals)
    roles = {name: role_of(ast.Name(name)) for name in names if is_parameter(name)}
    matrices = {role: name for name, role in roles.items() if role in PROJECTIONS}
    for site in scope.of(ast.Name):
        role = role_of(site.node)
        known = matrices if is_parameter(site.node.id) else tensors
        loaded = isinstance(site.node.ctx, ast.Load) and id(site.node) not in shapes
        if role not in known or not loaded:
            continue
        others = [(other, name) for other, name in known.items() if other != role]
        for other, name in others:
            if id(site.node) not in turned_matrices:  # such a step belongs to a backward pass
                edit = put(site, name)
                yield mistake(USED_FOR[role], edit, f"{other} for {role}", other=other)
        inputs = [name for name in scope.tensors if not role_of(ast.Name(name))]
        for name in inputs if known[role] not in scope.tensors else ():
            edit, group = put(site, name), f"inputs for {role}"
            yield mistake("projection_missing.inputs", edit, group, name=name, role=role)


def layers(scope: Scope) -> Iterator[Rewrite]:
    """A layer that is skipped or swapped with another one, or that gets the wrong input."""
    if scope.is_constructor or scope.owner is None:
        return
    uses = [site for site in scope.of(ast.Attribute) if ast.unparse(site.node.value) == "self"]
    found = [site for site in uses if role_of(site.node) in PROJECTIONS]
    yield from _numbered(scope, uses)
    for one, other in combinations(found, 2):
        roles = role_of(one.node), role_of(other.node)
        if roles[0] != roles[1]:
            edits = (put(one, "NEW", NEW=other.node), put(other, "NEW", NEW=one.node))
            yield _exchange(edits, *roles)
    for site in scope.of(ast.Call):
        call = site.node
        own = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self"
        if own and len(call.args) == 1 and "dropout" not in name_of(call.func).lower():
            role = role_of(call)
            name = name_of(call.func)
            key, group = "layer_unused.layer", ""
            if role in PROJECTIONS:
                key, group = "projection_missing.layer", f"inputs for {role}"
            yield mistake(key, put(site, "FIRST"), group, layer=name, role=role)


def written_out(scope: Scope) -> Iterator[Rewrite]:
    """Linear layers that are written out, without the bias or the transpose."""
    if scope.is_constructor or scope.owner is None:
        return
    calls = ((name, one) for name, one in attributes_of(scope.owner) if isinstance(one, ast.Call))
    made = {name: one for name, one in calls if name_of(one.func) == "Linear"}
    sites = [site for site in scope.of(ast.Call) if len(site.node.args) == 1]
    found = [(name_of(site.node.func), site) for site in sites if name_of(site.node.func) in made]
    biased = [(layer, site) for layer, site in found if not _has_no_bias(made[layer])]
    for layer, site in biased:
        yield mistake("layer_written_out.no_bias", put(site, NO_BIAS), layer=layer)
    edits = [put(site, NO_BIAS) for _, site in biased]
    if len(edits) > 1:
        yield mistake("layer_written_out.no_biases", edits)
    if found:
        yield mistake("layer_written_out.not_turned", [put(site, NOT_TURNED) for _, site in found])


def _has_no_bias(layer: ast.Call) -> bool:
    given = [one.value for one in layer.keywords if one.arg == "bias"]
    return any(getattr(one, "value", None) is False for one in given)


def _numbered(scope: Scope, uses: Sequence[Site]) -> Iterator[Rewrite]:
    """Layers whose names differ in their number only, swapped in one branch or in all."""
    branches = [part for site in scope.of(ast.If) for part in site.node.body]
    inside = {id(node) for part in branches for node in ast.walk(part)}
    first = [one for one in uses if id(one.node) in inside]
    rest = [one for one in uses if id(one.node) not in inside]
    for some in (uses, first, rest) if first and rest else (uses,):
        names = sorted({one.node.attr for one in some})
        for one, other in combinations(names, 2):
            if one.rstrip("0123456789") == other.rstrip("0123456789"):
                turned = {one: f"self.{other}", other: f"self.{one}"}
                found = [
                    (site, turned[site.node.attr]) for site in some if site.node.attr in turned
                ]
                edits = [put(site, text) for site, text in found]
                yield mistake("projection_exchanged.names", edits, one=one, other=other)


def _exchange(edits: Sequence[Edit], one: str, other: str) -> Rewrite:
    """Return the mistake of two projections that *edits* swap."""
    group = f"exchange {' '.join(sorted((one, other), reverse=True))}"
    if {one, other} == {"queries", "keys"}:
        return mistake("projection_exchanged.queries_and_keys", edits, group)
    return mistake("projection_exchanged.quantities", edits, group, one=one, other=other)


def other_inputs(scope: Scope) -> Iterator[Rewrite]:
    """Another argument goes into a step of a module."""
    tensors = [name for name in scope.tensors if name not in scope.optional]
    in_module = scope.owner is not None and not scope.is_constructor
    for site in scope.loads(*tensors) if in_module else ():
        right = site.node.id
        for name in (one for one in tensors if one != right):
            group = f"operand_repeated {name} {right}"
            edit = put(site, name)
            yield mistake("operand_repeated.argument", edit, group, name=name, right=right)


def inputs(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments that are swapped everywhere."""
    for one, other in combinations(scope.tensors, 2):
        sites = scope.loads(one, other)
        edits = [put(site, other if site.node.id == one else one) for site in sites]
        if {site.node.id for site in sites} == {one, other}:
            roles = [role_of(ast.Name(name)) for name in (one, other)]
            if all(roles):
                yield _exchange(edits, *roles)
            else:
                yield mistake("projection_exchanged.names", edits, one=one, other=other)


def call_arguments(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments that are swapped in one call."""
    for site in scope.of(ast.Call):
        if name_of(site.node.func) in PAIRED:
            continue  # other rules say what such calls mean
        for first in range(len(site.node.args) - 1):
            pair = site.node.args[first : first + 2]
            names = [one.id for one in pair if isinstance(one, ast.Name)]
            if len(names) == len(pair) and {*names} <= {*scope.arguments}:
                one, other = names
                edit = Edit(site, partial(swapped, first))
                yield mistake("arguments_exchanged.passed", edit, one=one, other=other)


def one_source(scope: Scope) -> Iterator[Rewrite]:
    """One argument that is used in place of all the others."""
    names = [name for name in scope.tensors if name not in scope.optional]
    sites = scope.loads(*names[1:])
    if len(names) > 1 and len({site.node.id for site in sites}) > 1:
        edits: list[Edit] = [put(site, names[0]) for site in sites]
        listed = " and ".join(f"`{name}`" for name in names[1:])
        yield mistake("operand_repeated.all", edits, name=names[0], names=listed)
