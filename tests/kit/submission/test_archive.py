"""Tests that a zip is read in memory within limits, or refused as a whole."""

import io
import stat
import struct
import tracemalloc
import warnings
import zipfile
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.submission.archive import MAX_MEMBERS, open_archive
from autograder.submission.files import UnusableFile

MODULE = "self_attention.py"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("../self_attention.py", "points out of the archive", id="traversal"),
        pytest.param("a/../../x.py", "points out of the archive", id="inner-traversal"),
        pytest.param("/etc/x.py", "has an absolute path", id="absolute"),
        pytest.param("C:/x.py", "has an absolute path", id="drive"),
        pytest.param("c:x.py", "has an absolute path", id="drive-relative"),
        pytest.param("a\\..\\x.py", "points out of the archive", id="backslashes"),
        pytest.param("x" * 5000, "has a name of more than 4096 characters", id="long"),
    ],
)
def test_refuses_a_hostile_name(collected, write_zip, name, reason):
    """An archive with one hostile name is refused as a whole."""
    [submission] = collected(write_zip("alice.zip", {MODULE: b"", name: b""}))

    assert submission.code is None
    assert reason in submission.problem
    assert submission.problem.endswith("Make a new zip of your files and submit it again.")


def test_reads_backslashes_as_folders(collected, class_):
    """A zip from a Windows program that writes backslashes is read."""
    member = zipfile.ZipInfo("x")
    member.filename = f"02_self_attention\\{MODULE}"
    with zipfile.ZipFile(class_ / "alice.zip", "w") as archive:
        archive.writestr(member, b"x = 1")

    [submission] = collected(class_ / "alice.zip")

    assert (submission.stage, submission.module) == ("02_self_attention", b"x = 1")


def test_refuses_a_nul_in_a_name(collected, write_zip):
    """A NUL in a name is refused, because Python cuts the name there."""
    path = write_zip("alice.zip", {"self_attention.pyXtxt": b""})
    path.write_bytes(path.read_bytes().replace(b".pyXtxt", b".py\0txt"))

    [submission] = collected(path)

    assert "has a NUL character in its name" in submission.problem


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(stat.S_IFLNK, id="link"),
        pytest.param(stat.S_IFIFO, id="fifo"),
        pytest.param(stat.S_IFCHR, id="device"),
        pytest.param(stat.S_IFSOCK, id="socket"),
    ],
)
def test_refuses_a_member_that_is_not_a_file(collected, write_zip, kind):
    """A link in a zip is refused, because it leads elsewhere once it is unpacked."""
    member = zipfile.ZipInfo(MODULE)
    member.external_attr = (kind | 0o777) << 16

    [submission] = collected(write_zip("alice.zip", {member: b"/etc/passwd"}))

    assert "its member self_attention.py is a link or a special file" in submission.problem


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(MODULE, id="same"),
        pytest.param("./self_attention.py", id="dot"),
        pytest.param("Self_Attention.py", id="case"),
        pytest.param("self_attention.py. ", id="windows-dots"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_refuses_two_members_of_one_name(collected, class_, second):
    """Two members with one name are refused, because programs differ in which one they use."""
    path = class_ / "alice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MODULE, b"one")
        archive.writestr(second, b"two")

    [submission] = collected(path)

    assert "two of its members are named" in submission.problem


def test_refuses_names_that_differ_in_spelling_only(collected, write_zip):
    """Names that differ only in the encoding of é count as equal, as on macOS."""
    path = write_zip(
        "alice.zip",
        {MODULE: b"", "caf\N{LATIN SMALL LETTER E WITH ACUTE}.py": b"", "cafe\u0301.py": b""},
    )

    [submission] = collected(path)

    assert "two of its members are named" in submission.problem


def test_refuses_encryption(collected, write_zip):
    """An encrypted archive is refused, because the grader has no password."""
    path = write_zip("alice.zip", {MODULE: b"x"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)

    [submission] = collected(path)

    assert "its member self_attention.py is encrypted" in submission.problem


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no zip at all", id="text"),
        pytest.param(b"Rar!\x1a\x07", id="rar-renamed"),
    ],
)
def test_reports_an_unreadable_zip(collected, write, data):
    """An unreadable zip is reported to the student and raises nothing."""
    [submission] = collected(write("alice.zip", data))

    assert submission.problem == (
        "The archive alice.zip could not be read (File is not a zip file). "
        "Make a new zip of your files and submit it again."
    )


