"""Provides submissions that attack the grader, with the points that each may earn.

Each folder of ``tests/corpora/hostile`` is one submission; its ``expected.json`` gives its
group of attacks and the points that it may earn.
"""

import hashlib
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec.structs import replace

from autograder import course as courses
from autograder.course import Course
from autograder.course_file import CourseFile, read_toml
from autograder.results import CheckResult, Diagnosis, Status, SubmissionResult
from autograder.submission import Submission, collect
from autograder.suite.checks import CheckSpec

ROOT = Path(__file__).parents[1]
HOSTILE = ROOT / "tests" / "corpora" / "hostile"
STAGE = "04_self_attention"
MODULE = "self_attention.py"
SECRET = "known to no submission"  # noqa: S105  # of a course that is made for a test
HONEST_EVERY = 8  # each grading process must grade honest work after hostile work
LINES_OF_SOURCE = re.compile(
    r"line \d+(?=, which should define it)|line \d+ is not valid Python. Fix line \d+ first"
    r"|line \d+(?= was left out)|(?<=is set in )line \d+|Line \d+(?= of your file uses)"
)
ZEROS = b"0" * 8_000_000  # a member that is compressed a thousand times

Group = Literal[
    "ends the run early",
    "changes the test framework",
    "returns values that lie",
    "reads secrets",
    "forges the record",
    "takes over an import",
    "exhausts a resource",
    "leaves the sandbox",
    "hides in the submission",
    "writes into a notebook",
    "writes into reports",
    "changes torch",
    "games the specification",
    "hides a shortcut",
    "uses the second run",
    "leaves a trace",
]


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``expected.json``: the most points, and the statuses that submission and checks may have.

    A *slow* attack uses up a limit of more than a second.
    """

    group: Group
    at_most: Annotated[float, msgspec.Meta(ge=0)]
    status: tuple[Status, ...]
    checks: tuple[Status, ...] | None = None
    slow: bool = False


class Traces(msgspec.Struct):
    """The files and processes that grading left behind; the lists are empty until it has ended."""

    folder: Path
    changed_files: list[Path] = []
    left_folders: list[str] = []
    left_processes: list[int] = []


def attacks() -> list[str]:
    """List the names of the hostile submissions."""
    return sorted(path.name for path in HOSTILE.iterdir())


def expected(attack: str) -> Expected:
    """Read the expected results of *attack*."""
    return msgspec.json.decode((HOSTILE / attack / "expected.json").read_bytes(), type=Expected)


def runnable() -> list[str]:
    """List the hostile submissions that can be opened, so that their checks run."""
    return [name for name in attacks() if Status.UNREADABLE not in expected(name).status]


def hiding() -> list[str]:
    """List the hostile submissions that are correct, but use forbidden functions."""
    return [name for name in attacks() if expected(name).group == "hides a shortcut"]


def with_neighbours() -> list[str]:
    """List the hostile submissions that do something only with the solution's neighbours."""
    return [name for name in attacks() if expected(name).group == "uses the second run"]


def leaving_traces() -> list[str]:
    """List the hostile submissions that pass hidden inputs to a later worker."""
    return [name for name in attacks() if expected(name).group == "leaves a trace"]


def purpose(attack: str) -> str:
    """Return the sentence that describes *attack*."""
    file = HOSTILE / attack / MODULE
    lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
    return lines[0].strip('"') if lines else attack


