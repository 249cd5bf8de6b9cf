"""Tests formgrader's notebook: the instructor's cells, the answers, no active content."""

import copy
import html
import json
import re
from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters.html import MarkdownWithMath
from nbconvert.filters.markdown_mistune import IPythonRenderer
from nbgrader.nbgraderformat import MetadataValidator

from autograder.authoring import lab_notebook
from autograder.authoring.lab_notebook import Notebook
from autograder.gradebook.autograded_notebook import (
    JOINER,
    MAX_CELLS,
    MAX_SOURCE,
    MAX_TEXT,
    CellOutput,
    add_outputs,
    append_module,
    escape_markdown,
    merge_student_cells,
)
from autograder.submission.files import UnusableFile
from tests.kit.factories import (
    NAMES,
    TOUR,
    ActiveContent,
    Cell,
    by_name,
    cell,
    named,
    names,
    notebook,
)

PNG = {"image/png": "iVBORw0KGgo="}
SVG = {"image/svg+xml": "PHN2Zz4="}

Merge = Callable[..., Notebook]

PNG_DATA = "iVBORw0KGgo="
IMAGES = {"plot.png": {"image/png": PNG_DATA}}

ATTACKS = {
    "script": "<script>alert(1)</script>",
    "script-in-capitals": "<SCRIPT SRC=//e.example/x.js></SCRIPT>",
    "unclosed-tag": "<img src=x onerror=alert(1)",
    "unclosed-comment": "<!-- <img src=x onerror=alert(1)>",
    "comment": "a <!-- b --> c",
    "processing-instruction": "<?php phpinfo() ?>",
    "declaration": "<!DOCTYPE html>",
    "cdata": "<![CDATA[<script>alert(1)</script>]]>",
    "closing-tags": "</textarea></script></div></div><svg/onload=alert(1)>",
    "html-block": "<div onclick=alert(1)>\n\n*x*\n\n</div>",
    "indented-html-block": "   <iframe src=javascript:alert(1)>",
    "style-block": "<style>body { display: none }</style>",
    "mathml": "<math><maction actiontype=statusline#http://e.example>x</maction></math>",
    "custom-element": "<x-y onfocus=alert(1) tabindex=0>",
    "newline-in-tag": "<\nscript>alert(1)</script>",
    "nul-in-tag": "<\0script>alert(1)</\0script>",
    "joiner-in-tag": f"<{JOINER}script>alert(1)</script>",
    "slashed-tag": "<img/src=x/onerror=alert(1)>",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt;",
    "numeric-entities": "&#60;script&#x3e;alert(1)&#x3C;/script>",
    "entity-without-semicolon": "&#60script>",
    "entity-in-a-scheme": "[x](javascript&colon;alert(1))",
    "link": "[x](https://e.example)",
    "link-with-title": "[x](https://e.example 'a title')",
    "link-in-angles": "[x](<javascript:alert(1)>)",
    "link-over-lines": "[x\ny](\n  javascript:alert(1)\n)",
    "link-in-link": "[a [b](c)](javascript:alert(1))",
    "link-in-table": "|a|\n|-|\n|[x](javascript:alert(1))|",
    "link-in-heading": "# [x](javascript:alert(1))",
    "link-in-list": "- [x](data:text/html;base64,PHNjcmlwdD4=)",
    "link-in-quote": "> [x](vbscript:alert(1))",
    "link-after-brackets": "a]](javascript:alert(1))",
    "link-without-text": "[](javascript:alert(1))",
    "link-with-code": "[`]`](javascript:alert(1))",
    "reference": "[x]\n\n[x]: javascript:alert(1)",
    "reference-in-full": "[x][y]\n\n[y]: <javascript:alert(1)> 'title'",
    "reference-in-quote": "> [y]: javascript:alert(1)\n\n[x][y]",
    "reference-over-lines": "[x][y]\n\n[y]:\njavascript:alert(1)",
    "footnote": "x[^1]\n\n[^1]: <script>alert(1)</script>",
    "autolink": "<https://e.example>",
    "autolink-of-a-scheme": "<javascript:alert(1)>",
    "autolink-of-an-address": "<somebody@e.example>",
    "bare-address": "see https://e.example/x for more",
    "bare-address-in-capitals": "HTTPS://E.EXAMPLE",
    "bare-address-in-a-reference": "[a]: http://e.example/x.png",
    "remote-image": "![x](https://e.example/pixel.png)",
    "remote-image-by-reference": "![x]\n\n[x]: //e.example/pixel.png",
    "svg-image": "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "image-in-a-link": "[![x](attachment:plot.png)](javascript:alert(1))",
    "attached-link": "[x](attachment:plot.png)",
    "escaped-attached-image": "\\![x](attachment:plot.png)",
    "quotes-in-alternative-text": '![" onerror="alert(1)](attachment:plot.png)',
    "title-of-an-attached-image": '![x](attachment:plot.png "x onerror=alert(1)")',
    "path-of-an-attached-image": "![x](attachment:../plot.png)",
    "image-that-is-not-attached": "![x](attachment:gone.png)",
    "image-that-is-not-attached-by-path": "![x](attachment:%2e%2e/gone.png)",
    "info-of-a-fence": '```py"onmouseover="alert(1)\nx\n```',
    "html-in-a-fence": "```html\n<script>alert(1)</script>\n```",
    "html-in-an-unclosed-fence": "````\n<script>alert(1)</script>\n```",
    "html-after-nested-fences": "```\n````\n```\n<script>alert(1)</script>\n````",
    "html-in-a-span": "``<script>`</script>``",
    "html-next-to-a-span": "`a``<script>`alert(1)``</script>",
    "html-in-indented-code": "    <script>alert(1)</script>",
    "mermaid": "```mermaid\n%%{init: {'securityLevel': 'loose'}}%%\ngraph TD\n```",
    "mermaid-that-ends-its-block": "~~~ mermaid\n</pre><script>alert(1)</script>\n~~~",
    "html-in-a-formula": "$<script>alert(1)</script>$",
    "html-in-a-display": "$$<img src=x onerror=alert(1)>$$",
    "html-in-an-environment": "\\begin{align}<img src=x onerror=alert(1)>\\end{align}",
    "handlers-in-a-heading": '# x" onclick="alert(1)',
    "task-list": "- [x] <input onfocus=alert(1) autofocus>",
    "definition-list": "x\n: <script>alert(1)</script>",
    "struck-out": "~~<script>alert(1)</script>~~",
    "bidi": "\u202e<script>\u202calert(1)</script>",
}
COMMANDS = (
    "href", "url", "style", "class", "cssId", "unicode", "require", "def", "let", "newcommand",
    "renewcommand", "newenvironment", "toggle", "mmlToken", "texttip", "mathtip", "htmlData",
    "includegraphics", "bbox",
)  # fmt: skip
HONEST = {
    "prose": "The rows sum to 1, *since* softmax normalises **each** row.",
    "comparison": "If a < b and b > c, then a <= b; 3<4 & 5 > 2.",
    "ampersand": "AT&T, R & D, and `x &= y`.",
    "formula": "$\\frac{QK^\\top}{\\sqrt{d_k}}$ and $$a < b \\le c_{i,j} \\to \\infty$$",
    "code": "```python\nx = a[i](y) if a<b else {'k': v}\n```",
    "inline-code": "`weights[0](x)` and `List<int>` and `a@b`",
    "list": "1. first\n2. second\n   - nested\n   - `code`",
    "table": "| token | weight |\n|:--|--:|\n| Your | 0.14 |",
    "quote": "> What is twice three?",
    "headings": "# One\n\nTwo\n===\n\nThree\n---\n\n#### Four ####",
    "rule": "above\n\n---\n\nbelow",
    "escapes": "\\*no emphasis\\* and 2\\_3",
    "emoji": "naïve, 你好, \N{PARTY POPPER}",
    "attached": "![my plot](attachment:plot.png)",
}


