"""Converts the outcome of a check or a submission into a result."""

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

from msgspec.structs import replace

from autograder.course_file import Reveal
from autograder.grading.provenance import torch_version
from autograder.results import (
    MAX_NOTICES,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Flag,
    FlagKind,
    Grid,
    Outcome,
    Status,
    SubmissionResult,
    add,
)
from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.protocol import Problem, Statement
from autograder.sandbox.session import Session
from autograder.sandbox.static_names import defines_nothing
from autograder.sanitize import MAX_WORD
from autograder.submission import Submission
from autograder.suite.checks import CollectedCheck, Notice, WrongAnswer

MAX_CANDIDATES = 300  # definitions of one file; a module that a student wrote has some dozens
GRADED_AGAIN = (
    "The first grading was interrupted and this is the second one, which quotes no text of your "
    "code, such as the text of an exception."
)
NUL = "source code string cannot contain null bytes"  # as Python says it
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
IMPORT_FAILED = "A name is missing because an earlier line failed; the notices below name the line."
NEAR = 0.8  # the least similarity of a misspelled name: CasualAttention has 0.93


class CheckOutcome:
    """Builds the result of one check; *reveal* decides which parts of it students may read.

    A check of the *public* suite shows everything, because its inputs are not secret and the code
    is the reader's own. *problems* are the statements that failed during the import.
    """

    def __init__(
        self,
        check: CollectedCheck,
        reveal: Reveal,
        problems: Sequence[Problem] = (),
        *,
        public: bool,
    ) -> None:
        self.check = check
        self._problems = problems
        self._reveal = reveal
        self._public = public

    def passed(self, notices: Sequence[Notice] = ()) -> CheckResult:
        """Give full points; the message is the first of the *notices*."""
        message = self._visible(notices[0]) if notices else ""
        return self._result(Outcome.PASSED, Status.OK, message, self.check.spec.points)

    def skipped(self, fault: Fault) -> CheckResult:
        """Give no points, because something that the check needs is missing."""
        return self._result(Outcome.SKIPPED, fault.status, self._visible(fault))

    def unusable(self, error: Exception) -> CheckResult:
        """Give no points, because the check raised *error*, which the solution does not cause."""
        exercise = self.check.spec.exercise
        message = f"{exercise} returned the wrong type of value."
        if self._public:
            message += f"\nThe check ended with {type(error).__name__}: {error}"
        return self._result(Outcome.FAILED, Status.BAD_OUTPUT, message)

    def failed(self, error: BaseException) -> CheckResult | None:
        """Give no points, with the reason; None if *error* is not certainly the student's."""
        if isinstance(error, WrongAnswer):
            result = self._result(Outcome.FAILED, error.status, self._visible(error))
            return replace(result, grid=self._visible_grid(error))
        if isinstance(error, Fault):
            message = self._visible(error)
            cause = _cause_of(error.text, self._problems) if isinstance(error, Raised) else ""
            if cause:  # it quotes the code
                message += f"\n{cause if self.shows_values else IMPORT_FAILED}"
            return self._result(Outcome.ERRORED, error.status, message)
        return None

    def add_diagnosis(self, result: CheckResult, found: Mapping[str, Diagnosis]) -> CheckResult:
        """Add the diagnosis of the check, unless the course reveals nothing about hidden checks."""
        diagnosis = found.get(result.name)
        if diagnosis is None or self._shows_nothing:
            return result
        return replace(result, diagnosis=diagnosis)

    def add_printed(self, result: CheckResult, printed: str) -> CheckResult:
        """Add the output of the code, unless it could contain hidden inputs."""
        return replace(result, printed=printed) if self._public else result

    @property
    def _shows_nothing(self) -> bool:
        hidden = self.check.spec.layer.hidden and not self._public
        return hidden and self._reveal.hidden_checks == "nothing"

    @property
    def shows_values(self) -> bool:
        """Whether values, and text that the student's code chose, may appear next to the check."""
        revealed = self._reveal.documented_values and not self.check.spec.layer.hidden
        return revealed or self._public

    def _visible_grid(self, error: WrongAnswer) -> Grid | None:
        make = error.public_suite_grid if self._public else error.grid
        return make() if make and self.shows_values else None

    def _visible(self, error: WrongAnswer | Fault | Notice) -> str:
        """Return the message, as far as the course reveals it."""
        if self._shows_nothing:
            return ""
        return error.message if self.shows_values else error.public

    def _result(
        self, outcome: Outcome, status: Status, message: str, points: float = 0.0
    ) -> CheckResult:
        return CheckResult(
            name=self.check.name,
            title=self.check.title,
            outcome=outcome,
            status=status,
            points=points,
            max_points=self.check.spec.points,
            message=message,
            needs=self.check.spec.needs,
        )


