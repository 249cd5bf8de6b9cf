"""Defines the results of grading and their JSON form, ``results.json``.

``docs/results.md`` describes the format for authors of exporters. Every record bounds and sanitizes
its texts when it is created, changed or read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, Literal

import msgspec
from msgspec.structs import force_setattr, replace

from autograder.sanitize import (
    MAX_DIGITS,
    MAX_FILE_NAME,
    MAX_SENTENCE,
    MAX_WORD,
    digits,
    identifier,
    last_lines,
    line,
    lines,
    listed,
)

FORMAT_VERSION: Final = 1
MAX_NOTICES: Final = 20
MAX_IGNORED: Final = 51  # 50 names and the number of further ones
MAX_LIMITS: Final = 50  # five times the present number of limits
MAX_SIDE: Final = 8  # rows and columns of a grid
MAX_TITLES: Final = 1200  # characters; the title of several mistakes is "Either: ... Or: ..."
MAX_TITLE: Final = 80  # characters, one line of a terminal; a longer sentence is cut after a clause
_PIECE_END: Final = re.compile(r"\.\s+")
_LEADS: Final = re.compile(r"^(?:Same error as: |Two mistakes: |Either: |Or: )+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_CLAUSE_END: Final = re.compile(
    r"[;:] |, (?:although|and|as|because|but|for|instead|not|or|so|where|which|whose) "
)


LATE: Final = "Canvas marks this submission as late."  # a notice


class FlagKind(StrEnum):
    """Names what an instructor should look at in a submission, in addition to its points."""

    UNCLEAR_CODE = "unclear-code"  # the source does not show which functions run
    REFUSED = "refused"  # the code tried what the sandbox refuses
    NO_PACKAGE = "no-package"  # a package is not installed here
    NOT_VALID = "not-valid"  # a statement is not valid for this Python, perhaps for a newer one
    NO_MODULE = "no-module"  # a lab was submitted in place of its module
    SEVERAL_FILES = "several-files"  # one of several files was graded
    UNCLEAR_ANSWERS = "unclear-answers"  # a person must look for the written answers
    NO_LAB = "no-lab"  # the written answers count as missing; the class report counts these


class Flag(msgspec.Struct, frozen=True):
    """A reason to look at a submission, with the sentence for the instructor."""

    kind: FlagKind
    text: str

    def __post_init__(self) -> None:
        force_setattr(self, "text", line(self.text, MAX_SENTENCE))


class Outcome(StrEnum):
    """Names the outcome of one check."""

    PASSED = "passed"
    FAILED = "failed"  # the code gave a wrong answer
    ERRORED = "errored"  # the code raised, crashed, hung or never ran
    SKIPPED = "skipped"  # a check on which it depends did not pass


class Status(StrEnum):
    """Names the reason for the outcome of a check or a whole submission."""

    OK = "ok"
    WRONG_VALUE = "wrong-value"
    WRONG_SHAPE = "wrong-shape"
    WRONG_TYPE = "wrong-type"
    NOT_FINITE = "not-finite"
    NOT_REFUSED = "not-refused"
    FORBIDDEN = "forbidden"
    NOT_IMPLEMENTED = "not-implemented"
    MISSING = "missing"
    RAISED = "raised"
    IMPORT_ERROR = "import-error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out-of-memory"
    OUT_OF_DISK = "out-of-disk"
    BAD_OUTPUT = "bad-output"
    UNREADABLE = "unreadable"
    GRADED = "graded"
    GRADER_ERROR = "grader-error"


SEVERAL = " / "  # between the ids of mistakes with the same effect
TOGETHER = " + "  # between the ids of two mistakes with a joint effect
FIRST: Final = "Two mistakes together give these results. First: "  # before an explanation
SECOND: Final = " Second: "  # before that of the other mistake

WRITTEN_OUT: Final = " (The steps of "  # begins the end of an explanation, which names a place


class Diagnosis(msgspec.Struct, frozen=True):
    """Describes a mistake: id, explanation, question, and title, which older records lack."""

    misconception: str
    explanation: str
    hint: str
    title: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "misconception", line(self.misconception, MAX_SENTENCE))
        force_setattr(self, "explanation", lines(self.explanation))
        force_setattr(self, "hint", lines(self.hint))
        title = self.title or title_of(self.explanation)
        force_setattr(self, "title", line(title, MAX_TITLES))

    @property
    def misconceptions(self) -> list[str]:
        """The ids of the mistakes: several with the same effect, or two with a joint effect."""
        return self.misconception.replace(TOGETHER, SEVERAL).split(SEVERAL)

    @property
    def parts(self) -> tuple["Diagnosis", ...]:
        """The mistake itself, or each of two with a joint effect, the first with a question."""
        first, both, second = self.explanation.removeprefix(FIRST).partition(SECOND)
        names = self.misconception.split(TOGETHER)
        if len(names) == 1 or not both:
            return (self,)
        return Diagnosis(names[0], first, self.hint), Diagnosis(names[-1], second, "")

    @property
    def headline(self) -> str:
        """The title, or the explanation if the title repeats more than its beginning."""
        pieces = list(filter(None, (one.strip(" .") for one in _PIECE_END.split(self.title))))
        if not all(_LEADS.sub("", piece) in self.explanation for piece in pieces):
            return self.title
        is_its_beginning = len(pieces) == 1 and self.explanation.startswith(pieces[0])
        return self.title if is_its_beginning else self.explanation

    @property
    def beyond_headline(self) -> str:
        """The rest of the explanation, to be appended to the headline."""
        if self.explanation.startswith(self.headline):
            return self.explanation.removeprefix(self.headline)
        return f".\n{self.explanation}"


class Grid(msgspec.Struct, frozen=True):
    """Compares a tensor or a part of it with the student's, at most 8 by 8, with digits as printed.

    *rows* and *columns* name the tokens if an axis has one entry per token; otherwise they are
    empty. *part* is the index of a part, such as ``[1, :8]``; *corner* is its first row and column.
    If *own*, what is expected is itself a result of the student's code.
    """

    expected: tuple[tuple[str, ...], ...]
    yours: tuple[tuple[str, ...], ...]
    difference: tuple[tuple[str, ...], ...]
    wrong: tuple[tuple[bool, ...], ...]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    part: str = ""
    corner: tuple[int, int] = (0, 0)
    own: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "part", line(self.part, MAX_WORD))
        for name in ("expected", "yours", "difference"):
            rows = (row[:MAX_SIDE] for row in getattr(self, name)[:MAX_SIDE])
            force_setattr(self, name, tuple(tuple(map(digits, row)) for row in rows))
        force_setattr(self, "wrong", tuple(row[:MAX_SIDE] for row in self.wrong[:MAX_SIDE]))
        for name in ("rows", "columns"):
            tokens = getattr(self, name)[:MAX_SIDE]
            force_setattr(self, name, tuple(line(token, MAX_DIGITS) for token in tokens))


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the result of one check; only those of a public suite have what the code *printed*."""

    name: str
    title: str
    outcome: Outcome
    status: Status
    points: float
    max_points: float
    message: str = ""
    diagnosis: Diagnosis | None = None
    grid: Grid | None = None
    printed: str = ""
    given: str = ""  # the exercises that the solution replaced when this check passed
    needs: tuple[str, ...] = ()  # other exercises that the check passes to its own

    def __post_init__(self) -> None:
        force_setattr(self, "name", line(self.name, MAX_SENTENCE))
        force_setattr(self, "title", line(self.title, MAX_SENTENCE))
        force_setattr(self, "message", lines(self.message))
        force_setattr(self, "printed", last_lines(self.printed))
        force_setattr(self, "given", line(self.given, MAX_WORD))
        _make_floats(self, "points", "max_points")


