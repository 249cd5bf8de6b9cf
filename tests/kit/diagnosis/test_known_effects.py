"""Readings on a student's machine: numbers take the place of the solution."""

import msgspec
import pytest
import torch

from autograder import course as courses
from autograder.authoring.effect_levels import EffectsMaker
from autograder.diagnosis import fingerprints, misconceptions
from autograder.diagnosis.causal_readings import handles_of
from autograder.diagnosis.changed_calls import find_call
from autograder.diagnosis.effects import compare_effects
from autograder.diagnosis.known_effects import (
    AskedChannel,
    KnownEffects,
    KnownEffectsReader,
    KnownSubject,
    Result,
    key_of,
)
from autograder.diagnosis.matcher import channel_of
from autograder.diagnosis.observation import Failure, Observation
from autograder.diagnosis.subjects import Pair, Subject
from autograder.grading.suite_runner import open_suites
from autograder.results import Status
from autograder.suite.checks import WrongAnswer
from autograder.suite.in_process import LocalChannel, solution_channel
from autograder.suite.student_proxy import Student
from tests.kit.diagnosis.test_effects import FORWARD, SCORES, SOLUTION

TOKENS, OTHER = torch.rand(4, 3), torch.rand(4, 3)
LATER = f"{FORWARD}{SCORES}        return torch.softmax(s / 6 ** 0.5, -1) @ self.W_value(x)\n"
CALLS = {
    "Causal": lambda student, x: student.new("Causal", 3, 6)(x),
    "halve": lambda student, x: student.call("halve", x),
}


def asked(channel: LocalChannel, name: str, x: torch.Tensor = TOKENS) -> AskedChannel:
    """Ask *channel* as a check of *name* does; return the channel that kept the requests."""
    kept = AskedChannel(channel)
    CALLS[name](Student(kept), x)
    return kept


def shown(channel: LocalChannel, name: str) -> Observation:
    """Return what a check of *name* shows, which finds the answer wrong."""
    student = Student(channel)
    CALLS[name](student, TOKENS)
    return Observation(student.observed, WrongAnswer(Status.WRONG_VALUE, "Wrong."))


@pytest.fixture(scope="module")
def known() -> KnownEffects:
    """What is known of the solution after two checks."""
    solution = LocalChannel("known", SOLUTION.encode())
    maker = EffectsMaker(solution)
    for name in CALLS:
        maker.add(name, asked(solution, name).requests, shown(solution, name))
    return msgspec.json.decode(msgspec.json.encode(maker.made()), type=KnownEffects)


def said(known: KnownEffects, name: str, code: str) -> set[str]:
    """Return the names of what is read in *code*, which fails one check of *name*."""
    channel = LocalChannel("wrong", (SOLUTION + code).encode())
    run = lambda _, asking: CALLS[name](Student(asking), OTHER)  # noqa: E731  # other numbers
    failure = Failure(Item(name), shown(channel, name))
    found = KnownEffectsReader(known, run).read(channel, [failure], [])
    return {one.misconception for one in found.values()}


class Item:
    """A check, of which only the name counts."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_later_token_is_read_without_the_solution(known: KnownEffects):
    """The numbers of the call are drawn again, so those of the check do not count."""
    assert said(known, "Causal", LATER) == {"later_token"}


def test_a_law_is_read_without_the_solution(known: KnownEffects):
    """Doubled inputs should give a doubled result."""
    assert said(known, "halve", "def halve(x):\n    return x / 2 + 1\n") == {"doubled"}


def test_right_code_and_an_unknown_call_have_no_reading(known: KnownEffects):
    """Nothing is said where there are no numbers to compare with."""
    assert said(known, "Causal", "") == set()
    assert said(KnownEffects(), "Causal", LATER) == set()
    assert said(msgspec.structs.replace(known, results={}), "Causal", LATER) == set()


def test_calls_are_found_by_shapes_masks_and_constants():
    """Other numbers make the same call; another size is another one."""
    solution = LocalChannel("known", SOLUTION.encode())
    first, second, third = (
        find_call(solution, asked(solution, "Causal", x).requests, [0, -1])
        for x in (TOKENS, OTHER, torch.rand(5, 3))
    )
    assert first
    assert second
    assert third

    assert key_of(first) == key_of(second) != key_of(third)


def test_the_numbers_stand_for_the_solution(pytestconfig: pytest.Config):
    """In every public call of a stage, each misconception is read as beside the solution."""
    stage = courses.load(pytestconfig.rootpath).stage("05")
    known = fingerprints.from_json(stage.fingerprints.read_bytes()).effects
    solution = solution_channel(stage.solution)
    wrong = [channel_of(stage, item) for item in misconceptions.read(stage.misconceptions)]
    found = []
    with open_suites(courses.handouts(stage.assignment.parent), [stage], public=True) as runner:
        for check in runner.checks(stage.name):
            kept = AskedChannel(solution)
            handles = handles_of(runner.run(check.item, kept))
            call = find_call(solution, kept.requests, handles)
            result = known.results.get(key_of(call)) if call else None
            for channel in wrong if call and result else ():
                subjects = KnownSubject(result, call), Subject(solution, call)
                theirs = Subject(channel, call)
                found.append([compare_effects(Pair(call, one, theirs)) for one in subjects])

    assert [pair for pair in found if pair[0] != pair[1]] == []
    assert len({one.name for one, _ in found if one}) > 2


def test_numbers_that_do_not_fit_are_rejected(known: KnownEffects):
    """A file that somebody edited costs the diagnosis, and no check."""
    (text, *_) = (msgspec.json.encode(one) for one in known.results.values())
    edited = text.replace(b'"numbers":[', b'"numbers":[1,')

    assert msgspec.json.decode(text, type=Result)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(edited, type=Result)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text.replace(b'"other 0 0 1":"', b'"other 0 0 1":"9'), type=Result)
