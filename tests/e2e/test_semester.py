"""Tests the semester of docs/instructor/: runs its commands with twenty students."""

import ast
import csv
import difflib
import html
import json
import lzma
import re
import shlex
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from nbgrader.api import Gradebook

from autograder.authoring import stubs
from autograder.course import RECORDS, load
from autograder.gradebook.connection import NbgraderSetup
from autograder.grading.class_copies import PROGRAM
from autograder.suite import records
from tests.kit.commands import run_here, run_process

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STAGE = "04_self_attention"
PAGES = [
    ROOT / "docs" / "instructor" / f"{name}.md"
    for name in ("before-term", "hand-out", "collect", "grade", "report", "return", "second-looks")
]
PARTS = ("course.toml", "nbgrader_config.py", "solutions", "source", "assignments", "tests/hidden")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RIGHT = (ROOT / "solutions" / STAGE / "self_attention.py").read_text("utf-8")
STUB = (ROOT / "assignments" / STAGE / "self_attention.py").read_text("utf-8")
LAB = (ROOT / "assignments" / STAGE / "lab.ipynb").read_text("utf-8")
UNSCALED = RIGHT.replace("scores / keys.shape[-1] ** 0.5", "scores")
FORGER = """
try:
    import sqlite3

    sqlite3.connect("../../../gradebook.db").execute("update grade set manual_score = 99")
except Exception:
    pass
"""
ON_TIME, LATE = "2026-11-20 12:00:00 UTC", "2026-11-21 09:30:00 UTC"
SHORTEST = 20  # characters of a line of code; shorter ones occur anywhere
ANSWERS = ("answer_frozen", "answer_starting_weights")
AUTOGRADE = f"nbgrader autograde {STAGE}"
COPIES = "autograder copies 04 submitted --report pages"
GRADE_AGAIN = "autograder grade submitted --stage 04 --gradebook --json results.json --report pages"
IN_PROCESSES_OF_THEIR_OWN = ("autograder doctor", AUTOGRADE)  # proves that both programs start


class Ran(NamedTuple):
    """One command of the page, its exit code and its output."""

    command: str
    code: int
    output: str


class Semester(NamedTuple):
    """The course at the end, the commands, and the scores."""

    root: Path
    ran: dict[str, Ran]
    scores: dict[str, list[tuple[str, str, float | None, float | None, bool]]]


def lab_with(answer: str) -> str:
    """Return the lab with *answer* written below each question."""
    notebook = json.loads(LAB)
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = answer
    return json.dumps(notebook)


def lab_with_copy(name: str) -> str:
    """Return the lab with the cell *name* copied to its end, as happens when cells are dragged."""
    notebook = json.loads(lab_with("Both are mine."))
    copied = [
        c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == name
    ]
    notebook["cells"] += copied
    return json.dumps(notebook)


def as_notebook(code: str) -> str:
    """Return a notebook whose only cell is *code*."""
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": code,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


