"""Tests `run_autograder` in Gradescope's layout, with the real course and a hostile student."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import autograder
from autograder.course import Course, find_root, load
from autograder.gradescope.bundle import build_zip
from autograder.sandbox import seccomp
from autograder.sandbox.confinement import is_below_closed
from autograder.sandbox.isolation import detect_capabilities
from tests.kit.exports.test_gradescope_results import accepted
from tests.kit.factories import lay_out

RIGHT_STAGE = "01"  # its solution is submitted
HOSTILE_STAGE = "02"  # a hostile module is submitted

# Starts a program on a kernel that seems to have no Landlock: its first call (444) fails with
# ENOSYS (38), by a system-call filter of three lines.
WITHOUT_LANDLOCK = """
import ctypes, os, struct, sys
lines = ((0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(program)):
    sys.exit(f"no filter: {ctypes.get_errno()}")
os.execv(sys.argv[1], sys.argv[1:])
"""

HOSTILE = """
import glob, os
root = "{root}"
found = []
def attempt(name, act):
    try:
        act()
        found.append(name)
    except OSError:
        pass
def supervisor(name):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with open(path) as file:
            if root in file.read() and "gradescope.container" in open(path).read():
                open(os.path.dirname(path) + "/" + name, "rb").read(1)
attempt("solution", lambda: open("{solution}").read())
attempt("suites", lambda: os.listdir(root + "/source/course/tests/hidden"))
attempt("others", lambda: open(root + "/submission_metadata.json").read())
attempt("score", lambda: open(root + "/results/results.json", "w").write('{{"score": 99}}'))
attempt("results", lambda: os.rename(root + "/results", root + "/elsewhere"))
attempt("grader", lambda: open(root + "/source/run_autograder", "a").write("true"))
attempt("memory", lambda: supervisor("mem"))
attempt("environment", lambda: supervisor("environ"))
attempt("root", lambda: os.setuid(0))
attempt("report", lambda: open("{report}", "w").write(repr(found)))
"""

PLANTED = "open({marker!r}, 'a').write(__name__)\nraise SystemExit(__name__)\n"
HIJACKS = (
    "sitecustomize.py", "usercustomize.py", "conftest.py", "torch.py", "pytest.py",
    "autograder/__init__.py", "typing.py",
)  # fmt: skip


SPOILED = """
echo '{"score": 10}' > "$AUTOGRADER_ROOT/results/results.json"
echo 'stages = []' > "$AUTOGRADER_ROOT/source/bundle.toml"
exec "$1"
"""


class Run(NamedTuple):
    """One run of the script and its results."""

    root: Path
    level: str
    output: str
    results: dict


@pytest.fixture(scope="module")
def course(pytestconfig: pytest.Config) -> Course:
    """The course itself."""
    return load(find_root(pytestconfig.rootpath))


@pytest.fixture(scope="module")
def content(course: Course) -> bytes:
    """The bundle of both stages."""
    return build_zip(course, [course.stage(RIGHT_STAGE), course.stage(HOSTILE_STAGE)]).content


@contextmanager
def container(content: bytes) -> Iterator[Path]:
    """Lay out a folder that every user may enter, like /autograder and unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="autograder-"))
    try:
        folder.chmod(0o755)
        lay_out(folder, content, {})
        (folder / "source" / "venv").symlink_to(sys.prefix)  # instead of what setup.sh installs
        yield folder
    finally:
        shutil.rmtree(folder)


def start(root: Path, *before: str) -> subprocess.CompletedProcess:
    """Run the script with an environment that the student chose."""
    theirs = {"PYTHONPATH": str(root / "submission"), "PYTHONSTARTUP": "sitecustomize.py"}
    return subprocess.run(  # noqa: S603  # the script that is tested
        [*before, str(root / "source" / "run_autograder")],
        cwd=root / "submission",
        env={"PATH": os.environ["PATH"], "AUTOGRADER_ROOT": str(root), **theirs},
        capture_output=True,
        text=True,
        check=False,
    )


def starter(level: str) -> tuple[str, ...]:
    """Return a command prefix that limits isolation to *level*; skip the test without one."""
    if level == "process":
        if os.geteuid() or not seccomp.available():
            pytest.skip("only root can run code as nobody, only a filter can hide Landlock")
        if is_below_closed(sys.prefix) or is_below_closed(autograder.__path__[0]):
            pytest.skip("the user nobody can't import the kit from below a closed folder")
        return (sys.executable, "-I", "-c", WITHOUT_LANDLOCK)
    if detect_capabilities().level != "full":
        pytest.skip(detect_capabilities().reason)
    return ()


@pytest.fixture(scope="module", params=["full", pytest.param("process", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, course: Course, content: bytes) -> Iterator[Run]:
    """Grade one submission: a solution, a hostile module, and files that would replace others."""
    before = starter(request.param)
    solution = course.stage(RIGHT_STAGE).solution
    with container(content) as root:
        report = root / "report"
        report.touch()
        report.chmod(0o666)
        packed = root / "source" / "course" / solution.relative_to(course.root)
        assert packed.is_file()
        planted = PLANTED.format(marker=str(root / "imported"))
        hostile = HOSTILE.format(root=root, solution=packed, report=report)
        files = dict.fromkeys(HIJACKS, planted) | {
            solution.name: solution.read_text("utf-8"),
            course.stage(HOSTILE_STAGE).solution.name: hostile,
        }
        for name, text in files.items():
            path = root / "submission" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        done = start(root, *before)
        assert done.returncode == 0, done.stdout
        results = accepted((root / "results" / "results.json").read_bytes())
        yield Run(root, request.param, done.stdout, results)


@pytest.mark.slow
def test_files_next_to_the_module_have_no_effect(run: Run):
    """Submitted modules with names of installed modules are never imported."""
    assert not (run.root / "imported").exists()
    assert run.results["score"] == 10.0
    assert "1234, all stages: 10 points (graded)" in run.output


def test_a_hostile_module_reaches_nothing(run: Run, course: Course):
    """A hostile module reaches no solution, result or grader, even without Landlock."""
    stage = course.stage(HOSTILE_STAGE).name
    hostile = [test for test in run.results["tests"] if test["name"].startswith(stage)]

    assert hostile
    assert all(test["score"] == 0.0 for test in hostile)
    assert (run.root / "report").read_text() == ("[]" if run.level == "process" else "")


def test_the_isolation_is_reported(run: Run):
    """The results contain the isolation, and so does the instructor's output if it is not full."""
    is_reduced = run.level == "process"

    assert run.results["extra_data"]["isolation"] == run.level
    assert ("Student code ran as a user who owns no files" in run.output) == is_reduced


@pytest.mark.slow
def test_no_grade_leaves_no_results(content: bytes):
    """An older file is deleted, so that Gradescope reports that the autograder failed."""
    with container(content) as root:
        done = start(root, "bash", "-c", SPOILED, "spoil")

        assert done.returncode == 1
        assert "No grade:" in done.stdout
        assert not (root / "results" / "results.json").exists()
