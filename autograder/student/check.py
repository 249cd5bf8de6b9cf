"""Finds the file that a student wants to check, and runs the suites that are available on it."""

import ast
import io
import os
import sys
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace as dataclass_replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from autograder.course import (
    COURSE_FILE,
    PUBLIC_SUITE,
    STAGE_FILE,
    Course,
    Handout,
    Stage,
    find_root,
    handout,
    is_handout,
    load,
)
from autograder.course_file import Limits
from autograder.errors import CourseError, GraderError, UsageError
from autograder.reports.feedback import SelfCheckFeedback
from autograder.reports.feedback_builder import build_self_check
from autograder.results import CheckResult, ExerciseResult, Status, SubmissionResult
from autograder.sandbox.isolation import choose_isolation
from autograder.sandbox.notebook_magics import plain_python
from autograder.sandbox.spawned_workers import Workers, own_workers
from autograder.sandbox.supervisor import ForkServer
from autograder.student import learner_folder
from autograder.student.learner_place import find_exercise, stage_around, stage_named, unknown
from autograder.student.progress import Progress, Task, first_open, tasks
from autograder.submission import Submission, collect
from autograder.submission.collect import SUBMITTED
from autograder.submission.notebook import DEFINITION

NO_HIDDEN_SUITE = "The hidden suite is not here, because your instructor keeps it."


class CheckTarget(NamedTuple):
    """The *file* to check, the stage's folder with its *public* suite, and the *course*.

    *course* is set only if the hidden suite is to run, too. *hidden_is_here* is true if it could
    run. *is_others* is true if the file is another person's, whose code runs only in the sandbox.
    With an *exercise*, only that one is checked.
    """

    file: Path
    public: Course
    course: Course | None
    hidden_is_here: bool
    is_others: bool = False
    exercise: str = ""

    @property
    def stage(self) -> Stage:
        """The stage, as students received it."""
        return self.public.stages[0]


def find_target(
    name: str, start: Path, root: Path | None = None, *, hidden: bool = False
) -> CheckTarget:
    """Find the file to check: *name* is a stage, a folder or a file, or "" for the folder *start*.

    A stage of the learner's own folder comes first, then a path in *start*, then an exercise of the
    learner's, then a stage of the course at *root* or above *start*. Raises ``UsageError`` with the
    next step, and ``AmbiguousNameError`` if several stages have the exercise.
    """
    path = start / name
    file, exercise = None, ""
    own = learner_folder.find_stages(start)
    mine = stage_named(own, name) if own and name and root is None else None
    if mine is not None:
        folder = mine.source
    elif own is not None and (task := _own_exercise(own, name, start)) is not None:
        folder, exercise = task.stage.source, task.exercise.name
    elif not os.path.exists(path):  # noqa: PTH110  # Path.exists raises for an invalid path
        folder = _named_stage(name, start, root)
    elif path.is_dir():
        folder = path if name else _current_folder(path)
    else:
        folder, file = _folder_of(path, start, root), path
    if not is_handout(folder):
        raise UsageError(_no_stage(folder))
    public = handout(folder)
    course = _with_hidden(public.stages[0].name, folder, root)
    is_others = course is not None and _is_others(file or folder, folder, course)
    if hidden and course is None:
        raise UsageError(f"{NO_HIDDEN_SUITE} Leave out --hidden to run the public checks.")
    file = file or student_file(folder, public.stages[0])
    if course is not None and is_others:  # nothing next to the file is the course's
        public = handout(course.stage(public.stages[0].name).assignment)
    return CheckTarget(
        file, public, course if hidden else None, course is not None, is_others, exercise
    )


def _is_others(path: Path, folder: Path, course: Course) -> bool:
    """Whether *path* is a student's submission: neither `start` nor the course made *folder*."""
    own = course.stage(folder.name).assignment.resolve() if is_handout(folder) else None
    if (course.root / SUBMITTED).resolve() in path.resolve().parents:
        return True
    return folder.resolve() != own and learner_folder.folder_around(folder) is None


def _own_exercise(own: Handout, name: str, start: Path) -> Task | None:
    """Return the exercise *name* of the learner's own folder; None if it is a path or unknown."""
    if not name or os.path.exists(start / name):  # noqa: PTH110  # Path.exists raises for an invalid path
        return None
    is_known = name.rpartition("/")[2] in {task.exercise.name for task in tasks(own)}
    return find_exercise(own, name, stage_around(own, start)) if is_known else None


def _named_stage(name: str, start: Path, root: Path | None) -> Path:
    own = learner_folder.find_stages(start)
    try:
        stage = _course(start, root).stage(name)
    except (CourseError, UsageError) as error:
        if own is not None:
            for folder in own.root.iterdir():
                if folder.name.partition("_")[0] == name.zfill(2):  # one of its files is missing
                    return folder
            near = unknown(own, name, "no file, no stage and no exercise")
            msg = f"{near} A file can be given by its path: autograder check PATH."
            raise UsageError(msg) from None
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"There is no file, folder or stage {name} in {start}. Run `autograder start` first, "
            "or give the path of your file: autograder check PATH."
        ) from None
    if not is_handout(stage.assignment):
        raise UsageError(f"{stage.assignment} is not built yet: run `autograder release` first.")
    return stage.assignment