def course_with_low_limits(root: Path, secret: str = SECRET, last: str = STAGE) -> Course:
    """Copy the course to *root* up to stage *last*, with lower limits and its own *secret*."""
    for name in ("source", "solutions", "tests/hidden"):
        ignored = shutil.ignore_patterns("variants", "__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    (root / ".course-secret").write_text(secret)
    file = read_toml(ROOT / courses.COURSE_FILE, CourseFile)
    limits = replace(
        file.limits,
        # An attack that hangs uses up these limits; honest code needs milliseconds.
        import_seconds=2.0,
        call_seconds=0.5,
        submission_seconds=5.0,
        restarts_per_exercise=1,
        memory_mib=256,
    )
    stages = file.stages[: file.stages.index(last) + 1]  # it may ask for earlier ones
    return Course(root, replace(file, stages=stages, limits=limits))


def hostile_submissions(course: Course, folder: Path) -> list[Submission]:
    """Copy the attacks to *folder*, generate files that are too long to store; collect all."""
    shutil.copytree(HOSTILE, folder)
    for name, text in LONG_MODULES.items():
        (folder / name / MODULE).write_text(text)
    for name, pack in ARCHIVES.items():
        with zipfile.ZipFile(folder / name / "work.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            pack(packed)
    (folder / "links_to_the_solution" / MODULE).symlink_to(course.stage(STAGE).solution)
    return list(collect(folder, course.stages, course.stage(STAGE)))


def honest_submission(course: Course) -> Submission:
    """Return the instructor's solution as a student's submission."""
    stage = course.stage(STAGE)
    [submission] = collect(stage.solution, course.stages, stage)
    return submission


def among_honest(hostile: Sequence[Submission], honest: Submission) -> list[Submission]:
    """Insert an honest submission after every few hostile ones."""
    class_ = []
    for number, submission in enumerate(hostile):
        if number % HONEST_EVERY == 0:
            class_.append(replace(honest, student=f"honest {number}"))
        class_.append(submission)
    return [*class_, replace(honest, student="honest at the end")]


@contextmanager
def watched(course: Course) -> Iterator[Traces]:
    """Give temporary files a folder that every user may write to, as /tmp is; list what is left."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    (folder / "marker").write_text("untouched")
    (folder / "marker").chmod(0o666)
    folder.chmod(0o777)
    traces = Traces(folder)
    before, children = _fingerprints(course, folder), _children_of_this_process()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(folder))
            yield traces
        after = _fingerprints(course, folder)
        traces.changed_files = [path for path in before if after.get(path) != before[path]]
        traces.left_folders = [path.name for path in folder.iterdir() if path.name != "marker"]
        new = _children_of_this_process() - children
        traces.left_processes = sorted(new) + _processes_in(folder)
    finally:
        shutil.rmtree(folder)


def checks_of(result: SubmissionResult) -> list[CheckResult]:
    """List the checks of a submission."""
    return [check for exercise in result.exercises for check in exercise.checks]


def said_next_to_hidden_inputs(result: SubmissionResult, specs: dict[str, CheckSpec]) -> str:
    """Join the texts for students about checks with hidden inputs.

    The lines of a definition that failed and of a forbidden name are left out: they are known
    before any input is sent.
    """
    checks = [check for check in checks_of(result) if specs[check.name].layer.hidden]
    said = [check.message for check in checks]
    said += [text for check in checks if check.diagnosis for text in _texts(check.diagnosis)]
    return LINES_OF_SOURCE.sub("", " ".join(said))


def _texts(diagnosis: Diagnosis) -> tuple[str, ...]:
    return diagnosis.title, diagnosis.explanation, diagnosis.hint


def _fingerprints(course: Course, temporary: Path) -> dict[Path, str]:
    """Hash the files that no submission may change."""
    watched = [temporary / "marker", *(course.root / "tests").rglob("*.py")]
    watched += (course.root / "solutions").rglob("*.py")
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in watched}


def _children_of_this_process() -> set[int]:
    """List the processes that this one has started and not yet reaped."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for path in lists for pid in path.read_text("ascii").split()}


def _processes_in(folder: Path) -> list[int]:
    """List the processes, of any parent, that work in *folder* or have mounted one there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mounts, current = (process / "mountinfo").read_text(), (process / "cwd").readlink()
        except OSError:  # it has ended, or belongs to another user
            continue
        if f" {folder}/" in mounts or current.is_relative_to(folder):
            found.append(int(process.name))
    return found


NAMES = 8_000  # of methods, uses or targets: the source has about 400 KB
METHODS = "".join(f"    def m{number}(self): 0\n" for number in range(NAMES))
USES = "        x.scaled_dot_product_attention()\n" * NAMES
OF_ZEROS = """
class SelfAttentionV1(torch.nn.Module):
    def __init__(self, dimension_inputs, dimension_outputs):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            zeros = torch.zeros(dimension_inputs, dimension_outputs)
            self.register_parameter(name, torch.nn.Parameter(zeros, requires_grad=False))

    def forward(self, x):
        return x @ self.W_q

    def never_called(self, x):
"""
# One repetition each: too long to keep as files.
LONG_MODULES = {
    "chains_attributes": "import torch\n\na = torch.nn\n" + "a = a.a.a.a.a.a.a.a\n" * 40_000,
    "chains_minus_signs": "SelfAttentionV1 = " + "-" * 100_000 + "1\n",
    "names_methods_and_uses": (
        f"import torch\nclass Other:\n    def scaled_dot_product_attention(self): 0\n{METHODS}"
        f"{OF_ZEROS}{USES}"
    ),
    "names_one_value_often": (
        " = ".join(f"a{number}" for number in range(NAMES)) + f" = [{'x.y, ' * NAMES}]\n"
    ),
    "nests_parentheses": "SelfAttentionV1 = " + "(" * 100_000 + "0" + ")" * 100_000 + "\n",
}
# Members of an archive that no honest program writes.
ARCHIVES: dict[str, Callable[[zipfile.ZipFile], None]] = {
    "packs_a_bomb": lambda packed: packed.writestr(MODULE, ZEROS),
    "packs_paths_outside": lambda packed: packed.writestr(f"../../{MODULE}", "import os\n"),
}
