"""When one mistake is all that is wrong in an exercise."""

from types import SimpleNamespace

import pytest

from autograder.diagnosis.naming import Mistake
from autograder.diagnosis.observation import Failure, Observation
from autograder.diagnosis.ranking import Candidate, Explanation
from autograder.diagnosis.slip_finder import Slip, find_slip
from autograder.results import Status
from autograder.suite.checks import WrongAnswer, check

WRONG = WrongAnswer(Status.WRONG_VALUE, "It differs.")
BROKEN = WrongAnswer(Status.FORBIDDEN, "It is forbidden.")
LOOKS = frozenset({"call", "operators"})
MISTAKES = (
    Mistake("scale_missing", "Not divided.", "By what?", "Not divided", "scale"),
    Mistake("softmax_axis", "The wrong axis.", "Which?", "The wrong axis", "axis"),
)


def failure(
    layer: str, error: WrongAnswer = WRONG, methods: frozenset[str] = frozenset({"call"})
) -> Failure:
    """A failed check of a layer, by its name; *methods* are those that it used before it ended."""
    mark = check("Head", points=1, layer=layer).mark
    item = SimpleNamespace(name=layer, get_closest_marker=lambda _: mark)
    return Failure(item, Observation((), error, methods=methods))


def slip_of(*programs: Candidate, failures: tuple[Failure, ...]) -> Slip | None:
    """The slip behind *failures*, which each of *programs* explains."""
    source = SimpleNamespace(
        programs=lambda _: SimpleNamespace(mistake=lambda number: MISTAKES[number]),
        script=lambda _: SimpleNamespace(solved=Observation((), None, methods=LOOKS)),
    )
    return find_slip(source, "Head", Explanation({}, [programs]), failures)


def test_one_mistake_that_explains_every_failure_is_a_slip():
    """Its name, its sentence, and the checks that it fails are known."""
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
    ],
)
def test_anything_else_is_not_a_slip(programs: list[Candidate], failures: tuple[Failure, ...]):
    """A failure that no numbers explain may have another cause."""
    assert slip_of(*programs, failures=failures) is None


def test_an_exception_next_to_a_probe_that_is_explained_belongs_to_the_slip():
    """The numbers of the probe are certain, and the exception is the same."""
    found = slip_of(
        Candidate((0,), frozenset({"probe"}), frozenset({"gradients"})),
        failures=(failure("probe"), failure("gradients")),
    )

    assert found is not None


def test_a_check_that_did_not_look_at_the_rule_is_not_proved():
    """It ended with the wrong answer, before the functions that run were known."""
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
