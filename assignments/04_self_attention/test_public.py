"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running
from autograder.suite.student_proxy import RemoteModule, Student

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "SelfAttentionV1": ("dimension_inputs", "dimension_outputs"),
    "SelfAttention_v1": ("d_in", "d_out"),
    "SelfAttention_v2": ("d_in", "d_out", "qkv_bias"),
}


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
T, D_IN, D_OUT = 5, 7, 6
QKV = ("W_q", "W_k", "W_v")
LONG = ("W_query", "W_key", "W_value")
LINEAR = tuple(f"{name}.weight" for name in LONG)
BIASED = tuple(f"{name}.{part}" for name in LONG for part in ("weight", "bias"))
WITH_BIAS = (D_IN, D_OUT, True)
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."


def named(module, names):
    """Return the module's parameters, after checking that all *names* exist."""
    found = module.parameters()
    for name in names:
        expect(name in found, f"torch finds no parameter named {name}.")
    return found


def same_draws(yours, ours, names):
    """Compare parameters one by one, so that the message names the first wrong one."""
    found, wanted = named(yours, names), ours.parameters()
    for name in names:
        agrees(found[name].value, wanted[name].value, f"{name} right after construction")


def caller_seeds(student, probe, name, *sizes):
    """Expect that neither creating nor calling *name* sets a seed."""
    drawn = []
    for seed in (probe.seed, probe.seed + 1):
        student.new(name, *sizes, seed=seed)(probe.normal(T, sizes[0]))
        drawn.append(student.draws_next())
    expect(
        not torch.equal(*drawn),
        f"{name} gives the same random numbers under two seeds: does your code set a seed?",
    )


def same_gradients(yours, ours, names):
    """Compare the gradients of the input and of the parameters *names*."""
    missing = [name for name in names if yours.parameters.get(name) is None]
    expect(not missing, f"No gradient reaches {', '.join(missing)}.")
    expect(yours.inputs[0] is not None, "No gradient reaches the input.")

    agrees(yours.inputs[0], ours.inputs[0], "The gradient of the input")
    for name in names:
        agrees(yours.parameters[name], ours.parameters[name], f"The gradient of {name}")


def built_by_hand(student, name, yours, ours, x):
    """Expect correct context vectors from code that does not use torch's ready-made attention."""
    avoids(student, name, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)
    agrees(yours(x), ours(x), "The result")


# SelfAttentionV1


@check("SelfAttentionV1", points=0.05, layer="signature")
def test_v1_frozen_takes_two_sizes(student):
    """The constructor takes dimension_inputs and dimension_outputs."""
    student.new("SelfAttentionV1", dimension_inputs=3, dimension_outputs=2)


