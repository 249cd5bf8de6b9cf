"""What grading reads of a course and of this kit, as bytes by name."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Final

import autograder
from autograder.course import COURSE_FILE, STAGE_FILE, Course, Stage
from autograder.errors import CourseError
from autograder.submission.files import is_hidden_or_generated
from autograder.suite.hidden_inputs import SECRET_FILE, course_secret

Files = dict[str, bytes]

REQUIRED: Final = ("msgspec", "numpy", "pytest", "torch")  # what grading imports, of all the kit's
CONSTRAINTS: Final = "constraints.txt"
COURSE_FOLDER: Final = "course"  # the one folder that student code must not read


def kit() -> Files:
    """Return this package, from wherever it is installed."""
    root = Path(autograder.__file__).parent
    return {f"autograder/{name}": content for name, content in _below(root).items()}


def needs(course: Course) -> Files:
    """Return what is to be installed, in the versions that the course names, else in ours."""
    named = course.root / CONSTRAINTS
    ours = "".join(f"{name}=={version(name).partition('+')[0]}\n" for name in REQUIRED)
    return {
        "requirements.txt": "".join(f"{name}\n" for name in REQUIRED).encode(),
        CONSTRAINTS: named.read_bytes() if named.is_file() else ours.encode(),
    }


def course_files(course: Course, stages: Sequence[Stage]) -> Files:
    """Return what grading *stages* reads: solutions, hidden suites, the ledger, no submission.

    The ``stage.toml`` of every stage comes along, since stages name each other.
    """
    hidden = course.documented.parent
    paths = [course.root / COURSE_FILE, course.documented, *hidden.glob("*.py")]
    paths += [stage.source / STAGE_FILE for stage in course.stages]
    paths += [stage.solution for stage in stages]
    paths += [stage.fingerprints for stage in stages if stage.fingerprints.is_file()]
    files = {path.relative_to(course.root).as_posix(): _read(path) for path in paths}
    for stage in stages:
        folder = stage.hidden.relative_to(course.root).as_posix()
        files |= {f"{folder}/{name}": content for name, content in _below(stage.hidden).items()}
    if secret := derived_secret(course_secret(course.root)):
        files[SECRET_FILE] = secret
    return {f"{COURSE_FOLDER}/{name}": content for name, content in files.items()}


def derived_secret(secret: bytes) -> bytes:
    """Return the secret of a bundle, empty where the course has none.

    The course's own stays at home: who gets hold of a bundle can't compute its inputs.
    """
    return hmac.new(secret, b"bundle", hashlib.sha256).hexdigest().encode() if secret else b""


def _below(root: Path) -> Files:
    names = ((path, path.relative_to(root)) for path in _files(root.rglob("*")))
    return {
        name.as_posix(): _read(path)
        for path, name in names
        if not is_hidden_or_generated(PurePosixPath(name.as_posix()))
    }


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    return (path for path in paths if path.is_file())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"{path} can't be packed: {error.strerror}. Run `autograder verify`."
        raise CourseError(msg) from error
