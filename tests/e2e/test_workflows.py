"""The workflows for a course whose students hand in by push."""

import os
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
import yaml

from autograder.cli import app
from autograder.course import find_root, load
from autograder.submission import collect

WORKFLOWS = Path(__file__).parents[2] / "examples" / "workflows"
NAMES = ("check.yml", "grade.yml")
STUB = '#!/bin/sh\necho "$(basename "$0")" "$@" >> "$CALLS"\n'


def workflow(name: str) -> dict:
    """The file as YAML 1.1 reads it, where the key `on` is true."""
    return yaml.safe_load((WORKFLOWS / name).read_text("utf-8"))


def steps(name: str) -> Iterator[dict]:
    """Every step of every job."""
    for job in workflow(name)["jobs"].values():
        yield from job["steps"]


def script(name: str, title: str) -> str:
    """What the step *title* runs."""
    return next(step["run"] for step in steps(name) if step.get("name") == title)


@pytest.mark.parametrize("name", NAMES)
def test_it_may_only_read_contents(name: str):
    """Contents, read only, for every job; no event that gives rights to untrusted code."""
    found = workflow(name)

    assert found["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in found["jobs"].values())
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(found[True])


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_githubs_own_and_pinned(name: str):
    """By their major version; none keeps the token on disk."""
    used = [step for step in steps(name) if "uses" in step]

    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in used)
    checkouts = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("name", NAMES)
def test_no_script_contains_an_expression(name: str):
    """GitHub's values are passed in the environment, where they are text and no program."""
    assert not any("${{" in step.get("run", "") for step in steps(name))


def test_the_students_workflow_names_no_secret():
    """Nor hidden suites, nor the command that grades."""
    text = (WORKFLOWS / "check.yml").read_text("utf-8")
    used = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))

    assert "secrets." not in used
    assert "hidden" not in used
    assert "autograder grade" not in used


def test_only_the_step_that_needs_a_secret_gets_it():
    """The step that fetches gets the token, the step that grades the course's secret."""
    given = {
        step["name"]: secret
        for step in steps("grade.yml")
        for secret in re.findall(r"secrets\.(\w+)", str(step))
    }

    assert given == {
        "Fetch what students pushed": "STUDENT_REPOSITORIES_TOKEN",
        "Grade": "AUTOGRADER_COURSE_SECRET",
    }
    assert "secrets." not in str(workflow("grade.yml").get("env", ""))


@pytest.mark.parametrize("name", NAMES)
def test_every_command_exists_with_its_options(name: str):
    """The command line accepts each of them."""
    commands = typer.main.get_command(app).commands
    scripts = "\n".join(step.get("run", "") for step in steps(name))
    used = re.findall(r"^\s*autograder (\w+)(.*)$", scripts, re.MULTILINE)

    assert used
    for command, rest in used:
        known = {name for option in commands[command].params for name in option.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, command


Bash = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def bash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bash:
    """Run a step as a runner does, with programs that only record how they were called."""
    calls = tmp_path / "calls"
    calls.touch()
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.chdir(tmp_path)

    def run(text: str, stubs: dict[str, str], **env: str) -> tuple[int, list[str]]:
        for name, body in stubs.items():
            (programs / name).write_text(STUB + body)
            (programs / name).chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        done = subprocess.run(  # noqa: S603  # the workflow that is tested
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],  # noqa: S607  # by name
            env={**os.environ, "PATH": path, "CALLS": str(calls), **env},
            check=False,
            capture_output=True,
        )
        return done.returncode, calls.read_text().splitlines()

    return run


def commit(message: str) -> str:
    """Commit everything here; returns the commit."""
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", message]):
        subprocess.run(["git", *command], check=True)  # noqa: S603, S607  # git, on our own arguments
    done = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True)  # noqa: S607  # by name
    return done.stdout.decode().strip()


def test_a_push_checks_the_stages_that_it_changed(bash: Bash, tmp_path: Path):
    """The first push checks all; each is checked, also when an earlier one failed."""
    text = script("check.yml", "Check the stages that changed")
    for stage in ("01_one", "02_two"):
        (tmp_path / stage).mkdir()
        (tmp_path / stage / "stage.toml").touch()
    first = commit("all")
    code, called = bash(text, {"autograder": "exit 1\n"}, BEFORE="0" * 40)

    assert (code, called) == (1, ["autograder check 01_one", "autograder check 02_two"])

    (tmp_path / "02_two" / "two.py").touch()
    commit("the second")
    code, called = bash(text, {"autograder": ""}, BEFORE=first)

    assert (code, called[2:]) == (0, ["autograder check 02_two"])


def test_every_student_is_fetched_and_a_missing_one_is_an_error(bash: Bash, tmp_path: Path):
    """A repository that can't be read stops the run, after all others were fetched."""
    text = script("grade.yml", "Fetch what students pushed")
    (tmp_path / "students.txt").write_text("# id repository\nada c/ada\n\nalan c/alan\nzoe c/zoe\n")
    code, called = bash(text, {"gh": "case $2 in *alan*) exit 1 ;; esac\necho zip\n"})

    assert code == 1
    assert called == [f"gh api repos/c/{name}/zipball" for name in ("ada", "alan", "zoe")]
    assert (tmp_path / "submitted" / "zoe" / "repository.zip").read_text() == "zip\n"


@pytest.mark.parametrize("stage", ["", "04"])
def test_grades_are_written_into_the_artifact(stage: str, bash: Bash, tmp_path: Path):
    """A scheduled run grades all stages: an empty `--stage` selects none."""
    (tmp_path / "submitted").mkdir()
    record = "grades/results.json"
    code, called = bash(script("grade.yml", "Grade"), {"autograder": ""}, STAGE=stage)

    assert code == 0
    assert called == [
        f"autograder grade submitted --stage {stage} --json {record} --report grades/pages",
        f"autograder export canvas {record} --out grades/canvas.csv",
    ]


def test_the_fetched_archives_are_a_class(tmp_path: Path, pytestconfig: pytest.Config):
    """GitHub's archive has a folder of its own around the stages; the grader finds them."""
    stages = load(find_root(pytestconfig.rootpath)).stages
    for student in ("ada", "zoe"):
        folder = tmp_path / "submitted" / student
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / "repository.zip", "w") as archive:
            for stage in stages[:2]:
                for path in stage.assignment.iterdir():
                    archive.write(path, f"class-{student}-0a1b2c3/{stage.name}/{path.name}")
            archive.writestr(f"class-{student}-0a1b2c3/.github/workflows/check.yml", "")
    found = list(collect(tmp_path / "submitted", stages))

    assert [(item.student, item.stage, item.problem) for item in found] == [
        (student, stage.name, "") for student in ("ada", "zoe") for stage in stages[:2]
    ]
