"""Tests that code cells are read from every kind of notebook that students submit."""

import json

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.submission.files import UnusableFile
from autograder.submission.notebook import MAX_CELLS, MAX_CONTAINERS, code_cells


def _code(source):
    return {"cell_type": "code", "source": source}


def _cells(document):
    return code_cells(json.dumps(document).encode(), "lab.ipynb")


def test_takes_code_cells_in_order():
    """Text and raw cells are left out, but magics and blank cells are kept."""
    prose = {"cell_type": "markdown", "source": "def attend(): ..."}
    raw = {"cell_type": "raw", "source": "x"}
    document = {"nbformat": 4, "cells": [_code("%time x = 1"), prose, _code(""), raw, _code("é")]}

    assert _cells(document) == (b"%time x = 1", b"", "é".encode())


def test_takes_sources_as_lines():
    """Sources may be lists of lines, as Jupyter writes them."""
    assert _cells({"cells": [_code(["x = 1\n", "y = 2"])]}) == (b"x = 1\ny = 2",)


def test_takes_nbformat_3():
    """In format 3 the cells are in worksheets, and a cell's source is its input."""
    cells = [
        nbformat.v3.new_code_cell(input="x = 1"),
        nbformat.v3.new_text_cell("markdown", source="prose"),
        nbformat.v3.new_code_cell(input="y = 2"),
    ]
    document = nbformat.v3.new_notebook(worksheets=[nbformat.v3.new_worksheet(cells=cells)])

    assert code_cells(nbformat.v3.writes_json(document).encode(), "lab.ipynb") == (
        b"x = 1",
        b"y = 2",
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"cells": [{"cell_type": "code", "source": "x"}, 7, null]}', id="no-objects"),
        pytest.param('{"cells": [{"cell_type": "code", "source": ["x", null]}]}', id="null-line"),
        pytest.param(
            '{"cells": [{"source": "y"}, {"cell_type": "code", "source": "x"}]}', id="kind"
        ),
        pytest.param('{"cells": 1, "cells": [{"cell_type": "code", "source": "x"}]}', id="twice"),
        pytest.param('{"a": NaN, "cells": [{"cell_type": "code", "source": "x"}]}', id="nan"),
        pytest.param(
            '{"a": ' + "9" * 5000 + ', "cells": [{"cell_type": "code", "source": "x"}]}', id="long"
        ),
    ],
)
def test_tolerates_damage_next_to_the_code(text):
    """A notebook needs only the kind and the source of each cell."""
    assert code_cells(text.encode(), "lab.ipynb") == (b"x",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_reads_every_unicode_encoding(encoding):
    """Notebooks with a byte order mark or in UTF-16 are read."""
    text = json.dumps({"cells": [_code("é")]}, ensure_ascii=False)

    assert code_cells(text.encode(encoding), "lab.ipynb") == ("é".encode(),)


def test_keeps_what_is_not_utf8_apart():
    """A stray Latin-1 byte affects only its own character."""
    data = b'{"cells": [{"cell_type": "code", "source": "x = 1 # \xe9"}]}'

    assert code_cells(data, "lab.ipynb") == ("x = 1 # \N{REPLACEMENT CHARACTER}".encode(),)


def test_writes_lone_surrogates_out():
    """A lone surrogate is written as a Python escape, because UTF-8 cannot hold it."""
    assert _cells({"cells": [_code("x = '\ud83d'")]}) == (rb"x = '\ud83d'",)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"", "is not a notebook", id="empty-file"),
        pytest.param(b"print('hello')", "is not a notebook", id="python"),
        pytest.param(b'{"cells": [', "is not a notebook", id="cut-off"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="nested-lists"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="nested-objects"),
        pytest.param(b"{}," * (MAX_CONTAINERS + 1), "too much besides code", id="object-bomb"),
        pytest.param(b"[]", "contains no code", id="list"),
        pytest.param(b'"text"', "contains no code", id="string"),
        pytest.param(b"{}", "contains no code", id="no-cells"),
        pytest.param(b'{"cells": []}', "contains no code", id="empty-cells"),
        pytest.param(b'{"cells": {"a": 1}}', "contains no code", id="cells-no-list"),
        pytest.param(b'{"cells": [{"cell_type": "code", "source": " "}]}', "no code", id="blank"),
    ],
)
def test_says_what_is_wrong(data, says):
    """The error of a notebook contains the file and what to do."""
    with pytest.raises(UnusableFile, match=says) as caught:
        code_cells(data, "lab.ipynb")

    assert str(caught.value).startswith("lab.ipynb ")


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([_code("x")] * (MAX_CELLS + 1), id="cells"),
        pytest.param([_code("x" * 2**19)] * 3, id="bytes"),
    ],
)
def test_bounds_the_code(cells):
    """Too many cells are refused, and so are cells that are too long."""
    with pytest.raises(UnusableFile, match="contains more than 2000 code cells or 1,024 KiB"):
        _cells({"cells": cells})


def test_reports_a_broken_notebook_as_a_problem(collected, write):
    """A broken notebook is the problem of its submission."""
    [submission] = collected(write("alice/self_attention.ipynb", b"{"))

    assert submission.code is None
    assert submission.problem.startswith("self_attention.ipynb is not a notebook: its JSON")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["cells", "worksheets", "cell_type", "source", "input"]), inner
        )
    ),
)


@settings(deadline=None)  # a busy machine is not a bug
@given(document=JSON)
def test_never_raises_anything_else(document):
    """Any JSON gives cells or the documented error."""
    try:
        cells = _cells(document)
    except UnusableFile:
        return

    assert all(isinstance(cell, bytes) for cell in cells)
