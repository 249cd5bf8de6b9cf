"""Makes slips of Python: a `return` in the wrong place, loops that skip a round."""

import ast
from collections.abc import Iterator

from autograder.diagnosis.mistakes.rewriting import (
    Edit,
    Rewrite,
    Scope,
    Site,
    leave_out,
    mistake,
    name_of,
    put,
    site_of,
)


def returns_in_loops(scope: Scope) -> Iterator[Rewrite]:
    """The last statement, a `return`, is indented into a loop before it."""
    last = scope.node.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return
    for site in scope.of((ast.For, ast.While)):
        end = next(one for one in scope.of(ast.Return) if one.node is last)
        yield mistake("return_in_loop", (_longer_loop(site, last), leave_out(end)))


def _longer_loop(site: Site, last: ast.Return) -> Edit:
    """Add the statement *last* to the loop at *site*."""

    def make(old: ast.For | ast.While) -> ast.For | ast.While:
        changed = {**dict(ast.iter_fields(old)), "body": [*old.body, last]}
        return ast.copy_location(type(old)(**changed), old)

    return Edit(site, make)


def skipped_rounds(scope: Scope) -> Iterator[Rewrite]:
    """A loop that is not over a range begins late or ends early."""
    for site in scope.of(ast.For):
        iterated = site.node.iter
        if not (isinstance(iterated, ast.Call) and name_of(iterated.func) == "range"):
            place = site_of(site, site.node, "iter")
            yield mistake("boundary.first_iteration", put(place, "list(OLD)[1:]"))
            yield mistake("boundary.last_iteration", put(place, "list(OLD)[:-1]"))
