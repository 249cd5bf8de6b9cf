"""Tests `autograder new-course`: some stages of a course in a separate folder."""

import json
import zipfile
from pathlib import Path

import pytest

from autograder.authoring import handout_folder, release
from autograder.authoring.new_course import (
    empty_course,
    new_course,
    stages_of_road,
    with_stages,
)
from autograder.course import MADE, Course, Stage, load
from autograder.errors import CourseError, UsageError
from autograder.suite import documented
from tests.kit.commands import forget_suites
from tests.kit.factories import (
    CELLS,
    DOCUMENTED_TOML,
    HIDDEN,
    SOLUTION,
    STAGE_TOML,
    cell,
    course_files,
    notebook,
    write_files,
)

TITLES = {"01_tiny": 'Ti"ny 1', "02_tiny": "Tiny 2", "03_tiny": "Tiny 3"}
NEEDS = {"01_tiny": [], "02_tiny": ["01_tiny"], "03_tiny": ["02_tiny"]}
TOUR = """# Tiny

See stage 01, and stages 02 and 03. Stage 02 was first.
Back to [stage 01](../01_tiny/lab.ipynb) or to [stage 02](../02_tiny/lab.ipynb)."""


def files_of_three() -> dict[str, str]:
    """Return the files of the stages, besides those of the tiny course."""
    tensors = DOCUMENTED_TOML.replace('["01_tiny"]', '["01_tiny", "03_tiny"]')
    files = {"tests/hidden/documented.toml": tensors + documented_of_the_second()}
    for name, title in TITLES.items():
        text = STAGE_TOML.replace("Tiny things", title.replace('"', '\\"'))
        needs = f'module = "tiny"\nprerequisites = {json.dumps(NEEDS[name])}'
        files[f"source/{name}/stage.toml"] = text.replace('module = "tiny"', needs)
    files["source/03_tiny/lab.ipynb"] = notebook(cell("markdown", TOUR), *CELLS[1:]).decode()
    files["solutions/03_tiny/tiny.py"] = SOLUTION.replace("Two tiny", "As in stage 02, two tiny")
    return files


@pytest.fixture
def three(write_course) -> Course:
    """Three stages that build on each other; the lab of the third mentions all of them."""
    return write_course(files_of_three(), stages=tuple(TITLES))