CLASS: dict[str, dict[str, str]] = {
    "ada": {"self_attention.py": RIGHT, "lab.ipynb": lab_with("Because nothing changes them.")},
    "alan": {"self_attention.py": UNSCALED, "lab.ipynb": lab_with("So that they stay the same.")},
    "barbara": {"self_attention.py": RIGHT},
    "carl": {"self_attention.ipynb": as_notebook(RIGHT)},
    "dorothy": {"self_attention.py": STUB, "lab.ipynb": LAB},
    "edsger": {"self_attention.py": RIGHT.replace("def forward(self", "def forward(self,,", 1)},
    "emmy": {"self_attention.py": RIGHT, "lab.ipynb": lab_with("I see.")[:2000]},
    "frances": {"self_attention.py": RIGHT, "lab (1).ipynb": lab_with("Renamed by the browser.")},
    "grace": {"self_attention.py": RIGHT, "lab.ipynb": lab_with_copy("answer_frozen")},
    "hedy": {"self_attention (2).py": RIGHT},
    "joan": {"self_attention.py": RIGHT, "lab.ipynb": lab_with("<script>alert(1)</script>")},
    "katherine": {"lab.ipynb": lab_with("Words only.")},
    "linus": {"self_attention.py": RIGHT.replace("queries @ keys.T", "endless()", 1)
              + "\n\ndef endless():\n    while True: pass\n"},
    "mary": {"README.md": "I submit next week."},
    "niels": {},
    "olga": {"self_attention.py": "import os\nos._exit(0)\n" + RIGHT, "lab.ipynb": LAB},
    "ruth": {"self_attention.py": RIGHT, "lab.ipynb": "\x00\x01 not a notebook"},
    "sofia": {"self_attention.py": RIGHT, "lab.ipynb": lab_with("Late."), "timestamp.txt": LATE},
    "srinivasa": {"self_attention.py": UNSCALED, "timestamp.txt": LATE},
    "tim": {"self_attention.py": FORGER + RIGHT},
    "kay": {"SelfAttention_final_FINAL.py": RIGHT, "lab.ipynb": lab_with("By Canvas.")},
    "liv": {"hw.zip": ""},
    "vera": {"work.rar": "Rar!"},
}  # fmt: skip
PACKED = ("barbara", "hedy")  # their submissions are zips that no LMS made
CANVAS = {"kay": "johnsonkay_9", "liv": "lamarrliv_LATE_10", "vera": "rubinvera_11"}


@pytest.fixture(scope="module")
def semester(tmp_path_factory: pytest.TempPathFactory) -> Semester:
    """Run the commands of the page in order, with the manual grading that it describes."""
    root = tmp_path_factory.mktemp("semester") / "course"
    for part in PARTS:
        source, target = ROOT / part, root / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    end_endless_code_sooner(root)
    prepare(root)
    ran: dict[str, Ran] = {}
    scores = {}
    for heading, kind, text in blocks():
        if heading == "Return grades and feedback" and "graded" not in scores:
            scores["graded"] = rows(root)
            grade_by_hand(root)
        if kind == "python" and "plugin_class" in text:
            daily = text  # in place of the settings before it
            continue
        if kind == "python":
            configure(root, text)
            continue
        for command in text.strip().split("\n"):
            ran[command] = run(root, command)
    scores["at the end"] = rows(root)
    for folder in (root / "gradebook.db", root / "autograded"):
        folder.rename(folder.with_name(f"first-{folder.name}"))
    set_due_date(root)
    ran["in a new gradebook"] = Ran(AUTOGRADE, *run_here(root, shlex.split(AUTOGRADE)))
    scores["by nbgrader autograde"] = rows(root)
    configure(root, daily)
    for command in (GRADE_AGAIN, "nbgrader export --to daily.csv"):
        ran[f"daily: {command}"] = run(root, command)
    return Semester(root, ran, scores)


def configure(root: Path, text: str) -> None:
    """Add *text* to nbgrader's configuration."""
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(text)


def end_endless_code_sooner(root: Path) -> None:
    """Lower the limit of a call, which each call of Linus' code uses up."""
    file = root / "course.toml"
    text = file.read_text("utf-8")
    file.write_text(re.sub(r"(?m)^call_seconds = .*$", "call_seconds = 0.5", text), "utf-8")


