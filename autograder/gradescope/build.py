"""Gradescope: the zip that an assignment's *Configure Autograder* page takes.

After its autograder specification: ``setup.sh`` and ``run_autograder`` at the root; Gradescope
unpacks all of it into ``/autograder/source``, runs ``setup.sh`` once as root to build an image, and
``run_autograder``, as root too, in a fresh container for each submission. It finds the files in
``/autograder/submission`` and writes ``/autograder/results/results.json``. What it prints only
instructors see. Without a valid ``results.json`` Gradescope says that the autograder failed, which
is what a grade that could not be given looks like. Deadlines and late penalties are Gradescope's.
"""

import io
import stat
import zipfile
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Final

from autograder.course import Course, Stage
from autograder.exports.export_file import ExportFile
from autograder.gradescope.contents import Files, course_files, kit, needs
from autograder.gradescope.terms import TERMS_FILE, Terms, to_toml
from autograder.grading.suite_runner import open_suites
from autograder.results import add
from autograder.sandbox.isolation import Isolation
from autograder.suite.hidden_inputs import course_secret

FILE: Final = "gradescope.zip"
OWN_MIB: Final = 512  # two Pythons with torch: 494 at most, of which nothing is counted twice
SCRIPTS: Final = ("setup.sh", "run_autograder", "as_nobody")
_BEGINNING: Final = (1980, 1, 1, 0, 0, 0)  # of a zip's time: the same course, the same bytes


def gradescope(
    course: Course, stages: Sequence[Stage] = (), *, least: Isolation = "process"
) -> ExportFile:
    """Pack *stages*, by default all, for one assignment of Gradescope.

    *least* is what the container must give for a grade: ``full``, or ``process`` as the user who
    owns nothing. Raises ``CourseError``.
    """
    stages = tuple(stages) or course.stages
    terms = Terms(format_version=1, stages=tuple(stage.name for stage in stages), isolation=least)
    files = {**_scripts(), **kit(), **needs(course), **course_files(course, stages)}
    files[TERMS_FILE] = to_toml(terms)
    with open_suites(course, stages) as runner:
        most = add(points for stage in stages for points in runner.points(stage).values())
    secret = (
        "Hidden inputs come from a secret of the bundle, derived from the course's."
        if course_secret(course.root)
        else "No course secret: hidden inputs are those of every public copy (docs/security.md)."
    )
    memory = f"Give its container {OWN_MIB + course.limits.memory_mib} MiB of memory or more."
    remarks = (f"Set the assignment's autograder points to {most:g}.", memory, secret)
    return ExportFile(_zipped(files), remarks)


def _scripts() -> Files:
    templates = resources.files("autograder.gradescope") / "templates"
    return {name: (templates / name).read_bytes() for name in SCRIPTS}


def _zipped(files: Mapping[str, bytes]) -> bytes:
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _BEGINNING)
            entry.create_system = 3  # Unix: else nobody reads the permissions below
            entry.external_attr = (stat.S_IFREG | (0o755 if name in SCRIPTS else 0o644)) << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    return page.getvalue()
