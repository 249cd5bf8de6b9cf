"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids, avoids_running
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
T, D_IN, D_OUT = 5, 7, 6
QKV = ("W_q", "W_k", "W_v")
LONG = ("W_query", "W_key", "W_value")
LINEAR = tuple(f"{name}.weight" for name in LONG)
PLAIN, BIAS = False, True  # values of qkv_bias
BIASED = tuple(f"{name}.{part}" for name in LONG for part in ("weight", "bias"))
NAMES = {"SelfAttentionV1": QKV, "SelfAttention_v1": LONG, "SelfAttention_v2": LINEAR}
SMALL = 0.2
MATCH = 10.0
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."


def has_names(attention, *names):
    """Expect parameters with all *names*."""
    found = attention.parameters()
    for name in names:
        expect(name in found, f"torch lists no parameter named {name}.")


def same_draws(yours, ours, *names):
    """Compare parameters one by one, so that the message names the first wrong one."""
    found, wanted = yours.named(*names), ours.parameters()
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


def random_weights(probe, name, d_in=D_IN, d_out=D_OUT):
    """Draw three matrices of shape (d_in, d_out), for queries, keys and values."""
    return [probe.normal(d_in, d_out) for _ in NAMES[name]]


def as_stored(name, matrices):
    """Return the *matrices*, (d_in, d_out), as the class *name* stores them."""
    turned = [matrix.T if NAMES[name] is LINEAR else matrix for matrix in matrices]
    return dict(zip(NAMES[name], turned, strict=True))


def holding(student, name, matrices):
    """Create *name* with these *matrices* for queries, keys and values."""
    more = (PLAIN,) if NAMES[name] is LINEAR else ()
    return student.new(name, *matrices[0].shape, *more).load(as_stored(name, matrices))


def both_modules(student, reference, probe, name):
    """Create *name* in the student's module and in the reference, with the same large weights."""
    matrices = random_weights(probe, name)
    return holding(student, name, matrices), holding(reference, name, matrices)


def mixes_tokens(attention, x, d_out):
    """Expect that a change of the first token changes the result of the last one."""
    other = x.clone()
    other[0] += 1
    before = tensor_like(attention(x), (len(x), d_out), "The result")
    after = tensor_like(attention(other), (len(x), d_out), "The result")
    expect(
        not alike(after[-1], before[-1]), "A changed first token does not change the last result."
    )


def same_gradients(yours, ours, *names):
    """Compare the gradients of the input and of the parameters *names*."""
    missing = [name for name in names if yours.parameters.get(name) is None]
    expect(not missing, f"No gradient reaches {', '.join(missing)}.")
    expect(yours.inputs[0] is not None, "No gradient reaches the input.")

    agrees(yours.inputs[0], ours.inputs[0], "The gradient of the input")
    for name in names:
        agrees(yours.parameters[name], ours.parameters[name], f"The gradient of {name}")


def right_for_any_length(student, reference, probe, name):
    """Compare the results for hidden inputs of several lengths."""
    yours, ours = both_modules(student, reference, probe, name)

    for length in (T, T + 4, 1):
        x = probe.normal(length, D_IN, scale=1.5)
        agrees(yours(x), ours(x), "The result")


def weights_sum_to_one(student, probe, name):
    """Expect that a mixture of equal values is this value."""
    x = torch.cat([torch.ones(T, 1), probe.normal(T, D_IN - 1)], dim=1)
    query, key, value = random_weights(probe, name)
    value[1:] = 0  # the value of each token uses only its leading 1
    context = holding(student, name, (query, key, value))(x)

    agrees(context, value[0].expand(T, D_OUT), "The mixture of equal values")


def knows_no_order(student, probe, name):
    """Expect that a different order of tokens changes only the order of the results."""
    attention = holding(student, name, random_weights(probe, name, D_IN, D_IN))
    x, order = probe.normal(T, D_IN, scale=SMALL), torch.tensor([3, 0, 4, 1, 2])

    context = tensor_like(attention(x), (T, D_IN), "The result")
    agrees(attention(x[order]), context[order], "The result for tokens in a different order")
    mixes_tokens(attention, x, D_IN)


