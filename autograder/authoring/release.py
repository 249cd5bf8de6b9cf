"""Builds what students receive, in one direction: solutions → source → assignments.

nbgrader copies every file of ``source/<stage>/`` unchanged and strips notebooks only, so no
solution and no hidden check may ever be there. Students receive the checks that are not hidden,
with a record of what the solution replies to them, and fingerprints instead of misconceptions.
Record and fingerprints are numbers that take time to compute, so a digest of their sources shows
whether they are stale.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.authoring import lab_notebook, markers, public_suite, stated_rules
from autograder.course import Course, Stage
from autograder.errors import CourseError

RECORDS_VERSION = 3  # add one when the same sources would give another record or fingerprints


def plan(course: Course) -> dict[Path, bytes]:
    """Return the content of every built file; raises ``CourseError`` if one held secrets.

    Records and fingerprints are taken from the disk; ``outdated_stages`` says which are stale.
    """
    built: dict[Path, bytes] = {}
    for stage in course.stages:
        stub = stub_of(stage).encode()
        suite = public_suite_of(stage).encode()
        for path, content in ((stage.stub, stub), (stage.public_suite, suite)):
            built |= {path: content, stage.assignment / path.name: content}
        for path in _visible_files(stage.source):
            if path not in built:
                _reject_secrets(path, course, stage)
                built[stage.assignment / path.relative_to(stage.source)] = path.read_bytes()
    for stage, points in _points_of_labs(course):
        lab = lab_notebook.build_source_lab(stage.lab, points)
        student_lab = lab_notebook.build_student_lab(lab)
        built |= {stage.lab: lab, stage.assignment / stage.lab.name: student_lab}
    return built


def stub_of(stage: Stage) -> str:
    """Return the text of the stub of *stage*, with the rules that its checks grade."""
    stub = markers.strip_solutions(_read_solution(stage), str(stage.solution))
    return stated_rules.add_rules(stub, stage, _read(stage.hidden_suite, "its rules"))


def public_suite_of(stage: Stage) -> str:
    """Return the text of the public suite of *stage*."""
    shared = stage.shared_fixtures
    fixtures = shared.read_text("utf-8") if shared.is_file() else ""
    suite = _read(stage.hidden_suite, "its checks")
    return public_suite.build(suite, fixtures, stage.hidden_suite.name)


def _points_of_labs(course: Course) -> list[tuple[Stage, dict[str, float]]]:
    """Add up the hidden checks of each exercise, for the stages that have a lab."""
    stages = [stage for stage in course.stages if stage.lab.is_file()]
    if not stages:
        return []
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch, for labs only

    with open_suites(course, stages) as runner:
        return [(stage, runner.points(stage)) for stage in stages]


def stale(course: Course) -> tuple[Path, ...]:
    """Return every built file that is missing, differs, or is surplus."""
    records = {path for stage in outdated_stages(course) for path in _records(stage)}
    return tuple(sorted({*_changed_files(course, plan(course)), *records}))


def build(course: Course) -> tuple[Path, ...]:
    """Write stale files and remove surplus ones; return the paths of both."""
    built = plan(course)  # raises before anything is written
    outdated = outdated_stages(course)
    _build_records(course, outdated)
    records = {path for stage in outdated for path in _records(stage)}
    for path in records:
        built[course.root / "assignments" / path.parent.name / path.name] = path.read_bytes()
    changed = _changed_files(course, built)
    for path in changed:
        if path in built:
            _write(path, built[path])
        else:
            path.unlink()
    return tuple(sorted({*changed, *records}))


def leaks(course: Course) -> Iterator[str]:
    """Report each line of a stage's solution that is in a file for its students."""
    for stage in course.stages:
        secret = markers.secret_lines(_read_solution(stage), str(stage.solution))
        for folder in (stage.source, stage.assignment):
            for path in _all_files(folder):
                for place, line in _located_lines(path):
                    if (bare := markers.bare_line(line)) in secret:
                        yield f"{path}:{place}: a line of the solution, {bare!r}."


def outdated_stages(course: Course) -> list[Stage]:
    """List the stages whose record or fingerprints are missing, or come from other sources."""
    return [
        stage
        for stage in course.stages
        if {_recorded_digest(path) for path in _records(stage)} != {sources_digest(stage)}
    ]


def _records(stage: Stage) -> tuple[Path, ...]:
    """Return the files of numbers of *stage*; without misconceptions there are no fingerprints."""
    record = stage.public_record
    return (record, stage.fingerprints) if stage.misconceptions.is_file() else (record,)


