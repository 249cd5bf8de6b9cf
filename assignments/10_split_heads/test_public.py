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
        "scaled_dot_product_attention",
    }
)
NAME = "MultiHeadAttention"
QKV = ("W_query", "W_key", "W_value")
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Use one matrix product for all tokens at once."
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail


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


def both(student, reference, probe, s, *, qkv_bias=False):
    """Build the student's module and the reference, and load the same large weights."""
    shapes = {f"{name}__weight": (s.d_out, s.d_in) for name in QKV}
    shapes |= {f"{name}__bias": (s.d_out,) for name in QKV if qkv_bias}
    shapes |= {"out_proj__weight": (s.d_out, s.d_out), "out_proj__bias": (s.d_out,)}
    weights = probe.weights(**shapes)
    sizes = (s.d_in, s.d_out, s.context, 0.0, s.H, *([True] if qkv_bias else []))
    yours = student.new(NAME, *sizes).load(weights, may_lack=LACKS)
    return yours, reference.new(NAME, *sizes).load(weights), weights


def tokens(probe, s, T=None):
    """Draw a batch with different items."""
    return probe.normal(s.B, T or s.T, s.d_in, scale=0.6)


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the parameters."""
    named = {"the input": yours.inputs[0], **yours.parameters}
    for name, gradient in {"the input": ours.inputs[0], **ours.parameters}.items():
        found = named.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


# split_heads


@check("split_heads", points=0.1, layer="shapes")
def test_split_gives_every_head_its_share(student):
    """With 4 heads, a tensor of shape (2, 6, 12) becomes one of shape (2, 4, 6, 3)."""
    heads = student.call("split_heads", torch.ones(2, 6, 12), 4)

    tensor_like(heads, (2, 4, 6, 3), "split_heads of (2, 6, 12) into 4 heads")


@check("split_heads", points=0.8, layer="probe")
def test_split_deals_out_the_features(student, reference, probe):
    """For other sizes and numbers of heads, every number is in the right position."""
    for B, T, H, d in ((3, 5, 4, 6), (2, 7, 3, 4), (4, 3, 2, 5), (5, 1, 2, 3), (1, 4, 3, 5)):
        x = probe.normal(B, T, H * d)

        agrees(
            student.call("split_heads", x, H),
            reference.call("split_heads", x, H),
            "The result of split_heads",
        )


@check("split_heads", points=0.1, layer="laws", rules=("dtype",))
def test_split_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("split_heads", probe.normal(2, 5, 12), 3)


@check("split_heads", points=0.3, layer="laws")
def test_split_gives_each_head_neighbouring_features(student, probe):
    """Head h holds block h of the features of every token, in order."""
    B, T, H, d = 3, 5, 4, 6
    x = probe.normal(B, T, H * d)
    heads = tensor_like(student.call("split_heads", x, H), (B, H, T, d), "The result")

    for h in range(H):
        agrees(heads[:, h], x[..., h * d : (h + 1) * d], "The block of one head")


@check("split_heads", points=0.2, layer="laws", rules=("refuses",))
def test_split_refuses_a_share_that_is_no_whole_number(student, probe):
    """The function raises an error only if num_heads does not divide the number of features."""
    whole = student.call("split_heads", probe.normal(2, 12, 8), 4)
    tensor_like(whole, (2, 4, 12, 2), "The result of split_heads")
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


@check("split_heads", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_split_leaves_its_input_alone(student, reference, probe):
    """The heads are right, and the input is unchanged."""
    x = probe.normal(3, 5, 8)

    agrees(
        student.call("split_heads", x, 2),
        reference.call("split_heads", x, 2),
        "The result of split_heads",
    )
    expect(student.keeps_inputs("split_heads", x, 2), "split_heads changes its input.")


@check("split_heads", points=0.3, layer="gradients", rules=("gradients",))
def test_split_passes_gradients_back(student, reference, probe):
    """Every feature gets the gradient of its position in the result."""
    x, back = probe.normal(3, 5, 24), probe.normal(3, 4, 5, 6)

    same_gradients(
        student.gradients("split_heads", x, 4, cotangent=back),
        reference.gradients("split_heads", x, 4, cotangent=back),
    )


@check("split_heads", points=0.1, layer="forbidden", rules=("no_loops",))
def test_split_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = probe.normal(2, 5, 12), probe.normal(2, 11, 12)

    agrees(
        student.call("split_heads", many, 3),
        reference.call("split_heads", many, 3),
        "The result of split_heads",
    )
    ran = student.operators("split_heads", few, 3)
    keeps_operators(ran, student.operators("split_heads", many, 3), AT_ONCE)


# merge_heads


@check("merge_heads", points=0.1, layer="shapes")
def test_merge_gives_every_token_one_vector(student):
    """With 4 heads of size 3, a tensor of shape (2, 4, 6, 3) becomes one of shape (2, 6, 12)."""
    merged = student.call("merge_heads", torch.ones(2, 4, 6, 3))

    tensor_like(merged, (2, 6, 12), "merge_heads of (2, 4, 6, 3)")


@check("merge_heads", points=0.8, layer="probe")
def test_merge_puts_heads_side_by_side(student, reference, probe):
    """For other sizes and numbers of heads, every number of the result is in the right position."""
    for B, H, T, d in ((3, 4, 5, 6), (2, 3, 7, 4), (4, 2, 3, 5), (5, 2, 1, 3), (1, 3, 4, 5)):
        x = probe.normal(B, H, T, d)

        agrees(student.call("merge_heads", x), reference.call("merge_heads", x), "The result")


@check("merge_heads", points=0.1, layer="laws", rules=("dtype",))
def test_merge_keeps_the_dtype(keeps_dtype, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype("merge_heads", probe.normal(2, 3, 5, 4))


@check("merge_heads", points=0.4, layer="laws")
def test_merge_undoes_the_split(student, probe):
    """Vectors that are split into one block per head are merged into the same vectors."""
    for B, T, H, d in ((3, 5, 4, 6), (2, 6, 1, 7)):
        x = probe.normal(B, T, H * d)
        heads = torch.stack(x.split(d, dim=-1), dim=1)

        agrees(student.call("merge_heads", heads), x, "The result after splitting and merging")


@check("merge_heads", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_merge_leaves_its_input_alone(student, reference, probe):
    """The result is right, and the input is unchanged."""
    x = probe.normal(3, 2, 5, 4)

    agrees(student.call("merge_heads", x), reference.call("merge_heads", x), "The result")
    expect(student.keeps_inputs("merge_heads", x), "merge_heads changes its input.")


@check("merge_heads", points=0.4, layer="gradients", rules=("gradients",))
def test_merge_passes_gradients_back(student, reference, probe):
    """Every number of a head gets the gradient of its position in the result."""
    x, back = probe.normal(3, 4, 5, 6), probe.normal(3, 5, 24)

    same_gradients(
        student.gradients("merge_heads", x, cotangent=back),
        reference.gradients("merge_heads", x, cotangent=back),
    )


@check("merge_heads", points=0.1, layer="forbidden", rules=("no_loops",))
def test_merge_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    few, many = probe.normal(2, 3, 5, 4), probe.normal(2, 3, 11, 4)

    agrees(student.call("merge_heads", many), reference.call("merge_heads", many), "The result")
    ran = student.operators("merge_heads", few)
    keeps_operators(ran, student.operators("merge_heads", many), AT_ONCE)


# MultiHeadAttention


@check(NAME, points=0.1, layer="signature")
def test_heads_are_built_by_the_names_of_their_arguments(student):
    """The constructor takes d_in, d_out, context_length, dropout, num_heads and qkv_bias."""
    sizes = {"d_in": 3, "d_out": 8, "context_length": 6, "dropout": 0.0, "num_heads": 2}

    student.new(NAME, **sizes)
    student.new(NAME, **sizes, qkv_bias=True)


@check(NAME, points=0.1, layer="shapes")
def test_heads_give_each_token_a_vector_of_d_out(student, documented, inputs):
    """A batch of shape (2, 6, 3) gives context vectors of shape (2, 6, 2)."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    context = student.new(NAME, 3, 2, 6, 0.0, 2)(batch)

    shape = tuple(documented["ch03.mha.context.shape"].value)
    tensor_like(context, shape, "MultiHeadAttention(3, 2, 6, 0.0, 2)(batch)")


