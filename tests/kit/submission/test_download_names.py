"""Tests that the names that platforms make are parsed, and that their students' parts are not."""

import pytest

from autograder.submission.names import (
    known_prefix,
    parse_download_name,
    parse_name,
    shared_prefix,
)


@pytest.mark.parametrize(
    ("name", "student", "file"),
    [
        pytest.param("doejane_1_2_a_b.py", "doejane_1", "a_b.py", id="canvas"),
        pytest.param("doejane_LATE_1_2_a.py", "doejane_1", "a.py", id="canvas-late"),
        pytest.param("team_alpha_1_2_a.py", "team_alpha_1", "a.py", id="canvas-underscore"),
        pytest.param("doejane_1_text.html", "doejane_1", "text.html", id="canvas-typed"),
        pytest.param("doejane_LATE_1_link.html", "doejane_1", "link.html", id="canvas-link"),
        pytest.param("anon_aB3xZ_2_a.py", "anon_aB3xZ", "a.py", id="canvas-anonymous"),
        pytest.param("LATE_anon_aB3xZ_2_a.py", "anon_aB3xZ", "a.py", id="canvas-anonymous-late"),
        pytest.param("anon_aB3xZ_text.html", "anon_aB3xZ", "text.html", id="anonymous-typed"),
        pytest.param("Jane Doe_7_assignsubmission_file_", "Jane Doe_7", "", id="moodle-folder"),
        pytest.param("Jane Doe_7_assignsubmission_file", "Jane Doe_7", "", id="moodle-4.1"),
        pytest.param("Jane_7_assignsubmission_file_a.py", "Jane_7", "a.py", id="moodle-flat"),
        pytest.param("Jane_7_assignsubmission_onlinetext_", "Jane_7", "", id="moodle-typed"),
        pytest.param("Jane_7_assignsubmission_comments_", "Jane_7", "", id="moodle-plugin"),
        pytest.param("Default group_assignsubmission_file_", "Default group", "", id="no-number"),
        pytest.param("alice_2", "alice_2", "alice_2", id="neither"),
        pytest.param("group_1_final.zip", "group_1_final.zip", "group_1_final.zip", id="almost"),
    ],
)
def test_reads_names_of_downloads(name, student, file):
    """If a name has no platform's form, the whole name is the student."""
    parsed = parse_download_name(name)

    assert (parsed.student, parsed.file) == (student, file)


def test_knows_typed_answers_and_late_marks():
    """Canvas marks late work, and both LMSs name answers that have no file."""
    late = parse_name("LATE_anon_aB3xZ_2_a.py", "canvas")
    typed = (
        parse_name("doejane_1_text.html", "canvas"),
        parse_name("Jane_7_assignsubmission_onlinetext_onlinetext.html", "moodle"),
    )

    assert late is not None
    assert late.is_late
    assert all(parsed is not None and parsed.is_typed for parsed in typed)


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        pytest.param(["04-attention-ada", "04-attention-octo-cat"], "04-attention-", id="all"),
        pytest.param(["hw-ann-lee", "hw-ann-mai", "hw-bob"], "hw-", id="longest-of-all"),
        pytest.param(["hw-ada", "hw-bob", "carl"], "hw-", id="most"),
        pytest.param(["hw-ada", "bob"], "", id="half"),
        pytest.param(["hw-ada"], "", id="one"),
        pytest.param([], "", id="none"),
    ],
)
def test_finds_the_prefix_of_repositories(names, prefix):
    """The prefix ends in a hyphen, and all names share it, or at least most of them."""
    assert shared_prefix(names) == prefix


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        pytest.param(["hw-ann-lee", "hw-ann-mai"], "hw-", id="logins-with-hyphens"),
        pytest.param(["hw-ann-lee"], "hw-", id="one"),
        pytest.param(["ann-lee", "ann-mai"], "", id="without-prefix"),
        pytest.param(["hw-x", "hw-y"], None, id="nobody"),
    ],
)
def test_logins_show_where_the_prefix_ends(names, prefix):
    """With the logins of the class, the prefix is what most names have before a login."""
    assert known_prefix(names, {"ann-lee", "ann-mai"}, len("ann-lee")) == prefix
