"""Lists the known mistakes in the exercises of a stage, and the exercises that may contain them."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from autograder.course import Stage
from autograder.diagnosis.contract import Contract, contract_of
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.mistakes import masks
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.kinds import wording
from autograder.diagnosis.mistakes.rewriting import Rewrite
from autograder.diagnosis.mistakes.rules import RULES
from autograder.diagnosis.student_code import StudentCode, name_of

MAX_WITHIN: Final = 300  # programs; code rarely writes out an exercise in which more mistakes fit
Words = Mapping[str, tuple[str, str] | None]


class ExerciseMistakes(NamedTuple):
    """The code of one exercise of the solution, and the known mistakes in it.

    *calling* is that version which calls most other exercises, and *text* is its module: the
    solution or a variant.
    """

    name: str
    code: ExerciseCode
    calling: ExerciseCode
    text: str
    rewrites: tuple[Rewrite, ...]
    written: tuple[Misconception, ...]

    @property
    def is_class(self) -> bool:
        """Whether the exercise is a class."""
        return isinstance(self.code.module.body[-1], ast.ClassDef)


class StageMistakes:
    """The known mistakes in the exercises of one stage; *bank* are its misconceptions."""

    def __init__(self, stage: Stage, words: Words, bank: Sequence[Misconception] = ()) -> None:
        self.text = stage.solution.read_text("utf-8")
        self.names = [one.name for one in stage.exercises]
        self._source = StudentCode((self.text.encode(),), ())
        self._variants = [_defined(path.read_text("utf-8")) for path in stage.variants]
        self._words = words
        self._bank = bank
        self._known: dict[str, ExerciseMistakes] = {}
        self._calls: dict[str, ExerciseMistakes] = {}

    def of(self, exercise: str) -> ExerciseMistakes:
        """Return the mistakes in *exercise*, which are found once."""
        if exercise not in self._known:
            code = ExerciseCode(self.text, exercise, self.names)
            written = tuple(one for one in self._bank if one.exercise == exercise)
            rewrites = tuple(rewrites_of(code, self._words))
            calling, text = self._calling(code)
            known = ExerciseMistakes(exercise, code, calling, text, rewrites, written)
            self._known[exercise] = known
        return self._known[exercise]

    def in_calling(self, exercise: str) -> ExerciseMistakes:
        """Return the mistakes in that version of *exercise* which calls most others."""
        known = self.of(exercise)
        if known.calling is known.code:
            return known
        if exercise not in self._calls:
            rewrites = tuple(rewrites_of(known.calling, self._words))
            written = tuple(one for one in known.written if one.swaps and one.fits(known.text))
            found = known._replace(code=known.calling, rewrites=rewrites, written=written)
            self._calls[exercise] = found
        return self._calls[exercise]

    def within(self, exercise: str, *, calling: bool = False) -> list[ExerciseMistakes]:
        """List the mistakes in *exercise*, then those in the exercises that it can call.

        With *calling*, the code of *exercise* is that version of it which calls most others. The
        parts of a class that it uses do not count: code that writes out a class calls these.
        """
        found = [exercise]
        for name in found:  # the loop extends the list
            if name == exercise or not self.of(name).is_class:
                every = (*self.of(name).calling.used, *self._given(name))
                used = (one for one in dict.fromkeys(every) if one not in found)
                found += [one for one in used if len(self.of(one).rewrites) <= MAX_WITHIN]
        own = self.in_calling(exercise) if calling else self.of(exercise)
        return [own, *map(self.of, found[1:])]

    def _given(self, exercise: str) -> Iterator[str]:
        """Yield the earlier exercises of which *exercise* gets a module, as its docstring says."""
        node = self._source.definitions[exercise][-1]
        takes_modules = any(
            isinstance(one, ast.arg) and one.annotation and name_of(one.annotation) == "Module"
            for one in ast.walk(node)
        )
        text = ast.get_docstring(node) or "" if takes_modules else ""
        earlier = self.names[: self.names.index(exercise)]
        yield from (one for one in earlier if f"``{one}``" in text and self.of(one).is_class)

    def names_within(self, exercise: str) -> list[str]:
        """List the names of *exercise* and of the exercises that it can call."""
        return [one.name for one in self.within(exercise)]

    def contract(self, exercise: str) -> Contract:
        """Return what the stub prescribes for *exercise*."""
        given = {*self._given(exercise)}
        within = [one for one in self.names_within(exercise) if one not in given]
        return contract_of(self._source, exercise, within)

    def callers(self, exercise: str, changed: str) -> ast.Module:
        """Return definitions of *exercise* and of those through which it calls *changed*.

        They are from one module, unless only another one calls *changed*.
        """
        whole = [one for one in self.within(exercise) if one.name != changed]
        through = [one for one in whole if changed in self.names_within(one.name)]
        text = self.of(exercise).text
        found = []
        for one in reversed(through):
            same = ExerciseCode(text, one.name, self.names) if one.text != text else one.calling
            reached = [each for name in same.used for each in self.names_within(name)]
            found.append(same if changed in reached else one.calling)
        return ast.Module([node for code in found for node in code.module.body], [])

    def _calling(self, code: ExerciseCode) -> tuple[ExerciseCode, str]:
        name, place = code.names[-1], self.names.index(code.names[-1])
        earlier = set(self.names[:place])  # so that there is no cycle
        texts = (text for text, defined in self._variants if name in defined)
        every = [(code, self.text)]
        every += [(ExerciseCode(text, name, self.names), text) for text in texts]
        usable = [one for one in every if earlier.issuperset(one[0].used)]
        return max(usable or every[:1], key=lambda one: len(one[0].used))


def _defined(text: str) -> tuple[str, set[str]]:
    """Return the *text* of a variant, and the names that it defines; none if it is not Python."""
    try:
        return text, {getattr(node, "name", "") for node in ast.parse(text).body}
    except SyntaxError:
        return text, set()


def rewrites_of(exercise: ExerciseCode, words: Words) -> list[Rewrite]:
    """List the mistakes that fit the code of *exercise*, as the stage words them."""
    found = []
    for scope in exercise.scopes:
        for rewrite in sorted((one for rule in RULES for one in rule(scope)), key=_line):
            said = wording(rewrite.kind, words)
            if said is None:
                continue
            if rewrite.kind in words:
                rewrite = rewrite._replace(said=said)  # noqa: PLW2901  # the same mistake in other words
            found += [rewrite, *masks.with_large_fills(scope, rewrite)]
    return found


def _line(rewrite: Rewrite) -> int:
    """Return the first line that *rewrite* changes: the first line is fixed first."""
    return min(getattr(edit.site.node, "lineno", 0) for edit in rewrite.edits)
