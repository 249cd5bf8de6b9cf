"""`run_autograder` itself, started as Gradescope starts it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.course import Course, find_root, load
from autograder.gradescope.build import gradescope
from autograder.sandbox.isolation import detect_capabilities
from tests.kit.exports.test_gradescope_results import accepted
from tests.kit.gradescope.conftest import lay_out

STAGE = "04"
MODULE = "self_attention.py"

Run = Callable[..., subprocess.CompletedProcess]

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
attempt("solution", lambda: open(root + "/source/course/solutions/{stage}/{module}").read())
attempt("suites", lambda: os.listdir(root + "/source/course/tests/hidden"))
attempt("others", lambda: open(root + "/submission_metadata.json").read())
attempt("score", lambda: open(root + "/results/results.json", "w").write('{{"score": 10}}'))
attempt("results", lambda: os.rename(root + "/results", root + "/elsewhere"))
attempt("grader", lambda: open(root + "/source/run_autograder", "a").write("true"))
attempt("memory", lambda: supervisor("mem"))
attempt("environment", lambda: supervisor("environ"))
attempt("root", lambda: os.setuid(0))
attempt("told", lambda: open("{report}", "w").write(repr(found)))
"""

PLANTED = "open({marker!r}, 'a').write(__name__)\nraise SystemExit(__name__)\n"
HIJACKS = (
    "sitecustomize.py", "usercustomize.py", "conftest.py", "torch.py", "pytest.py",
    "autograder/__init__.py", "typing.py",
)  # fmt: skip


@pytest.fixture(scope="module")
def course(pytestconfig: pytest.Config) -> Course:
    """The course itself."""
    return load(find_root(pytestconfig.rootpath))


@pytest.fixture(scope="module")
def content(course: Course) -> bytes:
    """The bundle of one stage."""
    return gradescope(course, [course.stage(STAGE)]).content


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that anybody may enter, as /autograder is, and pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="autograder-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def run(root: Path, content: bytes) -> Run:
    """Hand in files and run the script, with an environment that the student chose."""

    def grade(files: dict[str, bytes], *before: str) -> subprocess.CompletedProcess:
        lay_out(root, content, files)
        (root / "source" / "venv").symlink_to(sys.prefix)  # stands in for what setup.sh installs
        theirs = {"PYTHONPATH": str(root / "submission"), "PYTHONSTARTUP": "sitecustomize.py"}
        return subprocess.run(  # noqa: S603  # the script that is tested
            [*before, str(root / "source" / "run_autograder")],
            cwd=root / "submission",
            env={"PATH": os.environ["PATH"], "AUTOGRADER_ROOT": str(root), **theirs},
            capture_output=True,
            text=True,
            check=False,
        )

    return grade


def results(root: Path) -> dict:
    """What Gradescope reads."""
    return accepted((root / "results" / "results.json").read_bytes())


@pytest.mark.skipif(detect_capabilities().level != "full", reason=detect_capabilities().reason)
def test_files_beside_the_module_have_no_say(run: Run, root: Path, course: Course):
    """Modules that would be Python's, pytest's or ours are never imported; the work is graded."""
    marker = root / "imported"
    planted = {name: PLANTED.format(marker=str(marker)).encode() for name in HIJACKS}
    done = run({MODULE: course.stage(STAGE).solution.read_bytes(), **planted})

    assert done.returncode == 0, done.stdout
    assert results(root)["score"] == 10.0
    assert results(root)["extra_data"]["isolation"] == "full"
    assert not marker.exists()
    assert "1234, 04_self_attention: 10 points (graded)" in done.stdout


@pytest.mark.parametrize("level", ["full", "process"])
def test_a_hostile_module_reaches_nothing(level: str, run: Run, root: Path, course: Course):
    """Neither solutions nor results nor the grader, also where the container has no Landlock."""
    before: tuple[str, ...] = ()
    if level == "process":
        if not detect_capabilities().root or not detect_capabilities().seccomp:
            pytest.skip("only root can run code as nobody, only a filter can hide Landlock")
        before = (sys.executable, "-c", WITHOUT_LANDLOCK)
    elif detect_capabilities().level != "full":
        pytest.skip(detect_capabilities().reason)
    report = root / "report"
    report.touch()
    report.chmod(0o666)
    module = HOSTILE.format(root=root, stage=course.stage(STAGE).name, module=MODULE, report=report)
    done = run({MODULE: module.encode()}, *before)
    answer = results(root)

    assert done.returncode == 0, done.stdout
    assert answer["score"] == 0.0
    assert answer["extra_data"]["isolation"] == level
    assert report.read_text() == ("[]" if level == "process" else "")
    assert ("Student code ran as a user who owns nothing" in done.stdout) == (level == "process")


def test_no_grade_leaves_no_results(run: Run, root: Path):
    """An older file is gone, so that Gradescope says that the autograder failed."""
    done = run({}, "bash", "-c", SPOILED, "spoil")

    assert done.returncode == 1
    assert "No grade:" in done.stdout
    assert not (root / "results" / "results.json").exists()


SPOILED = """
echo '{"score": 10}' > "$AUTOGRADER_ROOT/results/results.json"
echo 'stages = []' > "$AUTOGRADER_ROOT/source/bundle.toml"
exec "$1"
"""
