"""Fingerprints: the numbers that known mistakes show, and recognising a mistake by them."""

import json

import msgspec
import pytest
import torch

from autograder import course as courses
from autograder.authoring import markers, release, verify
from autograder.course import Course, Stage
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.matcher import Failure, MisconceptionMatcher
from autograder.diagnosis.misconceptions import Misconception
from autograder.diagnosis.observation import Observation
from autograder.grading.suite_runner import SuiteRunner, open_suites
from autograder.sandbox.faults import Fault, Raised
from autograder.sandbox.protocol import OpaqueValue
from autograder.suite.in_process import LocalChannel

MAX_BYTES = 300_000  # of one stage; a student downloads them all


def sealed(*answers: object, error: BaseException | None = None) -> list[object]:
    """The numbers kept of *answers*."""
    seen = Observation(tuple(("call", answer) for answer in answers), error)
    return fingerprints.take("test_a", seen)[1]


def ended(error: BaseException, *answers: object) -> tuple[str, str, str]:
    """What is kept of how a check ended."""
    seen = Observation(tuple(("call", answer) for answer in answers), error)
    taken = fingerprints.take("test_a", seen)[0]
    return taken.status, taken.kind, taken.said


def raised(text: str) -> Raised:
    """An exception of the student's code."""
    message = f"f raised ValueError in line 3: x + y\n{text}"
    return Raised("ValueError", text, message, public="f raised an exception.")


def named(
    knows: MisconceptionMatcher, runner: SuiteRunner, stage: Stage, item: Misconception
) -> object:
    """What is said when misconception *item* is handed in to the public suite."""
    text = item.module(stage.solution.read_text("utf-8"))
    channel = LocalChannel(f"handed_in_{item.id}", text.encode())
    seen = [
        Failure(check, spec, runner.run(check, channel))
        for check, spec in runner.checks(stage.name)
        if spec.exercise == item.exercise
    ]
    failures = [one for one in seen if one.observation.error is not None]
    passed = [one.item for one in seen if one.observation.error is None]
    return knows.explain(item.exercise, failures, passed)


@pytest.fixture
def known(tiny: Course) -> fingerprints.Fingerprints:
    """The fingerprints of the tiny course."""
    release.build(tiny)
    return fingerprints.from_json(tiny.stages[0].fingerprints.read_bytes())


def test_release_keeps_what_the_public_suite_sees(known):
    """One mistake fails the public suite, with one answer; the other is none of its business."""
    assert [mistake.id for mistake in known.mistakes] == ["squares"]
    assert known.answers == ({"dtype": "float32", "shape": [2], "values": [1.0, 1.0]},)
    assert known.prints == (
        fingerprints.Print(
            check="test_doubles_one", of=("squares",), status="wrong-value", answers=(0,)
        ),
    )


def test_what_is_written_is_read_again(known):
    """Encoding twice gives the same bytes, one item a line."""
    text = fingerprints.to_json(known)

    assert fingerprints.from_json(text) == known
    assert fingerprints.to_json(fingerprints.from_json(text)) == text
    assert max(map(len, text.splitlines())) < 200


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param(torch.ones(2), torch.ones(2) + 1e-6, True, id="float-noise"),
        pytest.param(torch.ones(2), torch.ones(2) + 1e-3, False, id="other-values"),
        pytest.param(torch.ones(2), torch.ones(2, 1), False, id="other-shape"),
        pytest.param(torch.ones(2), torch.ones(2).double(), False, id="other-dtype"),
        pytest.param(torch.tensor([torch.nan]), torch.tensor([torch.nan]), True, id="nan"),
        pytest.param(torch.tensor([torch.inf]), torch.tensor([-torch.inf]), False, id="inf"),
        pytest.param(torch.tensor([-0.0]), torch.tensor([0.0]), True, id="zero-has-no-sign"),
        pytest.param(torch.zeros(9999), torch.zeros(9998), False, id="large"),
        pytest.param({"w": torch.ones(1)}, {"v": torch.ones(1)}, False, id="other-names"),
        pytest.param([1.0], (1.0,), False, id="list-or-tuple"),
        pytest.param(1, True, False, id="number-or-truth"),
        pytest.param(1, 1.0, False, id="int-or-float"),
        pytest.param(None, "None", False, id="nothing-or-a-word"),
        pytest.param(OpaqueValue("set"), OpaqueValue("map"), False, id="what-does-not-cross"),
    ],
)
def test_answers_are_the_same_up_to_noise(left, right, same):
    """The rule is that of a diagnosis by code, and holds after a round trip through JSON."""
    kept = json.loads(json.dumps(sealed(left), allow_nan=False))

    assert fingerprints.matches(sealed(right), kept) is same


