"""Creates a course from some stages of another one, an empty course, or the skeleton of a stage.

Stages keep their names and numbers. Mentions of an omitted stage are replaced by its title. An
omitted prerequisite is replaced by its own prerequisites. The skeleton is a small, complete stage
that `release` and `verify` accept, in plain Python in a course without the kinds about torch.
"""

import json
import keyword
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from autograder.authoring import handout_folder, release, wheels
from autograder.course import COURSE_FILE, HINTS_FILE, LAB, MADE, STAGE_FILE, Course, Stage, load
from autograder.diagnosis.own_sentences import FILE as OWN_SENTENCES
from autograder.errors import CourseError, UsageError
from autograder.suite import records

_STAGES = re.compile(r"^stages\s*=\s*\[[^\]]*\]", re.MULTILINE)
_PREREQUISITES = re.compile(r"^prerequisites\s*=\s*\[[^\]]*\]\n?", re.MULTILINE)
_TENSOR = re.compile(r"^\[\[tensor\]\]$", re.MULTILINE)
_USERS = re.compile(r"^stage\s*=\s*\[[^\]]*\]", re.MULTILINE)
_MENTION = re.compile(r"\b[Ss]tages? \d\d(?:(?:, (?:and )?| and | or | to )\d\d)*")
_NUMBER = re.compile(r"\d\d")
_LINK = re.compile(r"\[([^\]]+)\]\(\.\./(\d\d)_\w+/lab\.ipynb\)")  # a link to the lab of a stage
_NEXT = re.compile(r"Go on with [^\n]*\(\.\./(\d\d)_\w+/lab\.ipynb\)[^\n]*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_QUOTES = re.compile(r"[\"'\\]")  # they would end a string in Python, TOML or JSON
_NOTE: Final = "Some sentences mention topics that this course leaves out: "
_TEXTS = {".py", ".toml"}
README_FILE: Final = "README.md"
SETTINGS: Final = (".gitignore", "nbgrader_config.py")


class NewCourse(NamedTuple):
    """A new course, and the sentences that mention missing stages, each with its place."""

    course: Course
    mentions: tuple[str, ...]


def new_course(
    course: Course,
    wanted: Sequence[str],
    folder: Path,
    report: release.Report = release.no_report,
) -> NewCourse:
    """Write the stages *wanted* of *course* into *folder*, and build the files for students.

    *report* gets a line for each stage, and for each later step. Raises ``UsageError`` for an
    unknown stage, or a *folder* that is not empty.
    """
    chosen = {course.stage(name).name for name in wanted}
    stages = [stage for stage in course.every_stage if stage.name in chosen]
    if not stages:
        raise UsageError("Choose the stages of the new course: --stages 01,04.")
    _require_empty(folder)
    missing = {
        stage.name[:2]: _QUOTES.sub("", stage.title)
        for stage in course.stages
        if stage.name not in chosen
    }
    files = {name: text.encode() for name, text in _shared_files(course, stages)}
    files |= {
        path.relative_to(course.root).as_posix(): path.read_bytes()
        for folder in (course.shared_source, course.shared / MADE)
        for path in release.visible_files(folder)
    }
    for stage in stages:
        report(f"{stage.name}: copying")
        files |= _stage_files(course, stage, chosen, missing)
    _write(folder, files)
    made = load(folder.resolve())
    _write_kit(made)
    _reuse_records(course, made)
    report("building the files for students")
    release.build(made, report=report)
    report("writing the folder for a class")
    handout_folder.write(made, made.every_stage, made.root / handout_folder.DEFAULT)
    return NewCourse(made, tuple(_mentions(files, missing)))


def stages_of_road(course: Course, road: str, *, only: bool) -> list[str]:
    """List the stages of *road* and, unless *only*, all stages that they need.

    Raises ``UsageError`` if no stage of *course* belongs to *road*.
    """
    found = {stage.name for stage in course.every_stage if stage.file.road == road}
    if not found:
        roads = dict.fromkeys(one.file.road for one in course.every_stage if one.file.road)
        known = f"Its roads: {', '.join(roads)}." if roads else "It has no roads."
        raise UsageError(f"{course.root} has no road {road!r}. {known}")
    if not only:
        for stage in reversed(course.every_stage):
            found |= {*stage.file.prerequisites} if stage.name in found else set()
    return [name for name in course.file.stages if name in found]


def empty_course(folder: Path) -> Course:
    """Write a course without stages into *folder*; raise ``UsageError`` if it is not empty."""
    _require_empty(folder)
    files = {
        COURSE_FILE: release.read_template("empty_course.toml").encode(),
        "Makefile": release.read_template("course_makefile.txt").encode(),
    }
    files |= {name: wheels.kit_file(name.lstrip(".")) for name in SETTINGS}
    _write(folder, files)
    made = load(folder.resolve(), may_be_empty=True)
    _write_kit(made)
    return made


def _require_empty(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(f"{folder} exists and is not an empty folder; name another one.")


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _write_kit(course: Course) -> None:
    """Write the kit into the folder of *course*, with the README that installs it."""
    files = dict(wheels.files_to_install(course))
    rows = [f"- `{stage.name}`: {stage.title}\n" for stage in course.every_stage]
    words = {
        "TITLE": course.file.title,
        "STAGES": "".join(rows) or "`autograder new-stage 01_name` writes the first stage.\n",
        "KIT": next(name for name in files if name.startswith(f"{wheels.WHEEL_FOLDER}/")),
        "DOCS": wheels.documents(),
    }
    text = release.read_template("course_readme.md")
    filled = re.sub("|".join(words), lambda word: words[word[0]], text)
    _write(course.root, files | {README_FILE: filled.encode()})


def _mentions(files: Mapping[str, bytes], missing: Mapping[str, str]) -> Iterator[str]:
    for name, content in files.items():
        if not name.endswith(tuple({*_TEXTS, LAB})) or name == COURSE_FILE:
            continue
        for place, text in _places(name, content.decode()):
            for sentence in _SENTENCE.split(text):
                named = any(f"“{title}”" in sentence for title in missing.values())
                if named and not sentence.startswith(_NOTE):
                    yield f"{name}{place}: {' '.join(sentence.split())}"


def _places(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield each text in a file with its place: a cell, or nothing for the whole file."""
    if not name.endswith(LAB):
        yield "", text
        return
    for number, cell in enumerate(json.loads(text)["cells"], start=1):
        yield f", cell {number}", "".join(cell["source"])


def _reuse_records(course: Course, made: Course) -> None:
    """Copy records that take minutes to compute, where solution and suite are the same."""
    outdated = {stage.name for stage in release.outdated_stages(course.every_stage)}
    for stage in made.every_stage:
        built = course.stage(stage.name)
        texts = ((one.solution, one.hidden_suite) for one in (stage, built))
        old, new = ([path.read_bytes() for path in pair] for pair in texts)
        if stage.name in outdated or old != new:
            continue
        content = built.records.read_bytes()
        stage.assignment.mkdir(parents=True, exist_ok=True)
        made_from = release.sources_digest(stage)
        stage.records.write_bytes(records.with_sources(content, made_from))


def with_stages(text: str, names: Sequence[str]) -> str:
    """Return ``course.toml`` with the stages *names*; raise ``CourseError`` if it is unusual."""
    listed = "".join(f'  "{name}",\n' for name in names)
    changed = _STAGES.sub(lambda _old: f"stages = [\n{listed}]", text, count=1)
    if tomllib.loads(changed).get("stages") != list(names):
        msg = f"{COURSE_FILE} lists its stages in an unusual way; list them yourself: {listed}"
        raise CourseError(msg)
    return changed


def _shared_files(course: Course, stages: Sequence[Stage]) -> Iterator[tuple[str, str]]:
    """Yield the path in the new folder and the text of each file that belongs to no stage."""
    names = [stage.name for stage in stages]
    yield COURSE_FILE, with_stages((course.root / COURSE_FILE).read_text("utf-8"), names)
    yield "Makefile", release.read_template("course_makefile.txt")
    stage = stages[0]  # any stage has the paths of the shared files
    for path in (stage.rules, stage.ready_made, stage.shared_fixtures, course.documented):
        if path.is_file():
            text = path.read_text("utf-8")
            used = _documented_of(text, names) if path == course.documented else text
            yield path.relative_to(course.root).as_posix(), used
    for name in SETTINGS:
        own = course.root / name
        kits = wheels.kit_file(name.lstrip("."))
        yield name, own.read_text("utf-8") if own.is_file() else kits.decode()


def _stage_files(
    course: Course, stage: Stage, chosen: set[str], missing: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the new folder and the content of each authored file of *stage*."""
    for folder in (stage.solution.parent, stage.source, stage.hidden):
        for path in release.visible_files(folder):
            content = path.read_bytes()
            if path == stage.lab:
                content = _lab_without(
                    content.decode(), missing, _next(stage, course, chosen)
                ).encode()
            elif path.suffix in _TEXTS:
                content = _rename_mentions(content.decode(), missing).encode()
            if path == stage.source / STAGE_FILE:
                listed = ", ".join(f'"{name}"' for name in _prerequisites(course, stage, chosen))
                row = f"prerequisites = [{listed}]\n"
                content = _PREREQUISITES.sub(row, content.decode(), count=1).encode()
            yield path.relative_to(course.root).as_posix(), content


def _prerequisites(course: Course, stage: Stage, chosen: set[str]) -> list[str]:
    found: set[str] = set()
    waiting = [*stage.file.prerequisites]
    while waiting:
        name = waiting.pop()
        if name in chosen:
            found.add(name)
        else:
            waiting += course.stage(name).file.prerequisites
    return [name for name in course.file.stages if name in found]


def _documented_of(text: str, names: Sequence[str]) -> str:
    head, *tensors = _TENSOR.split(text)
    kept = [head]
    for tensor in tensors:
        users = _USERS.search(tensor)
        left = [name for name in names if users and f'"{name}"' in users[0]]
        if users and left:
            listed = ", ".join(f'"{name}"' for name in left)
            kept.append(f"{tensor[: users.start()]}stage = [{listed}]{tensor[users.end() :]}")
    return "[[tensor]]".join(kept)


def _next(stage: Stage, course: Course, chosen: set[str]) -> str:
    names = [one.name for one in course.every_stage if one.name in chosen]
    later = names[names.index(stage.name) + 1 :]
    if not later:
        return "This was the last stage of the course."
    title = course.stage(later[0]).title
    link = f"[stage {later[0][:2]}: {title[:1].lower()}{title[1:]}](../{later[0]}/{LAB})"
    return f"Go on with {link}, or in a terminal with `autograder next`."


def _lab_without(text: str, missing: Mapping[str, str], go_on: str) -> str:
    """Return the lab with titles for *missing* stages, and *go_on* where it leads to one."""
    notebook = json.loads(text)
    titles: list[str] = []
    for cell in notebook["cells"]:
        linked = _NEXT.sub(
            lambda led: go_on if led[1] in missing else led[0], "".join(cell["source"])
        )
        source = _LINK.sub(lambda link: link[1 if link[2] in missing else 0], linked)
        cell["source"] = _rename_mentions(source, missing)
        titles += [title for title in missing.values() if f"“{title}”" in cell["source"]]
    if titles:
        topics = ", ".join(f"“{title}”" for title in dict.fromkeys(titles))
        note = f"{_NOTE}{topics}."
        notebook["cells"][0]["source"] += f"\n\n{note}\nYou can read on without them."
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _rename_mentions(text: str, missing: Mapping[str, str]) -> str:
    """Replace each mention of a *missing* stage, such as "stages 03 and 05", with its title."""

    def rename(mention: re.Match[str]) -> str:
        numbers = _NUMBER.findall(mention[0])
        if not missing.keys() & {*numbers}:
            return mention[0]
        _, _, listed = mention[0].partition(" ")
        return _NUMBER.sub(
            lambda number: (
                f"“{missing[number[0]]}”" if number[0] in missing else f"stage {number[0]}"
            ),
            listed,
        )

    return _MENTION.sub(rename, text)


TEMPLATES: Final = release.TEMPLATES / "stage"  # shared, and by kind of stage
HIDDEN: Final = "tests/hidden/STAGE"
# The template of each file. Words in capital letters are filled in, in paths and texts.
FILES: Final = {
    "solutions/STAGE/MODULE.py": "solution.py.txt",
    f"source/STAGE/{STAGE_FILE}": "stage.toml",
    f"source/STAGE/{HINTS_FILE}": "hints.toml",
    f"source/STAGE/{LAB}": "lab.ipynb",
    f"{HIDDEN}/test_MODULE.py": "suite.py.txt",
    f"{HIDDEN}/hollow.py": "hollow.py.txt",
    f"{HIDDEN}/variants/one_by_one.py": "variant.py.txt",
    f"{HIDDEN}/misconceptions.py": "misconceptions.py.txt",
    f"{HIDDEN}/{OWN_SENTENCES}": "sentences.toml",
    f"{HIDDEN}/ready.py": "ready.py.txt",
    f"{HIDDEN}/equivalents.toml": "equivalents.toml",
    "tests/hidden/rules.toml": "rules.toml",
    "tests/hidden/documented.toml": "documented.toml",
}
_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")


def new_stage(course: Course, name: str) -> tuple[Path, ...]:
    """Write the skeleton of the stage *name*, and add it to the end of ``course.toml``.

    Return the written paths. Raises ``UsageError`` for a name that can't be used.
    """
    module = name.partition("_")[2]
    if problem := _problem(course, name, module):
        raise UsageError(problem)
    listing = course.root / COURSE_FILE
    before = listing.read_text("utf-8")
    array = before.partition("stages")[2].partition("]")[0]
    if "#" in array:
        raise CourseError(
            f"There is a comment among the stages of {listing}: list {name!r} there yourself first."
        )
    listed = with_stages(before, [*course.file.stages, name])
    written = []
    kind = "torch" if "torch" in course.file.kinds else "plain"
    for path, text in _files(name, module, kind).items():
        target = course.root / path
        if target.exists():  # a file that all stages share
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        written.append(target)
    listing.write_text(listed, "utf-8")
    return (*written, listing)


def _problem(course: Course, name: str, module: str) -> str:
    if not _NAME.fullmatch(name):
        return (
            f"{name!r}: the name of a stage is a number and the name of its module, such as "
            "20_your_stage."
        )
    if keyword.iskeyword(module) or module in sys.stdlib_module_names | {"torch", "numpy"}:
        return f"A module {module!r} would hide Python's or torch's own; choose another name."
    number = name.partition("_")[0]
    for stage in course.every_stage:
        if stage.module == module or stage.name.partition("_")[0] == number:
            return f"{name!r} and the stage {stage.name!r} would share a number or a module."
    for parent in ("solutions", "source", "tests/hidden"):
        if (folder := course.root / parent / name).exists():
            return f"{folder} exists already; delete it or choose another name."
    return ""


def _files(name: str, module: str, kind: str) -> dict[str, str]:
    words = {
        "STAGE": name,
        "MODULE": module,
        "NUMBER": name[:2],
        "TITLE": module.replace("_", " ").capitalize(),
    }
    fill = re.compile("|".join(rf"(?<![A-Z]){word}\b" for word in words))

    def filled(text: str) -> str:
        return fill.sub(lambda word: words[word[0]], text)

    found = {}
    for path, template in FILES.items():
        own, shared = TEMPLATES / kind / template, TEMPLATES / template
        found[filled(path)] = filled((own if own.is_file() else shared).read_text("utf-8"))
    return found
