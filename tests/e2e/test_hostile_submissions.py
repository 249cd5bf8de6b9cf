"""A class of hostile submissions: none gains points, sees secrets or changes anything outside.

Each folder of ``tests/submissions/hostile`` is one submission; its ``expected.json`` says what it
may get. All are graded in one batch, with honest submissions between them.
"""

import hashlib
import re
import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest

from autograder import course as courses
from autograder.grading.grade import grade
from autograder.grading.suite_runner import open_suites
from autograder.results import Outcome, Status
from autograder.sandbox.isolation import detect_capabilities
from autograder.submission import collect
from autograder.suite.checks import Layer

ROOT = Path(__file__).parents[2]
HOSTILE = ROOT / "tests" / "submissions" / "hostile"
STAGE = "04_self_attention"
MODULE = "self_attention.py"
HONEST_EVERY = 8  # so that each grading process grades honest work after hostile work
MAX_RECORD = 65_536  # bytes of JSON about one submission, whatever it raises
LONG_MODULES = {  # one repetition each: too long to keep as files
    "chains_attributes": "import torch\n\na = torch.nn\n" + "a = a.a.a.a.a.a.a.a\n" * 40_000,
    "chains_minus_signs": "SelfAttentionV1 = " + "-" * 100_000 + "1\n",
    "nests_parentheses": "SelfAttentionV1 = " + "(" * 100_000 + "0" + ")" * 100_000 + "\n",
}

pytestmark = pytest.mark.skipif(
    detect_capabilities().level != "full", reason=detect_capabilities().reason
)


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``expected.json``: the most points, and the statuses that submission and checks may have."""

    at_most: float
    status: tuple[Status, ...]
    checks: tuple[Status, ...] | None = None


class Batch(msgspec.Struct, frozen=True):
    """The results of the class, and what grading left behind."""

    results: dict
    specs: dict  # of each check, by its name
    before: dict
    after: dict
    left_folders: list
    left_processes: list


@pytest.fixture(scope="module")
def temporary():
    """A folder for temporary files that every user may write to, as /tmp is."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    (folder / "marker").write_text("untouched")
    (folder / "marker").chmod(0o666)
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course, with lower limits and its own secret."""
    root = tmp_path_factory.mktemp("course")
    for name in ("source", "solutions", "tests/hidden"):
        ignored = shutil.ignore_patterns("variants", "__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    (root / ".course-secret").write_text("known to no submission")
    file = courses.read_toml(ROOT / courses.COURSE_FILE, courses.CourseFile)
    limits = msgspec.structs.replace(
        file.limits,
        # An attack that hangs uses up these limits; honest code needs milliseconds.
        import_seconds=2.0,
        call_seconds=0.5,
        submission_seconds=5.0,
        restarts_per_exercise=1,
        memory_mib=256,
    )
    stages = file.stages[: file.stages.index(STAGE) + 1]  # it may ask for earlier ones
    return courses.Course(root, msgspec.structs.replace(file, stages=stages, limits=limits))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The folder of hostile submissions, with the modules that are too long to keep as files."""
    folder = tmp_path_factory.mktemp("class") / "hostile"
    shutil.copytree(HOSTILE, folder)
    for name, text in LONG_MODULES.items():
        (folder / name / MODULE).write_text(text)
    return folder


@pytest.fixture(scope="module")
def batch(course, hostile, temporary):
    """Grade the whole class once."""
    stage = course.stage(STAGE)
    with open_suites(course, [stage]) as runner:
        checks = runner.checks(STAGE)
    class_ = mixed(list(collect(hostile, course.stages, stage)), honest(course))
    before, children = fingerprints(course, temporary), children_of_this_process()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        results = grade(course, class_, jobs=2, diagnose=False)  # else most of the time goes there
    return Batch(
        results={result.student: result for result in results.submissions},
        specs={check.name: check.spec for check in checks},
        before=before,
        after=fingerprints(course, temporary),
        left_folders=[path.name for path in temporary.iterdir() if path.name != "marker"],
        left_processes=sorted(children_of_this_process() - children) + processes_in(temporary),
    )


