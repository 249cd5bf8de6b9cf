"""Tests the workflows for a course whose students submit by push."""

import base64
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from autograder.cli.command_group import load_command
from autograder.course import find_root, load
from autograder.reports.page_names import page_names
from autograder.results import Results, Status, SubmissionResult, to_json
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
    """The commands of the step *title*."""
    return next(step["run"] for step in steps(name) if step.get("name") == title)


@pytest.mark.parametrize("name", NAMES)
def test_it_may_only_read_contents(name: str):
    """Every job may only read contents, and no event gives rights to untrusted code."""
    found = workflow(name)

    assert found["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in found["jobs"].values())
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(found[True])


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_githubs_own_and_pinned(name: str):
    """All actions are GitHub's own, are pinned by major version, and keep no token on disk."""
    used = [step for step in steps(name) if "uses" in step]

    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in used)
    checkouts = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("name", NAMES)
def test_no_script_contains_an_expression(name: str):
    """GitHub's values are passed in the environment, where they are text and not a program."""
    assert not any("${{" in step.get("run", "") for step in steps(name))


def test_the_students_workflow_names_no_secret():
    """The students' workflow contains no secret, no hidden suite and no command that grades."""
    text = (WORKFLOWS / "check.yml").read_text("utf-8")
    used = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))

    assert "secrets." not in used
    assert "hidden" not in used
    assert "autograder grade" not in used


def test_only_the_step_that_needs_a_secret_gets_it():
    """Only the fetching step gets the token, and only the grading step gets the course's secret."""
    given = {
        step["name"]: secret
        for step in steps("grade.yml")
        for secret in re.findall(r"secrets\.(\w+)", str(step))
    }

    assert given == {
        "Fetch the pushed work": "STUDENT_REPOSITORIES_TOKEN",
        "Grade": "AUTOGRADER_COURSE_SECRET",
        "Return the feedback": "FEEDBACK_TOKEN",
    }
    assert "secrets." not in str(workflow("grade.yml").get("env", ""))


@pytest.mark.parametrize("name", NAMES)
def test_every_command_exists_with_its_options(name: str):
    """The command line accepts each command of the workflows with its options."""
    scripts = "\n".join(step.get("run", "") for step in steps(name))
    used = re.findall(r"^\s*autograder (\w+)(.*)$", scripts, re.MULTILINE)

    assert used
    for command, rest in used:
        known = {name for option in load_command(command).params for name in option.opts}
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
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],  # noqa: S607  # found on PATH
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
    done = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True)  # noqa: S607  # found on PATH
    return done.stdout.decode().strip()


def test_a_push_checks_the_stages_that_it_changed(bash: Bash, tmp_path: Path):
    """Each changed stage is checked, even after a failure; the first push checks every stage."""
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


# GitHub, with three students: alan's repository can't be read, zoe has pushed nothing in time.
GITHUB = """
case "$*" in
  *alan*) echo '{"message": "Not Found"}'; exit 1 ;;
  *activity*zoe* | *zoe*activity*) ;;
  *activity*)
    echo "$DEADLINE" > seen
    echo "c0ffee 2026-11-20T22:59:59Z"
    echo "0ld 2026-11-01T10:00:00Z" ;;
  *default_branch*) echo main ;;
  *zipball*) echo zip ;;
esac
"""
STUDENTS = "# id repository\nada c/ada\n\nalan c/alan\nzoe c/zoe"
DEADLINE = "2026-11-20T23:00:00Z"


def test_a_repository_that_cannot_be_read_costs_itself(bash: Bash, tmp_path: Path):
    """An unreadable repository is reported by name, and not treated as an empty one."""
    (tmp_path / "students.txt").write_text(STUDENTS)
    text = script("grade.yml", "Fetch the pushed work")
    code, called = bash(text, {"gh": GITHUB}, DEADLINE=DEADLINE)

    assert code == 0, called
    assert {path.name for path in (tmp_path / "submitted").iterdir()} == {"ada", "zoe"}
    assert (tmp_path / "submitted" / "ada" / "repository.zip").read_text() == "zip\n"
    assert not list((tmp_path / "submitted" / "zoe").iterdir())
    assert (tmp_path / "grades/problems.txt").read_text() == "alan: c/alan can't be read\n"


