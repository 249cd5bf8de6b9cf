"""Tests a learner's own folder: `start`, finding it, `reset` and `solution`."""

import shutil
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course import Course
from autograder.errors import UsageError
from autograder.student import learner_folder
from autograder.student.check import changed_stages
from autograder.student.learner_place import find_exercise
from autograder.student.progress import PROGRESS_FILE, Progress, tasks

WORK = "def double(x):\n    return x + x  # mine\n"


@pytest.fixture
def course(built_course) -> Course:
    """Two stages, built."""
    return built_course("01_tiny", "02_more")


@pytest.fixture
def own(course: Course, tmp_path: Path) -> Path:
    """A learner's folder, just made."""
    return learner_folder.start(course.root, tmp_path / "own").folder


@pytest.fixture
def run(own: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a command in the learner's folder; return its exit code and output."""
    monkeypatch.chdir(own)

    def invoke(*words: str):
        result = CliRunner().invoke(app, list(words))
        return result.exit_code, result.output

    return invoke


def test_start_copies_what_students_receive(course: Course, own: Path):
    """`start` copies every stage, and no file of an instructor."""
    stage = own / "01_tiny"

    assert {path.name for path in stage.iterdir()} == {
        path.name for path in course.stages[0].assignment.iterdir()
    }
    assert (own / PROGRESS_FILE).is_file()
    assert not list(own.rglob("misconceptions.py"))


def test_a_second_start_keeps_work_and_adds_what_is_missing(course: Course, own: Path):
    """A second start lists the files that it kept, and replaces unedited ones."""
    (own / "01_tiny" / "tiny.py").write_text(WORK)
    (own / "02_more" / "stage.toml").unlink()
    changed = course.stages[1].assignment / "tiny.py"
    changed.write_text("# newer\n" + changed.read_text())
    done = learner_folder.start(course.root, own)

    assert (own / "01_tiny" / "tiny.py").read_text() == WORK
    assert done.kept == [Path("01_tiny/tiny.py")]
    assert done.added == [Path("02_more/stage.toml")]
    assert done.replaced == [Path("02_more/tiny.py")]


def change(course: Course, old: str, new: str) -> None:
    """Change the released stub of the first stage, as an update of the course does."""
    stub = course.stages[0].stub
    assert old in stub.read_text()
    stub.write_text(stub.read_text().replace(old, new))


def test_an_update_replaces_only_what_is_not_begun(run, course: Course, own: Path):
    """`start` reports each changed exercise, and shows the change of those that are begun."""
    module = own / "01_tiny" / "tiny.py"
    begun = module.read_text().replace("raise NotImplementedError", "return x + x  # mine", 1)
    module.write_text(begun)
    change(course, "def double(x: Tensor)", "def double(x: Tensor, times: int = 2)")
    scale, new = "class Scale(nn.Module):", "class Scale(nn.Module):  # new"
    change(course, scale, new)
    untouched = course.stages[1].stub
    untouched.write_text(untouched.read_text().replace("def double(", "def double(*_, "))
    _, output = run("start")

    assert module.read_text() == begun.replace(
        "class Scale(nn.Module):", "class Scale(nn.Module):  # new"
    )
    assert "updated 01_tiny/tiny.py where you have not begun: Scale" in output
    assert "updated 02_more/tiny.py where you have not begun: double\n" in output
    assert "updated 02_more/tiny.py\n" not in output
    assert (own / "02_more" / "tiny.py").read_bytes() == untouched.read_bytes()
    assert "01_tiny/tiny.py: the stub of double has changed; your code stays." in output
    assert "+def double(x: Tensor, times: int = 2)" in output
    assert begun in [path.read_text() for path in (own / "copies").rglob("tiny-*.py")]


def test_a_newer_course_is_mentioned_once(run, course: Course, own: Path):
    """`next` says that the course is newer than the folder, once for each update."""
    assert "newer" not in run("next")[1]
    change(course, "class Scale(nn.Module):", "class Scale(nn.Module):  # new")

    assert "The course is newer than your folder (1 file)." in run("next")[1]
    assert learner_folder.newer_course(learner_folder.find(own)) == ""
    run("start")
    assert "newer" not in run("next")[1]


def test_a_folder_whose_course_is_gone_is_not_older(course: Course, own: Path):
    """A learner's folder without its course says nothing about updates."""
    change(course, "class Scale(nn.Module):", "class Scale(nn.Module):  # new")
    handed_out = learner_folder.find_stages(own)
    shutil.rmtree(course.root)

    assert learner_folder.newer_course(handed_out) == ""


def test_a_folder_that_was_moved_finds_its_course(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A folder outside of the course takes missing files and solutions from where it came from."""
    moved = own.rename(tmp_path / "elsewhere")
    (moved / "01_tiny" / "stage.toml").unlink()
    monkeypatch.chdir(moved / "01_tiny")
    done = learner_folder.start(Path.cwd())

    assert done.folder == moved
    assert done.added == [Path("01_tiny/stage.toml")]
    first = tasks(learner_folder.find(moved))[0]
    assert "def double" in learner_folder.solution(first)


def test_the_files_of_the_course_are_renewed_and_a_copy_is_kept(course: Course, own: Path):
    """`start` renews the course's files, and keeps a copy of an edited one."""
    suite = own / "01_tiny" / "test_public.py"
    suite.write_text("# mine\n")
    learner_folder.start(course.root, own)
    (copy,) = (own / "copies" / "01_tiny").iterdir()

    assert suite.read_bytes() == course.stages[0].public_suite.read_bytes()
    assert copy.read_text() == "# mine\n"


def test_start_copies_the_shared_folder_and_renews_it(course: Course, own: Path):
    """Modules of the course come next to the stages; a changed one is replaced and copied."""
    words = course.shared / "words.py"
    words.parent.mkdir()
    words.write_text("WORDS = 1\n")
    learner_folder.start(course.root, own)
    (own / "course" / "words.py").write_text("WORDS = 2\n")
    learner_folder.start(course.root, own)
    (copy,) = (own / "copies" / "course").iterdir()

    assert (own / "course" / "words.py").read_text() == "WORDS = 1\n"
    assert copy.read_text() == "WORDS = 2\n"
    assert learner_folder.find(own).shared == own / "course"


def test_start_removes_files_of_older_versions(course: Course, own: Path):
    """`start` removes built files that this version of the kit no longer reads."""
    older = [own / "01_tiny" / name for name in learner_folder.OLDER]
    for path in older:
        path.write_text("{}")
    learner_folder.start(course.root, own)

    assert [path for path in older if path.exists()] == []


def test_an_author_runs_the_checks_that_students_receive(course: Course, own: Path):
    """For a lab in source/, module and checks are in assignments/; other folders stay as given."""
    stage = course.stages[0]

    assert learner_folder.released_folder(stage.source) == stage.assignment
    assert learner_folder.released_folder(own / "01_tiny") == own / "01_tiny"
    assert learner_folder.released_folder(own) == own


def test_an_unpacked_zip_is_enough(course: Course, tmp_path: Path):
    """In an unpacked zip without a course, the learner's folder is next to the stages."""
    unpacked = shutil.copytree(course.root / "assignments", tmp_path / "unpacked")
    done = learner_folder.start(unpacked)

    assert done.folder == unpacked / "my-work"
    assert learner_folder.find(unpacked).root == done.folder
    assert learner_folder.find(done.folder / "01_tiny").root == done.folder


@pytest.mark.parametrize("name", ["", "assignments", "assignments/01_tiny", "source/01_tiny"])
def test_the_folders_of_the_course_are_nobodys_own(course: Course, name: str):
    """A folder of the course, where `release` writes, is not a learner's folder."""
    with pytest.raises(UsageError, match="`autograder release` writes there"):
        learner_folder.start(course.root, course.root / name)
    with pytest.raises(UsageError, match="`autograder start`"):
        learner_folder.find(course.root / name)


def test_a_folder_without_stages_says_where_to_start(tmp_path: Path):
    """In a folder without stages the message contains the command `start`."""
    with pytest.raises(UsageError, match="`autograder start`"):
        learner_folder.find(tmp_path)
    with pytest.raises(UsageError, match="cloned or unpacked"):
        learner_folder.start(tmp_path)


@pytest.fixture
def installed(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kit as installed from wheels, with the stages and the solutions."""
    site = tmp_path / "site"
    shutil.copytree(course.root / "assignments", site / "assignments")
    for name in ("solutions", "source"):
        shutil.copytree(course.root / name, site / "autograder_solutions" / name)
    monkeypatch.setattr(learner_folder, "installed_handouts", lambda: site / "assignments")
    monkeypatch.syspath_prepend(str(site))
    return site


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    return tmp_path / "empty"


@pytest.mark.usefixtures("installed")
def test_start_in_an_empty_folder_takes_the_stages_of_the_installed_kit(empty: Path):
    """`start` in an empty folder takes the stages of the installed wheel."""
    done = learner_folder.start(empty)

    assert done.folder == empty / "my-work"
    assert (done.folder / "START_HERE.md").is_file()
    assert [stage.name for stage in learner_folder.find(empty).stages] == ["01_tiny", "02_more"]


def test_start_again_takes_a_newer_kit_and_keeps_work(installed: Path, empty: Path):
    """A newer kit adds its stages; a learner's copy is not mistaken for the course's file."""
    learner_folder.start(empty)
    own = empty / "my-work"
    (own / "01_tiny" / "tiny.py").write_text(WORK)
    shutil.copytree(installed / "assignments/02_more", installed / "assignments/03_new")
    done = learner_folder.start(own, own)

    assert (own / "01_tiny" / "tiny.py").read_text() == WORK
    assert {path.parts[0] for path in done.added} == {"03_new"}


def test_stages_in_the_folder_come_before_those_of_the_kit(installed: Path, empty: Path):
    """Stages in the folder come before those of the kit, which may be older."""
    shutil.copytree(installed / "assignments/02_more", empty / "02_more")
    done = learner_folder.start(empty)

    assert {path.parts[0] for path in done.added} == {"02_more", ".vscode"}


@pytest.mark.usefixtures("installed")
def test_installed_solutions_are_found(empty: Path):
    """Solutions from the second wheel are found without a course around the folder."""
    learner_folder.start(empty)
    own = learner_folder.find(empty)
    text = learner_folder.solution(tasks(own)[0])

    assert text.startswith("def double")
    assert "SOLUTION" not in text


def test_reset_gives_one_exercise_back(own: Path):
    """`reset` restores one exercise and keeps a copy of the whole file."""
    module = own / "01_tiny" / "tiny.py"
    stub = module.read_text()
    solved = stub.replace("raise NotImplementedError", "return x + x  # mine", 1)
    solved += "\n\nMINE = 1\n"
    module.write_text(solved)
    handout = learner_folder.find(own)
    copy = learner_folder.reset(handout, tasks(handout)[0])

    assert module.read_text() == stub + "\n\nMINE = 1\n"
    assert copy is not None
    assert copy.read_text() == solved


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_reset_keeps_the_rest_of_a_module_in_any_encoding(own: Path, encoding: str):
    """`reset` and the line of an exercise know a module that Windows' editors saved."""
    module = own / "01_tiny" / "tiny.py"
    solved = module.read_text() + "\n\nMINE = 1\n"
    module.write_text(solved, encoding, newline="\r\n")
    handout = learner_folder.find(own)
    _, line = learner_folder.location(tasks(handout)[0])
    learner_folder.reset(handout, tasks(handout)[0])

    assert solved.splitlines()[line - 1].startswith("def double")
    assert module.read_text("utf-8") == solved


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"def broken(", id="syntax-error"),
        pytest.param(None, id="deleted"),
        pytest.param(b"", id="empty"),
        pytest.param("# Übung\nx = 1\n".encode("cp1252"), id="other-encoding"),
    ],
)
def test_reset_of_a_module_that_cannot_be_read_gives_it_back(own: Path, text: bytes | None):
    """`reset` of a module that is damaged or missing restores the whole module."""
    module = own / "01_tiny" / "tiny.py"
    stub = module.read_text()
    module.unlink() if text is None else module.write_bytes(text)
    handout = learner_folder.find(own)
    learner_folder.reset(handout, tasks(handout)[0])

    assert module.read_text() == stub


