"""JUnit XML as pytest writes it (``junit_family=xunit2``), for continuous integration.

``testsuites/testsuite/testcase``: a suite has ``name``, ``tests``, ``failures``, ``errors`` and
``skipped``; a case has ``classname``, ``name`` and ``time`` alone; below it stand ``failure``,
``error`` or ``skipped`` with ``message`` and ``type``. Points are properties of case and suite.
The record holds no times, so every ``time`` is 0, and says nothing about a host.
"""

import re
from xml.etree import ElementTree as ET

from autograder.exports.csv_io import number
from autograder.exports.export_file import Exported, told
from autograder.results import CheckResult, Outcome, Results, Status, SubmissionResult
from autograder.sanitize import sanitize

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2
_TAGS = {Outcome.FAILED: "failure", Outcome.ERRORED: "error", Outcome.SKIPPED: "skipped"}


def junit(results: Results) -> Exported:
    """Write every submission as a suite, every check as a case."""
    top = ET.Element("testsuites", name=_legal(results.course))
    for submission in results.submissions:
        top.append(_suite(sanitize(submission)))
    ET.indent(top)
    page: bytes = ET.tostring(top, encoding="utf-8", xml_declaration=True)
    return Exported(page + b"\n")


def _suite(result: SubmissionResult) -> ET.Element:
    stage = result.stage or "unknown-stage"
    suite = ET.Element("testsuite", name=_legal(f"{result.student}/{stage}"))
    _properties(suite, {"score": result.score, "max_score": result.max_score})
    for exercise in result.exercises:
        for check in exercise.checks:
            suite.append(_case(f"{stage}.{exercise.name}", check))
    if result.status not in {Status.GRADED, Status.IMPORT_ERROR} or not result.exercises:
        suite.append(_trouble(stage, result))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", "0.000")
    return suite


def _case(classname: str, check: CheckResult) -> ET.Element:
    case = _empty(classname, check.name)
    _properties(case, {"points": check.points, "max_points": check.max_points})
    if check.outcome in _TAGS:
        _say(case, _TAGS[check.outcome], check.status, check.message or check.title, told(check))
    return case


def _trouble(stage: str, result: SubmissionResult) -> ET.Element:
    """Make a case of what befell the whole submission."""
    case = _empty(stage, "submission")
    if result.status is not Status.GRADED:
        _say(case, "error", result.status, result.message or str(result.status), result.message)
    return case


def _empty(classname: str, name: str) -> ET.Element:
    return ET.Element("testcase", classname=_legal(classname), name=_legal(name), time="0.000")


def _say(case: ET.Element, tag: str, kind: str, message: str, words: str) -> None:
    first = message.partition("\n")[0]
    ET.SubElement(case, tag, type=str(kind), message=_legal(first)).text = _legal(words)


def _properties(parent: ET.Element, values: dict[str, float | None]) -> None:
    known = {name: number(value) for name, value in values.items() if value is not None}
    if known:
        below = ET.SubElement(parent, "properties")
        for name, value in known.items():
            ET.SubElement(below, "property", name=name, value=value)


def _legal(words: str) -> str:
    """Drop what XML can't hold, not even escaped."""
    return _ILLEGAL.sub("", words)
