"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
from autograder.suite.student_proxy import RemoteModule, Student


@pytest.fixture
def inputs(documented: DocumentedTensors) -> Tensor:
    """Return "Your journey starts with one step", one embedding per row: (6, 3)."""
    return documented["000.inputs"].tensor.clone()


@pytest.fixture
def keeps_dtype(student: Student) -> Callable[..., None]:
    """Return a check that a function, or a module, answers in the dtype of its tensors."""

    def compare(asked: str | RemoteModule, *args: object) -> None:
        for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
            given = [arg.to(dtype) if isinstance(arg, Tensor) else arg for arg in args]
            if isinstance(asked, RemoteModule):
                asked.move(name)
                answer = asked(*given)
            else:
                answer = student.call(asked, *given)
            same_dtype(tensor(answer), dtype, f"The result for {name} inputs")

    return compare


READY_ATTENTION = frozenset(
    {
        "MultiheadAttention",
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "_native_multi_head_attention",
        "_scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_transformer_encoder_layer_fwd",
        "flex_attention",
        "multi_head_attention_forward",
        "onnx",
        "scaled_dot_product_attention",
    }
)
NAME = "MultiHeadAttention"
QKV = ("W_query", "W_key", "W_value")
NO_BIAS, BIAS = False, True  # values of qkv_bias
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Use one matrix product for all tokens at once."
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
EFFECT = 0.05  # far above all noise; the changes that a law makes have much larger effects
FAR = 1000.0  # a change of a value that even the smallest weight shows
MATCH = 10.0  # a score of 100 divided by the root of d gives all weight to one token


class Sizes(NamedTuple):
    """Sizes for the checks: all different, so that no wrong axis fits by chance."""

    B: int
    T: int
    H: int
    d: int
    d_in: int
    context: int

    @property
    def d_out(self):
        """Return the number of features of all heads together."""
        return self.H * self.d


FOUR = Sizes(B=3, T=5, H=4, d=6, d_in=7, context=10)
THREE = Sizes(B=2, T=6, H=3, d=4, d_in=5, context=11)
TWO = Sizes(B=3, T=8, H=2, d=5, d_in=4, context=9)


def drawn_weights(probe, s, qkv_bias=NO_BIAS):
    """Draw large weights for the four layers, in the order of the parameters."""
    weights = {}
    for name in QKV:
        weights[f"{name}.weight"] = probe.normal(s.d_out, s.d_in)
        if qkv_bias:
            weights[f"{name}.bias"] = probe.normal(s.d_out)
    weights["out_proj.weight"] = probe.normal(s.d_out, s.d_out)
    weights["out_proj.bias"] = probe.normal(s.d_out)
    return weights


def only_values(weights):
    """Let the last feature of a token have an effect on its value only; return the weights."""
    for name in QKV[:2]:
        weights[f"{name}.weight"][:, -1] = 0
    return weights


def mixing_nothing(weights, s):
    """Let out_proj return the heads as they are; return the weights."""
    alone = {"out_proj.weight": torch.eye(s.d_out), "out_proj.bias": torch.zeros(s.d_out)}
    return weights | alone


def holding(side, s, weights, qkv_bias=NO_BIAS):
    """Build the module of one side and load *weights*."""
    sizes = (s.d_in, s.d_out, s.context, 0.0, s.H, qkv_bias)
    return side.new(NAME, *sizes).load(weights, may_lack=LACKS)


def untrained(student, s):
    """Build a module with its initial weights, for the checks of rules."""
    return student.new(NAME, s.d_in, s.d_out, s.context, 0.0, s.H, NO_BIAS)


def both(student, reference, probe, s, qkv_bias=NO_BIAS):
    """Build the student's module and the reference, and load the same large weights."""
    weights = drawn_weights(probe, s, qkv_bias)
    yours, ours = (holding(side, s, weights, qkv_bias) for side in (student, reference))
    return yours, ours


def tokens(probe, s, T=None):
    """Draw a batch with different items."""
    return probe.normal(s.B, T or s.T, s.d_in, scale=0.6)


def context_of(module, x, s):
    """Return the context of a batch."""
    return tensor_like(module(x), (*x.shape[:2], s.d_out), "The context")