@check(NAME, points=0.4, layer="parameters")
def test_heads_draw_the_documented_weights(student, documented):
    """The layers W_query, W_key, W_value and out_proj get the documented weights with seed 123."""
    found = student.new(NAME, 3, 2, 6, 0.0, 2, seed=123).parameters()

    for layer in QKV:
        expect(f"{layer}.bias" not in found, f"{layer} has a bias, but qkv_bias is false.")
    entries = {f"{name}.weight": f"ch03.causal.{name.lower()}.weight" for name in QKV}
    entries |= {f"out_proj.{part}": f"ch03.mha.out_proj.{part}" for part in ("weight", "bias")}
    for name, entry in entries.items():
        expect(name in found, f"There is no parameter {name}.")
        documented[entry].matches(found[name].value, name)


@check(NAME, points=0.4, layer="parameters")
def test_heads_draw_anew_under_another_seed(student, reference, probe):
    """For other sizes and seeds, the four layers are drawn in the same order."""
    sizes = (FOUR.d_in, FOUR.d_out, FOUR.context, 0.0, FOUR.H)
    found = student.new(NAME, *sizes, seed=probe.seed).parameters()
    drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()

    for name, parameter in drawn.items():
        expect(name in found, f"There is no parameter {name}.")
        agrees(found[name].value, parameter.value, name)


