"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.documented import DocumentedTensors
from autograder.suite.forbidden import avoids
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


READY_INSIGHT = frozenset(
    {
        "HookedRootModule",
        "HookedTransformer",
        "IntermediateLayerGetter",
        "NNsight",
        "TraceDict",
        "baukit",
        "captum",
        "create_feature_extractor",
        "feature_extraction",
        "fx",
        "nnsight",
        "transformer_lens",
    }
)
RECORD = "record_activations"
PATCH = "run_with_patches"
EMBEDDED, INNER, MIXED, ACTIVE, LATER, LAST = "0", "1", "1.0", "1.2", "2", "3"
WHOLE = ""
ZERO, MEAN = False, True
NO_BIAS, BIAS = False, True
BATCH_FIRST = True
EFFECT = 0.05  # far above all noise; the changes that a law makes have much larger effects
WITHOUT_GRAPH = {"no_grad", "inference_mode", "set_grad_enabled"}
BY_HAND = "In this stage you build the tools yourself, with torch's hooks."
LEFT_OVER = "After the call, the model has more or fewer hooks than before."
CUT_OFF = "An activation is cut off from the graph of the output."


class Sizes(NamedTuple):
    """Sizes of a model and its texts: all different, so that no wrong axis fits by chance."""

    B: int
    T: int
    D: int
    V: int
    activation: str


SEVEN = Sizes(B=3, T=7, D=12, V=10, activation="nn.Tanh")
FIVE = Sizes(B=4, T=5, D=6, V=9, activation="nn.Sigmoid")


def weights_of(probe, s):
    """Draw the parameters of a model, with results that are neither tiny nor saturated."""
    return {
        "0.weight": probe.normal(s.V, s.D),
        "1.0.weight": probe.normal(s.T, s.T, 1, scale=0.6),
        "1.0.bias": probe.normal(s.T, scale=0.3),
        "1.1.weight": probe.normal(s.D, s.D, scale=0.4),
        "1.1.bias": probe.normal(s.D, scale=0.3),
        "2.weight": probe.normal(s.T, s.T, 1, scale=0.6),
        "2.bias": probe.normal(s.T, scale=0.3),
        "3.weight": probe.normal(s.V, s.D, scale=0.8),
        "3.bias": probe.normal(s.V, scale=0.3),
    }


class Model(NamedTuple):
    """A model of a check, and the parts at its upper level."""

    whole: object
    parts: list


def model_of(one, s, weights):
    """Build a model in the student's or in the solution's process."""
    inner = one.new("nn.Conv1d", s.T, s.T, 1), one.new("nn.Linear", s.D, s.D), one.new(s.activation)
    parts = [
        one.new("nn.Embedding", s.V, s.D),
        one.new("nn.Sequential", *inner),
        one.new("nn.Conv1d", s.T, s.T, 1),
        one.new("nn.Linear", s.D, s.V),
    ]
    return Model(one.new("nn.Sequential", *parts).load(weights), parts)


def models(student, reference, probe, s):
    """Build the same model in both processes."""
    weights = weights_of(probe, s)
    return [model_of(one, s, weights).whole for one in (student, reference)]


def ids_of(probe, *shape, letters):
    """Draw ids."""
    return (probe.uniform(*shape) * letters).long()


def texts(probe, s, items=None):
    """Draw texts for a model."""
    return ids_of(probe, items or s.B, s.T, letters=s.V)


def recorded(student, model, inputs, names, seed=None):
    """Return output and activations, or fail the check if the answer has a different form."""
    answer = student.call(RECORD, model, inputs, names, seed=seed)
    pair = isinstance(answer, tuple | list) and len(answer) == 2 and isinstance(answer[1], dict)
    expect(pair, "The result is not a tuple (output, dictionary).", Status.WRONG_TYPE)
    return answer


def has_effect(before, after, what, by="A change"):
    """Fail the check if *by*, of *what*, has left a result as it was."""
    moved = before.numel() and bool((after - before).abs().max() > EFFECT)
    expect(moved, f"{by} of {what} has little or no effect.")


def is_not_zero(found, what):
    """Fail the check if all numbers are nearly 0."""
    expect(bool(found.abs().max() > EFFECT), f"{what} is 0, or almost, everywhere.")


def is_refused(refused, what):
    """Fail the check if an invalid argument was accepted."""
    expect(refused, f"{what} gives a result; it should raise a ValueError.", Status.NOT_REFUSED)


def result_of(answer, shape, what="The result"):
    """Return a finite tensor of *shape*, or fail the check."""
    found = tensor_like(answer, shape, what)
    expect(bool(found.isfinite().all()), f"{what} contains numbers that are not finite.")
    return found.detach()


def multilayer(one):
    """Build the network of the documented tests: two layers of ones, behind an identity."""
    sizes = ((3, 3), (3, 4), (4, 2))
    layers = [one.new("nn.Linear", *size) for size in sizes]
    model = one.new("nn.Sequential", *layers[:2], one.new("nn.ReLU"), layers[2])
    model.load(
        {
            "0.weight": torch.eye(3),
            "0.bias": torch.zeros(3),
            "1.weight": torch.ones(4, 3),
            "1.bias": torch.tensor([-10.0, 1.0, 1.0, 1.0]),
            "3.weight": torch.ones(2, 4),
            "3.bias": torch.tensor([-1.0, 1.0]),
        }
    )
    return model


# record_activations


@check(RECORD, points=0.1, layer="shapes")
def test_record_returns_the_output_and_a_dictionary(student, probe):
    """The result is the output, and a dictionary with one activation for each name."""
    s = SEVEN
    model = model_of(student, s, weights_of(probe, s)).whole

    output, activations = recorded(student, model, texts(probe, s), [LATER, EMBEDDED])
    tensor_like(output, (s.B, s.T, s.V), "The output")
    expect(
        {*activations} == {LATER, EMBEDDED},
        "The dictionary does not have exactly the names that were asked for.",
    )
    for name in (LATER, EMBEDDED):
        tensor_like(activations[name], (s.B, s.T, s.D), f"The activation of {name}")


@check(RECORD, points=0.15, layer="documented")
def test_record_reads_the_documented_layers(student, documented):
    """The input (0, 100, 0) has the documented activations in both layers, and their output."""
    x = torch.tensor([[0.0, 100.0, 0.0]])

    output, activations = recorded(student, multilayer(student), x, ["0", "1"])
    documented["captum.linear0"].matches(activations.get("0"), "The activation of 0")
    documented["captum.linear1"].matches(activations.get("1"), "The activation of 1")
    documented["captum.output"].matches(output, "The output")


@check(RECORD, points=0.15, layer="documented")
def test_record_reads_the_documented_activations(student, documented):
    """ReLU, and the layer before it, have the documented activations for two more inputs."""
    model = multilayer(student)

    _, activations = recorded(student, model, torch.tensor([[3.0, 4.0, 0.0]]), ["2"])
    documented["captum.relu"].matches(activations.get("2"), "The activation of 2")
    _, activations = recorded(student, model, torch.tensor([[2.0, -5.0, 4.0]]), ["1", "2"])
    documented["captum.negative"].matches(activations.get("1"), "The activation of 1")


def same_records(student, reference, probe, s, names):
    """Compare output and activations with the solution's."""
    (yours, ours), x = models(student, reference, probe, s), texts(probe, s)

    wanted, activations = reference.call(RECORD, ours, x, names)
    output, found = recorded(student, yours, x, names)
    agrees(output, wanted, "The output")
    agrees(found, activations, "The dictionary of activations")


