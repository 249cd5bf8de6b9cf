"""Adds the results of a run to the record of the term, which keeps all other results."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from autograder.course import Course
from autograder.errors import UsageError
from autograder.results import EarlierRun, Results, SubmissionResult
from autograder.stored_results import LazySequence, read_record, scores_of
from autograder.submission.files import in_sentence

Key = tuple[str, str]  # the student and the stage
_Pick = tuple[Sequence[SubmissionResult], int]


class PickedResults(LazySequence[_Pick, SubmissionResult]):
    """Results of several records, each read when it is needed."""

    def read(self, row: _Pick) -> SubmissionResult:
        """Read a result, given by its record's results and its index in them."""
        results, index = row
        return results[index]


class Merged(NamedTuple):
    """The record with the results of a run, and the keys of the results that the run kept."""

    results: Results
    kept: tuple[Key, ...]


def read_earlier(file: Path, course: Course) -> Results | None:
    """Read the record in *file*, to which a run will add; None if there is none.

    Raises ``UsageError`` if the file is something else, or the record of a different course.
    """
    if not file.is_file() or not file.stat().st_size:
        return None
    try:
        found = read_record(file)
    except UsageError as error:
        msg = f"{error} It was not changed. Choose a different file with --json, or move this one."
        raise UsageError(msg) from None
    if found.course != course.id:
        raise UsageError(
            f"{file} is the record of the course {found.course!r}, and this course is "
            f"{course.id!r}. Choose a different file with --json."
        )
    return found


def merge(earlier: Results, new: Results, forgotten: Collection[Key] = ()) -> Merged:
    """Return *earlier* with the results of *new* in place of those of the same keys.

    A new result takes the place of the earlier one; others follow at the end. A result without a
    stage is dropped if *new* has a result of its student.
    """
    fresh: dict[Key, list[int]] = defaultdict(list)
    for index, score in enumerate(scores_of(new)):
        fresh[score.key].append(index)
    students = {student for student, _ in fresh}
    left = dict(fresh)
    picks: list[_Pick] = []
    kept = []
    for index, score in enumerate(scores_of(earlier)):
        if score.key in fresh:  # the first of several entries with the key
            picks += [(new.submissions, number) for number in left.pop(score.key, ())]
        elif score.key not in forgotten and (score.stage or score.student not in students):
            picks.append((earlier.submissions, index))
            kept.append(score.key)
    picks += [(new.submissions, number) for numbers in left.values() for number in numbers]
    runs = {str(number): run for number, run in enumerate(_earlier_runs(earlier, new, kept), 1)}
    groups = earlier.groups | new.groups
    whole = replace(new, submissions=PickedResults(picks), earlier=runs, groups=groups)
    return Merged(whole, tuple(kept))


def without(earlier: Results, forgotten: Collection[Key]) -> Results:
    """Return *earlier* without the results of *forgotten*."""
    return merge(earlier, replace(earlier, submissions=(), earlier={}), forgotten).results


def not_submitted(kept: Iterable[Key], stages: Collection[str], file: Path) -> Iterator[str]:
    """Yield a sentence on the results in *kept* that belong to one of *stages*, for each stage."""
    for stage in sorted(stages):
        names = sorted({student for student, its in kept if its == stage})
        if names:
            shown = in_sentence(names)
            yield (
                f"{stage or 'No stage'}: {file} has results of students who are not among these "
                f"submissions: {shown}. They were kept. To remove one, run `autograder grade "
                f"--json {file} --forget {names[0]}`."
            )


def _earlier_runs(earlier: Results, new: Results, kept: Sequence[Key]) -> Iterator[EarlierRun]:
    """Yield the settings of the results in *kept*, unless they are those of the *new* run."""
    origin = {key: run for run in earlier.earlier.values() for key in run.results}
    found: list[tuple[Results | EarlierRun, dict[Key, None]]] = []
    for key in kept:
        run = origin.get(key, earlier)
        if not _have_equal_settings(run, new):
            known = next((keys for one, keys in found if _have_equal_settings(one, run)), None)
            if known is None:
                known = {}
                found.append((run, known))
            known[key] = None
    for run, keys in found:
        yield EarlierRun(
            results=tuple(keys), hidden_inputs=run.hidden_inputs, settings=run.settings
        )


def _have_equal_settings(one: Results | EarlierRun, other: Results | EarlierRun) -> bool:
    return (one.hidden_inputs, one.settings) == (other.hidden_inputs, other.settings)