def honest(course):
    """Return the instructor's solution as a student's submission."""
    stage = course.stage(STAGE)
    [submission] = collect(stage.solution, course.stages, stage)
    return submission


def mixed(hostile, honest):
    """Insert an honest submission after every few hostile ones."""
    class_ = []
    for number, submission in enumerate(hostile):
        if number % HONEST_EVERY == 0:
            class_.append(msgspec.structs.replace(honest, student=f"honest {number}"))
        class_.append(submission)
    return [*class_, msgspec.structs.replace(honest, student="honest at the end")]


def fingerprints(course, temporary):
    """Hash the files that no submission may change."""
    watched = [temporary / "marker", *(course.root / "tests").rglob("*.py")]
    watched += (course.root / "solutions").rglob("*.py")
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in watched}


def children_of_this_process():
    """List the processes that this one has started and not yet reaped."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for path in lists for pid in path.read_text("ascii").split()}


def processes_in(folder):
    """List the processes whose current folder is in *folder*, whatever their parent is."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            current = (process / "cwd").readlink()
        except OSError:  # it has ended, or belongs to another user
            continue
        if current.is_relative_to(folder):
            found.append(int(process.name))
    return found


def attacks():
    """List the names of the hostile submissions."""
    return sorted(path.name for path in HOSTILE.iterdir())


def expected(attack):
    """Read what *attack* may get."""
    return msgspec.json.decode((HOSTILE / attack / "expected.json").read_bytes(), type=Expected)


def checks_of(result):
    """List the checks of a submission."""
    return [check for exercise in result.exercises for check in exercise.checks]


@pytest.mark.parametrize("attack", attacks())
def test_gains_nothing(batch, attack):
    """A hostile submission gets what is expected, and its record stays small."""
    allowed, result = expected(attack), batch.results[attack]

    assert result.status in allowed.status, result.message
    assert result.score <= allowed.at_most
    if allowed.checks is not None:
        assert {check.status for check in checks_of(result)} <= set(allowed.checks)
    assert len(msgspec.json.encode(result)) <= MAX_RECORD


@pytest.mark.parametrize("attack", attacks())
def test_says_nothing_beside_hidden_inputs(batch, attack):
    """The message of a check with hidden inputs holds neither numbers nor text of the student."""
    checks = checks_of(batch.results[attack])
    messages = " ".join(check.message for check in checks if batch.specs[check.name].layer.hidden)

    assert messages
    assert "CANARY" not in messages
    assert not re.search(r"\d\.\d", messages)


@pytest.mark.parametrize("attack", attacks())
def test_passes_no_probe(batch, attack):
    """On hidden inputs, only a correct implementation passes."""
    probes = [
        check.outcome
        for check in checks_of(batch.results[attack])
        if batch.specs[check.name].layer is Layer.PROBE
    ]

    assert probes
    assert Outcome.PASSED not in probes


@pytest.mark.parametrize("attack", attacks())
def test_every_failure_has_a_message(batch, attack):
    """A failed check says why and earns nothing, and the grader itself did not fail."""
    result = batch.results[attack]
    failed = [check for check in checks_of(result) if check.outcome is not Outcome.PASSED]

    assert all(check.message and check.points == 0 for check in failed)
    assert result.status is not Status.GRADER_ERROR


def test_honest_students_have_full_marks(batch):
    """Honest submissions between hostile ones get full marks."""
    scores = {
        name: (result.score, result.max_score)
        for name, result in batch.results.items()
        if name.startswith("honest")
    }

    assert len(scores) > len(attacks()) // HONEST_EVERY
    assert {score == most for score, most in scores.values()} == {True}, scores


def test_nothing_outside_has_changed(batch):
    """Suites, solutions and files of others are unchanged."""
    assert batch.after == batch.before


def test_no_private_folder_is_left(batch):
    """The private folders of all workers are removed, however deep they are."""
    assert batch.left_folders == []


def test_no_process_is_left(batch):
    """No worker, no child of a worker and no fork server outlives the grading."""
    assert batch.left_processes == []
