"""Templates: everything is escaped, an undefined name is an error."""

import pytest
from jinja2 import UndefinedError

from autograder.reports.templating import breakable, render


def test_values_are_escaped():
    """A tag in a value is text on the page."""
    assert "&lt;b&gt;" in render("plain.html", lines=["<b>"])


def test_an_undefined_name_is_an_error():
    """A template never shows an empty place for a value that was forgotten."""
    with pytest.raises(UndefinedError, match="lines"):
        render("plain.html")


def test_a_long_name_breaks_after_its_underscores():
    """The name itself is escaped."""
    assert breakable("a_<b>") == "a_<wbr>&lt;b&gt;"
