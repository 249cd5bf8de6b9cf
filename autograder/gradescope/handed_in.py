"""What a student handed in through Gradescope, and who that is."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from autograder.course import Stage
from autograder.errors import GraderError
from autograder.submission import Submission
from autograder.submission.assemble import submissions
from autograder.submission.collect import collect_one
from autograder.submission.discovery import HandIn
from autograder.submission.files import is_hidden_or_generated
from autograder.submission.names import student_id
from autograder.submission.stage_matching import StageResolver


class _User(msgspec.Struct, frozen=True):
    id: int | str


class _Metadata(msgspec.Struct, frozen=True):
    users: tuple[_User, ...] = ()


def student_of(metadata: Path) -> str:
    """Name the student, or the group, by Gradescope's numbers: a label, never a path."""
    try:
        users = msgspec.json.decode(metadata.read_bytes(), type=_Metadata).users
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        users = ()  # a container that was started by hand has none
    return student_id("+".join(str(user.id) for user in users) or "student")


def handed_in(folder: Path, student: str, stages: Sequence[Stage]) -> list[Submission]:
    """Return a submission for each of *stages* that *folder* has files of.

    Of a single stage there always is one, which may say why there is nothing to grade; of several
    stages the files' names tell. Raises ``GraderError`` if *folder* can't be looked at.
    """
    place = _only_file(folder) or folder
    if len(stages) == 1:
        return [collect_one(place, student, stages[0], stages)]
    return list(
        submissions(HandIn(student=student, places=(place,)), StageResolver(stages=tuple(stages)))
    )


def _only_file(folder: Path) -> Path | None:
    """Return the one thing in *folder*, whose name need not tell anything."""
    try:
        places = [
            place
            for place in folder.iterdir()
            if not is_hidden_or_generated(PurePosixPath(place.name))
        ]
    except OSError as error:
        msg = f"{folder} can't be read: {error.strerror}."
        raise GraderError(msg) from error
    return places[0] if len(places) == 1 else None
