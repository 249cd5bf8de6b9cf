"""Finds small mistakes that a stage's hidden suite does not catch.

A mutant is a copy of the solution with one small change in a solution region: a different operator,
constant, comparison, argument, name or statement. The stage's ``equivalents.toml`` lists mutants
that behave like the solution, with the reason.
"""

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from difflib import unified_diff
from typing import Any, Literal, NamedTuple

import msgspec

from autograder.authoring import stubs
from autograder.course import Course, Stage
from autograder.course_file import read_toml
from autograder.errors import GraderError
from autograder.grading.grade import grade
from autograder.submission import Code, Submission

EQUIVALENTS = "equivalents.toml"

OPERATORS: dict[type[ast.AST], tuple[type[Any], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
CYCLES = (  # each name is replaced by the next one of its group, and the last by the first
    "tril triu, ones zeros, rand randn, sum mean, "
    "W_q W_k W_v, W_query W_key W_value, query key value, queries keys values"
)
NAMES = {"max": "min", "amax": "amin", "softmax": "log_softmax", "mT": "T"} | {
    name: following
    for names in map(str.split, CYCLES.split(","))
    for name, following in zip(names, [*names[1:], names[0]], strict=True)
}


class Mutant(NamedTuple):
    """A module with one small change: the changed line before and after, and the module's text."""

    was: str
    becomes: str
    line: int
    text: str

    @property
    def label(self) -> str:
        """The change in one line."""
        return f"{self.was}  →  {self.becomes}"


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that still meets the requirements of the exercise, with the reason."""

    was: str
    becomes: str
    reason: str


class EquivalentsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of ``equivalents.toml``."""

    format_version: Literal[1]
    equivalent: tuple[Equivalent, ...] = ()


class MutationReport(NamedTuple):
    """The result of grading all mutants of a stage's solution with its hidden suite."""

    stage: str
    killed: int
    equivalent: tuple[Mutant, ...]  # survived, and listed in equivalents.toml
    survived: tuple[Mutant, ...]
    unneeded: tuple[Equivalent, ...]  # listed, but killed or no longer generated

    @property
    def share(self) -> float:
        """The share of killed mutants among those that are not equivalent."""
        real = self.killed + len(self.survived)
        return self.killed / real if real else 1.0


def mutate_stage(course: Course, stage: Stage) -> MutationReport:
    """Grade every mutant of the stage's solution."""
    generated = list(mutants(stage.solution.read_text("utf-8"), str(stage.solution)))
    survivors = _survivors(course, stage, generated)
    path = stage.hidden / EQUIVALENTS
    listed = read_toml(path, EquivalentsFile).equivalent if path.is_file() else ()
    known = {(item.was, item.becomes) for item in listed}  # like the first two fields of a mutant
    equivalent = tuple(mutant for mutant in survivors if mutant[:2] in known)
    survived = tuple(mutant for mutant in survivors if mutant[:2] not in known)
    needed = {mutant[:2] for mutant in equivalent}
    unneeded = tuple(item for item in listed if (item.was, item.becomes) not in needed)
    killed = len(generated) - len(survivors)
    return MutationReport(stage.name, killed, equivalent, survived, unneeded)


def _survivors(course: Course, stage: Stage, generated: Sequence[Mutant]) -> list[Mutant]:
    submissions = []
    for number, mutant in enumerate(generated):
        code = Code(kind="module", cells=(mutant.text.encode(),), label=stage.solution.name)
        submissions.append(Submission(student=f"mutant {number}", stage=stage.name, code=code))
    results = grade(course, submissions, diagnose=False).submissions
    for result in results:
        if result.score is None:
            msg = f"{stage.name}, {result.student}: {result.message}"
            raise GraderError(msg)
    pairs = zip(generated, results, strict=True)
    return [mutant for mutant, result in pairs if result.score == result.max_score]


def mutants(solution: str, name: str) -> Iterator[Mutant]:
    """Yield every different mutant of *solution*."""
    regions = [range(region.first, region.last + 1) for region in stubs.regions(solution, name)]
    yield from mutants_in(solution, regions)


def mutants_in(module: str, regions: Sequence[range]) -> Iterator[Mutant]:
    """Yield every mutant of *module* with a change in one of *regions*, ranges of lines from 1."""
    statements = [ast.Module([statement], []) for statement in ast.parse(module).body]
    pieces = [ast.unparse(statement) for statement in statements]
    for index, statement in enumerate(statements):
        seen = {pieces[index]}
        for line, piece in _changed(statement, regions):
            if piece not in seen and _parses(piece):
                seen.add(piece)
                was, becomes = _changed_lines(pieces[index], piece)
                text = "\n".join([*pieces[:index], piece, *pieces[index + 1 :]])
                yield Mutant(was, becomes, line, text)


def _changed(statement: ast.Module, regions: Sequence[range]) -> Iterator[tuple[int, str]]:
    """Yield the text of *statement* after each change within *regions*, and the changed line."""
    for node in ast.walk(statement):
        line = getattr(node, "lineno", 0)
        if any(line in region for region in regions):
            for replacement in (new for change in CHANGES for new in change(node)):
                # The memo of `deepcopy` puts the replacement in place of the node.
                yield line, ast.unparse(deepcopy(statement, {id(node): replacement}))


def _changed_lines(before: str, after: str) -> tuple[str, str]:
    diff = [*unified_diff(before.splitlines(), after.splitlines(), n=0)][2:]  # after two headings
    removed = " ".join(row[1:].strip() for row in diff if row[0] == "-")
    added = " ".join(row[1:].strip() for row in diff if row[0] == "+")
    return removed, added


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _operator(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(left, operator, right):
            for other in OPERATORS.get(type(operator), ()):
                yield ast.BinOp(left, other(), right)
            if isinstance(operator, ast.MatMult):
                yield ast.BinOp(right, operator, left)
            yield left
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Compare(left, [operator], comparators):
            for other in OPERATORS.get(type(operator), ()):
                yield ast.Compare(left, [other()], comparators)
        case ast.BoolOp(_, values):
            yield from values
        case ast.IfExp(_, body, orelse):
            yield from (body, orelse)


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
            if value:
                yield ast.Constant(value - 1)
        case ast.Constant(float(value)):
            yield ast.Constant(value * 2 or 1.0)
        case ast.Constant("-inf"):
            yield from (ast.Constant("inf"), ast.Constant("0"))


def _argument(node: ast.AST) -> Iterator[ast.AST]:
    """Yield calls with one keyword argument omitted or two positional ones swapped."""
    if not isinstance(node, ast.Call):
        return
    for skipped in node.keywords:
        kept = [keyword for keyword in node.keywords if keyword is not skipped]
        yield ast.Call(node.func, node.args, kept)
    for first in range(len(node.args) - 1):
        args = list(node.args)
        args[first], args[first + 1] = args[first + 1], args[first]
        yield ast.Call(node.func, args, node.keywords)


def _name(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Attribute(value, name, context):
            if name in NAMES:
                yield ast.Attribute(value, NAMES[name], context)
            if name in {"T", "mT"}:
                yield value
        case ast.Name(name, ast.Load() as context) if name in NAMES:
            yield ast.Name(NAMES[name], context)
        case ast.Call(ast.Attribute(value)):
            yield value  # removes a method call: x.transpose(...) becomes x


def _statement(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If | ast.Raise):
        yield ast.Pass()
    match node:
        case ast.If(test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
            yield ast.If(ast.Constant(value=True), body, orelse)
        case ast.With(_, body):
            yield ast.If(ast.Constant(value=True), body, [])
        case ast.Return(ast.AST()):
            yield ast.Return(None)


CHANGES = (_operator, _constant, _argument, _name, _statement)
