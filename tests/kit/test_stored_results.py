"""Tests that results on disk are read one at a time and compared without being kept."""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.reports.difference import compare
from autograder.results import (
    Outcome,
    Results,
    Status,
    SubmissionResult,
    from_json,
    json_parts,
    to_json,
)
from autograder.stored_results import (
    MAX_CHANGES,
    ScoreChanges,
    StoredResults,
    matched,
    read_record,
    score_changes,
    scores_of,
)
from tests.kit.factories import MakeCheck, MakeResults, MakeSubmission


@pytest.fixture
def class_(results: MakeResults, submission: MakeSubmission, check: MakeCheck) -> Results:
    """The record of three students, of whom one has no grade."""
    nobody = replace(submission(student="cleo"), score=None, status=Status.GRADER_ERROR)
    return results(submission(check()), submission(check(), student="bert"), nobody)


@pytest.fixture
def file(tmp_path: Path, class_: Results) -> Path:
    """The file of the record."""
    path = tmp_path / "results.json"
    path.write_bytes(to_json(class_))
    return path


def test_a_record_is_read_result_by_result(file: Path, class_: Results):
    """A record is read in any order, any number of times, and written again equally."""
    read = read_record(file)

    assert isinstance(read.submissions, StoredResults)
    assert tuple(read.submissions) == tuple(read.submissions) == class_.submissions
    assert read.submissions[-1] == class_.submissions[2]
    assert tuple(read.submissions[1:]) == class_.submissions[1:]
    assert to_json(read) == file.read_bytes()


@pytest.mark.parametrize("indent", [4, -1])
def test_a_record_in_another_layout_is_read_as_well(file: Path, class_: Results, indent: int):
    """A record in a different layout, such as that of an editor, is read, too."""
    file.write_bytes(msgspec.json.format(file.read_bytes(), indent=indent))

    assert read_record(file) == class_


@pytest.mark.parametrize("count", [0, 1])
def test_small_records_are_records(file: Path, class_: Results, count: int):
    """A record of one submission or none is read."""
    record = to_json(replace(class_, submissions=class_.submissions[:count]))
    file.write_bytes(record)

    assert to_json(read_record(file)) == record


def test_a_record_that_is_cut_off_is_refused(file: Path):
    """A record that is cut within or after a submission is refused as a whole."""
    record = file.read_bytes()

    for size in (len(record) - 20, 300, 0):
        file.write_bytes(record[:size])
        with pytest.raises(UsageError, match="is not a record"):
            read_record(file)


def test_a_damaged_submission_is_noticed_where_it_is_used(file: Path, class_: Results):
    """A damaged submission is an error when it is read, and all others can be read."""
    file.write_bytes(file.read_bytes().replace(b'"score": ', b'"score": "', 1))
    read = read_record(file)

    assert read.submissions[1] == class_.submissions[1]
    with pytest.raises(UsageError, match="is not a record"):
        to_json(read)


def test_scores_are_read_without_the_rest(file: Path, class_: Results):
    """Scores are those of the whole results, from a file and from memory."""
    stored = list(scores_of(read_record(file)))

    assert stored == list(scores_of(class_)) == list(scores_of(from_json(file.read_bytes())))
    assert [one.score for one in stored] == [2.0, 2.0, None]
    assert stored[2].status is Status.GRADER_ERROR


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("abc", "abc", id="same-order"),
        pytest.param("abc", "xabcd", id="some-are-new"),
        pytest.param("abcdef", "ace", id="some-are-gone"),
        pytest.param("abc", "cba", id="other-order"),
        pytest.param("", "ab", id="nothing-before"),
        pytest.param("aab", "aba", id="twice"),
    ],
)
def test_what_has_the_same_key_is_matched(old: str, new: str):
    """Two lists in any order are matched by key, each position once."""
    pairs = list(matched(zip(old, range(9), strict=False), zip(new, range(9), strict=False)))
    both = [(key, one, other) for key, one, other in pairs if one is not None and other is not None]

    assert all(old[one] == new[other] == key for key, one, other in both)
    assert sorted(one for _, one, _ in pairs if one is not None) == [*range(len(old))]
    assert sorted(other for _, _, other in pairs if other is not None) == [*range(len(new))]
    assert len(both) == sum(min(old.count(key), new.count(key)) for key in {*old})


def test_changes_of_scores_are_said_in_one_line(class_: Results):
    """A student who has a grade in only one of two records is not counted as a change."""
    ada, bert, cleo = class_.submissions
    again = replace(class_, submissions=(replace(bert, score=0.5), ada, replace(cleo, score=1.0)))

    assert str(score_changes(class_, again)) == (
        "1 of 2 earlier scores changed: bert, 01_tiny: 2 → 0.5 (-1.5)."
    )
    assert str(score_changes(class_, class_)) == "0 of 2 earlier scores changed."
    assert str(score_changes(replace(class_, submissions=()), class_)) == ""


def test_of_many_changes_the_first_are_named():
    """The first of many changes are listed in the order of the students."""
    changes = ScoreChanges()
    for number in reversed(range(MAX_CHANGES + 7)):
        changes.add(f"s{number:03}", "01_tiny", 1.0, 2.0)
    text = str(changes)

    assert text.startswith("57 of 57 earlier scores changed: s000, 01_tiny: 1 → 2 (+1); s001")
    assert text.endswith("s049, 01_tiny: 1 → 2 (+1); 7 more.")


# The memory that one more submission takes, in the readers of a record

FEW, MANY = 1000, 1400
MOST = 500  # bytes, as a set grows in steps; one of these results takes about 3,000
Use = Callable[[Path], object]


USES = {
    "diff": lambda record: compare(read_record(record), read_record(record)),
    "changes": lambda record: score_changes(read_record(record), read_record(record)),
    "record": lambda record: [None for _ in json_parts(read_record(record))],
}


@pytest.fixture
def write(tmp_path: Path, check: MakeCheck, submission: MakeSubmission) -> Callable[[int], Path]:
    """Write the record of a class, in which no two students have the same texts or code."""

    def make(number: int) -> SubmissionResult:
        wrong = check(Outcome.FAILED, message=f"{number} " * 100)
        found = submission(check(), wrong, student=f"student{number}")
        return replace(found, message=f"{number}: " * 100, sha256=f"{number:064}")

    def write_class(count: int) -> Path:
        submissions = tuple(map(make, range(count)))
        run = Results(course="tiny", isolation="full", submissions=submissions)
        file = tmp_path / f"{count}.json"
        file.write_bytes(b"".join(json_parts(run)))
        return file

    return write_class


@pytest.fixture
def measuring() -> Iterator[None]:
    """Count the allocations of Python.

    The objects of other tests are set aside: the more there are, the later Python collects garbage.
    """
    gc.collect()
    gc.freeze()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.unfreeze()


def peak(use: Use, record: Path) -> int:
    """Return how much memory a use takes at most."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    use(record)
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.slow
@pytest.mark.usefixtures("measuring")
@pytest.mark.parametrize("name", USES)
def test_a_class_is_never_in_memory(name: str, write: Callable[[int], Path]):
    """One more submission takes a few hundred bytes of memory, so a class is not kept."""
    records = [write(count) for count in (FEW, MANY)]
    peak(USES[name], records[1])  # fills caches, which are of bounded size
    few, many = (peak(USES[name], record) for record in records)

    assert many - few < MOST * (MANY - FEW)
