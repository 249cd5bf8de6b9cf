"""Naming the mistake: which misconception is chosen, and how little has to run for it."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from autograder.course import Course
from autograder.diagnosis.matcher import Failure, MisconceptionMatcher
from autograder.diagnosis.observation import Observation
from autograder.results import Diagnosis
from autograder.suite.checks import CheckSpec, Layer, expect
from autograder.suite.compare import agrees
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Student

NUMBERS = torch.tensor([0.5, -1.5, 3.0, 7.0])
MATRIX = torch.arange(6.0).reshape(2, 3) + 0.5
CARD = CheckSpec("double", 1.0, Layer.PROBE, ())
WRONGS = {  # what comes out of `double`, by the name of the mistake
    "squares": "x ** 2",
    "multiplies_by_itself": "x * x",
    "squares_vectors": "x ** 2 if x.ndim == 1 else 2 * x",
    "squares_matrices": "x ** 2 if x.ndim == 2 else 2 * x",
    "cubes": "x ** 3",
    "needs_a_matrix": "2 * x.view(2, 3)",
}

Explained = dict[str, Diagnosis]


def doubles_numbers(student: Student) -> None:
    """Compare on a vector."""
    agrees(student.call("double", NUMBERS), 2 * NUMBERS)


def doubles_a_matrix(student: Student) -> None:
    """Compare on a matrix."""
    agrees(student.call("double", MATRIX), 2 * MATRIX)


def doubles_nothing(student: Student) -> None:
    """Compare where nearly everything is right."""
    agrees(student.call("double", torch.zeros(2, 3)), torch.zeros(2, 3))


def is_defined(student: Student) -> None:
    """Look without asking for a value."""
    expect(student.has("double") and not student.refuses("double", NUMBERS), "It raises.")


CHECKS = (doubles_numbers, doubles_a_matrix, doubles_nothing)


class SuiteContext:
    """Runs checks as the judge does, and counts."""

    def __init__(self, course: Course) -> None:
        self.runs: list[str] = []
        self.matcher = MisconceptionMatcher(course.stages[0], self.run)

    def run(self, item: SimpleNamespace, channel: LocalChannel) -> Observation:
        """Run one check against *channel*."""
        self.runs.append(item.name)
        student = Student(channel)
        try:
            item.check(student)
        except Exception as error:  # noqa: BLE001  # as a check ends
            return Observation(tuple(student.observed), error)
        return Observation(tuple(student.observed), None)

    def explain(self, result: str, *checks: Callable[[Student], None]) -> Explained:
        """Hand in a `double` that returns *result*, and name its mistake."""
        text = f"import torch\n\n\ndef double(x):\n    return {result}\n"
        channel = LocalChannel("student", text.encode())
        items = [
            SimpleNamespace(name=check.__name__, nodeid=check.__name__, check=check)
            for check in checks or CHECKS
        ]
        seen = [(item, self.run(item, channel)) for item in items]
        self.runs.clear()
        failures = [
            Failure(item, CARD, observation) for item, observation in seen if observation.error
        ]
        passed = [item for item, observation in seen if not observation.error]
        return self.matcher.explain("double", failures, passed)


@pytest.fixture
def make_desk(write_course) -> Callable[..., SuiteContext]:
    """Open a desk on the tiny course with some of the wrong answers in its bank."""

    def make(*names: str) -> SuiteContext:
        items = "".join(
            f"Misconception(id={name!r}, exercise='double', explanation={f'It {name}.'!r},"
            f" question='What is twice {name}?', swaps=(('2 * x', {WRONGS[name]!r}),)),\n"
            for name in names
        )
        start = "from autograder.diagnosis.misconceptions import Misconception\n\nMISCONCEPTIONS = "
        text = f"{start}({items})\n"
        return SuiteContext(write_course({"tests/hidden/01_tiny/misconceptions.py": text}))

    return make


def names(explained: Explained) -> dict[str, str]:
    """What each check's mistake is called."""
    return {check: diagnosis.misconception for check, diagnosis in explained.items()}


def test_a_mistake_is_recognised_in_other_words(make_desk):
    """What comes out counts, not how it is written; the bank's words are told."""
    explained = make_desk("cubes", "squares").explain("torch.einsum('...,...->...', x, x)")

    assert set(names(explained).values()) == {"squares"}
    assert explained["doubles_numbers"].explanation == "It squares."
    assert explained["doubles_numbers"].hint == "What is twice squares?"


def test_a_mistake_nobody_knows_is_not_given_a_name(make_desk):
    """Near is not enough."""
    assert make_desk("squares", "cubes").explain("x ** 2 + 1e-3") == {}


def test_what_explains_most_is_chosen(make_desk):
    """A mistake that shows in one of two failed checks gives way to one that shows in both."""
    explained = make_desk("squares_vectors", "squares_matrices", "squares").explain("x * x")

    assert names(explained) == {"doubles_numbers": "squares", "doubles_a_matrix": "squares"}


