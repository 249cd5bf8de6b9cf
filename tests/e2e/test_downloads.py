"""Tests the same files submitted by Canvas, by Moodle and as zips, up to the returned pages.

Each route has different students in one course, so that one run grades them all.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from autograder import course as courses
from autograder.gradebook.connection import NbgraderSetup
from autograder.results import from_json
from autograder.sandbox.isolation import detect_capabilities
from tests.kit.commands import run
from tests.kit.factories import SOLUTION, STAGE, ask_alembic_once, write_template
from tests.kit.importers import canvas_reads, cells, moodle_grades, moodle_reads

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # torch keeps idle threads
]

HALF = b"def double(x):\n    return x + x\n"
SUBMITTED = {
    "Ada": ("tiny.py", SOLUTION.encode(), 10.0),
    "Bob": ("tiny-1.py", HALF, 5.0),  # late in Canvas, which also numbers copies
    "Eve": ("hw.zip", b"PK\x03\x04 broken", 0.0),
    "Kim": ("SelfAttention_final_FINAL.py", SOLUTION.encode(), 10.0),
}
LATE = "Bob"
# Each route with the first of its students' numbers, and how it names a file.
CANVAS = {"canvas.zip": 100, "canvas": 200}
MOODLE = {"moodle.zip": 300, "moodle": 400}
FORMS = {
    "canvas.zip": "{low}doe{late}_{number}_9{number}_{file}",
    "canvas": "{low}doe{late}_{number}_9{number}_{file}",
    "moodle.zip": "{name} Doe_{number}_assignsubmission_file_/{file}",
    "moodle": "{name} Doe_{number}_assignsubmission_file/{file}",  # since Moodle 4.1
    "zips": "{low}.zip",
}


class Downloads(NamedTuple):
    """The course at the end, and what `collect` printed by route."""

    root: Path
    output: dict[str, str]

    def pages(self, route: str) -> list[str]:
        """The names in the zip of feedback for *route*."""
        return zipfile.ZipFile(self.root / f"feedback-{route}.zip").namelist()


def download(route: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of files as they come by *route*."""
    first = (CANVAS | MOODLE).get(route, 0)
    for number, (name, (file, content, _)) in enumerate(SUBMITTED.items(), first):
        late = "_LATE" * (name == LATE)
        called = FORMS[route].format(
            low=name.lower(), name=name, number=number, file=file, late=late
        )
        yield called, packed([(file, content)]) if route == "zips" and name != "Eve" else content


def packed(members: list[tuple[str, bytes]]) -> bytes:
    """A zip of *members*."""
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return page.getvalue()


def write_downloads(root: Path) -> None:
    """Write each download, packed or as a folder, and what each LMS exports."""
    for route in FORMS:
        if route.endswith(".zip"):
            (root / route).write_bytes(packed(list(download(route))))
            continue
        for name, content in download(route):
            (root / route / name).parent.mkdir(parents=True, exist_ok=True)
            (root / route / name).write_bytes(content)
    people = [(name, first + i) for first in CANVAS.values() for i, name in enumerate(SUBMITTED)]
    rows = "".join(f'"Doe, {name}",{number},,s{number},A,\n' for name, number in people)
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Tiny things (7)\n    Points Possible"
    (root / "canvas.csv").write_text(f"{head},,,,,15\n{rows}")
    people = [(name, first + i) for first in MOODLE.values() for i, name in enumerate(SUBMITTED)]
    rows = "".join(
        f"Participant {number},{name} Doe,Submitted,,15.00,Yes,-,-,\n" for name, number in people
    )
    head = "Identifier,Full name,Status,Grade,Maximum Grade,Grade can be changed"
    last = "Last modified (submission),Last modified (grade),Feedback comments"
    (root / "moodle.csv").write_text(f"{head},{last}\n{rows}")


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Downloads:
    """Collect each download, grade once, and write the files for upload to each LMS."""
    home = tmp_path_factory.mktemp("downloads")
    with pytest.MonkeyPatch.context() as patch:
        ask_alembic_once(patch)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(home / "jupyter"))
        root = write_template(home / "course")
        write_downloads(root)
        due = "2026-11-20 23:00:00 UTC"
        run(root, "nbgrader", "db", "assignment", "add", STAGE, "--duedate", due)
        output = {}
        for route in FORMS:
            roster = ("--roster", "canvas.csv") if route in CANVAS else ()
            output[route] = run(root, "autograder", "collect", "1", route, *roster)
        of_stage = ("--stage", "1", "--gradebook")
        run(root, "autograder", "grade", "submitted", *of_stage, "--json", "results.json")
        fill = ("--gradebook", "--fill", "canvas.csv", "-o", "canvas-grades.csv")
        run(root, "autograder", "export", "canvas", *fill)
        fill = (*of_stage, "--fill", "moodle.csv", "-o", "moodle-grades.csv")
        run(root, "autograder", "export", "moodle", *fill)
        for route in (*CANVAS, *MOODLE):
            platform = "canvas" if route in CANVAS else "moodle"
            names = ("--download", route, "-o", f"feedback-{route}.zip")
            run(root, "autograder", "feedback", platform, "results.json", *of_stage, *names)
    return Downloads(root, output)


