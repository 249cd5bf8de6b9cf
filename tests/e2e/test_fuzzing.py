"""Tests that each reader of external input returns or raises its documented error.

Each reader gets random bytes and damaged valid ones. ``AUTOGRADER_FUZZ_EXAMPLES`` sets the number
of inputs, which are then new in every run; without it there are a few fixed ones.
"""

import io
import json
import os
import time
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import msgspec
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from autograder import course as courses
from autograder.course_file import CourseFile, StageFile, read_toml
from autograder.errors import CourseError, UsageError
from autograder.sandbox import protocol
from autograder.sandbox.protocol import BadMessageError, Batch, Problem, Reply, Request, TensorValue
from autograder.sandbox.tensors import DTYPES, decode, decode_tensor
from autograder.submission.archive import ClassArchive, open_archive
from autograder.submission.files import SubmittedFile, UnusableFile
from autograder.submission.names import (
    MAX_STUDENT,
    StageResolver,
    original_stem,
    parse_download_name,
    student_id,
)
from autograder.submission.notebook import MAX_CODE, code_cells, student_cells
from autograder.submission.roster import Roster
from autograder.suite.checks import RulesFile

EXAMPLES = os.environ.get("AUTOGRADER_FUZZ_EXAMPLES")
ROOT = Path(__file__).parents[2]
LIMIT = 10_000  # bytes that a reader may take from one member
MOST_PARTS = 1000
SECONDS = 1.0  # of processor time for one example; the slowest needs a tenth of it

fuzz = settings(
    max_examples=int(EXAMPLES or 60),
    phases=(Phase.generate,),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,  # `budget` bounds processor time instead
)


@contextmanager
def budget() -> Iterator[None]:
    """Fail if the block takes too much processor time."""
    start = time.process_time()
    yield

    assert time.process_time() - start < SECONDS