def test_reset_of_an_exercise_that_was_deleted_adds_it(own: Path):
    """`reset` adds a deleted exercise and keeps the rest of the file."""
    module = own / "01_tiny" / "tiny.py"
    module.write_text("MINE = 1\n")
    handout = learner_folder.find(own)
    learner_folder.reset(handout, tasks(handout)[0])

    assert module.read_text().startswith("MINE = 1\n\n\ndef double")


def test_the_place_of_an_exercise_is_its_line(own: Path):
    """The place of an exercise is its line in the learner's own module."""
    handout = learner_folder.find(own)
    file, line = learner_folder.location(tasks(handout)[0])

    assert file == own / "01_tiny" / "tiny.py"
    assert file.read_text().splitlines()[line - 1].startswith("def double")


def test_hint_next_and_progress(run):
    """`hint`, `next` and `progress` name the exercise, and show one more hint each time."""
    assert "hint 1 of 3" in run("hint")[1]
    assert "hint 2 of 3" in run("hint", "1/double")[1]
    assert "hint 1 of 3" in run("hint", "1/double", "1")[1]
    assert "Next: double" in run("next")[1]
    assert "0 of 4 exercises" in run("progress")[1]
    assert run("hint", "triple")[0] == 2


def test_a_check_is_progress(own: Path):
    """A check adds passing exercises to an existing progress file and removes failing ones."""
    stage = learner_folder.find(own).stages[0]
    remember = partial(learner_folder.remember, stage.stub, stage)
    remember({"double": True, "Scale": True})
    remember({"double": False, "Scale": True})
    passed = Progress.read(own).passed
    (own / PROGRESS_FILE).unlink()
    remember({"double": True})

    assert passed == {"01_tiny/Scale"}
    assert not (own / PROGRESS_FILE).exists()


