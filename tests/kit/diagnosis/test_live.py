"""Tests the names of mistakes in a stage without misconceptions."""

import pytest

from autograder.errors import CourseError
from autograder.suite.compare import agrees
from autograder.suite.student_proxy import Student
from tests.kit.diagnosis.conftest import KEYS, QUERIES, VALUES, Grader

ATTEND = """
def attend(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("no")
    return {}
"""
CAUSAL = """
class Causal(nn.Module):
    def __init__(self, d_in, d_out, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        e = torch.einsum("bqd,bkd->bqk", q, k) / k.shape[-1] ** 0.5
        hide = torch.triu(torch.ones(x.shape[1], x.shape[1]), diagonal=1).bool()
        w = torch.softmax(e.masked_fill(hide, float("-inf")), dim=2)
        return self.drop(w).matmul(v)
"""
E = "torch.einsum('qd,kd->qk', queries, keys)"
SINGLES = [  # the kind of mistake, the exercise, and what a student wrote
    ("scale_missing", f"{E}.softmax(-1) @ values"),
    ("scale_wrong_power", f"({E} / 4).softmax(-1) @ values"),
    ("scale_wrong_size", f"({E} / len(keys) ** 0.5).softmax(-1) @ values"),
    ("scale_misplaced", f"({E}.softmax(-1) / 2) @ values"),
    ("softmax_axis", f"({E} / 2).softmax(0) @ values"),
    ("softmax_missing", f"({E} / 2) @ values"),
    ("softmax_twice", f"({E} / 2).softmax(-1).softmax(-1) @ values"),
    ("projection_exchanged", f"({E} / 2).softmax(-1) @ keys"),
    ("detached", f"({E} / 2).softmax(-1).detach() @ values"),
]
CHANGES = [  # the kind of mistake, and how the class of a student differs from a right one
    ("mask_missing", 'e.masked_fill(hide, float("-inf"))', "e"),
    ("mask_shifted", "diagonal=1", "diagonal=2"),
    ("mask_inverted", "hide, float", "~hide, float"),
    ("mask_fill", 'float("-inf")', "0.0"),
    ("argument_ignored", "bias=qkv_bias", "bias=False"),
    ("dropout_missing", "self.drop(w)", "w"),
    ("dropout_always", "self.drop(w)", "nn.functional.dropout(w, 0.5)"),
    ("dropout_misplaced", "self.drop(w).matmul(v)", "self.drop(w @ v)"),
    ("transposed", "self.drop(w)", "self.drop(w).mT"),
]


@pytest.mark.parametrize(("kind", "result"), SINGLES, ids=[kind for kind, _ in SINGLES])
def test_a_mistake_in_a_function_is_named(grader: Grader, kind: str, result: str):
    """A mistake is named in an idiom that differs from the solution's: answers are compared."""
    assert grader.kinds("attend", ATTEND.format(result)) == {kind}


def test_a_missing_check_is_named(grader: Grader):
    """A missing check of an argument is named if the argument is not refused."""
    code = ATTEND.format("((queries @ keys[:, :queries.shape[1]].T) / 2).softmax(-1) @ values")
    unchecked = code.replace('raise ValueError("no")', "pass")

    assert grader.kinds("attend", unchecked) == {"not_refused"}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "old", "new"), CHANGES, ids=[one[0] for one in CHANGES])
def test_a_mistake_in_a_module_is_named(grader: Grader, kind: str, old: str, new: str):
    """Mistakes in parameters, masks and dropout have their own kinds."""
    assert old in CAUSAL

    assert grader.kinds("Causal", CAUSAL.replace(old, new)) == {kind}


def test_an_equal_exception_alone_names_nothing(grader: Grader):
    """The text of an exception is explained, but not the mistakes that may raise it."""
    found = grader.diagnose("attend", ATTEND.format("(queries @ keys / 2).softmax(-1) @ values"))

    assert {one.misconception for one in found.values()} == {"sizes_of_a_product"}


def test_a_refusal_of_what_is_right_is_named(grader: Grader):
    """A refusal of valid arguments is named, regardless of the text of its exception."""
    code = ATTEND.format("(queries @ keys.T / 2).softmax(-1) @ values").replace("!=", "==")

    assert grader.kinds("attend", code) == {"check_wrong"}


