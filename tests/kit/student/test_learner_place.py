"""Tests which exercise a word or a folder means."""

from pathlib import Path

import pytest

from autograder.errors import UsageError
from autograder.student import learner_folder
from autograder.student.learner_place import find_place
from autograder.student.progress import AmbiguousNameError, Progress


@pytest.fixture
def own(built_course, tmp_path: Path) -> Path:
    """A learner's folder with two stages, which have exercises of the same names."""
    course = built_course("01_tiny", "02_more")
    return learner_folder.start(course.root, tmp_path / "my-work").folder


@pytest.mark.parametrize(
    ("word", "folder", "key"),
    [
        pytest.param("", ".", "01_tiny/double", id="first-to-do"),
        pytest.param("2", ".", "02_more/double", id="number"),
        pytest.param("02_more", "..", "02_more/double", id="from-the-folder-above"),
        pytest.param("", "02_more", "02_more/double", id="folder-of-the-stage"),
        pytest.param("Scale", "02_more", "02_more/Scale", id="exercise-of-that-folder"),
        pytest.param("1/Scale", "02_more", "01_tiny/Scale", id="exercise-with-its-stage"),
        pytest.param("01_tiny/Scale", ".", "01_tiny/Scale", id="key"),
        pytest.param("my-work", "..", "01_tiny/double", id="learner's-folder"),
        pytest.param(".", ".", "01_tiny/double", id="dot"),
        pytest.param("my-work/02_more", "..", "02_more/double", id="folder-as-a-word"),
        pytest.param("", ".originals/02_more", "01_tiny/double", id="folder-inside"),
    ],
)
def test_a_word_or_a_folder_names_an_exercise(own: Path, word: str, folder: str, key: str):
    """A stage means its first exercise to do; a folder that `start` made means itself."""
    assert find_place(word, (own / folder).resolve()).task.key == key


def test_a_stage_means_its_first_exercise_to_do(own: Path):
    """Exercises that pass are skipped; a stage without others means its first exercise."""
    keys = []
    progress = Progress.read(own)
    for passed in ("02_more/double", "02_more/Scale"):
        progress.passed.add(passed)
        progress.save()
        keys.append(find_place("2", own).task.key)

    assert keys == ["02_more/Scale", "02_more/double"]


def test_a_name_in_several_stages_is_not_guessed(own: Path):
    """Outside these stages, the name alone is refused, with the choices."""
    with pytest.raises(AmbiguousNameError, match="2 stages have an exercise double") as found:
        find_place("double", own)

    assert [task.key for task in found.value.choices] == ["01_tiny/double", "02_more/double"]


def test_an_unknown_exercise_of_a_stage_lists_those_of_the_stage(own: Path):
    """With a stage before the name, the message has the exercises of this stage alone."""
    with pytest.raises(UsageError, match=r"'doubel' here\. Exercises of 02_more: double, Scale\."):
        find_place("2/doubel", own)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("scales", "Did you mean Scale?"),
        ("SCALE", "Did you mean Scale?"),
        ("01_tyni", "Did you mean 01_tiny?"),
        ("9/double", "Did you mean 0"),
        ("nothing/like/it", "`autograder progress` lists the stages"),
        ("bad\0name", "`autograder progress` lists the stages"),
    ],
)
def test_an_unknown_name_has_near_names(own: Path, word: str, near: str):
    """The message has the names that are like the word, or says where all of them are."""
    with pytest.raises(UsageError, match="There is no stage and no exercise") as found:
        find_place(word, own)

    assert near in str(found.value)