@check(NAME, points=0.1, layer="parameters")
def test_heads_take_biases_when_asked(student, reference, probe):
    """With qkv_bias=True, W_query, W_key and W_value have biases, drawn after their weights."""
    sizes = (FOUR.d_in, FOUR.d_out, FOUR.context, 0.0, FOUR.H, True)
    found = student.new(NAME, *sizes, seed=probe.seed).parameters()
    drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()

    for name, parameter in drawn.items():
        expect(name in found, f"There is no parameter {name}.")
        agrees(found[name].value, parameter.value, name)


@check(NAME, points=0.3, layer="documented")
def test_heads_reproduce_the_documented_context(student, documented, inputs):
    """With seed 123, two heads give the documented context vectors."""
    batch = inputs.expand(*documented["ch03.batch.shape"].value)
    attention = student.new(NAME, 3, 2, 6, 0.0, 2, seed=123)

    context = documented["ch03.mha.context"]
    context.matches(attention(batch), "MultiHeadAttention(3, 2, 6, 0.0, 2)(batch)")


@check(NAME, points=0.1, layer="documented")
def test_heads_count_as_many_parameters_as_documented(student, documented):
    """With 768 features, 1024 tokens and 12 heads, there are 2,360,064 parameters."""
    documented_count = documented["ch03.mha.parameter_count"].value
    small = (12, 16, 3, 4 * 12**2 + 12)  # cheap: the large module is built only after this passes
    for d, context, heads, wanted in (small, (768, 1024, 12, documented_count)):
        shapes = student.new(NAME, d, d, context, 0.0, heads).shapes()

        count = sum(torch.Size(shape).numel() for shape in shapes.values())
        sentence = f"For {d} features, there are {count:,} parameters, not {wanted:,}."
        expect(count == wanted, "The number of parameters is wrong.", message=sentence)


@check(NAME, points=0.5, layer="probe")
def test_heads_attend_with_any_weights(student, reference, probe):
    """The result is right for 2, 3 and 4 heads, with other weights and shorter inputs."""
    for s in (FOUR, THREE, TWO):
        yours, ours, _ = both(student, reference, probe, s)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.2, layer="probe")
def test_heads_serve_every_length_in_turn(student, reference, probe):
    """One module works for long and short inputs in turn, including a single token."""
    yours, ours, _ = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR, FOUR.context)

    for T, B in ((FOUR.context, 3), (1, 2), (5, 1), (1, 1), (FOUR.context, 2)):
        part = x[:B, :T].contiguous()
        agrees(yours(part), ours(part), "The context")


@check(NAME, points=0.2, layer="probe")
def test_heads_use_their_biases(student, reference, probe):
    """With qkv_bias=True, the biases are added to queries, keys and values."""
    yours, ours, _ = both(student, reference, probe, THREE, qkv_bias=True)
    x = tokens(probe, THREE)

    agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.1, layer="laws", rules=("dtype",))
def test_heads_keep_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    s = FOUR
    attention = student.new(NAME, s.d_in, s.d_out, s.context, 0.0, s.H)
    keeps_dtype(attention, tokens(probe, s))