@check("SelfAttentionV1", points=0.05, layer="shapes")
def test_v1_frozen_gives_each_token_a_context_vector(student, inputs):
    """Inputs of shape (6, 3) give one context vector of size 2 per token: (6, 2)."""
    context = student.new("SelfAttentionV1", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttentionV1(3, 2)(inputs)")


@check("SelfAttentionV1", points=0.2, layer="parameters")
def test_v1_frozen_draws_the_documented_matrices(student, documented):
    """With seed 1, W_q, W_k and W_v are the documented draws of torch.randn, in this order."""
    parameters = named(student.new("SelfAttentionV1", 3, 2, seed=1), QKV)

    for name in QKV:
        documented[f"000.{name.lower()}"].matches(parameters[name].value, name)


@check("SelfAttentionV1", points=0.1, layer="parameters", rules=("no_seeding",))
def test_v1_frozen_draws_anew_under_another_seed(student, reference, probe):
    """With a different seed and different sizes, the matrices are the draws of that seed."""
    yours = student.new("SelfAttentionV1", D_IN, D_OUT, seed=probe.seed)
    ours = reference.new("SelfAttentionV1", D_IN, D_OUT, seed=probe.seed)

    same_draws(yours, ours, QKV)
    caller_seeds(student, probe, "SelfAttentionV1", D_IN, D_OUT)


@check("SelfAttentionV1", points=0.5, layer="documented")
def test_v1_frozen_reproduces_the_documented_context(student, documented, inputs):
    """With seed 1, the context vectors are the documented ones."""
    attention = student.new("SelfAttentionV1", 3, 2, seed=1)

    documented["000.context"].matches(attention(inputs), "SelfAttentionV1(3, 2)(inputs)")


@check("SelfAttentionV1", points=0.5, layer="probe")
def test_v1_frozen_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for other sizes, larger weights and hidden inputs of other lengths."""
    weights = probe.weights(**dict.fromkeys(QKV, (D_IN, D_OUT)))
    yours = student.new("SelfAttentionV1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttentionV1", D_IN, D_OUT).load(weights)

    for length in (T, T + 4, 1):
        x = probe.normal(length, D_IN, scale=1.5)
        agrees(yours(x), ours(x), "The result")


@check("SelfAttentionV1", points=0.1, layer="laws", rules=("dtype",))
def test_v1_frozen_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("SelfAttentionV1", D_IN, D_OUT), probe.normal(T, D_IN))


@check("SelfAttentionV1", points=0.1, layer="laws")
def test_v1_frozen_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    x = torch.cat([torch.ones(T, 1), probe.normal(T, D_IN - 1)], dim=1)
    weights = probe.weights(**dict.fromkeys(QKV, (D_IN, D_OUT)))
    weights["W_v"][1:] = 0  # the value of each token uses only its leading 1
    context = student.new("SelfAttentionV1", D_IN, D_OUT).load(weights)(x)

    agrees(context, weights["W_v"][0].expand(T, D_OUT), "The mixture of equal values")


@check("SelfAttentionV1", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_v1_frozen_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention = student.new("SelfAttentionV1", D_IN, D_OUT)

    expect(attention.keeps_inputs(probe.normal(T, D_IN)), "The call changes its input.")


@check("SelfAttentionV1", points=0.3, layer="gradients", rules=("gradients",))
def test_v1_frozen_passes_gradients_on_but_keeps_none(student, reference, probe):
    """Gradients flow back to the input; W_q, W_k and W_v are frozen and get none."""
    x, cotangent = probe.normal(T, D_IN, scale=0.5), probe.normal(T, D_OUT)
    weights = probe.weights(**dict.fromkeys(QKV, (D_IN, D_OUT)))
    yours = student.new("SelfAttentionV1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttentionV1", D_IN, D_OUT).load(weights)

    found = yours.gradients(x, cotangent=cotangent)
    same_gradients(found, ours.gradients(x, cotangent=cotangent), ())
    for name in QKV:
        expect(
            found.parameters.get(name) is None and not named(yours, QKV)[name].requires_grad,
            f"{name} is trainable; in this class it should be frozen, with requires_grad=False.",
        )


@check("SelfAttentionV1", points=0.5, layer="forbidden", rules=("no_ready_attention",))
def test_v1_frozen_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    weights = probe.weights(**dict.fromkeys(QKV, (D_IN, D_OUT)))
    yours = student.new("SelfAttentionV1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttentionV1", D_IN, D_OUT).load(weights)

    built_by_hand(student, "SelfAttentionV1", yours, ours, probe.normal(T, D_IN))


# SelfAttention_v1


@check("SelfAttention_v1", points=0.05, layer="signature")
def test_v1_takes_two_sizes(student):
    """The constructor takes d_in and d_out."""
    student.new("SelfAttention_v1", d_in=3, d_out=2)


@check("SelfAttention_v1", points=0.05, layer="shapes")
def test_v1_gives_each_token_a_context_vector(student, inputs):
    """Inputs of shape (6, 3) give one context vector of size 2 per token: (6, 2)."""
    context = student.new("SelfAttention_v1", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttention_v1(3, 2)(inputs)")


@check("SelfAttention_v1", points=0.3, layer="parameters", rules=("no_seeding",))
def test_v1_draws_query_key_value_from_rand(student, reference, probe):
    """W_query, W_key and W_value are draws of torch.rand, in this order, for any seed."""
    yours = student.new("SelfAttention_v1", D_IN, D_OUT, seed=probe.seed)
    ours = reference.new("SelfAttention_v1", D_IN, D_OUT, seed=probe.seed)

    same_draws(yours, ours, LONG)
    caller_seeds(student, probe, "SelfAttention_v1", D_IN, D_OUT)


@check("SelfAttention_v1", points=0.45, layer="documented")
def test_v1_reproduces_the_documented_context(student, documented, inputs):
    """With seed 123, the context vectors are the documented ones."""
    attention = student.new("SelfAttention_v1", 3, 2, seed=123)

    documented["002.sa_v1.context"].matches(attention(inputs), "SelfAttention_v1(3, 2)(inputs)")


@check("SelfAttention_v1", points=0.55, layer="probe")
def test_v1_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for other sizes, larger weights and hidden inputs of other lengths."""
    weights = probe.weights(**dict.fromkeys(LONG, (D_IN, D_OUT)))
    yours = student.new("SelfAttention_v1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttention_v1", D_IN, D_OUT).load(weights)

    for length in (T, T + 4, 1):
        x = probe.normal(length, D_IN, scale=1.5)
        agrees(yours(x), ours(x), "The result")


@check("SelfAttention_v1", points=0.1, layer="laws", rules=("dtype",))
def test_v1_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("SelfAttention_v1", D_IN, D_OUT), probe.normal(T, D_IN))