@pytest.fixture
def merge(master: Notebook) -> Merge:
    """Merge cells, or a whole notebook as bytes, into the master."""

    def merge_cells(*cells: Cell, data: bytes = b"") -> Notebook:
        made = merge_student_cells(master, data or notebook(*cells), "lab.ipynb")
        check_valid(made)
        return made

    return merge_cells


def check_valid(made: Notebook) -> None:
    """Validate *made* with nbformat and nbgrader, as formgrader does; each name occurs once."""
    node = nbformat.from_dict(made)
    nbformat.validate(node)
    MetadataValidator().validate_nb(node)
    assert sorted(names(made)) == sorted(NAMES)


def answer(text: str, name: str = "why", **fields: object) -> Cell:
    """Return a student's cell with this *name*."""
    return {**cell("markdown", text, name, grade=True, solution=True, points=3), **fields}


@pytest.mark.slow
def test_no_notebook_is_the_master(master: Notebook):
    """Without a submitted notebook the instructor's lab is shown, with blank answers."""
    assert merge_student_cells(master, None) == master


def test_the_released_lab_becomes_the_master(master: Notebook, merge: Merge, released: dict):
    """Unchanged cells have the instructor's text, mark schemes included."""
    made = merge(data=json.dumps(released).encode())

    assert by_name(made) == by_name(master)
    assert [item["source"] for item in made["cells"]] == [
        item["source"] for item in master["cells"]
    ]


