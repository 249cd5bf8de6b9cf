"""A student's Markdown, as nbconvert renders it where the instructor is logged in."""

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters.html import MarkdownWithMath
from nbconvert.filters.markdown_mistune import IPythonRenderer

from autograder.gradebook.markdown_escape import (
    JOINER,
    MAX_IMAGE,
    MAX_TEXT,
    escape_markdown,
    safe_images,
)
from tests.factories import ActiveContent

PNG = "iVBORw0KGgo="
IMAGES = {"plot.png": {"image/png": PNG}}

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
    "html-beside-a-span": "`a``<script>`alert(1)``</script>",
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


def render(text: str, images: dict | None = None) -> str:
    """Render *text* as formgrader does, with *images* attached to the cell."""
    renderer = IPythonRenderer(escape=False, attachments=images or {})
    return MarkdownWithMath(renderer=renderer).render(text)


def render_escaped(text: str, images: dict | None = None) -> str:
    """Escape and render the *text* of a student who attached *images*."""
    return render(escape_markdown(text, images or {}), images)


def read(page: str) -> str:
    """The text and the elements of *page* as they look: without colours, ids and joiners."""
    return html.unescape(re.sub(r'</?span.*?>| (?:id|href)=".*?"', "", page)).replace(JOINER, "")


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ATTACKS.items()])
def test_no_attack_becomes_active_content(text: str):
    """The page has no tag, address or handler, with attached pictures and without."""
    for images in ({}, IMAGES):
        assert ActiveContent(render_escaped(text, images)).found == []


def test_active_content_is_detected():
    """Most of the raw texts become active, so the test above can fail."""
    acting = [name for name, text in ATTACKS.items() if ActiveContent(rendered_raw(text)).found]

    assert len(acting) > 0.6 * len(ATTACKS)


def rendered_raw(text: str) -> str:
    """Render *text* without escaping it; a missing picture ends the rendering."""
    try:
        return render(text, IMAGES)
    except Exception:  # noqa: BLE001  # nbconvert's own way to say so
        return "<script>"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_of_mathjax_is_left(command: str):
    """A command that links, names, styles or defines is only a backslash before a word."""
    formula = f"${{x \\{command}{{y}}{{z}}}}$"

    assert f"\\{command}" not in render_escaped(formula)
    assert f"\\{JOINER}{command}" in render_escaped(formula)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HONEST.items()])
def test_honest_text_reads_the_same(text: str):
    """Only joiners are added, which have no width."""
    assert read(render_escaped(text, IMAGES)) == read(render(text, IMAGES))


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ATTACKS.items()])
def test_an_attack_is_shown_as_it_was_written(text: str):
    """Nothing is removed: the instructor sees the attack."""
    shown = escape_markdown(text).replace(JOINER, "").replace("\N{REPLACEMENT CHARACTER}", "\0")

    assert shown == text.replace(JOINER, "")


@pytest.mark.parametrize("text", ["# why", "why\n---", "> # why", "- # why", "#why", "#### why ##"])
def test_no_heading_takes_the_name_of_a_grade(text: str):
    """Formgrader finds its boxes for points by an element's id, and uses the first one."""
    assert 'id="why"' not in render_escaped(text)


def test_a_long_text_is_cut_and_says_so():
    """An essay of a megabyte would block the browser."""
    shown = escape_markdown("<b" * MAX_TEXT)

    assert shown.endswith("… (of 131,072 characters)")
    assert len(shown) < 2 * MAX_TEXT


def test_attached_pictures_are_kept():
    """Their names and formats stay."""
    forms = {"image/png": PNG, "image/jpeg": "/9j/", "image/gif": "R0lG"}

    assert safe_images({"a-b_1.png": forms}) == {"a-b_1.png": forms}


@pytest.mark.parametrize(
    "attachments",
    [
        pytest.param({"x.svg": {"image/svg+xml": PNG}}, id="svg"),
        pytest.param({"x.html": {"text/html": PNG}}, id="html"),
        pytest.param({"x.png": {"image/png;x=1": PNG}}, id="parameter"),
        pytest.param({"x.png": {"IMAGE/PNG": PNG}}, id="capitals"),
        pytest.param({"x.png": {"image/png": 'x" onerror="alert(1)'}}, id="no-base64"),
        pytest.param({"x.png": {"image/png": ["aGk="]}}, id="list"),
        pytest.param({"x.png": {"image/png": "A" * (MAX_IMAGE + 1)}}, id="too-large"),
        pytest.param({"x.png": "aGk="}, id="no-forms"),
        pytest.param({'x" onerror="alert(1)': {"image/png": PNG}}, id="name"),
        pytest.param({"../x.png": {"image/png": PNG}}, id="path"),
        pytest.param({"plöt.png": {"image/png": PNG}}, id="name-that-urls-spell-otherwise"),
        pytest.param({"": {"image/png": PNG}}, id="no-name"),
        pytest.param(["x.png"], id="a-list"),
        pytest.param("x.png", id="a-string"),
        pytest.param(None, id="nothing"),
    ],
)
def test_attachments_that_are_no_pictures_are_removed(attachments: object):
    """Only base64 of formats that can hold no script is kept."""
    assert safe_images(attachments) == {}


PIECES = st.sampled_from([
    *ATTACKS.values(), *HONEST.values(), "\n", "\n\n", " ", "\t", "    ", "> ", "- ", "1. ", "`",
    "```", "~~~", "$", "$$", "|", "*", "_", "~~", "[", "]", "(", ")", "!", "<", ">", "&", "#", ":",
    "/", "\\", '"', "'", "=", "\0", JOINER, "\r", "\x0b", "\u2028", "a", "javascript:",
    "attachment:", "script", "mermaid", "plot.png", "http", "www.", "@", ";", "[x]", "](",
])  # fmt: skip


@settings(max_examples=300)
@given(pieces=st.lists(PIECES, max_size=12))
def test_no_mixture_becomes_active_content(pieces: list[str]):
    """Pieces of attacks and of honest texts are joined in any order."""
    assert ActiveContent(render_escaped("".join(pieces), IMAGES)).found == []


@settings(max_examples=300)
@given(text=st.text(st.sampled_from("<>[](){}!`~$\\&#:/ \n\t-=*_|\"'aihtpsx.;1@\0"), max_size=60))
def test_no_sequence_of_characters_becomes_active_content(text: str):
    """Single characters are joined in any order."""
    assert ActiveContent(render_escaped(text)).found == []