@check("SelfAttention_v1", points=0.1, layer="laws")
def test_v1_knows_no_order_of_tokens(student, probe):
    """Tokens in a different order give the same context vectors in that order."""
    weights = probe.weights(**dict.fromkeys(LONG, (D_IN, D_OUT)))
    x, order = probe.normal(T, D_IN), torch.tensor([3, 0, 4, 1, 2])
    attention = student.new("SelfAttention_v1", D_IN, D_OUT).load(weights)

    context = tensor_like(attention(x), (T, D_OUT), "The result")
    expect(context.abs().max() > 0, "The context vectors are zero, but the tokens are not.")
    agrees(attention(x[order]), context[order], "The result for tokens in a different order")


@check("SelfAttention_v1", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_v1_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention = student.new("SelfAttention_v1", D_IN, D_OUT)

    expect(attention.keeps_inputs(probe.normal(T, D_IN)), "The call changes its input.")


@check("SelfAttention_v1", points=0.3, layer="gradients", rules=("gradients",))
def test_v1_can_be_trained(student, reference, probe):
    """The gradients of the input and of W_query, W_key and W_value are right."""
    x, cotangent = probe.normal(T, D_IN, scale=0.5), probe.normal(T, D_OUT)
    weights = probe.weights(**dict.fromkeys(LONG, (D_IN, D_OUT)))
    yours = student.new("SelfAttention_v1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttention_v1", D_IN, D_OUT).load(weights)

    same_gradients(
        yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent), LONG
    )


@check("SelfAttention_v1", points=0.5, layer="forbidden", rules=("no_ready_attention",))
def test_v1_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    weights = probe.weights(**dict.fromkeys(LONG, (D_IN, D_OUT)))
    yours = student.new("SelfAttention_v1", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttention_v1", D_IN, D_OUT).load(weights)

    built_by_hand(student, "SelfAttention_v1", yours, ours, probe.normal(T, D_IN))


# SelfAttention_v2


@check("SelfAttention_v2", points=0.05, layer="signature")
def test_v2_takes_two_sizes_and_a_switch(student):
    """The constructor takes d_in, d_out and the optional argument qkv_bias."""
    student.new("SelfAttention_v2", d_in=3, d_out=2)
    student.new("SelfAttention_v2", d_in=3, d_out=2, qkv_bias=True)


@check("SelfAttention_v2", points=0.05, layer="shapes")
def test_v2_gives_each_token_a_context_vector(student, inputs):
    """Inputs of shape (6, 3) give one context vector of size 2 per token: (6, 2)."""
    context = student.new("SelfAttention_v2", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttention_v2(3, 2)(inputs)")


@check("SelfAttention_v2", points=0.3, layer="parameters", rules=("no_seeding",))
def test_v2_makes_query_key_value_layers(student, reference, probe):
    """W_query, W_key and W_value are nn.Linear layers without bias, created in this order."""
    yours = student.new("SelfAttention_v2", D_IN, D_OUT, seed=probe.seed)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT, seed=probe.seed)

    expect(
        not {f"{name}.bias" for name in LONG} & set(yours.parameters()),
        "There is a bias although qkv_bias was not given; its default is False.",
    )
    same_draws(yours, ours, LINEAR)
    caller_seeds(student, probe, "SelfAttention_v2", D_IN, D_OUT)


@check("SelfAttention_v2", points=0.2, layer="parameters")
def test_v2_adds_biases_when_asked(student, reference, probe):
    """With qkv_bias=True each of the three layers has a bias, drawn right after its weight."""
    yours = student.new("SelfAttention_v2", *WITH_BIAS, seed=probe.seed)
    ours = reference.new("SelfAttention_v2", *WITH_BIAS, seed=probe.seed)

    same_draws(yours, ours, BIASED)


@check("SelfAttention_v2", points=0.5, layer="documented")
def test_v2_reproduces_the_documented_context(student, documented, inputs):
    """With seed 789 and with seed 123, the context vectors are the documented ones."""
    for seed, entry in ((789, "002.sa_v2.context"), (123, "ch03.transfer.context")):
        attention = student.new("SelfAttention_v2", 3, 2, seed=seed)

        documented[entry].matches(attention(inputs), "SelfAttention_v2(3, 2)(inputs)")


@check("SelfAttention_v2", points=0.5, layer="probe")
def test_v2_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for other sizes, larger weights and hidden inputs of other lengths."""
    weights = probe.weights(**dict.fromkeys(LINEAR, (D_OUT, D_IN)))
    yours = student.new("SelfAttention_v2", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT).load(weights)

    for length in (T, T + 4, 1):
        x = probe.normal(length, D_IN, scale=1.5)
        agrees(yours(x), ours(x), "The result")


@check("SelfAttention_v2", points=0.3, layer="probe")
def test_v2_uses_its_biases(student, reference, probe):
    """With qkv_bias=True the biases are added to queries, keys and values."""
    weights = probe.weights(**dict.fromkeys(LINEAR, (D_OUT, D_IN)))
    weights |= probe.weights(**{f"{name}.bias": (D_OUT,) for name in LONG})
    yours = student.new("SelfAttention_v2", *WITH_BIAS).load(weights)
    ours = reference.new("SelfAttention_v2", *WITH_BIAS).load(weights)
    x = probe.normal(T, D_IN, scale=0.5)

    agrees(yours(x), ours(x), "The result with biases")


@check("SelfAttention_v2", points=0.1, layer="laws", rules=("dtype",))
def test_v2_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    keeps_dtype(student.new("SelfAttention_v2", D_IN, D_OUT), probe.normal(T, D_IN))


@check("SelfAttention_v2", points=0.1, layer="laws")
def test_v2_gives_a_single_token_its_own_value(student, probe):
    """A single token attends only to itself: its context vector is its value."""
    weights = probe.weights(**dict.fromkeys(LINEAR, (D_OUT, D_IN)))
    token = probe.normal(1, D_IN)
    context = student.new("SelfAttention_v2", D_IN, D_OUT).load(weights)(token)

    agrees(context, token @ weights["W_value.weight"].T, "The context vector of a single token")


@check("SelfAttention_v2", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_v2_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention = student.new("SelfAttention_v2", D_IN, D_OUT)

    expect(attention.keeps_inputs(probe.normal(T, D_IN)), "The call changes its input.")


@check("SelfAttention_v2", points=0.3, layer="gradients", rules=("gradients",))
def test_v2_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all three layers are right."""
    x, cotangent = probe.normal(T, D_IN, scale=0.5), probe.normal(T, D_OUT)
    weights = probe.weights(**dict.fromkeys(LINEAR, (D_OUT, D_IN)))
    yours = student.new("SelfAttention_v2", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT).load(weights)

    same_gradients(
        yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent), LINEAR
    )