def test_each_download_is_recognized(downloads: Downloads):
    """Each download is recognized, packed or not, and a broken archive affects one student."""
    for route in FORMS:
        origin = "Canvas" if route in CANVAS else "Moodle"
        what = "a class" if route == "zips" else f"a download from {origin}"

        assert f"{route}: {what}, 4 students" in downloads.output[route]
        assert "4 submissions of 01_tiny are in submitted/." in downloads.output[route]


def test_equal_files_earn_equal_points(downloads: Downloads):
    """Equal files earn equal points, regardless of route, folder and file name."""
    graded = from_json((downloads.root / "results.json").read_bytes()).submissions
    scores = {result.student: result.score for result in graded}
    expected = dict(zip(SUBMITTED, [points for *_, points in SUBMITTED.values()], strict=True))
    by_route = [
        *({name: scores[f"s{first + i}"] for i, name in enumerate(SUBMITTED)}
          for first in CANVAS.values()),
        *({name: scores[f"{name} Doe_{first + i}"] for i, name in enumerate(SUBMITTED)}
          for first in MOODLE.values()),
        {name: scores[name.lower()] for name in SUBMITTED},
    ]  # fmt: skip

    assert by_route == [expected] * len(FORMS)
    assert len(scores) == len(FORMS) * len(SUBMITTED)


def test_who_was_late_in_canvas_is_late_in_the_gradebook(downloads: Downloads):
    """By both ways to collect, a submission that Canvas marks as late is one second late."""
    with NbgraderSetup.of_course(courses.load(downloads.root)).gradebook() as book:
        late = {
            item.student_id
            for item in book.assignment_submissions(STAGE)
            if item.total_seconds_late == 1.0
        }

    assert late == {"s101", "s201"}


def test_canvas_takes_the_grades_and_the_pages(downloads: Downloads):
    """Each student has a page named after the file from Canvas, and a grade unless it is broken."""
    rows = cells((downloads.root / "canvas-grades.csv").read_bytes())[2:]
    points = [f"{points:g}" if points else "" for *_, points in SUBMITTED.values()]

    assert [row[5] for row in rows] == points * 2
    for route, first in CANVAS.items():
        found = sorted(map(canvas_reads, downloads.pages(route)))
        assert found == [(f"{first + i}", f"9{first + i}") for i in range(len(SUBMITTED))]


def test_moodle_takes_the_grades_and_the_pages(downloads: Downloads):
    """Each readable submission has a grade within the range; everybody has a page."""
    given = moodle_grades((downloads.root / "moodle-grades.csv").read_bytes())
    points = {
        f"{first + i}": points
        for first in MOODLE.values()
        for i, (*_, points) in enumerate(SUBMITTED.values())
    }

    assert given == {number: earned for number, earned in points.items() if earned}
    for route in MOODLE:
        found = sorted(map(moodle_reads, downloads.pages(route)))
        assert found == [(number, "feedback.html") for number in sorted(points)]
