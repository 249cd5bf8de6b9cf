"""Tests naming the mistakes of a submission, and describing its other failures."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from autograder.course import Course
from autograder.diagnosis.contract import Contract
from autograder.diagnosis.diagnostician import Diagnosed, diagnose
from autograder.diagnosis.live import LiveSource
from autograder.diagnosis.observation import Failure, Observation, Submitted
from autograder.diagnosis.ranking import Explanation
from autograder.diagnosis.student_code import StudentCode
from autograder.results import Diagnosis
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees
from autograder.suite.in_process import LocalChannel, solution_channel
from autograder.suite.student_proxy import Student
from tests.kit.diagnosis.conftest import observe

NUMBERS = torch.tensor([0.5, -1.5, 3.0, 7.0])
MATRIX = torch.arange(6.0).reshape(2, 3) + 0.5
WRONGS = {  # what `double` returns, by the name of the mistake
    "squares": "x ** 2",
    "multiplies_by_itself": "x * x",
    "takes_the_power": "x.pow(2)",
    "takes_the_square": "x.square()",
    "squares_vectors": "x ** 2 if x.ndim == 1 else 2 * x",
    "squares_matrices": "x ** 2 if x.ndim == 2 else 2 * x",
    "cubes": "x ** 3",
    "needs_a_matrix": "2 * x.view(2, 3)",
    "adds_two_to_many": "x + 2 if x.numel() > 1 else x",
}

Explained = dict[str, Diagnosis]


def doubles_numbers(student: Student) -> None:
    """Compare on a vector."""
    agrees(student.call("double", NUMBERS), 2 * NUMBERS)


def doubles_a_matrix(student: Student) -> None:
    """Compare on a matrix."""
    agrees(student.call("double", MATRIX), 2 * MATRIX)


def doubles_nothing(student: Student) -> None:
    """Compare on an input for which most mistakes give the correct answer."""
    agrees(student.call("double", torch.zeros(2, 3)), torch.zeros(2, 3))


def doubles_two(student: Student) -> None:
    """Compare on an input for which a sum equals the product."""
    agrees(student.call("double", torch.tensor([2.0])), torch.tensor([4.0]))


def is_defined(student: Student) -> None:
    """Run a check that asks for no value."""
    expect(student.has("double") and not student.refuses("double", NUMBERS), "It raises.")


CHECKS = (doubles_numbers, doubles_a_matrix, doubles_nothing)


class Grader:
    """Runs checks as a suite runner does, and lists them."""

    def __init__(self, course: Course) -> None:
        self.runs: list[str] = []
        stage = course.stages[0]
        self.source = LiveSource(stage, self.run, solution_channel(stage.solution))

    def run(self, item: SimpleNamespace, channel: LocalChannel) -> Observation:
        """Run one check against *channel*."""
        self.runs.append(item.name)
        return observe(item, channel)

    def explain(
        self, result: str, *checks: Callable[[Student], None], layers: dict[str, str] | None = None
    ) -> Explained:
        """Grade a `double` that returns *result*, and name its mistake."""
        return dict(self.diagnose(result, *checks, layers=layers).diagnoses)

    def diagnose(
        self, result: str, *checks: Callable[[Student], None], layers: dict[str, str] | None = None
    ) -> Diagnosed:
        """Grade a `double` that returns *result*; return also the programs behind its mistake."""
        text = f"import torch\n\n\ndef double(x):\n    return {result}\n"
        channel = LocalChannel("student", text.encode())
        layers = layers or {}
        marks = {name: check("double", points=1, layer=layers[name]).mark for name in layers}
        items = [
            SimpleNamespace(
                name=asked.__name__,
                nodeid=asked.__name__,
                check=asked,
                get_closest_marker=lambda _, name=asked.__name__: marks.get(name),
            )
            for asked in checks or CHECKS
        ]
        seen = [(item, self.run(item, channel)) for item in items]
        self.runs.clear()
        failures = [Failure(item, observation) for item, observation in seen if observation.error]
        passed = [item for item, observation in seen if not observation.error]
        code = StudentCode((text.encode(),), ["double"])
        return diagnose(self.source, Submitted("double", failures, passed, code))


@pytest.fixture
def make_grader(write_course) -> Callable[..., Grader]:
    """Make a grader of the tiny course with misconceptions for some of the wrong answers."""

    def make(*names: str) -> Grader:
        items = "".join(
            f"Misconception(id={name!r}, exercise='double', explanation={f'It {name}.'!r},"
            f" question='What is twice {name}?', swaps=(('2 * x', {WRONGS[name]!r}),)),\n"
            for name in names
        )
        start = "from autograder.diagnosis.misconceptions import Misconception\n\nMISCONCEPTIONS = "
        text = f"{start}({items})\n"
        return Grader(write_course({"tests/hidden/01_tiny/misconceptions.py": text}))

    return make


def names(explained: Explained) -> dict[str, str]:
    """Return the name of each check's mistake."""
    return {check: diagnosis.misconception for check, diagnosis in explained.items()}


