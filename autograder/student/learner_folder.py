"""Creates and finds a learner's folder, and resets exercises in it."""

import ast
import contextlib
import importlib.util
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from autograder.course import (
    ASSIGNMENTS,
    GUIDE,
    MARKERS,
    SHARED,
    SOLUTIONS_PACKAGE,
    STAGE_FILE,
    Handout,
    Stage,
    find_root,
    handout,
    handouts,
    installed_handouts,
    is_handout,
    load,
)
from autograder.disk import quoted, replace_file, retrying
from autograder.errors import CourseError, UsageError
from autograder.reports.feedback import counted
from autograder.student import folder_files
from autograder.student.exercise_cell import updated
from autograder.student.progress import PROGRESS_FILE, Progress, Task, digest_of, tasks_of
from autograder.submission.files import from_utf16
from autograder.submission.notebook import definition_in, lines_of, span_of

DEFAULT: Final = "my-work"
BUILT: Final = (ASSIGNMENTS, "source")  # folders of the course that `release` writes
ORIGINALS: Final = ".originals"  # modules and labs as the learner received them
COPIES: Final = "copies"  # files that `reset` and `start` replaced
OLDER: Final = ("public.json", "fingerprints.json", "effort.json")  # of older versions of the kit


@dataclass
class Started:
    """The changes that `start` made: the *folder*, and its files by their paths in it.

    *kept* are files that the learner has changed. *replaced* are files of which a newer version was
    copied. *changes* are lines about stubs that have changed in modules of the learner. *fault* is
    a sentence if the progress could not be saved.
    """

    folder: Path
    added: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    replaced: list[Path] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    fault: str = ""


def start(here: Path, folder: Path | None = None, root: Path | None = None) -> Started:
    """Copy the files for students into *folder*, without overwriting the learner's changes.

    The files come from the course at *root* or above *here*, else from the stages in *here*, else
    from the course from which the folder was made, else from the installed kit. Inside a learner's
    folder, *folder* is by default that folder. Raises ``UsageError`` if there are no files to copy
    or if *folder* can't be used.
    """
    around = folder_around(here) if folder is None else None
    target = around or (folder or here / DEFAULT).resolve()
    sources, guide = _received(target, None if around else here, root)
    shared = guide.parent / SHARED
    _require_own(target)
    if any(target in {source, source.parent} for source in sources):
        raise UsageError(
            f"{target} contains the stages as you received them. "
            "Name another folder; the command creates it."
        )
    done = Started(target)
    try:
        for source in (*sources, shared):
            for file in _files(source):
                name = Path(source.name) / file.relative_to(source)
                _copy(file.read_bytes(), name, done)
            for older in OLDER:
                (target / source.name / older).unlink(missing_ok=True)
        if guide.is_file():
            _copy(folder_files.learners_guide(guide.read_text("utf-8")), Path(guide.name), done)
        for file, content in folder_files.vscode_files(sys.executable).items():
            if not (target / file).exists():  # the learner's own settings stay
                _write_bytes(target / file, content.encode())
                done.added.append(file)
        folder_files.remember(target / ORIGINALS, guide.parent)
    except OSError as error:
        raise UsageError(
            f"{error.filename or target} can't be written ({error.strerror}). Free space there, or "
            "name another folder. The same command continues where it stopped."
        ) from None
    _note_stubs(done)
    return done


def newer_course(own: Handout) -> str:
    """Return a sentence if the folder's course is newer than the folder, once for each update."""
    if not (own.root / ORIGINALS).is_dir():
        return ""
    try:
        sources, guide = _received(own.root, None, None)
        newer = [
            file
            for source in (*sources, guide.parent / SHARED)
            for file in _files(source)
            if _is_new(file, own.root, Path(source.name) / file.relative_to(source))
        ]
        if not newer or not folder_files.is_news(own.root / ORIGINALS, newer):
            return ""
    except (UsageError, CourseError, OSError):  # the course is no longer there
        return ""
    return (
        f"The course is newer than your folder ({counted(len(newer), 'file')}). "
        "Run `autograder start` in your folder: it updates what you have not begun, and keeps "
        "your code."
    )


