"""Writes JUnit XML as pytest does (``junit_family=xunit2``), for continuous integration.

In this format, a case has only ``classname``, ``name`` and ``time``, so points are properties of
cases and suites. The record contains no times and no host, so every ``time`` is 0.
"""

import re
from collections.abc import Iterator
from functools import partial
from xml.etree import ElementTree as ET

from autograder.exports.export_file import ExportFile, feedback_text, number
from autograder.results import CheckResult, Outcome, Results, Status, SubmissionResult

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
_TAGS = {Outcome.FAILED: "failure", Outcome.ERRORED: "error", Outcome.SKIPPED: "skipped"}


def junit(results: Results) -> ExportFile:
    """Return a file with one suite per submission and one case per check."""
    return ExportFile(partial(_parts, results))


def _parts(results: Results) -> Iterator[bytes]:
    """Yield the file in parts of one suite."""
    top = ET.Element("testsuites", name=_legal(results.course))
    top.text = "\n  " if results.submissions else None
    whole: bytes = ET.tostring(top, encoding="utf-8", xml_declaration=True)
    before, end, _ = whole.partition(b"</testsuites>")  # an empty element has no end tag
    yield before
    last = len(results.submissions) - 1
    for index, submission in enumerate(results.submissions):
        suite = _suite(submission)
        ET.indent(suite, level=1)
        suite.tail = "\n  " if index < last else "\n"
        yield ET.tostring(suite, encoding="utf-8", xml_declaration=False)
    yield end + b"\n"


def _suite(result: SubmissionResult) -> ET.Element:
    stage = result.stage or "unknown-stage"
    suite = ET.Element("testsuite", name=_legal(f"{result.student}/{stage}"))
    _properties(suite, {"score": result.score, "max_score": result.max_score})
    for exercise in result.exercises:
        for check in exercise.checks:
            suite.append(_case(f"{stage}.{exercise.name}", check))
    if result.status not in {Status.GRADED, Status.IMPORT_ERROR} or not result.exercises:
        case = _new_case(stage, "submission")  # about the whole submission
        if result.status is not Status.GRADED:
            message = result.message or str(result.status)
            _add_problem(case, "error", result.status, message, result.message)
        suite.append(case)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", "0.000")
    return suite


def _case(classname: str, check: CheckResult) -> ET.Element:
    case = _new_case(classname, check.name)
    _properties(case, {"points": check.points, "max_points": check.max_points})
    if check.outcome in _TAGS:
        message = check.message or check.title
        _add_problem(case, _TAGS[check.outcome], check.status, message, feedback_text(check))
    return case


def _new_case(classname: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=_legal(classname), name=_legal(name), time="0.000")


def _add_problem(case: ET.Element, tag: str, kind: str, message: str, details: str) -> None:
    first = message.partition("\n")[0]
    ET.SubElement(case, tag, type=str(kind), message=_legal(first)).text = _legal(details)


def _properties(parent: ET.Element, values: dict[str, float | None]) -> None:
    known = {name: number(value) for name, value in values.items() if value is not None}
    if known:
        below = ET.SubElement(parent, "properties")
        for name, value in known.items():
            ET.SubElement(below, "property", name=name, value=value)


def _legal(text: str) -> str:
    """Remove the characters that XML does not allow even if they are escaped."""
    return _ILLEGAL.sub("", text)