@check(RECORD, points=0.2, layer="probe")
def test_record_is_right_for_several_names(student, reference, probe):
    """The activations of several names are right, in any order of the names."""
    same_records(student, reference, probe, SEVEN, [LATER, EMBEDDED, LAST])


@check(RECORD, points=0.2, layer="probe")
def test_record_is_right_for_modules_inside_modules(student, reference, probe):
    """The activations are right for names with a dot, and in a model of other sizes."""
    same_records(student, reference, probe, FIVE, [MIXED, "1.1", INNER])


@check(RECORD, points=0.1, layer="probe")
def test_record_is_right_for_a_single_name(student, reference, probe):
    """The activation of a single name is right."""
    same_records(student, reference, probe, FIVE, [ACTIVE])


@check(RECORD, points=0.1, layer="probe")
def test_record_is_right_for_no_names_and_the_whole_model(student, reference, probe):
    """Without names the dictionary is empty, and the activation of "" is the output."""
    same_records(student, reference, probe, FIVE, [])
    same_records(student, reference, probe, SEVEN, [WHOLE, MIXED])


@check(RECORD, points=0.1, layer="laws")
def test_the_rest_of_the_model_turns_an_activation_into_the_output(student, probe):
    """The modules after a name turn its activation into the output, and a changed one does not."""
    s = SEVEN
    model, parts = model_of(student, s, weights_of(probe, s))

    output, activations = recorded(student, model, texts(probe, s), [INNER, LATER])
    output = result_of(output, (s.B, s.T, s.V), "The output")
    for name, after in ((INNER, parts[2:]), (LATER, parts[3:])):
        activation = result_of(activations.get(name), (s.B, s.T, s.D), f"The activation of {name}")
        rest = student.new("nn.Sequential", *after)
        agrees(rest(activation), output, "The rest of the model, applied to an activation,")
        has_effect(result_of(rest(activation + 1), output.shape), output, "an activation")


@check(RECORD, points=0.1, layer="laws")
def test_an_item_alone_has_the_same_activations(student, probe):
    """An item has the same activations alone and in its batch, and other texts have others."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    def activation(ids):
        _, activations = recorded(student, model, ids, [ACTIVE, EMBEDDED])
        return result_of(activations.get(ACTIVE), (len(ids), s.T, s.D), "An activation")

    together = activation(x)
    for item in (0, 2):
        agrees(
            activation(x[item : item + 1]),
            together[item : item + 1],
            "The activation of an item alone",
        )
    has_effect(activation((x + 1) % s.V), together, "the text")


@check(RECORD, points=0.1, layer="laws")
def test_recording_does_not_change_the_output(student, probe):
    """The output is the model's own output with any names, and so is the activation of ""."""
    s = SEVEN
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    own = result_of(model(x), (s.B, s.T, s.V), "The output of the model")
    for names in ([], [EMBEDDED], [WHOLE, MIXED, LAST]):
        output, activations = recorded(student, model, x, names)
        agrees(output, own, "The output")
    agrees(activations.get(WHOLE), own, "The activation of the whole model")
    has_effect(result_of(recorded(student, model, (x + 1) % s.V, [])[0], own.shape), own, "x")

    drops, x = student.new("nn.Dropout", 0.5), probe.normal(5, 20)
    output, _ = recorded(student, drops, x, [], seed=probe.number)  # a second call draws others
    agrees(output, drops(x, seed=probe.number), "The output of a model that draws numbers")


@check(RECORD, points=0.1, layer="laws", rules=("refuses",))
def test_record_refuses_unknown_names(student, probe):
    """A name that the model does not have raises an error."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    recorded(student, model, x, [EMBEDDED])
    for names in (["4"], [EMBEDDED, "1.3"], ["layers.0"]):
        is_refused(student.refuses(RECORD, model, x, names), "An unknown name")


@check(RECORD, points=0.08, layer="laws", rules=("hooks_removed",))
def test_record_leaves_no_hook(student, probe):
    """After a call, the model has no more hooks than before."""
    s = SEVEN
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    before = model.hooks()
    recorded(student, model, x, [EMBEDDED, INNER, ACTIVE])
    expect(model.hooks() == before, LEFT_OVER, Status.FORBIDDEN)


@check(RECORD, points=0.08, layer="laws", rules=("hooks_removed", "refuses"))
def test_record_leaves_no_hook_after_an_error(student, probe):
    """If the call raises an error, the model has no more hooks afterwards than before."""
    model = student.new("nn.Sequential", *(student.new("nn.BatchNorm1d", 5) for _ in range(2)))
    x = probe.normal(6, 5)

    recorded(student, model, x, ["0"])
    before = model.hooks()
    is_refused(student.refuses(RECORD, model, x[None, None], ["0", "1"]), "An input of four axes")
    is_refused(student.refuses(RECORD, model, x, ["0", "2"]), "An unknown name")
    expect(model.hooks() == before, LEFT_OVER, Status.FORBIDDEN)


@check(RECORD, points=0.08, layer="gradients", rules=("gradients",))
def test_activations_stay_in_the_graph(student, probe):
    """The activations belong to the graph of the output."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    _, activations = recorded(student, model, x, [EMBEDDED, LATER])
    for name in (EMBEDDED, LATER):
        tensor_like(activations.get(name), (s.B, s.T, s.D), "An activation")
        expect(activations[name].requires_grad, CUT_OFF, Status.FORBIDDEN)