def test_start_keeps_the_learner_s_settings_of_vs_code(own: Path, course: Course):
    """`start` writes the settings once, and never over those that the learner has changed."""
    settings = own / ".vscode" / "settings.json"
    written = settings.read_text("utf-8")
    settings.write_text("{}", "utf-8")
    done = learner_folder.start(course.root, own)

    assert '"python.testing.pytestEnabled": true' in written
    assert settings.read_text("utf-8") == "{}"
    assert settings.relative_to(own) not in done.added


def test_one_exercise_is_checked_by_its_name(run, own: Path, course: Course):
    """`check EXERCISE` runs and notes only that exercise, in the stage of the current folder."""
    stage = learner_folder.find(own).stages[0]
    stage.stub.write_bytes(course.stages[0].solution.read_bytes())
    code, output = run("check", "1/double")

    assert code == 0
    assert "✓ double" in output
    assert "Scale" not in output
    assert Progress.read(own).passed == {"01_tiny/double"}


def test_a_check_in_the_folder_checks_what_has_changed(run, own: Path, course: Course):
    """`check` in the learner's folder counts the changed stages, and shows the first wrong one."""
    for stage, solved in zip(learner_folder.find(own).stages, course.stages, strict=True):
        text = solved.solution.read_text("utf-8")
        stage.stub.write_text(text if stage.name == "01_tiny" else "x = 1\n", "utf-8")
    changed = changed_stages(own)
    code, output = run("check")

    assert [stage.name for stage in changed] == ["01_tiny", "02_more"]
    assert code == 1
    assert output.startswith(
        "2 stages have changed since their last check.\n1 of 2  ✓ 01_tiny  2 of"
    )
    assert "2 of 2  ✗ 02_more  0 of 2 exercises\n" in output
    assert "double is not defined" in " ".join(output.split())
    assert Progress.read(own).passed == {"01_tiny/double", "01_tiny/Scale"}
    assert "have changed" not in run("next")[1]