@check("SelfAttention_v2", points=0.5, layer="forbidden", rules=("no_ready_attention",))
def test_v2_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    weights = probe.weights(**dict.fromkeys(LINEAR, (D_OUT, D_IN)))
    yours = student.new("SelfAttention_v2", D_IN, D_OUT).load(weights)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT).load(weights)

    built_by_hand(student, "SelfAttention_v2", yours, ours, probe.normal(T, D_IN))


BOTH = ("SelfAttention_v1", "SelfAttention_v2")


class Pair:
    """A source with *weights*, a target, and the right results for *x* after the transfer.

    A mistake in one of the two classes must not count as a mistake in transfer_weights. So the
    source's layers get *weights* and *biases*, regardless of its constructor, and a target whose
    parameters have other names is graded by its output.
    """

    def __init__(self, student, reference, weights, biases, x):
        d_out, d_in = weights[LINEAR[0]].shape
        asked = [True] if biases else []
        self.source = student.new("SelfAttention_v2", d_in, d_out, *asked)
        self.target = student.new("SelfAttention_v1", d_in, d_out)
        self.layers, self.weights, self.x = layers_of(self.source), weights, x
        right = {}
        for layer, name in zip(self.layers, LINEAR, strict=True):
            right[layer] = weights[name]
            if layer.endswith(".weight"):
                right[layer.replace("weight", "bias")] = biases.get(name)
        self.source.replace(right)
        turned = {name: weights[f"{name}.weight"].T for name in LONG}
        self.context = reference.new("SelfAttention_v1", d_in, d_out).load(turned)(x)
        self.named = set(LONG) <= set(self.target.parameters())

    def is_transferred(self):
        """Expect the transposed weights in the target, and an unchanged source."""
        found = self.source.parameters()
        for layer, name in zip(self.layers, LINEAR, strict=True):
            # The worker chose the name of the layer, so no message repeats it.
            expect(layer in found, f"The source has lost its {name}.")
            agrees(found[layer].value, self.weights[name], f"The source's {name} afterwards")
        self.target_holds()

    def target_holds(self, when=""):
        """Expect the transposed weights in the target."""
        if not self.named:
            agrees(self.target(self.x), self.context, f"The target's output{when}")
            return
        found = named(self.target, LONG)
        for name in LONG:
            wanted = self.weights[f"{name}.weight"].T
            agrees(found[name].value, wanted, f"The target's {name}{when}")


