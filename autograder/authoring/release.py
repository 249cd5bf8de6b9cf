"""Builds the files for students, in one direction: solutions and source → assignments.

Students receive every file of ``source/<stage>/``, so that folder must never contain a solution or
a hidden check. They receive the checks that are not hidden, with records of the results of the
solution and of wrong programs. Records take minutes to compute, so a digest of their sources shows
whether they are stale. A built module that somebody has edited is kept; it differs from the digest
of the last built stub.
"""

import ast
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from autograder.authoring import lab_notebook, public_suite, stubs
from autograder.course import ASSIGNMENTS, GUIDE, MADE, MISTAKES, RECORDS, Course, Stage
from autograder.course_file import USUAL_GROUPS
from autograder.diagnosis import misconceptions, mistake_texts, mistakes
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.disk import replace_file
from autograder.errors import CourseError, UsageError
from autograder.suite import documented, records

TEMPLATES: Final = Path(__file__).parent / "templates"

PARTS: Final = "a module that you complete, and checks that you run yourself"
PARTS_WITH_LABS: Final = (
    "a module that you complete, a lab that guides you through it, and checks that you run yourself"
)
LABS: Final = "To open the lab of a stage, run `jupyter lab` in its folder in `my-work`.\n"
HUNT: Final = (
    "| `autograder hunt STAGE` | hides a mistake in a copy of your code for a finished stage: find "
    "it, and write a test that catches it |\n"
)
PREPARE: Final = "before-you-start.md"  # a page in the folder of the course's modules
PREPARED: Final = f"\n[Before you start](course/{PREPARE}) has questions on what you need to know."
ONE_FILE: Final = "In a class, submit the module of the stage, such as `GRADED`."
TWO_FILES: Final = (
    "In a class, submit two files for each graded stage: the module, such as `GRADED`, and "
    "`lab.ipynb` in the same folder, which has the questions that you answer in words."
)


def guide(course: Course, stages: Sequence[Stage], wheel: str = "") -> bytes:
    """Return the guide to the *stages* of *course*, with the minutes that they take.

    *wheel* is the file name of the kit's wheel next to the guide; without it, the guide is for a
    clone. `autograder start` replaces the part about the installation in a learner's folder.
    """
    has_labs = any(stage.lab.is_file() for stage in stages)
    stage = next((one for one in stages if one in course.stages), stages[0])
    words = {
        "TITLE": course.file.title,
        "GRADED": f"my-work/{stage.name}/{stage.module}.py",
        "EXTRA": "[lab]" if has_labs else "",
        "PARTS": PARTS_WITH_LABS if has_labs else PARTS,
        "HUNT": HUNT if any(stage.file.picture for stage in stages) else "",
        "PREPARE": PREPARED if (course.shared_source / PREPARE).is_file() else "",
        "WHEEL": wheel,
        "STAGES": "\n".join(_rows(stages)),
        "ROADS": "".join(_roads(stages)),
    }
    how = _template("install_wheel" if wheel else "install_clone")
    install = _template("install").replace("HOW", how)
    submit = TWO_FILES if has_labs and course.grading.written else ONE_FILE
    labs = (LABS if has_labs else "") + submit
    text = _template("start_here").replace("INSTALL", install).replace("LABS", labs)
    return re.sub("|".join(words), lambda word: words[word[0]], text).encode() + b"\n"


def read_template(name: str) -> str:
    """Return the text of the template *name*."""
    return (TEMPLATES / name).read_text("utf-8")


def _template(name: str) -> str:
    return read_template(f"{name}.md").rstrip("\n")


def _roads(stages: Sequence[Stage]) -> Iterator[str]:
    names = list(dict.fromkeys(stage.file.road for stage in stages if stage.file.road))
    if len(names) < 2:  # noqa: PLR2004  # one road is the course
        return
    yield "\nThe stages form several roads. Before a stage, take the stages that it needs:\n\n"
    for name in names:
        those = [stage for stage in stages if stage.file.road == name]
        hours = round(sum(stage.minutes for stage in those) / 60)
        wanted = {one for stage in those for one in stage.file.prerequisites}
        needed = _numbers(one for one in stages if one.name in wanted and one not in those)
        more = f"; needs {needed}" if needed else ""
        yield f"- *{name}*: {_numbers(those)} (about {hours} hours){more}\n"


def _numbers(stages: Iterable[Stage]) -> str:
    return ", ".join(stage.name.partition("_")[0] for stage in stages)


def _rows(stages: Sequence[Stage]) -> Iterator[str]:
    for stage in stages:
        yield f"| {stage.name} | {stage.title} | {len(stage.exercises)} | {stage.minutes} |"


