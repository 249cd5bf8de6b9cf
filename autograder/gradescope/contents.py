"""The contents of a bundle: what grading reads of a course and of this kit."""

import hashlib
import hmac
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Final, Literal

import msgspec

import autograder
from autograder.course import COURSE_FILE, STAGE_FILE, Course, Name, Stage
from autograder.errors import CourseError
from autograder.sandbox.isolation import Isolation
from autograder.submission.files import is_hidden_or_generated
from autograder.suite.hidden_inputs import SECRET_FILE, course_secret

Files = dict[str, bytes]  # contents by name

REQUIRED: Final = ("msgspec", "numpy", "pytest", "torch")  # the packages that grading imports
CONSTRAINTS: Final = "constraints.txt"
COURSE_FOLDER: Final = "course"  # the one folder that student code must not read
BUNDLE_FILE: Final = "bundle.toml"


class BundleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``bundle.toml``, written with the bundle and read where it grades."""

    format_version: Literal[1]
    stages: tuple[Name, ...]
    isolation: Isolation  # the least that the container must give


def to_toml(config: BundleConfig) -> bytes:
    """Write *config*; a ``Name`` holds nothing that TOML would have to escape."""
    stages = ", ".join(f'"{stage}"' for stage in config.stages)
    return (
        f"format_version = {config.format_version}\n"
        f"stages = [{stages}]\n"
        f'isolation = "{config.isolation}"\n'
    ).encode()


def kit_files() -> Files:
    """Return this package, from wherever it is installed."""
    root = Path(autograder.__file__).parent
    return {f"autograder/{name}": content for name, content in _below(root).items()}


def requirements(course: Course) -> Files:
    """Return the packages to install, in the versions that the course pins, else in ours."""
    pinned = course.root / CONSTRAINTS
    ours = "".join(f"{name}=={version(name).partition('+')[0]}\n" for name in REQUIRED)
    return {
        "requirements.txt": "".join(f"{name}\n" for name in REQUIRED).encode(),
        CONSTRAINTS: pinned.read_bytes() if pinned.is_file() else ours.encode(),
    }


def course_files(course: Course, stages: Sequence[Stage]) -> Files:
    """Return what grading *stages* reads: solutions, hidden suites, documented tensors.

    The ``stage.toml`` of every stage is included, since stages name each other.
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

    A bundle does not hold the course's own: from it alone, the course's inputs can't be computed.
    """
    return hmac.new(secret, b"bundle", hashlib.sha256).hexdigest().encode() if secret else b""


def _below(root: Path) -> Files:
    """Return the files below *root*, without hidden and generated ones."""
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: _read(path)
        for name, path in paths.items()
        if not is_hidden_or_generated(PurePosixPath(name))
    }


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"{path} can't be packed: {error.strerror}. Run `autograder verify`."
        raise CourseError(msg) from error
