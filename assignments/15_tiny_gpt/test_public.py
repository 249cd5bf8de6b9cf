"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_running
from autograder.suite.student_proxy import RemoteModule, Student


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
READY_GELU = frozenset(
    {
        "GELU",
        "GLU",
        "gelu",
        "gelu_",
        "glu",
    }
)
READY_NORM = frozenset(
    {
        "BatchNorm1d",
        "BatchNorm2d",
        "GroupNorm",
        "InstanceNorm1d",
        "LayerNorm",
        "RMSNorm",
        "_fused_rms_norm",
        "batch_norm",
        "group_norm",
        "instance_norm",
        "layer_norm",
        "native_batch_norm",
        "native_group_norm",
        "native_layer_norm",
        "rms_norm",
    }
)
HEADS = "MultiHeadAttention"
BLOCK = "TransformerBlock"
TIED = True
QKV_BIAS, NO_BIAS = True, False
WITHOUT_GRAPH = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
BY_HAND = "Use your own attention: scores, softmax, weighted values."
NORM_BY_HAND = "Use your own LayerNorm."
GELU_BY_HAND = "Use your own gelu."
DRAWN = 2000


class Sizes(NamedTuple):
    """Sizes of a GPT: all different, so that no wrong axis fits by chance."""

    V: int
    context: int
    d_model: int
    H: int
    layers: int


ONE = Sizes(V=11, context=9, d_model=6, H=2, layers=1)
TWO = Sizes(V=7, context=5, d_model=12, H=3, layers=2)
THREE = Sizes(V=13, context=8, d_model=10, H=1, layers=3)


def draw_ids(probe, B, T, V):
    """Draw token ids."""
    return (probe.uniform(B, T) * V).long()


def drawn_weights(probe, shapes):
    """Draw weights of these shapes, so that every layer gives results of variance 1."""
    weights = {}
    for name, shape in shapes.items():
        drawn = probe.normal(*shape)
        if name.endswith("scale"):
            drawn = drawn + drawn.sign()
        elif name.endswith("weight") and "emb" not in name:
            drawn = drawn * shape[-1] ** -0.5
        weights[name] = drawn
    return weights


def both(student, reference, probe, name, *sizes):
    """Build the student's module and the reference module, with the same drawn weights."""
    ours = reference.new(name, *sizes)
    weights = drawn_weights(probe, ours.shapes())
    return student.new(name, *sizes).load(weights), ours.load(weights)


def both_transformers(student, reference, probe, V, d_model=6):
    """Build two equal models from torch's layers; a prediction depends on all given tokens."""
    vectors = {"weight": 2 * probe.normal(V, d_model)}
    head = {"weight": 2 * probe.normal(V, d_model), "bias": probe.normal(V)}

    def build(side):
        sizes = (d_model, 2, d_model + 3, 0.0)  # two heads, and no dropout
        layer = side.new("nn.TransformerEncoderLayer", *sizes, batch_first=True, seed=probe.seed)
        embedding = side.new("nn.Embedding", V, d_model).load(vectors)
        return side.new(
            "nn.Sequential", embedding, layer, side.new("nn.Linear", d_model, V).load(head)
        )

    return build(student), build(reference)


def both_tables(student, reference, probe, V):
    """Build two equal tables of logits, each an nn.Embedding of torch."""
    weights = {"weight": 2 * probe.normal(V, V)}
    return tuple(side.new("nn.Embedding", V, V).load(weights) for side in (student, reference))


def named(module, wanted, sentence):
    """Fail the check unless *module* has exactly the parameters *wanted*, with these shapes."""
    found = module.shapes()
    for name, shape in wanted.items():
        expect(name in found, f"There is no parameter {name}.")
        what = f"{name} has shape {found[name]}; it should have {shape}."
        expect(found[name] == shape, f"{name} has the wrong shape.", message=what)
    more = sorted(set(found) - set(wanted))
    expect(not more, sentence, message=f"{sentence} Found: {', '.join(more)}.")


def same_gradients(yours, ours):
    """Compare the gradients of all parameters."""
    for name, gradient in ours.parameters.items():
        found = yours.parameters.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


def counts_of(answer, V, what):
    """Count how often each token is among the drawn ids, or fail the check."""
    drawn = tensor(answer, what).flatten()
    known = not drawn.is_floating_point() and ((drawn >= 0) & (drawn < V)).all()
    expect(known, f"{what} contains a value that is not a token id.")
    return torch.bincount(drawn.long(), minlength=V)


def frequencies_fit(counts, shares, what):
    """Fail the check if *counts* differ from *shares* by more than five standard errors."""
    shares = shares / shares.sum()
    n = counts.sum()
    error = 5 * (n * shares * (1 - shares)).sqrt()
    fits = ((counts - n * shares).abs() <= error).all()
    expect(fits, f"{what}, the tokens are not drawn with their probabilities.")


def is_refused(refused, what):
    """Fail the check if a wrong argument is accepted."""
    sentence = f"{what} gives a result; it should raise a ValueError."
    expect(refused, sentence, Status.NOT_REFUSED)


# MultiHeadAttention


