"""Makes mistakes in losses, training steps and what a module keeps between two calls."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.mistakes.rewriting import (
    Rewrite,
    Scope,
    before,
    input_site,
    leave_out,
    mistake,
    name_of,
    option,
    put,
    site_of,
)
from autograder.diagnosis.mistakes.vocabulary import CACHE, role_of

COUNTS = ("len", "numel", "size")  # calls that say how many there are
ACCUMULATED = "(FIRST.backward(), [p.grad for p in SECOND])[1]"  # nothing clears what is there


def kept_gradients(scope: Scope) -> Iterator[Rewrite]:
    """Gradients of earlier steps that are not cleared before the next ones are added."""
    for site in scope.of((ast.Expr, ast.Assign)):
        match site.node:
            case ast.Expr(ast.Call(ast.Attribute(_, "zero_grad"))):
                yield mistake("state_kept.gradients", leave_out(site))
            case ast.Expr(ast.Call(ast.Attribute(ast.Attribute(_, "grad"), "zero_"))):
                yield mistake("state_kept.gradients", leave_out(site))
            case ast.Assign([ast.Attribute(_, "grad")], ast.Constant(None)):
                yield mistake("state_kept.gradients", leave_out(site))
    for site in scope.calls("grad"):
        if len(site.node.args) > 1:
            yield mistake("state_kept.gradients", put(site, ACCUMULATED))


def kept_caches(scope: Scope) -> Iterator[Rewrite]:
    """A cache that a module keeps in itself, so that the next text begins with the last one."""
    caches = [name for name in scope.optional if role_of(ast.Name(name)) == CACHE]
    results = [site for site in scope.of(ast.Return) if isinstance(site.node.value, ast.Tuple)]
    if scope.owner is None or not caches or not results:
        return
    name = caches[0]
    used = f"{name} = self.__dict__.get('kept') if {name} is None else {name}"
    stored = [
        put(site_of(site, site.node.value.elts, 1), "self.__dict__.update(kept=OLD) or OLD")
        for site in results
        if len(site.node.value.elts) > 1
    ]
    yield mistake("state_kept.cache", (before(scope.start, used), *stored))


def means(scope: Scope) -> Iterator[Rewrite]:
    """A sum that is not divided by the number of its terms, or a mean that is not taken."""
    for site in scope.of(ast.BinOp):
        if isinstance(site.node.op, ast.Div) and _is_count(scope, site.node.right):
            yield mistake("mean_forgotten", put(site, "LEFT"))
    for site in scope.of(ast.AugAssign):
        if isinstance(site.node.op, ast.Div) and _is_count(scope, site.node.value):
            yield mistake("mean_forgotten", leave_out(site))
    for site in scope.calls("mean"):
        source = input_site(site)
        if source and option(site.node, "dim", 1) is None:
            yield mistake("mean_forgotten.single", put(site, "X", X=source))


def _is_count(scope: Scope, node: ast.expr) -> bool:
    """Whether *node* says how many tokens, items or entries there are."""
    match node:
        case ast.Name(name):
            return name in scope.locals and _is_count(scope, scope.locals[name])
        case ast.Subscript(value):
            return name_of(value) == "shape"
        case ast.Call(func):
            return name_of(func) in COUNTS
    return False
