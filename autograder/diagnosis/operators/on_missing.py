"""Steps that are left out, so that the code ends in an exception: values, axes, attributes."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.operators.on_softmax import SOFTMAX
from autograder.diagnosis.operators.rewrites import (
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
from autograder.diagnosis.operators.scopes import Scope
from autograder.diagnosis.operators.vocabulary import PROJECTIONS, role_of

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
        if not names & known and (said := _without_value(scope, site.node)):
            sentence = f"{said} is missing, comes later, or stores its result under another name."
            yield mistake("value_missing", leave_out(site), sentence)
        known |= names


def _without_value(scope: Scope, step: ast.Assign) -> str:
    """Say what does not exist without a step; nothing if no name says what it is."""
    role = role_of(step.targets[0])
    if getattr(step.targets[0], "id", "") == "exponentials":
        role = "exponentials"
    if role == "mask":
        return "The mask does not exist where it is used: the step that makes it"
    if role:
        return f"The {role} do not exist where they are used: the step that computes them"
    for node in ast.walk(step.value):
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            of = f" of {what}" if (what := scope.phrase(node.value)) else ""
            return f"A size{of} does not exist where it is used: the step that reads it"
    return ""


def axes(scope: Scope) -> Iterator[Rewrite]:
    """A softmax, or a sum that keeps its axis, without the axis."""
    for site in scope.calls(SOFTMAX):
        if scores := input_site(site):
            sentence = "The softmax does not get the axis along which it runs."
            yield mistake("axis_missing", put(site, "torch.softmax(X)", X=scores), sentence)
    for site in scope.calls(*SUMS):
        name, source = name_of(site.node.func), input_site(site)
        kept = option(site.node, "keepdim", 2) is not None
        if source and kept and option(site.node, "dim", 1) is not None:
            sentence = f"The {name} must keep its axis, but does not get which one it is."
            edit = put(site, f"X.{name}(keepdim=True)", X=source)
            yield mistake("axis_missing", edit, sentence)


def stored(scope: Scope) -> Iterator[Rewrite]:
    """Arguments of a constructor that the module does not keep."""
    for site in scope.of(ast.Assign) if scope.is_constructor else ():
        match site.node:
            case ast.Assign([ast.Attribute(ast.Name("self"))], ast.Name(name)):
                sentence = (
                    f"The module does not keep `{name}` under the name by which it is read later."
                )
                yield mistake("not_stored", leave_out(site), sentence)


def exchanged(scope: Scope) -> Iterator[Rewrite]:
    """Two arguments of torch's functions that are exchanged."""
    for site in scope.calls("masked_fill"):
        if len(site.node.args) > 1:
            sentence = "The mask and the number that fills hidden scores are exchanged."
            question = "Which of the two says where, and which one what?"
            edit = put(site, "OBJECT.masked_fill(SECOND, FIRST)")
            yield mistake("arguments_exchanged", edit, sentence, question)
    for site in scope.calls("register_buffer"):
        sentence = "The name and the tensor of a buffer are exchanged."
        question = "Which of the two says how the buffer is called?"
        edit = put(site, "FUNC(SECOND, FIRST)")
        yield mistake("arguments_exchanged", edit, sentence, question)


def conversions(scope: Scope) -> Iterator[Rewrite]:
    """An argument that is not made a tensor; a layer that is not called; results never stored."""
    for site in scope.of(ast.Assign):
        match site.node:
            case ast.Assign([ast.Name(name)], ast.Call(func)) if (
                name in scope.arguments and name_of(func) in CONVERSIONS
            ):
                sentence = f"`{name}` is used as it comes, but a list is no tensor."
                question = "Which types does the docstring allow, and which of them has operators?"
                yield mistake("step_missing", leave_out(site), sentence, question)
            case ast.Assign([ast.Subscript()]):
                sentence = "The result is never filled: it stays as it was made."
                yield mistake("step_missing", leave_out(site), sentence)
    for site in scope.of(ast.Call):
        layer = site.node.func
        own = isinstance(layer, ast.Attribute) and ast.unparse(layer.value) == "self"
        if own and role_of(site.node) in PROJECTIONS:
            sentence = (
                f"`{layer.attr}` is not called: the layer itself stands where "
                f"the {role_of(site.node)} must be."
            )
            yield mistake("step_missing", put(site, "FUNC"), sentence)


def without_gradients(scope: Scope) -> Iterator[Rewrite]:
    """Parameters that are overwritten where torch records gradients."""
    for site in scope.of(ast.With):
        sentence = "Parameters are overwritten while torch records gradients, which it refuses."
        question = "How does torch change a parameter outside of its graph?"
        yield mistake("in_place", _without_block(site), sentence, question)


def _without_block(site: Site) -> Edit:
    def make(old: ast.With) -> ast.stmt:
        new = statement("if True:\n    pass")
        new.body = old.body
        return new  # type: ignore[no-any-return]  # an if

    return Edit(site, make)


RULES = (values, axes, stored, exchanged, conversions, without_gradients)
