"""Disables links, HTML and active formulas in a student's Markdown.

nbgrader's formgrader and feedback render Markdown with raw HTML and with links of any scheme, in
the origin that holds the instructor's Jupyter token. Here nothing is removed or parsed: a word
joiner, which has no width, is put into each opening, in code and formulas too. So no difference
between two Markdown parsers can let anything through.
"""

import re
from collections.abc import Collection
from functools import partial
from typing import Any

JOINER = "\N{WORD JOINER}"
MAX_TEXT = 64 * 1024  # characters of one cell; an essay has ten thousand
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif"})  # no SVG: it can hold scripts
MAX_IMAGE = 4 * 2**20  # characters of base64

# `<script`, `</p`, `<!--`, `<?`: all markup of HTML begins so, and nothing else does.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=[#A-Za-z])")  # `&#60;` would become `<`, or a backslash
_ADDRESS = re.compile(r":(?=//)|(?<![\w:.-])www(?=\.)|@(?=\w)", re.IGNORECASE)  # become links
_DIAGRAM = re.compile(r"(?:```|~~~)\s*m(?=ermaid)", re.IGNORECASE)  # drawn by a script
# A heading's text becomes its id, and formgrader finds the box for a grade by such an id.
_HEADING = re.compile(r"(?<!#)#{1,6}(?!#)[ \t]*(?=\S)")
_UNDERLINED = re.compile(r"\S(?=[ \t]*[\r\n]+[ \t>]*(?:=+|-+)[ \t]*(?:[\r\n]|\Z))")
# The commands that MathJax turns into links, attributes or new commands.
_COMMAND = re.compile(
    r"\\(?=href|url|style|class|cssId|data|require|unicode|def|gdef|edef|xdef|let|newcommand"
    r"|renewcommand|newenvironment|renewenvironment|DeclareMathOperator|html|special|input|include"
    r"|csname|catcode|mmlToken|toggle|action|bbox|texttip|mathtip|tooltip|begingroup)"
)
_NAME = r"[A-Za-z0-9_.\-]{1,200}"  # the same in an address
# `![text](attachment:name)`, then `](url)` and `]: url`.
_LINK = re.compile(rf"(?<!\\)!\[[^\[\]]*\]\(attachment:(?P<name>{_NAME})\)|\](?=[(:])")


def escape_markdown(text: str, images: Collection[str] = ()) -> str:
    """Return *text* so that no viewer finds HTML, a link or an active formula in it.

    Pictures stay if they are attached under one of the names *images*: nbconvert fails on a page
    where one is missing.
    """
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n\n… (of {len(text):,} characters)"
    text = _LINK.sub(partial(_disable_link, images), text)
    for opening in (_TAG, _ENTITY, _ADDRESS, _DIAGRAM, _HEADING, _UNDERLINED, _COMMAND):
        text = opening.sub(rf"\g<0>{JOINER}", text)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _disable_link(images: Collection[str], match: re.Match[str]) -> str:
    whole = match[0]
    return whole if match["name"] in images else whole.replace("]", f"]{JOINER}")


def safe_images(attachments: Any) -> dict[str, dict[str, str]]:
    """Return the attachments of a cell that are pictures without active content."""
    if not isinstance(attachments, dict):
        return {}
    kept: dict[str, dict[str, str]] = {}
    for name, forms in attachments.items():
        if isinstance(forms, dict) and re.fullmatch(_NAME, name):
            images = {kind: data for kind, data in forms.items() if _is_image(kind, data)}
            if images:
                kept[name] = images
    return kept


def _is_image(kind: str, data: object) -> bool:
    return (
        kind in IMAGES
        and isinstance(data, str)
        and len(data) <= MAX_IMAGE
        and re.fullmatch(r"[A-Za-z0-9+/=\n]*", data) is not None
    )