def test_the_master_is_not_changed(master: Notebook, merge: Merge):
    """Building a notebook does not change the lab, which serves a whole class."""
    before = copy.deepcopy(master)
    made = merge(answer("Because."))
    add_outputs(made, {"double": CellOutput("<p>x</p>", "x")}, CellOutput("<p>y</p>", "y"))
    made["cells"][0]["source"] = "changed"

    assert master == before


def test_answers_are_the_students(merge: Merge):
    """Written answers and sketches are placed in the instructor's cells."""
    sketch = cell("code", "x = 1 if 1<2 else 0", "sketch", grade=True, solution=True, points=99)
    made = by_name(merge(answer("Since x + x."), sketch))

    assert made["why"]["source"] == "Since x + x."
    assert made["sketch"]["source"] == "x = 1 if 1<2 else 0"
    assert made["sketch"]["metadata"]["nbgrader"]["points"] == 2.0


@pytest.mark.parametrize("name", ["setup", "double", "why-asked"])
def test_questions_and_checks_are_the_instructors(master: Notebook, merge: Merge, name: str):
    """Questions and checks are the instructor's, even if a student edited them."""
    made = merge(cell("code", "print('5.0')", name), answer("a"))

    assert by_name(made)[name] == by_name(master)[name]


def test_a_text_in_a_question_is_shown_below_it(merge: Merge):
    """A student may write the answer into the question; its released text is not shown twice."""
    asked = cell("markdown", "Why twice?", "why-asked")
    changed = {**asked, "source": "Why twice?\n\nSince x + x."}

    assert [one["source"] for one in merge(changed)["cells"]].count(changed["source"]) == 1
    assert "Why twice?" not in [one["source"] for one in merge(asked)["cells"]]


@pytest.mark.parametrize(
    ("texts", "counts"),
    [
        pytest.param(("Mine.", ""), "Mine.", id="copy-is-empty"),
        pytest.param(("", "Mine."), "Mine.", id="original-is-empty"),
        pytest.param(("Mine.", "YOUR ANSWER HERE"), "Mine.", id="copy-is-as-given"),
        pytest.param(("YOUR ANSWER HERE", "Mine."), "Mine.", id="original-is-as-given"),
        pytest.param(("First.", "Second."), "Second.", id="both-are-written"),
        pytest.param(("First.", "Second.", " \n"), "Second.", id="three"),
    ],
)
def test_of_copies_the_last_written_one_counts(merge: Merge, texts: tuple[str, ...], counts: str):
    """The last written of several cells with one name counts; the others are shown, too."""
    made = merge(*map(answer, texts))

    assert by_name(made)["why"]["source"] == counts
    assert {item["source"] for item in made["cells"]} >= {text for text in texts if text.strip()}


def test_a_renamed_answer_is_shown_but_not_graded(merge: Merge):
    """An answer in a renamed cell appears below a blank answer and gets no points."""
    made = merge(answer("Mine.", "whyy"), answer("x", "sketch"))

    assert by_name(made)["why"]["source"] == "YOUR ANSWER HERE"
    assert [named(item) for item in made["cells"] if item["source"] == "Mine."] == [""]