def test_what_a_check_does_not_show_is_not_said_of_it(make_desk):
    """Only the checks that a mistake explains are given its name."""
    explained = make_desk("squares_vectors").explain("x ** 2 if x.ndim == 1 else x + 9")

    assert names(explained) == {"doubles_numbers": "squares_vectors"}


def test_equals_are_named_together(make_desk):
    """What no answer can tell apart is told as either the one or the other."""
    explained = make_desk("squares", "cubes", "multiplies_by_itself").explain("x.pow(2)")

    assert set(names(explained).values()) == {"squares / multiplies_by_itself"}
    assert (
        explained["doubles_numbers"].explanation
        == "Either: It squares. Or: It multiplies_by_itself."
    )
    assert explained["doubles_numbers"].hint == "What is twice squares?"


def test_of_equals_one_that_fails_what_the_student_passed_is_dropped(make_desk):
    """Squares of vectors only: whoever squares matrices as well would have failed there."""
    explained = make_desk("squares", "squares_vectors").explain(WRONGS["squares_vectors"])

    assert names(explained) == {"doubles_numbers": "squares_vectors"}


def test_nothing_runs_where_all_passes(make_desk):
    """Right code costs no replay."""
    context = make_desk("squares", "cubes")

    assert context.explain("x + x") == {}
    assert context.runs == []


def test_a_check_that_passed_is_not_replayed_for_one_candidate(make_desk):
    """Where one mistake stands alone, only failed checks run again."""
    context = make_desk("squares_vectors")
    context.explain(WRONGS["squares_vectors"])

    assert set(context.runs) == {"doubles_numbers"}


def test_a_replay_is_kept(make_desk):
    """The second student with the same mistake costs nothing, nor does the third with another."""
    context = make_desk("squares", "cubes")
    first = context.explain("x * x")
    ran = len(context.runs)

    assert ran
    assert context.explain("x ** 2") == first
    assert context.runs == []


def test_what_is_behind_is_not_replayed(make_desk):
    """Once one explains everything, whoever missed one check is tried on no other."""
    context = make_desk("cubes", "squares")
    context.explain("x * x")

    assert context.runs.count("doubles_numbers") == 3  # the solution, and both mistakes
    assert context.runs.count("doubles_a_matrix") == 2  # the solution, and `squares`


def test_an_exception_goes_along_with_what_tells(make_desk):
    """A mistake that another answer proves explains the exceptions of the same text too."""
    explained = make_desk("squares", "needs_a_matrix").explain(
        "x.reshape(2, 3) * 2", doubles_numbers, is_defined
    )

    assert names(explained) == dict.fromkeys(("doubles_numbers", "is_defined"), "needs_a_matrix")


def test_an_exception_alone_accuses_nobody(make_desk):
    """The same text from another line may come from another mistake."""
    assert make_desk("needs_a_matrix").explain("x.view(2, 3) + x") == {}


def test_an_unknown_mistake_is_read_instead(make_desk):
    """Where no misconception shows the same, the general readings speak."""
    explained = make_desk("squares").explain("-2 * x", doubles_a_matrix)

    assert names(explained) == {"doubles_a_matrix": "constant_factor"}
    assert "minus one" in explained["doubles_a_matrix"].explanation


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("torch.full_like(x, torch.nan)", id="nan"),
        pytest.param("torch.full_like(x, -torch.inf)", id="infinite"),
        pytest.param("(2 * x).to(torch.complex64)", id="complex"),
        pytest.param("(2 * x).to(torch.float8_e4m3fn)", id="float8"),
        pytest.param("2 * x.double()", id="float64"),
        pytest.param("x > 0", id="truth"),
        pytest.param("torch.empty(0, 3)", id="empty"),
        pytest.param("torch.tensor(3.0)", id="no-axes"),
        pytest.param("torch.zeros(1, 1, 1, 1, 1, 1, 1, 1)", id="many-axes"),
        pytest.param("torch.zeros(1000, 1000)", id="large"),
        pytest.param("torch.zeros(1).expand(10**9)", id="larger-than-allowed"),
        pytest.param("torch.full_like(x, 3e38)", id="huge-numbers"),
        pytest.param("x.to_sparse()", id="sparse"),
        pytest.param("x.to('meta')", id="meta"),
        pytest.param("10 ** 5000", id="huge-integer"),
        pytest.param("float('nan')", id="nan-as-number"),
        pytest.param("[[[[[[x]]]]]]", id="nested"),
        pytest.param("{'x': (x, None), 1: {2}}", id="mixed"),
        pytest.param("object()", id="object"),
        pytest.param("torch.nn.Linear(2, 2)", id="module"),
        pytest.param("1 / 0", id="exception"),
        pytest.param("exit()", id="exit"),
        pytest.param("None", id="none"),
    ],
)
def test_no_answer_is_too_odd(make_desk, answer: str):
    """Whatever was answered, diagnosing it does not fail, and none of the bank is accused."""
    explained = make_desk("squares", "cubes", "needs_a_matrix").explain(answer)

    assert not set(names(explained).values()) & set(WRONGS)
