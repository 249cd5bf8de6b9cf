"""Tests reading times with offsets and zones, and printing them in a zone."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.times import parse_time, shown_duration, shown_time, zone_named

PACIFIC = ZoneInfo("America/Los_Angeles")

MOMENT = dt.datetime(2026, 11, 1, 10, 0, 0, 123456)  # noqa: DTZ001  # nbgrader keeps UTC without a zone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2026-11-01 10:00:00 UTC", dt.datetime(2026, 11, 1, 10), id="utc"),  # noqa: DTZ001  # nbgrader keeps UTC without a zone
        pytest.param(
            "2026-11-01 10:00:00 America/Los_Angeles",
            dt.datetime(2026, 11, 1, 18),  # noqa: DTZ001  # UTC without a zone
            id="place",
        ),
        pytest.param("2026-11-01T10:00:00+01:00", dt.datetime(2026, 11, 1, 9), id="iso"),  # noqa: DTZ001  # UTC without a zone
        pytest.param("", None, id="empty"),
        pytest.param("yesterday", None, id="words"),
        pytest.param("9" * 100, None, id="digits"),
        pytest.param("2026-13-45 99:99:99 UTC", None, id="no-such-day"),
        pytest.param("0001-01-01 00:00:00 Asia/Tokyo", None, id="before-year-1"),
        pytest.param("2026-11-01 10:00:00 999999999999", None, id="far-off-zone"),
        pytest.param("\0", None, id="nul"),
        pytest.param("2026-11-01 10:00:00 /usr/share/zoneinfo/UTC", None, id="path-of-a-file"),
        pytest.param("2026-11-01 10:00:00 ../../../etc/passwd", None, id="path-of-another-file"),
        pytest.param("2026-11-01 10:00:00 :/usr/share/zoneinfo/UTC", None, id="path-after-a-colon"),
        pytest.param("2026-11-01 10:00:00.123456 UTC", MOMENT, id="as-nbgrader-writes-it"),
        pytest.param("2026-11-01T10:00:00.123456Z", MOMENT, id="iso-in-utc"),
    ],
)
def test_a_time_is_a_moment_in_utc_or_none(text: str, expected: dt.datetime | None):
    """A text that is not a time gives None, never an error."""
    found = parse_time(text)

    assert found == expected


@settings(max_examples=100)
@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from([*"0123456789-:/., +TZ", " UTC", "2026", "am", "Mon", "May", "h"]))
    .map("".join)
)  # fmt: skip
def test_any_text_is_a_time_or_none(text: str):
    """Any text in a timestamp file gives a time or None, and no error."""
    found = parse_time(text)

    assert found is None or found.tzinfo is None


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        pytest.param("+0100", 9, id="offset"),
        pytest.param("+01:00", 9, id="offset-with-colon"),
        pytest.param("-8", 18, id="hours"),
        pytest.param("+0530", 4, id="half-an-hour"),
        pytest.param("UTC+1", 9, id="name-and-offset"),
        pytest.param("GMT", 10, id="gmt"),
        pytest.param("Europe/Berlin", 9, id="place"),
        pytest.param("CET", 9, id="name"),
        pytest.param("", 10, id="none"),
    ],
)
def test_an_offset_counts_in_hours_and_minutes(zone: str, hour: int):
    """Each form of an offset means what it says, with or without a space in front."""
    found = [parse_time(f"2026-12-01 10:00:00{space}{zone}") for space in ("", " ", "  ")]

    minute = 30 if zone == "+0530" else 0
    assert found == [dt.datetime(2026, 12, 1, hour, minute)] * 3  # noqa: DTZ001  # UTC without a zone


@pytest.mark.parametrize("zone", ["PST", "B", "Nowhere/Town", "America", "EST+1", "+99", "+1:2:3"])
def test_a_time_in_an_unknown_zone_is_no_time(zone: str):
    """A zone that is not known for certain is never taken for UTC."""
    assert parse_time(f"2026-12-01 10:00:00 {zone}") is None


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        pytest.param("2026-12-01 10:00", 18, id="no-zone"),
        pytest.param("2026-12-01 10:00 PST", 18, id="its-abbreviation"),
        pytest.param("2026-11-01 01:30 PDT", 8, id="first-of-two-hours"),
        pytest.param("2026-11-01 01:30 PST", 9, id="second-of-two-hours"),
        pytest.param("2026-12-01 10:00 UTC", 10, id="other-zone"),
    ],
)
def test_the_zone_of_the_course_decides_what_a_time_leaves_open(text: str, hour: int):
    """A time without a zone, or with an abbreviation of the course's zone, is in that zone."""
    found = parse_time(text, PACIFIC)

    assert found is not None
    assert found.hour == hour


def test_a_time_is_printed_in_the_zone_of_the_course():
    """A moment is printed with the time of day and the name of the zone."""
    assert shown_time(MOMENT, dt.UTC) == "2026-11-01 10:00 UTC"
    assert shown_time(MOMENT, PACIFIC) == "2026-11-01 02:00 PST"


@pytest.mark.parametrize("name", ["Nowhere/Town", "../../etc/passwd", "Etc", "\0", "PST"])
def test_a_zone_that_does_not_exist_is_none(name: str):
    """The name of no zone gives None, with any characters."""
    assert zone_named(name) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 min"), (3600, "1 h"), (86_400 + 3_660, "1 d 1 h 1 min"), (172_800, "2 d")],
)
def test_a_duration_is_in_days_hours_and_minutes(seconds: int, words: str):
    """A duration leaves out what is 0, and is at least a minute."""
    assert shown_duration(dt.timedelta(seconds=seconds)) == words