def documented_of_the_second() -> str:
    """A documented tensor that only the second stage uses."""
    _, tensor, _ = DOCUMENTED_TOML.split("[[tensor]]")
    text = tensor.replace("tiny.numbers", "tiny.second").replace("01_tiny", "02_tiny")
    return "\n[[tensor]]" + text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The first and the third stage; no test changes them."""
    folder = tmp_path_factory.mktemp("new-course")
    write_files(folder / "course", course_files(tuple(TITLES)) | files_of_three())
    with forget_suites():
        three = load(folder / "course")
        return new_course(three, ["3", "01_tiny"], folder / "mine").course


def with_roads(course: Course) -> Course:
    """Put the second stage on another road."""
    for stage in course.every_stage:
        path = stage.source / "stage.toml"
        road = f'module = "tiny"\nroad = "{"side" if stage.name[:2] == "02" else "main"}"'
        path.write_text(path.read_text("utf-8").replace('module = "tiny"', road), "utf-8")
    return load(course.root)


def test_a_road_brings_the_stages_that_it_needs(three: Course):
    """Prerequisites of prerequisites come too, in the order of the course; with `only`, none."""
    course = with_roads(three)

    assert stages_of_road(course, "side", only=False) == ["01_tiny", "02_tiny"]
    assert stages_of_road(course, "side", only=True) == ["02_tiny"]
    assert stages_of_road(course, "main", only=False) == [*TITLES]


def test_an_unknown_road_is_refused_with_the_roads_of_the_course(three: Course):
    """The message lists the roads, or says that the course has none."""
    with pytest.raises(UsageError, match="It has no roads"):
        stages_of_road(three, "side", only=False)
    with pytest.raises(UsageError, match=r"no road 'south'\. Its roads: main, side"):
        stages_of_road(with_roads(three), "south", only=False)


def test_the_stages_keep_the_order_of_the_course(made: Course):
    """The chosen stages keep their names and their order in the course."""
    assert made.file.stages == ("01_tiny", "03_tiny")


def test_what_students_receive_is_built(made: Course):
    """Nothing is stale, and no line of a solution is in a file for students."""
    with forget_suites():
        assert release.stale(made) == ()
    assert [*release.leaks(made)] == []


def test_a_prerequisite_that_is_missing_gives_way_to_its_own(made: Course):
    """A missing prerequisite is replaced by its own prerequisite."""
    assert made.stage("03").file.prerequisites == ("01_tiny",)


def test_documented_tensors_are_those_of_the_stages(made: Course):
    """A documented tensor that only an omitted stage uses is left out."""
    text = made.documented.read_text("utf-8")

    assert "tiny.numbers" in text
    assert "tiny.second" not in text


def test_a_course_may_use_no_documented_tensor(three: Course, tmp_path: Path):
    """documented.toml can be read even if no stage of the new course uses an entry."""
    path = three.documented
    path.write_text(path.read_text("utf-8").replace('"02_tiny"', '"03_tiny"'), "utf-8")
    stage = three.root / "tests/hidden/02_tiny/test_tiny.py"
    _, _, undocumented = HIDDEN.partition("\n\n\n")[2].partition("\n\n\n")
    stage.write_text(HIDDEN.partition("\n\n\n")[0] + "\n\n\n" + undocumented, "utf-8")
    with forget_suites():
        made = new_course(three, ["02"], tmp_path / "mine").course

    assert documented.read(made.documented) == {}


def test_a_picture_is_copied(three: Course, tmp_path: Path):
    """A file that is not text is copied byte by byte, also one that tools made."""
    three.shared_source.mkdir()
    (three.shared / MADE).mkdir(parents=True)
    (three.shared / MADE / "weights.bin").write_bytes(b"\xfe")
    (three.root / "source/01_tiny/picture.png").write_bytes(b"\x89PNG\xff")
    (three.shared_source / "picture.png").write_bytes(b"\xff")
    with forget_suites():
        made = new_course(three, ["01"], tmp_path / "mine").course

    assert (made.stages[0].assignment / "picture.png").read_bytes() == b"\x89PNG\xff"
    assert (made.shared / "picture.png").read_bytes() == b"\xff"
    assert (made.shared / MADE / "weights.bin").read_bytes() == b"\xfe"


def test_a_lab_mentions_no_stage_that_is_missing(made: Course):
    """A lab shows the title of a missing stage, which its first cell explains."""
    first = json.loads(made.stage("03").lab.read_text("utf-8"))["cells"][0]
    text = "".join(first["source"])

    assert "See stage 01, and “Tiny 2” and stage 03. “Tiny 2” was first." in text
    assert "topics that this course leaves out: “Tiny 2”." in text


def test_each_sentence_about_a_missing_stage_is_listed(three: Course, tmp_path: Path):
    """The author reads file, cell and sentence; a link to a missing stage leads to the next one."""
    lab = three.stage("01").lab
    ends = cell("markdown", "Go on with [stage 02: tiny 2](../02_tiny/lab.ipynb), or wait.")
    lab.write_bytes(notebook(*CELLS, ends))
    with forget_suites():
        made = new_course(three, ["01", "03"], tmp_path / "mine")
    last = json.loads(made.course.stage("01").lab.read_text("utf-8"))["cells"][-1]

    assert "source/03_tiny/lab.ipynb, cell 1: “Tiny 2” was first." in made.mentions
    assert len([one for one in made.mentions if "cell 1" in one]) == 3
    assert "".join(last["source"]) == (
        "Go on with [stage 03: tiny 3](../03_tiny/lab.ipynb), or in a terminal with "
        "`autograder next`."
    )


def test_a_folder_has_all_that_installs_the_kit(made: Course):
    """The README names the wheel of the kit, and the workflows install it from the folder."""
    readme = (made.root / "README.md").read_text("utf-8")
    (wheel,) = (made.root / "kit").glob("*.whl")
    workflow = (made.root / ".github/workflows/grade.yml").read_text("utf-8")
    names = zipfile.ZipFile(wheel).namelist()

    assert f'"kit/{wheel.name}[instructor]"' in readme
    assert "--constraint constraints.txt kit/*.whl" in workflow
    assert "torch==" in (made.root / "constraints.txt").read_text("utf-8")
    assert "copy the wheel from handout/" in (
        made.root / "for-students/.github/workflows/check.yml"
    ).read_text("utf-8")
    assert "autograder/for_courses/grade.yml" in names
    assert not [name for name in names if name.startswith("autograder/assignments/")]


def test_an_empty_course_is_for_another_topic(tmp_path: Path):
    """It has no stage, and commands that need one say how to write it."""
    course = empty_course(tmp_path / "mine")

    assert course.file.stages == ()
    assert (course.root / "nbgrader_config.py").is_file()
    with pytest.raises(CourseError, match="`autograder new-stage 01_name` writes the first one"):
        load(course.root)
    with pytest.raises(UsageError, match="is not an empty folder"):
        empty_course(course.root)


def test_a_title_cannot_end_a_text(three: Course, tmp_path: Path):
    """A quotation mark in a title does not end a string in a lab, a solution or stage.toml."""
    with forget_suites():
        made = new_course(three, ["03"], tmp_path / "mine")

    assert any("As in “Tiny 2”, two tiny things." in mention for mention in made.mentions)
    assert "As in “Tiny 2”, two tiny" in made.course.stages[0].stub.read_text("utf-8")


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        pytest.param(["09"], "no stage '09'", id="unknown"),
        pytest.param([], "Choose the stages", id="none"),
    ],
)
def test_stages_that_are_not_there_are_refused(three: Course, tmp_path: Path, wanted, words):
    """Unknown stages are refused by name before anything is written."""
    with pytest.raises(UsageError, match=words):
        new_course(three, wanted, tmp_path / "mine")

    assert not (tmp_path / "mine").exists()


def test_a_folder_that_holds_something_is_refused(three: Course, tmp_path: Path):
    """A folder that is not empty is refused, so no file is overwritten."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")

    with pytest.raises(UsageError, match="not an empty folder"):
        new_course(three, ["01"], tmp_path / "mine")


