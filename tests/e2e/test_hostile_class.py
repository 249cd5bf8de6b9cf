"""Tests attacks that work in plain nbgrader against the kit's sandbox and pages.

Files for students must not contain secrets after the class is graded.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader.handlers import template_path
from traitlets.config import Config

from autograder import course as courses
from autograder.authoring import stubs
from autograder.course import RECORDS
from autograder.exports.csv_files import exercises_csv, nbgrader_csv
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.grade_export import grade_table_of_gradebook
from autograder.sandbox.isolation import detect_capabilities
from autograder.suite import records
from tests.e2e.conftest import HIDDEN_FROM_STUDENTS, HostileClass
from tests.e2e.hostile_students import CANARY, EARNED, IMAGE, SCRIPT, SECRET
from tests.kit.factories import (
    MISCONCEPTIONS,
    POINTS,
    SCHEME,
    SOLUTION,
    STAGE,
    ActiveContent,
    Row,
    autograded,
    query,
    rows,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason),
]


@pytest.fixture(scope="session")
def formgraded(hostile: HostileClass) -> dict[str, str]:
    """The page of each student as formgrader shows it to the instructor."""
    config = Config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [template_path]
    facts = (
        "assignment_id",
        "notebook_id",
        "submission_id",
        "base_url",
        "student",
        "notebook_path",
    )
    exporter = HTMLExporter(config=config)
    return {
        path.parts[-3]: exporter.from_filename(
            str(path), resources={**dict.fromkeys(facts, "x"), "index": 0, "total": 1}
        )[0]
        for path in (hostile.root / "autograded").glob(f"*/{STAGE}/lab.ipynb")
    }


def everybody(root: Path) -> list[str]:
    """The students in the gradebook."""
    return [student for (student,) in query(root, "select id from student order by id")]


def test_everybody_has_a_grade(hostile: HostileClass):
    """No attack prevents the grade of the attacker or of another student."""
    submitted = {path.name for path in (hostile.root / "submitted").iterdir()}

    assert set(everybody(hostile.root)) == submitted | {"zip", "bea"}
    assert {result.student for result in hostile.results.submissions} == submitted | {"zip"}


def test_nobody_earns_what_is_not_theirs(hostile: HostileClass):
    """Wrong code earns 0 points, even if it tries to patch, print, save, return or exit.

    A link can't be graded, so its exercises wait for a manual grade.
    """
    earned = hostile.points()
    waiting = dict.fromkeys(("links", "links_a_folder"), (None, None))

    assert earned == dict.fromkeys(earned, (0.0, 0.0)) | waiting | EARNED


def test_warnings_cost_nothing(hostile: HostileClass):
    """Output on stderr loses no points, although plain nbgrader gives 0 for it."""
    assert rows(hostile.root, "warns")["double"] == Row(5.0, None, None, waits=False)


def test_no_score_is_by_hand_but_the_instructors(hostile: HostileClass):
    """No student's code wrote into the gradebook."""
    by_hand = {
        student: row
        for student in everybody(hostile.root)
        for row in rows(hostile.root, student).values()
        if row.manual is not None or row.extra is not None
    }

    assert by_hand == {"bea": Row(2.5, 4.0, None, waits=False)}


def test_what_was_in_the_gradebook_is_there_unchanged(hostile: HostileClass):
    """Every earlier row of the gradebook is unchanged; rows were only added."""
    after = hostile.after

    assert list(after) == list(hostile.before)
    for table, known in hostile.before.items():
        assert not Counter(map(repr, known)) - Counter(map(repr, after[table])), table


def test_added_rows_are_as_many_as_there_were_submissions(hostile: HostileClass):
    """Each submission adds grades for four cells and comments for two."""
    count = len(hostile.results.submissions)
    added = {name: len(hostile.after[name]) - len(known) for name, known in hostile.before.items()}

    assert {table: more for table, more in added.items() if more} == {
        "student": count,
        "submitted_assignment": count,
        "submitted_notebook": count,
        "grade": 4 * count,
        "comment": 2 * count,
    }


def test_the_database_has_no_new_trigger_view_or_table(hostile: HostileClass):
    """The database has the same structure as a new gradebook."""
    structure = "select type, name, sql from sqlite_master order by name"

    assert query(hostile.root, structure) == query(hostile.template, structure)