def test_a_large_tensor_is_told_by_some_of_its_entries():
    """A file of fingerprints stays small."""
    (kept,) = sealed(torch.arange(10_000.0))

    assert len(kept["values"]) <= fingerprints.MAX_ENTRIES
    assert kept["shape"] == [10_000]


def test_words_are_kept_as_digests():
    """A message may quote a line of code; no word of it is kept."""
    status, kind, said = ended(raised("keys are missing"), torch.ones(1))

    assert (status, kind) == ("raised", "ValueError")
    assert set(said) <= set("0123456789abcdef")
    assert said != ended(raised("values are missing"), torch.ones(1))[2]
    assert isinstance(sealed("x = queries @ keys.T")[0], str)
    assert "queries" not in sealed("x = queries @ keys.T")[0]


def test_words_count_where_nothing_was_answered():
    """Without an answer the last words must agree, but for the numbers of lines in them."""
    here, there = (Fault("missing", f"Line {line} has no f.") for line in (3, 14))
    other = Fault("missing", "Line 3 has no g.")

    assert ended(here) == ended(there) != ended(other)
    assert ended(here, 1.0) == ended(other, 1.0)


def test_changes_are_told(known):
    """A number that differs by more than noise, a print too few, another word."""
    first = known.answers[0]
    moved = msgspec.structs.replace(known, answers=({**first, "values": [1.0, 1.5]},))
    noisy = msgspec.structs.replace(known, answers=({**first, "values": [1.0, 1.000001]},))
    silent = msgspec.structs.replace(known, prints=())

    assert list(fingerprints.changes(noisy, known)) == []
    assert list(fingerprints.changes(moved, known)) == [
        "test_doubles_one sees something else in squares"
    ]
    assert list(fingerprints.changes(silent, known)) == ["test_doubles_one fails squares"]


def test_fingerprints_name_what_the_code_names(pytestconfig):
    """On every known mistake of a stage, numbers and wrong code lead to the same diagnosis."""
    course = courses.load(pytestconfig.rootpath)
    stage = course.stage("02")

    def work(runner: SuiteRunner) -> list[str]:
        by_code, by_numbers = (
            MisconceptionMatcher(stage, runner.run),
            fingerprints.fingerprint_matcher(stage),
        )
        return [
            item.id
            for item in misconceptions.read(stage.misconceptions)
            if named(by_numbers, runner, stage, item) != named(by_code, runner, stage, item)
        ]

    with open_suites(course, [stage], public=True) as runner:
        assert work(runner) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("[1.0,1.0]", "[1.0,1.5]", "does not match", id="other-numbers"),
        pytest.param('"answers":[0]', '"answers":[7]', "can't be read", id="torn"),
        pytest.param("The numbers were squared.", "return x ** 2", "a line of squares", id="code"),
    ],
)
def test_verify_notices_edited_fingerprints(tiny: Course, known, old, new, words):
    """The digest of the sources is right, yet the numbers are made again, and code is seen."""
    stage = tiny.stages[0]
    stage.fingerprints.write_bytes(fingerprints.to_json(known).replace(old.encode(), new.encode()))
    with open_suites(tiny, [stage], public=True) as runner:
        found = list(verify.wrong_fingerprints(stage, runner))

    assert words in " ".join(found)
    assert release.stale(tiny) == (stage.assignment / stage.fingerprints.name,)


def test_the_courses_fingerprints_hold_no_code(pytestconfig):
    """No string in them holds a line of the solution; they are small, and every stage has some."""
    for stage in courses.load(pytestconfig.rootpath).stages:
        text = stage.fingerprints.read_bytes()
        secrets = markers.secret_lines(stage.solution.read_text("utf-8"), stage.solution.name)
        told = release.json_lines(stage.fingerprints)

        assert fingerprints.from_json(text).prints
        assert len(text) < MAX_BYTES
        assert not [line for line in told if any(secret in line for secret in secrets)]
