"""Tests that a module in UTF-16 or inside a Markdown fence is read, and any other one is kept."""

import ast

import pytest

from autograder.submission.files import module_text

WORK = "def attend(x):\n    return 'é'\n"
FENCE = (
    "work.py begins with a Markdown fence (```), which was removed. Submit only the code next time."
)
UTF16 = "work.py is in UTF-16 and was converted. Save it as UTF-8 next time."


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        pytest.param("utf-16-le", b"\xff\xfe", id="little-endian"),
        pytest.param("utf-16-be", b"\xfe\xff", id="big-endian"),
        pytest.param("utf-16-le", b"", id="little-endian-without-mark"),
        pytest.param("utf-16-be", b"", id="big-endian-without-mark"),
    ],
)
def test_utf_16_is_read_as_text(encoding, mark):
    """A module in UTF-16 becomes UTF-8, with a notice that says what to do next time."""
    assert module_text(mark + WORK.encode(encoding), "work.py") == (WORK.encode(), (UTF16,))


def test_utf_16_without_a_mark_is_read_with_many_letters_of_other_scripts():
    """Comments in another script, whose bytes are not zero, do not hide UTF-16 without a mark."""
    work = "".join(f"# 注意力机制的第{number}行\n" for number in range(50)) + WORK

    assert module_text(work.encode("utf-16-le"), "work.py") == (work.encode(), (UTF16,))


@pytest.mark.parametrize("line", ["# -*- coding: utf-16 -*-", "\n# vim: fileencoding=utf-16"])
def test_a_declared_utf_16_no_longer_holds(line):
    """After the conversion, Python reads a module that declares UTF-16."""
    text, _ = module_text(f"{line}\n{WORK}".encode("utf-16"), "work.py")

    assert ast.parse(text).body[0].body[0].value.value == "é"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("```python\n", "```\n", id="with-a-language"),
        pytest.param("```\n", "```", id="without-a-language"),
        pytest.param("~~~ py\n", "~~~\n\n", id="tildes"),
        pytest.param("```python\n", "", id="never-closed"),
        pytest.param("\n  ```python title=x\n", "\n  ```  \n", id="indented"),
        pytest.param("\ufeff```python\n", "```\n", id="after-a-mark"),
    ],
)
def test_a_fence_around_the_module_is_removed(before, after, newline):
    """The lines of the fence become empty, so that the other lines keep their numbers."""
    text = f"{before}{WORK}{after}".replace("\n", newline)
    code, notices = module_text(text.encode(), "work.py")
    [definition] = ast.parse(code).body

    assert definition.lineno == before.count("\n") + 1
    assert len(code.splitlines()) >= len(WORK.splitlines()) + before.count("\n")
    assert len(notices) == 1


def test_each_change_has_its_notice():
    """A module in UTF-16 with a fence is read, and both changes are reported."""
    text = f"```python\n{WORK}```\n".encode("utf-16")

    assert module_text(text, "work.py") == (f"\n{WORK}\n".encode(), (UTF16, FENCE))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(WORK.encode(), id="utf-8"),
        pytest.param(b"\xef\xbb\xbf" + WORK.encode(), id="utf-8-with-mark"),
        pytest.param(b"\0\0", id="nul"),
        pytest.param(b"x = 1\n\0", id="one-nul"),
        pytest.param(b"\xff\xfex", id="half-a-character"),
        pytest.param("x = '\0'".encode("utf-16"), id="nul-in-utf-16"),
        pytest.param("x = 'é'".encode("utf-32"), id="utf-32"),
        pytest.param(b"# coding: latin-1\nx = '\xe9'\n", id="latin-1"),
        pytest.param(f"{WORK}```python\n{WORK}```\n".encode(), id="a-fence-in-the-middle"),
        pytest.param(b'"""\n```python\nx\n```\n"""\n', id="a-fence-in-a-docstring"),
    ],
)
def test_any_other_module_stays_as_it_is(data):
    """Bytes that are not UTF-16, and fences that are not around the module, are not changed."""
    assert module_text(data, "work.py") == (data, ())