@check(HEADS, points=0.1, layer="probe")
def test_heads_still_attend(student, reference, probe):
    """The copied class gives the right results for several sizes and lengths."""
    for d_in, d_out, context, H, qkv_bias in ((7, 6, 9, 2, False), (5, 12, 6, 3, True)):
        sizes = (d_in, d_out, context, 0.0, H, qkv_bias)
        yours, ours = both(student, reference, probe, HEADS, *sizes)

        for T in (context - 1, context, 1):
            x = probe.normal(4, T, d_in)
            agrees(yours(x), ours(x), "The context")


WIDE = {"B": 3, "T": 12, "H": 2, "d_in": 15, "d_out": 48, "context": 13}
P = 0.3  # the probability with which a weight is dropped


def readable(student, reference, probe):
    """Build both modules so that their outputs show the attention weights, each weight twice."""
    B, T, H, d_in, d_out, context = WIDE.values()
    weights = {
        "W_query.weight": probe.normal(d_out, d_in, scale=0.4),
        "W_key.weight": probe.normal(d_out, d_in, scale=0.4),
        "W_value.weight": torch.eye(T, d_in).repeat(2 * H, 1),
        "out_proj.weight": torch.eye(d_out),
        "out_proj.bias": torch.zeros(d_out),
    }
    x = probe.normal(B, T, d_in, scale=0.6)
    x[..., :T] = torch.eye(T)
    sizes = (d_in, d_out, context, P, H)
    return student.new(HEADS, *sizes).load(weights), reference.new(HEADS, *sizes).load(weights), x


def read(context):
    """Read the attention weights, (B, H, T, T), from both copies."""
    B, T, H, _, d_out, _ = WIDE.values()
    answer = tensor_like(context, (B, T, d_out), "The context")
    return answer.view(B, T, H, 2, T).permute(3, 0, 2, 1, 4)


@check(HEADS, points=0.1, layer="laws", rules=("refuses",))
def test_heads_still_drop_weights(student, reference, probe):
    """Weights are dropped only in training; wrong sizes and texts that are too long are refused."""
    yours, ours, x = readable(student, reference, probe)
    whole, _ = read(ours.eval()(x))

    read(yours(x))
    agrees(read(yours.eval()(x))[0], whole, "The attention weights in eval mode")
    weights, twice = read(yours.train()(x))
    visible = torch.ones(WIDE["T"], WIDE["T"]).tril() == 1
    dropped = (weights.abs() < 1e-6) & visible
    expect(dropped.any(), "In training mode, no attention weight is dropped.")
    expect(
        alike(weights.nan_to_num(), twice.nan_to_num()),
        "Single features of context vectors are dropped; apply dropout to the attention weights.",
    )
    kept = torch.where(dropped, weights, whole / (1 - P))
    expect(
        alike(weights, kept),
        "In training, the remaining weights are not the right weights divided by 1 - dropout.",
    )
    share = float(dropped[..., visible].float().mean())  # 468 weights: standard error 0.02
    expect(
        abs(share - P) < 0.15, "The share of dropped weights is far from the probability dropout."
    )
    again, _ = read(yours(x))
    expect(not torch.equal(weights, again), "The same weights are dropped in every call.")
    long = probe.normal(2, WIDE["context"] + 1, WIDE["d_in"])
    is_refused(yours.refuses(long), "A text of more than context_length tokens")
    refused = student.refuses(HEADS, 7, 8, 12, 0.0, 3)
    refused = refused or student.new(HEADS, 7, 8, 12, 0.0, 3).refuses(probe.normal(2, 12, 7))
    is_refused(refused, "A d_out that num_heads does not divide")


# LayerNorm


@check("LayerNorm", points=0.2, layer="probe")
def test_layer_norm_still_normalizes(student, reference, probe):
    """The copied class gives the right results, even for small features or a different eps."""
    for shape, eps, size in (((3, 5, 7), None, 2.3), ((4, 6), 0.5, 1.2), ((2, 8), None, 0.004)):
        arguments = (shape[-1],) if eps is None else (shape[-1], eps)
        yours, ours = both(student, reference, probe, "LayerNorm", *arguments)
        x = size * probe.normal(*shape) + size

        agrees(yours(x), ours(x), "The result of LayerNorm")


# FeedForward


@check("FeedForward", points=0.1, layer="probe")
def test_feed_forward_still_transforms(student, reference, probe):
    """The copied class gives the right results with GELU (the default) and with ReLU."""
    for d_model, hidden, *activation in ((4, 7), (5, 9, "relu"), (3, 8, "gelu")):
        yours, ours = both(student, reference, probe, "FeedForward", d_model, hidden, *activation)
        x = 1.4 * probe.normal(3, 6, d_model)

        agrees(yours(x), ours(x), "The result of FeedForward")


@check("FeedForward", points=0.1, layer="probe", rules=("refuses",))
def test_feed_forward_still_refuses_other_activations(student):
    """The constructor accepts "gelu" and "relu" and raises an error for other names."""
    for activation in ("gelu", "relu"):
        network = student.new("FeedForward", 4, 6, activation)
        tensor_like(network(torch.ones(3, 4)), (3, 4), "The result of FeedForward")
    for activation in ("tanh", "GELU!", "", "sigmoid"):
        refused = student.refuses("FeedForward", 4, 6, activation)
        is_refused(refused, "An unknown activation")


# TransformerBlock