def test_a_check_of_another_file_is_no_progress(own: Path, tmp_path: Path):
    """A check of a file outside the learner's folder does not change the progress."""
    stage = learner_folder.find(own).stages[0]
    learner_folder.remember(tmp_path / "tiny.py", stage, {"double": True})

    assert Progress.read(own).passed == set()


def test_progress_says_that_a_module_has_changed_since_its_check(run, own: Path):
    """`progress` and `next` name a stage whose module has changed since its last check."""
    stage = learner_folder.find(own).stages[0]
    before = run("progress")[1]
    stage.stub.write_text("x = 1\n")
    changed, following = run("progress")[1], run("next")[1]
    learner_folder.remember(stage.stub, stage, {"double": True, "Scale": True})

    assert "since its last check" not in before
    for text in (changed, following):
        assert "01_tiny has changed since its last check: autograder check 01_tiny" in text
    assert "since its last check" not in run("progress")[1]


def test_start_inside_the_folder_adds_what_is_missing_there(course: Course):
    """`start` inside the folder adds a missing stub there and removes its progress."""
    own = learner_folder.start(course.root).folder
    stage = learner_folder.find(own).stages[0]
    learner_folder.remember(stage.stub, stage, {"double": True, "Scale": True})
    stage.stub.unlink()
    done = learner_folder.start(stage.source)

    assert done.folder == own
    assert done.added == [stage.stub.relative_to(own)]
    assert Progress.read(own).passed == set()
    assert not (own / learner_folder.DEFAULT).exists()