def test_deleted_cells_are_restored_in_their_place(merge: Merge):
    """A restored cell follows the same cell as before, even if few cells are left."""
    made = merge(cell("markdown", "mine"), answer("Mine."), cell("markdown", "below"))

    assert names(made) == list(NAMES)
    assert [item["source"] for item in made["cells"]][-1] == "below"


def test_the_students_order_stays(merge: Merge):
    """Answers in reverse order are shown in that order."""
    order = ["sketch", "why", "double", "setup"]
    made = merge(*(answer("x", name) for name in order))

    assert [name for name in names(made) if name in order] == order


@pytest.mark.parametrize("kind", ["code", "raw", "markdown", "heading", None, 7, ["code"]])
def test_a_retyped_answer_gets_the_instructors_type(merge: Merge, kind: object):
    """A retyped answer is escaped like any other answer."""
    made = by_name(merge(answer("<script>x</script>", cell_type=kind)))["why"]

    assert made["cell_type"] == "markdown"
    assert made["source"] == f"<{JOINER}script>x<{JOINER}/script>"


def test_a_retyped_check_is_code_again(master: Notebook, merge: Merge):
    """A grade cell that a student turned into Markdown is code again."""
    made = merge(cell("markdown", "no", "double"), cell("raw", "no", "Scale"))

    assert by_name(made)["double"] == by_name(master)["double"]
    assert by_name(made)["Scale"] == by_name(master)["Scale"]


def metadata_of(**facts: object) -> dict[str, object]:
    """Return the metadata of a cell that claims to be a check, with these *facts*."""
    known = {"grade_id": "double", "grade": True, "locked": True, "schema_version": 3}
    return {"nbgrader": {**known, "points": 5, "solution": False, "task": False, **facts}}


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(metadata_of(points=99), id="points"),
        pytest.param(metadata_of(points=-1), id="negative-points"),
        pytest.param(metadata_of(points="5"), id="points-as-text"),
        pytest.param(metadata_of(schema_version=1), id="old-schema"),
        pytest.param(metadata_of(schema_version=99), id="future-schema"),
        pytest.param(metadata_of(schema_version="x"), id="schema-as-text"),
        pytest.param(metadata_of(solution=True), id="says-it-is-the-answer"),
        pytest.param(metadata_of(task=True, grade=False), id="says-it-is-a-task"),
        pytest.param(metadata_of(grade_id="why"), id="name-of-an-answer"),
        pytest.param(metadata_of(grade_id="new"), id="a-cell-of-its-own"),
        pytest.param(metadata_of(grade_id="a b<script>"), id="name-with-script"),
        pytest.param(metadata_of(grade_id=["double"]), id="name-is-a-list"),
        pytest.param(metadata_of(grade_id={}), id="name-is-an-object"),
        pytest.param(metadata_of(grade_id=None), id="name-is-null"),
        pytest.param(metadata_of(checksum="0" * 32, extra=1), id="extra-keys"),
        pytest.param({"nbgrader": []}, id="nbgrader-is-a-list"),
        pytest.param({"nbgrader": "double"}, id="nbgrader-is-a-string"),
        pytest.param({"nbgrader": None}, id="nbgrader-is-null"),
        pytest.param([], id="a-list"),
        pytest.param("nbgrader", id="a-string"),
        pytest.param(None, id="null"),
        pytest.param({"jupyter": {"source_hidden": True}, "tags": ["hide"]}, id="hides-itself"),
    ],
)
def test_forged_metadata_changes_nothing(master: Notebook, merge: Merge, metadata: object):
    """Points, types and names are the master's; none of the student's metadata is left."""
    made = merge(answer("Mine."), {**cell("code", "x"), "metadata": metadata})

    assert lab_notebook.grade_cell_points(made) == lab_notebook.grade_cell_points(master)
    assert [item["metadata"] for item in made["cells"] if not named(item)] == [
        {} for item in made["cells"] if not named(item)
    ]


