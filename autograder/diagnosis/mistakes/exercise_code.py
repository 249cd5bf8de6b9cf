"""Contains the code of an exercise as a syntax tree, and applies, compiles and undoes rewrites."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from difflib import SequenceMatcher
from types import CodeType
from typing import Any

from autograder.diagnosis.mistakes.rewriting import (
    FUNCTION,
    TENSOR,
    Edit,
    Rewrite,
    Scope,
    Site,
    block,
    leave_out,
)


class ExerciseCode:
    """The code of an exercise, and of the helpers that it calls, as a tree that rewrites change.

    *used* are the other exercises that it calls itself.
    """

    def __init__(self, solution: str, name: str, exercises: Sequence[str]) -> None:
        tree = ast.parse(solution)
        known = {item.name: item for item in tree.body if isinstance(item, FUNCTION | ast.ClassDef)}
        self.names, self.used = _reached(name, known, exercises)
        self.module = ast.Module([known[item] for item in self.names], [])
        _Bare().visit(self.module)
        self.scopes = tuple(_scopes(self.module))

    def edits_for(self, wrong: "ExerciseCode") -> tuple[Edit, ...]:
        """Return the edits that make the code *wrong* of this one; none if the helpers differ."""
        return tuple(_edits(self.module, wrong.module, 0)) if self.names == wrong.names else ()

    @contextmanager
    def applied(self, rewrites: Sequence[Rewrite]) -> Iterator[None]:
        """Apply the edits of *rewrites*, the innermost first; undo them at the end."""
        edits = [edit for one in rewrites for edit in one.edits]
        edits.sort(key=lambda edit: (-edit.site.depth, edit.inserts))
        done = []
        try:
            for edit in edits:
                old = edit.site.node
                done.append((edit.site, old))
                edit.site.put(edit.make(old))
            yield
        finally:
            for site, old in reversed(done):
                site.put(old)

    def compile(self, rewrites: Sequence[Rewrite], filename: str) -> CodeType:
        """Compile the code with *rewrites*; raises what ``compile`` raises."""
        with self.applied(rewrites):
            return compile(self.module, filename, "exec")

    def text(self, rewrites: Sequence[Rewrite]) -> str:
        """Return the source with *rewrites*."""
        with self.applied(rewrites):
            return ast.unparse(self.module)


def _reached(
    name: str, known: dict[str, Any], exercises: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """List *name* after the helpers that it calls, and the other exercises that they use."""
    found, used = [name], list[str]()
    for one in found:
        for node in ast.walk(known[one]):
            if isinstance(node, ast.Name) and node.id in known and node.id not in found:
                (used if node.id in exercises else found).append(node.id)
    return found[::-1], tuple(dict.fromkeys(used))


class _Bare(ast.NodeTransformer):
    """Removes docstrings and annotations, which cost time to compile; keeps what is a tensor."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.type_comment = ast.unparse(node.annotation) if node.annotation else TENSOR
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: FUNCTION) -> FUNCTION:  # the name that ast calls
        node.returns = None
        return self.visit_ClassDef(node)  # type: ignore[return-value,arg-type]  # both have a body

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:  # also the name that ast calls
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass(lineno=node.lineno, col_offset=0)]
        self.generic_visit(node)
        return node


def _edits(old: Any, new: Any, depth: int) -> Iterator[Edit]:
    """Yield the edits of the smallest places in which the tree *old* differs from *new*."""
    for key, mine in ast.iter_fields(old):
        theirs = getattr(new, key)
        if isinstance(mine, list):
            yield from _edits_of_list(mine, theirs, depth)
        elif isinstance(mine, ast.AST):
            yield from _edits_at(Site(old, key, depth), theirs)


def _edits_at(site: Site, new: Any) -> Iterator[Edit]:
    if _same_around(site.node, new):
        yield from _edits(site.node, new, site.depth + 1)
    else:
        yield _instead([site], new)


