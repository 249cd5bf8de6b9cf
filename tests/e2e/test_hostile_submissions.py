"""A class in which most want marks, or harm, rather than understanding.

Each folder of ``tests/submissions/hostile`` is one such student; ``expected.json`` beside the
module says what they may get. All are graded in one batch, with honest students between them.
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
from autograder.sandbox.isolation import probe
from autograder.submission import collect
from autograder.suite.checks import Layer

ROOT = Path(__file__).parents[2]
HOSTILE = ROOT / "tests" / "submissions" / "hostile"
STAGE = "04_self_attention"
HONEST_EVERY = 8  # so that each grading process meets honest work after whatever it survived
MAX_RECORD = 65_536  # bytes of JSON about one student, whatever they say

pytestmark = pytest.mark.skipif(probe().level != "full", reason=probe().reason)


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``expected.json``: at most so many points, a status, and which statuses checks may have."""

    at_most: float
    status: tuple[Status, ...]
    checks: tuple[Status, ...] | None = None


class Batch(msgspec.Struct, frozen=True):
    """What grading the class left behind."""

    results: dict
    cards: dict  # what stands beside each check, by its name
    before: dict
    after: dict
    left_folders: list
    left_processes: list


@pytest.fixture(scope="module")
def temporary():
    """Make the folder of temporary folders one that anybody may write to, as /tmp is."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    (folder / "marker").write_text("untouched")
    (folder / "marker").chmod(0o666)
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Copy the course, with shorter limits and with a secret of its own."""
    root = tmp_path_factory.mktemp("course")
    for name in ("source", "solutions", "tests/hidden"):
        ignored = shutil.ignore_patterns("variants", "__pycache__")
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    (root / ".course-secret").write_text("known to nobody who is graded here")
    file = courses.read_toml(ROOT / courses.COURSE_FILE, courses.CourseFile)
    limits = msgspec.structs.replace(
        file.limits,
        import_seconds=3.0,  # a loop at import costs this much, an honest import some milliseconds
        call_seconds=1.0,
        submission_seconds=5.0,
        restarts_per_exercise=1,
        memory_mib=256,
    )
    stages = file.stages[: file.stages.index(STAGE) + 1]  # it may ask for earlier ones
    return courses.Course(root, msgspec.structs.replace(file, stages=stages, limits=limits))


@pytest.fixture(scope="module")
def batch(course, temporary):
    """Grade the whole class once."""
    stage = course.stage(STAGE)
    with open_suites(course, [stage]) as runner:
        cards = runner.checks(STAGE)
    class_ = mixed(list(collect(HOSTILE, course.stages, stage)), honest(course))
    before, children = fingerprints(course, temporary), children_of_this_process()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        results = grade(course, class_, jobs=2, diagnose=False)  # else most of the time goes there
    return Batch(
        results={result.student: result for result in results.submissions},
        cards={check.name: check.spec for check in cards},
        before=before,
        after=fingerprints(course, temporary),
        left_folders=[path.name for path in temporary.iterdir() if path.name != "marker"],
        left_processes=sorted(children_of_this_process() - children) + staying_in(temporary),
    )


def honest(course):
    """Return the instructor's solution as a student's submission."""
    stage = course.stage(STAGE)
    [submission] = collect(stage.solution, course.stages, stage)
    return submission


def mixed(hostile, honest):
    """Seat an honest student after every few hostile ones."""
    class_ = []
    for number, submission in enumerate(hostile):
        if number % HONEST_EVERY == 0:
            class_.append(msgspec.structs.replace(honest, student=f"honest {number}"))
        class_.append(submission)
    return [*class_, msgspec.structs.replace(honest, student="honest at last")]


def fingerprints(course, temporary):
    """Hash what nobody may change."""
    watched = [temporary / "marker", *(course.root / "tests").rglob("*.py")]
    watched += (course.root / "solutions").rglob("*.py")
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in watched}


def children_of_this_process():
    """List the processes that this one has started and not yet reaped."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for path in lists for pid in path.read_text("ascii").split()}


def staying_in(folder):
    """List the processes that work in *folder*, whoever their parent is by now."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:  # it ended, or it is not ours to look at
            continue
        if place.is_relative_to(folder):
            found.append(int(process.name))
    return found


def attacks():
    """Name every folder of hostile submissions."""
    return sorted(path.name for path in HOSTILE.iterdir())


def expected(attack):
    """Read the golden of *attack*."""
    return msgspec.json.decode((HOSTILE / attack / "expected.json").read_bytes(), type=Expected)


def checks_of(result):
    """List the checks of a submission."""
    return [check for exercise in result.exercises for check in exercise.checks]


@pytest.mark.parametrize("attack", attacks())
def test_gains_nothing(batch, attack):
    """A hostile submission gets what its golden says, and no word of it grows beyond bounds."""
    golden, result = expected(attack), batch.results[attack]

    assert result.status in golden.status, result.message
    assert result.score <= golden.at_most
    if golden.checks is not None:
        assert {check.status for check in checks_of(result)} <= set(golden.checks)
    assert len(msgspec.json.encode(result)) <= MAX_RECORD


@pytest.mark.parametrize("attack", attacks())
def test_says_nothing_beside_hidden_inputs(batch, attack):
    """Beside a check with secret inputs stands no number of theirs and no word of the student's."""
    checks = checks_of(batch.results[attack])
    words = " ".join(check.message for check in checks if batch.cards[check.name].layer.hidden)

    assert words
    assert "CANARY" not in words
    assert not re.search(r"\d\.\d", words)


@pytest.mark.parametrize("attack", attacks())
def test_passes_no_probe(batch, attack):
    """On inputs that nobody could know beforehand, only attention itself is right."""
    probes = [
        check.outcome
        for check in checks_of(batch.results[attack])
        if batch.cards[check.name].layer is Layer.PROBE
    ]

    assert probes
    assert Outcome.PASSED not in probes


@pytest.mark.parametrize("attack", attacks())
def test_fails_in_words_of_ours(batch, attack):
    """Whoever did not pass is told why, and never that the grader itself failed."""
    result = batch.results[attack]
    failed = [check for check in checks_of(result) if check.outcome is not Outcome.PASSED]

    assert all(check.message and check.points == 0 for check in failed)
    assert result.status is not Status.GRADER_ERROR


def test_honest_students_have_full_marks(batch):
    """Whoever sits between them is graded as if they were alone."""
    scores = {
        name: (result.score, result.max_score)
        for name, result in batch.results.items()
        if name.startswith("honest")
    }

    assert len(scores) > len(attacks()) // HONEST_EVERY
    assert {score == most for score, most in scores.values()} == {True}, scores


def test_nothing_outside_has_changed(batch):
    """Suites, solutions and other people's files are as they were."""
    assert batch.after == batch.before


def test_no_private_folder_is_left(batch):
    """What workers were given to write in is gone, however they nested it."""
    assert batch.left_folders == []


def test_no_process_is_left(batch):
    """No worker, no child of one and no fork server outlives the grading."""
    assert batch.left_processes == []