def _is_new(file: Path, folder: Path, name: Path) -> bool:
    """Whether the course's *file* is not the one that `start` has copied to *name*."""
    known = folder / ORIGINALS / name if _is_learners(name) else folder / name
    return not known.is_file() or file.read_bytes() != known.read_bytes()


def folder_around(here: Path) -> Path | None:
    """Return the learner's folder at or above *here*; None if there is none."""
    inside = here.resolve()
    for folder in (inside, *inside.parents):
        if (folder / PROGRESS_FILE).is_file() and (folder / ORIGINALS).is_dir():
            return folder
    return None


def _note_stubs(done: Started) -> None:
    """Mark the exercises of newly copied stubs as not passed, and save the progress."""
    progress = Progress.read(done.folder)
    new = {*done.added, *done.replaced}
    for stage in handouts(done.folder).stages:
        if stage.stub.relative_to(done.folder) in new:
            for task in tasks_of(stage):
                progress.set_passed(task, passes=False)
            progress.set_checked(stage, digest_of(stage))
    progress.save()
    done.fault = progress.fault


def find(start: Path) -> Handout:
    """Find the learner's folder at, in or around *start*; raise ``UsageError`` if there is none."""
    found = find_stages(start)
    if found is None:
        raise UsageError(
            f"You have no folder in {start.resolve()} yet. Run `autograder start`, "
            f"which creates {DEFAULT}/ with every stage, or give the path of your folder."
        )
    _require_own(found.root)
    return found


def find_stages(start: Path) -> Handout | None:
    """Find the stages that a student received, at, in or around *start*; None if there are none."""
    here = start.resolve()
    own = folder_around(here)  # also in hunt/ and copies/
    if own is not None:
        return handouts(own)
    if is_handout(here):
        around = handouts(here.parent)
        several = len(around.stages) > 1 or (here.parent / PROGRESS_FILE).exists()
        return around if several else handout(here)
    for folder in (here / DEFAULT, here):
        found = handouts(folder)
        if found.file.stages:
            return found
    return None


def released_folder(folder: Path) -> Path:
    """Return the folder for students if *folder* is that of its authored files, else *folder*."""
    if is_handout(folder) or not (folder / STAGE_FILE).is_file():
        return folder
    try:
        course = load(find_root(folder))
    except CourseError:
        return folder
    return next((one.assignment for one in course.every_stage if one.source == folder), folder)


def gone(own: Handout) -> bool:
    """Whether the learner's folder no longer exists."""
    return not own.root.is_dir()


def remember(
    file: Path,
    stage: Stage,
    outcomes: Mapping[str, bool],
    failing: Mapping[str, str] | None = None,
) -> str:
    """Save which exercises of *stage* pass in *file* to the progress of the learner's folder.

    *outcomes* maps each checked exercise to whether it passes, and *failing* to the first check
    that fails. Nothing is saved if the folder has no progress file, or if *file* is not in the
    folder of *stage*. Return a sentence if the file can't be written, otherwise "".
    """
    own = find_stages(file.parent)
    if own is None or not (own.root / PROGRESS_FILE).is_file():
        return ""
    known = [one for one in own.stages if one.name == stage.name]
    if not known or file.resolve().parent != known[0].source:
        return ""
    progress = Progress.read(own.root)
    mine = [one for one in tasks_of(known[0]) if one.exercise.name in outcomes]
    news = [progress.set_passed(task, passes=outcomes[task.exercise.name]) for task in mine]
    if failing is not None:
        news += [progress.set_failing(one, failing.get(one.exercise.name, "")) for one in mine]
    if len(mine) == len(known[0].exercises):
        news.append(progress.set_checked(known[0], digest_of(known[0])))
    if any(news):
        progress.save()
    return progress.fault


def shown_path(file: Path) -> Path:
    """Return *file* relative to the current folder if it is in it, else absolute."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def location(task: Task) -> tuple[Path, int]:
    """Return the learner's module and the line where the exercise begins; 0 if it is unknown."""
    lines = span_of(source_text(task.stage.stub), task.exercise.name)
    return task.stage.stub, lines[0] if lines else 0