def damaged(valid: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Draw nearly valid bytes, some of them replaced or cut off, or random bytes."""
    edits = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 3), st.binary(max_size=9)))
    return st.one_of(st.builds(edited, valid, edits, st.integers(0, 1 << 16)), st.binary())


def edited(data: bytes, edits: list[tuple[int, int, bytes]], end: int) -> bytes:
    """Replace bytes of *data*, and cut it off."""
    for position, removed, inserted in edits:
        start = position % (len(data) + 1)
        data = data[:start] + inserted + data[start + removed :]
    return data[: end % (len(data) + 2)] if end % 3 == 0 else data


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=30)
)
trees = st.recursive(
    st.one_of(scalars, st.binary(max_size=30)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(
            st.sampled_from(("type", "items", "number", "value", "shape", "data", "x")), inner
        ),
    ),
    max_leaves=20,
)
tensors = st.builds(
    TensorValue,
    st.sampled_from((*DTYPES, "float8", "")),
    st.lists(st.integers(-(2**64), 2**64), max_size=20).map(tuple),
    st.binary(max_size=64),
    st.booleans(),
)
plain = st.one_of(
    st.builds(protocol.BytesValue, st.binary(max_size=9)),
    st.builds(protocol.TextValue, st.binary(max_size=9)),
    st.builds(protocol.IntegerValue, st.binary(max_size=30)),
)
values = st.recursive(
    st.one_of(scalars.filter(lambda one: not isinstance(one, int)), tensors, plain),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: protocol.ListValue(tuple(items))),
        st.lists(inner, max_size=4).map(lambda items: protocol.TupleValue(tuple(items))),
        st.dictionaries(st.text(max_size=5), inner, max_size=3).map(protocol.DictValue),
        st.lists(st.tuples(inner, inner), max_size=4).map(
            lambda pairs: protocol.MappingValue(tuple(pairs))
        ),
        st.builds(protocol.SetValue, st.lists(inner, max_size=4).map(tuple), st.booleans()),
    ),
    max_leaves=12,
)


def packed(message: object) -> bytes:
    """Encode *message*, or nothing where msgpack has no such number."""
    with suppress(OverflowError, UnicodeEncodeError):
        return msgspec.msgpack.encode(message)
    return b""


replies = st.one_of(
    st.builds(Reply, value=values).map(packed),
    st.builds(Problem, kind=st.just("raised"), text=st.text(), line=st.integers(0, 9)).map(
        lambda problem: packed(Reply(problem=problem))
    ),
    trees.map(packed),
    trees.map(lambda tree: packed({"value": tree})),
)


@fuzz
@given(damaged(replies))
def test_a_reply_is_decoded_or_refused(body: bytes):
    """The decoders of replies and of values raise only ``BadMessageError``."""
    with budget(), suppress(BadMessageError):
        protocol.count_parts(body, MOST_PARTS)
        reply = protocol.unpack(protocol.REPLIES, body)
        decode(reply.value, lambda handle: handle)


@fuzz
@given(damaged(replies))
def test_no_decoded_reply_has_more_parts_than_were_counted(body: bytes):
    """The count of parts before decoding equals the number of parts after decoding."""
    with suppress(BadMessageError):
        protocol.unpack(protocol.REPLIES, body)
        tree = msgspec.msgpack.decode(body)

        assert parts(tree) <= protocol.count_parts(body, MOST_PARTS)


def parts(tree: object) -> int:
    """Count the values in *tree*."""
    if isinstance(tree, dict):
        return 1 + sum(parts(key) + parts(value) for key, value in tree.items())
    return 1 + sum(map(parts, tree)) if isinstance(tree, list) else 1


@fuzz
@given(damaged(st.builds(Batch, st.tuples(st.builds(Request, verb=st.just("run")))).map(packed)))
def test_a_request_is_decoded_or_refused(body: bytes):
    """The decoders of the worker and of the control messages raise only ``BadMessageError``."""
    for decoder in (protocol.BATCHES, protocol.CONTROL_REQUESTS, protocol.CONTROL_REPLIES):
        with budget(), suppress(BadMessageError):
            protocol.unpack(decoder, body)


@fuzz
@given(tensors)
def test_a_tensor_is_built_or_refused(value: TensorValue):
    """A tensor holds exactly the bytes that were sent."""
    with budget(), suppress(BadMessageError):
        tensor = decode_tensor(value)

        assert tensor.shape == torch.Size(value.shape)
        assert tensor.numel() * tensor.element_size() == len(value.data)


names = st.one_of(
    st.text(max_size=40),
    st.sampled_from(("a.py", "../a.py", "/a.py", "C:a.py", "a\\b.py", "b/../a.py", "x/" * 200)),
    st.from_regex(r"[^_]{1,9}_(LATE_)?\d{1,9}_\d{1,9}_.{0,20}", fullmatch=True),
    st.from_regex(r".{1,9}_\d{1,9}_assignsubmission_file_.{0,20}", fullmatch=True),
)
contents = st.one_of(st.binary(max_size=200), st.integers(1, 300_000).map(bytes))


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    """Pack those *members* whose names a zip can store."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            with suppress(ValueError, IndexError), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # two members of one name
                archive.writestr(name, content)
    return stream.getvalue()


archives = damaged(st.lists(st.tuples(names, contents), max_size=5).map(zipped))


@fuzz
@given(archives)
def test_an_archive_is_read_or_refused(data: bytes):
    """No member exceeds the limit, leads out of the archive, or raises an undocumented error."""
    file = SubmittedFile(path=PurePosixPath("a.zip"), label="a.zip", read=lambda _limit: data)
    with budget():
        files, faults = open_archive(file)
        for member in files:
            with suppress(UnusableFile):
                assert len(member.read(LIMIT)) <= LIMIT

    assert not {".."} & {part for member in files for part in member.path.parts}
    assert all(member.label.isprintable() for member in files)
    assert all(fault.isprintable() for fault in faults)


@fuzz
@given(archives)
def test_the_archive_of_a_class_is_read_or_refused(tmp_path_factory, data: bytes):
    """Reading the archive of a class raises ``UnusableFile`` or returns entries."""
    path = tmp_path_factory.getbasetemp() / "class.zip"
    path.write_bytes(data)
    with budget(), suppress(UnusableFile):
        for entry in ClassArchive(path).entries():
            for member in entry.list_files()[0]:
                with suppress(UnusableFile):
                    assert len(member.read(LIMIT)) <= LIMIT


json_trees = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(("cells", "cell_type", "source", "worksheets", "metadata", "input")),
            inner,
        ),
    ),
)
cells = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(("code", "raw", "x")), "source": json_trees}
)
notebooks = st.one_of(
    json_trees, st.fixed_dictionaries({"cells": st.lists(cells, max_size=5)})
).map(lambda tree: json.dumps(tree).encode())
deep = st.integers(1, 100_000).map(lambda depth: b'{"cells": ' + b"[" * depth)