def changed_stages(here: Path) -> list[Stage]:
    """List the stages that changed since their last check; none in the folder of a stage."""
    own = learner_folder.find_stages(here)
    if own is None or stage_around(own, here) is not None:
        return []
    progress = Progress.read(own.root)
    return [stage for stage in own.stages if progress.is_outdated(stage)]


def _current_folder(here: Path) -> Path:
    """Return the folder of the first unfinished stage if *here* holds several, else *here*."""
    own = learner_folder.find_stages(here)
    if own is None or is_handout(here) or len(own.stages) < 2:  # noqa: PLR2004  # a single stage needs no choice
        return here
    task = first_open(own, Progress.read(own.root))
    return task.stage.source if task else here


def _folder_of(file: Path, start: Path, root: Path | None) -> Path:
    """Return the folder with the suite for *file*: the file's own folder, or that of its stage."""
    if is_handout(file.parent):
        return file.parent
    try:
        course = _course(start, root)
    except CourseError:
        return file.parent
    submission = next(collect(file, course.every_stage))
    if not submission.stage:
        known = ", ".join(f"{stage.module}.py" for stage in course.every_stage)
        msg = f"{file.name} is not the module of a stage. Rename it to one of these: {known}."
        raise UsageError(msg)
    return course.stage(submission.stage).assignment


def student_file(folder: Path, stage: Stage) -> Path:
    """Return the module, or a notebook of the same name; raise ``UsageError`` without both."""
    names = (f"{stage.module}.py", f"{stage.module}.ipynb")
    for file in (folder / name for name in names):
        if file.is_file():
            return file
    raise UsageError(
        f"There is no {names[0]} in {folder}. Put your file there, or give its path: "
        "autograder check PATH."
    )


def course_with_hidden(stage: Stage) -> Course | None:
    """Return the course around the folder of *stage* if it holds the stage's hidden suite."""
    return _with_hidden(stage.name, stage.source, None)


def _with_hidden(stage: str, folder: Path, root: Path | None) -> Course | None:
    try:
        course = _course(folder, root)
        return course if course.stage(stage).hidden_suite.is_file() else None
    except (CourseError, UsageError):
        return None


def _course(start: Path, root: Path | None) -> Course:
    return load(root if root is not None else find_root(start))


def _no_stage(folder: Path) -> str:
    if (folder / COURSE_FILE).is_file():
        stages = ", ".join(load(folder).file.stages)
        return f"Which stage? Give its name or number, such as `autograder check 1`: {stages}."
    missing = [name for name in (STAGE_FILE, PUBLIC_SUITE) if not (folder / name).is_file()]
    return (
        f"There is no {' and no '.join(missing)} in {folder}. "
        "Go to the folder of a stage, as you received it, and run `autograder check` there. "
        "If a file of the folder is lost, download the folder again and put your module into it."
    )


def check(target: CheckTarget) -> SelfCheckFeedback:
    """Run the suites of *target*; raise ``UsageError`` if the file or a suite can't be used."""
    stage = target.stage
    submission = next(collect(target.file, target.public.stages, stage))
    if submission.code is None:
        raise UsageError(submission.problem)
    limits = (target.course or target.public).limits
    with _workers(target, limits) as fork_server:  # it forks before a suite is loaded
        results = [
            check_with_suite(
                course, submission, fork_server, public=public, exercise=target.exercise
            )
            for course, public in ((target.public, True), (target.course, False))
            if course is not None
        ]
    merged = _merge(stage, results)
    from autograder.suite import public_record  # noqa: PLC0415  # imports torch

    record = public_record.read(stage.records)
    feedback = build_self_check(
        stage,
        merged,
        target.file,
        hidden=target.course is not None,
        points=record.points,
        hidden_points=record.hidden_points,
        hidden_is_here=target.hidden_is_here,
        only=target.exercise,
    )
    names = {exercise.name for exercise in feedback.open}
    text = learner_folder.source_text(target.file)
    exercises = (
        dataclass_replace(one, uses=used_names(text, one.name, names, one.needs))
        for one in feedback.exercises
    )
    return dataclass_replace(feedback, exercises=tuple(exercises))


def _workers(target: CheckTarget, limits: Limits) -> AbstractContextManager[Workers]:
    """Return workers for the code: it is the user's own, or runs as strictly as in grading."""
    if not target.is_others:
        return own_workers(limits)  # isolation `process`, which prevents accidents, is enough
    hint = (
        f"{target.file} is not in a folder that `autograder start` made, so its code runs only in "
        "the sandbox, as in `autograder grade`."
    )
    return ForkServer(choose_isolation("full", target.public.root, hint), limits)