def unreadable(submission: Submission) -> SubmissionResult:
    """Return the result of a submission that contains nothing to grade."""
    return submission_result(submission, Status.UNREADABLE, submission.problem, (), ())


def failed_grading(submission: Submission, error: Exception) -> SubmissionResult:
    """Return a result without a grade for a submission on which the grader failed."""
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=Status.GRADER_ERROR,
        score=None,
        max_score=None,
        message=f"The grader failed, not the student; there is no grade. {error}",
        sha256=submission.sha256,
    )


def submission_result(
    submission: Submission,
    status: Status,
    message: str,
    exercises: tuple[ExerciseResult, ...],
    notices: tuple[str, ...],
    flags: tuple[Flag, ...] = (),
) -> SubmissionResult:
    """Return the result of a submission, with the sums of its points."""
    return SubmissionResult(
        student=submission.student,
        stage=submission.stage,
        status=status,
        score=add(exercise.score for exercise in exercises),
        max_score=add(exercise.max_score for exercise in exercises) if exercises else None,
        message=message,
        notices=submission.notices + notices,
        flags=submission.flags + flags,
        ignored=submission.ignored,
        exercises=exercises,
        sha256=submission.sha256,
        waiting=submission.waiting,
    )


def with_earlier_texts(result: SubmissionResult, earlier: SubmissionResult) -> SubmissionResult:
    """Return *result*, of a second grading, with the texts of *earlier* where the outcome is equal.

    A second grading is quiet, because the first one has sent hidden inputs.
    """
    checks = {(one.name, check.name): check for one in earlier.exercises for check in one.checks}

    def merged(exercise: str, check: CheckResult) -> CheckResult:
        old = checks.get((exercise, check.name))
        if old is None or (old.outcome, old.status) != (check.outcome, check.status):
            return check
        return replace(check, message=old.message, grid=old.grid, diagnosis=old.diagnosis)

    exercises = tuple(
        replace(one, checks=tuple(merged(one.name, check) for check in one.checks))
        for one in result.exercises
    )
    if earlier.status is not result.status:
        return replace(result, exercises=exercises)
    return replace(result, exercises=exercises, message=earlier.message, notices=earlier.notices)


def import_submission(session: Session) -> Fault | None:
    """Import the submission; return the fault if nothing of it can be used."""
    try:
        session.open()
    except Fault as fault:
        return fault
    return None


def missing_exercise(session: Session, name: str, exercises: Collection[str]) -> Fault | None:
    """Return why exercise *name* can't be graded, or None; *exercises* holds all names."""
    try:
        if session.ask("has", name=name).value is True:
            return None
    except Fault as fault:
        return fault
    for problem in reversed(session.problems):
        if _stops_file(session, problem) or name in _names(problem):
            return _undefined(session, name, problem)
    return _absent(session, name, exercises)


def submission_status(session: Session, import_fault: Fault | None) -> tuple[Status, str]:
    """Return the status of the whole submission, and a sentence if none of it could run."""
    if import_fault is not None:
        return import_fault.status, import_fault.message
    for problem in session.problems:
        if _stops_file(session, problem):
            return Status.IMPORT_ERROR, describe_problem(problem)
    return Status.GRADED, ""


def notices_of(
    session: Session,
    exercises: Collection[str],
    given: Collection[int] = (),
    unclear: Sequence[str] = (),
) -> tuple[str, ...]:
    """Describe the statements that failed, and those that rebind one of *exercises*.

    Failures in the cells *given*, which belong to the released lab, are left out. The sentences
    *unclear*, about names that the source does not show, come first.
    """
    places = {f"cell {number}" for number in given}
    notices = [
        *unclear,
        *(
            describe_problem(problem)
            for problem in session.problems
            if not (problem.statement and problem.statement.place in places)
            and not _stops_file(session, problem)
            and (problem.kind != "rebound" or {*exercises}.intersection(_names(problem)))
        ),
        *environment_notice(session.problems),
    ]
    if len(notices) > MAX_NOTICES:  # a worker reports only the first ones, so there is no total
        notices[MAX_NOTICES - 1 :] = ["Other lines failed too. Fix the first ones first."]
    return tuple(notices)