def reset_exercise(own: Handout, progress: Progress, task: Task) -> Path | None:
    """Restore the stub of the exercise, and note in *progress* that it is open."""
    was_checked = not progress.is_outdated(task.stage)
    copy = reset(own, task)
    progress.set_passed(task, passes=False)
    if was_checked:  # nothing else has changed
        progress.set_checked(task.stage, digest_of(task.stage))
    progress.save()
    return copy


def reset(own: Handout, task: Task) -> Path | None:
    """Restore the stub of the exercise; return a copy of the module, or None if it was missing."""
    module = task.stage.stub
    original = stub_of(own, task.stage)
    stub = definition_in(original, task.exercise.name)
    if not stub:
        raise UsageError(
            f"The stub of {task.exercise.name} is no longer here. "
            f"Run `autograder start {quoted(own.root)}` in the folder of the course; "
            "it adds the missing files."
        )
    if not module.exists():
        write_text(module, original)
        return None
    text = source_text(module)
    copy = keep_copy(own.root, module.relative_to(own.root))
    try:
        can_be_read = bool(ast.parse(text).body)
    except (SyntaxError, ValueError):
        can_be_read = False
    if not can_be_read:  # the exercise can't be located in it
        write_text(module, original)
        return copy
    lines = lines_of(text)
    first, last = span_of(text, task.exercise.name) or (len(lines) + 1, len(lines))
    before = "".join(lines[: first - 1])
    gap = "" if last >= first or not before else "\n\n"
    write_text(module, f"{before}{gap}{stub}{''.join(lines[last:])}")
    return copy


def stub_of(own: Handout, stage: Stage) -> str:
    """Return the module of *stage* as the learner received it; empty if it is no longer here."""
    return source_text(own.root / ORIGINALS / stage.stub.relative_to(own.root))


def solution(task: Task, root: Path | None = None) -> str:
    """Return the solution of one exercise; raise ``UsageError`` if there is none."""
    stage = solved_stage(task.stage, root)
    text = source_text(stage.solution) if stage else ""
    found = definition_in(text, task.exercise.name)
    if not found:
        raise UsageError(
            "There are no solutions here: your instructor keeps them, and may give them to you "
            "as a wheel. Try `autograder hint`."
        )
    kept = (line for line in lines_of(found) if line.strip() not in MARKERS)
    return "".join(kept).rstrip("\n")


def solved_stage(stage: Stage, root: Path | None = None) -> Stage | None:
    """Return *stage* with the solution from its course or the kit, or None if neither has one.

    The course is the one at *root*, around the folder, or from which the folder was made.
    """
    known = folder_files.remembered(stage.source.parent / ORIGINALS)
    for place in filter(None, (stage.source, known)):
        with contextlib.suppress(CourseError, UsageError):
            found = load(root if root is not None else find_root(place)).stage(stage.name)
            if found.solution.is_file():
                return found
    return _installed_solution(stage)


def _installed_solution(stage: Stage) -> Stage | None:
    """Return *stage* with its solution and lab in the installed wheel, or None without a wheel."""
    try:
        spec = importlib.util.find_spec(SOLUTIONS_PACKAGE)
    except (ImportError, ValueError):
        spec = None
    for folder in (spec and spec.submodule_search_locations) or ():
        found = Stage(Path(folder), stage.name, stage.file)
        if found.solution.is_file():
            return found
    return None


def _received(own: Path, here: Path | None, root: Path | None) -> tuple[list[Path], Path]:
    """List the stages for the folder *own*, and the guide; *here* is None inside it."""
    try:
        course = load(root if root is not None else find_root(here or own.parent))
    except CourseError:
        if root is not None:
            raise
        return _unpacked(own, here)
    missing = [stage for stage in course.every_stage if not is_handout(stage.assignment)]
    if missing:
        msg = f"{missing[0].assignment} is not built yet: run `autograder release` first."
        raise UsageError(msg)
    sources = [stage.assignment for stage in course.every_stage]
    return sources, course.root / ASSIGNMENTS / GUIDE


