"""Files for students, after a class was graded, hold nothing that is secret."""

import html
import re
from collections.abc import Iterator

import pytest

from autograder import course as courses
from autograder.authoring import markers
from autograder.exports.nbgrader_csv import exercises_csv, nbgrader_csv
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.grade_export import grade_table_of_gradebook
from autograder.sandbox.isolation import detect_capabilities
from tests.e2e.conftest import HIDDEN_FROM_STUDENTS, HostileClass
from tests.e2e.hostile_students import SECRET
from tests.factories import MISCONCEPTIONS, SCHEME, SOLUTION, STAGE

pytestmark = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)

SHORTEST = 12  # characters: `x = 1` is no secret
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
    """Every line that no student may get."""
    solution = markers.secret_lines(SOLUTION, "tiny.py")
    return solution | hidden_lines() | wrong_lines() | {SECRET, SCHEME}


def files_for_students(hostile: HostileClass) -> Iterator[tuple[str, str, str]]:
    """Each file that students get: its student, its name, and its text as they read it."""
    for path in (hostile.root / "assignments").rglob("*.*"):
        yield "", path.name, path.read_text("utf-8")
    for path in (hostile.root / "feedback").rglob("*.*"):
        if path.is_file():
            yield path.parts[-3], path.name, plain(path.read_text("utf-8"))


def plain(page: str) -> str:
    """The text of a page: coloured code has a tag for each symbol."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def own(hostile: HostileClass, student: str) -> str:
    """The text of all files that *student* submitted."""
    if student == "zip":
        return SOLUTION
    folder = hostile.root / "submitted" / student
    found = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return "\n".join(path.read_text("utf-8") for path in found)


def leaks(hostile: HostileClass) -> list[tuple[str, str, str]]:
    """Each secret that a student got: student, file, line."""
    known = {student: own(hostile, student) for student, _, _ in files_for_students(hostile)}
    return [
        (student, name, secret)
        for student, name, text in files_for_students(hostile)
        for secret in secrets()
        if secret in text and not (student and secret in known[student])
    ]


def test_there_is_something_to_leak():
    """The tests below search for lines of every kind."""
    assert "self.factor = nn.Parameter(torch.rand(d))" in secrets()
    assert 'agrees(student.call("double", x), reference.call("double", x))' in secrets()
    assert 'swaps=(("2 * x", "x ** 2"),),' in secrets()


def test_students_get_no_secret(hostile: HostileClass):
    """Neither the release nor any feedback has one that its student did not submit."""
    files = [name for _, name, _ in files_for_students(hostile)]

    assert {"tiny.py", "lab.ipynb", "lab.html", "fingerprints.json"} <= set(files)
    assert leaks(hostile) == []


def test_a_leak_is_detected(hostile: HostileClass):
    """A page with a coloured line of the solution is one, so the test above can fail."""
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
    """Neither code nor feedback."""
    course = courses.load(hostile.root)
    with NbgraderSetup.of_course(course).gradebook() as book:
        table = grade_table_of_gradebook(book, course)
    text = nbgrader_csv(table).content.decode() + exercises_csv(table).content.decode()

    assert "returns_seven" in text
    assert not [secret for secret in secrets() if secret in text]
    assert "<" not in text