@check(RECORD, points=0.06, layer="forbidden", rules=("no_ready_tools",))
def test_record_is_built_by_hand(student, probe):
    """The code reads activations itself, without a tool that does it."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    avoids(student, RECORD, READY_INSIGHT, BY_HAND)
    output, activations = recorded(student, model, x, [WHOLE])
    agrees(output, result_of(model(x), (s.B, s.T, s.V)), "The output")
    agrees(activations.get(WHOLE), output, "The activation of the whole model")


def pattern_of(student, ids):
    """Return the pattern as whole numbers, or fail the check."""
    B, T = ids.shape
    pattern = tensor_like(student.call("induction_pattern", ids), (B, T, T), "The pattern").double()
    other = pattern[(pattern != 0) & (pattern != 1)]
    only = "The pattern must contain only 0 and 1."
    given = f"{only} Yours also contains {float(other[0]):g}." if len(other) else only
    expect(not len(other), only, message=given)
    return pattern.long()


# induction_pattern


@check("induction_pattern", points=0.1, layer="shapes")
def test_pattern_has_a_row_for_each_query(student):
    """Two texts of five tokens have a pattern (2, 5, 5) in floating point."""
    ids = torch.tensor([[0, 1, 2, 0, 1], [3, 3, 4, 5, 4]])

    pattern = tensor_like(student.call("induction_pattern", ids), (2, 5, 5), "The pattern")
    dtype = str(pattern.dtype).removeprefix("torch.")
    sentence = f"The pattern has dtype {dtype}; it should have one of floating point."
    expect(pattern.is_floating_point(), sentence, Status.WRONG_TYPE)


@check("induction_pattern", points=0.2, layer="documented")
def test_pattern_of_the_documented_text(student, documented):
    """A start token, three tokens, and the three again have the three documented marks."""
    pattern = pattern_of(student, documented["transformerlens.ids"].tensor[None])

    documented["transformerlens.induction"].matches(pattern[0], "The pattern of seven tokens")


@check("induction_pattern", points=0.15, layer="probe")
def test_pattern_is_right_for_texts_of_few_letters(student, reference, probe):
    """The pattern is right for texts in which letters come several times, also twice in a row."""
    for B, T, letters in ((3, 9, 4), (2, 6, 2), (1, 5, 1)):
        ids = ids_of(probe, B, T, letters=letters)

        wanted = reference.call("induction_pattern", ids)
        agrees(pattern_of(student, ids), wanted.long(), "The pattern")


@check("induction_pattern", points=0.1, layer="laws")
def test_there_is_a_mark_for_each_earlier_copy(student, probe):
    """A row has as many marks as its token has earlier copies, and none after the query."""
    ids = ids_of(probe, 3, 12, letters=3)
    pattern = pattern_of(student, ids)

    copies = [[row[:i].count(token) for i, token in enumerate(row)] for row in ids.tolist()]
    agrees(pattern.sum(dim=-1), torch.tensor(copies), "The row sums of the pattern")
    expect(not pattern.triu(diagonal=1).any(), "A token after the query is marked.")


@check("induction_pattern", points=0.1, layer="laws")
def test_a_repeated_block_has_its_marks_on_one_diagonal(student, probe):
    """In a block of k different letters and its copy, each mark is k - 1 tokens back."""
    k = 5 + probe.number % 4
    block = probe.uniform(2, k).argsort(dim=1)
    pattern = pattern_of(student, torch.cat((block, block), dim=1))

    for item in pattern:
        agrees(item[k:, 1 : k + 1], torch.eye(k).long(), "The marks of the copy")
        agrees(item.sum(), torch.tensor(k), "The number of marks")


@check("induction_pattern", points=0.1, layer="laws")
def test_only_equality_of_tokens_counts(student, probe):
    """Other ids for the same letters change nothing, and a changed token does."""
    block = probe.uniform(2, 5).argsort(dim=1)
    ids = torch.cat((block, block, ids_of(probe, 2, 2, letters=5)), dim=1)
    pattern = pattern_of(student, ids)

    agrees(pattern_of(student, (3 * ids + 2) % 11), pattern, "The pattern with other ids")
    changed = ids.clone()
    changed[:, 1] = 9
    moved = bool((pattern_of(student, changed) != pattern).any())
    expect(moved, "A changed token has no effect.")


@check("induction_pattern", points=0.1, layer="laws")
def test_a_longer_text_only_adds_rows_and_columns(student, probe):
    """The pattern of the first tokens is the upper left corner of the whole pattern."""
    ids = ids_of(probe, 2, 11, letters=3)
    whole = pattern_of(student, ids)

    for T in (6, 9):
        agrees(pattern_of(student, ids[:, :T]), whole[:, :T, :T], "The pattern of the first tokens")
    expect(bool(whole[:, :6, :6].any()), "Six tokens with repeated letters have no mark.")
    expect(not whole[..., 0].any(), "The first token is marked, but it comes after no other one.")


def reader(one, probe, d, V, bias):
    """Build a norm and an output layer."""
    norm = one.new("nn.LayerNorm", d).load(
        {"weight": 1 + probe.normal(d, scale=0.5), "bias": probe.normal(d, scale=0.5)}
    )
    weights = {"weight": probe.normal(V, d)} | ({"bias": probe.normal(V)} if bias else {})
    return norm, one.new("nn.Linear", d, V, bias).load(weights)


def streams_of(probe, count, *shape):
    """Draw residual streams that grow from layer to layer."""
    return [probe.normal(*shape, scale=1.0 + layer) for layer in range(count)]


# logit_lens


@check("logit_lens", points=0.1, layer="shapes")
def test_lens_stacks_the_logits_of_each_stream(student):
    """Three streams (2, 4, 5) and six tokens of the vocabulary give logits (3, 2, 4, 6)."""
    norm, out_head = student.new("nn.LayerNorm", 5), student.new("nn.Linear", 5, 6)

    streams = list(torch.arange(120.0).view(3, 2, 4, 5).cos())
    tensor_like(student.call("logit_lens", streams, norm, out_head), (3, 2, 4, 6), "The result")


def same_lens(student, reference, probe, count, sizes, V, bias):
    """Compare the lens with the solution's."""
    streams = streams_of(probe, count, *sizes)
    drawn = [probe.normal(sizes[-1], scale=0.5) for _ in range(2)]
    weights = {"weight": probe.normal(V, sizes[-1])} | ({"bias": probe.normal(V)} if bias else {})
    results = []
    for one in (reference, student):
        norm = one.new("nn.LayerNorm", sizes[-1]).load({"weight": 1 + drawn[0], "bias": drawn[1]})
        out_head = one.new("nn.Linear", sizes[-1], V, bias).load(weights)
        results.append(one.call("logit_lens", streams, norm, out_head))
    agrees(results[1], results[0], "The logits of the streams")


@check("logit_lens", points=0.15, layer="probe")
def test_lens_is_right_without_a_bias(student, reference, probe):
    """The logits are right for three streams and an output layer without a bias."""
    same_lens(student, reference, probe, 3, (2, 5, 8), 11, NO_BIAS)


@check("logit_lens", points=0.15, layer="probe")
def test_lens_is_right_with_a_bias(student, reference, probe):
    """The logits are right for a single stream and for four, with a bias."""
    same_lens(student, reference, probe, 1, (3, 2, 6), 5, BIAS)
    same_lens(student, reference, probe, 4, (2, 3, 7), 9, BIAS)


@check("logit_lens", points=0.1, layer="laws")
def test_streams_in_another_order_give_rows_in_that_order(student, probe):
    """Reversed streams give the rows in reversed order, and the rows differ."""
    norm, out_head = reader(student, probe, 6, 9, NO_BIAS)
    streams = streams_of(probe, 3, 2, 5, 6)

    rows = result_of(student.call("logit_lens", streams, norm, out_head), (3, 2, 5, 9))
    turned = student.call("logit_lens", streams[::-1], norm, out_head)
    agrees(turned, rows.flip(0), "The result for the reversed streams")
    has_effect(rows[0], rows[1], "the stream")


@check("logit_lens", points=0.1, layer="laws")
def test_the_lens_applies_the_norm(student, probe):
    """Three times the stream changes nothing behind a norm, and triples the logits without one."""
    norm, out_head = reader(student, probe, 8, 7, NO_BIAS)
    streams = streams_of(probe, 2, 3, 4, 8)

    logits = result_of(student.call("logit_lens", streams, norm, out_head), (2, 3, 4, 7))
    longer = [3 * stream for stream in streams]
    agrees(student.call("logit_lens", longer, norm, out_head), logits, "After a norm, the result")
    none = student.new("nn.Identity")
    plain = result_of(student.call("logit_lens", streams, none, out_head), (2, 3, 4, 7))
    tripled = student.call("logit_lens", longer, none, out_head)
    agrees(tripled, 3 * plain, "Without a norm, the result")
    has_effect(plain, logits, "the norm")


@check("logit_lens", points=0.1, layer="laws")
def test_the_last_row_is_the_output_of_the_model(student, probe):
    """The row of the last stream is what norm and output layer together return for it."""
    norm, out_head = reader(student, probe, 5, 8, BIAS)
    streams = streams_of(probe, 3, 2, 6, 5)

    logits = result_of(student.call("logit_lens", streams, norm, out_head), (3, 2, 6, 8))
    end = student.new("nn.Sequential", norm, out_head)
    agrees(logits[-1], result_of(end(streams[-1]), (2, 6, 8)), "The row of the last stream")


# run_with_patches


