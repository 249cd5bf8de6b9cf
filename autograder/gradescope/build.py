"""Builds the zip for the *Configure Autograder* page of a Gradescope assignment.

It follows Gradescope's autograder specification: ``setup.sh`` and ``run_autograder`` lie at the
root. Gradescope unpacks the zip into ``/autograder/source``, runs ``setup.sh`` once as root to
build an image, and ``run_autograder``, also as root, in a fresh container for each submission.
Without a valid ``results.json`` Gradescope says that the autograder failed; this is how a
submission without a grade appears. Deadlines and late penalties are Gradescope's.
"""

import io
import stat
import zipfile
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Final

from autograder.course import Course, Stage
from autograder.exports.export_file import ExportFile
from autograder.gradescope import contents
from autograder.grading.suite_runner import open_suites
from autograder.results import add
from autograder.sandbox.isolation import Isolation
from autograder.suite.hidden_inputs import course_secret

FILE: Final = "gradescope.zip"
OWN_MIB: Final = 512  # two Pythons with torch: 494 at most, shared memory counted once
SCRIPTS: Final = ("setup.sh", "run_autograder", "as_nobody")
_ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # a fixed time: the same course, the same bytes


def build_zip(
    course: Course, stages: Sequence[Stage] = (), *, least: Isolation = "process"
) -> ExportFile:
    """Pack *stages*, by default all, for one assignment of Gradescope.

    *least* is the isolation that the container must give for a grade: ``full``, or ``process`` as
    the user ``nobody``, who owns nothing. Raises ``CourseError``.
    """
    stages = tuple(stages) or course.stages
    names = tuple(stage.name for stage in stages)
    config = contents.BundleConfig(format_version=1, stages=names, isolation=least)
    templates = resources.files("autograder.gradescope") / "templates"
    files = {name: (templates / name).read_bytes() for name in SCRIPTS}
    files |= contents.kit_files() | contents.requirements(course)
    files |= contents.course_files(course, stages)
    files[contents.BUNDLE_FILE] = contents.to_toml(config)
    with open_suites(course, stages) as runner:
        most = add(points for stage in stages for points in runner.points(stage).values())
    secret = (
        "Hidden inputs come from a secret of the bundle, derived from the course's."
        if course_secret(course.root)
        else "No course secret: hidden inputs are those of every public copy (docs/security.md)."
    )
    memory = f"Give its container {OWN_MIB + course.limits.memory_mib} MiB of memory or more."
    remarks = (f"Set the assignment's autograder points to {most:g}.", memory, secret)
    return ExportFile(_zip(files), remarks)


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.create_system = 3  # Unix: else no program reads the permissions below
            entry.external_attr = (stat.S_IFREG | (0o755 if name in SCRIPTS else 0o644)) << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
