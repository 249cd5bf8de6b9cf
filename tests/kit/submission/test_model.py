"""A submission knows its module and its hash."""

import hashlib

import pytest

from autograder.submission import Code, Submission


def _submission(kind, *cells):
    code = Code(kind=kind, cells=cells, label="x") if cells else None
    return Submission(student="alice", stage="02_self_attention", code=code)


@pytest.mark.parametrize(
    ("submission", "module"),
    [
        pytest.param(_submission("module", b"x = 1"), b"x = 1", id="module"),
        pytest.param(_submission("notebook", b"x = 1"), None, id="notebook"),
        pytest.param(_submission("module"), None, id="no-code"),
    ],
)
def test_has_a_module_where_one_was_handed_in(submission, module):
    """The cells of a notebook are no module."""
    assert submission.module == module


def test_hashes_a_module_as_its_file():
    """So that an instructor can compare with the file."""
    assert _submission("module", b"x = 1").sha256 == hashlib.sha256(b"x = 1").hexdigest()


def test_hashes_where_a_cell_ends():
    """Two notebooks of the same text in other cells differ; without code there is no hash."""
    assert _submission("notebook", b"a", b"b").sha256 == hashlib.sha256(b"1:a1:b").hexdigest()
    assert _submission("notebook", b"ab").sha256 != _submission("notebook", b"a", b"b").sha256
    assert _submission("module").sha256 == ""
