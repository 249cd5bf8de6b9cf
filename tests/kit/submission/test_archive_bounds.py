"""No zip costs much memory or time, whatever its size and its directory."""

import struct
import tracemalloc
import zipfile
from contextlib import contextmanager

import pytest

from autograder.submission.archive import MAX_MEMBERS, open_archive
from autograder.submission.files import UnusableFile

MODULE = "self_attention.py"


@contextmanager
def _at_most(bytes_):
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < bytes_


def _claim(path, size):
    """Forge the size of the first member in the directory."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<L", data, data.index(b"PK\1\2") + 24, size)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_refuses_methods_without_a_bound(collected, write_zip, method):
    """bz2 and lzma return megabytes for one read."""
    member = zipfile.ZipInfo(MODULE)
    member.compress_type = method

    [submission] = collected(write_zip("alice.zip", {member: b"x"}))

    assert "by a method other than deflate" in submission.problem


def test_refuses_too_many_members(collected, write_zip):
    """The count is bounded, whatever the members are."""
    path = write_zip("alice.zip", {f"{number}": b"" for number in range(MAX_MEMBERS + 1)})

    [submission] = collected(path)

    assert "holds more than 2000 files" in submission.problem


def test_refuses_a_forged_directory_before_it_costs_memory(collected, class_):
    """A directory of a million entries is refused by its size."""
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", *[0] * 16)
    directory = entry * 200_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(directory), 0, 0)
    path = class_ / "alice.zip"
    path.write_bytes(directory + end)

    with _at_most(2**20):
        [submission] = collected(path)

    assert "its directory is too large" in submission.problem


def test_refuses_a_bomb_without_unpacking_it(collected, write_zip):
    """32 KB that become 32 MB are refused by the directory alone."""
    path = write_zip("alice.zip", {MODULE: b"", "zeros": bytes(32 * 2**20)})

    with _at_most(2**20):
        [submission] = collected(path)

    assert "its member zeros is compressed more than 200:1" in submission.problem


def test_refuses_too_much_in_total(collected, class_):
    """Many members below every other bound add up."""
    path = class_ / "alice.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(70):
            archive.writestr(f"{number}", bytes(2**20))

    [submission] = collected(path)

    assert "unpacks to more than 64 MiB" in submission.problem


@pytest.mark.parametrize(
    "claimed", [pytest.param(1, id="claims-less"), pytest.param(500, id="claims-more")]
)
def test_refuses_a_member_of_another_size_than_claimed(collected, write_zip, claimed):
    """A program that trusts the claim sees another file than one that unpacks it."""
    path = write_zip("alice.zip", {MODULE: bytes(400)})

    [submission] = collected(_claim(path, claimed))

    assert submission.code is None
    assert f"self_attention.py has 400 bytes, its directory says {claimed}" in submission.problem


def test_reads_a_lying_bomb_up_to_the_limit_only(write_zip):
    """What a member claims does not decide how much is unpacked."""
    path = write_zip("alice.zip", {MODULE: bytes(50 * 2**20)})
    [found], _ = open_archive(_claim(path, 7))

    with _at_most(8 * 2**20), pytest.raises(UnusableFile, match=r"larger than 1,024 KiB"):
        found.read(2**20)


def test_accepts_a_small_file_of_any_ratio(collected, write_zip):
    """An empty log compresses 1000:1 and does no harm."""
    [submission] = collected(write_zip("alice.zip", {MODULE: b"x", "log.txt": bytes(900_000)}))

    assert submission.code is not None