def flags_of(
    session: Session, unclear: Sequence[str], faults: Sequence[Raised]
) -> tuple[Flag, ...]:
    """Return what an instructor should look at: code, and what did not run as it was written.

    *unclear* are the sentences about code. *faults* are the exceptions of checks.
    """
    raised = [(problem.type, problem.text) for problem in session.problems]
    raised += [(fault.kind, fault.text) for fault in faults]
    found = [Flag(FlagKind.UNCLEAR_CODE, sentence) for sentence in unclear]
    found += [
        Flag(FlagKind.NOT_VALID, f"{_not_valid(problem)}; a newer one may read it")
        for problem in session.problems
        if problem.kind == "not-compiled" and not problem.text.startswith(NUL)
    ]
    for kind, text in raised:
        if kind == "PermissionError":  # Python's own text for a refused call or file
            found.append(Flag(FlagKind.REFUSED, f"the sandbox refused: {_first(text)}"))
        if kind == "ModuleNotFoundError":
            found.append(Flag(FlagKind.NO_PACKAGE, f"not installed here: {_first(text)}"))
    if attempts := session.attempts():
        words = " and ".join(attempts)
        found.append(Flag(FlagKind.REFUSED, f"the code tried to use {words}"))
    return tuple(found)


def _first(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def describe_problem(problem: Problem) -> str:
    """Describe the line of a module or a cell that failed, and the error."""
    where = _where(problem.statement)
    if problem.kind == "rebound":
        names = " and ".join(f"`{name}`" for name in _names(problem))
        return (
            f"{where} gives the name {names} to something that is not a class or a function; your "
            "definition was graded anyway. Choose another name in that line."
        )
    if problem.kind == "not-compiled" and problem.text.startswith(NUL):
        return "Your file contains NUL characters. Save it as text in UTF-8."
    if problem.kind == "left-out":
        return (
            f"{where} was left out, with the later statements that your definitions do not need. "
            f"{problem.text}"
        )
    if problem.kind == "annotation":
        why = f" ({problem.type}{_text(problem)})" if problem.type else ""
        return (
            f"{where} has an annotation that {PYTHON} can't evaluate{why}. The definition was "
            "graded without its annotations."
        )
    if problem.kind == "not-compiled":
        why = f": {problem.type}{_text(problem)}" if problem.type else ""
        error = f"{_not_valid(problem)}{why}"
        names = " and ".join(f"`{name}`" for name in _names(problem))
        lost = f"{names} could not be defined" if names else "this statement could not run"
        return f"{error}. Fix {where} first: {lost}."
    return f"{where} {_raised(problem)}"


def _not_valid(problem: Problem) -> str:
    return f"{_where(problem.statement)} is not valid {PYTHON}"


def _stops_file(session: Session, problem: Problem) -> bool:
    """Whether *problem* leaves no definition to grade."""
    return problem.kind == "not-compiled" and defines_nothing(session.definitions)


def _undefined(session: Session, name: str, problem: Problem) -> Fault:
    """Describe an exercise whose definition failed, in public without the student's text."""
    where = _where(problem.statement)
    if problem.kind == "left-out":
        message = f"{name} is not defined: {describe_problem(problem)}"
        public = f"{name} is not defined: {where} was left out, because it reached a limit."
        return Fault(Status(problem.type), message, public=public)
    if problem.kind == "not-compiled":
        message = f"{name} is not defined: {describe_problem(problem)}"
        public = f"{name} is not defined: {where} is not valid Python. Fix {where} first."
    else:
        start = f"{name} is not defined: {where}, which should define it, "
        earlier = session.problems[: session.problems.index(problem)]
        parts = (
            f"{start}{_raised(problem)}.",
            _advice(name, problem),
            _cause_of(problem.text, earlier),
        )
        message = " ".join(filter(None, parts))
        public = f"{start}raised an exception."
    return Fault(Status.IMPORT_ERROR, message, public=public)


def _cause_of(text: str, problems: Sequence[Problem]) -> str:
    """Explain why the name in *text* is missing, if its statement failed earlier."""
    cause = _earlier(text, problems)
    if cause is None:
        return ""
    name = text.split("'")[1]
    missing = f"`{name}` is missing because {describe_problem(cause)}."
    return " ".join(filter(None, (missing, _advice(name, cause))))


def is_import_missing(error: BaseException, problems: Sequence[Problem]) -> bool:
    """Whether *error* is about a name whose import failed, so that the code may be right."""
    cause = _earlier(error.text, problems) if isinstance(error, Raised) else None
    return cause is not None and cause.type in IMPORT_ERRORS


def _earlier(text: str, problems: Sequence[Problem]) -> Problem | None:
    """Return the last problem that left out the name which *text* misses."""
    name = re.match(r"name '(\w+)' is not defined\b", text)
    found = (one for one in reversed(problems) if name and name[1] in _names(one))
    return next(found, None)


def _advice(name: str, problem: Problem) -> str:
    """Advise how to replace a failed import of *name*, if *problem* is one."""
    if problem.type not in IMPORT_ERRORS:
        return ""
    package = _missing_package(problem)
    start = f"No package `{package}` is installed here." if package else ""
    if not problem.code.startswith("from "):
        return start
    own = f"If `{package}.py` is your own file, copy" if package else "Copy"
    return f"{start} {own} `{name}` into this file.".lstrip()


def _missing_package(problem: Problem) -> str:
    """Return the package that the statement of *problem* did not find, or ""."""
    found = re.match(r"No module named '(\w{1,80})", problem.text)
    return found[1] if found and problem.type == "ModuleNotFoundError" else ""


def environment_notice(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield what runs here, if that may be why a statement failed."""
    missing = dict.fromkeys(filter(None, map(_missing_package, problems)))
    if missing or any(one.kind in {"not-compiled", "annotation"} for one in problems):
        lacks = f", without {' and '.join(missing)}" if missing else ""
        yield f"Your file ran in {PYTHON} with torch {torch_version()}{lacks}."


def _absent(session: Session, name: str, exercises: Collection[str]) -> Fault:
    """Describe an exercise that no failing statement would have defined."""
    for definition in session.definitions:
        if definition.name == name:
            line = "" if session.notebook else f" in line {definition.line}"
            message = (
                f"{name} is set{line}, but it is not a class or a function once your file has run."
                if definition.assigned
                else f"{name} is defined{line}, but that line does not run when your file is "
                'imported. Move it out of its block, such as `if __name__ == "__main__":`.'
            )
            return Fault(Status.MISSING, message)
    public = f"{name} is not defined in your file."
    around = next((one.name for one in session.definitions if name in one.methods), "")
    if around:
        where = f"{public[:-1]}, only inside `{around}`."
        move = f"{where} Move it out, so that its first line is not indented."
        return Fault(Status.MISSING, move, public=public)
    defined = [item.name for item in session.definitions if not item.assigned]
    near = _near_name(name, defined, exercises)
    message = f"{public[:-1]}; did you mean `{near}`?" if near else public
    return Fault(Status.MISSING, message, public=public)


def _near_name(missing: str, defined: Sequence[str], exercises: Collection[str]) -> str:
    """Return the definition that was probably meant to be *missing*, or "".

    The same digits must occur in both names, because v3 is not a misspelled v2.
    """
    digits = re.findall(r"\d", missing)
    own = [
        name
        for name in defined[:MAX_CANDIDATES]
        if name not in exercises and re.findall(r"\d", name) == digits and len(name) <= MAX_WORD
    ]
    plain = {name.replace("_", "").casefold(): name for name in reversed(own)}
    close = get_close_matches(missing.replace("_", "").casefold(), plain, 1, NEAR)
    return plain[close[0]] if close else ""


def _raised(problem: Problem) -> str:
    """Describe the exception of a statement, with the line of a function that it called."""
    inner = Statement(problem.place, problem.line)
    outer = problem.statement and (problem.statement.place, problem.statement.line)
    inside = f" in {_where(inner)}" if inner.line and outer != (inner.place, inner.line) else ""
    return f"raised {problem.type or 'an exception'}{inside}{_text(problem)}"


def _text(problem: Problem) -> str:
    text = _first(problem.text)
    code = f" ({problem.code})" if problem.code else ""
    return (f": {text}" if text else "") + code


def _names(problem: Problem) -> tuple[str, ...]:
    return problem.statement.names if problem.statement else ()


def _where(statement: Statement | None) -> str:
    """Return a name for the place of *statement*: cell, line or file; only cells are trusted."""
    if statement is None:
        return "your file"
    cell = statement.place if re.fullmatch(r"cell \d{1,4}", statement.place) else ""
    line = f"line {statement.line}" if statement.line else ""
    return ", ".join(filter(None, (cell, line))) or "your file"