@check(BLOCK, points=0.2, layer="probe", needs=("FeedForward",))
def test_block_still_stacks(student, reference, probe):
    """The copied class gives the right results, with pre-norm and with post-norm."""
    for norm_first, d_model, hidden in ((True, 5, 9), (False, 4, 7)):
        sizes = (d_model, hidden, norm_first)
        built = [
            side.new(BLOCK, side.new("FeedForward", d_model, 6, "relu"), *sizes)
            for side in (reference, student)
        ]
        weights = drawn_weights(probe, built[0].shapes())
        ours, yours = (block.load(weights) for block in built)
        x = 1.3 * probe.normal(3, 6, d_model) + 0.4

        agrees(yours(x), ours(x), "The result of the block")


# BigramModel


@check("BigramModel", points=0.1, layer="shapes")
def test_bigram_gives_a_row_for_each_token(student):
    """A batch of 2 texts with 4 tokens each gives logits (2, 4, 5)."""
    model = student.new("BigramModel", 5)

    tensor_like(model(torch.ones(2, 4).long()), (2, 4, 5), "The logits of BigramModel(5)")


@check("BigramModel", points=0.2, layer="parameters")
def test_bigram_is_one_table(student, reference, probe):
    """The only parameter is table, with the initial weights of an nn.Embedding."""
    yours = student.new("BigramModel", 6, seed=probe.seed)
    ours = reference.new("BigramModel", 6, seed=probe.seed)

    named(yours, {"table.weight": (6, 6)}, "BigramModel has a parameter outside table.")
    wanted = ours.parameters()["table.weight"].value
    agrees(yours.parameters()["table.weight"].value, wanted, "table right after construction")


@check("BigramModel", points=0.3, layer="documented")
def test_bigram_has_the_documented_loss(student, documented):
    """With seed 1337, the untrained model has the documented loss on the documented batch."""
    ids, targets = documented["gptdev.ids"].tensor, documented["gptdev.targets"].tensor
    model = student.new("BigramModel", 65, seed=1337)

    logits = tensor_like(model(ids.long()), (4, 8, 65), "The logits of BigramModel(65)")
    loss = F.cross_entropy(logits.flatten(0, 1).float(), targets.long().flatten())
    documented["gptdev.bigram.loss"].matches(loss, "The loss of BigramModel(65)")


@check("BigramModel", points=0.1, layer="probe")
def test_bigram_looks_up_any_table(student, reference, probe):
    """For any table and any ids, the logits are the rows of the table for these ids."""
    for B, T, V in ((3, 5, 7), (1, 6, 4)):
        yours, ours = both(student, reference, probe, "BigramModel", V)
        ids = draw_ids(probe, B, T, V)

        agrees(yours(ids), ours(ids), "The logits")


def gpt_shapes(s, *, qkv_bias=False):
    """Return the shapes of a GPT's parameters, by name, without the head."""
    d = s.d_model
    shapes = {"tok_emb.weight": (s.V, d), "pos_emb.weight": (s.context, d)}
    for number_ in range(s.layers):
        at = f"blocks.{number_}"
        for name in ("W_query", "W_key", "W_value"):
            shapes |= {f"{at}.att.{name}.weight": (d, d)}
            shapes |= {f"{at}.att.{name}.bias": (d,)} if qkv_bias else {}
        shapes |= {f"{at}.att.out_proj.weight": (d, d), f"{at}.att.out_proj.bias": (d,)}
        shapes |= {f"{at}.ff.linear1.weight": (4 * d, d), f"{at}.ff.linear1.bias": (4 * d,)}
        shapes |= {f"{at}.ff.linear2.weight": (d, 4 * d), f"{at}.ff.linear2.bias": (d,)}
        for norm in ("norm1", "norm2"):
            shapes |= {f"{at}.{norm}.scale": (d,), f"{at}.{norm}.shift": (d,)}
    return shapes | {"final_norm.scale": (d,), "final_norm.shift": (d,)}


# GPT


