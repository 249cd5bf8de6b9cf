"""Tests, in this process, that a container grades its submission or gives no grade."""

import io
import json
import zipfile
from pathlib import Path

import msgspec
import pytest

from autograder.errors import CourseError, GraderError, SandboxError
from autograder.exports.gradescope_results import gradescope
from autograder.gradescope.container import Container, combine_stages, main, read_student
from autograder.sandbox import isolation
from autograder.submission.names import MAX_STUDENT
from tests.kit.exports.test_gradescope_results import accepted
from tests.kit.factories import SOLUTION, LayOut

RIGHT = SOLUTION.encode()
WRONG = RIGHT.replace(b"2 * x", b"x.cos()")


def zipped(**files: bytes) -> bytes:
    """An archive with *files*, each a module."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"work/{name}.py", text)
    return buffer.getvalue()


def notebook(*cells: str) -> bytes:
    """A notebook with code *cells*."""
    made = [
        {
            "cell_type": "code",
            "id": str(i),
            "metadata": {},
            "source": cell,
            "outputs": [],
            "execution_count": None,
        }
        for i, cell in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def grade_container(root: Path) -> dict:
    """Grade the container at *root* as its script does, and read what it wrote."""
    assert main([str(root)]) == 0
    return accepted((root / "results" / "results.json").read_bytes())


CAPABILITIES = isolation.detect_capabilities()
pytestmark = pytest.mark.skipif(CAPABILITIES.level != "full", reason=CAPABILITIES.reason)


@pytest.mark.usefixtures("lent_fork_server")
@pytest.mark.parametrize(
    ("files", "score"),
    [
        pytest.param({"tiny.py": RIGHT}, 10.0, id="a_right_module"),
        pytest.param({"tiny.py": WRONG}, 5.0, id="a_wrong_module"),
        pytest.param({"my work (1).py": RIGHT}, 10.0, id="one_module_of_another_name"),
        pytest.param({"deep/down/tiny.py": RIGHT, "notes.txt": b"!"}, 10.0, id="in_folders"),
        pytest.param({"submission.zip": zipped(tiny=RIGHT)}, 10.0, id="a_zip"),
        pytest.param({"tiny.ipynb": notebook(SOLUTION)}, 10.0, id="a_notebook"),
        pytest.param({"lab.ipynb": notebook("1 + 1", SOLUTION)}, 10.0, id="a_lab_that_holds_all"),
        pytest.param({"lab.ipynb": notebook("import tiny")}, 0.0, id="a_lab_alone"),
        pytest.param({".git/HEAD": b"ref", "tiny.py": RIGHT}, 10.0, id="a_repository"),
        pytest.param({}, 0.0, id="nothing"),
        pytest.param({"a.zip": zipped(tiny=RIGHT), "b.zip": b""}, 10.0, id="one_broken_of_two"),
        pytest.param({"a.zip": b"", "b.rar": b""}, 0.0, id="two_that_no_one_can_read"),
    ],
)
def test_any_files_are_one_submission(files: dict[str, bytes], score: float, laid_out: LayOut):
    """Any files lead to one result in Gradescope's format, with a reason if none is graded."""
    answer = grade_container(laid_out(files))

    assert answer["score"] == score
    assert answer["extra_data"]["stage"] == "01_tiny"
    assert answer["tests"] or answer["output"]


@pytest.mark.usefixtures("lent_fork_server")
def test_the_instructor_sees_score_and_isolation(
    laid_out: LayOut, capsys: pytest.CaptureFixture[str]
):
    """The output has one line for the submission and one for the conditions."""
    grade_container(laid_out({"tiny.py": RIGHT}))

    assert capsys.readouterr().out.splitlines() == [
        "1234, 01_tiny: 10 points (graded)",
        "Isolation: full. Hidden inputs: public.",
    ]


@pytest.mark.usefixtures("lent_fork_server")
def test_several_stages_are_added_up(laid_out: LayOut):
    """Names decide the stage, equal exercises stay distinct, and a missing stage earns nothing."""
    files = {"01_tiny/tiny.py": RIGHT, "03_tiny/tiny.py": WRONG}
    answer = grade_container(laid_out(files, ("01_tiny", "02_tiny", "03_tiny")))
    names = [test["name"] for test in answer["tests"]]

    assert answer["score"] == 15.0
    assert "Not submitted: 02_tiny." in answer["output"]
    assert len(set(names)) == len(names) == 6
    assert names[0].startswith("01_tiny double: ")


@pytest.mark.usefixtures("lent_fork_server")
def test_files_may_match_none_of_several_stages(laid_out: LayOut):
    """Files that match no stage earn 0 points, with a sentence on how to name them."""
    answer = grade_container(laid_out({"a.txt": b"", "b.txt": b""}, ("01_tiny", "02_tiny")))

    assert (answer["score"], answer["tests"]) == (0.0, [])
    assert "Name the module as its stage does" in answer["output"]


@pytest.mark.usefixtures("lent_fork_server")
def test_an_error_of_the_grader_is_not_a_grade(
    laid_out: LayOut, capsys: pytest.CaptureFixture[str]
):
    """A course that cannot be graded writes no results.json and exits with code 1 and a reason."""
    root = laid_out({"tiny.py": RIGHT})
    (root / "source" / "course" / "tests" / "hidden" / "01_tiny" / "test_tiny.py").write_text("(")

    assert main([str(root)]) == 1
    assert "No grade: The suites can't be collected" in capsys.readouterr().out
    assert not list((root / "results").iterdir())


