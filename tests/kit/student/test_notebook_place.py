"""Tests finding the stage of a notebook whose kernel may run in any folder."""

from pathlib import Path

import pytest

import __main__
from autograder.errors import UsageError
from autograder.student.notebook_place import FILE, SESSION, stage_folder

NAME, OTHER = "04_attention", "05_masks"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder with two stages, in a home where nothing else is set."""
    monkeypatch.delenv(SESSION, raising=False)
    monkeypatch.delattr(__main__, FILE, raising=False)
    for name in (NAME, OTHER):
        folder = tmp_path / "home" / "my-work" / name
        folder.mkdir(parents=True)
        (folder / "stage.toml").touch()
        (folder / f"{name[3:]}.py").touch()
    return tmp_path / "home" / "my-work"


@pytest.mark.parametrize("place", [".", "..", NAME, OTHER])
@pytest.mark.parametrize("given", [NAME, "path"])
def test_a_lab_that_names_its_stage_finds_it_from_near_folders(
    work: Path, monkeypatch: pytest.MonkeyPatch, place: str, given: str
):
    """In the folder of a different stage, the lab still uses its own module."""
    monkeypatch.chdir(work / place)

    assert stage_folder(given if given == NAME else work / NAME) == work / NAME


def test_a_folder_may_have_a_new_name(work: Path, monkeypatch: pytest.MonkeyPatch):
    """The module shows the stage of a folder that a student has renamed."""
    folder = (work / NAME).rename(work / "week 4")
    monkeypatch.chdir(folder)

    assert stage_folder(NAME) == folder


@pytest.mark.parametrize("given", [".", NAME])
@pytest.mark.parametrize("place", ["/", OTHER])
def test_vs_code_tells_where_the_notebook_is(
    work: Path, monkeypatch: pytest.MonkeyPatch, place: str, given: str
):
    """The notebook's own file is more certain than the kernel's folder."""
    monkeypatch.setattr(__main__, FILE, str(work / NAME / "lab.ipynb"), raising=False)
    monkeypatch.chdir(work / place)

    assert stage_folder(given) == work / NAME


@pytest.mark.parametrize(("place", "found"), [("/", NAME), (OTHER, OTHER)])
def test_jupyter_tells_where_the_notebook_is(
    work: Path, monkeypatch: pytest.MonkeyPatch, place: str, found: str
):
    """The session is used where the kernel's folder is not a stage."""
    monkeypatch.setenv(SESSION, str(work / NAME / "lab.ipynb"))
    monkeypatch.chdir(work / place)

    assert stage_folder(".") == work / found


@pytest.mark.parametrize("given", [".", NAME])
def test_without_a_stage_the_message_names_the_folder_and_the_next_step(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
):
    """The message contains the folder where the notebook runs, and what to do."""
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    with pytest.raises(UsageError) as caught:
        stage_folder(given)

    assert str(tmp_path / "away") in str(caught.value)
    assert 'lab = Lab("PATH")' in str(caught.value)
    assert (f"belongs to {NAME}" in str(caught.value)) is (given == NAME)
    assert work.is_dir()


def test_a_lab_never_uses_the_module_of_a_different_stage(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A lab that was copied without its stage next to a different one finds nothing."""
    other = (work / OTHER).rename(tmp_path / OTHER)
    monkeypatch.chdir(other)

    with pytest.raises(UsageError):
        stage_folder(NAME)