def test_a_reset_exercise_is_open_again(run, own: Path):
    """`reset` removes the exercise from the progress."""
    stage = learner_folder.find(own).stages[0]
    learner_folder.remember(stage.stub, stage, {"double": True, "Scale": True})
    code, output = run("reset", "1/double")

    assert code == 0, output
    assert "A copy of your file" in output
    assert Progress.read(own).passed == {"01_tiny/Scale"}
    assert "since its last check" not in run("progress")[1]


def test_a_name_of_several_exercises_is_not_guessed(run, own: Path):
    """Without a terminal an ambiguous name lists the choices and resets nothing."""
    before = (own / "01_tiny" / "tiny.py").read_bytes()
    code, output = run("reset", "double")

    assert code == 2
    assert "  01_tiny/double\n  02_more/double" in output
    assert (own / "01_tiny" / "tiny.py").read_bytes() == before


def test_a_solution_is_for_who_has_solved_it_or_gives_up(run, own: Path, course: Course):
    """Giving up is recorded; without solutions there is an error."""
    here = ("--course", str(course.root))
    refused = run("solution", "1/double", *here)
    shown = run("solution", "1/double", "--i-give-up", *here)

    assert refused[0] == 2
    assert "--i-give-up" in refused[1]
    assert shown[1].startswith("def double")
    assert "SOLUTION" not in shown[1]
    assert Progress.read(own).gave_up == {"01_tiny/double"}
    assert run("solution", "1/double", *here) == shown
    shutil.rmtree(course.root)
    assert "your instructor keeps them" in run("solution", "1/double")[1]


def test_a_solution_is_read_from_the_clone_around_the_folder(course: Course):
    """`solution` finds the clone around the folder without an option."""
    handout = learner_folder.find(learner_folder.start(course.root).folder)
    task = find_exercise(handout, "1/double")

    assert learner_folder.solution(task).startswith("def double")
