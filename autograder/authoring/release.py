"""Build what students receive, in one direction: solutions → source → assignments.

nbgrader ships every file of ``source/<stage>/`` as it stands and strips notebooks only, so
nothing of a solution or a hidden suite may ever lie there. Of the misconceptions, students receive
fingerprints: numbers, which cost time to make, so that a digest of their sources tells if they are
stale.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.authoring import lab_notebook, markers
from autograder.course import Course, Stage
from autograder.errors import CourseError

FINGERPRINTS_VERSION = 1  # one more whenever the same sources would give another file


def plan(course: Course) -> dict[Path, bytes]:
    """Return what every built file should hold; raises ``CourseError`` if it gave secrets away.

    Fingerprints are taken as they are; ``stale`` knows if they should be made anew.
    """
    built: dict[Path, bytes] = {}
    for stage in course.stages:
        stub = markers.strip(_read_solution(stage), str(stage.solution)).encode()
        authored = [path for path in _files(stage.source) if path != stage.stub]
        for path in authored:
            _refuse_secrets(path, course, stage)
        built[stage.stub] = stub
        built[stage.assignment / stage.stub.name] = stub
        for path in authored:
            built[stage.assignment / path.relative_to(stage.source)] = path.read_bytes()
    for stage, points in _points(course):
        built[stage.lab] = lab_notebook.authored(stage.lab, points)
        built[stage.assignment / stage.lab.name] = lab_notebook.released(built[stage.lab])
    return built


def _points(course: Course) -> list[tuple[Stage, dict[str, float]]]:
    """Add up the hidden checks of each exercise, for the stages that have a lab."""
    stages = [stage for stage in course.stages if stage.lab.is_file()]
    if not stages:
        return []
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch, for labs only

    with open_suites(course, stages) as runner:
        return [(stage, runner.points(stage)) for stage in stages]


def stale(course: Course) -> tuple[Path, ...]:
    """Name every built file that is missing, differs, or should not be there."""
    unprinted = {stage.fingerprints for stage in _unprinted(course)}
    return tuple(sorted({*_stale(course, plan(course)), *unprinted}))


def build(course: Course) -> tuple[Path, ...]:
    """Write what is stale, remove what is surplus, and name both."""
    built = plan(course)  # refuses before anything is written
    printed = tuple(_build_fingerprints(course, _unprinted(course)))
    built |= {_handed_out(path, course): path.read_bytes() for path in printed}
    changed = _stale(course, built)
    for path in changed:
        if path in built:
            _write(path, built[path])
        else:
            path.unlink()
    return tuple(sorted({*changed, *printed}))


def leaks(course: Course) -> Iterator[str]:
    """Say where a line of a stage's solution stands in a file that its students receive.

    What the author lets students read in the public suite is no secret elsewhere.
    """
    for stage in course.stages:
        secret = markers.secrets(_read_solution(stage), str(stage.solution))
        secret -= {markers.bare(line) for _, line in _lines_of(stage.public_suite)}
        for folder in (stage.source, stage.assignment):
            for path in _everything(folder):
                for place, line in _lines_of(path):
                    if markers.bare(line) in secret:
                        yield f"{path}:{place}: a line of the solution, {markers.bare(line)!r}."


def made_from(stage: Stage) -> str:
    """Return the digest of what the fingerprints of *stage* are made from."""
    total = hashlib.sha256(b"%d" % FINGERPRINTS_VERSION)
    for path in (stage.solution, stage.misconceptions, stage.public_suite):
        content = path.read_bytes()
        total.update(b":%d:" % len(content) + content)
    return total.hexdigest()


def _unprinted(course: Course) -> list[Stage]:
    """List the stages whose fingerprints are missing or made from other sources."""
    return [
        stage
        for stage in course.stages
        if stage.misconceptions.is_file()
        and stage.public_suite.is_file()
        and _told_source(stage.fingerprints) != made_from(stage)
    ]


def _told_source(path: Path) -> str:
    if path.is_symlink():
        return ""
    try:
        return str(json.loads(path.read_bytes())["made_from"])
    except (OSError, ValueError, KeyError, TypeError):  # whatever it is, it is not ours
        return ""


def _build_fingerprints(course: Course, stages: Sequence[Stage]) -> Iterator[Path]:
    if not stages:
        return
    from autograder.diagnosis import fingerprints  # noqa: PLC0415  # imports torch, for this step only
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # likewise

    with open_suites(course, stages, public=True) as runner:
        for stage in stages:
            known = fingerprints.make(
                stage, runner.checks(stage.name), runner.run, made_from(stage)
            )
            _write(stage.fingerprints, fingerprints.to_json(known))
            yield stage.fingerprints


def _handed_out(path: Path, course: Course) -> Path:
    """Return where students receive what is built at *path*, below ``source/``."""
    stage = next(stage for stage in course.stages if path.is_relative_to(stage.source))
    return stage.assignment / path.relative_to(stage.source)


def texts(path: Path) -> list[str]:
    """List every line of every string in the JSON file at *path*; none if it is no JSON."""
    try:
        strings = _strings(json.loads(_text(path)))
        return [markers.bare(line) for text in strings for line in text.split("\n")]
    except ValueError:
        return []


def _stale(course: Course, built: dict[Path, bytes]) -> tuple[Path, ...]:
    outdated = {path for path, content in built.items() if not _holds(path, content)}
    present = {path for stage in course.stages for path in _files(stage.assignment)}
    return tuple(sorted(outdated | (present - built.keys())))


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def _files(folder: Path) -> list[Path]:
    """List what *folder* has to hand out: caches and dotfiles stay at home."""
    return [
        path
        for path in _everything(folder)
        if not any(
            part.startswith(".") or part == "__pycache__" for part in path.relative_to(folder).parts
        )
    ]


def _everything(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def _read_solution(stage: Stage) -> str:
    try:
        return stage.solution.read_text("utf-8")
    except FileNotFoundError as error:
        msg = f"{stage.solution} is missing; stage {stage.name} needs it for its stub."
        raise CourseError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{stage.solution} is not UTF-8: {error}."
        raise CourseError(msg) from error


def _refuse_secrets(path: Path, course: Course, stage: Stage) -> None:
    """Raise ``CourseError`` if *path*, below ``source/``, is not for students' eyes."""
    if path.is_symlink():
        msg = f"{path} is a link, which may lead anywhere; put a copy in its place."
        raise CourseError(msg)
    is_suite = path.match("test_*.py") and path != stage.public_suite
    if is_suite or path.name in {stage.misconceptions.name, course.documented.name}:
        msg = f"{path} would reach students; move it to {stage.hidden}."
        raise CourseError(msg)
    for line in markers.traces(_text(path)):
        msg = f"{path}:{line}: a marker hides something here; move that to {stage.solution}."
        raise CourseError(msg)


def _lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line with its place: its number, or that of its cell, or of its string in JSON."""
    if not path.is_file():
        return
    if path.suffix == ".json":
        yield from _lines_of_json(path)
    try:
        cells = json.loads(_text(path))["cells"] if path.suffix == ".ipynb" else None
    except (ValueError, KeyError, TypeError):  # no notebook, whatever its name says
        cells = None
    if cells is None:
        for number, line in enumerate(_text(path).split("\n"), start=1):
            yield str(number), line
        return
    for number, cell in enumerate(cells, start=1):
        for text in _strings(cell):
            for line in text.split("\n"):
                yield f"cell {number}", line


def _lines_of_json(path: Path) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts(path), start=1):
        yield f"string {number}", text


def _strings(value: object) -> Iterator[str]:
    """Yield every string in decoded JSON: a cell's source, its outputs, its metadata."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from _strings(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")  # figures are searched like anything else


def _write(path: Path, content: bytes) -> None:
    """Put *content* in place at once, so that a broken run leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