def test_a_mistake_is_recognized_in_another_idiom(make_grader):
    """Results are compared, not code; the diagnosis has the misconception's sentences."""
    explained = make_grader("cubes", "squares").explain("torch.einsum('...,...->...', x, x)")

    assert set(names(explained).values()) == {"squares"}
    assert explained["doubles_numbers"].explanation == "It squares."
    assert explained["doubles_numbers"].hint == "What is twice squares?"


def test_an_unknown_mistake_gets_no_name(make_grader):
    """A wrong program that is only similar to a known mistake gets no name."""
    assert make_grader("squares", "cubes").explain("x ** 2 + 1e-3") == {}


def test_the_misconception_that_explains_most_is_chosen(make_grader):
    """A misconception that explains two failed checks is preferred to one that explains one."""
    explained = make_grader("squares_vectors", "squares_matrices", "squares").explain("x * x")

    assert names(explained) == {"doubles_numbers": "squares", "doubles_a_matrix": "squares"}


@pytest.mark.parametrize(
    ("layers", "named"),
    [
        pytest.param({}, {"doubles_numbers": "squares_vectors"}, id="two-mistakes"),
        pytest.param(
            {"doubles_numbers": "documented", "doubles_a_matrix": "probe"}, {}, id="sizes"
        ),
    ],
)
def test_documented_values_alone_name_nothing(
    make_grader, layers: dict[str, str], named: dict[str, str]
):
    """Equal answers on documented inputs are a coincidence if answers for other sizes differ."""
    grader = make_grader("squares_vectors")
    explained = grader.explain("x ** 2 if x.ndim == 1 else x + 9", layers=layers)

    assert names(explained) == named


def test_only_explained_checks_get_the_name(make_grader):
    """A failed check that the misconception does not explain has no diagnosis."""
    explained = make_grader("squares_vectors").explain("x ** 2 if x.ndim == 1 else x + 9")

    assert names(explained) == {"doubles_numbers": "squares_vectors"}


def test_indistinguishable_misconceptions_are_named_together(make_grader):
    """Misconceptions that no answer distinguishes are named with "either … or"."""
    explained = make_grader("squares", "cubes", "multiplies_by_itself").explain("x.pow(2)")

    assert set(names(explained).values()) == {"squares / multiplies_by_itself"}
    assert (
        explained["doubles_numbers"].explanation
        == "Either: It squares. Or: It multiplies_by_itself."
    )
    assert explained["doubles_numbers"].title == "Either: It squares. Or: It multiplies_by_itself"
    assert explained["doubles_numbers"].beyond_headline == ""
    assert explained["doubles_numbers"].hint == "What is twice squares?"


def test_each_alternative_has_its_own_word(make_grader):
    """A list of more than three alternatives states that it is not complete."""
    known = ("squares", "multiplies_by_itself", "takes_the_power", "takes_the_square")
    three, four = (make_grader(*names).explain("x ** 2") for names in (known[:3], known))
    listed = "Either: It squares. Or: It multiplies_by_itself. Or: It takes_the_power."

    assert three["doubles_numbers"].explanation == listed
    rest = "Or: a different mistake with the same result."
    assert four["doubles_numbers"].explanation == f"{listed} {rest}"


def test_a_misconception_that_fails_a_passed_check_is_dropped(make_grader):
    """A mistake for all sizes does not name code that is wrong only for vectors."""
    explained = make_grader("squares", "squares_vectors").explain(WRONGS["squares_vectors"])

    assert names(explained) == {"doubles_numbers": "squares_vectors"}


