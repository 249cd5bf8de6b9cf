"""A student's Markdown, made harmless where the instructor reads it.

nbgrader's formgrader and feedback render Markdown with raw HTML and with links of any scheme, in
the origin that holds the instructor's Jupyter token. Here nothing is removed or parsed: a word
joiner, which has no width, keeps each opening from being one, inside of code and formulas too, so
that no disagreement between two parsers can let anything through.
"""

import re
from typing import Any

JOINER = "\N{WORD JOINER}"
MAX_TEXT = 64 * 1024  # characters of one cell; an essay has ten thousand
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif"})  # no SVG: it can hold scripts
MAX_IMAGE = 4 * 2**20  # characters of base64

# `<script`, `</p`, `<!--`, `<?`: what HTML takes for markup begins so, and nothing else does.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=[#A-Za-z])")  # `&#60;` would become a tag's opening, or a backslash
_ATTACHED = r"attachment:[\w.\-]+\)"
_LINK = re.compile(rf"\](?=\((?!{_ATTACHED}))|\](?=:)")  # `](url)`, and `]: url`
# What MathJax turns into links, attributes or new commands.
_COMMAND = re.compile(
    r"\\(?=href|url|style|class|cssId|data|require|unicode|def|gdef|edef|xdef|let|newcommand"
    r"|renewcommand|newenvironment|renewenvironment|DeclareMathOperator|html|special|input|include"
    r"|csname|catcode|mmlToken|toggle|action|bbox|texttip|tooltip|begingroup)"
)


def harmless_markdown(text: str) -> str:
    """Return *text* so that no viewer finds HTML, a link or an active formula in it."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n\n… (of {len(text):,} characters)"
    for opening in (_TAG, _ENTITY, _LINK, _COMMAND):
        text = opening.sub(rf"\g<0>{JOINER}", text)
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def harmless_images(attachments: Any) -> dict[str, dict[str, str]]:
    """Keep what was pasted into a cell where it is a picture that can't act."""
    if not isinstance(attachments, dict):
        return {}
    kept: dict[str, dict[str, str]] = {}
    for name, forms in attachments.items():
        if isinstance(forms, dict) and re.fullmatch(r"[\w.\-]{1,200}", name):
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