@check(NAME, points=0.2, layer="laws")
def test_heads_work_each_on_their_own_block(student, reference, probe):
    """Changing one head's weights changes only that head's block before out_proj."""
    s, h = FOUR, 2
    yours, _, weights = both(student, reference, probe, s)
    yours.load({"out_proj.weight": torch.eye(s.d_out), "out_proj.bias": torch.zeros(s.d_out)})
    x, own = tokens(probe, s), torch.zeros(s.d_out, dtype=torch.bool)
    own[h * s.d : (h + 1) * s.d] = True

    before = tensor_like(yours(x), (s.B, s.T, s.d_out), "The context")
    others = probe.weights(**{f"{name}__weight": (s.d_out, s.d_in) for name in QKV})
    mixed = {name: torch.where(own[:, None], others[name], weights[name]) for name in others}
    after = tensor_like(yours.load(mixed)(x), (s.B, s.T, s.d_out), "The context")
    unchanged = alike(after[..., own], before[..., own])
    expect(not unchanged, "Changing a head's weights does not change its block.")
    expect(
        alike(after[..., ~own], before[..., ~own]),
        "Changing one head's weights changes the blocks of other heads.",
    )


@check(NAME, points=0.1, layer="laws")
def test_heads_never_look_ahead(student, reference, probe):
    """Changing the last tokens changes their own results and no earlier result."""
    yours, _, _ = both(student, reference, probe, TWO)
    x = tokens(probe, TWO)
    others = x.clone()
    others[:, 5:] = tokens(probe, TWO, TWO.T - 5)

    before = tensor_like(yours(x), (TWO.B, TWO.T, TWO.d_out), "The context")
    after = tensor_like(yours(others), (TWO.B, TWO.T, TWO.d_out), "The context")
    unchanged = alike(after[:, 5:], before[:, 5:])
    expect(not unchanged, "Changing the last tokens does not change their own results.")
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :5], before[:, :5], sentence)


@check(NAME, points=0.1, layer="laws")
def test_heads_give_the_first_token_its_own_value(student, reference, probe):
    """The first token attends only to itself: it gets its own value, passed through out_proj."""
    yours, _, weights = both(student, reference, probe, THREE)
    x = tokens(probe, THREE)

    context = tensor_like(yours(x), (THREE.B, THREE.T, THREE.d_out), "The context")
    value = x[:, 0] @ weights["W_value.weight"].T
    alone = value @ weights["out_proj.weight"].T + weights["out_proj.bias"]
    agrees(context[:, 0], alone, "The first token's context vector")


@check(NAME, points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_heads_keep_the_items_of_a_batch_apart(student, reference, probe):
    """Each item of a batch gets the same result as it would alone, and the input is unchanged."""
    yours, ours, _ = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR)

    together = tensor_like(yours(x), (FOUR.B, FOUR.T, FOUR.d_out), "The context")
    agrees(together, ours(x), "The context")
    for item in range(FOUR.B):
        agrees(yours(x[item : item + 1]), together[item : item + 1], "The result of an item alone")
    expect(yours.keeps_inputs(x), "The call changes its input.")


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
def test_heads_refuse_more_tokens_than_fit(student, reference, probe):
    """The module accepts context_length tokens and raises an error for more."""
    yours, ours, _ = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR, FOUR.context)

    agrees(yours(x), ours(x), "The context")
    for T in (FOUR.context + 1, 2 * FOUR.context):
        refused = yours.refuses(tokens(probe, FOUR, T))
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


@check(NAME, points=0.1, layer="laws", rules=("no_seeding",))
def test_heads_leave_the_seed_to_the_caller(student, probe):
    """The module does not seed torch's generator when it is built or called."""
    x, drawn = tokens(probe, FOUR), []
    for seed in (5, 6):
        yours = student.new(NAME, FOUR.d_in, FOUR.d_out, FOUR.context, 0.0, FOUR.H, seed=seed)
        built = student.draws_next()
        tensor_like(yours(x, seed=seed), (FOUR.B, FOUR.T, FOUR.d_out), "The context")
        drawn.append((built, student.draws_next()))

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After construction, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


WIDE = Sizes(B=3, T=12, H=2, d=24, d_in=15, context=13)
P = 0.3