def test_only_the_sources_are_kept(merge: Merge):
    """No output, count, notebook metadata, or attachment of a code cell is left."""
    shown = {"output_type": "display_data", "data": {"text/html": "<script>1</script>"}}
    code = {**cell("code", "x", "double"), "outputs": [shown], "execution_count": 7}
    other = {**cell("code", "y"), "outputs": [shown], "attachments": {"a.png": PNG}}
    made = merge(data=notebook(code, other, title="<script>", widgets={}, kernelspec={"name": "x"}))

    assert "script" not in json.dumps(made)
    assert made["metadata"]["kernelspec"]["name"] == "python3"
    assert not any(item.get("outputs") or "attachments" in item for item in made["cells"])


def test_a_raw_cell_is_shown_as_text(merge: Merge):
    """Raw cells become text, because they would be HTML in nbconvert's pages."""
    made = merge(answer("a"), cell("raw", "<img src=x onerror=alert(1)>"))
    shown = [item for item in made["cells"] if "img" in item["source"]]

    assert [item["cell_type"] for item in shown] == ["markdown"]
    assert f"<{JOINER}img" in shown[0]["source"]


def test_removed_pictures_have_no_link(merge: Merge):
    """Only links to attached pictures stay, because nbconvert fails on others."""
    text = "![a](attachment:a.png) ![b](attachment:b.svg) ![c](attachment:c.png)"
    made = by_name(merge(answer(text, attachments={"a.png": PNG, "b.svg": SVG})))["why"]

    assert made["attachments"] == {"a.png": PNG}
    assert made["source"].count(f"]{JOINER}(attachment:") == 2
    assert "![a](attachment:a.png)" in made["source"]


def test_the_lessons_keep_their_links(merge: Merge):
    """Lessons keep their links while their text is exactly the instructor's."""
    made = merge(answer("a"), cell("markdown", TOUR), cell("markdown", TOUR + "<script>"))
    sources = [item["source"] for item in made["cells"]]

    assert sources.count(TOUR) == 1
    assert not any("<script" in source for source in sources)


def test_the_lessons_keep_their_pictures(master: Notebook):
    """Pictures of any type stay, and no attachment of the student's replaces them."""
    pictured = {**cell("markdown", "![a](attachment:a.svg)"), "attachments": {"a.svg": SVG}}
    own = {**master, "cells": [{**pictured, "id": "pictured"}, *master["cells"]]}
    theirs = {**pictured, "attachments": {"a.svg": {"image/svg+xml": "c2NyaXB0"}}}
    made = merge_student_cells(own, notebook(theirs, theirs, answer("a")), "lab.ipynb")

    check_valid(made)
    assert [item["attachments"] for item in made["cells"] if "attachments" in item] == [
        {"a.svg": SVG}
    ] * 2


def test_thousands_of_cells_do_not_hide_an_answer(merge: Merge):
    """Only some of thousands of cells are shown, including those that are graded by hand."""
    made = merge(*(cell("code", f"x = {i}") for i in range(1900)), answer("Mine."))

    assert by_name(made)["why"]["source"] == "Mine."
    assert len(made["cells"]) <= MAX_CELLS + len(NAMES)


def test_sources_are_bounded(merge: Merge):
    """The sources of cells are bounded, so that no page blocks the browser."""
    long = "x" * (2 * MAX_SOURCE)
    made = merge(answer(long), cell("code", long), cell("code", long, "sketch"))

    assert max(len(item["source"]) for item in made["cells"]) < MAX_SOURCE + 100


def test_a_notebook_that_is_not_a_lab_is_shown_below_it(master: Notebook, merge: Merge):
    """A notebook that is not a lab is shown below the lab."""
    made = merge(cell("code", "def double(x): ..."), cell("markdown", "# mine"))

    assert made["cells"][: len(master["cells"])] == master["cells"]
    assert made["cells"][-2]["source"] == "def double(x): ..."


