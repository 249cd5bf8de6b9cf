"""Tests the files of docs/deployment.md: the Dockerfile and .gitignore."""

import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from autograder.exports import formats
from autograder.gradescope import bundle

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
DATA = {".csv", ".db", ".json", ".tsv", ".xlsx", ".xml", ".zip"}
OUTPUTS = {"--json", "--report", "--out", "-o", "--to", ">"}  # followed by the file to write
# Folders that nbgrader's commands and the collection of submissions fill.
FILLED = {"submitted", "by-mail", "autograded", "feedback"}
EXAMPLES = ("submitted/ada/01_a/a.py", "feedback/ada/01_a/lab.html", ".course-secret")


def copied() -> list[str]:
    """List the files and folders that the Dockerfile copies from the repository."""
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    copies = [shlex.split(line)[1:-1] for line in lines if line.startswith("COPY ")]
    return [name for names in copies for name in names]


def created_by_documents() -> set[str]:
    """List the paths that commands of the documents write, or expect from an LMS."""
    found = {*EXAMPLES, bundle.FILE, *(form.file for form in formats.FORMATS.values())}
    for page in PAGES:
        text = page.read_text("utf-8")
        for block in BLOCK.findall(text):
            found |= data_of_commands(block)
        paths = (path for path in CODE.findall(text) if path.partition("/")[0] in FILLED)
        found |= {path for path in paths if "/" in path and " " not in path}
    return {path for path in found if not (ROOT / path).exists()}


def data_of_commands(block: str) -> set[str]:
    """List the paths of data in a console block, such as the one after `--json`."""
    words = shlex.split(block.replace("$ ", ""), comments=True)
    after_options = [new for old, new in pairwise(words) if old in OUTPUTS]
    data = [word for word in words if Path(word).suffix in DATA]
    own = [word for word in (*after_options, *data) if not word.startswith(("/", "-", "~"))]
    return {word for word in own if word.partition("/")[0] != ".."}


@pytest.fixture(scope="module")
def not_ignored(tmp_path_factory: pytest.TempPathFactory):
    """Return a function that lists which paths git would add to a commit of the course."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    subprocess.run(["git", "init", "-q", folder], check=True)  # noqa: S603, S607  # the system's git

    def check(paths):
        folders = {path for path in paths if not Path(path).suffix and not path.startswith(".")}
        names = {path: f"{path.rstrip('/')}/x" if path in folders else path for path in paths}
        command = ["git", "-C", folder, "check-ignore", "--no-index", *names.values()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # the system's git
        ignored = done.stdout.splitlines()
        return sorted(path for path, name in names.items() if name not in ignored)

    return check


def test_the_image_gets_files_that_exist():
    """Every file that the Dockerfile copies exists."""
    assert copied() != []
    assert [name for name in copied() if not (ROOT / name).exists()] == []


def test_the_image_gets_what_the_package_is_built_from():
    """The image gets every file that the project's metadata lists."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert {project["readme"], *project["license-files"], "constraints.txt"} <= {*copied()}


def test_uv_has_one_version():
    """Files that install uv without the constraints name the version of the constraints."""
    pinned = re.search(r"^uv==(.+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    workflow = (ROOT / "examples" / "workflows" / "check.yml").read_text("utf-8")
    setup = (ROOT / "autograder" / "gradescope" / "templates" / "setup.sh").read_text("utf-8")

    assert re.findall(r"\buv==([\d.]+)", workflow) == [pinned[1]]
    assert re.findall(r"\bUV=([\d.]+)", setup) == [pinned[1]]


def test_the_builder_gets_nothing_but_that():
    """No submission and no solution is sent to the builder of the image."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()

    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == {*copied()}


def test_the_image_does_not_run_as_root():
    """The last user of the Dockerfile is an unprivileged one."""
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]

    assert users[-1:] not in ([], ["root"], ["0"])


def test_git_ignores_all_that_the_documents_create(not_ignored):
    """Git ignores the submissions, grades and names that the documents create."""
    created = created_by_documents()

    assert {"results.json", "students.csv", "pages", "gradescope.zip"} <= created
    assert not_ignored(created) == []


def test_git_keeps_the_files_of_the_course(not_ignored):
    """Git ignores no file of the course as if it were the work of a class."""
    course = [
        "source/01_a/lab.ipynb",
        "assignments/01_a/records.bin",
        "examples/submitted/ada/01_a/a.py",
        "course.toml",
    ]

    assert not_ignored(course) == sorted(course)


@pytest.mark.slow
def test_grading_needs_no_tool_of_the_tests():
    """A clone of the course can grade with only the packages of an instructor installed."""
    program = "import sys; sys.modules['hypothesis'] = None; from autograder.cli import app; app()"
    done = subprocess.run(  # noqa: S603  # our own program
        [sys.executable, "-c", program, "doctor"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
