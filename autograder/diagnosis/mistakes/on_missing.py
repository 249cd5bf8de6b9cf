"""Steps that are left out, so that the code ends in an exception: values, axes, attributes."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.mistakes.on_softmax import SOFTMAX
from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Site,
    input_site,
    leave_out,
    mistake,
    name_of,
    option,
    put,
    statement,
)
from autograder.diagnosis.mistakes.scopes import Scope
from autograder.diagnosis.mistakes.vocabulary import PROJECTIONS, role_of

CONVERSIONS = ("as_tensor", "tensor", "stack")
SUMS = ("sum", "mean")  # a maximum may keep all axes


def values(scope: Scope) -> Iterator[Rewrite]:
    """Steps without which a later one finds no value."""
    known = set(scope.arguments)
    for site in scope.of(ast.Assign):
        target = site.node.targets[0]
        if not isinstance(target, ast.Name | ast.Tuple):
            continue
        names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        if not names & known:
            yield from _without(scope, site)
        known |= names


def _without(scope: Scope, site: Site) -> Iterator[Rewrite]:
    """The step at *site* is left out, if a name says what does not exist then."""
    step, edit = site.node, leave_out(site)
    role = role_of(step.targets[0])
    if getattr(step.targets[0], "id", "") == "exponentials":
        role = "exponentials"
    shapes = [
        node
        for node in ast.walk(step.value)
        if isinstance(node, ast.Attribute) and node.attr == "shape"
    ]
    if role == "mask":
        yield mistake("value_missing.mask", edit)
    elif role:
        yield mistake("value_missing.quantity", edit, role=role)
    elif shapes:
        what = scope.phrase(shapes[0].value)
        yield mistake("value_missing.size", edit, of=f" of {what}" if what else "")


def axes(scope: Scope) -> Iterator[Rewrite]:
    """A softmax, or a sum that keeps its axis, without the axis."""
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            yield mistake("axis_missing.softmax", put(site, "torch.softmax(X)", X=scores))
    for site in scope.calls(*SUMS):
        name, source = name_of(site.node.func), input_site(site)
        kept = option(site.node, "keepdim", 2) is not None
        if source and kept and option(site.node, "dim", 1) is not None:
            edit = put(site, f"X.{name}(keepdim=True)", X=source)
            yield mistake("axis_missing.kept", edit, what=name)


def stored(scope: Scope) -> Iterator[Rewrite]:
    """Arguments of a constructor that the module does not keep."""
    for site in scope.of(ast.Assign) if scope.is_constructor else ():
        match site.node:
            case ast.Assign([ast.Attribute(ast.Name("self"))], ast.Name(name)):
                yield mistake("not_stored.argument", leave_out(site), name=name)


def exchanged(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments of torch's functions that are exchanged."""
    for site in scope.calls("masked_fill"):
        if len(site.node.args) > 1:
            edit = put(site, "OBJECT.masked_fill(SECOND, FIRST)")
            yield mistake("arguments_exchanged.masked_fill", edit)
    for site in scope.calls("register_buffer"):
        yield mistake("arguments_exchanged.buffer", put(site, "FUNC(SECOND, FIRST)"))


def conversions(scope: Scope) -> Iterator[Rewrite]:
    """An argument that is not made a tensor; a layer that is not called; results never stored."""
    for site in scope.of(ast.Assign):
        match site.node:
            case ast.Assign([ast.Name(name)], ast.Call(func)) if (
                name in scope.arguments and name_of(func) in CONVERSIONS
            ):
                yield mistake("step_missing.conversion", leave_out(site), name=name)
            case ast.Assign([ast.Subscript()]):
                yield mistake("step_missing.never_filled", leave_out(site))
    for site in scope.of(ast.Call):
        layer = site.node.func
        own = isinstance(layer, ast.Attribute) and ast.unparse(layer.value) == "self"
        if own and role_of(site.node) in PROJECTIONS:
            words = {"layer": layer.attr, "role": role_of(site.node)}
            yield mistake("step_missing.layer_call", put(site, "FUNC"), **words)


def without_gradients(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are overwritten where torch records gradients."""
    for site in scope.of(ast.With):
        yield mistake("in_place.parameters", _without_block(site))


def _without_block(site: Site) -> Edit:
    def make(old: ast.With) -> ast.stmt:
        new = statement("if True:\n    pass")
        new.body = old.body
        return new  # type: ignore[no-any-return]  # an if

    return Edit(site, make)


RULES = (values, axes, stored, exchanged, conversions, without_gradients)
