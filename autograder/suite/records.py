"""Reads and writes the file of records of a stage, which ``release`` builds.

A student's machine has neither the solution nor wrong programs, so their results on public inputs
are recorded: the replies of the solution (``public_record``), and the evidence about wrong programs
(``diagnosis.fingerprints``). The file begins with a header: a mark, the version of the format, the
digest of the sources, and the digest of the body. The body is compressed msgpack, which can hold
numbers, texts, bytes, None and nested containers. It holds no sentence, so another wording does not
change it.
"""

import hashlib
import lzma
import struct
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from autograder.errors import CourseError, UsageError

FORMAT: Final = 4  # increase it when a reader of the last version can't read the new one
MARK: Final = b"AGRECORD"
HEADER: Final = struct.Struct(">8sH32s32s")
MAX_BYTES: Final = 250_000  # of a file; students download all stages, 1.5 MB in this course
MAX_MEMORY: Final = 32_000_000  # of the decompression, which needs 9 MB
MAX_CONTENT: Final = 16_000_000  # of the decompressed body, so that a prepared file stays small
RESTORE: Final = "`autograder start` restores it; in a course, `autograder release` builds it again"

Part = Literal["replies", "evidence"]
# The columns of numbers are planes of bytes, in which neighbours do not predict one another.
FLOATS: Final[dict[str, int]] = {
    "id": lzma.FILTER_LZMA2,
    "preset": 6 | lzma.PRESET_EXTREME,
    "lc": 0,
    "lp": 0,
    "pb": 0,
}
T = TypeVar("T")


class Body(msgspec.Struct, frozen=True):
    """The two parts of a file; each reader decodes one of them."""

    replies: msgspec.Raw
    evidence: msgspec.Raw


def encode(stage: str, made_from: str, replies: object, evidence: object) -> bytes:
    """Encode the records of *stage*; raise ``CourseError`` if they are too large for students.

    *made_from* is the digest of their sources, in hexadecimal digits.
    """
    encoder = msgspec.msgpack.Encoder()
    parts = (msgspec.Raw(encoder.encode(part)) for part in (replies, evidence))
    body = lzma.compress(encoder.encode(Body(*parts)), filters=[FLOATS])
    digest = hashlib.sha256(body).digest()
    content = HEADER.pack(MARK, FORMAT, bytes.fromhex(made_from), digest) + body
    if len(content) > MAX_BYTES:
        raise CourseError(
            f"The records of {stage} have {len(content)} bytes, and the limit is {MAX_BYTES}: use "
            "smaller tensors, mark checks as hidden, or turn off kinds of mistake (OPERATORS)."
        )
    return content


def read(path: Path, part: Part, kind: type[T]) -> T:
    """Read one part of the file at *path*; raise ``UsageError`` if that is not possible."""
    try:
        return msgspec.msgpack.decode(getattr(_body(path), part), type=kind)
    except msgspec.MsgspecError as error:
        raise damaged(path, str(error)) from None


def find(path: Path, part: Part, kind: type[T]) -> T | None:
    """Read one part of the file at *path*; None if it is missing or can't be read."""
    try:
        return read(path, part, kind)
    except UsageError:
        return None


def made_from(path: Path) -> str:
    """Return the digest of the sources of the file at *path*; empty if it can't be read."""
    try:
        _body(path)
        _, _, sources, _ = HEADER.unpack(path.read_bytes()[: HEADER.size])
    except (UsageError, OSError):
        return ""
    return "" if path.is_symlink() else bytes(sources).hex()


def with_sources(content: bytes, digest: str) -> bytes:
    """Return the file *content* with the *digest* of other sources that give the same records."""
    mark, version, _, body = HEADER.unpack(content[: HEADER.size])
    return HEADER.pack(mark, version, bytes.fromhex(digest), body) + content[HEADER.size :]


def plain(path: Path) -> dict[str, Any]:
    """Return the content of the file at *path* as dictionaries, lists, texts and numbers."""
    body = _body(path)
    return {name: msgspec.msgpack.decode(getattr(body, name)) for name in body.__struct_fields__}


def damaged(path: Path, reason: str) -> UsageError:
    """Return the error for a file at *path* that can't be used."""
    return UsageError(f"{path} is damaged ({reason}). {RESTORE}.")


def _body(path: Path) -> Body:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read ({error.strerror}). {RESTORE}.") from None
    if len(content) < HEADER.size or not content.startswith(MARK):
        raise damaged(path, "it is not a file of records")
    _, version, _, digest = HEADER.unpack(content[: HEADER.size])
    if version != FORMAT:
        raise UsageError(
            f"{path} has format {version}, and this version of the kit reads format {FORMAT}. "
            f"Install the version that came with your course; then {RESTORE}."
        )
    packed = content[HEADER.size :]
    if hashlib.sha256(packed).digest() != digest:
        raise damaged(path, "its content and its digest differ")
    unpacker = lzma.LZMADecompressor(memlimit=MAX_MEMORY)
    try:
        whole = unpacker.decompress(packed, MAX_CONTENT)
        if not unpacker.eof:
            raise damaged(path, "its content is too large or ends too early")
        return msgspec.msgpack.decode(whole, type=Body)
    except (lzma.LZMAError, msgspec.MsgspecError) as error:
        raise damaged(path, str(error)) from None