@fuzz
@given(st.one_of(damaged(notebooks), deep))
def test_a_notebook_is_read_or_refused(data: bytes):
    """The code of a notebook is within the limit, and its cells are text."""
    with budget(), suppress(UnusableFile):
        assert sum(map(len, code_cells(data, "lab.ipynb"))) <= MAX_CODE
    with budget(), suppress(UnusableFile):
        assert all(isinstance(cell["source"], str) for cell in student_cells(data, "lab.ipynb"))


@fuzz
@given(st.lists(names, min_size=1, max_size=4))
def test_a_name_becomes_an_id_that_is_safe(raw: list[str]):
    """Ids are short, printable and not paths; equal ids come from equal names."""
    with budget():
        ids = [student_id(name) for name in raw]
        parsed = [parse_download_name(name) for name in raw]

    for one in (*ids, *(name.student for name in parsed)):
        assert 0 < len(one) <= MAX_STUDENT
        assert one.isprintable()
        assert not set('/\\<>:"|?*') & set(one)
        assert one.strip(". ") == one


STAGES = courses.load(ROOT).stages


@fuzz
@given(names)
def test_a_path_belongs_to_a_stage_or_to_none(name: str):
    """No name makes the search for its stage fail or take long."""
    resolver = StageResolver(stages=STAGES)
    with budget():
        stage = resolver.stage_of(PurePosixPath(name))
        original_stem(name)

    assert stage is None or stage in STAGES


lines = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ("[limits]", "[[exercise]]", "stages = [", "]", "format_version = 1", "x = 1e9")
    ),
    st.integers(1, 20_000).map(lambda depth: "x = " + "[" * depth),
    st.integers(4000, 6000).map(lambda digits: "x = " + "9" * digits),
    st.integers(1, 5_000).map(lambda depth: ".".join("a" * depth) + " = 1"),
)
real_toml = st.sampled_from(
    [(ROOT / name).read_bytes() for name in ("course.toml", "tests/hidden/rules.toml")]
)


@fuzz
@given(
    st.one_of(
        damaged(real_toml),
        st.lists(lines).map(lambda all_: "\n".join(all_).encode("utf-8", "replace")),
    )
)
def test_a_settings_file_is_read_or_refused(tmp_path_factory, data: bytes):
    """Reading each kind of TOML file raises ``CourseError`` or returns valid contents."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.toml"
    path.write_bytes(data)
    for kind in (CourseFile, StageFile, RulesFile):
        with budget(), suppress(CourseError):
            assert isinstance(read_toml(path, kind), kind)


tables = st.one_of(
    st.text(),
    st.lists(
        st.lists(st.sampled_from(("id", "ID", "Section", "Student", "7", "a,b", '"', "\0")))
    ).map(lambda rows: "\n".join(",".join(row) for row in rows)),
)


@fuzz
@given(damaged(tables.map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_a_roster_is_read_or_refused(tmp_path_factory, data: bytes):
    """Reading a roster raises ``UsageError`` or lists students with ids."""
    path = tmp_path_factory.getbasetemp() / "roster.csv"
    path.write_bytes(data)
    with budget(), suppress(UsageError):
        assert all(person.student for person in Roster.read(path).people)
