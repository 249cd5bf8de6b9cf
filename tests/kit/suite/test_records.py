"""Tests the file of records of a stage: its format, its bounds and its errors."""

import hashlib
import lzma
from pathlib import Path
from typing import Any

import msgspec
import pytest

from autograder.errors import CourseError, UsageError
from autograder.suite import records

SOURCES = "ab" * 32
VALUES = {"text": "é", "bytes": b"\0", "nothing": None, "nested": [1, 0.5, {"a": [True]}]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of records."""
    path = tmp_path / "records.bin"
    path.write_bytes(records.encode("01_tiny", SOURCES, VALUES, [1, 2]))
    return path


def packed(body: bytes, version: int = records.FORMAT) -> bytes:
    """Return a file with this *body* and a valid digest."""
    digest = hashlib.sha256(body).digest()
    return records.HEADER.pack(records.MARK, version, bytes(32), digest) + body


def test_values_of_every_type_are_read_as_they_were_written(file: Path):
    """Numbers, texts, bytes, None and nested containers can be recorded."""
    assert records.read(file, "replies", Any) == VALUES
    assert records.read(file, "evidence", list[int]) == [1, 2]
    assert records.made_from(file) == SOURCES
    assert records.plain(file) == {"replies": VALUES, "evidence": [1, 2]}


def test_other_sources_change_only_the_header(file: Path):
    """Records of changed sources with the same results differ in the header alone."""
    before = file.read_bytes()
    after = records.with_sources(before, "cd" * 32)

    assert after == records.encode("01_tiny", "cd" * 32, VALUES, [1, 2])
    assert after[records.HEADER.size :] == before[records.HEADER.size :]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "is damaged", id="empty"),
        pytest.param(b"{}", "is damaged", id="another-format"),
        pytest.param(packed(b"x"), "is damaged", id="not-compressed"),
        pytest.param(packed(lzma.compress(b"x")), "is damaged", id="not-msgpack"),
        pytest.param(packed(lzma.compress(b"x")[:-1]), "is damaged", id="cut-stream"),
        pytest.param(packed(b"", 9), "has format 9, and this version of the kit", id="newer"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(file: Path, content: bytes, words: str):
    """The error names the file and the commands that restore it."""
    file.write_bytes(content)

    with pytest.raises(UsageError, match=rf"records\.bin {words}.*`autograder start` restores it"):
        records.read(file, "replies", Any)
    assert records.find(file, "replies", Any) is None
    assert records.made_from(file) == ""


def test_every_changed_byte_and_every_cut_is_noticed(file: Path):
    """The digest covers the content, so damage anywhere in it is noticed."""
    content = file.read_bytes()
    start = records.HEADER.size
    damages = [
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for place in range(start, len(content))
    ]
    damages += [content[:length] for length in range(len(content))]
    for damage in damages:
        file.write_bytes(damage)
        with pytest.raises(UsageError, match="is damaged"):
            records.read(file, "replies", Any)


def test_a_missing_file_is_one_sentence(tmp_path: Path):
    """The error about a missing file has the command that writes it."""
    with pytest.raises(UsageError, match=r"No such file.*`autograder release`"):
        records.read(tmp_path / "records.bin", "replies", Any)


def test_a_file_of_another_type_is_damaged(file: Path):
    """Content that is not of the expected type is reported as damage."""
    with pytest.raises(UsageError, match="is damaged"):
        records.read(file, "replies", list[int])


def test_what_a_file_may_unpack_to_is_bounded(file: Path):
    """A small file that unpacks to much more than a stage has is refused."""
    huge = msgspec.msgpack.encode({"replies": b"\0" * (records.MAX_CONTENT + 1), "evidence": 0})
    file.write_bytes(packed(lzma.compress(huge)))

    assert file.stat().st_size < records.MAX_BYTES
    with pytest.raises(UsageError, match="its content is too large"):
        records.read(file, "evidence", int)


def test_records_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch):
    """Records that are too large for a student's download are refused."""
    monkeypatch.setattr(records, "MAX_BYTES", 10)

    with pytest.raises(CourseError, match=r"The records of 01_tiny have .* the limit is 10"):
        records.encode("01_tiny", SOURCES, VALUES, [])
