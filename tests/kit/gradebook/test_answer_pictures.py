"""Tests the pictures of a written answer: which are shown, and how they were written."""

import pytest

from autograder.gradebook.autograded_notebook import MAX_IMAGE, attach_pictures, safe_images

PNG_DATA = "iVBORw0KGgo="
SHOWN = "![picture](attachment:picture-1.png)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(f"a ![x](data:image/png;base64,{PNG_DATA}) b", f"a {SHOWN} b", id="colab"),
        pytest.param(f"![](<data:image/png;base64,{PNG_DATA}>)", SHOWN, id="in-brackets"),
        pytest.param(f'![x](data:image/png;base64,{PNG_DATA} "title")', SHOWN, id="title"),
        pytest.param(f"![x](data:image/png;charset=utf-8;base64,{PNG_DATA})", SHOWN, id="charset"),
        pytest.param(
            f'<img width="9" src="data:image/png;base64,{PNG_DATA}" alt="x"/>', SHOWN, id="html"
        ),
        pytest.param(
            f"![][image1] and ![Image1][]\n\n[image1]: <data:image/png;base64,{PNG_DATA}>\n",
            f"{SHOWN} and {SHOWN}\n\n\n",
            id="google-docs",
        ),
    ],
)
def test_a_data_uri_becomes_an_attachment(text: str, shown: str):
    """A picture in the text becomes an attachment, in every form in which programs write it."""
    assert attach_pictures(text, None) == (shown, {"picture-1.png": {"image/png": PNG_DATA}})


@pytest.mark.parametrize(
    "uri",
    [
        pytest.param("data:image/svg+xml;base64,PHN2Zz4=", id="svg"),
        pytest.param("data:image/webp;base64,UklGRg==", id="webp"),
        pytest.param(f"data:image/png;base64,{'A' * (MAX_IMAGE + 1)}", id="too-large"),
        pytest.param("data:image/png;base64,not%base64", id="no-base64"),
    ],
)
def test_a_picture_that_cannot_be_shown_is_a_remark(uri: str):
    """Another picture in the text is announced, and its letters are left out."""
    text, images = attach_pictures(f"See ![x]({uri})", None)

    assert text.startswith("See (a picture that can't be shown here, of type image/")
    assert images == {}


def test_a_picture_replaces_no_attachment():
    """A picture in the text gets a name that no attachment has."""
    old = {"picture-2.png": {"image/png": "AAAA"}}
    text, images = attach_pictures(f"![x](data:image/png;base64,{PNG_DATA})", old)

    assert text == "![picture](attachment:another-picture-2.png)"
    assert images == {**old, "another-picture-2.png": {"image/png": PNG_DATA}}


@pytest.mark.parametrize(
    "piece",
    ["![", "![](data:image/png;base64,", "<img src=", "[a]: data:image/png;base64,A ", "![a][a]"],
)
def test_a_long_text_takes_linear_time(piece: str):
    """A text that begins a picture many times is read at once; the test would not end otherwise."""
    text, images = attach_pictures("data:image/" + piece * 200_000, None)

    assert text.startswith("data:image/")
    assert images == {}


def test_attached_pictures_are_kept():
    """Attached pictures keep their names and formats."""
    forms = {"image/png": PNG_DATA, "image/jpeg": "/9j/", "image/gif": "R0lG"}

    assert safe_images({"a-b_1.png": forms}) == {"a-b_1.png": forms}


@pytest.mark.parametrize(
    "attachments",
    [
        pytest.param({"x.svg": {"image/svg+xml": PNG_DATA}}, id="svg"),
        pytest.param({"x.html": {"text/html": PNG_DATA}}, id="html"),
        pytest.param({"x.png": {"image/png;x=1": PNG_DATA}}, id="parameter"),
        pytest.param({"x.png": {"IMAGE/PNG": PNG_DATA}}, id="capitals"),
        pytest.param({"x.png": {"image/png": 'x" onerror="alert(1)'}}, id="no-base64"),
        pytest.param({"x.png": {"image/png": ["aGk="]}}, id="list"),
        pytest.param({"x.png": {"image/png": "A" * (MAX_IMAGE + 1)}}, id="too-large"),
        pytest.param({"x.png": "aGk="}, id="no-forms"),
        pytest.param({'x" onerror="alert(1)': {"image/png": PNG_DATA}}, id="name"),
        pytest.param({"../x.png": {"image/png": PNG_DATA}}, id="path"),
        pytest.param({"plöt.png": {"image/png": PNG_DATA}}, id="name-that-urls-spell-otherwise"),
        pytest.param({"": {"image/png": PNG_DATA}}, id="no-name"),
        pytest.param(["x.png"], id="a-list"),
        pytest.param("x.png", id="a-string"),
        pytest.param(None, id="nothing"),
    ],
)
def test_attachments_that_are_not_pictures_are_removed(attachments: object):
    """An attachment is kept only if it is base64 of a format that can hold no script."""
    assert safe_images(attachments) == {}
