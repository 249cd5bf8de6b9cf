"""Reads the students of a Gradescope export, whose folders are named after submissions.

The export's ``submission_metadata.yml`` has the students of each folder under ``:submitters:``,
with ``:name:``, ``:sid:`` and ``:email:``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from autograder.errors import UsageError
from autograder.submission.download_names import ParsedName
from autograder.submission.files import UnusableFile
from autograder.submission.names import student_id
from autograder.submission.place import Entry

METADATA: Final = "submission_metadata.yml"
_MAX_METADATA = 64 * 2**20  # bytes; it also holds the output of each of Gradescope's tests


def read_submitters(entries: Sequence[Entry]) -> Mapping[str, list[ParsedName]] | None:
    """Return the students of each folder by its name; None if *entries* are not an export.

    Raises ``UsageError`` if the metadata can't be read.
    """
    files = [entry.list_files()[0] for entry in entries if entry.name == METADATA]
    if not files or not files[0]:
        return None
    import yaml  # noqa: PLC0415  # an optional library

    try:
        text = files[0][0].read(_MAX_METADATA)
        loaded = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe
    except (UnusableFile, yaml.YAMLError, ValueError) as error:
        msg = f"{METADATA} can't be read ({error}). Download the export from Gradescope again."
        raise UsageError(msg) from None
    if not isinstance(loaded, dict):
        msg = f"{METADATA} is not Gradescope's: it lists no submissions. Download it again."
        raise UsageError(msg)
    return {str(folder): _submitters(data) for folder, data in loaded.items()}


def _submitters(data: Any) -> list[ParsedName]:
    found = data.get(":submitters") if isinstance(data, dict) else None
    people = [person for person in found or () if isinstance(person, dict)]
    return [parsed for person in people if (parsed := _student(person))]


def _student(person: Mapping[str, object]) -> ParsedName | None:
    """Return the student by the institution's id, else by the address, else by the name."""
    sid, email, name = (str(person.get(f":{key}") or "") for key in ("sid", "email", "name"))
    chosen = sid or email or name
    if not chosen:
        return None
    student = student_id(chosen)
    return ParsedName(student=student, file="", platform="gradescope", name=name, email=email)