def test_nothing_is_replayed_if_every_check_passes(make_grader):
    """No wrong program runs for code that passes every check."""
    grader = make_grader("squares", "cubes")

    assert grader.explain("x + x") == {}
    assert grader.runs == []


def test_a_kind_is_preferred_to_a_misconception_that_fails_what_passed(make_grader):
    """A misconception that fails a passed check is not the submitted code; a kind is named."""
    checks = (doubles_numbers, doubles_two)
    added = make_grader("adds_two_to_many").explain("x + 2", *checks)
    same = make_grader("adds_two_to_many").explain(WRONGS["adds_two_to_many"], *checks)

    assert names(added) == {"doubles_numbers": "wrong_operation"}
    assert set(names(same).values()) == {"adds_two_to_many"}


def test_replays_are_kept(make_grader):
    """A second student with the same mistake needs no replay."""
    grader = make_grader("squares", "cubes")
    first = grader.explain("x * x")
    ran = len(grader.runs)

    assert ran
    assert grader.explain("x ** 2") == first
    assert grader.runs == []


def test_a_matching_exception_is_explained_too(make_grader):
    """A misconception that another answer proves explains exceptions with the same text."""
    explained = make_grader("squares", "needs_a_matrix").explain(
        "x.reshape(2, 3) * 2", doubles_numbers, is_defined
    )

    assert names(explained) == dict.fromkeys(("doubles_numbers", "is_defined"), "needs_a_matrix")


def test_the_text_of_an_exception_alone_is_not_a_diagnosis(make_grader):
    """Many mistakes raise the same text, so an exception alone is explained, not diagnosed."""
    found = make_grader("needs_a_matrix").explain("x.view(2, 3) + x")

    assert {item.misconception for item in found.values()} == {"view_of_another_size"}


def test_an_unknown_mistake_is_described_by_heuristics(make_grader):
    """Heuristics describe a failure that no misconception explains."""
    explained = make_grader("squares").explain("-2 * x", doubles_a_matrix)

    assert names(explained) == {"doubles_a_matrix": "constant_factor"}
    assert "off by the same factor" in explained["doubles_a_matrix"].explanation


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("torch.full_like(x, torch.nan)", id="nan"),
        pytest.param("torch.full_like(x, -torch.inf)", id="infinite"),
        pytest.param("(2 * x).to(torch.complex64)", id="complex"),
        pytest.param("(2 * x).to(torch.float8_e4m3fn)", id="float8"),
        pytest.param("2 * x.double()", id="float64"),
        pytest.param("x > 0", id="boolean"),
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
def test_any_answer_can_be_diagnosed(make_grader, answer: str):
    """Diagnosing an unusual answer raises nothing, and names no misconception."""
    explained = make_grader("squares", "cubes", "needs_a_matrix").explain(answer)

    assert not set(names(explained).values()) & set(WRONGS)


class Describes:
    """Describes the failures with these names by one pattern, and explains none."""

    def __init__(self, names: set[str], pattern: str) -> None:
        self._names = names
        self._pattern = pattern

    def contract(self, _exercise: str) -> Contract:
        """Return a stub without arguments."""
        return Contract({}, ())

    def explain(self, _submission: Submitted, *, complete: bool = False) -> Explanation:  # noqa: ARG002  # as a source
        """Find nothing."""
        return Explanation({})

    def describe(self, failure: Failure) -> Diagnosis | None:
        """Describe some failures."""
        if failure.item.name not in self._names:
            return None
        return Diagnosis(misconception=self._pattern, explanation="It is a step.", hint="")


@pytest.mark.parametrize("pattern", ["intermediate_step", "rows_shifted"])
@pytest.mark.parametrize("described", [1, 2, 3])
def test_a_pattern_in_few_checks_is_chance(described: int, pattern: str):
    """Code that returns an intermediate step does so in every call, so in most failed checks."""
    items = [SimpleNamespace(name=f"check_{number}") for number in range(4)]
    failures = [Failure(item, Observation((), AssertionError())) for item in items]
    source = Describes({item.name for item in items[:described]}, pattern)
    found = diagnose(source, Submitted("double", failures, [], StudentCode((), ())))

    assert len(found.diagnoses) == (described if described >= 2 else 0)
