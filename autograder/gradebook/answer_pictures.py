"""Selects the pictures of a written answer that viewers may show.

Colab, and Google Docs' export to Markdown, write a picture into the text as a data URI. It becomes
an attachment, as Jupyter stores pictures.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

IMAGES: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}
# No SVG, which can contain scripts.
MAX_IMAGE: Final = 4 * 2**20  # characters of base64
ATTACHMENT: Final = r"[A-Za-z0-9_.\-]{1,200}"  # characters that an address does not escape

# Every quantifier is bounded or possessive, so that no text takes more than linear time.
_URI: Final = (
    r"data:(?P<kind>image/[\w.+-]{1,40})(?:;[\w=-]{1,40}){0,5};base64,(?P<data>[\w+/=%-]*+)"
)
_SHOWN: Final = (  # a picture in Markdown, and one in HTML
    re.compile(
        rf"!\[[^\[\]]{{0,500}}\]\([ ]?<?{_URI}>?[ ]?(?:\"[^\"]{{0,200}}\")?[ ]?\)", re.IGNORECASE
    ),
    re.compile(rf"<img\b[^<>]{{0,500}}?\bsrc=[\"']?{_URI}[\"']?[^<>]{{0,500}}>", re.IGNORECASE),
)
_USED: Final = re.compile(r"!\[(?P<alt>[^\[\]]{0,500})\]\[(?P<name>[^\[\]]{0,100})\]")
_DEFINED: Final = re.compile(
    rf"^[ ]{{0,3}}\[(?P<name>[^\[\]]{{1,100}})\]:[ ]?<?{_URI}>?[ ]?$", re.IGNORECASE | re.MULTILINE
)


def attach_pictures(text: str, attachments: Any) -> tuple[str, dict[str, dict[str, str]]]:
    """Return *text* with a reference in place of each data URI, and all attachments to show.

    A picture that can't be shown becomes a remark.
    """
    images = safe_images(attachments)
    if "data:image/" not in text.lower():
        return text, images

    def attach(found: re.Match[str]) -> str:
        kind, data = found["kind"].lower().replace("/jpg", "/jpeg"), found["data"]
        if not _is_image(kind, data):
            return f"(a picture that can't be shown here, of type {kind})"
        name = f"picture-{len(images) + 1}.{IMAGES[kind]}"
        while name in images:
            name = f"another-{name}"
        images[name] = {kind: data}
        return f"![picture](attachment:{name})"

    defined = {found["name"].lower(): attach(found) for found in _DEFINED.finditer(text)}
    if defined:
        text = _USED.sub(
            lambda use: defined.get((use["name"] or use["alt"]).lower(), use[0]),
            _DEFINED.sub("", text),
        )
    for form in _SHOWN:
        text = form.sub(attach, text)
    return text, images


def safe_images(attachments: Any) -> dict[str, dict[str, str]]:
    """Return the attachments of a cell that are pictures and can't contain active content."""
    if not isinstance(attachments, Mapping):
        return {}
    kept: dict[str, dict[str, str]] = {}
    for name, forms in attachments.items():
        if isinstance(forms, dict) and re.fullmatch(ATTACHMENT, name):
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
