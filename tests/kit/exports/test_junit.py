"""Tests JUnit XML as pytest writes it."""

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from autograder.exports.junit import junit
from autograder.results import (
    CheckResult,
    ExerciseResult,
    Outcome,
    Results,
    Status,
    SubmissionResult,
)
from tests.factories import MakeCheck, MakeResults, MakeSubmission

SUITE = {"name", "tests", "failures", "errors", "skipped", "time"}
COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def parsed(content: bytes) -> list[ET.Element]:
    """The suites, after a check of what pytest's xunit2 family allows."""
    top = ET.fromstring(content)  # noqa: S314  # the kit wrote this XML
    assert top.tag == "testsuites"
    for suite in top:
        cases = suite.findall("testcase")
        assert (suite.tag, set(suite.attrib)) == ("testsuite", SUITE)
        assert int(suite.get("tests")) == len(cases)
        assert {item.tag for item in suite} <= {"properties", "testcase"}
        for tag, count in COUNTED.items():
            assert int(suite.get(count)) == len(suite.findall(f"testcase/{tag}"))
        for case in cases:
            assert set(case.attrib) == {"classname", "name", "time"}
            assert {item.tag for item in case} <= {"properties", *COUNTED}
            for item in case:
                assert item.tag == "properties" or set(item.attrib) == {"type", "message"}
    return list(top)


def properties(element: ET.Element) -> dict[str, str]:
    """The properties of a suite or a case."""
    return {item.get("name"): item.get("value") for item in element.iterfind("properties/property")}


def test_every_check_is_a_case(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults, failed_check: CheckResult
):
    """Each case has the name of the check, its points, its status and its message."""
    record = results(
        submission(check(), failed_check, check(Outcome.SKIPPED), check(Outcome.ERRORED))
    )
    (suite,) = parsed(junit(record).content)
    cases = suite.findall("testcase")

    assert suite.get("name") == "ada/01_tiny"
    assert properties(suite) == {"score": "2", "max_score": "8"}
    assert [[item.tag for item in case][1:] for case in cases] == [
        [], ["failure"], ["skipped"], ["error"],
    ]  # fmt: skip
    assert cases[0].get("classname") == "01_tiny.double"
    assert properties(cases[1]) == {"points": "0", "max_points": "2"}
    assert cases[1][1].attrib == {"type": "wrong-value", "message": "It differs."}
    assert "What is twice three?" in cases[1][1].text


def test_trouble_of_the_whole_submission_is_an_error(
    results: MakeResults, unread: SubmissionResult, broken: SubmissionResult
):
    """A submission without a grade has no score, and an unreadable one has zero."""
    suites = parsed(junit(results(unread, broken)).content)

    assert [properties(suite) for suite in suites] == [{"score": "0"}, {}]
    assert [suite.find("testcase/error").get("type") for suite in suites] == [
        "unreadable",
        "grader-error",
    ]


def test_a_suite_is_never_empty(submission: MakeSubmission, results: MakeResults):
    """A suite has at least one case, because some readers report an empty suite as an error."""
    (suite,) = parsed(junit(results(submission())).content)

    assert suite.get("tests") == "1"


@given(st.text(st.characters()))
def test_any_text_makes_xml_that_parses(words: str):
    """Text that XML can't hold (controls, lone surrogates, U+FFFF) gives XML that parses."""
    failed = CheckResult(
        name=words, title=words, outcome=Outcome.FAILED, status=Status.WRONG_VALUE,
        points=0.0, max_points=1.0, message=words,
    )  # fmt: skip
    result = SubmissionResult(
        student=words, stage=words, status=Status.TIMEOUT, score=0.0, max_score=1.0,
        message=words, exercises=(ExerciseResult.of(words, (failed,)),),
    )  # fmt: skip

    assert (
        len(parsed(junit(Results(course=words, isolation="full", submissions=(result,))).content))
        == 1
    )


def test_illegal_characters_are_dropped(
    check: MakeCheck, submission: MakeSubmission, results: MakeResults
):
    """Illegal characters are dropped; the rest of the message stays, and markup is text."""
    failed = check(Outcome.FAILED, message="a\x00\x0b\ud800\ufffe]]><b>&c")
    (suite,) = parsed(junit(results(submission(failed))).content)

    assert suite.find("testcase/failure").get("message") == "a\ufffd]]><b>&c"