Report = Callable[[str], None]  # gets a line of progress; must be picklable
RECORDS_VERSION = 14  # increase it when the same sources would give different numbers


class _Recorded(msgspec.Struct):
    """The ids of the misconceptions in the evidence of a file of records."""

    mistakes: tuple[str, ...]


def plan(course: Course, stages: Sequence[Stage] = ()) -> dict[Path, bytes]:
    """Return the content of every built file; raise ``CourseError`` if one contains secrets.

    Records are read from disk; ``outdated_stages`` lists the stale ones. With *stages*, only their
    files and the guide are built, and the digests of other stubs stay.
    """
    chosen = stages or course.every_stage
    built: dict[Path, bytes] = {}
    digests = _known_digests(course) if stages else {}
    for stage in chosen:
        stub = stub_of(stage).encode()
        digests[stage.name] = hashlib.sha256(stub).hexdigest()
        built |= {stage.stub: stub, stage.public_suite: public_suite_of(stage).encode()}
        built |= _mistakes(stage)
        own = [*built, stage.records, stage.mistakes]
        built |= _copies(course, stage.source, stage.assignment, own)
    for stage, points in _points_of_labs(course, chosen):
        lab = lab_notebook.build_source_lab(stage.lab, points)
        student_lab = lab_notebook.build_student_lab(lab, written=stage.written)
        built[stage.assignment / stage.lab.name] = student_lab
    built |= _copies(course, course.shared_source, course.shared)
    built[course.root / ASSIGNMENTS / GUIDE] = guide(course, course.every_stage)
    built[_stub_digests(course)] = json.dumps(digests, indent=2).encode() + b"\n"
    return built


def _mistakes(stage: Stage) -> dict[Path, bytes]:
    recorded = records.find(stage.records, "evidence", _Recorded)
    if recorded is None:
        return {}
    texts = mistake_texts.of_stage(stage, recorded.mistakes)
    return {stage.mistakes: mistake_texts.to_toml(texts)}


def _copies(
    course: Course, source: Path, target: Path, built: Collection[Path] = ()
) -> dict[Path, bytes]:
    """Return the files of *source* by their paths in *target*; raise ``CourseError`` for secrets.

    It is an error if *source* contains one of the *built* files.
    """
    copies = {target / path.relative_to(source): path for path in visible_files(source)}
    for copy, path in copies.items():
        if copy in built:
            msg = f"{path} has the name of a file that `release` builds as {copy}; delete it."
            raise CourseError(msg)
        _reject_secrets(path, course)
    return {copy: path.read_bytes() for copy, path in copies.items()}


def edited_modules(course: Course, stages: Sequence[Stage] = ()) -> list[Path]:
    """List the modules of *stages*, by default all, that were edited after they were built."""
    known = _known_digests(course)
    return [
        stage.stub
        for stage in stages or course.every_stage
        if stage.stub.is_file()
        and not stage.stub.is_symlink()
        and hashlib.sha256(stage.stub.read_bytes()).hexdigest() != known.get(stage.name)
        and stage.stub.read_bytes() != stub_of(stage).encode()
    ]


def kept(course: Course, stages: Sequence[Stage] = ()) -> Iterator[str]:
    """Report that each edited module is kept, with the command to run."""
    for path in edited_modules(course, stages):
        yield (
            f"{path} was edited, so `release` keeps it, but students must not receive it. "
            "Move your code to your own folder (`autograder start`), "
            "then delete this file and run `autograder release`."
        )


def _stub_digests(course: Course) -> Path:
    return course.root / ASSIGNMENTS / "stubs.json"


def _known_digests(course: Course) -> dict[str, str]:
    try:
        known: dict[str, str] = json.loads(_stub_digests(course).read_bytes())
    except (OSError, ValueError):  # nothing is known, so each module may be somebody's work
        return {}
    return known


def stub_of(stage: Stage) -> str:
    """Return the text of the stub of *stage*, with the rules that its checks grade."""
    stub = stubs.strip_solutions(_read_solution(stage), str(stage.solution))
    return stubs.add_rules(stub, stage, _read(stage.hidden_suite, "its rules"))


def public_suite_of(stage: Stage) -> str:
    """Return the text of the public suite of *stage*."""
    shared = stage.shared_fixtures
    fixtures = shared.read_text("utf-8") if shared.is_file() else ""
    suite = _read(stage.hidden_suite, "its checks")
    suite = public_suite.write_out_lists(suite, stage.hidden_suite)
    return public_suite.build(suite, fixtures, stage.hidden_suite.name)