def layers_of(source):
    """Return the required names of the source's weights, or those of its three matrices."""
    found = source.parameters()
    matrices = tuple(name for name, held in found.items() if held.value.ndim == 2)
    if not set(LINEAR) <= set(found) and len(matrices) == len(LINEAR):
        return matrices
    named(source, LINEAR)
    return LINEAR


def pair(student, reference, probe, d_in, d_out, *, biased=False):
    """Return a source with large weights, and a target."""
    weights = probe.weights(**dict.fromkeys(LINEAR, (d_out, d_in)))
    biases = {name: probe.normal(d_out) for name in LINEAR} if biased else {}
    return Pair(student, reference, weights, biases, probe.normal(T, d_in, scale=0.5))


# transfer_weights


@check("transfer_weights", points=0.1, layer="signature", needs=BOTH)
def test_transfer_takes_source_and_target(student, reference, probe):
    """The function takes a SelfAttention_v2 as source and a SelfAttention_v1 as target."""
    both = pair(student, reference, probe, 3, 2)

    student.call("transfer_weights", source=both.source, target=both.target)


@check("transfer_weights", points=0.5, layer="documented", needs=BOTH)
def test_transfer_passes_the_documented_weights_on(student, reference, documented, inputs):
    """With the SelfAttention_v2 weights of seed 123, the target holds the documented weights."""
    drawn = reference.new("SelfAttention_v2", 3, 2, seed=123).parameters()
    weights = {name: drawn[name].value for name in LINEAR}
    both = Pair(student, reference, weights, {}, inputs)
    student.call("transfer_weights", both.source, both.target)

    both.is_transferred()
    found = both.target.parameters()
    for name in LONG:
        if both.named:
            entry = documented[f"ch03.causal.{name.lower()}.weight"]
            entry.matches(found[name].value.T, f"The target's {name}, transposed")


@check("transfer_weights", points=0.4, layer="probe", needs=BOTH)
def test_transfer_turns_each_weight_around(student, reference, probe):
    """After the transfer, each weight of the target is the transposed weight of the source."""
    both = pair(student, reference, probe, D_IN, D_OUT)
    student.call("transfer_weights", both.source, both.target)

    both.is_transferred()


@check("transfer_weights", points=0.3, layer="probe", needs=BOTH)
def test_transfer_turns_square_weights_too(student, reference, probe):
    """Square weights are transposed as well, although their shapes already fit."""
    both = pair(student, reference, probe, D_IN, D_IN)
    student.call("transfer_weights", both.source, both.target)

    both.is_transferred()


@check("transfer_weights", points=0.2, layer="laws", needs=BOTH, rules=("refuses",))
def test_transfer_refuses_a_bias(student, reference, probe):
    """A source with biases raises an error: the target can't give the same output."""
    plain = pair(student, reference, probe, D_IN, D_OUT)
    student.call("transfer_weights", plain.source, plain.target)
    both = pair(student, reference, probe, D_IN, D_OUT, biased=True)

    expect(
        student.refuses("transfer_weights", both.source, both.target),
        "A source with biases raises no error; it should raise a ValueError.",
    )


@check("transfer_weights", points=0.3, layer="laws", needs=BOTH)
def test_transfer_leaves_two_modules_apart(student, reference, probe):
    """After the transfer, a change of the source's weights does not change the target."""
    both = pair(student, reference, probe, D_IN, D_OUT)
    student.call("transfer_weights", both.source, both.target)
    both.is_transferred()

    both.source.load({layer: probe.normal(D_OUT, D_IN) for layer in both.layers})
    both.target_holds(" after the source changed")


@check("transfer_weights", points=0.2, layer="gradients", needs=BOTH)
def test_transfer_keeps_the_target_trainable(student, reference, probe):
    """After the transfer, the target's W_query, W_key and W_value can be trained as before."""
    both = pair(student, reference, probe, D_IN, D_OUT)
    before = both.target.parameters()
    student.call("transfer_weights", both.source, both.target)
    both.is_transferred()

    after = both.target.parameters()
    for name, parameter in before.items():
        kept = name in after and after[name].requires_grad == parameter.requires_grad
        sentence = f"The target's {name} can no longer be trained as before."
        expect(kept, "The target can no longer be trained as before.", message=sentence)