@check("GPT", points=0.1, layer="signature")
def test_gpt_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes the documented arguments; qkv_bias and tied are optional."""
    sizes = {"vocab_size": 5, "context_length": 7, "d_model": 4, "num_heads": 2, "num_layers": 1}

    student.new("GPT", **sizes)
    student.new("GPT", **sizes, qkv_bias=True, tied=True)


@check("GPT", points=0.1, layer="shapes")
def test_gpt_gives_a_row_for_each_token(student):
    """Two texts of 6, 3 or 1 tokens give logits (2, 6, 5), (2, 3, 5) or (2, 1, 5)."""
    model = student.new("GPT", 5, 6, 4, 2, 1)

    for T in (6, 3, 1):
        tensor_like(model(torch.ones(2, T).long()), (2, T, 5), "The logits of GPT(5, 6, 4, 2, 1)")


@check("GPT", points=0.2, layer="parameters")
def test_gpt_consists_of_the_documented_layers(student):
    """The parameters are those of the documented layers, with and without qkv_bias."""
    for s, qkv_bias in ((TWO, False), (THREE, True)):
        model = student.new("GPT", *s, qkv_bias)

        wanted = gpt_shapes(s, qkv_bias=qkv_bias) | {"out_head.weight": (s.V, s.d_model)}
        named(model, wanted, "The GPT has a parameter outside its documented layers.")


@check("GPT", points=0.2, layer="parameters")
def test_gpt_draws_its_layers_in_order(student, reference, probe):
    """All layers are created in the documented order, so a seed gives the expected weights."""
    yours = student.new("GPT", *TWO, seed=probe.seed).parameters()
    ours = reference.new("GPT", *TWO, seed=probe.seed).parameters()

    for name, parameter in ours.items():
        expect(name in yours, f"There is no parameter {name}.")
        agrees(yours[name].value, parameter.value, f"{name} right after construction")
        expect(yours[name].requires_grad, f"{name} is not trainable.")


@check("GPT", points=0.2, layer="parameters")
def test_tied_gpt_has_one_tensor_less(student):
    """In a tied GPT, the weight of the head is the parameter of tok_emb, not a second one."""
    shapes = student.new("GPT", *TWO, tied=True).shapes()

    both_names = {"tok_emb.weight", "out_head.weight"} <= set(shapes)
    expect(not both_names, "In a tied GPT, tok_emb and out_head have two different parameters.")
    named_ = {"tok_emb.weight" if name == "out_head.weight" else name for name in shapes}
    more = sorted(named_ ^ set(gpt_shapes(TWO)))
    expect(not more, "The other parameters of a tied GPT are not those of an untied one.")


@check("GPT", points=0.4, layer="probe")
def test_gpt_gives_the_right_logits(student, reference, probe):
    """For several sizes and lengths, the logits are right."""
    for s in (ONE, TWO, THREE):
        yours, ours = both(student, reference, probe, "GPT", *s)

        for B, T in ((3, s.context), (2, s.context - 1)):
            ids = draw_ids(probe, B, T, s.V)
            agrees(yours(ids), ours(ids), "The logits")


@check("GPT", points=0.3, layer="probe")
def test_gpt_reads_a_single_text(student, reference, probe):
    """A single text, of many tokens or of one token, gets the right logits."""
    for s in (TWO, THREE):
        yours, ours = both(student, reference, probe, "GPT", *s)

        for T in (s.context, 3, 1):
            ids = draw_ids(probe, 1, T, s.V)
            agrees(yours(ids), ours(ids), "The logits")


@check("GPT", points=0.3, layer="probe")
def test_gpt_uses_its_options(student, reference, probe):
    """The logits are right with qkv_bias, with tied, and with both."""
    for s, options in ((ONE, (QKV_BIAS,)), (TWO, (NO_BIAS, TIED)), (ONE, (QKV_BIAS, TIED))):
        yours, ours = both(student, reference, probe, "GPT", *s, *options)
        ids = draw_ids(probe, 4, s.context, s.V)

        agrees(yours(ids), ours(ids), "The logits")


@check("GPT", points=0.3, layer="probe", rules=("refuses",))
def test_gpt_refuses_texts_that_are_too_long(student, reference, probe):
    """A text of context_length tokens gets logits, and a longer one raises an error."""
    for s in (ONE, TWO):
        yours, ours = both(student, reference, probe, "GPT", *s)
        ids = draw_ids(probe, 2, s.context, s.V)

        agrees(yours(ids), ours(ids), "The logits of context_length tokens")
        for more in (1, 4):
            ids = draw_ids(probe, 2, s.context + more, s.V)
            is_refused(yours.refuses(ids), "A text longer than context_length")


@check("GPT", points=0.2, layer="laws")
def test_gpt_never_looks_ahead(student, reference, probe):
    """A change of the last tokens changes their own logits and no earlier ones."""
    s = THREE
    yours, _ = both(student, reference, probe, "GPT", *s)
    ids = draw_ids(probe, 3, s.context, s.V)
    others = ids.clone()
    others[:, 5:] = (others[:, 5:] + 1) % s.V

    before = tensor_like(yours(ids), (3, s.context, s.V), "The logits")
    after = tensor_like(yours(others), (3, s.context, s.V), "The logits")
    unchanged = alike(after[:, 5:], before[:, 5:])
    expect(not unchanged, "A change of the last tokens does not change their own logits.")
    agrees(after[:, :5], before[:, :5], "After a change of the last tokens, the first logits")


@check("GPT", points=0.2, layer="laws")
def test_tied_gpt_shares_its_weights(student, probe):
    """A tied GPT gives the logits of an untied GPT whose head holds the vectors of the tokens."""
    s = ONE
    tied = student.new("GPT", *s, NO_BIAS, TIED)
    untied = student.new("GPT", *s)
    weights = drawn_weights(probe, gpt_shapes(s))
    ids = draw_ids(probe, 3, s.context, s.V)

    tied.load(weights)
    untied.load(weights | {"out_head.weight": weights["tok_emb.weight"]})
    wanted = tensor_like(untied(ids), (3, s.context, s.V), "The logits")
    agrees(tied(ids), wanted, "The logits of the tied GPT")


@check("GPT", points=0.1, layer="laws")
def test_new_gpt_knows_nothing(student, probe):
    """The loss of a new GPT is near ln V, the loss if all tokens are equally likely."""
    sizes = (33, 16, 32, 4, 2)
    model = student.new("GPT", *sizes, seed=probe.seed)
    ids = draw_ids(probe, 8, 17, 33)

    logits = tensor_like(model(ids[:, :-1]), (8, 16, 33), "The logits")
    spread = logits.std(dim=-1).mean()
    loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
    expect(spread > 0.05, "The logits of a new GPT are all the same.")  # it is 0.6
    expect(3.0 < loss < 4.0, "The loss of a new GPT is not near ln V.")


@check("GPT", points=0.1, layer="laws")
def test_gpt_reads_each_text_alone(student, reference, probe):
    """A text gets the same logits alone and in a batch."""
    s = TWO
    yours, _ = both(student, reference, probe, "GPT", *s)
    ids = draw_ids(probe, 3, s.context, s.V)

    together = tensor_like(yours(ids), (3, s.context, s.V), "The logits")
    expect(not alike(together[0], together[2]), "Different texts get the same logits.")
    for item in range(3):
        agrees(yours(ids[item : item + 1]), together[item : item + 1], "The logits of one text")


@check("GPT", points=0.1, layer="laws", rules=("inputs_unchanged", "dtype"))
def test_gpt_keeps_ids_and_precision(student, reference, probe):
    """The ids are unchanged after a call, and a GPT in float64 gives logits in float64."""
    s = ONE
    yours, ours = both(student, reference, probe, "GPT", *s)
    ids = draw_ids(probe, 3, s.context, s.V)

    agrees(yours(ids), ours(ids), "The logits")
    expect(yours.keeps_inputs(ids), "The call changes the ids.")
    yours.move("float64")
    same_dtype(tensor(yours(ids)), torch.float64, "The logits of a GPT in float64")


@check("GPT", points=0.2, layer="gradients", rules=("gradients",))
def test_gpt_can_be_trained(student, reference, probe):
    """The gradient of every parameter is right."""
    for s in (ONE, TWO):
        yours, ours = both(student, reference, probe, "GPT", *s)
        ids, back = draw_ids(probe, 3, s.context, s.V), probe.normal(3, s.context, s.V)

        same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


@check("GPT", points=0.1, layer="gradients", rules=("gradients",))
def test_tied_gpt_is_trained_from_both_ends(student, reference, probe):
    """In a tied GPT, tok_emb gets the sum of the gradients of embedding and head."""
    s = ONE
    yours, ours = both(student, reference, probe, "GPT", *s, NO_BIAS, TIED)
    ids, back = draw_ids(probe, 3, s.context, s.V), probe.normal(3, s.context, s.V)

    same_gradients(yours.gradients(ids, cotangent=back), ours.gradients(ids, cotangent=back))


@check("GPT", points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_gpt_attends_by_your_own_code(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both(student, reference, probe, "GPT", *ONE)
    ids = draw_ids(probe, 3, ONE.context, ONE.V)

    agrees(yours(ids), ours(ids), "The logits")
    avoids(student, "GPT", READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(ids), READY_ATTENTION, BY_HAND)


@check("GPT", points=0.1, layer="forbidden", rules=("no_ready_norm", "no_ready_gelu"))
def test_gpt_is_built_from_your_parts(student, reference, probe):
    """The norms and GELU are your own, not torch's."""
    yours, ours = both(student, reference, probe, "GPT", *TWO)
    ids = draw_ids(probe, 3, TWO.context, TWO.V)

    agrees(yours(ids), ours(ids), "The logits")
    ran = yours.operators(ids)
    for names, why in ((READY_NORM, NORM_BY_HAND), (READY_GELU, GELU_BY_HAND)):
        avoids(student, "GPT", names, why)
        avoids_running(ran, names, why)