@check(PATCH, points=0.3, layer="documented")
def test_patches_give_the_documented_differences(student, documented):
    """Without some features of the first layer, the first output falls by as much as documented."""
    model, x = multilayer(student), torch.tensor([[20.0, 50.0, 30.0]])

    def first_output(*kept):
        answer = student.call(PATCH, model, x, {"0": x * torch.tensor(kept)})
        return result_of(answer, (1, 2), "The output")[0, 0]

    all_, others, last = first_output(1, 1, 1), first_output(0, 0, 1), first_output(1, 1, 0)
    falls = torch.stack((all_ - others, all_ - others, all_ - last))
    documented["captum.ablation"].matches(falls, "The fall of the output without features")


def same_patched(student, reference, probe, s, *names):
    """Compare the output of a patched model with the solution's."""
    yours, ours = models(student, reference, probe, s)
    x, patches = texts(probe, s), {name: probe.normal(s.B, s.T, s.D) for name in names}

    wanted = reference.call(PATCH, ours, x, patches)
    agrees(student.call(PATCH, yours, x, patches), wanted, "The output")


@check(PATCH, points=0.15, layer="probe")
def test_one_patch_is_right(student, reference, probe):
    """With one patch, the output is right, also inside a module."""
    same_patched(student, reference, probe, SEVEN, MIXED)
    same_patched(student, reference, probe, FIVE, INNER)


def blocks(student, reference, probe):
    """Build torch's own block in both processes: its feed-forward part is a branch."""
    weights = {
        "self_attn.in_proj_weight": probe.normal(18, 6),
        "self_attn.out_proj.weight": probe.normal(6, 6),
        "linear1.weight": probe.normal(9, 6),
        "linear2.weight": probe.normal(6, 9),
    }
    built = (one.new("nn.TransformerEncoderLayer", 6, 2, 9, 0.0) for one in (student, reference))
    return [block.load(weights) for block in built]


@check(PATCH, points=0.15, layer="probe")
def test_patches_of_a_branch_and_its_shortcut_are_right(student, reference, probe):
    """In a block, patches of a branch and of the stream around it both count."""
    yours, ours = blocks(student, reference, probe)
    x, stream, branch = (probe.normal(4, 3, 6) for _ in range(3))

    for patches in ({"linear2": branch, "norm1": stream}, {"norm1": stream}, {"linear2": branch}):
        wanted = reference.call(PATCH, ours, x, patches)
        what = f"The output with a patch of {' and '.join(patches)}"
        agrees(student.call(PATCH, yours, x, patches), wanted, what)


@check(PATCH, points=0.1, layer="probe")
def test_without_patches_the_output_is_that_of_the_model(student, reference, probe):
    """Without patches, the output is that of the model."""
    same_patched(student, reference, probe, SEVEN)


@check(PATCH, points=0.09, layer="laws")
def test_the_own_activation_as_a_patch_changes_nothing(student, probe):
    """The own activation as a patch gives the same output; with 1 added, all of it changes."""
    s = SEVEN
    model, parts = model_of(student, s, weights_of(probe, s))
    x = texts(probe, s)
    own, before = result_of(model(x), (s.B, s.T, s.V)), student.new("nn.Sequential", *parts[:3])
    activation = result_of(before(x), (s.B, s.T, s.D))

    agrees(student.call(PATCH, model, x, {LATER: activation}), own, "The output")
    patched = result_of(student.call(PATCH, model, x, {LATER: activation + 1}), own.shape)
    moved = (patched - own).abs().amax(dim=-1)
    expect(
        bool((moved > EFFECT).all()),
        "A changed activation has little or no effect at some position.",
    )


@check(PATCH, points=0.09, layer="laws")
def test_the_rest_of_the_model_gets_the_patch(student, probe):
    """The output is the rest of the model, applied to the patch, for any inputs."""
    s = FIVE
    model, parts = model_of(student, s, weights_of(probe, s))
    patch, x = probe.normal(s.B, s.T, s.D), texts(probe, s)

    wanted = student.new("nn.Sequential", *parts[2:])(patch)
    for ids in (x, (x + 1) % s.V):
        answer = student.call(PATCH, model, ids, {INNER: patch})
        agrees(answer, result_of(wanted, (s.B, s.T, s.V)), "The output")


@check(PATCH, points=0.09, layer="laws")
def test_the_later_of_two_patches_in_a_chain_counts(student, probe):
    """Only the later one of two patches in a chain has an effect."""
    s = SEVEN
    model = model_of(student, s, weights_of(probe, s)).whole
    x, early, late = texts(probe, s), probe.normal(s.B, s.T, s.D), probe.normal(s.B, s.T, s.D)

    alone = result_of(student.call(PATCH, model, x, {LATER: late}), (s.B, s.T, s.V))
    for patches in ({MIXED: early, LATER: late}, {LATER: late, EMBEDDED: early}):
        agrees(student.call(PATCH, model, x, patches), alone, "The output")
    first = result_of(student.call(PATCH, model, x, {MIXED: early}), alone.shape)
    has_effect(alone, first, "the patch")


@check(PATCH, points=0.09, layer="laws")
def test_after_a_patch_the_model_is_as_before(student, probe):
    """A patch of the last module is the output, and then the model returns its own output again."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)
    patch = probe.normal(s.B, s.T, s.V)

    own = result_of(model(x), (s.B, s.T, s.V), "The output of the model")
    agrees(student.call(PATCH, model, x, {LAST: patch}), patch, "The output")
    agrees(model(x), own, "The output of the model after the call")


@check(PATCH, points=0.07, layer="laws", rules=("refuses",))
def test_patch_refuses_unknown_names(student, probe):
    """A name that the model does not have raises an error."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)
    patch = probe.normal(s.B, s.T, s.D)

    result_of(student.call(PATCH, model, x, {MIXED: patch}), (s.B, s.T, s.V))
    for name in ("4", "1.3", "layers.0"):
        is_refused(student.refuses(PATCH, model, x, {name: patch}), "An unknown name")


@check(PATCH, points=0.07, layer="laws", rules=("refuses",))
def test_patch_refuses_another_shape(student, probe):
    """A patch of other sizes raises an error."""
    s = SEVEN
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    result_of(student.call(PATCH, model, x, {LATER: probe.normal(s.B, s.T, s.D)}), (3, 7, 10))
    for shape in ((s.B, s.T, s.D + 1), (s.B + 1, s.T, s.D), (s.T, s.B, s.D)):
        refused = student.refuses(PATCH, model, x, {LATER: probe.normal(*shape)})
        is_refused(refused, "A patch of another shape")


@check(PATCH, points=0.06, layer="laws", rules=("refuses",))
def test_patch_refuses_a_shape_that_torch_would_expand(student, probe):
    """A patch for one item, or with one size less, raises an error."""
    s = SEVEN
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    result_of(student.call(PATCH, model, x, {LATER: probe.normal(s.B, s.T, s.D)}), (3, 7, 10))
    for shape in ((1, s.T, s.D), (s.T, s.D), (s.B, 1, s.D)):
        refused = student.refuses(PATCH, model, x, {LATER: probe.normal(*shape)})
        is_refused(refused, "A patch of another shape that torch could expand")