def sources_digest(stage: Stage) -> str:
    """Return the digest of the files from which record and fingerprints of *stage* are computed."""
    total = hashlib.sha256(b"%d" % RECORDS_VERSION)
    for path in (
        stage.solution,
        stage.hidden_suite,
        stage.shared_fixtures,
        stage.documented,
        stage.misconceptions,
    ):
        content = path.read_bytes() if path.is_file() else b""
        total.update(b":%d:" % len(content) + content)
    return total.hexdigest()


def _recorded_digest(path: Path) -> str:
    """Return the digest in the built file at *path*; empty if it can't be read."""
    if path.is_symlink():
        return ""
    try:
        return str(json.loads(path.read_bytes())["made_from"])
    except (OSError, ValueError, KeyError, TypeError):  # ``release`` did not write it
        return ""


def _build_records(course: Course, stages: Sequence[Stage]) -> None:
    if not stages:
        return
    from autograder.authoring.recording import open_recorder  # noqa: PLC0415  # imports torch, for this step only

    with open_recorder(course, stages) as recorder:
        for stage in stages:
            digest = sources_digest(stage)
            known_text = public_suite_of(stage) + stub_of(stage)
            _write(stage.public_record, recorder.record_json(stage, digest, known_text))
            if stage.misconceptions.is_file():
                _write(stage.fingerprints, recorder.fingerprints_json(stage, digest))


def _changed_files(course: Course, built: dict[Path, bytes]) -> tuple[Path, ...]:
    """Return the files that differ from *built*, and the surplus files of the assignments."""
    outdated = {path for path, content in built.items() if not _has_content(path, content)}
    present = {path for stage in course.stages for path in _visible_files(stage.assignment)}
    return tuple(sorted(outdated | (present - built.keys())))


def _has_content(path: Path, content: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def _visible_files(folder: Path) -> list[Path]:
    """List the files of *folder* that students receive: no caches, no dotfiles."""
    return [
        path
        for path in _all_files(folder)
        if not any(
            part.startswith(".") or part == "__pycache__" for part in path.relative_to(folder).parts
        )
    ]


def _all_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def _read_solution(stage: Stage) -> str:
    return _read(stage.solution, "its stub")


def _read(path: Path, purpose: str) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        msg = f"{path} is missing; stage {path.parent.name} needs it for {purpose}."
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8: {error}."
    raise CourseError(msg)


def _reject_secrets(path: Path, course: Course, stage: Stage) -> None:
    """Raise ``CourseError`` if students must not receive *path*, a file below ``source/``."""
    if path.is_symlink():
        msg = f"{path} is a link, which may lead anywhere; replace it with a copy."
        raise CourseError(msg)
    is_suite = path.match("test_*.py") and path != stage.public_suite
    if is_suite or path.name in {stage.misconceptions.name, course.documented.name}:
        msg = f"{path} would reach students; move it to {stage.hidden}."
        raise CourseError(msg)
    for line in markers.marker_lines(_read_text(path)):
        msg = f"{path}:{line}: a marker here means hidden code; move that to {stage.solution}."
        raise CourseError(msg)


def _located_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line with its place: its number, the number of its cell, or of its string."""
    if not path.is_file():
        return
    text = _read_text(path)
    if path.suffix == ".json":
        for number, line in enumerate(json_lines(path), start=1):
            yield f"string {number}", line
    try:
        cells = json.loads(text)["cells"] if path.suffix == ".ipynb" else None
    except (ValueError, KeyError, TypeError):  # not a notebook, in spite of its name
        cells = None
    if cells is None:
        for number, line in enumerate(text.split("\n"), start=1):
            yield str(number), line
        return
    for number, cell in enumerate(cells, start=1):
        for line in _lines_of_strings(cell):
            yield f"cell {number}", line


def json_lines(path: Path) -> list[str]:
    """List every line of every string in the JSON file at *path*; none if it is not JSON."""
    try:
        return [markers.bare_line(line) for line in _lines_of_strings(json.loads(_read_text(path)))]
    except ValueError:
        return []


def _lines_of_strings(value: object) -> Iterator[str]:
    """Yield every line of every string in decoded JSON, such as a cell with its metadata."""
    if isinstance(value, str):
        yield from value.split("\n")
    elif isinstance(value, dict):
        yield from _lines_of_strings([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _lines_of_strings(item)


def _read_text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")  # figures are searched like other files


def _write(path: Path, content: bytes) -> None:
    """Replace *path* at once, so that an interrupted run leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