def count(student, *sizes):
    """Return the number of parameters, or fail the check if it is not an int."""
    found = student.call("count_parameters", *sizes)
    is_int = isinstance(found, int) and not isinstance(found, bool)
    expect(is_int, "count_parameters does not return an int.", Status.WRONG_TYPE)
    return found


# count_parameters


@check("count_parameters", points=0.2, layer="documented")
def test_count_of_the_small_gpt2(student, documented):
    """The smallest GPT-2 with an untied head has the documented number of parameters."""
    found = count(student, 50257, 1024, 768, 12)

    documented["ch04.parameters"].matches(found, "count_parameters(50257, 1024, 768, 12)")


@check("count_parameters", points=0.2, layer="documented")
def test_count_of_the_tied_gpt2(student, documented):
    """With a tied head, the smallest GPT-2 has the documented 124 million parameters."""
    found = count(student, 50257, 1024, 768, 12, NO_BIAS, TIED)

    what = "count_parameters(50257, 1024, 768, 12, False, True)"
    documented["ch04.parameters.tied"].matches(found, what)


@check("count_parameters", points=0.2, layer="documented")
def test_count_of_the_lecture(student, documented):
    """With 65 head biases added, the counts for the lecture's two models are as documented."""
    for name, sizes in (
        ("gptdev.parameters", (65, 32, 64, 4)),
        ("gptdev.parameters.large", (65, 256, 384, 6)),
    ):
        what = f"count_parameters{sizes}, plus 65,"
        documented[name].matches(count(student, *sizes) + 65, what)