def test_programs_add_their_mistake_to_that_of_another_exercise(grader: Grader):
    """All programs of an exercise contain the mistake that another exercise is known to have."""
    known = grader.source.programs("attend")
    key = next(one for one in known.keys if known.mistake(one[0]).id == "scale_missing")
    programs = grader.source.programs("Causal", (("attend", known.definition(key)),))

    for one in ((), programs.own_keys[0]):
        result = Student(programs.channel(one)).call("attend", QUERIES, KEYS, VALUES)
        agrees(result, (QUERIES @ KEYS.T).softmax(-1) @ VALUES)


def test_two_mistakes_are_both_named(grader: Grader):
    """Two mistakes are both named, and the one to fix first is listed first."""
    found = grader.diagnose("attend", ATTEND.format(f"{E}.softmax(0) @ values"))
    named = {one.misconception: one.explanation for one in found.values()}

    assert list(named) == ["scale_missing + softmax_axis"]
    assert "First: The scores are not divided" in next(iter(named.values()))


DRAWS_FIRST = """
from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="draws_first",
        exercise="Causal",
        explanation="A number is drawn before the layers.",
        question="What is drawn?",
        swaps=(("self.W_query = nn", "torch.rand(1)\\n        self.W_query = nn"),),
    ),
)
"""
BOTH = CAUSAL.replace("__init__()", "__init__()\n        torch.rand(3)[0]", 1)


def test_a_misconception_is_named_alone_where_it_alone_shows(write_stage):
    """A misconception is named alone in the checks that it explains, elsewhere with the other."""
    grader = Grader(write_stage(DRAWS_FIRST))
    code = BOTH.replace("rand(3)[0]", "rand(1)").replace(" / k.shape[-1] ** 0.5", "")
    found = {check: one.misconception for check, one in grader.diagnose("Causal", code).items()}

    assert found["makes_layers"] == "draws_first"
    assert found["attends_to_the_past"] == "scale_missing + draws_first"


FLIPS = """
from autograder.diagnosis.misconceptions import Misconception

MISCONCEPTIONS = (
    Misconception(
        id="mixes_from_the_end",
        exercise="attend",
        explanation="The last value is mixed first.",
        question="Which value is first?",
        swaps=(("return weights @ values", "last = values.flip(0)\\n    return weights @ last"),),
    ),
)
"""


def test_a_misconception_may_be_one_of_two_mistakes(write_stage):
    """A misconception and a kind of mistake are named together, each in its own words."""
    grader = Grader(write_stage(FLIPS))
    code = ATTEND.format(f"{E}.softmax(-1) @ values.flip([0])")
    named = {one.misconception: one.explanation for one in grader.diagnose("attend", code).values()}

    assert list(named) == ["scale_missing + mixes_from_the_end"]
    assert "The last value is mixed first." in next(iter(named.values()))


def test_what_no_mistake_explains_has_no_kind(grader: Grader):
    """A result that is only close to that of a known mistake does not get its name."""
    assert grader.kinds("attend", ATTEND.format(f"{E}.softmax(-1) @ values + 1e-3")) == set()


def test_another_student_costs_no_further_run(grader: Grader):
    """The results of the programs are kept for the whole class."""
    code = ATTEND.format(f"({E} / 2).softmax(0) @ values")
    grader.diagnose("attend", code)
    found = grader.diagnose("attend", code.replace("(0)", "(dim=0)"))

    assert found
    assert grader.runs == []


def test_a_stage_silences_and_rewords_kinds(write_stage):
    """A stage's file of misconceptions turns off and rewords kinds."""
    words = 'OPERATORS = {"softmax_twice": None, "scale_missing": ("Too large.", "Why?")}\n'
    grader = Grader(write_stage(words))
    unscaled = grader.diagnose("attend", ATTEND.format(f"{E}.softmax(-1) @ values"))
    twice = grader.kinds("attend", ATTEND.format(f"({E} / 2).softmax(-1).softmax(-1) @ values"))

    assert {one.explanation for one in unscaled.values()} == {"Too large."}
    assert "softmax_twice" not in twice


def test_a_stage_that_rewords_no_kind_is_refused(write_stage):
    """A stage that rewords an unknown kind is refused before grading."""
    with pytest.raises(CourseError, match="scale_mising"):
        Grader(write_stage('OPERATORS = {"scale_mising": None}\n'))
