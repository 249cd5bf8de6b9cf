"""Reads times with their zones, and prints them in the zone of the course.

As in nbgrader's database, a moment is in UTC without a time zone.
"""

import datetime as dt
import re
from typing import Final
from zoneinfo import ZoneInfo

LATE_MARK: Final = dt.timedelta(seconds=1)  # after the due date; it stands for an unknown time
# A time as nbgrader writes it or in ISO 8601, then a zone: a name, an offset, or both ("UTC+1").
_TIME: Final = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)"
    r" ?(?P<zone>[A-Za-z][A-Za-z0-9_]{0,29}(/[A-Za-z0-9_+-]{1,30}){0,2})?"
    r"(?P<offset>[+-]\d{1,2}(:?\d\d)?)?",
    re.ASCII,
)
_UTC: Final = frozenset({"", "UTC", "GMT", "Z"})


def zone_named(name: str) -> dt.tzinfo | None:
    """Return the time zone called *name*, such as Europe/Berlin; None if there is none."""
    if name.upper() in _UTC:
        return dt.UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder of zones
        return None


def parse_time(text: str, zone: dt.tzinfo = dt.UTC) -> dt.datetime | None:
    """Parse *text* as a moment; return None if it is not a time or its zone is unknown.

    A time without a zone is in *zone*. An abbreviation such as PST means the time of *zone* if that
    zone uses it.
    """
    found = _TIME.fullmatch(" ".join(text.split()))
    if found is None:
        return None
    try:
        local = dt.datetime.fromisoformat(found["time"])
        known = _zone(found["zone"] or "", found["offset"] or "", local, zone)
        moment = local.replace(tzinfo=known).astimezone(dt.UTC) if known else None
        return moment and moment.replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def shown_time(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """Return a *moment* to the minute, in *zone* and with its name."""
    return f"{moment.replace(tzinfo=dt.UTC).astimezone(zone):%Y-%m-%d %H:%M %Z}"


def shown_duration(time: dt.timedelta) -> str:
    """Return *time* in days, hours and minutes, but at least one minute."""
    minutes = max(1, int(time.total_seconds()) // 60)
    days, rest = divmod(minutes, 24 * 60)
    parts = ((days, "d"), (rest // 60, "h"), (rest % 60, "min"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def _zone(name: str, offset: str, local: dt.datetime, course: dt.tzinfo) -> dt.tzinfo | None:
    """Return the zone of the *local* time; None if it is unknown."""
    if offset and name.upper() in _UTC:
        hours, minutes = int(offset[1:3].rstrip(":")), int(offset[3:].lstrip(":") or 0)
        size = dt.timedelta(hours=hours, minutes=minutes)
        return dt.timezone(-size if offset.startswith("-") else size)
    if offset or not name:
        return None if offset else course
    for fold in (0, 1):  # an hour that the end of summer time repeats
        here = local.replace(tzinfo=course, fold=fold)
        if here.tzname() == name.upper():
            return dt.timezone(here.utcoffset() or dt.timedelta())
    return zone_named(name)