def check_with_suite(
    course: Course, submission: Submission, server: Workers, *, public: bool, exercise: str = ""
) -> SubmissionResult:
    """Grade *submission*, or one *exercise* of it, in a worker of *server*.

    Raises ``UsageError`` if the public suite can't be used, and ``GraderError`` if grading fails.
    """
    from autograder.grading.grade import grade_one  # noqa: PLC0415  # imports torch
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch

    stage = course.stage(submission.stage)
    try:
        with open_suites(course, [stage], public=public) as runner:
            server.wait_ready()
            result = grade_one(runner, server, submission, exercise=exercise)
    except CourseError as error:
        if public:
            # The last line of pytest's report is the reason.
            why = str(error).strip().rpartition("\n")[2].removeprefix("E ").strip()
            raise UsageError(
                f"{stage.public_suite} can't be used as it is ({why}). "
                "Replace it with the file that you received."
            ) from None
        raise
    if result.status is Status.GRADER_ERROR:
        raise GraderError(result.message)
    if not public or submission.code is None:
        return result
    newer = newer_syntax(submission.code.cells, notebook=submission.code.kind == "notebook")
    return replace(result, notices=(*result.notices, *newer))


def _merge(stage: Stage, results: list[SubmissionResult]) -> SubmissionResult:
    checks: dict[str, tuple[CheckResult, ...]] = {item.name: () for item in stage.exercises}
    for result in results:
        for exercise in result.exercises:
            checks[exercise.name] = checks.get(exercise.name, ()) + exercise.checks
    exercises = tuple(ExerciseResult.of(name, found) for name, found in checks.items() if found)
    return replace(results[0], score=None, max_score=None, exercises=exercises)


def used_names(
    text: str, name: str, others: Collection[str], needs: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return which *others* the definition of *name* uses; none if *text* is not valid.

    It also uses what its checks pass to it (*needs*).
    """
    uses = _uses(text)
    uses = {**uses, name: [*uses.get(name, ()), *needs]}
    found: list[str] = []
    left = [name]
    seen = {name}
    while left:
        for one in uses.get(left.pop(0), ()):
            if one in uses and one not in seen:
                seen.add(one)
                (found if one in others else left).append(one)
    return tuple(found)


@lru_cache(maxsize=1)  # a check asks about every exercise of a module, and a screen again
def _uses(text: str) -> Mapping[str, Sequence[str]]:
    """Map each definition in *text* to the names that it reads; empty for an invalid module."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found = {}
    for node in (one for one in body if isinstance(one, DEFINITION)):
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        names.sort(key=lambda one: (one.lineno, one.col_offset))
        loaded = (one.id for one in names if isinstance(one.ctx, ast.Load))
        found[node.name] = list(dict.fromkeys(loaded))
    return found


OLDEST: Final = (3, 11)  # `requires-python` in pyproject.toml
_START: Final = ("FSTRING_START", "TSTRING_START")  # tokens of Python 3.12 and 3.14
_END: Final = ("FSTRING_END", "TSTRING_END")
_TEXT: Final = ("FSTRING_MIDDLE", "TSTRING_MIDDLE")


def newer_syntax(cells: Iterable[bytes], *, notebook: bool) -> Iterator[str]:
    """Yield a sentence on the first place of each valid cell that the oldest Python can't read."""
    for number, cell in zip(count(1), cells, strict=False):
        line = _newer_line(cell.decode("utf-8", "replace"))
        if line:
            where = f"cell {number}, line {line}" if notebook else f"line {line}"
            version = ".".join(map(str, OLDEST))
            yield (
                f"{where} needs a newer Python than {version}. It is valid in yours "
                f"({sys.version_info.major}.{sys.version_info.minor}), but your grader may run "
                f"Python {version}, so use an older form."
            )


def _newer_line(text: str) -> int:
    """Return the first line of *text* that is valid here but not in the oldest Python, or 0."""
    if not _error_line(text):
        python = text
    elif _error_line(python := plain_python(text)):
        return 0
    lines = [_error_line(python, OLDEST), _quotes_line(_tokens(python))]
    return min(filter(None, lines), default=0)


def _error_line(text: str, version: tuple[int, int] | None = None) -> int:
    """Return the line that is not valid in *version* of Python, by default this one; 0 if none."""
    try:
        ast.parse(text, feature_version=version)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):
        return 1
    return 0


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(tokenize.tok_name[one.type], one.string, one.start[0]) for one in found]


def _quotes_line(tokens: Iterable[tuple[str, str, int]]) -> int:
    """Return the line of an f-string with its own quotes or a backslash inside, or 0."""
    quotes: list[str] = []
    for kind, text, line in tokens:
        quote = text.lstrip("rRbBuUfFtT")
        is_string = kind in {*_START, "STRING"}
        if quotes and kind not in {*_TEXT, *_END}:
            inside = is_string and quote.startswith(quotes[-1])
            if inside or "\\" in text or kind == "COMMENT":
                return line
        if kind in _START:
            quotes.append(quote)
        elif kind in _END:
            quotes.pop()
    return 0
