"""What nbgrader is told when one of its commands starts in a course."""

import os
import shutil
import sys
from pathlib import Path

import nbgrader.apps.api
import nbgrader.apps.autogradeapp
import pytest
from traitlets.config import Config
from traitlets.utils.importstring import import_item

from autograder import course as courses
from autograder.course import Course
from autograder.errors import CourseError, UsageError
from autograder.gradebook.config import configure
from autograder.gradebook.connection import NbgraderSetup
from autograder.gradebook.converter import Autograde
from tests.kit.gradebook.conftest import CONFIG, ROOT


@pytest.fixture
def told(course: Course) -> Config:
    """What the course's nbgrader_config.py sets."""
    config = Config()
    configure(config, course.root / "nbgrader_config.py")
    return config


def test_the_course_is_the_one_beside_the_file(course: Course, told: Config):
    """Wherever the command was started."""
    assert told.CourseDirectory.root == str(course.root.resolve())
    assert told.CourseDirectory.course_id == course.id == "tiny"
    assert told.CourseDirectory.release_directory == "assignments"


def test_no_module_of_a_student_is_overwritten(told: Config):
    """By the stub that lies in source/, which nbgrader would do."""
    assert told.Autograde.exclude_overwriting == {"01_tiny": ["tiny.py"]}


def test_every_stage_of_our_course_is_told():
    """The course that comes with the kit, as it stands."""
    config = Config()
    configure(config, ROOT / "nbgrader_config.py")
    excluded = config.Autograde.exclude_overwriting

    assert list(excluded) == [stage.name for stage in courses.load(ROOT).stages]
    assert all((ROOT / "source" / name / stub).is_file() for name, [stub] in excluded.items())


def test_every_class_that_is_named_exists(told: Config):
    """A typing error would only show in the middle of a grading."""
    steps = (
        *told.Autograde.sanitize_preprocessors,
        *told.Autograde.autograde_preprocessors,
        *told.GenerateFeedback.preprocessors,
        told.ExportApp.plugin_class,
        told.ZipCollectApp.collector_plugin,
    )

    assert all(isinstance(import_item(step), type) for step in steps)


def test_no_step_runs_a_notebook(told: Config):
    """Neither list has nbgrader's Execute in it."""
    steps = [*told.Autograde.sanitize_preprocessors, *told.Autograde.autograde_preprocessors]

    assert not any("Execute" in step for step in steps)


@pytest.mark.usefixtures("told")
def test_the_command_and_the_button_use_our_converter():
    """Both look its name up when they start."""
    assert nbgrader.apps.autogradeapp.Autograde is Autograde
    assert nbgrader.apps.api.Autograde is Autograde


def test_alembic_is_found_beside_this_python(course: Course, monkeypatch: pytest.MonkeyPatch):
    """A scheduler's or a Windows shortcut's PATH knows nothing of the environment."""
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    configure(Config(), course.root / "nbgrader_config.py")
    configure(Config(), course.root / "nbgrader_config.py")

    assert shutil.which("alembic") == str(Path(sys.executable).parent / "alembic")
    assert os.environ["PATH"].count(str(Path(sys.executable).parent)) == 1


def test_settings_below_ours_win(course: Course):
    """An instructor adds to the file what this course needs."""
    more = "c.CourseDirectory.submitted_directory = 'handed_in'\nc.Autograde.force = True\n"
    (course.root / "nbgrader_config.py").write_text(CONFIG + more, "utf-8")
    setup = NbgraderSetup(course)

    assert setup.places.submitted_directory == "handed_in"
    assert setup.config.Autograde.force is True
    assert setup.autograded("ada", "01_tiny") == course.root / "autograded/ada/01_tiny"


def test_where_no_course_is_it_says_so(tmp_path: Path):
    """The file was copied without the rest."""
    with pytest.raises(CourseError, match=r"course\.toml is missing"):
        configure(Config(), tmp_path / "nbgrader_config.py")


def test_a_broken_course_is_a_sentence_for_graders(course: Course):
    """Naming the file that nbgrader was reading."""
    (course.root / "nbgrader_config.py").write_text("import nowhere_to_be_found", "utf-8")

    with pytest.raises(UsageError, match=r"nbgrader_config\.py can't be used: ModuleNotFoundError"):
        NbgraderSetup(course)