def _same_around(old: Any, new: Any) -> bool:
    """Whether two nodes differ only in the nodes below them, or in statements."""
    if type(old) is not type(new):
        return False
    pairs = [(value, getattr(new, key)) for key, value in ast.iter_fields(old)]
    return all(
        (isinstance(mine, ast.AST) and isinstance(theirs, ast.AST))
        or (isinstance(mine, list) and _alignable(mine, theirs))
        or mine == theirs
        for mine, theirs in pairs
    )


def _alignable(mine: list[Any], theirs: list[Any]) -> bool:
    """Whether two lists have the same length, or contain statements."""
    are_statements = bool(mine and theirs) and isinstance(mine[0], ast.stmt)
    same = len(mine) == len(theirs) and all(isinstance(one, ast.AST) for one in (*mine, *theirs))
    return are_statements or same or mine == theirs


def _edits_of_list(mine: list[Any], theirs: list[Any], depth: int) -> Iterator[Edit]:
    """Yield the edits of the entries that differ; of statements, there may be more or fewer."""
    if not (mine and isinstance(mine[0], ast.stmt)):
        for index, one in enumerate(theirs):
            if isinstance(one, ast.AST):
                yield from _edits_at(Site(mine, index, depth), one)
        return
    before, after = ([ast.dump(one) for one in some] for some in (mine, theirs))
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for _, start, end, new, new_end in (one for one in changes if one[0] != "equal"):
        if end - start == new_end - new:
            for index in range(end - start):
                yield from _edits_at(Site(mine, start + index, depth), theirs[new + index])
        elif start == end:
            yield _insertion(mine, start, theirs[new:new_end], depth)
        else:
            old = [Site(mine, index, depth) for index in range(start, end)]
            yield _instead(old, block(theirs[new:new_end]))
            yield from map(leave_out, old[1:])


def _instead(old: Sequence[Site], new: ast.AST) -> Edit:
    """Return the edit that puts *new* in the place of the first of *old*.

    The parts of *old* that *new* contains, too, are those which other edits have made by then.
    """
    places, parts = _by_text(old), _by_text([Site([new], 0, 0)])
    kept = {
        id(part.node): place
        for text, some in parts.items()
        if len(some) == len(places[text])
        for part, place in zip(some, places[text], strict=True)
    }
    return Edit(old[0], lambda _old: _keeping(kept, new))


def _by_text(sites: Sequence[Site]) -> Mapping[str, list[Site]]:
    """Return the expressions and statements at and below *sites*, by what they say."""
    found = defaultdict[str, list[Site]](list)
    for site in sites:
        for one in (site, *_sites(site.node, site.depth + 1)):
            if isinstance(one.node, ast.expr | ast.stmt):
                found[ast.dump(one.node)].append(one)
    return found


def _keeping(kept: Mapping[int, Site], node: Any) -> Any:
    """Return a copy of *node* in which the nodes *kept* are those that are at their places now."""
    if id(node) in kept:
        return kept[id(node)].node
    if isinstance(node, list):
        return [_keeping(kept, one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    made = copy(node)
    for key, value in ast.iter_fields(node):
        setattr(made, key, _keeping(kept, value))
    return made


def _insertion(holder: list[Any], place: int, new: list[Any], depth: int) -> Edit:
    """Return the edit that runs the statements *new* before *place*, or at the end."""
    if place < len(holder):
        return Edit(Site(holder, place, depth), lambda old: block([*new, old]), inserts=True)
    return Edit(Site(holder, place - 1, depth), lambda old: block([old, *new]), inserts=True)


def _scopes(module: ast.Module) -> Iterator[Scope]:
    for item in module.body:
        if isinstance(item, FUNCTION):
            yield Scope(item, list(_sites(item, 1)), None)
        elif isinstance(item, ast.ClassDef):
            functions = [node for node in item.body if isinstance(node, FUNCTION)]
            methods = [Scope(node, list(_sites(node, 2)), item) for node in functions]
            for method in methods:
                method.methods = methods
            yield from methods


def _sites(node: ast.AST, depth: int) -> Iterator[Site]:
    """Yield every place below *node*, in the order of the source."""
    for key, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield Site(node, key, depth)
            yield from _sites(value, depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield Site(value, index, depth)
                    yield from _sites(item, depth + 1)