class ExerciseResult(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the results of an exercise's checks, in the order in which they build on each other.

    *uses* names the exercises that fail checks and that the code of a failed exercise uses.
    """

    name: str
    checks: tuple[CheckResult, ...]
    score: float
    max_score: float
    uses: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "name", line(self.name, MAX_WORD))
        force_setattr(self, "uses", tuple(line(name, MAX_WORD) for name in self.uses))
        _make_floats(self, "score", "max_score")

    @classmethod
    def of(
        cls, name: str, checks: tuple[CheckResult, ...], uses: tuple[str, ...] = ()
    ) -> "ExerciseResult":
        """Return the result of the exercise *name*, with the sums of the points of *checks*."""
        return cls(
            name=name,
            checks=checks,
            uses=uses,
            score=add(check.points for check in checks),
            max_score=add(check.max_points for check in checks),
        )

    @property
    def right(self) -> bool:
        """Whether the exercise has all points with the submitted code alone."""
        return self.score == self.max_score and not any(check.given for check in self.checks)

    @property
    def given(self) -> float:
        """The points of checks that pass with the solution's code for other exercises."""
        return add(check.points for check in self.checks if check.given)

    @property
    def credited(self) -> float:
        """The points that failed checks keep for the laws that hold."""
        return add(check.points for check in self.checks if check.outcome is not Outcome.PASSED)


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """Records the origin of a grade: its time, the *seconds* that it took, and the isolation.

    *suite_sha256* covers the stage's solution and hidden suite. *key* covers everything that
    affects the grade, including the submission, so results with the same key differ only in their
    times.
    """

    graded: str = msgspec.field(name="judged")  # UTC; format 1 calls it "judged"
    seconds: float
    isolation: str
    suite_sha256: str
    key: str

    def __post_init__(self) -> None:
        for name in ("graded", "isolation", "suite_sha256", "key"):
            force_setattr(self, name, line(getattr(self, name), MAX_WORD))


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Records the settings of a run: digests of files, versions, and the limits of a submission."""

    kit: str
    kit_sha256: str
    course_sha256: str  # of the files that all stages share
    python: str
    torch: str
    machine: str
    packages_sha256: str  # of the names and versions of the installed packages
    limits: dict[str, float]

    def __post_init__(self) -> None:
        names = ("kit", "kit_sha256", "course_sha256", "python", "torch", "machine")
        for name in (*names, "packages_sha256"):
            force_setattr(self, name, line(getattr(self, name), MAX_WORD))
        limits = list(self.limits.items())[:MAX_LIMITS]
        floats = {line(name, MAX_WORD): float(value) for name, value in limits}
        force_setattr(self, "limits", floats)


class SubmissionResult(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the result of one student in one stage.

    *printed* is the output of importing the file; only results of a public suite contain it.
    *flags* are for the instructor. *waiting* are the points of written answers that a person must
    grade. Older records have no *audit*, no *flags* and no *waiting*.
    """

    student: str
    stage: str
    status: Status
    score: float | None
    max_score: float | None
    message: str = ""
    notices: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    ignored: tuple[str, ...] = ()
    exercises: tuple[ExerciseResult, ...] = ()
    sha256: str = ""
    printed: str = ""
    audit: Audit | None = None
    waiting: float = 0.0

    def __post_init__(self) -> None:
        force_setattr(self, "student", identifier(self.student) or "(no name)")
        force_setattr(self, "stage", identifier(self.stage))
        force_setattr(self, "message", lines(self.message))
        force_setattr(self, "notices", listed(self.notices, MAX_NOTICES, MAX_SENTENCE))
        force_setattr(self, "flags", tuple(dict.fromkeys(self.flags))[:MAX_NOTICES])
        force_setattr(self, "ignored", listed(self.ignored, MAX_IGNORED, MAX_FILE_NAME))
        force_setattr(self, "sha256", line(self.sha256, MAX_WORD))
        force_setattr(self, "printed", last_lines(self.printed))
        _make_floats(self, "score", "max_score", "waiting")

    @property
    def given(self) -> float:
        """The points of checks that pass with the solution's code for other exercises."""
        return add(exercise.given for exercise in self.exercises)

    @property
    def credited(self) -> float:
        """The points that failed checks keep for the laws that hold."""
        return add(exercise.credited for exercise in self.exercises)


class EarlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of results that an earlier run made, by student and stage."""

    results: tuple[tuple[str, str], ...]
    hidden_inputs: Literal["public", "secret"] = "public"
    settings: Settings | None = None

    def __post_init__(self) -> None:
        known = tuple((identifier(one), identifier(other)) for one, other in self.results)
        force_setattr(self, "results", known)


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the results of a grading run, and those that it kept from earlier runs.

    *submissions* is a tuple, or a sequence that reads each submission when it is needed. *settings*
    and *hidden_inputs* are those of the last run. *earlier* has those of kept results, if they
    differ. *groups* maps a stage to the members of its groups, each with the member who submitted.
    """

    course: str
    isolation: str
    submissions: Sequence[SubmissionResult]
    format_version: Literal[1] = FORMAT_VERSION
    hidden_inputs: Literal["public", "secret"] = "public"
    settings: Settings | None = None
    # By number, because a reader of large records finds results by lines that begin an object.
    earlier: dict[str, EarlierRun] = {}
    groups: dict[str, dict[str, str]] = {}

    def __post_init__(self) -> None:
        force_setattr(self, "course", identifier(self.course))
        force_setattr(self, "isolation", line(self.isolation, MAX_WORD))
        if isinstance(self.submissions, list):
            force_setattr(self, "submissions", tuple(self.submissions))
        groups = {
            identifier(stage): {identifier(one): identifier(who) for one, who in members.items()}
            for stage, members in self.groups.items()
        }
        force_setattr(self, "groups", groups)

    def run_of(self, student: str, stage: str) -> "Results | EarlierRun":
        """Return the run that made the result of *student* in *stage*, with its settings."""
        runs = (run for run in self.earlier.values() if (student, stage) in run.results)
        return next(runs, self)


def _make_floats(record: msgspec.Struct, *names: str) -> None:
    """Convert points to floats, because 2 and 2.0 are equal but differ in JSON."""
    for name in names:
        value = getattr(record, name)
        force_setattr(record, name, None if value is None else float(value))


def title_of(explanation: str) -> str:
    """Return the first sentence of *explanation*, or its first clause if the sentence is long."""
    sentence = _SENTENCE_END.split(explanation.strip(), maxsplit=1)[0].removesuffix(".")
    if len(sentence) > MAX_TITLE:
        sentence = _CLAUSE_END.split(sentence, maxsplit=1)[0]
    return " ".join(sentence.split())


def add(points: Iterable[float]) -> float:
    """Return the sum of *points*, without the rounding errors of binary fractions (0.1 + 0.2)."""
    return round(sum(points), 6)


def to_json(results: Results) -> bytes:
    """Encode *results* as indented UTF-8 JSON."""
    return b"".join(json_parts(results))


def json_parts(results: Results) -> Iterator[bytes]:
    """Yield the JSON of *results* in parts, each with at most one submission."""
    head = _indented(replace(results, submissions=()))
    before, empty, after = head.partition(b'"submissions": []')
    if not results.submissions:
        yield head + b"\n"
        return
    yield before + empty.removesuffix(b"]")
    for number, result in enumerate(results.submissions):
        # JSON strings contain no line breaks, so this indents only the structure.
        yield (b"," if number else b"") + b"\n    " + _indented(result).replace(b"\n", b"\n    ")
    yield b"\n  ]" + after + b"\n"


def _indented(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=2)


def from_json(text: bytes) -> Results:
    """Decode and validate the output of ``to_json``; raise ``msgspec.ValidationError``."""
    return msgspec.json.decode(text, type=Results)
