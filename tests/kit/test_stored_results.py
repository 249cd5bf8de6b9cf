"""Results on disk: read when their turn comes, and compared without being kept."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from autograder.errors import UsageError
from autograder.results import Results, Status, from_json, to_json
from autograder.stored_results import (
    MAX_CHANGES,
    ScoreChanges,
    StoredResults,
    matched,
    read_record,
    score_changes,
    scores_of,
)
from tests.factories import MakeCheck, MakeResults, MakeSubmission


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
    """As often as it is asked for, in any order; written again, it is the same text."""
    read = read_record(file)

    assert isinstance(read.submissions, StoredResults)
    assert tuple(read.submissions) == tuple(read.submissions) == class_.submissions
    assert read.submissions[-1] == class_.submissions[2]
    assert tuple(read.submissions[1:]) == class_.submissions[1:]
    assert to_json(read) == file.read_bytes()


@pytest.mark.parametrize("indent", [4, -1])
def test_a_record_in_another_layout_is_read_as_well(file: Path, class_: Results, indent: int):
    """An editor may have changed it."""
    file.write_bytes(msgspec.json.format(file.read_bytes(), indent=indent))

    assert read_record(file) == class_


@pytest.mark.parametrize("count", [0, 1])
def test_small_records_are_records(file: Path, class_: Results, count: int):
    """Nothing or one thing was graded."""
    record = to_json(replace(class_, submissions=class_.submissions[:count]))
    file.write_bytes(record)

    assert to_json(read_record(file)) == record


def test_a_record_that_is_cut_off_is_refused(file: Path):
    """Within a submission, and behind one; nothing of it is used."""
    record = file.read_bytes()

    for size in (len(record) - 20, 300, 0):
        file.write_bytes(record[:size])
        with pytest.raises(UsageError, match="is no record"):
            read_record(file)


def test_a_damaged_submission_is_noticed_where_it_is_used(file: Path, class_: Results):
    """The others can be read."""
    file.write_bytes(file.read_bytes().replace(b'"score": ', b'"score": "', 1))
    read = read_record(file)

    assert read.submissions[1] == class_.submissions[1]
    with pytest.raises(UsageError, match="is no record"):
        to_json(read)


def test_scores_are_read_without_the_rest(file: Path, class_: Results):
    """They are those of the whole results, from a file and from memory."""
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
    """Whatever the order is, each position occurs once."""
    pairs = list(matched(zip(old, range(9), strict=False), zip(new, range(9), strict=False)))
    both = [(key, one, other) for key, one, other in pairs if one is not None and other is not None]

    assert all(old[one] == new[other] == key for key, one, other in both)
    assert sorted(one for _, one, _ in pairs if one is not None) == [*range(len(old))]
    assert sorted(other for _, _, other in pairs if other is not None) == [*range(len(new))]
    assert len(both) == sum(min(old.count(key), new.count(key)) for key in {*old})


def test_changes_of_scores_are_said_in_one_line(class_: Results):
    """Who had no grade before, or has none now, is no change."""
    ada, bert, cleo = class_.submissions
    again = replace(class_, submissions=(replace(bert, score=0.5), ada, replace(cleo, score=1.0)))

    assert str(score_changes(class_, again)) == (
        "1 of 2 earlier scores changed: bert, 01_tiny: 2 → 0.5 (-1.5)."
    )
    assert str(score_changes(class_, class_)) == "0 of 2 earlier scores changed."
    assert str(score_changes(replace(class_, submissions=()), class_)) == ""


def test_of_many_changes_the_first_are_named():
    """In the order of the students; the class report shows everybody."""
    changes = ScoreChanges()
    for number in reversed(range(MAX_CHANGES + 7)):
        changes.add(f"s{number:03}", "01_tiny", 1.0, 2.0)
    text = str(changes)

    assert text.startswith("57 of 57 earlier scores changed: s000, 01_tiny: 1 → 2 (+1); s001")
    assert text.endswith("s049, 01_tiny: 1 → 2 (+1); and 7 more.")