@pytest.mark.usefixtures("lent_fork_server")
def test_a_stage_without_a_grade_leaves_the_whole_without(laid_out: LayOut):
    """If one stage has no grade, there is no total, because a partial sum would be wrong."""
    files = {"01_tiny/tiny.py": RIGHT, "02_tiny/tiny.py": RIGHT}
    container = Container(laid_out(files, ("01_tiny", "02_tiny")))
    results = container.grade_submission()
    one = results.submissions[0]
    broken = msgspec.structs.replace(
        results,
        submissions=(
            msgspec.structs.replace(one, stage="01_tiny"),
            msgspec.structs.replace(one, stage="02_tiny", score=None, status="grader-error"),
        ),
    )

    with pytest.raises(GraderError, match="The grader failed for 1234"):
        gradescope(combine_stages(broken, container.stages))


@pytest.mark.usefixtures("lent_fork_server")
def test_the_solutions_are_graded_when_the_image_is_built(laid_out: LayOut):
    """A solution without full marks stops the build of the image."""
    root = laid_out({})

    assert main([str(root), "--try"]) == 0
    assert not list((root / "results").iterdir())

    solution = root / "source" / "course" / "solutions" / "01_tiny" / "tiny.py"
    solution.write_bytes(WRONG)

    with pytest.raises(CourseError, match=r"01_tiny, test_doubles_the_documented_numbers"):
        Container(root).grade_solutions()


@pytest.mark.parametrize(
    ("metadata", "student"),
    [
        pytest.param(b'{"users": [{"id": 12}]}', "12", id="a_student"),
        pytest.param(b'{"users": [{"id": 12}, {"id": 13}]}', "12+13", id="a_group"),
        pytest.param(b'{"users": []}', "student", id="no_user"),
        pytest.param(b'{"users": [{"name": "Ada"}]}', "student", id="another_format"),
        pytest.param(b"\xff{", "student", id="no_json"),
    ],
)
def test_the_student_is_gradescopes_number(metadata: bytes, student: str, tmp_path: Path):
    """The student's id is Gradescope's number, or `student` if there is none."""
    file = tmp_path / "submission_metadata.json"
    file.write_bytes(metadata)

    assert read_student(file) == student


def test_the_student_is_never_a_path(tmp_path: Path):
    """An id in Gradescope's metadata, which may be any text, is never a path."""
    file = tmp_path / "submission_metadata.json"
    file.write_text(json.dumps({"users": [{"id": "../../results\n" + "x" * 500}]}))
    student = read_student(file)

    assert "/" not in student
    assert student.isprintable()
    assert len(student) <= MAX_STUDENT


@pytest.fixture
def without_landlock(monkeypatch: pytest.MonkeyPatch):
    """A container that forbids Landlock."""
    poor = msgspec.structs.replace(CAPABILITIES, level="process", reason="No Landlock.")
    for module in ("autograder.gradescope.container", "autograder.sandbox.isolation"):
        monkeypatch.setattr(f"{module}.detect_capabilities", lambda: poor)


@pytest.mark.usefixtures("without_landlock")
def test_less_isolation_than_configured_is_refused(laid_out: LayOut):
    """A bundle made with `--isolation full` does not grade with less isolation."""
    root = laid_out({"tiny.py": RIGHT}, least="full")

    with pytest.raises(
        SandboxError, match=r"No Landlock\. To accept less isolation, make the bundle again without"
    ):
        Container(root).choose_sandbox()


@pytest.mark.usefixtures("without_landlock", "without_root")
def test_without_landlock_and_root_nothing_is_graded(laid_out: LayOut):
    """Nothing is graded if student code would run as a user who can read solutions."""
    root = laid_out({"tiny.py": RIGHT})

    with pytest.raises(SandboxError, match="must run as root"):
        Container(root).choose_sandbox()


@pytest.mark.usefixtures("without_landlock")
def test_without_landlock_root_runs_student_code_as_nobody(
    laid_out: LayOut, monkeypatch: pytest.MonkeyPatch
):
    """Without Landlock, root runs student code as nobody, who cannot read solutions."""
    root = laid_out({"tiny.py": RIGHT})
    monkeypatch.setattr("os.geteuid", lambda: 0)
    script = root / "source" / "as_nobody"
    script.write_text("#!/bin/sh\nexit 0\n")  # a self-test in which every listing is refused

    assert Container(root).choose_sandbox() == ("process", str(script))


@pytest.mark.usefixtures("without_landlock")
def test_a_user_who_can_read_the_solutions_is_refused(
    laid_out: LayOut, monkeypatch: pytest.MonkeyPatch
):
    """If the user nobody can still read the solutions, nothing is graded."""
    root = laid_out({"tiny.py": RIGHT})
    monkeypatch.setattr("os.geteuid", lambda: 0)
    (root / "source" / "as_nobody").write_text('#!/bin/sh\nexec python3 "$@"\n')

    with pytest.raises(SandboxError, match="can be read by the user who runs student code"):
        Container(root).choose_sandbox()