@check(PATCH, points=0.06, layer="laws", rules=("hooks_removed", "refuses"))
def test_patch_leaves_no_hook_after_an_error(student, probe):
    """If a patch is refused, the model returns its own output afterwards, and has no hook."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)
    patches = {INNER: probe.normal(s.B, s.T, s.D), LATER: probe.normal(s.B, s.T, s.D + 1)}

    own, hooks = result_of(model(x), (s.B, s.T, s.V)), model.hooks()
    agrees(student.call(PATCH, model, x, {LAST: own + 1}), own + 1, "The output")
    is_refused(student.refuses(PATCH, model, x, patches), "A patch of another shape")
    unknown = {INNER: patches[INNER], "4": patches[INNER]}
    is_refused(student.refuses(PATCH, model, x, unknown), "An unknown name")
    expect(model.hooks() == hooks, LEFT_OVER, Status.FORBIDDEN)
    agrees(model(x), own, "The output of the model after the error")


@check(PATCH, points=0.05, layer="gradients", rules=("gradients",))
def test_gradients_reach_what_runs_before_a_patched_branch(student, reference, probe):
    """In a block, gradients flow around a patched branch to the input."""
    yours, ours = blocks(student, reference, probe)
    x, back, patches = (
        probe.normal(4, 3, 6),
        probe.normal(4, 3, 6),
        {"linear2": probe.normal(4, 3, 6)},
    )

    wanted = reference.gradients(PATCH, ours, x, patches, cotangent=back).inputs[1]
    found = student.gradients(PATCH, yours, x, patches, cotangent=back).inputs[1]
    expect(found is not None, "No gradient reaches the input.")
    agrees(found, wanted, "The gradient of the input")


@check(PATCH, points=0.03, layer="forbidden", rules=("no_ready_tools",))
def test_patch_is_built_by_hand(student, probe):
    """The code replaces activations itself, without a tool that does it."""
    s = FIVE
    model, x = model_of(student, s, weights_of(probe, s)).whole, texts(probe, s)

    avoids(student, PATCH, READY_INSIGHT, BY_HAND)
    patched = student.call(PATCH, model, x, {LAST: probe.normal(s.B, s.T, s.V)})
    is_not_zero(result_of(patched, (s.B, s.T, s.V)), "The output")


def ablated(student, merged, *arguments):
    """Return the ablated heads, or fail the check."""
    return result_of(student.call("ablate_heads", merged, *arguments), tuple(merged.shape))


# ablate_heads


@check("ablate_heads", points=0.1, layer="documented")
def test_ablated_heads_give_the_documented_differences(student, documented):
    """Three heads of one feature: without some, the sum falls by as much as documented."""
    merged = torch.tensor([[[20.0, 50.0, 30.0]]])

    outputs = []
    for heads in ([], [0, 1], [0, 1], [2]):
        kept = ablated(student, merged, 3, heads, ZERO).sum()
        outputs.append(F.relu(kept + torch.tensor([-10.0, 1.0, 1.0, 1.0])).sum())
    falls = outputs[0] - torch.stack(outputs[1:])
    documented["captum.ablation"].matches(falls, "The fall of the output without heads")


def same_ablated(student, reference, probe, *arguments, shape):
    """Compare the result with the solution's."""
    merged = probe.normal(*shape)

    wanted = reference.call("ablate_heads", merged, *arguments)
    agrees(student.call("ablate_heads", merged, *arguments), wanted, "The result")


@check("ablate_heads", points=0.2, layer="probe")
def test_ablated_heads_are_zero(student, reference, probe):
    """Without *mean*, the result is right for one head and for several."""
    same_ablated(student, reference, probe, 3, [1], ZERO, shape=(2, 5, 12))
    same_ablated(student, reference, probe, 4, [3, 0], ZERO, shape=(3, 2, 20))


@check("ablate_heads", points=0.2, layer="probe")
def test_ablated_heads_are_means(student, reference, probe):
    """With *mean*, the result is right for one head and for several."""
    same_ablated(student, reference, probe, 3, [2], MEAN, shape=(4, 5, 6))
    same_ablated(student, reference, probe, 5, [0, 2, 3], MEAN, shape=(3, 4, 10))


@check("ablate_heads", points=0.1, layer="probe")
def test_no_head_and_all_heads_can_be_ablated(student, reference, probe):
    """The result is right for no head, for a single head, and for all of them."""
    for mean in (ZERO, MEAN):
        same_ablated(student, reference, probe, 3, [], mean, shape=(2, 4, 6))
        same_ablated(student, reference, probe, 1, [0], mean, shape=(2, 4, 5))
        same_ablated(student, reference, probe, 3, [0, 1, 2], mean, shape=(2, 4, 9))


@check("ablate_heads", points=0.1, layer="laws")
def test_the_other_heads_keep_every_number(student, probe):
    """The features of the other heads keep their values, and of the removed ones nothing stays."""
    merged, others = probe.normal(3, 5, 12), probe.normal(3, 5, 12)
    removed = slice(4, 8)

    one, other = (ablated(student, each, 3, [1], ZERO) for each in (merged, others))
    kept = [feature for feature in range(12) if not 4 <= feature < 8]
    agrees(one[..., kept], merged[..., kept], "The features of the other heads")
    agrees(one[..., removed], other[..., removed], "The features of the removed head")
    has_effect(one[..., removed], merged[..., removed], "a head", "The removal")


@check("ablate_heads", points=0.1, layer="laws")
def test_heads_can_be_ablated_one_after_the_other(student, probe):
    """Two heads, one after the other, are the same as both at once; no head changes nothing."""
    merged = probe.normal(4, 3, 10)
    for mean in (ZERO, MEAN):
        first = ablated(student, merged, 5, [1], mean)
        second = ablated(student, first, 5, [4], mean)

        both = ablated(student, merged, 5, [4, 1], mean)
        what = f"The result for one head after the other, with mean={mean},"
        agrees(second, both, what, "that for both at once")
        nothing = ablated(student, merged, 5, [], mean)
        agrees(nothing, merged, f"Without heads and with mean={mean}, the result")
        has_effect(second, first, "the second head", "The removal")


@check("ablate_heads", points=0.1, layer="laws")
def test_the_mean_makes_all_items_equal(student, probe):
    """With *mean*, the items agree in a removed head, positions do not, and their mean stays."""
    merged = probe.normal(3, 5, 8)
    result = ablated(student, merged, 2, [1], MEAN)

    features = result[..., 4:]
    agrees(features[1:], features[:1].expand(2, -1, -1), "The other items in a removed head")
    agrees(result.mean(dim=0), merged.mean(dim=0), "The mean over the items")
    has_effect(features[:, 0], features[:, 1], "the position")


@check("ablate_heads", points=0.05, layer="laws", rules=("refuses",))
def test_ablation_refuses_an_uneven_share(student, probe):
    """If num_heads does not divide the features, the call raises an error."""
    ablated(student, probe.normal(2, 3, 12), 4, [1], ZERO)
    for features, num_heads in ((12, 5), (7, 2), (3, 4)):
        merged = probe.normal(2, 3, features)
        refused = student.refuses("ablate_heads", merged, num_heads, [0], ZERO)
        is_refused(refused, "A num_heads that does not divide the features")


@check("ablate_heads", points=0.05, layer="laws", rules=("refuses",))
def test_ablation_refuses_heads_that_do_not_exist(student, probe):
    """Head -1 and head num_heads raise an error."""
    merged = probe.normal(2, 3, 12)

    ablated(student, merged, 4, [3, 0], ZERO)
    for heads in ([4], [1, -1], [9]):
        refused = student.refuses("ablate_heads", merged, 4, heads, ZERO)
        is_refused(refused, "A head that does not exist")


@check("ablate_heads", points=0.03, layer="laws")
def test_heads_become_zero_by_default(student, probe):
    """Without the argument *mean*, the features become 0."""
    merged = probe.normal(3, 4, 6)

    agrees(ablated(student, merged, 2, [0])[..., :3], torch.zeros(3, 4, 3), "The removed head")
    is_not_zero(ablated(student, merged, 2, [0], MEAN)[..., :3], "The removed head with mean=True")