def finds_the_matching_key(student, probe, name):
    """Expect that a query that matches one key gets the value of this key's token."""
    _, _, value = random_weights(probe, name)
    key = MATCH * torch.eye(D_IN, D_OUT)  # token i has feature i only, and key i
    query = key[:T].roll(-1, dims=0)  # token i asks for the key of the next token
    query = torch.cat([query, key[T:]])
    context = holding(student, name, (query, key, value))(torch.eye(T, D_IN))

    wanted = value[:T].roll(-1, dims=0)
    agrees(context, wanted, "The result for queries that match one key each")


def doubles_with_its_values(student, probe, name):
    """Expect twice the result for twice the values."""
    query, key, value = random_weights(probe, name, D_IN, D_IN)
    x = probe.normal(T, D_IN, scale=SMALL)
    context = holding(student, name, (query, key, value))(x)
    context = tensor_like(context, (T, D_IN), "The result")
    doubled = holding(student, name, (query, key, 2 * value))(x)

    expect(not alike(context, torch.zeros(T, D_IN)), "The result is zero, but the values are not.")
    agrees(doubled, 2 * context, "The result for twice the values")


def built_by_hand(student, probe, name):
    """Expect code that mixes the tokens without torch's ready-made attention."""
    attention, x = student.new(name, D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    avoids(student, name, READY_ATTENTION, BY_HAND)
    avoids_running(attention.operators(x), READY_ATTENTION, BY_HAND)
    mixes_tokens(attention, x, D_OUT)


# SelfAttentionV1


@check("SelfAttentionV1", points=0.05, layer="signature")
def test_v1_frozen_takes_two_sizes(student):
    """The constructor takes dimension_inputs and dimension_outputs."""
    student.new("SelfAttentionV1", dimension_inputs=3, dimension_outputs=2)


@check("SelfAttentionV1", points=0.1, layer="shapes")
def test_v1_frozen_gives_each_token_a_context_vector(student, inputs):
    """Inputs of shape (6, 3) give one context vector of size 2 per token: (6, 2)."""
    context = student.new("SelfAttentionV1", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttentionV1(3, 2)(inputs)")


@check("SelfAttentionV1", points=0.16, layer="parameters")
def test_v1_frozen_names_its_matrices(student):
    """The parameters are named W_q, W_k and W_v."""
    has_names(student.new("SelfAttentionV1", 3, 2), *QKV)


@check("SelfAttentionV1", points=0.12, layer="parameters")
def test_v1_frozen_draws_the_documented_matrices(student, documented):
    """With seed 1, W_q, W_k and W_v are the documented draws of torch.randn, in this order."""
    parameters = student.new("SelfAttentionV1", 3, 2, seed=1).named(*QKV)

    for name in QKV:
        documented[f"000.{name.lower()}"].matches(parameters[name].value, name)


@check("SelfAttentionV1", points=0.1, layer="parameters")
def test_v1_frozen_draws_anew_under_another_seed(student, reference, probe):
    """With a different seed and different sizes, the matrices are the draws of that seed."""
    yours = student.new("SelfAttentionV1", D_IN, D_OUT, seed=probe.seed)
    ours = reference.new("SelfAttentionV1", D_IN, D_OUT, seed=probe.seed)

    same_draws(yours, ours, *QKV)


@check("SelfAttentionV1", points=0.05, layer="parameters", rules=("no_seeding",))
def test_v1_frozen_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""
    caller_seeds(student, probe, "SelfAttentionV1", D_IN, D_OUT)


@check("SelfAttentionV1", points=0.18, layer="parameters")
def test_v1_frozen_does_not_train_its_matrices(student):
    """W_q, W_k and W_v are frozen: they have requires_grad=False."""
    found = student.new("SelfAttentionV1", D_IN, D_OUT).named(*QKV)

    for name in QKV:
        expect(not found[name].requires_grad, f"{name} is trainable; it should be frozen.")


@check("SelfAttentionV1", points=0.5, layer="documented")
def test_v1_frozen_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the documented matrices, the context vectors are the documented ones."""
    drawn = reference.new("SelfAttentionV1", 3, 2, seed=1).parameters()
    attention = student.new("SelfAttentionV1", 3, 2)
    attention.load({name: drawn[name].value for name in QKV})

    documented["000.context"].matches(attention(inputs), "SelfAttentionV1(3, 2)(inputs)")


@check("SelfAttentionV1", points=0.7, layer="probe")
def test_v1_frozen_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for other sizes, larger weights and hidden inputs of other lengths."""
    right_for_any_length(student, reference, probe, "SelfAttentionV1")


@check("SelfAttentionV1", points=0.04, layer="laws", rules=("dtype",))
def test_v1_frozen_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention, x = student.new("SelfAttentionV1", D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    keeps_dtype(attention, x)
    mixes_tokens(attention, x, D_OUT)


@check("SelfAttentionV1", points=0.18, layer="laws")
def test_v1_frozen_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights_sum_to_one(student, probe, "SelfAttentionV1")


@check("SelfAttentionV1", points=0.18, layer="laws")
def test_v1_frozen_knows_no_order_of_tokens(student, probe):
    """Tokens in a different order give the same context vectors in that order."""
    knows_no_order(student, probe, "SelfAttentionV1")


@check("SelfAttentionV1", points=0.18, layer="laws")
def test_v1_frozen_finds_the_matching_key(student, probe):
    """A query that matches the key of one token gets the value of this token."""
    finds_the_matching_key(student, probe, "SelfAttentionV1")


@check("SelfAttentionV1", points=0.18, layer="laws")
def test_v1_frozen_doubles_with_its_values(student, probe):
    """Twice the values give twice the context vectors."""
    doubles_with_its_values(student, probe, "SelfAttentionV1")


@check("SelfAttentionV1", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_v1_frozen_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention, x = student.new("SelfAttentionV1", D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    expect(attention.keeps_inputs(x), "The call changes its input.")
    mixes_tokens(attention, x, D_OUT)


@check("SelfAttentionV1", points=0.14, layer="gradients", rules=("gradients",))
def test_v1_frozen_passes_gradients_on_to_its_input(student, reference, probe):
    """The gradient of the input is right."""
    x, cotangent = probe.normal(T, D_IN, scale=0.5), probe.normal(T, D_OUT)
    yours, ours = both_modules(student, reference, probe, "SelfAttentionV1")

    same_gradients(yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent))


@check("SelfAttentionV1", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_v1_frozen_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    built_by_hand(student, probe, "SelfAttentionV1")


# SelfAttention_v1


@check("SelfAttention_v1", points=0.04, layer="signature")
def test_v1_takes_two_sizes(student):
    """The constructor takes d_in and d_out."""
    student.new("SelfAttention_v1", d_in=3, d_out=2)


@check("SelfAttention_v1", points=0.06, layer="shapes")
def test_v1_gives_each_token_a_context_vector(student, inputs):
    """Inputs of shape (6, 3) give one context vector of size 2 per token: (6, 2)."""
    context = student.new("SelfAttention_v1", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttention_v1(3, 2)(inputs)")


@check("SelfAttention_v1", points=0.12, layer="parameters")
def test_v1_names_its_matrices(student):
    """The parameters are named W_query, W_key and W_value."""
    has_names(student.new("SelfAttention_v1", 3, 2), *LONG)


@check("SelfAttention_v1", points=0.14, layer="parameters")
def test_v1_draws_query_key_value_from_rand(student, reference, probe):
    """W_query, W_key and W_value are draws of torch.rand, in this order, for any seed."""
    yours = student.new("SelfAttention_v1", D_IN, D_OUT, seed=probe.seed)
    ours = reference.new("SelfAttention_v1", D_IN, D_OUT, seed=probe.seed)

    same_draws(yours, ours, *LONG)


@check("SelfAttention_v1", points=0.04, layer="parameters", rules=("no_seeding",))
def test_v1_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""
    caller_seeds(student, probe, "SelfAttention_v1", D_IN, D_OUT)


@check("SelfAttention_v1", points=0.35, layer="documented")
def test_v1_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the weights of seed 123, the context vectors are the documented ones."""
    drawn = reference.new("SelfAttention_v1", 3, 2, seed=123).parameters()
    attention = student.new("SelfAttention_v1", 3, 2)
    attention.load({name: drawn[name].value for name in LONG})

    documented["002.sa_v1.context"].matches(attention(inputs), "SelfAttention_v1(3, 2)(inputs)")


@check("SelfAttention_v1", points=0.55, layer="probe")
def test_v1_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for other sizes, larger weights and hidden inputs of other lengths."""
    right_for_any_length(student, reference, probe, "SelfAttention_v1")


@check("SelfAttention_v1", points=0.04, layer="laws", rules=("dtype",))
def test_v1_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention, x = student.new("SelfAttention_v1", D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    keeps_dtype(attention, x)
    mixes_tokens(attention, x, D_OUT)


@check("SelfAttention_v1", points=0.15, layer="laws")
def test_v1_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights_sum_to_one(student, probe, "SelfAttention_v1")


@check("SelfAttention_v1", points=0.15, layer="laws")
def test_v1_knows_no_order_of_tokens(student, probe):
    """Tokens in a different order give the same context vectors in that order."""
    knows_no_order(student, probe, "SelfAttention_v1")


@check("SelfAttention_v1", points=0.15, layer="laws")
def test_v1_finds_the_matching_key(student, probe):
    """A query that matches the key of one token gets the value of this token."""
    finds_the_matching_key(student, probe, "SelfAttention_v1")


@check("SelfAttention_v1", points=0.15, layer="laws")
def test_v1_doubles_with_its_values(student, probe):
    """Twice the values give twice the context vectors."""
    doubles_with_its_values(student, probe, "SelfAttention_v1")


@check("SelfAttention_v1", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_v1_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention, x = student.new("SelfAttention_v1", D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    expect(attention.keeps_inputs(x), "The call changes its input.")
    mixes_tokens(attention, x, D_OUT)


@check("SelfAttention_v1", points=0.14, layer="gradients", rules=("gradients",))
def test_v1_can_be_trained(student, reference, probe):
    """The gradients of the input and of W_query, W_key and W_value are right."""
    x, cotangent = probe.normal(T, D_IN, scale=0.5), probe.normal(T, D_OUT)
    yours, ours = both_modules(student, reference, probe, "SelfAttention_v1")

    same_gradients(
        yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent), *LONG
    )


@check("SelfAttention_v1", points=0.08, layer="forbidden", rules=("no_ready_attention",))
def test_v1_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    built_by_hand(student, probe, "SelfAttention_v1")


# SelfAttention_v2


@check("SelfAttention_v2", points=0.03, layer="signature")
def test_v2_takes_two_sizes_and_a_switch(student):
    """The constructor takes d_in, d_out and the argument qkv_bias."""
    student.new("SelfAttention_v2", d_in=3, d_out=2, qkv_bias=True)


@check("SelfAttention_v2", points=0.04, layer="signature")
def test_v2_has_no_bias_by_default(student):
    """Without qkv_bias, the layers have no bias."""
    found = student.new("SelfAttention_v2", d_in=3, d_out=2).parameters()

    expect(
        not any(held.value.ndim == 1 for held in found.values()),
        "There is a bias although qkv_bias was not given; its default is False.",
    )


@check("SelfAttention_v2", points=0.06, layer="shapes")
def test_v2_gives_each_token_a_context_vector(student, inputs):
    """Inputs of shape (6, 3) give one context vector of size 2 per token: (6, 2)."""
    context = student.new("SelfAttention_v2", 3, 2)(inputs)

    tensor_like(context, (6, 2), "SelfAttention_v2(3, 2)(inputs)")


@check("SelfAttention_v2", points=0.14, layer="parameters")
def test_v2_names_its_layers(student):
    """The layers are named W_query, W_key and W_value, and each is an nn.Linear."""
    has_names(student.new("SelfAttention_v2", 3, 2), *LINEAR)


@check("SelfAttention_v2", points=0.1, layer="parameters")
def test_v2_makes_query_key_value_layers(student, reference, probe):
    """W_query, W_key and W_value are created in this order and keep their initial weights."""
    yours = student.new("SelfAttention_v2", D_IN, D_OUT, PLAIN, seed=probe.seed)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT, PLAIN, seed=probe.seed)

    same_draws(yours, ours, *LINEAR)


@check("SelfAttention_v2", points=0.08, layer="parameters")
def test_v2_adds_biases_when_asked(student, reference, probe):
    """With qkv_bias=True each of the three layers has a bias, drawn right after its weight."""
    yours = student.new("SelfAttention_v2", D_IN, D_OUT, BIAS, seed=probe.seed)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT, BIAS, seed=probe.seed)

    same_draws(yours, ours, *BIASED)


@check("SelfAttention_v2", points=0.04, layer="parameters", rules=("no_seeding",))
def test_v2_leaves_the_seed_to_the_caller(student, probe):
    """The module sets no seed when it is created or called."""
    caller_seeds(student, probe, "SelfAttention_v2", D_IN, D_OUT)


@check("SelfAttention_v2", points=0.4, layer="documented")
def test_v2_reproduces_the_documented_context(student, reference, documented, inputs):
    """With the weights of seed 789 and of seed 123, the context vectors are the documented ones."""
    for seed, entry in ((789, "002.sa_v2.context"), (123, "ch03.transfer.context")):
        drawn = reference.new("SelfAttention_v2", 3, 2, PLAIN, seed=seed).parameters()
        attention = student.new("SelfAttention_v2", 3, 2, PLAIN)
        attention.load({name: drawn[name].value for name in LINEAR})

        documented[entry].matches(attention(inputs), "SelfAttention_v2(3, 2, False)(inputs)")


@check("SelfAttention_v2", points=0.5, layer="probe")
def test_v2_computes_scaled_dot_product_attention(student, reference, probe):
    """The result is right for other sizes, larger weights and hidden inputs of other lengths."""
    right_for_any_length(student, reference, probe, "SelfAttention_v2")


@check("SelfAttention_v2", points=0.25, layer="probe")
def test_v2_uses_its_biases(student, reference, probe):
    """With qkv_bias=True the biases are added to queries, keys and values."""
    shapes = ((D_OUT, D_IN), (D_OUT,)) * len(LONG)
    weights = probe.weights(**dict(zip(BIASED, shapes, strict=True)))
    yours = student.new("SelfAttention_v2", D_IN, D_OUT, BIAS).load(weights)
    ours = reference.new("SelfAttention_v2", D_IN, D_OUT, BIAS).load(weights)
    x = probe.normal(T, D_IN, scale=0.5)

    agrees(yours(x), ours(x), "The result with qkv_bias=True")


@check("SelfAttention_v2", points=0.04, layer="laws", rules=("dtype",))
def test_v2_keeps_the_dtype(keeps_dtype, student, probe):
    """Float64 inputs give a float64 result, and float32 inputs give float32."""
    attention, x = student.new("SelfAttention_v2", D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    keeps_dtype(attention, x)
    mixes_tokens(attention, x, D_OUT)


@check("SelfAttention_v2", points=0.16, layer="laws")
def test_v2_weights_sum_to_one(student, probe):
    """If all values are equal, every context vector is this value: the weights sum to one."""
    weights_sum_to_one(student, probe, "SelfAttention_v2")


@check("SelfAttention_v2", points=0.16, layer="laws")
def test_v2_knows_no_order_of_tokens(student, probe):
    """Tokens in a different order give the same context vectors in that order."""
    knows_no_order(student, probe, "SelfAttention_v2")


@check("SelfAttention_v2", points=0.16, layer="laws")
def test_v2_finds_the_matching_key(student, probe):
    """A query that matches the key of one token gets the value of this token."""
    finds_the_matching_key(student, probe, "SelfAttention_v2")


@check("SelfAttention_v2", points=0.16, layer="laws")
def test_v2_doubles_with_its_values(student, probe):
    """Twice the values give twice the context vectors."""
    doubles_with_its_values(student, probe, "SelfAttention_v2")


@check("SelfAttention_v2", points=0.04, layer="laws", rules=("inputs_unchanged",))
def test_v2_leaves_its_input_as_it_was(student, probe):
    """The call does not change the input tensor."""
    attention, x = student.new("SelfAttention_v2", D_IN, D_OUT), probe.normal(T, D_IN, scale=SMALL)

    expect(attention.keeps_inputs(x), "The call changes its input.")
    mixes_tokens(attention, x, D_OUT)


@check("SelfAttention_v2", points=0.14, layer="gradients", rules=("gradients",))
def test_v2_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all three layers are right."""
    x, cotangent = probe.normal(T, D_IN, scale=0.5), probe.normal(T, D_OUT)
    yours, ours = both_modules(student, reference, probe, "SelfAttention_v2")

    same_gradients(
        yours.gradients(x, cotangent=cotangent), ours.gradients(x, cotangent=cotangent), *LINEAR
    )


@check("SelfAttention_v2", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_v2_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    built_by_hand(student, probe, "SelfAttention_v2")


BOTH = ("SelfAttention_v1", "SelfAttention_v2")


def pair(student, probe, d_in, d_out):
    """Return a source with large weights, and a target."""
    weights = drawn_weights(probe, d_in, d_out)
    source = student.new("SelfAttention_v2", d_in, d_out, PLAIN).load(weights)
    return source, student.new("SelfAttention_v1", d_in, d_out)


def drawn_weights(probe, d_in, d_out):
    """Draw large weights for a source."""
    return probe.weights(**dict.fromkeys(LINEAR, (d_out, d_in)))


def values_of(module, *names):
    """Return the values of the parameters *names*."""
    found = module.named(*names)
    return [found[name].value for name in names]


def changed(before, after):
    """Whether each of three matrices has changed."""
    pairs = zip(before, after, strict=True)
    return [left.shape != right.shape or not alike(left, right) for left, right in pairs]


def transferred(student, probe):
    """Return a source and a target whose weights the transfer has changed."""
    source, target = pair(student, probe, D_IN, D_IN)
    before = values_of(target, *LONG)
    student.call("transfer_weights", source, target)
    after = values_of(target, *LONG)
    expect(
        all(changed(before, after)), "The transfer leaves a weight matrix of the target as it was."
    )
    return source, target


def turns_each_weight_around(student, probe, d_in, d_out):
    """Expect the transposed weights of the source in the target."""
    weights = drawn_weights(probe, d_in, d_out)
    source = student.new("SelfAttention_v2", d_in, d_out, PLAIN).load(weights)
    target = student.new("SelfAttention_v1", d_in, d_out)
    student.call("transfer_weights", source, target)

    for name, held, weight in zip(LONG, values_of(target, *LONG), weights.values(), strict=True):
        agrees(held, weight.T, f"The target's {name}")


# transfer_weights


@check("transfer_weights", points=0.05, layer="signature", needs=BOTH)
def test_transfer_takes_source_and_target(student, probe):
    """The function takes a SelfAttention_v2 as source and a SelfAttention_v1 as target."""
    source, target = pair(student, probe, 3, 2)

    student.call("transfer_weights", source=source, target=target)


@check("transfer_weights", points=0.15, layer="parameters", needs=BOTH)
def test_transfer_keeps_the_target_trainable(student, probe):
    """After the transfer, the target's W_query, W_key and W_value can be trained as before."""
    before = student.new("SelfAttention_v1", D_IN, D_IN).named(*LONG)
    _, target = transferred(student, probe)

    after = target.named(*LONG)
    for name in LONG:
        kept = after[name].requires_grad == before[name].requires_grad
        expect(kept, f"The target's {name} can no longer be trained as before.")


@check("transfer_weights", points=0.29, layer="documented", needs=BOTH)
def test_transfer_passes_the_documented_weights_on(student, reference, documented):
    """With the SelfAttention_v2 weights of seed 123, the target holds the documented weights."""
    drawn = reference.new("SelfAttention_v2", 3, 2, PLAIN, seed=123).parameters()
    source = student.new("SelfAttention_v2", 3, 2, PLAIN)
    source.load({name: drawn[name].value for name in LINEAR})
    target = student.new("SelfAttention_v1", 3, 2)
    student.call("transfer_weights", source, target)

    for name, held in zip(LONG, values_of(target, *LONG), strict=True):
        weight = tensor_like(held, (3, 2), f"The target's {name}")
        entry = documented[f"ch03.causal.{name.lower()}.weight"]
        entry.matches(weight.T, f"The target's {name}, transposed,")


@check("transfer_weights", points=0.2, layer="probe", needs=BOTH)
def test_transfer_turns_each_weight_around(student, probe):
    """After the transfer, each weight of the target is the transposed weight of the source."""
    turns_each_weight_around(student, probe, D_IN, D_OUT)


@check("transfer_weights", points=0.7, layer="probe", needs=BOTH)
def test_transfer_turns_square_weights_too(student, probe):
    """Square weights are transposed as well, although their shapes already fit."""
    turns_each_weight_around(student, probe, D_IN, D_IN)


@check("transfer_weights", points=0.2, layer="laws", needs=BOTH)
def test_transfer_makes_two_modules_agree(student, probe):
    """After the transfer, source and target give the same output, also if d_in equals d_out."""
    source, target = pair(student, probe, D_IN, D_IN)
    x = probe.normal(T, D_IN, scale=0.5)
    before = tensor_like(target(x), (T, D_IN), "The target's output")
    student.call("transfer_weights", source, target)

    after = tensor_like(target(x), (T, D_IN), "The target's output")
    expect(not alike(before, after), "The transfer does not change the target's output.")
    agrees(after, source(x), "The target's output", "the source's")


@check("transfer_weights", points=0.1, layer="laws", needs=BOTH)
def test_transfer_puts_each_weight_in_its_place(student, probe):
    """A change of one weight of the source changes one weight of the target: its own."""
    weights = drawn_weights(probe, D_IN, D_IN)
    source = student.new("SelfAttention_v2", D_IN, D_IN, PLAIN)
    held = []
    for name in (LINEAR[0], *LINEAR):
        weights[name] = probe.normal(D_IN, D_IN)
        source.load(weights)
        target = student.new("SelfAttention_v1", D_IN, D_IN)
        student.call("transfer_weights", source, target)
        held.append(values_of(target, *LONG))

    for place, name in enumerate(LONG):
        own = [place == other for other in range(len(LONG))]
        sentence = (
            f"If numbers of the source's {name} change, the same numbers of the target's {name} "
            "do not, or other weights change as well."
        )
        expect(changed(held[place], held[place + 1]) == own, sentence)


@check("transfer_weights", points=0.1, layer="laws", needs=BOTH)
def test_transfer_changes_only_the_target(student, probe):
    """The transfer changes the weights of the target, and none of the source."""
    source, target = pair(student, probe, D_IN, D_IN)
    old_source, old_target = values_of(source, *LINEAR), values_of(target, *LONG)
    student.call("transfer_weights", source, target)

    new_source, new_target = values_of(source, *LINEAR), values_of(target, *LONG)
    expect(not any(changed(old_source, new_source)), "The transfer changes the source.")
    expect(
        all(changed(old_target, new_target)),
        "The transfer leaves a weight matrix of the target as it was.",
    )


@check("transfer_weights", points=0.13, layer="laws", needs=BOTH)
def test_transfer_leaves_two_modules_apart(student, probe):
    """After the transfer, a change of the source's weights does not change the target."""
    source, target = transferred(student, probe)
    before = values_of(target, *LONG)
    source.load(probe.weights(**dict.fromkeys(LINEAR, (D_IN, D_IN))))

    after = values_of(target, *LONG)
    expect(not any(changed(before, after)), "A change of the source changes the target.")


@check("transfer_weights", points=0.13, layer="laws", needs=BOTH)
def test_transfer_lets_the_target_learn_alone(student, probe):
    """After the transfer, a change of the target's weights does not change the source."""
    source, target = transferred(student, probe)
    before = values_of(source, *LINEAR)
    target.load(probe.weights(**dict.fromkeys(LONG, (D_IN, D_IN))))

    after = values_of(source, *LINEAR)
    expect(not any(changed(before, after)), "A change of the target changes the source.")


@check("transfer_weights", points=0.15, layer="laws", needs=BOTH, rules=("refuses",))
def test_transfer_refuses_a_bias(student, probe):
    """A source with biases raises an error: the target can't give the same output."""
    transferred(student, probe)
    source = student.new("SelfAttention_v2", D_IN, D_OUT, BIAS)
    target = student.new("SelfAttention_v1", D_IN, D_OUT)

    expect(
        student.refuses("transfer_weights", source, target),
        "A source with biases raises no error; it should raise a ValueError.",
    )