@check("count_parameters", points=0.1, layer="documented")
def test_count_of_one_block(student, documented):
    """A layer adds two norms and the documented counts for attention and feed-forward network."""
    added = count(student, 50257, 1024, 768, 13) - count(student, 50257, 1024, 768, 12)

    attention = documented["ch04.exercise.attention"].value
    without_norms = added - attention - 4 * 768
    documented["ch04.exercise.feed_forward"].matches(
        without_norms, "The number that one more layer adds, without attention and norms,"
    )


@check("count_parameters", points=0.2, layer="probe")
def test_count_for_any_sizes(student, reference, probe):
    """The count is right for other sizes, with and without qkv_bias and tied."""
    for V, context, d_model, layers in ((7, 5, 6, 1), (50, 31, 24, 3), (13, 200, 9, 0)):
        for options in ((), (QKV_BIAS,), (NO_BIAS, TIED), (QKV_BIAS, TIED)):
            sizes = (V + probe.seed % 89, context, d_model, layers, *options)
            wanted = reference.call("count_parameters", *sizes)

            agrees(count(student, *sizes), wanted, "The number of parameters")


@check("count_parameters", points=0.1, layer="probe")
def test_count_needs_no_model(student, reference, probe):
    """The parameters are counted even for models that are too large to build."""
    V = 50257 + probe.seed % 89
    for sizes in ((V, 2048, 12288, 96), (V, 2**17, 2**15, 500, QKV_BIAS)):
        wanted = reference.call("count_parameters", *sizes)

        agrees(count(student, *sizes), wanted, "The number of parameters")


# top_k_logits


@check("top_k_logits", points=0.3, layer="documented")
def test_top_k_gives_the_documented_probabilities(student, documented):
    """The three largest of nine documented logits have the documented probabilities."""
    logits = documented["ch05.next_token_logits"].tensor

    kept = tensor_like(student.call("top_k_logits", logits, 3), (9,), "top_k_logits(logits, 3)")
    what = "The softmax of top_k_logits(logits, 3)"
    documented["ch05.topk_probas"].matches(torch.softmax(kept, dim=-1), what)


@check("top_k_logits", points=0.2, layer="probe", rules=("minus_infinity",))
def test_top_k_works_on_each_row(student, reference, probe):
    """For logits with one, two and three axes, each row keeps its own k largest logits."""
    for *shape, k in ((7, 3), (4, 6, 2), (3, 2, 5, 4), (5, 3, 1)):
        logits = 2 * probe.normal(*shape) - 1

        found = student.call("top_k_logits", logits, k)
        agrees(found, reference.call("top_k_logits", logits, k), "The logits that are kept")


@check("top_k_logits", points=0.1, layer="probe")
def test_top_k_keeps_ties(student, reference, probe):
    """All logits equal to the k-th largest one are kept."""
    base = torch.tensor([2.0, 5.0, 2.0, 7.0, 2.0, 1.0]) + probe.normal(3, 1).round()

    for k in (1, 2, 3, 4, 5):
        found = student.call("top_k_logits", base, k)
        agrees(found, reference.call("top_k_logits", base, k), "With ties, the logits")


@check("top_k_logits", points=0.1, layer="probe", rules=("refuses",))
def test_top_k_refuses_a_wrong_k(student, reference, probe):
    """A k of 1 or V gives the right logits, and a k below 1 or above V raises an error."""
    logits = probe.normal(3, 5)

    for k in (1, 5):
        found = student.call("top_k_logits", logits, k)
        agrees(found, reference.call("top_k_logits", logits, k), "The logits")
    for k in (0, -1, 6, 9):
        is_refused(student.refuses("top_k_logits", logits, k), "A k below 1 or above V")


@check("top_k_logits", points=0.1, layer="laws", rules=("inputs_unchanged", "dtype"))
def test_top_k_of_all_changes_nothing(keeps_dtype, student, probe):
    """With k = V the result equals the logits, and the caller's tensor is unchanged."""
    logits = probe.normal(3, 6)

    agrees(student.call("top_k_logits", logits, 6), logits, "With k = V, the logits")
    kept = student.keeps_inputs("top_k_logits", logits, 2)
    expect(kept, "top_k_logits changes the logits that you pass to it.")
    keeps_dtype("top_k_logits", logits, 2)


# sample_next


@check("sample_next", points=0.3, layer="probe")
def test_tokens_are_drawn_by_their_probabilities(student, probe):
    """In two thousand draws, the share of each token is close to its probability."""
    row = torch.tensor([0.0, 1.2, -0.7, 1.9, 0.6]) + 0.1 * probe.uniform(5)
    for options, top_k in (((), None), ((0.6,), None), ((1.8,), None), ((1.3, 3), 3)):
        answer = student.call("sample_next", row.expand(DRAWN, 5), *options, seed=probe.seed)

        what = "The result for 2000 rows"
        counts = counts_of(tensor_like(answer, (DRAWN, 1), what), 5, what)
        heat = options[0] if options else 1.0
        shares = (row / heat).exp()
        if top_k:
            shares = shares * (row >= row.sort().values[-top_k])
        frequencies_fit(counts, shares, "At a temperature above 0")


@check("sample_next", points=0.2, layer="probe")
def test_temperature_zero_takes_the_largest(student, reference, probe):
    """At temperature 0 each item gets its most likely token, with and without top_k."""
    for B, V, top_k in ((4, 7, None), (1, 5, None), (3, 6, 2)):
        logits = 2 * probe.normal(B, V)

        found = student.call("sample_next", logits, 0.0, top_k)
        agrees(
            found,
            reference.call("sample_next", logits, 0.0, top_k),
            "With a temperature of 0, the ids",
        )