def _points_of_labs(course: Course, among: Sequence[Stage]) -> list[tuple[Stage, dict[str, float]]]:
    """Return the points of each exercise, for each stage with a lab."""
    stages = [stage for stage in among if stage.lab.is_file()]
    if not stages:
        return []
    from autograder.grading.suite_runner import open_suites  # noqa: PLC0415  # imports torch, and only labs need it

    with open_suites(course, stages) as runner:
        points = [(stage, runner.points(stage)) for stage in stages]
    return [
        (stage, found if stage.file.graded else dict.fromkeys(found, 0.0))
        for stage, found in points
    ]


def stale(course: Course, stages: Sequence[Stage] = ()) -> tuple[Path, ...]:
    """Return every built file that is missing, different or surplus, except edited modules.

    With *stages*, only their files are listed.
    """
    outdated = outdated_stages(stages or course.every_stage)
    computed = {path for stage in outdated for path in (stage.records, stage.mistakes)}
    return tuple(sorted({*_changed_files(course, plan(course, stages), stages), *computed}))


def no_report(_line: str) -> None:
    """Ignore a line of progress."""


def build(
    course: Course, stages: Sequence[Stage] = (), report: Report = no_report
) -> tuple[Path, ...]:
    """Write stale files and remove surplus files; return the paths of all of them.

    Edited modules stay as they are. With *stages*, only their files are written or removed.
    """
    built = plan(course, stages)  # raises before anything is written
    outdated = outdated_stages(stages or course.every_stage)
    _build_records(course, outdated, report)
    for stage in outdated:
        built |= _mistakes(stage)
    changed = _changed_files(course, built, stages)
    for path in changed:
        if path in built:
            _write(path, built[path])
        else:
            path.unlink()
    return tuple(sorted({*changed, *(stage.records for stage in outdated)}))


def left_out(paths: Iterable[Path]) -> Iterator[str]:
    """Report, for each file of records in *paths*, how many results are undecided."""
    for path in (path for path in paths if path.name == RECORDS):
        known = records.plain(path)["evidence"]
        count = sum(map(len, known["undecided"].values()))
        shown = sum(len(of) for prints in known["prints"].values() for *_, of in prints)
        if count:
            yield (
                f"{path.parent.name}: {count} of {count + shown} failures of wrong programs are "
                f"left out of {path.name}: rounding could decide their answers."
            )


def leaks(course: Course) -> Iterator[str]:
    """Report each line of a stage's solution that occurs in a file for students.

    Edited modules are skipped, because a learner's own code is not a leak; ``kept`` reports them.
    """
    edited = set(edited_modules(course))
    for stage in course.every_stage:
        secret = stubs.secret_lines(_read_solution(stage), str(stage.solution))
        for folder in (stage.source, stage.assignment, course.shared_source, course.shared):
            for path in (path for path in _all_files(folder) if path not in edited):
                for place, line in _located_lines(path):
                    if (bare := stubs.bare_line(line)) in secret:
                        yield f"{path}:{place}: a line of the solution, {bare!r}."


def outdated_stages(stages: Iterable[Stage]) -> list[Stage]:
    """List the stages whose records are missing or made from other sources."""
    return [stage for stage in stages if records.made_from(stage.records) != sources_digest(stage)]


def sources_digest(stage: Stage) -> str:
    """Return the digest of the sources of the records of *stage*; no sentence is part of it."""
    total = hashlib.sha256(b"%d" % RECORDS_VERSION)
    paths = (stage.solution, stage.hidden_suite, stage.shared_fixtures)
    contents = [path.read_bytes() if path.is_file() else b"" for path in paths]
    contents += [_without_imports(path.read_bytes()) for path in _rules_of_kinds(stage)]
    for content in (*contents, _documented_of(stage), _mistakes_of(stage)):
        total.update(b":%d:" % len(content) + content)
    return total.hexdigest()


