"""Packs the zip for the *Configure Autograder* page of a Gradescope assignment.

The zip follows Gradescope's autograder specification, with ``setup.sh`` and ``run_autograder`` at
its root. Gradescope unpacks it into ``/autograder/source``, runs ``setup.sh`` once as root to build
an image, and runs ``run_autograder``, also as root, in a new container for each submission. Without
a valid ``results.json``, Gradescope reports that the autograder failed; there is no other way to
give no grade. Gradescope itself handles deadlines and late penalties.
"""

import hashlib
import hmac
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Final, Literal

import msgspec

import autograder
from autograder.course import (
    COURSE_FILE,
    HINTS_FILE,
    PUBLIC_INPUTS,
    SECRET_FILE,
    STAGE_FILE,
    Course,
    Stage,
    course_secret,
)
from autograder.course_file import Isolation, Name
from autograder.errors import CourseError
from autograder.exports.export_file import ExportFile, zip_of
from autograder.exports.gradescope_results import Visibility
from autograder.grading.suite_runner import open_suites
from autograder.results import add
from autograder.submission.files import is_hidden_or_generated

FILE: Final = "gradescope.zip"
OWN_MIB: Final = 512  # two processes with torch: at most 494, shared memory counted once
SCRIPTS: Final = ("setup.sh", "run_autograder", "as_nobody")

Files = dict[str, bytes]  # contents by name

REQUIRED: Final = ("msgspec", "numpy", "pytest", "torch")  # the packages that grading imports
CONSTRAINTS: Final = "constraints.txt"
COURSE_FOLDER: Final = "course"  # student code must not read this folder
LIMIT: Final = (
    "Limit the number of submissions in the assignment's settings: every graded submission shows "
    "something about the hidden suite."
)
OWN_INPUTS: Final = (
    "Hidden inputs are drawn from the bundle's own secret, which is derived from the course secret."
)
BUNDLE_FILE: Final = "bundle.toml"


def build_zip(
    course: Course,
    stages: Sequence[Stage] = (),
    *,
    least: Isolation = "process",
    visibility: Visibility = "after_due_date",
) -> ExportFile:
    """Pack *stages*, by default all, for one Gradescope assignment.

    *least* is the weakest isolation in which the container may grade: ``full``, or ``process`` as
    the user ``nobody``, who owns nothing. Students see the results with *visibility*. Raises
    ``CourseError`` if a file can't be packed.
    """
    stages = tuple(stages) or course.stages
    names = tuple(stage.name for stage in stages)
    config = BundleConfig(format_version=1, stages=names, isolation=least, visibility=visibility)
    templates = resources.files("autograder.gradescope") / "templates"
    files = {name: (templates / name).read_bytes() for name in SCRIPTS}
    kit = _below(Path(autograder.__file__).parent)
    files |= {f"autograder/{name}": content for name, content in kit.items()}
    files |= requirements(course)
    files |= course_files(course, stages)
    files[BUNDLE_FILE] = to_toml(config)
    with open_suites(course, stages) as runner:
        most = add(points for stage in stages for points in runner.points(stage).values())
    remarks = (
        f"Set the assignment's autograder points to {most:g}.",
        f"Give its container {OWN_MIB + course.limits.memory_mib} MiB of memory or more.",
        LIMIT,
        OWN_INPUTS if course_secret(course.root) else PUBLIC_INPUTS,
    )
    return ExportFile(zip_of(dict(sorted(files.items())), SCRIPTS), remarks)


class BundleConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Holds the content of ``bundle.toml``, which the container reads before it grades."""

    format_version: Literal[1]
    stages: tuple[Name, ...]
    isolation: Isolation  # the weakest in which the container may grade
    visibility: Visibility = "after_due_date"  # of the tests


def to_toml(config: BundleConfig) -> bytes:
    """Return *config* as TOML; a ``Name`` has no characters that must be escaped."""
    stages = ", ".join(f'"{stage}"' for stage in config.stages)
    return (
        f"format_version = {config.format_version}\n"
        f"stages = [{stages}]\n"
        f'isolation = "{config.isolation}"\n'
        f'visibility = "{config.visibility}"\n'
    ).encode()


def requirements(course: Course) -> Files:
    """Return the list of packages to install, and the versions that the course or we pin."""
    pinned = course.root / CONSTRAINTS
    ours = "".join(f"{name}=={version(name).partition('+')[0]}\n" for name in REQUIRED)
    return {
        "requirements.txt": "".join(f"{name}\n" for name in REQUIRED).encode(),
        CONSTRAINTS: pinned.read_bytes() if pinned.is_file() else ours.encode(),
    }


def course_files(course: Course, stages: Sequence[Stage]) -> Files:
    """Return what grading *stages* reads, with every ``stage.toml``: stages name each other."""
    hidden = course.documented.parent
    paths = [course.root / COURSE_FILE, *hidden.glob("*.py"), *hidden.glob("*.toml")]
    paths += [stage.source / STAGE_FILE for stage in course.every_stage]
    hints = [stage.source / HINTS_FILE for stage in stages]
    paths += [path for path in hints if path.is_file()]
    paths += [stage.solution for stage in stages]
    paths += [stage.lab for stage in stages if stage.lab.is_file()]  # recognized if submitted
    files = {path.relative_to(course.root).as_posix(): _read(path) for path in paths}
    for stage in stages:
        folder = stage.hidden.relative_to(course.root).as_posix()
        files |= {f"{folder}/{name}": content for name, content in _below(stage.hidden).items()}
    if secret := derived_secret(course_secret(course.root)):
        files[SECRET_FILE] = secret
    return {f"{COURSE_FOLDER}/{name}": content for name, content in files.items()}


def derived_secret(secret: bytes) -> bytes:
    """Derive a secret for the bundle, so that a leak does not reveal the course's; may be empty."""
    return hmac.new(secret, b"bundle", hashlib.sha256).hexdigest().encode() if secret else b""


def _below(root: Path) -> Files:
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