@check("sample_next", points=0.2, layer="laws", rules=("refuses",))
def test_sampling_refuses_wrong_arguments(student, probe):
    """A temperature below 0 or a top_k outside 1 to V raises an error, even at temperature 0."""
    logits = probe.normal(3, 5)

    tensor_like(student.call("sample_next", logits, 0.0, 5), (3, 1), "The ids")
    tensor_like(student.call("sample_next", logits, 1.0, 1), (3, 1), "The ids")
    for temperature in (-1.0, -0.01):
        refused = student.refuses("sample_next", logits, temperature)
        is_refused(refused, "A temperature below 0")
    for temperature, top_k in ((1.0, 0), (1.0, 6), (0.0, 0), (0.0, 6), (0.0, -2)):
        refused = student.refuses("sample_next", logits, temperature, top_k)
        is_refused(refused, "A top_k below 1 or above V")


@check("sample_next", points=0.1, layer="laws")
def test_cold_sampling_takes_the_largest(student, probe):
    """With top_k = 1 or a temperature near 0, the most likely token is drawn."""
    order = probe.uniform(4, 6).argsort(dim=-1)
    logits = 3.0 * order.float()
    largest = order.argmax(dim=-1, keepdim=True)

    agrees(student.call("sample_next", logits, 2.0, 1, seed=3), largest, "With top_k = 1, the ids")
    for seed in (4, 5):
        cold = student.call("sample_next", logits, 0.05, seed=seed)
        agrees(cold, largest, "With a temperature of 0.05, the ids")


@check("sample_next", points=0.1, layer="laws", rules=("no_seeding", "inputs_unchanged"))
def test_sampling_leaves_the_seed_to_the_caller(student, probe):
    """Two seeds give different draws, and the caller's logits are unchanged."""
    logits = torch.zeros(40, 9)

    drawn = [student.call("sample_next", logits, seed=seed) for seed in (probe.seed, 7)]
    same = torch.equal(*(tensor_like(one, (40, 1), "The ids") for one in drawn))
    expect(not same, "Two seeds give the same ids: does your code set a seed?")
    after = [student.draws_next()]
    student.call("sample_next", logits, seed=8)
    after.append(student.draws_next())
    expect(
        not torch.equal(*after), ("After a call, torch's random numbers do not depend on the seed.")
    )
    kept = student.keeps_inputs("sample_next", probe.normal(3, 5), 0.7, 2)
    expect(kept, "sample_next changes the logits that you pass to it.")


# generate


@check("generate", points=0.1, layer="shapes")
def test_generate_appends_tokens(student):
    """Two texts of 3 tokens, continued by 4, have 7 tokens and begin with the given ids."""
    ids = torch.tensor([[1, 0, 2], [2, 2, 1]])

    model = student.new("nn.Embedding", 3, 3)
    found = tensor_like(student.call("generate", model, ids, 4, 5), (2, 7), "The result")
    agrees(found[:, :3], ids, "The beginning of the result")


@check("generate", points=0.3, layer="documented")
def test_generate_writes_the_documented_text(student, documented):
    """The lecture's untrained model generates the 100 documented characters."""
    model = student.new("nn.Embedding", 65, 65, seed=1337)  # the draws of BigramModel
    text = student.call("generate", model, torch.zeros(1, 1).long(), 100, 8, 1.0)

    text = tensor_like(text, (1, 101), "The result")[0]
    documented["gptdev.generated"].matches(text, "generate(model, [[0]], 100, 8, 1.0)")


@check("generate", points=0.3, layer="documented")
def test_generate_draws_as_often_as_documented(student, documented):
    """In 1000 draws at each of three temperatures, tokens appear as often as documented."""
    logits = documented["ch05.next_token_logits"].tensor
    model = student.new("nn.Embedding", 9, 9).load({"weight": logits.repeat(9, 1)})

    for name, temperature in (
        ("ch05.sampled", 1.0),
        ("ch05.sampled.cold", 0.1),
        ("ch05.sampled.hot", 5.0),
    ):
        start = torch.zeros(1, 1).long()
        text = student.call("generate", model, start, 1000, 1, temperature, seed=123)
        what = f"The result at temperature {temperature}"
        counts = counts_of(tensor_like(text, (1, 1001), what)[:, 1:], 9, what)
        documented[name].matches(counts, f"The counts of tokens at temperature {temperature}")


@check("generate", points=0.3, layer="probe")
def test_generate_follows_a_table(student, reference, probe):
    """With a table as its model, each new token follows from the one before it."""
    for B, T, V, more in ((3, 4, 7, 6), (1, 1, 9, 8), (2, 5, 6, 1)):
        yours, ours = both_tables(student, reference, probe, V)
        ids = draw_ids(probe, B, T, V)

        found = student.call("generate", yours, ids, more, T + 2)
        agrees(found, reference.call("generate", ours, ids, more, T + 2), "The continued texts")


