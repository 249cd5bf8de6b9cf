"""Tests exercises that use each other: a mistake in one, and correct code in the other."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from autograder.authoring.garbage import Composition, composition
from autograder.course import Course, Stage
from autograder.course_file import Grading
from autograder.diagnosis.mistakes.kinds import KINDS
from autograder.grading.grade import grade_one
from autograder.grading.suite_runner import open_suites
from autograder.results import ExerciseResult, SubmissionResult
from autograder.sandbox.supervisor import ForkServer
from autograder.submission import Code, Submission
from tests.e2e.conftest import GradeClass
from tools.fresh_mistakes import Program, programs
from tools.wrong_programs import with_kind, with_misconception

pytestmark = pytest.mark.slow

SELF_ATTENTION_01 = '''
def simple_self_attention(inputs):
    """Call the two steps."""
    return attention_weights(attention_scores(inputs)) @ inputs
'''
CAUSAL_MEANS_02 = '''
def causal_mean_matmul(x):
    """Call the weights."""
    return averaging_weights(x.shape[-2]).matmul(x)


def causal_mean_softmax(x):
    """Call the weights."""
    return torch.einsum("ij,bjc->bic", masked_softmax_weights(x.size(1)), x)
'''
SELF_ATTENTION_03 = '''
def self_attention(inputs, W_query, W_key, W_value):
    """Call all steps."""
    keys = project(inputs, W_key)
    scores = attention_scores(project(inputs, W_query), keys)
    return context_vectors(attention_weights(scores, keys.size(1)), project(inputs, W_value))
'''
HEAD_06 = '''
class AttentionHead(nn.Module):
    """Call both functions."""

    def __init__(self, embedding_dim, head_size, block_size):
        super().__init__()
        self.key, self.query, self.value = (
            nn.Linear(embedding_dim, head_size, bias=False) for _ in range(3)
        )
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        if x.size(1) > len(self.tril):
            raise ValueError("too long")
        return causal_pattern(scaled_scores(self.query(x), self.key(x))) @ self.value(x)
'''
HEADS_10 = '''
class MultiHeadAttention(nn.Module):
    """Call both functions."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("uneven heads")
        self.H = num_heads
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        )
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril() == 0)

    def forward(self, x):
        T = x.size(1)
        if T > len(self.mask):
            raise ValueError("too long")
        q, k, v = (split_heads(w(x), self.H) for w in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.size(-1) ** -0.5
        weights = scores.masked_fill(self.mask[:T, :T], -torch.inf).softmax(-1)
        return self.out_proj(merge_heads(self.drop(weights) @ v))
'''


class Pair(NamedTuple):
    """*upper* uses *lower*, in the solution or in the code *above*; *lower* has *mistake*.

    The mistake is a misconception, or a kind with *words* in its explanation.
    """

    stage: str
    lower: str
    upper: str
    mistake: str
    above: str = ""
    words: str = ""

    @property
    def name(self) -> str:
        """The student who makes the mistake."""
        return f"{self.stage} {self.mistake} {self.words} in {self.lower}"


SCORES_01 = Pair(
    "01", "attention_scores", "simple_self_attention", "scores_by_distance", SELF_ATTENTION_01
)
WRAPPER_09 = Pair("09", "CausalAttention", "MultiHeadAttentionWrapper", "mask_after_softmax")
TRANSFERRED = {
    "SelfAttention_v1": (
        ("scale_missing", ""),
        ("creation_order", ""),
        ("parameter_kind", "plain tensors"),
        ("parameter_kind", "frozen"),
        ("nothing_returned", ""),
    ),
    "SelfAttention_v2": (
        ("scale_missing", ""),
        ("argument_ignored", "have a bias"),
        ("argument_ignored", "no bias"),
        ("creation_order", ""),
        ("swaps_in_and_out", ""),
    ),
}
MERGE_10 = Pair(  # an exception ends every call, so only a stand-in shows the code above
    "10", "merge_heads", "MultiHeadAttention", "heads_mixed", HEADS_10, "not merged"
)
HEAD_THAT_AVERAGES = Pair(
    "06", "causal_pattern", "AttentionHead", "averages_the_visible_tokens", HEAD_06
)
NOTICED = (
    SCORES_01,
    SCORES_01._replace(lower="attention_weights", mistake="softmax_axis"),
    Pair("02", "averaging_weights", "causal_mean_matmul", "mask_inverted", CAUSAL_MEANS_02),
    Pair(
        "02",
        "masked_softmax_weights",
        "causal_mean_softmax",
        "mask_shifted",
        CAUSAL_MEANS_02,
        "the one after it",
    ),
    Pair("03", "project", "self_attention", "softmax_extra", SELF_ATTENTION_03),
    Pair("03", "attention_scores", "self_attention", "length_extra", SELF_ATTENTION_03),
    Pair("03", "attention_weights", "self_attention", "scale_missing", SELF_ATTENTION_03),
    Pair("03", "context_vectors", "self_attention", "softmax_twice", SELF_ATTENTION_03),
    Pair("06", "scaled_scores", "AttentionHead", "scale_wrong_power", HEAD_06),
    Pair("06", "causal_pattern", "AttentionHead", "mask_shifted", HEAD_06, "from itself"),
    Pair("09", "Attention", "MultiHeadAttention", "scale_missing"),
    Pair("09", "Attention", "MultiHeadAttention", "swaps_queries_and_keys"),
    WRAPPER_09,
    Pair("10", "split_heads", "MultiHeadAttention", "reshaped", HEADS_10, "Neighboring"),
    Pair("10", "merge_heads", "MultiHeadAttention", "heads_mixed", HEADS_10, "alternate"),
    MERGE_10,
)
UNNOTICED = (  # mistakes that no check of the exercise above notices
    Pair("03", "project", "self_attention", "serves_no_single_vector", SELF_ATTENTION_03),
    SCORES_01._replace(mistake="loops_over_all_pairs"),
    *(
        Pair("04", lower, "transfer_weights", mistake, words=words)  # gets correct modules
        for lower, mistakes in TRANSFERRED.items()
        for mistake, words in mistakes
    ),
)
OTHERS = {  # more students with the mistake of a pair and a mistake in the exercise above
    "its own mistake": WRAPPER_09,
    "a copy of the mistake": WRAPPER_09,
    "the same mistake in its own code": SCORES_01,
    "code that the mistake hides": HEAD_THAT_AVERAGES,
    "code that the exception hides": MERGE_10,
    "keys for values": WRAPPER_09._replace(
        lower="Attention", upper="MultiHeadAttention", mistake="swaps_queries_and_keys"
    ),
}
TOGETHER = {  # exercises with a mistake each, below the code of a pair
    "03": (
        ("attention_scores", "length_extra", ""),
        ("attention_weights", "scale_missing", ""),
    ),
    "06": (
        ("scaled_scores", "scale_wrong_power", ""),
        ("causal_pattern", "mask_shifted", "from itself"),
    ),
    "10": (
        ("split_heads", "reshaped", "Neighboring"),
        ("merge_heads", "heads_mixed", "alternate"),
    ),
}
ABOVE = {
    "03": ("self_attention", SELF_ATTENTION_03),
    "06": ("AttentionHead", HEAD_06),
    "10": ("MultiHeadAttention", HEADS_10),
}
NEW_MISTAKE = "that no misconception knows"


@pytest.fixture(scope="module")
def graded(course: Course, grade_class: GradeClass) -> dict[str, SubmissionResult]:
    """Grade everybody at once; return the results by student."""
    class_ = [
        submitted(course, pair, pair.name, wrong(course, pair) + pair.above)
        for pair in (*NOTICED, *UNNOTICED)
    ]
    class_ += [
        submitted(course, pair, student, text_of(course, student))
        for student, pair in OTHERS.items()
    ]
    class_ += [
        submitted(course, two(stage)[0], stage, two_mistakes(course, stage)) for stage in TOGETHER
    ]
    class_ += [submitted(course, SCORES_01, NEW_MISTAKE, unnamed(course))]
    return {result.student: result for result in grade_class(class_)}


def wrong(course: Course, pair: Pair) -> str:
    """The solution with the mistake of *pair* in it."""
    stage = course.stage(pair.stage)
    return with_mistake(stage, stage.solution.read_text("utf-8"), pair)


def with_mistake(stage: Stage, text: str, pair: Pair) -> str:
    """Put the mistake of *pair* into *text*."""
    if pair.mistake in KINDS:
        return with_kind(stage, text, pair.lower, pair.mistake, pair.words)
    return with_misconception(stage, text, pair.mistake)


def two(stage: str) -> tuple[Pair, ...]:
    """The exercises with a mistake in *stage*, each with the exercise that uses it."""
    return tuple(
        Pair(stage, lower, ABOVE[stage][0], mistake, ABOVE[stage][1], words)
        for lower, mistake, words in TOGETHER[stage]
    )


def two_mistakes(course: Course, stage: str) -> str:
    """The solution of *stage* with two mistakes, and correct code that uses them."""
    found = course.stage(stage)
    text = found.solution.read_text("utf-8")
    for pair in two(stage):
        text = with_mistake(found, text, pair)
    return text + ABOVE[stage][1]


def unnamed(course: Course) -> str:
    """The solution of stage 01 with a new mistake, and correct code that uses it."""
    text = course.stage("01").solution.read_text("utf-8")
    wrong = "\n\ndef attention_scores(inputs):\n    return 1.3 + 1.7 * inputs @ inputs.flip(1).T\n"
    return text + wrong + SELF_ATTENTION_01


def text_of(course: Course, student: str) -> str:
    """Return the module of one of ``OTHERS``."""
    text = wrong(course, OTHERS[student])
    if student == "its own mistake":
        return replaced(text, "return torch.cat(contexts, dim=-1)", "return sum(contexts)")
    if student == "a copy of the mistake":
        start, end = text.index("class CausalAttention"), text.index("class MultiHeadAttention(")
        copy = text[start:end].replace("class CausalAttention", "class Head")
        return replaced(text, "                CausalAttention(", "                Head(") + copy
    if student == "code that the exception hides":  # nothing hides the future
        return text + replaced(HEADS_10, ".masked_fill(self.mask[:T, :T], -torch.inf)", "")
    if student == "keys for values":
        right = "head(encodings_for_q, encodings_for_k, encodings_for_v, mask)"
        return replaced(
            text, right, "head(encodings_for_q, encodings_for_v, encodings_for_k, mask)"
        )
    if student == "code that the mistake hides":  # queries and keys are never used
        scores = "scaled_scores(self.query(x), self.key(x))"
        return text + replaced(HEAD_06, scores, "torch.zeros(len(x), x.size(1), x.size(1))")
    return text + (
        "\n\ndef simple_self_attention(inputs):\n"
        "    scores = -torch.cdist(inputs, inputs)\n"
        "    return torch.softmax(scores, dim=-1) @ inputs\n"
    )


def replaced(text: str, old: str, new: str) -> str:
    """Replace *old*, which occurs in *text* once."""
    assert text.count(old) == 1

    return text.replace(old, new)


def submitted(course: Course, pair: Pair, student: str, text: str) -> Submission:
    """Submit *text*."""
    stage = course.stage(pair.stage)
    code = Code(kind="module", cells=(text.encode(),), label=stage.solution.name)
    return Submission(student=student, stage=stage.name, code=code)


def both(result: SubmissionResult, pair: Pair) -> tuple[ExerciseResult, ExerciseResult]:
    """The results of the wrong exercise and of the exercise that uses it."""
    found = {exercise.name: exercise for exercise in result.exercises}
    return found[pair.lower], found[pair.upper]


@pytest.mark.parametrize("pair", NOTICED, ids=[pair.name for pair in NOTICED])
def test_the_exercise_above_keeps_its_points(graded: dict[str, SubmissionResult], pair: Pair):
    """A mistake costs points in its own exercise; carried points are counted separately."""
    lower, upper = both(graded[pair.name], pair)

    assert lower.score < lower.max_score
    assert upper.score == upper.max_score
    assert {check.given for check in upper.checks} - {""} == {pair.lower}
    assert 0 < upper.carried == graded[pair.name].carried
    assert lower.carried == 0


@pytest.mark.parametrize("pair", UNNOTICED, ids=[pair.name for pair in UNNOTICED])
def test_a_mistake_that_shows_below_only_carries_nothing(
    graded: dict[str, SubmissionResult], pair: Pair
):
    """A mistake that no check of the second exercise notices carries no points to it."""
    lower, upper = both(graded[pair.name], pair)

    assert lower.score < lower.max_score
    assert upper.score == upper.max_score
    assert upper.carried == 0


@pytest.mark.parametrize("stage", TOGETHER)
def test_two_mistakes_below_cost_nothing_above(graded: dict[str, SubmissionResult], stage: str):
    """An exercise that is correct, given two mistakes in others, loses no points."""
    upper = both(graded[stage], two(stage)[0])[1]
    names = [pair.lower for pair in two(stage)]

    assert upper.score == upper.max_score
    assert {check.given for check in upper.checks} - {""} == {" and ".join(names)}


def test_what_has_no_name_and_passes_no_probe_is_not_carried(graded: dict[str, SubmissionResult]):
    """A wrong exercise that may be garbage carries no points."""
    lower, upper = both(graded[NEW_MISTAKE], SCORES_01)

    assert lower.score < lower.max_score
    assert upper.carried == 0


@pytest.mark.parametrize("student", OTHERS)
def test_a_second_mistake_costs_too(graded: dict[str, SubmissionResult], student: str):
    """An exercise that is wrong itself, or does not use the other one, gets no carried points."""
    lower, upper = both(graded[student], OTHERS[student])

    assert lower.score < lower.max_score
    assert upper.score < upper.max_score
    assert graded[student].carried == 0


def test_a_course_can_turn_it_off(course: Course, fork_server: ForkServer):
    """With `carry_forward` off, a mistake loses points in both exercises."""
    strict = Course(course.root, replace(course.file, grading=Grading(carry_forward=False)))
    submission = submitted(course, WRAPPER_09, "ada", wrong(course, WRAPPER_09))
    with open_suites(strict, [strict.stage(submission.stage)]) as runner:
        result = grade_one(runner, fork_server, submission)
    upper = both(result, WRAPPER_09)[1]

    assert upper.score < upper.max_score
    assert result.carried == 0


CARRIED_BEFORE = tomllib.loads(Path(__file__).with_name("carried_points.toml").read_text("utf-8"))
KEPT = 0.95  # share of the points that realistic mistakes kept before an attempt was required
DTYPE = 0.1  # points of an exercise for its dtype, which are not carried; earlier suites had none


@pytest.mark.nightly  # forty seconds; the tests above carry mistakes in each stage
def test_realistic_mistakes_keep_what_is_carried(grade_class: GradeClass, course: Course):
    """Garbage that correct code uses earns little, and an attempt keeps nearly all its points."""
    kept = before = 0.0
    for name, points in CARRIED_BEFORE.items():
        base = composition(course.stage(name))
        assert base is not None
        above = len(course.stage(name).exercises) - len(base.used)
        wanted = [one for one in programs() if one.stage == name and one.id in points]
        for one, result in zip(
            wanted, grade_class([below(base, one) for one in wanted]), strict=True
        ):
            before += points[one.id]
            kept += min(points[one.id], result.carried + DTYPE * above)

    assert KEPT * before <= kept <= before


def below(base: Composition, program: Program) -> Submission:
    """Submit the right program *base* with the definitions of *program* in it."""
    text = f"{base.path.read_text('utf-8')}\n\n{program.code}".encode()
    code = Code(kind="module", cells=(text,), label=f"{program.id}.py")
    return Submission(student=program.id, stage=program.stage, code=code)
