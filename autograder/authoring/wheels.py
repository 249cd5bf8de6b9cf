"""Builds wheels, of the kit and a course's public part or of solutions, and installs by them.

A wheel is a zip with metadata and a list of its files. The kit's files and metadata come from this
installation, so neither a build tool nor a network is needed. A course's folder gets the wheel with
constraints and workflows.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import autograder
from autograder.authoring import release
from autograder.authoring.release import guide
from autograder.course import (
    ASSIGNMENTS,
    GUIDE,
    SOLUTIONS_PACKAGE,
    Course,
    Stage,
    installed_handouts,
    is_handout,
)
from autograder.errors import CourseError
from autograder.exports.export_file import zip_of
from autograder.sanitize import line

KIT: Final = "attention-course-kit"
SOLUTIONS: Final = f"{KIT}-solutions"
_FORM: Final = (
    "Wheel-Version: 1.0\nGenerator: autograder\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)
_DIGITS: Final = 8  # digits of a digest; enough to distinguish the releases of a course
_LONGEST_TITLE: Final = 200

FOLDER: Final = "for_courses"  # in the package
FILES: Final = MappingProxyType(  # the path of each file in a clone of the kit
    {
        "constraints.txt": "constraints.txt",
        "gitignore": ".gitignore",
        "nbgrader_config.py": "nbgrader_config.py",
        "grade.yml": "examples/workflows/grade.yml",
        "check.yml": "examples/workflows/check.yml",
    }
)


class Wheel(NamedTuple):
    """A wheel: the *name* of the file and its *content*."""

    name: str
    content: bytes


def kit_wheel(course: Course, stages: Sequence[Stage]) -> Wheel:
    """Return the wheel of the kit with the students' files of the *stages* of *course*.

    Without stages, it holds the kit alone. The students' files must be built. The version of the
    wheel ends in a digest of all files, so that pip replaces an older wheel with a newer one.
    """
    files = _kit_files()
    for stage in stages:
        if not is_handout(stage.assignment):
            msg = f"{stage.assignment} is not built yet: run `autograder release` first."
            raise CourseError(msg)
    for folder in (course.shared, *(stage.assignment for stage in stages)) if stages else ():
        for path in release.visible_files(folder):
            inside = path.relative_to(course.root / ASSIGNMENTS).as_posix()
            files[f"{autograder.__name__}/{ASSIGNMENTS}/{inside}"] = path.read_bytes()
    if stages:
        start_here = guide(course, stages)
        files[f"{autograder.__name__}/{ASSIGNMENTS}/{GUIDE}"] = start_here
    installed = _installed_kit()
    headers, _, _ = (installed.read_text("METADATA") or "").partition("\n\n")
    headers = re.sub(r"(?m)^(Description-Content-Type|Summary|Version):.*\n?", "", headers)
    infos = {
        f"licenses/{file.name}": file.read_binary()
        for file in installed.files or ()
        if file.parent.name == "licenses"
    }
    infos["entry_points.txt"] = (installed.read_text("entry_points.txt") or "").encode()
    return _wheel(KIT, course, headers.strip(), files, infos)


def solutions_wheel(course: Course, stages: Sequence[Stage]) -> Wheel:
    """Return the wheel with the solutions of *stages* and their labs with the mark schemes."""
    files = {f"{SOLUTIONS_PACKAGE}/__init__.py": b'"""Solutions of a course."""\n'}
    for stage in stages:
        for path in (stage.solution, stage.lab):
            if path.is_file():
                inside = path.relative_to(course.root).as_posix()
                files[f"{SOLUTIONS_PACKAGE}/{inside}"] = path.read_bytes()
    return _wheel(SOLUTIONS, course, f"Metadata-Version: 2.1\nName: {SOLUTIONS}", files, {})


def kit_file(name: str) -> bytes:
    """Return the file *name* of ``FILES``; raise ``CourseError`` if the kit lacks it.

    An installed kit has the file in its package, and a clone where its own tools read it.
    """
    package = Path(autograder.__file__).parent
    for path in (package / FOLDER / name, package.parent / FILES[name]):
        if path.is_file():
            return path.read_bytes()
    msg = f"This installation of the kit has no {name}: install the kit again, from its wheel."
    raise CourseError(msg)


def _kit_files() -> dict[str, bytes]:
    package = Path(autograder.__file__).parent
    own = {f"{package.name}/{FOLDER}/{name}": kit_file(name) for name in FILES}
    return own | {
        f"{package.name}/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in release.visible_files(package)
        if not path.is_relative_to(installed_handouts())
    }


def _installed_kit() -> metadata.Distribution:
    try:
        return metadata.distribution(KIT)
    except metadata.PackageNotFoundError:
        msg = "The kit is not installed here: install it with pip, then try again."
        raise CourseError(msg) from None


def _wheel(
    name: str,
    course: Course,
    headers: str,
    files: Mapping[str, bytes],
    infos: Mapping[str, bytes],
) -> Wheel:
    summary = f"Summary: {line(course.file.title, _LONGEST_TITLE)}"
    total = hashlib.sha256(f"{headers}\n{summary}".encode())
    for path, content in sorted({**files, **infos}.items()):
        total.update(f"\n{path}:{len(content)}\n".encode() + content)
    labels = [*re.findall("[a-z0-9]+", course.id.lower()), f"d{total.hexdigest()[:_DIGITS]}"]
    release_number = _installed_kit().version.partition("+")[0]
    stem = f"{name.replace('-', '_')}-{release_number}+{'.'.join(labels)}"
    about = f"{headers}\n{summary}\nVersion: {stem.partition('-')[2]}\n"
    folder = f"{stem}.dist-info"
    listed = dict(files)
    listed |= {f"{folder}/{path}": content for path, content in infos.items()}
    listed |= {f"{folder}/METADATA": about.encode(), f"{folder}/WHEEL": _FORM.encode()}
    record = f"{folder}/RECORD"
    rows = [*map(_row, listed, listed.values()), f"{record},,\n"]
    return Wheel(f"{stem}-py3-none-any.whl", zip_of({**listed, record: "".join(rows)}))


def _row(path: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


WHEEL_FOLDER: Final = "kit"
STUDENTS: Final = "for-students"
FROM_SOURCE: Final = "--constraint constraints.txt ."  # how the kit's own workflow installs it
FROM_WHEEL: Final = f"--constraint constraints.txt {WHEEL_FOLDER}/*.whl"
BUILD: Final = (
    "kit as a wheel in kit/. Build the wheel in the course's repository:\n"
    "#\n"
    "#     python -m pip wheel --no-deps --wheel-dir kit .\n"
)
COPY: Final = "kit as a wheel in kit/: copy the wheel from handout/ of the course's repository.\n"


def documents() -> str:
    """Return the address of the kit's documents."""
    urls = metadata.metadata(KIT).get_all("Project-URL") or []
    return next(
        (str(url).partition(", ")[2] for url in urls if str(url).startswith("Documentation")),
        "the folder docs/ of the kit",
    )


def files_to_install(course: Course) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the folder of *course* and the content of each file."""
    wheel = kit_wheel(course, ())
    yield f"{WHEEL_FOLDER}/{wheel.name}", wheel.content
    yield "constraints.txt", kit_file("constraints.txt")
    for name, folder, changed in (
        ("grade.yml", "", (FROM_SOURCE, FROM_WHEEL)),
        ("check.yml", f"{STUDENTS}/", (BUILD, COPY)),
    ):
        text = kit_file(name).decode()
        if changed[0] not in text:
            msg = f"{name} of the kit does not install it as expected; report this to the kit."
            raise CourseError(msg)
        text = text.replace(*changed).replace("docs/", f"{documents()}/")
        yield f"{folder}.github/workflows/{name}", text.encode()