@check("generate", points=0.3, layer="probe")
def test_generate_shows_the_last_context_to_the_model(student, reference, probe):
    """With a model that uses its whole input, the tokens of short and long texts are right."""
    for B, T, V, context, more in ((3, 4, 11, 6, 9), (2, 8, 9, 3, 5), (1, 5, 13, 5, 7)):
        yours, ours = both_transformers(student, reference, probe, V)
        ids = draw_ids(probe, B, T, V)

        found = student.call("generate", yours, ids, more, context)
        agrees(found, reference.call("generate", ours, ids, more, context), "The continued texts")


@check("generate", points=0.2, layer="probe")
def test_generate_passes_temperature_and_top_k_on(student, probe):
    """At a temperature above 0, only the top_k tokens are drawn, with their probabilities."""
    row = torch.tensor([0.3, 1.6, -0.4, 1.1, 0.0, 0.8]) + 0.1 * probe.uniform(6)
    model = student.new("nn.Embedding", 6, 6).load({"weight": row.repeat(6, 1)})
    start = torch.zeros(DRAWN // 4, 1).long()
    for temperature, top_k in ((0.5, None), (2.5, 3)):
        options = (temperature,) if top_k is None else (temperature, top_k)
        text = student.call("generate", model, start, 4, 2, *options, seed=probe.seed)

        text = tensor_like(text, (DRAWN // 4, 5), "The result")
        counts = counts_of(text[:, 1:], 6, "The result")
        shares = (row / temperature).exp()
        if top_k:
            shares = shares * (row >= row.sort().values[-top_k])
        frequencies_fit(counts, shares, "In the continued texts")


@check("generate", points=0.1, layer="laws")
def test_generate_goes_on_where_it_ended(student, reference, probe):
    """Three and then four new tokens give the same text as seven; 0 new tokens give the ids."""
    yours, _ = both_transformers(student, reference, probe, 11)
    ids = draw_ids(probe, 2, 3, 11)

    at_once = tensor_like(student.call("generate", yours, ids, 7, 4), (2, 10), "The result")
    agrees(student.call("generate", yours, ids, 0, 4), ids, "Without new tokens, the result")
    first = tensor_like(student.call("generate", yours, ids, 3, 4), (2, 6), "The result")
    agrees(
        student.call("generate", yours, first, 4, 4),
        at_once,
        "The text of three and then four new tokens",
    )


@check("generate", points=0.1, layer="laws")
def test_generate_forgets_what_is_before_the_context(student, reference, probe):
    """Texts whose last context_length tokens are the same are continued in the same way."""
    yours, _ = both_transformers(student, reference, probe, 11)
    ids = draw_ids(probe, 3, 6, 11)
    others = ids.clone()
    others[:, :3] = (others[:, :3] + 4) % 11

    found = tensor_like(student.call("generate", yours, ids, 5, 3), (3, 11), "The result")
    again = tensor_like(student.call("generate", yours, others, 5, 3), (3, 11), "The result")
    agrees(again[:, 6:], found[:, 6:], "With other tokens before the context, the new tokens")


@check("generate", points=0.1, layer="laws")
def test_generate_with_one_choice_is_greedy(student, reference, probe):
    """With top_k = 1 or a temperature of 0, the most likely token follows."""
    yours, _ = both_tables(student, reference, probe, 8)
    ids = draw_ids(probe, 3, 2, 8)

    greedy = tensor_like(student.call("generate", yours, ids, 6, 4), (3, 8), "The result")
    agrees(student.call("generate", yours, ids, 6, 4, 1.5, 1), greedy, "With top_k = 1, the result")
    agrees(student.call("generate", yours, ids, 6, 4, 0.0), greedy, "At temperature 0, the result")


@check("generate", points=0.1, layer="laws", rules=("no_graph",))
def test_generate_builds_no_graph(student, reference, probe):
    """The texts are right, and the model runs under torch.no_grad() or an equivalent."""
    yours, ours = both_tables(student, reference, probe, 7)
    ids = draw_ids(probe, 2, 3, 7)

    wanted = reference.call("generate", ours, ids, 4, 5)
    agrees(student.call("generate", yours, ids, 4, 5), wanted, "The continued texts")
    uses = student.uses("generate")
    stated = any(WITHOUT_GRAPH.intersection(use.name.split(".")) for use in uses)
    expect(stated, "generate builds a graph: the model runs outside torch.no_grad().")


@check("generate", points=0.1, layer="laws", rules=("no_seeding", "inputs_unchanged"))
def test_generate_leaves_seed_and_ids_to_the_caller(student, probe):
    """Two seeds give different texts, and the caller's ids are unchanged."""
    model = student.new("nn.Embedding", 9, 9).load({"weight": torch.zeros(9, 9)})
    ids = draw_ids(probe, 2, 3, 9)

    texts = []
    for seed in (probe.seed, 7):
        text = student.call("generate", model, ids, 20, 4, 1.0, seed=seed)
        texts.append((tensor_like(text, (2, 23), "The result"), student.draws_next()))
    (one, after_one), (other, after_other) = texts
    expect(not torch.equal(one, other), "Two seeds give the same text: does your code set a seed?")
    same = torch.equal(after_one, after_other)
    expect(not same, "After a call, torch's random numbers do not depend on the seed.")
    kept = student.keeps_inputs("generate", model, ids, 3, 4)
    expect(kept, "generate changes the ids that you pass to it.")
