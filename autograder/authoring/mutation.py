"""Finds small mistakes that a stage's hidden suite does not catch.

A mutant is a copy of the solution with one small change in a solution region: a different operator,
constant, comparison, argument, name or statement. The stage's ``equivalents.toml`` lists mutants
that behave like the solution, with the reason.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from difflib import unified_diff
from typing import Any, Literal, NamedTuple

import msgspec

from autograder.authoring import stubs
from autograder.course import Course, Stage
from autograder.course_file import read_toml
from autograder.diagnosis.student_code import StudentCode
from autograder.errors import GraderError
from autograder.grading.grade import grade
from autograder.submission import Code, Submission
from autograder.submission.notebook import lines_of, lines_of_node

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

_COMPOUND = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.UnaryOp)
_KEPT = re.compile(r"kept_\d+_")
# Nobody writes `(x)` or `-0`, so a learner would see at once what has been changed.
_GIVEN_AWAY = re.compile(r"(?<![\w)\]])\([\w.]+\)|-0\b(?!\.)")


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
    """Grade every mutant of the stage's solution, except in copies, which give no points."""
    solution = stage.solution.read_text("utf-8")
    copies = _copies(stage, solution)
    generated = [one for one in mutants(solution, str(stage.solution)) if one.line not in copies]
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


def _copies(stage: Stage, solution: str) -> set[int]:
    """Return the lines of copied exercises, and of the helpers that only these use."""
    code = StudentCode((solution.encode(),), [one.name for one in stage.exercises])
    copied, own = set[int](), set[int]()
    for one in stage.exercises:
        for node in code.written(one.name).definitions:
            first, last = lines_of_node(node)
            (copied if one.copied_from else own).update(range(first, last + 1))
    return copied - own


def _survivors(course: Course, stage: Stage, generated: Sequence[Mutant]) -> list[Mutant]:
    submissions = []
    for number, mutant in enumerate(generated):
        code = Code(kind="module", cells=(mutant.text.encode(),), label=stage.solution.name)
        submissions.append(Submission(student=f"mutant {number}", stage=stage.name, code=code))
    results = grade(course, submissions, diagnose=False).submissions
    for result in results:
        if result.score is None:
            raise GraderError(f"{stage.name}, {result.student}: {result.message}")
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
        for node, replacement in _replacements(statement, regions):
            # The memo of `deepcopy` puts the replacement in place of the node.
            piece = ast.unparse(deepcopy(statement, {id(node): replacement}))
            if piece not in seen and _dumped(piece):
                seen.add(piece)
                was, becomes = _changed_lines(pieces[index], piece)
                text = "\n".join([*pieces[:index], piece, *pieces[index + 1 :]])
                yield Mutant(was, becomes, node.lineno, text)


def edits_in(module: str, regions: Sequence[range]) -> Iterator[tuple[str, str]]:
    """Yield changes of one line of *module* within *regions*: the line before and after, the text.

    All other lines, and the rest of the line, stay as they are. A change that can't be written into
    one line, or that its form gives away, is left out.
    """
    lines = lines_of(module)
    for statement in ast.parse(module).body:
        first, last = lines_of_node(statement)
        unchanged = ast.dump(statement)
        for node, replacement in _replacements(statement, regions):
            number = node.lineno
            if number != node.end_lineno or isinstance(replacement, ast.Pass):
                continue
            wanted = ast.dump(deepcopy(statement, {id(node): replacement}))
            for row in _rows(lines[number - 1], node, replacement) if wanted != unchanged else ():
                new = [*lines[: number - 1], row, *lines[number:]]
                if _dumped("".join(new[first - 1 : last])) == wanted:
                    yield f"{lines[number - 1].strip()}  →  {row.strip()}", "".join(new)
                    break


def _replacements(
    statement: ast.AST, regions: Sequence[range]
) -> Iterator[tuple[ast.stmt | ast.expr, ast.AST]]:
    """Yield each part of *statement* that begins in *regions*, and what replaces it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr) and any(node.lineno in one for one in regions):
            yield from ((node, new) for change in CHANGES for new in change(node))


def _rows(line: str, node: ast.stmt | ast.expr, replacement: ast.AST) -> Iterator[str]:
    """Yield the ways to write *replacement* in place of *node* in *line*.

    The parts of *node* that stay are written as before, in parentheses if they need them.
    """
    row = line.encode()
    start, end = node.col_offset, node.end_col_offset
    parts = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
    names = {id(part): f"kept_{index}_" for index, part in enumerate(parts)}
    copied = deepcopy(replacement, {key: ast.Name(name) for key, name in names.items()})
    text = ast.unparse(ast.fix_missing_locations(copied))
    own = {names[id(part)]: (_written(row, part, node), part) for part in parts}
    tight = text.replace(" ", "") if b" " not in row[start:end] else text
    for form in dict.fromkeys((tight, text, f"({text})")):
        for compound in ((), _COMPOUND):
            filled = _KEPT.sub(lambda found: _shown(*own[found[0]], compound), form)  # noqa: B023  # called at once
            new = (row[:start] + filled.encode() + row[end:]).decode()
            if len(_GIVEN_AWAY.findall(new)) <= len(_GIVEN_AWAY.findall(line)):
                yield new


def _written(row: bytes, part: ast.expr, node: ast.AST) -> str:
    """Return the text of *part* in *row*, with its parentheses if it is an operand of *node*."""
    start, end = part.col_offset, part.end_col_offset or 0
    is_operand = part is not node and isinstance(part, _COMPOUND) and isinstance(node, _COMPOUND)
    if is_operand and row[start - 1 : start] == b"(" and row[end : end + 1] == b")":
        start, end = start - 1, end + 1
    return row[start:end].decode()


def _shown(text: str, part: ast.expr, compound: tuple[type[ast.expr], ...]) -> str:
    return f"({text})" if isinstance(part, compound) and not text.startswith("(") else text


def _dumped(text: str) -> str:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    return ast.dump(body[0]) if len(body) == 1 else ""


def _changed_lines(before: str, after: str) -> tuple[str, str]:
    diff = [*unified_diff(before.splitlines(), after.splitlines(), n=0)][2:]  # after two headings
    removed = " ".join(row[1:].strip() for row in diff if row[0] == "-")
    added = " ".join(row[1:].strip() for row in diff if row[0] == "+")
    return removed, added


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