def test_the_last_push_before_the_deadline_is_fetched(bash: Bash, tmp_path: Path):
    """The last push before the deadline, by GitHub's own time, is fetched and recorded."""
    (tmp_path / "students.txt").write_text(STUDENTS)
    text = script("grade.yml", "Fetch the pushed work")
    _, called = bash(text, {"gh": GITHUB}, DEADLINE=DEADLINE)

    assert "gh api repos/c/ada/zipball/c0ffee" in called
    assert (tmp_path / "seen").read_text() == f"{DEADLINE}\n"
    assert 'select(env.DEADLINE == "" or .timestamp <= env.DEADLINE)' in text
    assert (tmp_path / "grades" / "commits.csv").read_text().splitlines() == [
        "student,repository,commit,pushed",
        "ada,c/ada,c0ffee,2026-11-20T22:59:59Z",
        "zoe,c/zoe,,",
    ]


def test_a_deadline_in_another_form_is_refused(bash: Bash, tmp_path: Path):
    """A deadline in a different form, which would make everybody late, is refused."""
    (tmp_path / "students.txt").write_text(STUDENTS)
    text = script("grade.yml", "Fetch the pushed work")

    assert bash(text, {"gh": GITHUB}, DEADLINE="20 November") == (1, [])


@pytest.mark.parametrize("stage", ["", "04"])
@pytest.mark.parametrize("failed", [0, 1])
def test_grades_are_written_into_the_artifact(stage: str, failed: int, bash: Bash, tmp_path: Path):
    """An empty `--stage` selects every stage, and a grader error affects only its submission."""
    (tmp_path / "submitted").mkdir()
    (tmp_path / "grades").mkdir()
    record = "grades/results.json"
    stub = f"[ $1 != grade ] || exit {failed}\n"
    code, called = bash(script("grade.yml", "Grade"), {"autograder": stub}, STAGE=stage)

    assert code == 0
    assert called == [
        f"autograder grade submitted --stage {stage} --json {record} --report grades/pages",
        f"autograder export canvas {record} --out grades/canvas.csv",
    ]
    assert (tmp_path / "grades" / "problems.txt").exists() == bool(failed)


def test_a_course_that_cannot_be_graded_ends_the_run(bash: Bash):
    """A course that cannot be graded ends the workflow without a record to export."""
    code, called = bash(script("grade.yml", "Grade"), {"autograder": "exit 2\n"}, STAGE="")

    assert (code, len(called)) == (2, 1)


def test_each_student_gets_the_own_page(bash: Bash, tmp_path: Path):
    """Each student gets their own page, even if two page names look alike."""
    students = ("a.b", "a-b", "alan", "lost")
    submissions = [
        SubmissionResult(
            student=student, stage="01_tiny", status=Status.GRADED, max_score=10.0,
            score=None if student == "lost" else 5.0,
        ) for student in students
    ]  # fmt: skip
    pages = tmp_path / "grades" / "pages"
    pages.mkdir(parents=True)
    for file, result in zip(page_names(submissions), submissions, strict=True):
        (pages / file).write_text(f"for {result.student}")
    record = Results(course="tiny", isolation="full", submissions=tuple(submissions))
    (tmp_path / "grades" / "results.json").write_bytes(to_json(record))
    lines = [f"{student},c/{student},c0ffee,then\n" for student in students]
    (tmp_path / "grades" / "commits.csv").write_text("".join(["head\n", *lines]))
    stub = """
case "$*" in
  *c/alan*) exit 1 ;;
  *PUT*) for name in a.b a-b; do case $4 in *c/$name/*) cp page.base64 $name ;; esac; done ;;
  *.sha) exit 1 ;;
esac
"""
    text = script("grade.yml", "Return the feedback")
    python = f'exec {sys.executable} "$@"\n'
    env = {"GH_TOKEN": "any"}
    code, called = bash(text, {"gh": stub, "python": python}, **env)

    assert code == 0
    assert base64.b64decode((tmp_path / "a.b").read_text()) == b"for a.b"
    assert base64.b64decode((tmp_path / "a-b").read_text()) == b"for a-b"
    assert not any("c/lost" in call for call in called)
    problems = (tmp_path / "grades" / "problems.txt").read_text()
    assert problems == "alan: c/alan did not take the feedback\n"


@pytest.mark.parametrize(("problems", "code"), [("", 0), ("alan: c/alan can't be read\n", 1)])
def test_the_run_fails_at_its_end_if_something_is_missing(bash: Bash, tmp_path, problems, code):
    """If a student's work is missing, the run fails after all others have feedback."""
    (tmp_path / "grades").mkdir()
    (tmp_path / "grades" / "problems.txt").write_text(problems)
    *_, upload, last = steps("grade.yml")

    assert "upload-artifact" in upload["uses"]
    assert bash(last["run"], {})[0] == code


def test_the_fetched_archives_are_a_class(tmp_path: Path, pytestconfig: pytest.Config):
    """GitHub's archive has an additional folder around the stages, and the grader finds them."""
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
