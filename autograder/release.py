"""Build what students receive, in one direction: solutions → source → assignments.

nbgrader ships every file of ``source/<stage>/`` as it stands and strips notebooks only, so
nothing of a solution or a hidden suite may ever lie there.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from autograder import markers
from autograder.course import Course, Stage
from autograder.errors import CourseError


def plan(course: Course) -> dict[Path, bytes]:
    """Return what every built file should hold; raises ``CourseError`` if it gave secrets away."""
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
    return built


def stale(course: Course) -> tuple[Path, ...]:
    """Name every built file that is missing, differs, or should not be there."""
    return _stale(course, plan(course))


def build(course: Course) -> tuple[Path, ...]:
    """Write what is stale, remove what is surplus, and name both."""
    built = plan(course)
    changed = _stale(course, built)
    for path in changed:
        if path in built:
            _write(path, built[path])
        else:
            path.unlink()
    return changed


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
    if is_suite or path.name in {stage.misconceptions.name, course.ledger.name}:
        msg = f"{path} would reach students; move it to {stage.hidden}."
        raise CourseError(msg)
    for line in markers.traces(_text(path)):
        msg = f"{path}:{line}: a marker hides something here; move that to {stage.solution}."
        raise CourseError(msg)


def _lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line with its place: its number, or in a notebook its cell's."""
    if not path.is_file():
        return
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


def _strings(value: object) -> Iterator[str]:
    """Yield every string in decoded JSON: a cell's source, its outputs, its metadata."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
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