def test_stages_in_an_unusual_form_are_not_guessed():
    """A key in quotes is not rewritten: the author has to edit the file."""
    with pytest.raises(CourseError, match="list them yourself"):
        with_stages('"stages" = ["01_tiny"]\n', ["02_tiny"])


def test_a_link_to_a_lab_that_is_not_there_is_text(made: Course):
    """A link to a lab that is left out becomes text, and all others stay links."""
    text = made.stage("03_tiny").lab.read_text("utf-8")

    assert "[stage 01](../01_tiny/lab.ipynb) or to “Tiny 2”." in text


def test_the_folder_for_a_class_is_there(made: Course):
    """The new course has an up-to-date folder for a class with the wheel of its stages."""
    folder = made.root / "handout"

    assert handout_folder.stages_in(made, folder) == [*made.every_stage]
    assert handout_folder.stale(made) == []


@pytest.mark.slow
def test_numbers_are_taken_from_the_course(three: Course, tmp_path: Path, monkeypatch):
    """Numbers of a stage with the same code are copied and not computed again."""
    computed: list[Stage] = []
    with forget_suites():
        release.build(three)
        monkeypatch.setattr(release, "_build_records", lambda _, found, __: computed.extend(found))
        made = new_course(three, ["01"], tmp_path / "mine").course
        file = made.stages[0].records
        copied = file.read_bytes()
        release._write_records(made, release.no_report, made.every_stage)

    assert computed == []
    assert file.read_bytes() == copied


@pytest.mark.slow
def test_numbers_are_computed_where_the_code_differs(three: Course, tmp_path: Path, monkeypatch):
    """Numbers are computed only for the stage whose code differs."""
    computed: list[Stage] = []
    with forget_suites():
        release.build(three)
        monkeypatch.setattr(release, "_build_records", lambda _, found, __: computed.extend(found))
        new_course(three, ["01", "03"], tmp_path / "mine")

    assert [stage.name for stage in computed] == ["03_tiny"]
