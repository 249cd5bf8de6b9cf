"""Tests finding a mistake that is the only fault of an exercise."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Failure, Observation
from autograder.diagnosis.ranking import Candidate, Explanation
from autograder.diagnosis.slip_finder import Slip, find_slip
from autograder.results import Status
from autograder.sandbox.faults import Fault
from autograder.suite.checks import WrongAnswer, check

WRONG = WrongAnswer(Status.WRONG_VALUE, "It differs.")
BROKEN = WrongAnswer(Status.FORBIDDEN, "It is forbidden.")
LOOKS = frozenset({"call", "operators"})
MISTAKES = (
    Mistake("scale_missing", "Not divided.", "By what?", "Not divided", "scale"),
    Mistake("softmax_axis", "The wrong axis.", "Which?", "The wrong axis", "axis"),
)


def failure(
    layer: str, error: BaseException = WRONG, methods: frozenset[str] = frozenset({"call"})
) -> Failure:
    """A failed check of a layer, by its name; *methods* are those that it used before it ended."""
    mark = check("Head", points=1, layer=layer).mark
    item = SimpleNamespace(name=layer, get_closest_marker=lambda _: mark)
    return Failure(item, Observation((), error, methods=methods))


def answered(answer: Tensor) -> Failure:
    """A failed check on hidden inputs that got this answer."""
    return failure("probe")._replace(observation=Observation((("call", answer),), WRONG))


def slip_of(*programs: Candidate, failures: tuple[Failure, ...]) -> Slip | None:
    """Return the slip for *failures* if each of *programs* explains these."""
    source = SimpleNamespace(
        programs=lambda _: SimpleNamespace(mistake=lambda number: MISTAKES[number]),
        solved_check=lambda _: SimpleNamespace(observation=Observation((), None, methods=LOOKS)),
    )
    return find_slip(source, "Head", Explanation({}, [programs]), failures)


def test_one_mistake_that_explains_every_failure_is_a_slip():
    """A slip has a name, a sentence, and the checks that it fails."""
    found = slip_of(
        Candidate((0,), frozenset({"probe", "gradients"})),
        failures=(failure("probe"), failure("gradients")),
    )

    assert found is not None
    assert found.ids == {"scale_missing"}
    assert found.sentences == {"Not divided."}
    assert found.checks == {"probe", "gradients"}


@pytest.mark.parametrize(
    ("programs", "failures"),
    [
        pytest.param(
            [Candidate((0,), frozenset({"probe"}))],
            (failure("probe"), failure("laws")),
            id="a-failure-left",
        ),
        pytest.param(
            [Candidate((0, 1), frozenset({"probe"}))], (failure("probe"),), id="two-mistakes"
        ),
        pytest.param(
            [Candidate((0,), frozenset({"laws"}), frozenset({"probe"}))],
            (failure("probe"), failure("laws")),
            id="an-exception-hides-the-probe",
        ),
        pytest.param(
            [Candidate((0,), frozenset({"forbidden"}))],
            (failure("forbidden", BROKEN),),
            id="a-broken-rule",
        ),
        pytest.param(
            [Candidate((0,), frozenset({"probe"}))], (answered(torch.zeros(2, 3)),), id="zeros"
        ),
        pytest.param(
            [Candidate((0,), frozenset({"probe"}))],
            (failure("probe", Fault(Status.TIMEOUT, "Late.")),),
            id="no-end",
        ),
    ],
)
def test_anything_else_is_not_a_slip(programs: list[Candidate], failures: tuple[Failure, ...]):
    """A failure that no numbers explain may have a different cause, so it is not a slip."""
    assert slip_of(*programs, failures=failures) is None


def test_an_answer_with_different_numbers_may_be_a_slip():
    """An answer with varying numbers may be a slip, because something was computed."""
    one = Candidate((0,), frozenset({"probe"}))

    assert slip_of(one, failures=(answered(torch.tensor([0.5, 1.5])),)) is not None


def test_an_exception_next_to_a_probe_that_is_explained_belongs_to_the_slip():
    """A slip that the probe proves also explains an equal exception in another check."""
    found = slip_of(
        Candidate((0,), frozenset({"probe"}), frozenset({"gradients"})),
        failures=(failure("probe"), failure("gradients")),
    )

    assert found is not None


def test_a_check_that_did_not_look_at_the_rule_is_not_proved():
    """A check that fails before it tests the rule does not prove that the rule is kept."""
    early, late = (
        slip_of(
            Candidate((0,), frozenset({"forbidden"})),
            failures=(failure("forbidden", methods=methods),),
        )
        for methods in (frozenset({"call"}), LOOKS)
    )

    assert early is not None
    assert late is not None
    assert early.unproved == {"forbidden"}
    assert late.unproved == set()