def readable(student, reference, probe):
    """Build both modules so that their outputs show the attention weights, each weight twice."""
    s = WIDE
    once = torch.cat([torch.eye(s.T), torch.zeros(s.T, s.d_in - s.T)], dim=1)  # (T, d_in)
    weights = {f"{name}.weight": probe.normal(s.d_out, s.d_in, scale=0.4) for name in QKV}
    weights["W_value.weight"] = once.repeat(2 * s.H, 1)  # (d_out, d_in)
    weights["out_proj.weight"], weights["out_proj.bias"] = torch.eye(s.d_out), torch.zeros(s.d_out)
    x = tokens(probe, s)
    x[..., : s.T] = torch.eye(s.T)
    sizes = (s.d_in, s.d_out, s.context, P, s.H)
    yours = student.new(NAME, *sizes).load(weights, may_lack=LACKS)
    return yours, reference.new(NAME, *sizes).load(weights), x


def read(context):
    """Return both copies of the attention weights: (2, B, H, T, T)."""
    s = WIDE
    answer = tensor_like(context, (s.B, s.T, s.d_out), "The context")
    return answer.view(s.B, s.T, s.H, 2, s.T).permute(3, 0, 2, 1, 4)


@check(NAME, points=0.1, layer="laws")
def test_heads_drop_nothing_in_eval_mode(student, reference, probe):
    """In eval mode, no weight is dropped; back in training, weights are dropped again."""
    yours, ours, x = readable(student, reference, probe)

    read(yours(x))
    for _ in range(2):
        agrees(yours.eval()(x), ours.eval()(x), "The context in eval mode")
    weights, _ = read(yours.train()(x))
    visible = torch.ones(WIDE.T, WIDE.T).tril() == 1
    expect(
        (weights[..., visible].abs() < 1e-6).any(),
        "In training mode, the result shows no attention weight of zero.",
    )


@check(NAME, points=0.2, layer="laws")
def test_heads_drop_single_weights_in_training(student, reference, probe):
    """In training, individual weights are dropped after softmax, and the others are rescaled."""
    yours, ours, x = readable(student, reference, probe)
    (whole, _), (weights, twice) = read(ours.eval()(x)), read(yours(x))
    visible = torch.ones(WIDE.T, WIDE.T).tril() == 1
    dropped = (weights.abs() < 1e-6) & visible

    expect(dropped.any(), "In training mode, the result shows no attention weight of zero.")
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "Individual features of context vectors are zero; apply dropout to the attention weights.",
    )
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights, kept),
        "In training, the kept weights are not the right weights divided by 1 - dropout.",
    )
    share = float(dropped[..., visible].float().mean())  # of 468 weights: one deviation is 0.02
    expect(abs(share - P) < 0.15, "The share of dropped weights is far above or far below dropout.")
    long = dropped[..., 6:, :7]  # weights that are visible in every row here
    alone = (
        "Weights are dropped together: whole rows or columns, or the same weights in all heads or "
        "items."
    )
    expect((long.any(-1) & ~long.all(-1)).float().mean() > 0.5, alone)
    expect((long.any(-2) & ~long.all(-2)).float().mean() > 0.5, alone)
    expect(not torch.equal(dropped[0], dropped[1]), alone)
    expect(not torch.equal(dropped[:, 0], dropped[:, 1]), alone)
    again, _ = read(yours(x))
    expect(not torch.equal(weights, again), "The same weights are dropped in every call.")


@check(NAME, points=0.2, layer="gradients", rules=("gradients",))
def test_heads_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights and biases of all four layers are right."""
    yours, ours, _ = both(student, reference, probe, THREE, qkv_bias=True)
    x, back = tokens(probe, THREE), probe.normal(THREE.B, THREE.T, THREE.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(NAME, points=2.0, layer="forbidden", rules=("no_ready_attention",))
def test_heads_are_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours, _ = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR)

    avoids(student, NAME, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.1, layer="forbidden", rules=("no_loops",))
def test_heads_need_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours, _ = both(student, reference, probe, FOUR)
    few, many = tokens(probe, FOUR, 4), tokens(probe, FOUR, FOUR.context - 1)

    agrees(yours(many), ours(many), "The context")
    keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