def test_the_instructors_files_are_unchanged(hostile: HostileClass):
    """A hostile class changes no suite, solution, lab or setting."""
    template = hostile.template
    watched = [path for name in ("tests", "solutions") for path in (template / name).rglob("*.*")]
    watched += [template / "source" / STAGE / "lab.ipynb", template / "nbgrader_config.py"]

    assert len(watched) > 5
    for path in watched:
        if path.is_file() and "__pycache__" not in path.parts:
            assert (hostile.root / path.relative_to(template)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("student", ["reads", "uses_ipython", "links", "links_a_folder"])
def test_no_secret_reaches_a_student(hostile: HostileClass, student: str):
    """A student gets no secret, through an exception's message or through a link."""
    folders = [hostile.root / name / student for name in ("autograded", "feedback")]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    text = "\n".join(path.read_text("utf-8") for path in found)

    assert found
    assert not any(path.is_symlink() for path in found)
    assert SECRET not in text
    assert "torch.rand(d)" not in text
    assert "probe.normal" not in text


def test_links_are_not_graded(hostile: HostileClass):
    """A linked file is not graded, and formgrader shows the lab with a sentence about it."""
    assert set(autograded(hostile.root, "links")) == {"lab.ipynb"}
    assert b"is a link or a special file" in autograded(hostile.root, "links")["lab.ipynb"]
    assert set(autograded(hostile.root, "links_a_folder")) == {"lab.ipynb"}


def test_no_other_file_is_copied(hostile: HostileClass):
    """Only the module, the lab and the time of submission are copied."""
    found = {
        name: {path.name for path in (hostile.root / name).glob("*/*/*")} - {"timestamp.txt"}
        for name in ("autograded", "feedback")
    }

    assert found == {"autograded": {"lab.ipynb", "tiny.py"}, "feedback": {"lab.html", "tiny.py"}}


def test_forged_points_are_ignored(hostile: HostileClass):
    """The 99 points that a student wrote into a lab are not in the graded notebook."""
    notebook = autograded(hostile.root, "saves_outputs")["lab.ipynb"].decode()

    assert '"points": 99' not in notebook
    assert "bonus" not in notebook
    assert set(rows(hostile.root, "saves_outputs")) == {"double", "Scale", "why", "sketch"}


def active(page: str) -> Counter[str]:
    """The active content of a page, and how often it occurs."""
    return Counter(ActiveContent(page).found)


def test_feedback_has_no_active_content_of_students(hostile: HostileClass):
    """No student's page has more active content than the pages of honest students."""
    pages = hostile.pages()
    ours = active(pages["ada"]) | active(pages["hal"])

    assert set(pages) == set(everybody(hostile.root))
    for student, page in pages.items():
        assert active(page).keys() <= ours.keys(), student
        assert page.count("<script") == pages["ada"].count("<script")


def test_formgrader_has_no_active_content_of_students(
    hostile: HostileClass, formgraded: dict[str, str]
):
    """Formgrader, where the instructor is logged in, shows no active content of students."""
    ours = active(formgraded["ada"]) | active(formgraded["hal"])

    assert set(formgraded) == set(everybody(hostile.root))
    for student, page in formgraded.items():
        assert active(page).keys() <= ours.keys(), student
        assert page.count("<script") == formgraded["ada"].count("<script")


def test_attacks_can_be_read_as_text(hostile: HostileClass, formgraded: dict[str, str]):
    """The instructor's pages show attacks as text, so attacks do reach these pages."""
    for student in ("says_html", "saves_outputs", "names_html"):
        assert CANARY in formgraded[student]
    assert "&lt;script&gt;" in hostile.pages()["says_html"]


def test_active_content_is_detected(formgraded: dict[str, str]):
    """The tests for active content find such content in a page that has some."""
    ours = active(formgraded["ada"]) | active(formgraded["hal"])

    for text in (SCRIPT, IMAGE, "<a href='javascript:alert(1)'>x</a>"):
        assert not active(formgraded["ada"] + text).keys() <= ours.keys()


def test_each_grade_has_one_box_for_points(formgraded: dict[str, str]):
    """No heading in a student's text gets the id by which formgrader finds a box for points."""
    for student, page in formgraded.items():
        for name in (*POINTS, "why", "sketch"):
            assert page.count(f'id="{name}"') == 1, student


def test_a_time_from_an_archive_is_ignored(hostile: HostileClass):
    """Only nbgrader's own file next to a submission contains its time."""
    times = query(
        hostile.root, "select timestamp from submitted_assignment where student_id = 'zip'"
    )

    assert times == [(None,)]


SHORTEST = 12  # characters: `x = 1` is not a secret
PUBLIC = ("title=", "explanation=", "question=", "id=", "exercise=")  # feedback that students read


def hidden_lines() -> set[str]:
    """The lines of the hidden check; its docstring is a title that students read."""
    check = HIDDEN_FROM_STUDENTS.partition("hidden=")[2].partition("@check")[0]
    bodies = [line.strip() for line in check.split("\n")]
    return {
        line for line in bodies if not line.startswith(('"""', "x = ")) and len(line) >= SHORTEST
    }


def wrong_lines() -> set[str]:
    """The lines of misconceptions' code, as in their source and as they replace the solution."""
    lines = [line.strip() for line in MISCONCEPTIONS.split("\n")]
    kept = {line for line in lines if len(line) >= SHORTEST and not line.startswith(PUBLIC)}
    return kept - {'"""Wrong answers of the tiny stage."""'} | {"return x ** 2", "return x * 1"}


def secrets() -> set[str]:
    """Every line that must not reach a student."""
    solution = stubs.secret_lines(SOLUTION, "tiny.py")
    return solution | hidden_lines() | wrong_lines() | {SECRET, SCHEME}


def files_for_students(hostile: HostileClass) -> Iterator[tuple[str, str, str]]:
    """Each file that students get: its student, its name, and its text as they read it."""
    for path in (hostile.root / "assignments").rglob("*.*"):
        is_record = path.name == RECORDS
        text = str(records.plain(path)) if is_record else path.read_text("utf-8")
        yield "", path.name, text
    for path in (hostile.root / "feedback").rglob("*.*"):
        if path.is_file():
            yield path.parts[-3], path.name, plain(path.read_text("utf-8"))


def plain(page: str) -> str:
    """Return the text of a page; colored code has a tag for each symbol."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def own(hostile: HostileClass, student: str) -> str:
    """The text of all files that *student* submitted."""
    if student == "zip":
        return SOLUTION
    folder = hostile.root / "submitted" / student
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return "\n".join(path.read_text("utf-8") for path in found)


def leaks(hostile: HostileClass) -> list[tuple[str, str, str]]:
    """Each secret that reached a student: student, file, line."""
    known = {student: own(hostile, student) for student, _, _ in files_for_students(hostile)}
    return [
        (student, name, secret)
        for student, name, text in files_for_students(hostile)
        for secret in secrets()
        if secret in text and not (student and secret in known[student])
    ]


def test_there_is_something_to_leak():
    """The secrets include lines of the solution, the suite and the misconceptions."""
    assert "self.factor = nn.Parameter(torch.rand(d))" in secrets()
    assert 'agrees(student.call("double", x), reference.call("double", x))' in secrets()
    assert 'swaps=(("2 * x", "x ** 2"),),' in secrets()


def test_students_get_no_secret(hostile: HostileClass):
    """The release contains no secret, and feedback only secrets that its student submitted."""
    files = [name for _, name, _ in files_for_students(hostile)]

    assert {"tiny.py", "lab.ipynb", "lab.html", "records.bin"} <= set(files)
    assert leaks(hostile) == []


def test_a_leak_is_detected(hostile: HostileClass):
    """A page with a colored line of the solution is detected as a leak."""
    page = hostile.root / "feedback" / "hal" / STAGE / "lab.html"
    before = page.read_text("utf-8")
    page.write_text(f"{before}<pre><b>self.factor</b> = nn.Parameter(torch.rand(d))</pre>", "utf-8")
    found = leaks(hostile)
    page.write_text(before, "utf-8")

    assert found == [("hal", "lab.html", "self.factor = nn.Parameter(torch.rand(d))")]


def test_the_feedback_of_one_names_no_other(hostile: HostileClass):
    """No page has the name of another student."""
    students = set(hostile.pages())
    longer = {student for student in students if len(student) > 5}  # "ada" is in "adapt"

    for student, page in hostile.pages().items():
        others = {other for other in longer - {student} if other in plain(page)}
        assert not {other for other in others if other not in own(hostile, student)}


def test_exports_have_only_points(hostile: HostileClass):
    """Exports contain no code and no feedback."""
    course = courses.load(hostile.root)
    setup = NbgraderSetup.of_course(course)
    with setup.gradebook() as book:
        table = grade_table_of_gradebook(book, course, setup)
    text = nbgrader_csv(table).content.decode() + exercises_csv(table).content.decode()

    assert "returns_seven" in text
    assert not [secret for secret in secrets() if secret in text]
    assert "<" not in text