def test_a_picture_in_the_text_becomes_an_attachment(merge: Merge):
    """A picture that Colab wrote into the text is shown as an attachment, and not as letters."""
    text = f"See ![scan.png](data:image/png;base64,{PNG_DATA * 9000})."
    made = by_name(merge(answer(text)))["why"]

    assert made["source"] == "See ![picture](attachment:picture-1.png)."
    assert made["attachments"] == {"picture-1.png": {"image/png": PNG_DATA * 9000}}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"cells": [', id="cut-off"),
        pytest.param(b"PK\x03\x04", id="an-archive"),
        pytest.param(b"[" * 100_000, id="nested"),
        pytest.param(b"{}," * 600_000, id="bomb"),
    ],
)
def test_bytes_that_are_not_json_are_unusable(master: Notebook, data: bytes):
    """A notebook that is not JSON is refused with its name."""
    with pytest.raises(UnusableFile, match=r"^lab\.ipynb "):
        merge_student_cells(master, data, "lab.ipynb")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"{}", id="no-cells"),
        pytest.param(b'{"cells": {"a": 1}}', id="cells-no-list"),
        pytest.param(b'{"cells": [{"cell_type": "markdown"}, 7, {}, []]}', id="no-sources"),
        pytest.param(b'{"worksheets": [{"cells": [{"input": "x"}]}]}', id="format-3"),
    ],
)
def test_a_notebook_without_cells_is_the_master(master: Notebook, merge: Merge, data: bytes):
    """Any JSON without cells makes the instructor's lab."""
    assert by_name(merge(data=data)) == by_name(master)


def test_feedback_is_below_its_check_only(merge: Merge):
    """A student's cell gets no feedback, under any name."""
    outputs = {name: CellOutput("<p>c</p>", "c") for name in ("double", "why", "setup2")}
    made = add_outputs(merge(answer("a"), cell("code", "x", "setup2")), outputs, None)

    check_valid(made)
    assert [named(item) for item in made["cells"] if item.get("outputs")] == ["double"]
    assert by_name(made)["double"]["outputs"] == [
        {
            "data": {"text/html": "<p>c</p>", "text/plain": "c"},
            "metadata": {},
            "output_type": "display_data",
        }
    ]


def test_feedback_on_the_whole_submission_is_on_top(merge: Merge):
    """Feedback on the whole submission is before the first cell."""
    made = add_outputs(merge(answer("a")), {}, CellOutput("<p>w</p>", "w"))

    check_valid(made)
    assert made["cells"][0]["outputs"][0]["data"]["text/plain"] == "w"


def test_the_module_is_shown_at_the_end(merge: Merge):
    """The module is shown at the end, with its name, up to a limit."""
    made = append_module(merge(answer("a")), "tiny.py", "x" * (2 * MAX_SOURCE))

    check_valid(made)
    assert made["cells"][-1]["source"].startswith("# Submitted: tiny.py\n\nxxx")
    assert len(made["cells"][-1]["source"]) < MAX_SOURCE + 100


TEXTS = st.sampled_from(["", " ", "YOUR ANSWER HERE", "Mine.", "<b>", TOUR, "\ud800", "\0", "lab"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats() | TEXTS | st.sampled_from(NAMES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["grade_id", "nbgrader", "points", "a.png", "image/png"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
METADATA = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(metadata_of()["nbgrader"], VALUES)
    | {"grade_id": st.sampled_from(NAMES)},
)
MANGLED = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.sampled_from(["code", "markdown", "raw", "heading"]) | VALUES,
        "source": TEXTS | st.lists(TEXTS, max_size=3) | VALUES,
        "metadata": st.fixed_dictionaries({}, optional={"nbgrader": METADATA}) | VALUES,
        "attachments": VALUES,
        "outputs": VALUES,
        "id": VALUES,
    },
)


@settings(max_examples=50)
@given(cells=st.lists(MANGLED | VALUES, max_size=8))
def test_any_mangled_notebook_becomes_valid(master: Notebook, cells: list[Any]):
    """Any mangled notebook becomes valid for nbformat and nbgrader, with the master's points."""
    made = merge_student_cells(master, json.dumps({"cells": cells}).encode(), "lab.ipynb")
    shown = append_module(
        add_outputs(made, {"double": CellOutput("c", "c")}, CellOutput("w", "w")), "a.py", "x"
    )

    check_valid(shown)
    assert lab_notebook.grade_cell_points(shown) == lab_notebook.grade_cell_points(master)


def render(text: str, images: dict | None = None) -> str:
    """Render *text* as formgrader does, with *images* attached to the cell."""
    renderer = IPythonRenderer(escape=False, attachments=images or {})
    return MarkdownWithMath(renderer=renderer).render(text)


def render_escaped(text: str, images: dict | None = None) -> str:
    """Escape and render the *text* of a student who attached *images*."""
    return render(escape_markdown(text, images or {}), images)


def read(page: str) -> str:
    """Return the text and the elements of *page* without colors, ids and joiners."""
    return html.unescape(re.sub(r'</?span.*?>| (?:id|href)=".*?"', "", page)).replace(JOINER, "")


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ATTACKS.items()])
def test_no_attack_becomes_active_content(text: str):
    """A page with attacks has no tag, address or handler, with attached pictures and without."""
    for images in ({}, IMAGES):
        assert ActiveContent(render_escaped(text, images)).found == []