def blocks() -> Iterator[tuple[str, str, str]]:
    """Yield each block of commands or settings of the pages with the title of its page."""
    for page in PAGES:
        text = page.read_text("utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        for found in BLOCK.finditer(text):
            yield title, found[1], found[2]


def set_due_date(root: Path) -> None:
    """Set the due date in a new gradebook, as the page does in the first one."""
    with NbgraderSetup.of_course(load(root)).gradebook() as book:
        book.update_or_create_assignment(STAGE, duedate="2026-11-20 23:00:00 UTC")


def prepare(root: Path) -> None:
    """Put the submissions and the files from the LMS into their folders."""
    for student, files in CLASS.items():
        stamp = {} if student in PACKED else {"timestamp.txt": ON_TIME}
        folder = root / "submitted" / student / STAGE
        if student in CANVAS:
            continue
        if student in PACKED:
            pack(root / "by-mail" / f"{student}.zip", files)
            continue
        folder.mkdir(parents=True)
        for name, content in (stamp | files).items():
            (folder / name).write_text(content, "utf-8")
    (root / "by-mail" / "xenia.zip").write_bytes(b"no zip")
    pack_as_canvas(root / "submissions.zip")
    (root / "students.csv").write_text(
        'id,first_name,last_name,email\nada,Ada,"King, Countess of Lovelace",ada@example.org\n'
    )
    (root / "canvas-export.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section\n"
        "    Points Possible,,,,\n"
        '"Lovelace, Ada",7,,ada,A\nTuring Alan,8,,alan,A\n'
        '"Johnson, Kay",9,,kay,A\n"Lamarr, Liv",10,,liv,A\n"Rubin, Vera",11,,vera,A\n'
        '"Wu, Chien",12,,chien,A\n'
    )
    (root / "groups.csv").write_text(
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
        'Kay Johnson,9,,kay,A,Project 1,1,\n"Wu, Chien",12,,chien,A,Project 1,1,\n'
    )
    (root / "moodle-worksheet.csv").write_text(
        "Identifier,Full name,Email address,ID number,Status,Grade,Maximum Grade,"
        "Grade can be changed,Last modified (submission),Last modified (grade),Feedback comments\n"
        "Participant 7,Ada Lovelace,ada@example.org,ada,Submitted,,14.00,Yes,-,-,\n"
    )


def pack(file: Path, files: dict[str, str]) -> None:
    """Zip *files* into *file*."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def pack_as_canvas(file: Path) -> None:
    """Zip the files of some students as Canvas does; one submitted a zip, after the deadline."""
    files = {
        f"{CANVAS[student]}_50{number}_{name}": content
        for student in CANVAS
        for number, (name, content) in enumerate(CLASS[student].items())
    }
    pack(file, {name: content for name, content in files.items() if not name.endswith(".zip")})
    inner = file.with_name("hw.zip")
    pack(inner, {"homework/self_attention.py": RIGHT})
    with zipfile.ZipFile(file, "a") as archive:
        archive.write(inner, f"{CANVAS['liv']}_500_hw.zip")
    inner.unlink()


def run(root: Path, line: str) -> Ran:
    """Run *line* of the page in *root*: by a shell, or in this process, which is quicker."""
    words = shlex.split(line)
    if line in IN_PROCESSES_OF_THEIR_OWN or words[0] not in {"autograder", "nbgrader"}:
        return Ran(line, *run_process(root, line))
    return Ran(line, *run_here(root, words))


def grade_by_hand(root: Path) -> None:
    """Give Ada 1.5 points and a comment, as formgrader stores them."""
    with Gradebook(f"sqlite:///{root}/gradebook.db", "attention") as book:
        grade = book.find_grade(ANSWERS[0], "lab", STAGE, "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        comment = book.find_comment(ANSWERS[0], "lab", STAGE, "ada")
        comment.manual_comment = "A fine answer, and what of the gradient?"
        book.db.commit()


def rows(root: Path) -> list[tuple[str, str, float | None, float | None, bool]]:
    """Return student, cell, automatic and manual score, and whether it waits, sorted."""
    with sqlite3.connect(root / "gradebook.db") as database:
        return database.execute(
            "select s.student_id, c.name, g.auto_score, g.manual_score, g.needs_manual_grade "
            "from grade g join submitted_notebook n on g.notebook_id = n.id "
            "join submitted_assignment s on n.assignment_id = s.id "
            "join base_cell c on c.id = g.cell_id order by 1, 2"
        ).fetchall()


def total(semester: Semester, student: str, when: str = "graded") -> float:
    """Add up the automatic scores of *student*."""
    found = [row[2] or 0.0 for row in semester.scores[when] if row[0] == student]
    return round(sum(found), 6)


def test_every_command_of_the_page_works(semester: Semester):
    """Each command of the instructor's page ends with exit code 0."""
    failed = {name: ran.output[-2000:] for name, ran in semester.ran.items() if ran.code}
    if shutil.which(PROGRAM) is None:
        assert f"uv tool install {PROGRAM}" in failed.pop(COPIES)

    assert failed == {}


def test_nbgrader_releases_what_our_command_releases(semester: Semester):
    """With nbgrader's command or the kit's, students receive the same bytes."""
    by_nbgrader, ours = (
        {path.name: path.read_bytes() for path in (root / "assignments" / STAGE).glob("*.*")}
        for root in (semester.root, ROOT)
    )

    assert f"nbgrader generate_assignment {STAGE} --force" in semester.ran
    assert by_nbgrader == ours


def test_every_student_has_a_row_for_every_cell(semester: Semester):
    """For any submission, all graded cells of the lab have a grade."""
    cells = {row[1] for row in semester.scores["graded"]}

    assert len(semester.scores["graded"]) == (len(CLASS) + 1) * len(cells)  # and Xenia
    assert {row[0] for row in semester.scores["graded"]} == {*CLASS, "xenia"}


@pytest.mark.parametrize(
    "student",
    [
        "ada",
        "barbara",
        "carl",
        "emmy",
        "frances",
        "grace",
        "hedy",
        "joan",
        "kay",
        "liv",
        "olga",  # whose module ends the process above its right classes
        "ruth",
        "sofia",
        "tim",
    ],
)
def test_right_code_earns_all_ten_points(semester: Semester, student: str):
    """A damaged, renamed or missing notebook, a zip, or an exit, costs no points of the module."""
    assert total(semester, student) == 10.0


@pytest.mark.parametrize("student", ["dorothy", "katherine", "mary", "niels", "vera", "xenia"])
def test_submissions_without_working_code_earn_0(semester: Semester, student: str):
    """Stubs, texts, missing files and broken archives earn 0 points."""
    assert total(semester, student) == 0.0


@pytest.mark.parametrize("student", ["alan", "srinivasa", "linus"])
def test_partly_right_code_earns_a_part(semester: Semester, student: str):
    """Wrong or endless code keeps the points of the checks that pass."""
    assert 0 < total(semester, student) < 10.0


def test_blank_answers_are_0_and_others_wait(semester: Semester):
    """Written answers and exercises in which nothing could be graded wait for a grade."""
    waiting = {(row[0], row[1]) for row in semester.scores["graded"] if row[4]}
    wrote = {"ada", "alan", "frances", "grace", "joan", "katherine", "kay", "sofia"}
    wrote |= {"emmy", "ruth"}  # their labs are damaged, so nobody knows
    ungraded = {"katherine", "mary", "niels", "vera", "xenia"}
    exercises = {row[1] for row in semester.scores["graded"]} - set(ANSWERS)

    assert waiting == {
        *((student, answer) for student in wrote for answer in ANSWERS),
        *((student, exercise) for student in ungraded for exercise in exercises),
    }


def test_nbgrader_autograde_gives_the_same_scores(semester: Semester):
    """In a new gradebook, nbgrader's own command gives every student the same points."""
    ours = [row[:3] for row in semester.scores["graded"]]

    assert [row[:3] for row in semester.scores["by nbgrader autograde"]] == ours


def test_nbgrader_autograde_writes_the_same_notebooks(semester: Semester):
    """`nbgrader autograde` writes the same files for formgrader, byte by byte."""
    folders = [semester.root / name for name in ("first-autograded", "autograded")]
    where = re.compile(rb"; it was running line \d+")  # an endless loop is at one of its lines
    files = [
        {
            path.relative_to(folder): where.sub(b"", path.read_bytes())
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in folders
    ]

    assert files[0].keys() == files[1].keys()
    for path, content in files[0].items():
        assert not differences(content, files[1][path]), path


def differences(left: bytes, right: bytes) -> str:
    """Return the lines that two files do not share."""
    texts = [content.decode("utf-8", "replace").split("\n") for content in (left, right)]
    return "\n".join(difflib.unified_diff(*texts, lineterm="", n=0)) if left != right else ""


def test_no_student_sets_a_manual_score(semester: Semester):
    """All manual scores come from the instructor, even if a module tries to set one."""
    assert {row[3] for row in semester.scores["at the end"]} == {None, 1.5}


def test_a_regrade_keeps_manual_scores(semester: Semester):
    """Ada's manual score stayed; because her answer is unchanged, no review is asked for."""
    row = next(r for r in semester.scores["at the end"] if r[:2] == ("ada", ANSWERS[0]))

    assert row[3:] == (1.5, 0)


def test_late_work_is_penalised_as_the_configuration_says(semester: Semester):
    """With the method "zero", late students have no points, and the others keep theirs."""
    grades = {row["student_id"]: row for row in read(semester.root / "grades.csv")}

    assert (float(grades["sofia"]["raw_score"]), float(grades["sofia"]["score"])) == (10.0, 0.0)
    assert (float(grades["liv"]["raw_score"]), float(grades["liv"]["score"])) == (10.0, 0.0)
    assert float(grades["barbara"]["score"]) == 10.0
    assert float(grades["ada"]["late_submission_penalty"]) == 0.0


def test_late_work_loses_a_share_for_each_day(semester: Semester):
    """With the daily penalty, ten and a half hours cost a tenth, and 1 second of Canvas nothing."""
    grades = {row["student_id"]: row for row in read(semester.root / "daily.csv")}
    columns = ("late_submission_penalty", "score")

    assert [float(grades["sofia"][name]) for name in columns] == [1.0, 9.0]
    assert [float(grades["liv"][name]) for name in columns] == [0.0, 10.0]


def test_each_member_of_a_group_has_the_score(semester: Semester):
    """Chien submitted nothing and has the points of Kay, with whom she works."""
    canvas = {row["ID"]: row for row in read(semester.root / "canvas-groups.csv")}

    assert [canvas[number]["Self-attention as a module"] for number in ("9", "12")] == ["10", "10"]


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} is not installed.")
def test_the_class_report_lists_similar_code(semester: Semester):
    """The pairs of `copies` are in the report that is written afterwards."""
    page = (semester.root / "pages" / "index.html").read_text("utf-8")

    assert "; pages/copies/" in semester.ran[COPIES].output
    assert f'href="copies/{STAGE}/' in page


def test_the_manual_score_is_in_every_export(semester: Semester):
    """Each export contains Ada's ten points and the one and a half by hand."""
    root = semester.root
    by_nbgrader = {row["student_id"]: row for row in read(root / "grades.csv")}["ada"]
    by_canvas = {row["ID"]: row for row in read(root / "canvas.csv")}["7"]
    by_moodle = read(root / "moodle.csv")[0]

    assert float(by_nbgrader["score"]) == 11.5
    assert by_nbgrader["last_name"] == "King, Countess of Lovelace"
    assert float(by_canvas["Self-attention as a module"]) == 11.5
    assert float(by_moodle["Grade"]) == 11.5


def test_a_student_of_canvas_is_one_person(semester: Semester):
    """A downloaded submission has the course's id everywhere, and a cell in Canvas."""
    grades = {row["student_id"]: row for row in read(semester.root / "grades.csv")}
    canvas = {row["ID"]: row for row in read(semester.root / "canvas.csv")}
    *scores, nothing = (
        canvas[number]["Self-attention as a module"] for number in ("9", "10", "11")
    )

    assert not [student for student in grades if "_" in student]
    assert (grades["kay"]["first_name"], grades["kay"]["last_name"]) == ("Kay", "Johnson")
    assert scores == ["10", "0"]
    assert not nothing  # the row of a student without a grade stays as short as it was


def test_a_student_who_submitted_the_lab_reads_that_first(semester: Semester):
    """The page of a student who submitted the lab states this first, without a local path."""
    page = (semester.root / "feedback" / "katherine" / STAGE / "lab.html").read_text("utf-8")

    assert "You submitted the lab, not `self_attention.py`." in html.unescape(page)
    assert str(ROOT) not in page
    assert str(semester.root) not in page


def test_the_comment_and_the_named_mistake_are_in_the_feedback(semester: Semester):
    """Ada's page has the comment, Alan's page has his mistake, and no page has the mark scheme."""
    feedback = semester.root / "feedback"
    ada = (feedback / "ada" / STAGE / "lab.html").read_text("utf-8")
    alan = (feedback / "alan" / STAGE / "lab.html").read_text("utf-8")

    assert "A fine answer, and what of the gradient?" in ada
    assert "The scores are not divided by the square root of the key size</strong>." in alan
    assert "MARK SCHEME" not in ada + alan


def test_scripts_in_answers_are_text_in_the_feedback(semester: Semester):
    """Joan's script is shown as text and does not run."""
    page = (semester.root / "feedback" / "joan" / STAGE / "lab.html").read_text("utf-8")

    assert "alert(1)" in page
    assert "<script>alert(1)" not in page


def read(file: Path) -> list[dict[str, str]]:
    """Read a CSV file with a header."""
    with file.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("stage", [stage.name for stage in load(ROOT).stages])
def test_students_get_nothing_of_a_hidden_suite(semester: Semester, stage: str):
    """No file for students has a line of a hidden check's body or of a misconception."""
    hidden = hidden_lines(stage) | wrong_lines(stage)
    found = [
        (name, line)
        for name, text in files_for_students(semester)
        for line in hidden
        if line in text
    ]

    assert len(hidden) >= 10
    assert found == []


def test_students_without_a_solution_get_none(semester: Semester):
    """The released files and the feedback contain no line of the solution.

    A third hint may contain half a line of the solution.
    """
    empty = [f"feedback/{student}/" for student in ("dorothy", "katherine", "mary", "niels")]
    solution = stubs.secret_lines(RIGHT, "self_attention.py") - public_lines(STAGE)
    files = {
        name: {stubs.bare_line(line) for line in text.split("\n")}
        for name, text in files_for_students(semester)
        if name.startswith((f"assignments/{STAGE}/", *empty)) or "/" not in name
    }

    assert len(solution) > 10
    assert sum(name.startswith("feedback/") for name in files) == len(empty)
    assert {name: lines & solution for name, lines in files.items() if lines & solution} == {}


def files_for_students(semester: Semester) -> Iterator[tuple[str, str]]:
    """Yield every file that students or an LMS get: its path, and its text as they read it."""
    for pattern in ("assignments/**/*", "feedback/**/*.html", "pages/*.html", "*.csv", "*.xml"):
        for path in semester.root.glob(pattern):
            if path.is_file() and "__pycache__" not in path.parts:
                text = text_for_students(path)
                is_page = path.suffix == ".html"  # colored code has a tag for each symbol
                words = html.unescape(re.sub(r"<[^>]*>", "", text)) if is_page else text
                yield str(path.relative_to(semester.root)), words


def text_for_students(path: Path) -> str:
    """Return the text of a file; that of records and of packed numbers is the decompressed one."""
    if path.name == RECORDS:
        return str(records.plain(path))
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as packed:
            return "\n".join(packed.read(name).decode("latin-1") for name in packed.namelist())
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes()).decode("utf-8")
    return path.read_text("utf-8")