def _unpacked(own: Path, here: Path | None) -> tuple[list[Path], Path]:
    """List the stages in *here*, remembered by *own*, or installed; also return the guide."""
    here = here.resolve() if here else None
    if here and is_handout(here):
        return [here], here.parent / GUIDE
    known = folder_files.remembered(own / ORIGINALS)
    places = (here, known, None if here else own.parent, installed_handouts())
    for folder in filter(None, places):
        is_own = (folder / PROGRESS_FILE).exists()  # the learner may have changed these copies
        found = [] if is_own else [stage.source for stage in handouts(folder).stages]
        if found:
            return found, folder / GUIDE
    raise UsageError(
        f"There is no course and no stage in {here or own.parent}, and none in the installed kit. "
        "Go to the folder that you cloned or unpacked, and run `autograder start` there."
    )


def _require_own(folder: Path) -> None:
    """Raise ``UsageError`` for a folder that `release` writes: work in it could be lost."""
    try:
        course = find_root(folder)
    except CourseError:  # the folder is not in a course
        return
    if folder == course or folder.relative_to(course).parts[0] in BUILT:
        raise UsageError(
            f"{folder} belongs to the course, and `autograder release` writes there. "
            "Run `autograder start` to create your own folder, and work there."
        )


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files that students receive: no links, no caches, no dotfiles."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield path


def _copy(content: bytes, name: Path, done: Started) -> None:
    """Write the file *name*, but keep a module or lab that the learner has changed."""
    target, original = done.folder / name, done.folder / ORIGINALS / name
    theirs = _is_learners(name)
    present = retrying(target.read_bytes) if target.is_file() else None
    received = retrying(original.read_bytes) if original.is_file() else None
    unchanged = present == received
    if theirs:
        _write_bytes(original, content)
    if present == content:
        return
    if present is not None and theirs and not unchanged:
        done.kept.append(name)
        if received not in {None, content}:
            _merge(target, name, received or b"", content, done)
        return
    if present is not None and not theirs:
        keep_copy(done.folder, name)
    elif present is not None and name.suffix == ".py":
        text = present.decode()
        done.changes += updated(text, content.decode(), text, str(name)).sentences
    (done.added if present is None else done.replaced).append(name)
    _write_bytes(target, content)


def _is_learners(name: Path) -> bool:
    """Whether the learner works in the file *name*: a module or a lab, but not a suite."""
    is_course = name.parts[0] == SHARED or name.name.startswith("test_")
    return name.suffix in {".py", ".ipynb"} and not is_course


def _merge(target: Path, name: Path, received: bytes, content: bytes, done: Started) -> None:
    """Bring the learner's file *name* up to date where it is not begun, and note all changes."""
    if name.suffix != ".py":
        done.changes.append(f"{name} has changed; your copy stays. New: {ORIGINALS}/{name}")
        return
    mine = source_text(target)
    new = updated(received.decode(), content.decode(), mine, str(name))
    done.changes += new.sentences
    if new.text != mine:
        keep_copy(done.folder, name)
        write_text(target, new.text)


def keep_copy(folder: Path, name: Path) -> Path:
    """Copy the file *name* of *folder* to a new name below ``COPIES``."""
    now = datetime.now().astimezone()
    stamp = f"{name.stem}-{now:%Y%m%d-%H%M%S-%f}{name.suffix}"
    copy = folder / COPIES / name.parent / stamp
    copy.parent.mkdir(parents=True, exist_ok=True)
    retrying(lambda: shutil.copyfile(folder / name, copy))
    return copy


def write_text(path: Path, text: str) -> None:
    """Write *text* to *path* atomically, and create its folder."""
    _write_bytes(path, text.encode())


def _write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)


def source_text(path: Path) -> str:
    """Return the text of *path*, in UTF-8 or UTF-16; empty if it can't be read."""
    try:
        data = retrying(path.read_bytes)
        text = from_utf16(data)
        text = data.decode("utf-8-sig") if text is None else text
    except (OSError, UnicodeDecodeError):
        return ""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