def _without_imports(source: bytes) -> bytes:
    """Return a module without what changes no program: its imports and docstrings."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [b""] * (last - first)
    return b"\n".join(filter(None, lines))


def _mistakes_of(stage: Stage) -> bytes:
    """Return the code of the misconceptions, also of copies, and the kinds that are turned off."""
    bank = misconceptions.known_in(stage)
    words = misconceptions.read_operators(stage)
    code = [(item.id, item.exercise, item.swaps, item.code) for item in bank]
    off = (kind for kind, said in words.items() if not said)
    usual = sorted(kind for kind in off if KINDS[kind].group in USUAL_GROUPS)
    return msgspec.json.encode([code, usual])


def _documented_of(stage: Stage) -> bytes:
    if not stage.documented.is_file():
        return b""
    tensors = _tensors(stage.documented, stage.documented.read_bytes())
    used = (tensor for tensor in tensors if stage.name in tensor.stage)
    fields = [msgspec.to_builtins(replace(tensor, stage=())) for tensor in used]
    for one in fields:
        if one["form"] == documented.TENSOR:  # as before there were other forms
            del one["form"]
    return msgspec.json.encode(fields)


@lru_cache(maxsize=1)  # all stages of a course have the same file
def _tensors(path: Path, _content: bytes) -> Sequence[documented.DocumentedTensor]:
    return list(documented.read(path).values())


def _rules_of_kinds(stage: Stage) -> list[Path]:
    """List the files that define the kinds of mistake of *stage* and make programs from them."""
    folder = Path(mistakes.__file__).parent
    others = ["programs.py", "stage_mistakes.py", "vocabulary.py"]
    more = sorted({*stage.kinds} - {*USUAL_GROUPS})
    others += ["group_mistakes.py", *(f"{group}_mistakes.py" for group in more)] if more else []
    return [*sorted(folder.glob("*.py")), *map(folder.with_name, others)]


def _build_records(course: Course, stages: Sequence[Stage], report: Report) -> None:
    if not stages:
        return
    from autograder.authoring.recording import in_processes  # noqa: PLC0415  # imports torch, and only this step needs it

    in_processes(partial(_write_records, course, report), stages)


def _write_records(course: Course, report: Report, stages: Sequence[Stage]) -> None:
    from autograder.authoring.recording import open_recorder  # noqa: PLC0415  # imports torch

    with open_recorder(course, stages) as recorder:
        for stage in stages:
            report(f"{stage.name}: computing the records")
            known_text = public_suite_of(stage) + stub_of(stage)
            content = recorder.content(stage, sources_digest(stage), known_text)
            _write(stage.records, content)


def _changed_files(
    course: Course, built: dict[Path, bytes], stages: Sequence[Stage]
) -> tuple[Path, ...]:
    outdated = {path for path, content in built.items() if not has_content(path, content)}
    among = stages or course.every_stage
    folders = [course.shared, *(stage.assignment for stage in among)]
    present = {path for folder in folders for path in visible_files(folder)}
    computed = {path for stage in among for path in (stage.records, stage.mistakes)}
    made = {*visible_files(course.shared / MADE)}
    surplus = present - built.keys() - computed - made
    return tuple(sorted((outdated | surplus) - set(edited_modules(course))))


def has_content(path: Path, content: bytes) -> bool:
    """Whether *path* is a file, and not a link, with this *content*."""
    return path.is_file() and not path.is_symlink() and path.read_bytes() == content


def visible_files(folder: Path) -> list[Path]:
    """List the files of *folder*, without caches and hidden files."""
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


def _reject_secrets(path: Path, course: Course) -> None:
    if path.is_symlink():
        msg = f"{path} is a link, and its target may be anywhere; replace the link with a copy."
        raise CourseError(msg)
    if path.match("test_*.py") or path.name in {"misconceptions.py", course.documented.name}:
        msg = f"{path} would be given to students; move it to {course.documented.parent}."
        raise CourseError(msg)
    for line in stubs.marker_lines(_read_text(path)):
        raise CourseError(
            f"{path}:{line}: this marker encloses code that students must not see; move the code "
            f"to {course.root / 'solutions'}."
        )


def _located_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of *path*, each with its place: a line number, a cell or "a string"."""
    if not path.is_file():
        return
    if path.name in {RECORDS, MISTAKES}:
        for line in built_lines(path):
            yield "a string", line
        return
    text = _read_text(path)
    try:
        cells = json.loads(text)["cells"] if path.suffix == ".ipynb" else None
    except (ValueError, KeyError, TypeError):  # not a notebook despite its name
        cells = None
    if cells is None:
        for number, line in enumerate(text.split("\n"), start=1):
            yield str(number), line
        return
    for number, cell in enumerate(cells, start=1):
        for line in _lines_of_strings(cell):
            yield f"cell {number}", line


def built_lines(path: Path) -> list[str]:
    """List the lines of the texts in a file of records or of mistakes; empty if it is damaged."""
    try:
        content = records.plain(path) if path.name == RECORDS else tomllib.loads(_read_text(path))
    except (UsageError, ValueError):
        return []
    return [*map(stubs.bare_line, _lines_of_strings(content))]


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
    return path.read_text("utf-8", errors="replace")  # pictures are searched, too


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