def test_active_content_is_detected():
    """Most attacks are active content before escaping, so the test above can fail."""
    acting = [name for name, text in ATTACKS.items() if ActiveContent(rendered_raw(text)).found]

    assert len(acting) > 0.6 * len(ATTACKS)


def rendered_raw(text: str) -> str:
    """Render *text* without escaping it; a missing picture ends the rendering."""
    try:
        return render(text, IMAGES)
    except Exception:  # noqa: BLE001  # nbconvert raises it for a missing picture
        return "<script>"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_of_mathjax_is_left(command: str):
    """A TeX command that links, names, styles or defines is shown as text."""
    formula = f"${{x \\{command}{{y}}{{z}}}}$"

    assert f"\\{command}" not in render_escaped(formula)
    assert f"\\{JOINER}{command}" in render_escaped(formula)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HONEST.items()])
def test_honest_text_reads_the_same(text: str):
    """Honest text gets only joiners, which have no width."""
    assert read(render_escaped(text, IMAGES)) == read(render(text, IMAGES))


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ATTACKS.items()])
def test_an_attack_is_shown_as_it_was_written(text: str):
    """No text of an attack is removed, so the instructor can read it."""
    shown = escape_markdown(text).replace(JOINER, "").replace("\N{REPLACEMENT CHARACTER}", "\0")

    assert shown == text.replace(JOINER, "")


@pytest.mark.parametrize("text", ["# why", "why\n---", "> # why", "- # why", "#why", "#### why ##"])
def test_no_heading_takes_the_name_of_a_grade(text: str):
    """No heading gets the id by which formgrader finds its box for points."""
    assert 'id="why"' not in render_escaped(text)


def test_a_long_text_is_cut_and_says_so():
    """A very long text, which would block the browser, is cut, with a note of its length."""
    shown = escape_markdown("<b" * MAX_TEXT)

    assert shown.endswith("… (of 131,072 characters)")
    assert len(shown) < 2 * MAX_TEXT


PIECES = st.sampled_from([
    *ATTACKS.values(), *HONEST.values(), "\n", "\n\n", " ", "\t", "    ", "> ", "- ", "1. ", "`",
    "```", "~~~", "$", "$$", "|", "*", "_", "~~", "[", "]", "(", ")", "!", "<", ">", "&", "#", ":",
    "/", "\\", '"', "'", "=", "\0", JOINER, "\r", "\x0b", "\u2028", "a", "javascript:",
    "attachment:", "script", "mermaid", "plot.png", "http", "www.", "@", ";", "[x]", "](",
])  # fmt: skip


@settings(max_examples=100)
@given(pieces=st.lists(PIECES, max_size=12))
def test_no_mixture_becomes_active_content(pieces: list[str]):
    """Pieces of attacks and honest texts, joined in any order, become no active content."""
    assert ActiveContent(render_escaped("".join(pieces), IMAGES)).found == []


@settings(max_examples=100)
@given(text=st.text(st.sampled_from("<>[](){}!`~$\\&#:/ \n\t-=*_|\"'aihtpsx.;1@\0"), max_size=60))
def test_no_sequence_of_characters_becomes_active_content(text: str):
    """No order of single characters becomes active content."""
    assert ActiveContent(render_escaped(text)).found == []