def test_reports_a_member_that_does_not_unpack(collected, write_zip):
    """Damage in the middle of the data is found when it is read."""
    path = write_zip("alice.zip", {MODULE: bytes(range(256))})
    data = bytearray(path.read_bytes())
    data[60:120] = b"\xff" * 60
    path.write_bytes(data)

    [submission] = collected(path)

    assert submission.problem.startswith("The archive alice.zip could not be read (")


def test_lists_an_inner_zip_and_leaves_it_shut(collected, write_zip):
    """A zip within a zip is listed as ignored and is not opened."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("../evil.py", b"")

    [submission] = collected(write_zip("alice.zip", {MODULE: b"", "inner.zip": inner.getvalue()}))

    assert submission.code is not None
    assert submission.ignored == ("inner.zip",)


def test_ignores_what_macos_adds(collected, write_zip):
    """Finder's shadow files in an archive are not listed."""
    members = {
        "hw/self_attention.py": b"x",
        "__MACOSX/hw/._self_attention.py": b"",
        "hw/.DS_Store": b"",
        "hw/": b"",
    }

    [submission] = collected(write_zip("alice.zip", members))

    assert submission.code.cells == (b"x",)
    assert submission.ignored == ()


NAME = st.text(min_size=1, max_size=30) | st.text("./\\:\0aé\u0301\u202e", min_size=1, max_size=12)


@settings(deadline=None)  # a busy disk is not a bug
@given(names=st.lists(NAME, max_size=4))
def test_never_escapes_and_never_raises(tmp_path_factory, names):
    """For any names of members, a listed path stays below the submission."""
    path = tmp_path_factory.mktemp("zips") / "alice.zip"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        for name in names:
            member = zipfile.ZipInfo()
            member.filename = name  # set here, because the constructor would change it
            archive.writestr(member, b"")

    files, faults = open_archive(path)

    for found in files:
        assert not found.path.is_absolute()
        assert ".." not in found.path.parts
        assert found.label.isprintable()
    assert all(fault.isprintable() for fault in faults)


@settings(deadline=None)  # a busy disk is not a bug
@given(data=st.binary(max_size=400), at=st.integers(0, 200))
def test_never_raises_over_damaged_bytes(tmp_path_factory, data, at):
    """A zip with any bytes in any place gives files or a fault."""
    good = io.BytesIO()
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MODULE, b"def attend(x): return x\n" * 4)
    path = tmp_path_factory.mktemp("zips") / "alice.zip"
    path.write_bytes(good.getvalue()[:at] + data + good.getvalue()[at + len(data) :])

    for found in open_archive(path)[0]:
        with suppress(UnusableFile):
            assert isinstance(found.read(1000), bytes)


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
    """bz2 and lzma are refused, because one read may return megabytes."""
    member = zipfile.ZipInfo(MODULE)
    member.compress_type = method

    [submission] = collected(write_zip("alice.zip", {member: b"x"}))

    assert "is not compressed by deflate" in submission.problem


def test_refuses_too_many_members(collected, write_zip):
    """The number of members of an archive is bounded."""
    path = write_zip("alice.zip", {f"{number}": b"" for number in range(MAX_MEMBERS + 1)})

    [submission] = collected(path)

    assert "contains more than 2000 files" in submission.problem


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
    """A zip bomb is refused by the sizes in its directory, without unpacking it."""
    path = write_zip("alice.zip", {MODULE: b"", "zeros": bytes(32 * 2**20)})

    with _at_most(2**20):
        [submission] = collected(path)

    assert "its member zeros is compressed more than 200:1" in submission.problem


def test_refuses_too_much_in_total(collected, class_):
    """Many members that are each within the limits are refused for their total."""
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
    """A member whose size differs from the directory's is refused."""
    path = write_zip("alice.zip", {MODULE: bytes(400)})

    [submission] = collected(_claim(path, claimed))

    assert submission.code is None
    assert f"self_attention.py has 400 bytes, its directory says {claimed}" in submission.problem


def test_reads_a_lying_bomb_up_to_the_limit_only(write_zip):
    """A member with a false size is read only up to the limit."""
    path = write_zip("alice.zip", {MODULE: bytes(50 * 2**20)})
    [found], _ = open_archive(_claim(path, 7))

    with _at_most(8 * 2**20), pytest.raises(UnusableFile, match=r"larger than 1,024 KiB"):
        found.read(2**20)


def test_accepts_a_small_file_of_any_ratio(collected, write_zip):
    """A small file is accepted at any compression ratio, such as an empty log at 1000:1."""
    [submission] = collected(write_zip("alice.zip", {MODULE: b"x", "log.txt": bytes(900_000)}))

    assert submission.code is not None