@check("ablate_heads", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_ablation_leaves_its_input_alone(student, probe):
    """The given tensor is unchanged, and its removed heads are not in the result."""
    merged = probe.normal(3, 4, 6)

    for mean in (ZERO, MEAN):
        kept = student.keeps_inputs("ablate_heads", merged, 3, [0, 2], mean)
        expect(kept, "The call changes its input.")
        has_effect(ablated(student, merged, 3, [0, 2], mean), merged, "two heads", "The removal")


@check("ablate_heads", points=0.02, layer="laws", rules=("dtype",))
def test_ablation_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    merged = probe.normal(2, 3, 6)

    keeps_dtype("ablate_heads", merged, 2, [1], MEAN)
    has_effect(ablated(student, merged, 2, [1], MEAN), merged, "a head", "The removal")


def contributions(student, merged, weight, num_heads):
    """Return the contributions, or fail the check."""
    shape = (len(merged), num_heads, merged.shape[1], len(weight))
    return result_of(student.call("head_contributions", merged, weight, num_heads), shape)


# head_contributions


@check("head_contributions", points=0.1, layer="shapes")
def test_contributions_have_an_axis_of_heads(student):
    """Two texts of four tokens, three heads and five features give (2, 3, 4, 5)."""
    merged, weight = torch.arange(48.0).view(2, 4, 6).cos(), torch.arange(30.0).view(5, 6).sin()

    answer = student.call("head_contributions", merged, weight, 3)
    tensor_like(answer, (2, 3, 4, 5), "The result")


def merged_heads(x):
    """Compute the two heads of the documented attention, and return them with its out_proj."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        layers = [nn.Linear(3, 2, bias=False) for _ in range(3)]
        out_proj = nn.Linear(2, 2)
    queries, keys, values = (layer(x).T[..., None] for layer in layers)  # heads of one feature
    future = torch.ones(len(x), len(x)).triu(diagonal=1) == 1
    scores = (queries @ keys.mT).masked_fill(future, -torch.inf)
    merged = torch.softmax(scores, dim=-1) @ values
    return merged[..., 0].T[None].detach(), out_proj.weight.detach(), out_proj.bias.detach()


@check("head_contributions", points=0.2, layer="documented")
def test_contributions_add_up_to_the_documented_context(student, documented, inputs):
    """With seed 123, the sum over both heads and the bias is the documented context."""
    merged, weight, bias = merged_heads(inputs)

    context = contributions(student, merged, weight, 2).sum(dim=1) + bias
    documented["ch03.mha.context"].matches(context.expand(2, -1, -1), "The sum, plus the bias,")


@check("head_contributions", points=0.25, layer="probe")
def test_contributions_are_right(student, reference, probe):
    """The contributions are right for other sizes and numbers of heads."""
    for B, T, D, d_model, num_heads in ((2, 5, 12, 7, 3), (3, 4, 10, 10, 5), (1, 2, 6, 4, 1)):
        given = probe.normal(B, T, D), probe.normal(d_model, D), num_heads

        wanted = reference.call("head_contributions", *given)
        agrees(student.call("head_contributions", *given), wanted, "The result")


@check("head_contributions", points=0.1, layer="laws")
def test_the_contributions_add_up_to_the_layer(student, probe):
    """The sum over the heads is what the layer returns without its bias."""
    for num_heads in (3, 6):
        merged, weight = probe.normal(2, 4, 12), probe.normal(5, 12)

        found = contributions(student, merged, weight, num_heads)
        agrees(found.sum(dim=1), merged @ weight.T, "The sum over the heads")


@check("head_contributions", points=0.1, layer="laws")
def test_a_change_of_a_head_changes_its_contribution_alone(student, probe):
    """Other features of one head change its contribution, and no other one."""
    merged, weight = probe.normal(2, 5, 8), probe.normal(7, 8)
    changed = merged.clone()
    changed[..., 4:6] = probe.normal(2, 5, 2, scale=2.0)

    before, after = (contributions(student, each, weight, 4) for each in (merged, changed))
    others = [0, 1, 3]
    agrees(after[:, others], before[:, others], "The contribution of the other heads")
    has_effect(after[:, 2], before[:, 2], "the features of a head")


@check("head_contributions", points=0.1, layer="laws")
def test_contributions_are_linear_and_tokens_do_not_mix(student, probe):
    """Twice the features give twice the result, and tokens in reversed order give that order."""
    merged, weight = probe.normal(3, 4, 6), probe.normal(8, 6)
    found = contributions(student, merged, weight, 2)

    agrees(
        contributions(student, 2 * merged, weight, 2),
        2 * found,
        "The result for twice the features",
    )
    turned = contributions(student, merged.flip(1), weight, 2)
    agrees(turned, found.flip(2), "The result for the reversed tokens")
    has_effect(found[:, 0], found[:, 1], "the head")


@check("head_contributions", points=0.05, layer="laws", rules=("refuses",))
def test_contributions_refuse_an_uneven_share(student, probe):
    """If num_heads does not divide the features, the call raises an error."""
    contributions(student, probe.normal(2, 3, 12), probe.normal(5, 12), 4)
    for features, num_heads in ((12, 5), (7, 2), (3, 4)):
        given = probe.normal(2, 3, features), probe.normal(5, features), num_heads
        refused = student.refuses("head_contributions", *given)
        is_refused(refused, "A num_heads that does not divide the features")


def same_gradients(yours, ours, what):
    """Compare the gradients of the first *what* inputs."""
    for name, found, wanted in zip(what, yours.inputs, ours.inputs, strict=False):
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, wanted, f"The gradient of {name}")


@check("head_contributions", points=0.1, layer="gradients", rules=("gradients",))
def test_contributions_have_gradients(student, reference, probe):
    """The gradients of the heads and of the weights are right."""
    given = probe.normal(2, 4, 6), probe.normal(5, 6), 3
    back = probe.normal(2, 3, 4, 5)

    yours, ours = (
        one.gradients("head_contributions", *given, cotangent=back) for one in (student, reference)
    )
    same_gradients(yours, ours, ("merged", "out_weight"))


def attributed(student, parts, *arguments):
    """Return the attribution, or fail the check."""
    answer = student.call("logit_attribution", parts, *arguments)
    return result_of(answer, tuple(parts.shape[:-1]))


def drawn_parts(probe, *shape):
    """Draw parts of very different sizes, a scale and directions."""
    sizes = torch.linspace(0.3, 2.0, shape[0]).view(-1, *[1] * (len(shape) - 1))
    return (
        sizes * (probe.normal(*shape) + 0.5),
        1 + probe.normal(shape[-1]),
        probe.normal(*shape[1:]),
    )


# logit_attribution


@check("logit_attribution", points=0.1, layer="shapes")
def test_attribution_has_a_number_for_each_part(student):
    """Three parts of a stream (2, 4, 5) give three numbers for each token: (3, 2, 4)."""
    parts = torch.arange(120.0).view(3, 2, 4, 5).cos()

    answer = student.call("logit_attribution", parts, torch.ones(5), torch.ones(2, 4, 5), 1e-5)
    tensor_like(answer, (3, 2, 4), "The result")


@check("logit_attribution", points=0.3, layer="documented")
def test_two_parts_add_up_to_the_documented_norm(student, documented):
    """Two parts of the features 0 to 4 add up to the documented norm, without its shift of 1."""
    stream = torch.arange(5.0).expand(5, 5)
    first = torch.tensor([3.0, 0.5, -1.0, 2.0, 1.0]).expand(5, 5)
    parts = torch.stack((first, stream - first))

    found = attributed(student, parts, torch.ones(5), torch.eye(5), 1e-3)
    documented["keras.layernorm"].matches(
        found.sum(dim=0)[None] + 1, "The sum of both parts, plus 1,"
    )


def same_attribution(student, reference, probe, *shape, eps):
    """Compare the attribution with the solution's."""
    given = *drawn_parts(probe, *shape), eps

    wanted = reference.call("logit_attribution", *given)
    agrees(student.call("logit_attribution", *given), wanted, "The result")


@check("logit_attribution", points=0.2, layer="probe")
def test_attribution_is_right(student, reference, probe):
    """The attribution is right for parts of streams of several tokens and items."""
    same_attribution(student, reference, probe, 3, 2, 5, 8, eps=1e-5)
    same_attribution(student, reference, probe, 5, 3, 4, 6, eps=1e-5)


@check("logit_attribution", points=0.1, layer="probe")
def test_attribution_is_right_for_a_large_eps(student, reference, probe):
    """The attribution is right if eps is not small."""
    same_attribution(student, reference, probe, 4, 3, 2, 7, eps=1.5)


@check("logit_attribution", points=0.07, layer="probe")
def test_attribution_is_right_for_other_axes(student, reference, probe):
    """The attribution is right for parts without an axis of items, and of a single token."""
    same_attribution(student, reference, probe, 3, 4, 9, eps=1e-5)
    same_attribution(student, reference, probe, 2, 6, eps=0.1)


@check("logit_attribution", points=0.12, layer="laws")
def test_the_parts_add_up_to_the_norm_of_their_sum(student, probe):
    """The sum over the parts is the product of directions and the norm of the stream."""
    for eps in (1e-5, 0.5):
        parts, scale, directions = drawn_parts(probe, 4, 2, 3, 8)

        found = attributed(student, parts, scale, directions, eps)
        normed = F.layer_norm(parts.sum(dim=0), (8,), scale, None, eps)
        agrees(found.sum(dim=0), (directions * normed).sum(dim=-1), "The sum over the parts")


@check("logit_attribution", points=0.11, layer="laws")
def test_a_part_of_equal_features_adds_nothing(student, probe):
    """A part whose features are equal adds 0 and changes no other part."""
    parts, scale, directions = drawn_parts(probe, 3, 2, 4, 7)
    flat = torch.full((1, 2, 4, 7), 2.5)
    found = attributed(student, parts, scale, directions, 1e-5)

    more = attributed(student, torch.cat((parts, flat)), scale, directions, 1e-5)
    agrees(more[3], torch.zeros(2, 4), "What a part of equal features adds")
    agrees(more[:3], found, "What the other parts add")
    has_effect(found[0], found[1], "the part")


@check("logit_attribution", points=0.11, layer="laws")
def test_two_pieces_of_a_part_add_what_it_adds(student, probe):
    """A part in two pieces adds the same in all, and the other parts add what they did."""
    parts, scale, directions = drawn_parts(probe, 3, 3, 2, 6)
    piece = probe.normal(1, 3, 2, 6)
    found = attributed(student, parts, scale, directions, 1e-5)

    cut = torch.cat((piece, parts[:1] - piece, parts[1:]))
    pieces = attributed(student, cut, scale, directions, 1e-5)
    agrees(pieces[0] + pieces[1], found[0], "What both pieces add")
    agrees(pieces[2:], found[1:], "What the other parts add")
    has_effect(pieces[0], found[0], "the part")


@check("logit_attribution", points=0.11, layer="laws")
def test_attribution_is_linear_in_the_directions(student, probe):
    """The attribution for a sum of directions is the sum of those for each."""
    parts, scale, directions = drawn_parts(probe, 3, 2, 5, 6)
    more = probe.normal(2, 5, 6)

    one, other = (attributed(student, parts, scale, each, 1e-5) for each in (directions, more))
    both = attributed(student, parts, scale, directions + 2 * more, 1e-5)
    agrees(both, one + 2 * other, "The attribution for a sum of directions")
    has_effect(one, other, "the directions")


@check("logit_attribution", points=0.03, layer="laws")
def test_eps_is_small_by_default(student, probe):
    """Without the argument eps, the attribution is that of 0.00001."""
    parts, scale, directions = (0.01 * each for each in drawn_parts(probe, 2, 3, 4))
    directions = 10000 * directions

    default = attributed(student, parts, scale, directions)
    agrees(default, attributed(student, parts, scale, directions, 1e-5), "The result without eps")
    has_effect(default, attributed(student, parts, scale, directions, 1e-3), "eps")


@check("logit_attribution", points=0.02, layer="laws", rules=("inputs_unchanged",))
def test_attribution_leaves_its_inputs_alone(student, probe):
    """The given tensors are unchanged, and they have an effect."""
    given = drawn_parts(probe, 3, 2, 4, 5)

    kept = student.keeps_inputs("logit_attribution", *given, 1e-5)
    expect(kept, "The call changes one of its inputs.")
    is_not_zero(attributed(student, *given, 1e-5), "The result")


@check("logit_attribution", points=0.13, layer="gradients", rules=("gradients",))
def test_attribution_has_gradients(student, reference, probe):
    """The gradients of parts, scale and directions are right."""
    given = *drawn_parts(probe, 3, 2, 4, 6), 1e-5
    back = probe.normal(3, 2, 4)

    yours, ours = (
        one.gradients("logit_attribution", *given, cotangent=back) for one in (student, reference)
    )
    same_gradients(yours, ours, ("parts", "scale", "directions"))


def logits_of(weights, ids, s):
    """Compute the logits of a model of these weights at the last position: (B, V)."""
    x = F.embedding(ids, weights["0.weight"])
    x = torch.einsum("st,btd->bsd", weights["1.0.weight"][..., 0], x) + weights["1.0.bias"][:, None]
    x = F.linear(x, weights["1.1.weight"], weights["1.1.bias"])
    x = torch.tanh(x) if s.activation == "nn.Tanh" else torch.sigmoid(x)
    x = torch.einsum("st,btd->bsd", weights["2.weight"][..., 0], x) + weights["2.bias"][:, None]
    return F.linear(x, weights["3.weight"], weights["3.bias"])[:, -1]


class Texts(NamedTuple):
    """A clean and a corrupted text, and the answers to both."""

    clean: torch.Tensor
    corrupted: torch.Tensor
    right: torch.Tensor
    wrong: torch.Tensor


def two_texts(probe, weights, s, positions):
    """Draw texts that differ at *positions*, with the answers whose logits differ most."""
    clean = texts(probe, s)
    corrupted = clean.clone()
    corrupted[:, positions] = (clean[:, positions] + 1 + 2 * torch.arange(s.B)[:, None] % 5) % s.V
    moved = logits_of(weights, clean, s) - logits_of(weights, corrupted, s)
    return Texts(clean, corrupted, moved.argmax(dim=-1), moved.argmin(dim=-1))


def mapped(student, model, names, given):
    """Return the map, or fail the check."""
    answer = student.call("patching_map", model, *given[:2], names, *given[2:])
    return result_of(answer, (len(names), given[0].shape[1]), "The map")


# patching_map


@check("patching_map", points=0.1, layer="shapes")
def test_map_has_a_row_for_each_name(student, probe):
    """Two names and texts of seven tokens give a map (2, 7)."""
    s = SEVEN
    weights = weights_of(probe, s)

    given = two_texts(probe, weights, s, [2, 3])
    mapped(student, model_of(student, s, weights).whole, [LATER, INNER], given)


def same_map(student, reference, probe, s, names, positions):
    """Compare the map with the solution's."""
    weights = weights_of(probe, s)
    yours, ours = (model_of(one, s, weights).whole for one in (student, reference))
    given = two_texts(probe, weights, s, positions)

    wanted = reference.call("patching_map", ours, *given[:2], names, *given[2:])
    answer = student.call("patching_map", yours, *given[:2], names, *given[2:])
    agrees(answer, wanted, "The map")


@check("patching_map", points=0.4, layer="probe")
def test_map_is_right(student, reference, probe):
    """The map is right for several names, if the texts differ at two positions."""
    same_map(student, reference, probe, SEVEN, [INNER, LATER, EMBEDDED], [1, 4])


@check("patching_map", points=0.15, layer="probe")
def test_map_is_right_for_modules_inside_modules(student, reference, probe):
    """The map is right for names with a dot, in a model of other sizes."""
    same_map(student, reference, probe, FIVE, [MIXED, LAST], [0, 2, 3])


@check("patching_map", points=0.25, layer="probe")
def test_map_is_right_for_a_branch(student, reference, probe):
    """The map is right for a branch with a shortcut around it, where the other text shows."""
    s, names = FIVE, ["1.linear2", "1.norm1"]
    weights = {
        "0.weight": probe.normal(s.V, s.D),
        "1.self_attn.in_proj_weight": probe.normal(3 * s.D, s.D),
        "1.linear1.weight": probe.normal(8, s.D),
        "1.linear2.weight": probe.normal(s.D, 8),
        "2.weight": probe.normal(s.V, s.D),
    }
    yours, ours = (
        one.new(
            "nn.Sequential",
            one.new("nn.Embedding", s.V, s.D),
            one.new("nn.TransformerEncoderLayer", s.D, 2, 8, 0.0, "relu", 1e-5, BATCH_FIRST),
            one.new("nn.Linear", s.D, s.V),
        ).load(weights)
        for one in (student, reference)
    )
    clean = texts(probe, s)
    corrupted = (clean + torch.tensor([0, 0, 1, 0, 3])) % s.V
    moved = (ours(clean) - ours(corrupted))[:, -1]
    given = clean, corrupted, names, moved.argmax(dim=-1), moved.argmin(dim=-1)

    wanted = reference.call("patching_map", ours, *given)
    agrees(student.call("patching_map", yours, *given), wanted, "The map")


@check("patching_map", points=0.12, layer="laws")
def test_the_differing_embedding_restores_everything(student, probe):
    """In the embeddings, the position where the texts differ restores 1, and the others 0."""
    s = SEVEN
    weights, position = weights_of(probe, s), 1 + probe.number % 5
    given = two_texts(probe, weights, s, [position])

    found = mapped(student, model_of(student, s, weights).whole, [EMBEDDED], given)
    agrees(found[0], (torch.arange(s.T) == position).float(), "The row of the embeddings")


@check("patching_map", points=0.12, layer="laws")
def test_the_last_logits_restore_everything(student, probe):
    """In the output layer, the last position restores 1, and the others 0."""
    s = FIVE
    weights = weights_of(probe, s)
    given = two_texts(probe, weights, s, [1, 3])

    found = mapped(student, model_of(student, s, weights).whole, [LAST], given)
    agrees(found[0], (torch.arange(s.T) == s.T - 1).float(), "The row of the output layer")


@check("patching_map", points=0.12, layer="laws")
def test_the_shares_of_a_linear_layer_add_up_to_one(student, probe):
    """Behind the activation the model is linear: the shares of a module there add up to 1."""
    s = SEVEN
    weights = weights_of(probe, s)
    given = two_texts(probe, weights, s, [2, 5])

    found = mapped(student, model_of(student, s, weights).whole, [ACTIVE, LATER], given)
    agrees(found.sum(dim=1), torch.ones(2), "The vector of row sums")
    several = bool(((found[0].abs() > EFFECT).sum() > 1).item())
    expect(several, "At most one position of a layer that mixes tokens restores a clear share.")


@check("patching_map", points=0.12, layer="laws")
def test_the_order_of_items_and_answers_does_not_matter(student, probe):
    """Permuted items, or right and wrong swapped, change nothing."""
    s = SEVEN
    weights = weights_of(probe, s)
    model, given = model_of(student, s, weights).whole, two_texts(probe, weights, s, [0, 4])
    found = mapped(student, model, [INNER, LAST], given)

    turned = Texts(*(each.flip(0) for each in given))
    agrees(mapped(student, model, [INNER, LAST], turned), found, "The map for permuted items")
    swapped = given._replace(right=given.wrong, wrong=given.right)
    agrees(mapped(student, model, [INNER, LAST], swapped), found, "The map for swapped answers")
    agrees(found[1], (torch.arange(s.T) == s.T - 1).float(), "The row of the output layer")
    is_not_zero(found[0], "The first row")


@check("patching_map", points=0.12, layer="laws")
def test_each_name_has_its_own_row(student, probe):
    """Names in another order give the rows in that order, as for each name alone."""
    s = FIVE
    weights = weights_of(probe, s)
    model, given = model_of(student, s, weights).whole, two_texts(probe, weights, s, [1, 2])
    rows = mapped(student, model, [EMBEDDED, LATER], given)

    agrees(
        mapped(student, model, [LATER, EMBEDDED], given),
        rows.flip(0),
        "The map for names in another order",
    )
    agrees(mapped(student, model, [LATER], given), rows[1:], "The map of one name")
    has_effect(rows[0], rows[1], "the name")


@check("patching_map", points=0.1, layer="laws", rules=("refuses",))
def test_map_refuses_texts_of_different_lengths(student, probe):
    """Texts that differ in their number of items or tokens raise an error."""
    s = FIVE
    weights = weights_of(probe, s)
    model, given = model_of(student, s, weights).whole, two_texts(probe, weights, s, [1])

    mapped(student, model, [LATER], given)
    clean, corrupted = given.clean, given.corrupted
    for pair in ((clean, corrupted[:1]), (clean, corrupted[:, :3]), (clean[:1], corrupted)):
        items = min(map(len, pair))
        answers = given.right[:items], given.wrong[:items]
        refused = student.refuses("patching_map", model, *pair, [LATER], *answers)
        is_refused(refused, "A corrupted text of another shape")


@check("patching_map", points=0.06, layer="laws", rules=("no_graph",))
def test_the_map_builds_no_graph(student, probe):
    """The model runs under torch.no_grad() or an equivalent."""
    s = FIVE
    weights = weights_of(probe, s)
    given = two_texts(probe, weights, s, [1])
    mapped(student, model_of(student, s, weights).whole, [LATER], given)

    uses = student.uses("patching_map")
    stated = any(WITHOUT_GRAPH.intersection(use.name.split(".")) for use in uses)
    sentence = "patching_map uses neither torch.no_grad() nor an equivalent."
    expect(stated, sentence, Status.FORBIDDEN)


@check("patching_map", points=0.04, layer="forbidden", rules=("no_ready_tools",))
def test_the_map_is_built_by_hand(student, probe):
    """The code patches with your own functions, without a tool that does it."""
    s = FIVE
    weights = weights_of(probe, s)
    given = two_texts(probe, weights, s, [1, 3])

    avoids(student, "patching_map", READY_INSIGHT, BY_HAND, below=(RECORD, PATCH))
    found = mapped(student, model_of(student, s, weights).whole, [LATER], given)
    is_not_zero(found, "The map")