def public_lines(stage: str) -> set[str]:
    """Return the lines of the public suite, which students may read."""
    text = (ROOT / "assignments" / stage / "test_public.py").read_text("utf-8")
    return {line.strip() for line in text.split("\n")}


def hidden_lines(stage: str) -> set[str]:
    """Return the lines in the bodies of hidden checks; their docstrings are public titles."""
    (suite,) = (ROOT / "tests" / "hidden" / stage).glob("test_*.py")
    text = suite.read_text("utf-8")
    lines = text.split("\n")
    found = {
        lines[number - 1].strip()
        for function in ast.parse(text).body
        if isinstance(function, ast.FunctionDef)
        for statement in function.body[1:]
        for number in range(statement.lineno, (statement.end_lineno or 0) + 1)
    }
    public = "\n".join(
        path.read_text("utf-8") for path in ROOT.glob("assignments/*/test_public.py")
    )
    return {line for line in found if len(line) >= SHORTEST and line not in public}


def wrong_lines(stage: str) -> set[str]:
    """Return the lines of misconceptions that are code, not their explanations."""
    text = (ROOT / "tests" / "hidden" / stage / "misconceptions.py").read_text("utf-8")
    code = [
        line.strip()
        for line in text.split("\n")
        if re.match(r"\s*(swaps=|\(['\"]|def |return )", line)
    ]
    return {line for line in code if len(line) >= SHORTEST}