def split(student, x, H):
    """Return the heads of the student."""
    *front, D = x.shape
    shape = (front[0], H, front[1], D // H)
    return tensor_like(student.call("split_heads", x, H), shape, "The result")


def merged(student, x):
    """Return the vectors into which the student merges heads."""
    items, heads, length, size = x.shape
    shape = (items, length, heads * size)
    return tensor_like(student.call("merge_heads", x), shape, "The result")


def has_effect(before, after, what, on=""):
    """Fail the check if a change of *what* has left a result as it was."""
    moved = before.numel() and bool((after - before).abs().max() > EFFECT)
    expect(moved, f"A change of {what} has no visible effect{on}.")


def same_numbers(found, x):
    """Fail the check unless *found* holds the numbers of *x*, in any order."""
    sentence = "The result does not hold each number of the input exactly once."
    agrees(found.flatten().sort().values, x.flatten().sort().values, "The sorted result")
    expect(found.numel() == x.numel(), sentence)


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the parameters."""
    named = {"the input": yours.inputs[0], **yours.parameters}
    for name, gradient in {"the input": ours.inputs[0], **ours.parameters}.items():
        found = named.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def same_split(student, reference, x, H):
    """Compare the heads of the student with those of the reference."""
    ours = reference.call("split_heads", x, H)
    agrees(student.call("split_heads", x, H), ours, "The result of split_heads")


# split_heads


@check("split_heads", points=0.06, layer="shapes")
def test_split_gives_every_head_its_share(student):
    """With 4 heads, a tensor of shape (2, 6, 12) becomes one of shape (2, 4, 6, 3)."""
    heads = student.call("split_heads", torch.ones(2, 6, 12), 4)

    tensor_like(heads, (2, 4, 6, 3), "split_heads of (2, 6, 12) into 4 heads")


@check("split_heads", points=0.6, layer="probe")
def test_split_deals_out_the_features(student, reference, probe):
    """For other sizes and numbers of heads, every number is in the right position."""
    for B, T, H, d in ((3, 5, 4, 6), (2, 7, 3, 4), (4, 3, 2, 5)):
        same_split(student, reference, probe.normal(B, T, H * d), H)


@check("split_heads", points=0.2, layer="probe")
def test_split_deals_out_single_tokens(student, reference, probe):
    """The result is right for items of one token, for a batch of one item, and for one head."""
    for B, T, H, d in ((5, 1, 2, 3), (1, 4, 3, 5), (2, 5, 1, 4)):
        same_split(student, reference, probe.normal(B, T, H * d), H)


@check("split_heads", points=0.12, layer="laws")
def test_split_gives_the_first_head_the_first_features(student, probe):
    """The first head holds the first features of every token, in order."""
    x = probe.normal(3, 5, 24)

    agrees(split(student, x, 4)[:, 0], x[..., :6], "The first head")


@check("split_heads", points=0.12, layer="laws")
def test_split_gives_each_block_to_one_head(student, probe):
    """A change of one block of neighbouring features changes its head and no other head."""
    x = probe.normal(3, 5, 24)
    others = x.clone()
    others[..., 12:18] += 2

    before, after = (split(student, one, 4) for one in (x, others))
    apart = [0, 1, 3]
    agrees(
        after[:, apart],
        before[:, apart],
        "After a change of one block, the result of the other heads",
        "that before",
    )
    has_effect(before[:, 2], after[:, 2], "a block of features", " on its head")


@check("split_heads", points=0.12, layer="laws")
def test_split_keeps_the_order_of_tokens(student, probe):
    """If the tokens are in another order, so are those of every head."""
    x, order = probe.normal(3, 5, 24), torch.tensor([3, 0, 4, 1, 2])

    before, after = (split(student, one, 4) for one in (x, x[:, order].contiguous()))
    agrees(
        after,
        before[:, :, order],
        "The result for tokens in another order",
        "that before in this order",
    )
    has_effect(before, after, "the order of the tokens")


@check("split_heads", points=0.08, layer="laws")
def test_split_loses_and_repeats_no_number(student, probe):
    """The result holds each number of the input exactly once."""
    x = probe.normal(3, 5, 24)

    same_numbers(split(student, x, 4), x)


@check("split_heads", points=0.08, layer="laws")
def test_split_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch is split as it would be alone, and items differ."""
    x = probe.normal(3, 5, 24)

    together = split(student, x, 4)
    for item in range(3):
        alone = split(student, x[item : item + 1].contiguous(), 4)
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    has_effect(together[0], together[1], "the item")


@check("split_heads", points=0.06, layer="laws", rules=("dtype",))
def test_split_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    x = probe.normal(2, 5, 12)

    keeps_dtype("split_heads", x, 3)
    has_effect(split(student, x, 3), split(student, -x, 3), "the features")


@check("split_heads", points=0.1, layer="laws", rules=("refuses",))
def test_split_refuses_a_share_that_is_no_whole_number(student, probe):
    """The function raises an error only if num_heads does not divide the number of features."""
    whole = probe.normal(2, 12, 8)
    has_effect(*(split(student, x, 4) for x in (whole, -whole)), "the features")
    for features, num_heads in ((8, 3), (5, 2), (3, 4), (10, 4)):
        refused = student.refuses("split_heads", probe.normal(2, 12, features), num_heads)
        expect(
            refused,
            (
                "If num_heads does not divide the number of features, split_heads gives a result; "
                "it should raise a ValueError."
            ),
            Status.NOT_REFUSED,
        )


@check("split_heads", points=0.06, layer="laws", rules=("inputs_unchanged",))
def test_split_leaves_its_input_alone(student, probe):
    """The input is unchanged, but it has an effect."""
    x = probe.normal(3, 5, 8)

    expect(student.keeps_inputs("split_heads", x, 2), "split_heads changes its input.")
    has_effect(split(student, x, 2), split(student, -x, 2), "the features")


@check("split_heads", points=0.12, layer="gradients", rules=("gradients",))
def test_split_passes_gradients_back(student, reference, probe):
    """Every feature gets the gradient of its position in the result."""
    x, back = probe.normal(3, 5, 24), probe.normal(3, 4, 5, 6)

    same_gradients(
        student.gradients("split_heads", x, 4, cotangent=back),
        reference.gradients("split_heads", x, 4, cotangent=back),
    )


@check("split_heads", points=0.08, layer="forbidden", rules=("no_loops",))
def test_split_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = probe.normal(2, 5, 12), probe.normal(2, 11, 12)

    ran = student.operators("split_heads", few, 3)
    keeps_operators(ran, student.operators("split_heads", many, 3), AT_ONCE)


def same_merge(student, reference, x):
    """Compare the vectors of the student with those of the reference."""
    agrees(student.call("merge_heads", x), reference.call("merge_heads", x), "The result")


# merge_heads


@check("merge_heads", points=0.04, layer="shapes")
def test_merge_gives_every_token_one_vector(student):
    """With 4 heads of size 3, a tensor of shape (2, 4, 6, 3) becomes one of shape (2, 6, 12)."""
    vectors = student.call("merge_heads", torch.ones(2, 4, 6, 3))

    tensor_like(vectors, (2, 6, 12), "merge_heads of (2, 4, 6, 3)")


@check("merge_heads", points=0.48, layer="probe")
def test_merge_puts_heads_side_by_side(student, reference, probe):
    """For other sizes and numbers of heads, every number of the result is in the right position."""
    for B, H, T, d in ((3, 4, 5, 6), (2, 3, 7, 4), (4, 2, 3, 5)):
        same_merge(student, reference, probe.normal(B, H, T, d))


@check("merge_heads", points=0.16, layer="probe")
def test_merge_of_single_tokens(student, reference, probe):
    """The result is right for items of one token, for a batch of one item, and for one head."""
    for B, H, T, d in ((5, 2, 1, 3), (1, 3, 4, 5), (2, 1, 5, 4)):
        same_merge(student, reference, probe.normal(B, H, T, d))


@check("merge_heads", points=0.1, layer="laws")
def test_merge_undoes_the_split(student, probe):
    """Vectors that are split into one block per head are merged into the same vectors."""
    x = probe.normal(3, 5, 24)
    heads = torch.stack(x.split(6, dim=-1), dim=1)

    agrees(student.call("merge_heads", heads), x, "The merged vectors")


@check("merge_heads", points=0.1, layer="laws")
def test_merge_gives_each_head_its_block(student, probe):
    """A change of one head changes its block of features in every token, and no other feature."""
    x = probe.normal(3, 4, 5, 6)
    others = x.clone()
    others[:, 2] += 2

    before, after = (merged(student, one).unflatten(-1, (4, 6)) for one in (x, others))
    apart = [0, 1, 3]
    agrees(
        after[:, :, apart],
        before[:, :, apart],
        "After a change of one head, the result in the other blocks",
        "that before",
    )
    for token in range(5):
        has_effect(before[:, token, 2], after[:, token, 2], "a head", " on some token")


@check("merge_heads", points=0.1, layer="laws")
def test_merge_keeps_the_order_of_tokens(student, probe):
    """If the tokens of all heads are in another order, so are the vectors."""
    x, order = probe.normal(3, 4, 5, 6), torch.tensor([3, 0, 4, 1, 2])

    before, after = (merged(student, one) for one in (x, x[:, :, order].contiguous()))
    agrees(
        after,
        before[:, order],
        "The result for tokens in another order",
        "that before in this order",
    )
    has_effect(before, after, "the order of the tokens")


@check("merge_heads", points=0.06, layer="laws")
def test_merge_loses_and_repeats_no_number(student, probe):
    """The result holds each number of the input exactly once."""
    x = probe.normal(3, 4, 5, 6)

    same_numbers(merged(student, x), x)


@check("merge_heads", points=0.08, layer="laws")
def test_merge_keeps_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch is merged as it would be alone, and items differ."""
    x = probe.normal(3, 4, 5, 6)

    together = merged(student, x)
    for item in range(3):
        alone = merged(student, x[item : item + 1].contiguous())
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    has_effect(together[0], together[1], "the item")


@check("merge_heads", points=0.06, layer="laws", rules=("dtype",))
def test_merge_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    x = probe.normal(2, 3, 5, 4)

    keeps_dtype("merge_heads", x)
    has_effect(merged(student, x), merged(student, -x), "the features")


@check("merge_heads", points=0.06, layer="laws", rules=("inputs_unchanged",))
def test_merge_leaves_its_input_alone(student, probe):
    """The input is unchanged, but it has an effect."""
    x = probe.normal(3, 2, 5, 4)

    expect(student.keeps_inputs("merge_heads", x), "merge_heads changes its input.")
    has_effect(merged(student, x), merged(student, -x), "the features")


@check("merge_heads", points=0.1, layer="gradients", rules=("gradients",))
def test_merge_passes_gradients_back(student, reference, probe):
    """Every number of a head gets the gradient of its position in the result."""
    x, back = probe.normal(3, 4, 5, 6), probe.normal(3, 5, 24)

    same_gradients(
        student.gradients("merge_heads", x, cotangent=back),
        reference.gradients("merge_heads", x, cotangent=back),
    )


@check("merge_heads", points=0.06, layer="forbidden", rules=("no_loops",))
def test_merge_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = probe.normal(2, 3, 5, 4), probe.normal(2, 3, 11, 4)

    ran = student.operators("merge_heads", few)
    keeps_operators(ran, student.operators("merge_heads", many), AT_ONCE)


# MultiHeadAttention


@check(NAME, points=0.05, layer="signature")
def test_heads_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_in, d_out, context_length, dropout, num_heads and qkv_bias."""
    sizes = {"d_in": 3, "d_out": 8, "context_length": 6, "dropout": 0.0, "num_heads": 2}

    student.new(NAME, **sizes)
    student.new(NAME, **sizes, qkv_bias=True)


@check(NAME, points=0.08, layer="shapes")
def test_heads_give_each_token_a_vector_of_d_out(student, documented, inputs):
    """A batch of shape (2, 6, 3) gives context vectors of shape (2, 6, 2)."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    context = student.new(NAME, 3, 2, 6, 0.0, 2)(batch)

    shape = tuple(documented["ch03.mha.context.shape"].value)
    tensor_like(context, shape, "MultiHeadAttention(3, 2, 6, 0.0, 2)(batch)")


def parameter_names(qkv_bias):
    """Return the names of all parameters in order."""
    parts = ("weight", "bias") if qkv_bias else ("weight",)
    projections = (f"{name}.{part}" for name in QKV for part in parts)
    return (*projections, "out_proj.weight", "out_proj.bias")


def same_draws(student, reference, probe, qkv_bias):
    """Compare the layers of a new module with those of the reference."""
    sizes = (FOUR.d_in, FOUR.d_out, FOUR.context, 0.0, FOUR.H, qkv_bias)
    names = parameter_names(qkv_bias)
    found = student.new(NAME, *sizes, seed=probe.seed).named(*names)
    drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()

    for name in names:
        what = f"{name} right after construction with qkv_bias={qkv_bias}"
        agrees(found[name].value, drawn[name].value, what)


@check(NAME, points=0.18, layer="parameters")
def test_heads_name_their_layers(student):
    """The layers are named W_query, W_key, W_value and out_proj."""
    found = student.new(NAME, 3, 8, 6, 0.0, 2, NO_BIAS).parameters()

    for name in parameter_names(NO_BIAS):
        expect(name in found, f"torch lists no parameter {name}.")


@check(NAME, points=0.12, layer="parameters")
def test_heads_draw_the_documented_weights(student, documented):
    """The layers W_query, W_key, W_value and out_proj get the documented weights with seed 123."""
    found = student.new(NAME, 3, 2, 6, 0.0, 2, NO_BIAS, seed=123).named(*parameter_names(NO_BIAS))

    entries = {f"{name}.weight": f"ch03.causal.{name.lower()}.weight" for name in QKV}
    entries |= {f"out_proj.{part}": f"ch03.mha.out_proj.{part}" for part in ("weight", "bias")}
    for name, entry in entries.items():
        documented[entry].matches(found[name].value, name)


@check(NAME, points=0.12, layer="parameters")
def test_heads_draw_anew_under_another_seed(student, reference, probe):
    """For other sizes and seeds, the four layers are drawn in the same order."""
    same_draws(student, reference, probe, NO_BIAS)


@check(NAME, points=0.14, layer="parameters")
def test_heads_take_biases_when_asked(student, reference, probe):
    """With qkv_bias=True, W_query, W_key and W_value have biases, drawn after their weights."""
    same_draws(student, reference, probe, BIAS)


@check(NAME, points=0.04, layer="parameters")
def test_heads_have_no_biases_by_default(student):
    """Without qkv_bias, W_query, W_key and W_value have no biases."""
    plain = student.new(NAME, 3, 8, 6, 0.0, 2).shapes()
    without, more = (student.new(NAME, 3, 8, 6, 0.0, 2, one).shapes() for one in (NO_BIAS, BIAS))

    expect(
        len(plain) == len(without),
        "By default, there are more or fewer parameters than with qkv_bias=False.",
    )
    expect(len(plain) < len(more), "With qkv_bias=True, there are no more parameters than without.")


@check(NAME, points=0.08, layer="parameters")
def test_heads_count_as_many_parameters_as_documented(student, documented):
    """With 768 features, 1024 tokens and 12 heads, there are 2,360,064 parameters."""
    documented_count = documented["ch03.mha.parameter_count"].value
    small = (12, 16, 3, 4 * 12**2 + 12)  # cheap: the large module is built only after this passes
    for d, context, heads, wanted in (small, (768, 1024, 12, documented_count)):
        shapes = student.new(NAME, d, d, context, 0.0, heads, NO_BIAS).shapes()

        count = sum(torch.Size(shape).numel() for shape in shapes.values())
        sentence = f"For {d} features, there are {count:,} parameters, not {wanted:,}."
        expect(count == wanted, "The number of parameters is wrong.", message=sentence)


@check(NAME, points=0.05, layer="parameters", rules=("no_seeding",))
def test_heads_leave_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called."""
    x, drawn = tokens(probe, FOUR), []
    for seed in (5, 6):
        yours = student.new(NAME, FOUR.d_in, FOUR.d_out, FOUR.context, 0.0, FOUR.H, seed=seed)
        built = student.draws_next()
        yours(x, seed=seed)
        drawn.append((built, student.draws_next()))

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After construction, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


@check(NAME, points=0.7, layer="documented")
def test_heads_reproduce_the_documented_context(student, reference, documented, inputs):
    """With the weights of seed 123, two heads give the documented context vectors."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    drawn = reference.new(NAME, 3, 2, 6, 0.0, 2, NO_BIAS, seed=123).parameters()
    weights = {name: parameter.value for name, parameter in drawn.items()}
    attention = student.new(NAME, 3, 2, 6, 0.0, 2, NO_BIAS).load(weights, may_lack=LACKS)

    context = documented["ch03.mha.context"]
    context.matches(attention(batch), "MultiHeadAttention(3, 2, 6, 0.0, 2, False)(batch)")


@check(NAME, points=0.88, layer="probe")
def test_heads_attend_with_any_weights(student, reference, probe):
    """The result is right for 2, 3 and 4 heads, with other weights and shorter inputs."""
    for s in (FOUR, THREE, TWO):
        yours, ours = both(student, reference, probe, s)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.5, layer="probe")
def test_heads_serve_every_length_in_turn(student, reference, probe):
    """One module works for long and short inputs in turn, including a single token."""
    yours, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR, FOUR.context)

    for T, B in ((FOUR.context, 3), (1, 2), (5, 1), (1, 1), (FOUR.context, 2)):
        part = x[:B, :T].contiguous()
        agrees(yours(part), ours(part), "The context")


@check(NAME, points=0.5, layer="probe")
def test_heads_use_their_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    yours, ours = both(student, reference, probe, THREE, BIAS)
    x = tokens(probe, THREE)

    agrees(yours(x), ours(x), "The context with qkv_bias=True")


@check(NAME, points=0.2, layer="laws")
def test_heads_see_the_past_and_not_the_future(student, probe):
    """A token affects the tokens after it, and none before it."""
    s = TWO
    yours = holding(student, s, only_values(drawn_weights(probe, s)))
    x = tokens(probe, s)
    others = x.clone()
    others[:, 3, -1] += FAR

    before, after = (context_of(yours, one, s) for one in (x, others))
    agrees(
        after[:, :3],
        before[:, :3],
        "After a change of a later token, the context of earlier ones",
        "that before",
    )
    has_effect(before[:, 4:], after[:, 4:], "a token", " on later ones")


@check(NAME, points=0.15, layer="laws")
def test_heads_have_weights_that_sum_to_one(student, probe):
    """If all values are equal, every context vector before out_proj is this value."""
    s = FOUR
    weights = mixing_nothing(drawn_weights(probe, s), s)
    weights["W_value.weight"][:, 1:] = 0  # the value of each token uses only its leading 1
    x = tokens(probe, s)
    x[..., 0] = 1.0

    value = weights["W_value.weight"][:, 0]
    agrees(holding(student, s, weights)(x), value.expand(s.B, s.T, -1), "The context")


@check(NAME, points=0.15, layer="laws")
def test_heads_find_the_matching_key(student, probe):
    """In every head, a query that matches the key of an earlier token gets the value of it."""
    s = Sizes(B=2, T=5, H=2, d=6, d_in=7, context=9)
    weights = mixing_nothing(drawn_weights(probe, s), s)
    key = MATCH * torch.eye(s.d, s.d_in)  # token i has feature i only, and key i in every head
    query = torch.cat([key[:, :1], key[:, :-1]], dim=1)  # and asks for the key of the token before
    weights["W_key.weight"], weights["W_query.weight"] = (
        one.repeat(s.H, 1) for one in (key, query)
    )
    context = holding(student, s, weights)(torch.eye(s.T, s.d_in).repeat(s.B, 1, 1))

    values = weights["W_value.weight"].T[[0, 0, 1, 2, 3]]
    agrees(context, values.repeat(s.B, 1, 1), "The context of queries that match one key each")


@check(NAME, points=0.1, layer="laws")
def test_heads_double_with_their_values(student, probe):
    """Twice the values give twice the context before out_proj."""
    s = THREE
    weights, x = mixing_nothing(drawn_weights(probe, s), s), tokens(probe, s)
    twice = weights | {"W_value.weight": 2 * weights["W_value.weight"]}

    before, after = (context_of(holding(student, s, one), x, s) for one in (weights, twice))
    agrees(after, 2 * before, "The context of doubled values", "twice the context")
    has_effect(before, after, "the values")


@check(NAME, points=0.2, layer="laws")
def test_heads_work_each_on_their_own_block(student, probe):
    """Changing one head's weights changes only that head's block before out_proj."""
    s, h = FOUR, 2
    weights = mixing_nothing(drawn_weights(probe, s), s)
    x, own = tokens(probe, s), torch.zeros(s.d_out, dtype=torch.bool)
    own[h * s.d : (h + 1) * s.d] = True

    before = context_of(holding(student, s, weights), x, s)
    others = drawn_weights(probe, s)
    for name in (f"{name}.weight" for name in QKV):
        weights[name] = torch.where(own[:, None], others[name], weights[name])
    after = context_of(holding(student, s, weights), x, s)
    has_effect(before[..., own], after[..., own], "a head's weights", " on its block")
    expect(
        alike(after[..., ~own], before[..., ~own]),
        "A change of one head's weights changes the block of another head.",
    )


@check(NAME, points=0.15, layer="laws")
def test_heads_give_the_first_token_its_own_value(student, probe):
    """The first token attends only to itself: it gets its own value, passed through out_proj."""
    s = THREE
    weights, x = drawn_weights(probe, s), tokens(probe, s)

    context = context_of(holding(student, s, weights), x, s)
    value = x[:, 0] @ weights["W_value.weight"].T
    alone = value @ weights["out_proj.weight"].T + weights["out_proj.bias"]
    agrees(context[:, 0], alone, "The first token's context vector")


@check(NAME, points=0.1, layer="laws")
def test_heads_are_mixed_by_out_proj(student, probe):
    """Twice the weight of out_proj gives twice the result, apart from the bias."""
    s = FOUR
    weights, x = drawn_weights(probe, s), tokens(probe, s)
    twice = weights | {"out_proj.weight": 2 * weights["out_proj.weight"]}

    before, after = (context_of(holding(student, s, one), x, s) for one in (weights, twice))
    bias = weights["out_proj.bias"]
    agrees(
        after - bias,
        2 * (before - bias),
        "The result with a doubled weight, less the bias,",
        "twice that before",
    )
    has_effect(before, after, "the weight of out_proj")


@check(NAME, points=0.1, layer="laws")
def test_heads_keep_the_items_of_a_batch_apart(student, probe):
    """Each item of a batch gets the same result as it would alone, and items differ."""
    s = FOUR
    yours, x = holding(student, s, drawn_weights(probe, s)), tokens(probe, s)

    together = context_of(yours, x, s)
    for item in range(s.B):
        alone = context_of(yours, x[item : item + 1].contiguous(), s)
        agrees(alone, together[item : item + 1], "The result of an item alone", "that in the batch")
    has_effect(together[0], together[1], "the item")


WIDE = Sizes(B=3, T=12, H=2, d=24, d_in=15, context=13)
P = 0.3
VISIBLE = torch.ones(WIDE.T, WIDE.T).tril() == 1


def readable(student, probe):
    """Build a module whose outputs show the attention weights, each weight twice."""
    s = WIDE
    once = torch.cat([torch.eye(s.T), torch.zeros(s.T, s.d_in - s.T)], dim=1)  # (T, d_in)
    weights = {f"{name}.weight": probe.normal(s.d_out, s.d_in, scale=0.4) for name in QKV}
    weights["W_value.weight"] = once.repeat(2 * s.H, 1)  # (d_out, d_in)
    x = tokens(probe, s)
    x[..., : s.T] = torch.eye(s.T)
    sizes = (s.d_in, s.d_out, s.context, P, s.H, NO_BIAS)
    yours = student.new(NAME, *sizes).load(mixing_nothing(weights, s), may_lack=LACKS)
    return yours, x


def read(context):
    """Return both copies of the attention weights: (2, B, H, T, T)."""
    s = WIDE
    answer = tensor_like(context, (s.B, s.T, s.d_out), "The context")
    return answer.view(s.B, s.T, s.H, 2, s.T).permute(3, 0, 2, 1, 4)


def find_dropped(weights):
    """Return which visible weights are dropped, or fail the check if they are too few or many."""
    dropped = (weights.abs() < 1e-6) & VISIBLE
    expect(dropped.any(), "In training mode, no entry that should be a visible weight is zero.")
    share = float(dropped[..., VISIBLE].float().mean())  # of 468 weights: one deviation is 0.02
    expect(
        abs(share - P) < 0.15,
        "The result shows a share of zero weights that is far from `dropout`.",
    )
    return dropped


@check(NAME, points=0.37, layer="laws")
def test_heads_drop_nothing_in_eval_mode(student, probe):
    """In eval mode, no weight is dropped; back in training, weights are dropped again."""
    yours, x = readable(student, probe)

    read(yours(x))
    one, again = (read(yours.eval()(x))[0] for _ in range(2))
    agrees(again, one, "The result of a second call in eval mode", "that of the first")
    kept = bool((one[..., VISIBLE].abs() > 1e-6).all())
    expect(kept, "In eval mode, an entry that should be a visible weight is almost zero or NaN.")
    find_dropped(read(yours.train()(x))[0])


@check(NAME, points=0.37, layer="laws")
def test_heads_make_up_for_dropped_weights(student, probe):
    """In training, the remaining weights are those of eval mode divided by 1 - dropout."""
    yours, x = readable(student, probe)
    whole, _ = read(yours.eval()(x))
    weights, _ = read(yours.train()(x))

    dropped = find_dropped(weights)
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights[..., VISIBLE], kept[..., VISIBLE]),
        "In training mode, an entry is neither zero nor that of eval mode / (1 - dropout).",
    )


@check(NAME, points=0.37, layer="laws")
def test_heads_drop_single_weights_in_training(student, probe):
    """In training, attention weights are dropped one by one, and other ones in each call."""
    yours, x = readable(student, probe)
    weights, twice = read(yours(x))
    dropped = find_dropped(weights)

    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "In training mode, features that should be equal differ.",
    )
    long = dropped[..., 6:, :7]  # weights that are visible in every row here
    alone = "Many rows or columns of weights are zero as a whole, or not at all."
    expect((long.any(-1) & ~long.all(-1)).float().mean() > 0.5, alone)
    expect((long.any(-2) & ~long.all(-2)).float().mean() > 0.5, alone)
    expect(not torch.equal(dropped[0], dropped[1]), "Two items have zeros at the same places.")
    heads = "Two heads have zeros at the same places."
    expect(not torch.equal(dropped[:, 0], dropped[:, 1]), heads)
    again, _ = read(yours(x))
    expect(not torch.equal(weights, again), "Two calls in training mode give the same result.")


@check(NAME, points=0.05, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    s = FOUR
    yours, x = untrained(student, s), tokens(probe, s)

    keeps_dtype(yours, x)
    has_effect(context_of(yours, x, s), context_of(yours, -x, s), "the tokens")


@check(NAME, points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_heads_leave_their_input_alone(student, probe):
    """The tokens are unchanged, but they have an effect."""
    s = FOUR
    yours, x = untrained(student, s), tokens(probe, s)

    expect(yours.keeps_inputs(x), "The call changes its input.")
    has_effect(context_of(yours, x, s), context_of(yours, -x, s), "the tokens")


@check(NAME, points=0.1, layer="laws", rules=("refuses",))
def test_heads_refuse_an_uneven_share(student, probe):
    """If num_heads does not divide d_out, the constructor or the call raises an error."""
    student.new(NAME, 7, 8, 12, 0.0, 4)  # an even split raises no error
    for d_out, num_heads in ((8, 3), (5, 2), (3, 4)):
        sizes = (7, d_out, 12, 0.0, num_heads)
        refused = student.refuses(NAME, *sizes)
        refused = refused or student.new(NAME, *sizes).refuses(probe.normal(2, 12, 7))
        expect(
            refused,
            (
                "If num_heads does not divide d_out, the module gives a result; it should raise a "
                "ValueError."
            ),
            Status.NOT_REFUSED,
        )


@check(NAME, points=0.1, layer="laws", rules=("refuses",))
def test_heads_refuse_more_tokens_than_fit(student, probe):
    """The module accepts context_length tokens and raises an error for more."""
    s = FOUR
    yours = untrained(student, s)
    x = tokens(probe, s, s.context)

    has_effect(context_of(yours, x, s), context_of(yours, -x, s), "the tokens")
    for T in (s.context + 1, 2 * s.context):
        refused = yours.refuses(tokens(probe, s, T))
        expect(
            refused,
            "More tokens than context_length give a result; they should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(NAME, points=0.1, layer="laws", rules=("buffer",))
def test_heads_keep_mask_as_a_buffer(student):
    """`mask` is a buffer: it moves with the module and is not trained."""
    attention = student.new(NAME, 3, 8, 6, 0.0, 2)

    expect("mask" not in attention.parameters(), "mask is a parameter; it should be a buffer.")
    expect("mask" in attention.buffers(), "There is no buffer named mask.")
    place = attention.move("meta").get("mask", "")
    expect(place.startswith("meta"), "mask does not move with the module.")


@check(NAME, points=0.35, layer="gradients", rules=("gradients",))
def test_heads_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights and biases of all four layers are right."""
    yours, ours = both(student, reference, probe, THREE, BIAS)
    x, back = tokens(probe, THREE), probe.normal(THREE.B, THREE.T, THREE.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(NAME, points=0.25, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    s = FOUR
    yours, x = untrained(student, s), tokens(probe, s)

    avoids(student, NAME, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    has_effect(context_of(yours, x, s), context_of(yours, -x, s), "the tokens")


@check(NAME, points=0.1, layer="forbidden", rules=("no_loops",))
def test_heads_need_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    s = FOUR
    yours = untrained(student, s)
    few, many = tokens(probe, s, 4), tokens(probe, s, s.context - 1)

    keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
