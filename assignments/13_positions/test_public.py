"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from autograder.results import Status
from autograder.suite.checks import check, expect
from autograder.suite.compare import agrees, alike, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
from autograder.suite.student_proxy import RemoteModule, Student

# The arguments of each class; its first check grades their order.
CONSTRUCTORS = {
    "RotaryAttention": ("d_in", "d_out", "context_length", "num_heads", "base"),
}


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
NAME = "RotaryAttention"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
DRAWN = ("W_query.weight", "W_key.weight", "W_value.weight", "out_proj.weight", "out_proj.bias")
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Rotate the pairs of all tokens at once."
ODD = "An odd number of features gives a result; it should raise a ValueError."


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
        """Return the features of all heads side by side."""
        return self.H * self.d


FOUR = Sizes(B=3, T=5, H=4, d=6, d_in=7, context=10)
THREE = Sizes(B=2, T=6, H=3, d=4, d_in=5, context=11)
TWO = Sizes(B=3, T=9, H=2, d=8, d_in=4, context=12)


def both(student, reference, probe, s, *base):
    """Build the student's module and the reference, and load the same large weights."""
    shapes = {f"{name}__weight": (s.d_out, s.d_in) for name in QKV}
    shapes |= {"out_proj__weight": (s.d_out, s.d_out), "out_proj__bias": (s.d_out,)}
    weights = probe.weights(**shapes)
    sizes = (s.d_in, s.d_out, s.context, s.H, *base)
    yours = student.new(NAME, *sizes).load(weights, may_lack=LACKS)
    return yours, reference.new(NAME, *sizes).load(weights)


def tokens(probe, s, T=None, *, scale=0.6):
    """Draw a batch with different items."""
    return probe.normal(s.B, T or s.T, s.d_in, scale=scale)


def angles(reference, positions, d, *base):
    """Return the cosines and sines for apply_rotary, so that it does not need rotary_angles."""
    return reference.call("rotary_angles", torch.as_tensor(positions), d, *base)


def two_tensors(answer, T, pairs):
    """Return the cosines and the sines, or fail the check if there are no such tensors."""
    expect(
        isinstance(answer, tuple | list) and len(answer) == 2,
        "The result of rotary_angles is not a pair of tensors; it should be the tuple (cos, sin).",
        Status.WRONG_TYPE,
    )
    names = ("The cosine of the angles", "The sine of the angles")
    return [tensor_like(one, (T, pairs), name) for one, name in zip(answer, names, strict=True)]


def same_gradients(yours, ours):
    """Compare the gradients of the input and of the parameters."""
    named = {"the input": yours.inputs[0], **yours.parameters}
    for name, gradient in {"the input": ours.inputs[0], **ours.parameters}.items():
        found = named.get(name)
        expect(found is not None, f"No gradient reaches {name}.")
        agrees(found, gradient, f"The gradient of {name}")


# sinusoidal_positions


@check("sinusoidal_positions", points=0.1, layer="shapes")
def test_sinusoids_have_a_row_for_each_position(student):
    """Seven positions and four features give a (7, 4) tensor."""
    rows = student.call("sinusoidal_positions", 7, 4)

    tensor_like(rows, (7, 4), "sinusoidal_positions(7, 4)")


@check("sinusoidal_positions", points=0.5, layer="documented")
def test_sinusoids_alternate_as_documented(student, documented):
    """The rows of positions 0 and 3 with six features, and 0 and 1 with four, are as documented."""
    six = tensor_like(student.call("sinusoidal_positions", 5, 6), (5, 6), "The table")
    documented["kerashub.sine.rows_0_3"].matches(six[[0, 3]], "The rows of positions 0 and 3")
    four = tensor_like(student.call("sinusoidal_positions", 3, 4), (3, 4), "The table")
    documented["kerashub.sine.d4"].matches(four[:2], "The rows of positions 0 and 1")


@check("sinusoidal_positions", points=0.3, layer="documented")
def test_sinusoids_of_512_features_are_the_documented_ones(student, documented):
    """With 512 features, the first five sines of the first three positions are as documented."""
    rows = student.call("sinusoidal_positions", 4, 512)

    found = tensor_like(rows, (4, 512), "sinusoidal_positions(4, 512)")[:3, 0:10:2]
    documented["roformer.sine"].matches(found, "The first five sines of positions 0, 1 and 2")


@check("sinusoidal_positions", points=0.2, layer="probe")
def test_sinusoids_of_other_sizes(student, reference):
    """The rows are right for several lengths, numbers of features and bases."""
    for sizes in ((11, 8), (1, 6), (5, 10, 500.0), (9, 2, 30.0)):
        ours = reference.call("sinusoidal_positions", *sizes)

        agrees(student.call("sinusoidal_positions", *sizes), ours, "The table of positions")


@check("sinusoidal_positions", points=0.2, layer="laws")
def test_sinusoids_turn_by_the_same_angle_at_every_step(student):
    """From each position to the next, a pair (cos, sin) is rotated by the same angle."""
    T, d = 9, 6
    rows = tensor_like(student.call("sinusoidal_positions", T, d), (T, d), "The table")
    points = torch.complex(rows[:, 1::2].float(), rows[:, 0::2].float())

    agrees(points.abs(), torch.ones(T, d // 2), "The length of each pair of sine and cosine")
    for step in (1, 3):
        turned = points[:-step] * points[step]
        agrees(turned.real, points[step:].real, "The cosines some positions later")
        agrees(turned.imag, points[step:].imag, "The sines some positions later")


@check("sinusoidal_positions", points=0.1, layer="laws", rules=("refuses",))
def test_sinusoids_refuse_an_odd_number_of_features(student):
    """An even number of features is accepted, and an odd one raises an error."""
    tensor_like(student.call("sinusoidal_positions", 3, 8), (3, 8), "The table")
    for d_model in (5, 1, 9):
        refused = student.refuses("sinusoidal_positions", 4, d_model)
        expect(refused, ODD, Status.NOT_REFUSED)


# rotary_angles


@check("rotary_angles", points=0.1, layer="shapes")
def test_angles_come_as_cosines_and_sines(student):
    """Five positions and eight features give two (5, 4) tensors."""
    two_tensors(student.call("rotary_angles", torch.arange(5), 8), 5, 4)


@check("rotary_angles", points=0.4, layer="documented")
def test_angles_are_the_documented_ones(student, documented):
    """The cosines and sines of positions 1 and 2 with 16 features are as documented."""
    cos, sin = two_tensors(student.call("rotary_angles", torch.arange(3), 16), 3, 8)

    documented["galopyz.cos.position_1"].matches(cos[1], "The cosines of position 1")
    documented["galopyz.sin.position_1"].matches(sin[1], "The sines of position 1")
    documented["galopyz.cos.position_2"].matches(cos[2], "The cosines of position 2")
    documented["galopyz.sin.position_2"].matches(sin[2], "The sines of position 2")


@check("rotary_angles", points=0.3, layer="probe")
def test_angles_of_any_positions(student, reference, probe):
    """The angles are right for negative and fractional positions, and several sizes and bases."""
    for positions, sizes in (
        (probe.normal(5, scale=20.0), (6,)),
        (torch.tensor([7, 2, 30, -4]), (10,)),
        (probe.normal(7, scale=9.0), (8, 500.0)),
        (torch.tensor([0.5]), (2, 30.0)),
    ):
        found = student.call("rotary_angles", positions, *sizes)
        cos, sin = two_tensors(found, len(positions), sizes[0] // 2)
        ours = reference.call("rotary_angles", positions, *sizes)

        agrees(cos, ours[0], "The cosines")
        agrees(sin, ours[1], "The sines")


@check("rotary_angles", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_angles_add_up(student, probe):
    """The angles of a sum of positions are sums of angles, and the positions are unchanged."""
    T, d = 5, 6
    p, q = probe.normal(T, scale=9.0), probe.normal(T, scale=9.0)
    found = [student.call("rotary_angles", one, d) for one in (p, q, p + q)]
    one, two, both_ = (torch.complex(*two_tensors(each, T, d // 2)) for each in found)

    agrees((one * two).real, both_.real, "The cosines of the sum")
    agrees((one * two).imag, both_.imag, "The sines of the sum")
    kept = student.keeps_inputs("rotary_angles", p, d)
    expect(kept, "rotary_angles changes the positions that you pass to it.")


@check("rotary_angles", points=0.1, layer="laws", rules=("refuses",))
def test_angles_refuse_an_odd_number_of_features(student):
    """An even number of features is accepted, and an odd one raises an error."""
    two_tensors(student.call("rotary_angles", torch.arange(4), 6), 4, 3)
    for d in (5, 1, 9):
        refused = student.refuses("rotary_angles", torch.arange(4), d)
        expect(refused, ODD, Status.NOT_REFUSED)


# apply_rotary


@check("apply_rotary", points=0.1, layer="shapes")
def test_rotation_keeps_the_shape(student):
    """Vectors of shape (2, 3, 5, 8) keep this shape, with pairs and with halves."""
    x, cos, sin = torch.ones(2, 3, 5, 8), torch.ones(5, 4), torch.zeros(5, 4)

    for halves in (False, True):
        turned = student.call("apply_rotary", x, cos, sin, halves=halves)
        tensor_like(turned, (2, 3, 5, 8), "apply_rotary of (2, 3, 5, 8)")


@check("apply_rotary", points=0.3, layer="documented")
def test_rotation_of_a_ramp_is_the_documented_one(student, reference, documented):
    """Pairs: in a head with 16 tokens and 64 features, the first six tokens are as documented."""
    head = torch.arange(16 * 64).view(1, 16, 64) / 100
    cos, sin = angles(reference, range(16), 64)

    turned = tensor_like(student.call("apply_rotary", head, cos, sin), (1, 16, 64), "The result")
    documented["roformer.rotary"].matches(turned[0, :6, :8], "The first features of six tokens")


@check("apply_rotary", points=0.3, layer="documented")
def test_rotation_of_a_query_is_the_documented_one(student, reference, documented):
    """Pairs: the query is as documented after a rotation by 0 and by the angles of position 1."""
    drawn = torch.randn(2, 3, 4, 16, generator=torch.Generator().manual_seed(123))
    queries = drawn.transpose(1, 2).contiguous()  # (B, H, T, d)
    cos, sin = angles(reference, range(3), 16)

    still = student.call("apply_rotary", queries, torch.ones_like(cos), torch.zeros_like(sin))
    still = tensor_like(still, (2, 4, 3, 16), "The queries, rotated by 0")
    documented["galopyz.query"].matches(still[0, 0, 1], "The query, rotated by 0")
    turned = student.call("apply_rotary", queries, cos, sin)
    turned = tensor_like(turned, (2, 4, 3, 16), "The rotated queries")
    documented["galopyz.rotated"].matches(turned[0, 0, 1], "The query at position 1")


@check("apply_rotary", points=0.4, layer="documented")
def test_rotation_of_ones_in_halves_is_the_documented_one(student, reference, documented):
    """Halves: vectors of ones at positions 3, ½, 1 and 12/5 are rotated as documented."""
    for name, positions, d in (
        ("kerashub.rotary.ones", [3.0], 6),
        ("kerashub.rotary.scaled", [0.5, 1.0], 4),
        ("kerashub.rotary.from_12", [12 / 5], 4),
    ):
        x = torch.ones(len(positions), d)
        cos, sin = angles(reference, positions, d)

        turned = student.call("apply_rotary", x, cos, sin, halves=True)
        documented[name].matches(turned, "The rotated vectors")


@check("apply_rotary", points=0.2, layer="documented")
def test_rotation_of_drawn_numbers_in_halves_is_the_documented_one(student, reference, documented):
    """Halves: the second of two tokens with 16 features is rotated as documented."""
    drawn = np.random.default_rng(0).standard_normal(size=(2, 2, 1, 16)).astype(np.float32)
    x = torch.tensor(drawn)[1, :, 0]  # (T, d)
    cos, sin = angles(reference, range(2), 16)

    turned = student.call("apply_rotary", x, cos, sin, halves=True)
    turned = tensor_like(turned, (2, 16), "The result")
    documented["kerashub.rotary.seeded"].matches(turned[1], "The second token")


@check("apply_rotary", points=0.7, layer="probe")
def test_rotation_of_any_vectors(student, reference, probe):
    """Pairs and halves are right for any angles, with zero to three axes before T."""
    for *front, T, d in ((3, 4, 5, 6), (2, 7, 8), (4, 10), (2, 3, 4, 1, 2)):
        x = probe.normal(*front, T, d)
        cos, sin = angles(reference, probe.normal(T, scale=20.0), d, 50.0)

        for halves in (False, True):
            ours = reference.call("apply_rotary", x, cos, sin, halves=halves)
            agrees(student.call("apply_rotary", x, cos, sin, halves=halves), ours, "The result")
        ours = reference.call("apply_rotary", x, cos, sin)
        agrees(student.call("apply_rotary", x, cos, sin), ours, "The result without halves")


@check("apply_rotary", points=0.1, layer="laws", rules=("dtype",))
def test_rotation_keeps_the_dtype(keeps_dtype, reference, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    cos, sin = angles(reference, range(5), 6)

    for halves in (False, True):
        keeps_dtype("apply_rotary", probe.normal(3, 5, 6), cos, sin, halves)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_keeps_lengths(student, reference, probe):
    """Every vector keeps its length, and so does every pair of features, in both layouts."""
    B, T, d = 3, 5, 8
    x = probe.normal(B, T, d)
    cos, sin = angles(reference, probe.normal(T, scale=9.0), d, 20.0)

    for halves in (False, True):
        turned = student.call("apply_rotary", x, cos, sin, halves=halves)
        turned = tensor_like(turned, (B, T, d), "The result")
        expect(not alike(turned, x), "The vectors are not rotated.")
        agrees(turned.norm(dim=-1), x.norm(dim=-1), "The length of the vectors")
        shape = (2, d // 2) if halves else (d // 2, 2)
        before, after = (each.unflatten(-1, shape) for each in (x, turned))
        axis = -2 if halves else -1
        agrees(after.norm(dim=axis), before.norm(dim=axis), "The length of the pairs")


@check("apply_rotary", points=0.2, layer="laws")
def test_rotation_makes_scores_depend_on_the_distance(student, reference, probe):
    """The dot product of a rotated query and a rotated key depends only on their distance."""
    d = 6
    query, key = probe.normal(d), probe.normal(d)
    for halves in (False, True):
        scores = []
        for positions in ((3, 1), (10, 8), (43, 41), (1, 3)):
            x = torch.stack((query, key))
            cos, sin = angles(reference, positions, d, 100.0)
            turned = student.call("apply_rotary", x, cos, sin, halves=halves)
            one, other = tensor_like(turned, (2, d), "The result")
            scores.append(one @ other)
        agrees(torch.stack(scores[1:3]), scores[0].expand(2), "The score at the same distance")
        expect(
            not alike(scores[3], scores[0]),
            "A key before the query gets the same score as a key at the same distance after it.",
        )


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_can_be_undone(student, reference, probe):
    """A vector that is rotated and then rotated back is unchanged."""
    x, positions = probe.normal(3, 5, 8), probe.normal(5, scale=9.0)
    cos, sin = angles(reference, positions, 8)

    for halves in (False, True):
        turned = student.call("apply_rotary", x, cos, sin, halves=halves)
        turned = tensor_like(turned, (3, 5, 8), "The result")
        expect(not alike(turned, x), "The vectors are not rotated.")
        back = student.call("apply_rotary", turned, cos, -sin, halves=halves)
        agrees(back, x, "The vectors after a rotation and its inverse")


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_in_halves_is_one_in_pairs_of_other_features(student, reference, probe):
    """If the features are reordered from pairs to halves, both layouts give the same numbers."""
    x = probe.normal(2, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8)

    pairs = tensor_like(student.call("apply_rotary", x, cos, sin), (2, 5, 8), "The result")
    expect(not alike(pairs, x), "The vectors are not rotated.")
    order = torch.cat((torch.arange(0, 8, 2), torch.arange(1, 8, 2)))
    halves = student.call("apply_rotary", x[..., order], cos, sin, halves=True)
    agrees(halves, pairs[..., order], "The result with halves, of features in the order of halves")


@check("apply_rotary", points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_rotation_leaves_its_arguments_alone(student, reference, probe):
    """The vectors, the cosines and the sines are unchanged."""
    x = probe.normal(3, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8)

    for halves in (False, True):
        ours = reference.call("apply_rotary", x, cos, sin, halves=halves)
        agrees(student.call("apply_rotary", x, cos, sin, halves=halves), ours, "The result")
        kept = student.keeps_inputs("apply_rotary", x, cos, sin, halves=halves)
        expect(kept, "apply_rotary changes tensors that you pass to it.")


@check("apply_rotary", points=0.2, layer="gradients", rules=("gradients",))
def test_rotation_passes_gradients_back(student, reference, probe):
    """The gradient of every feature is right, with pairs and with halves."""
    x, back = probe.normal(3, 5, 8), probe.normal(3, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8)

    for halves in (False, True):
        same_gradients(
            student.gradients("apply_rotary", x, cos, sin, halves, cotangent=back),
            reference.gradients("apply_rotary", x, cos, sin, halves, cotangent=back),
        )


@check("apply_rotary", points=0.1, layer="forbidden", rules=("no_loops",))
def test_rotation_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    ran = []
    for T in (4, 11):
        x = probe.normal(3, T, 6)
        cos, sin = angles(reference, range(T), 6)
        ours = reference.call("apply_rotary", x, cos, sin)
        agrees(student.call("apply_rotary", x, cos, sin), ours, "The result")
        ran.append(student.operators("apply_rotary", x, cos, sin))

    keeps_operators(*ran, AT_ONCE)


# alibi_slopes


@check("alibi_slopes", points=0.5, layer="documented")
def test_slopes_are_the_documented_ones(student, documented):
    """The slopes of 2, 8 and 14 heads are as documented."""
    two = student.call("alibi_slopes", 2)
    documented["dsplog.alibi.slopes"].matches(two, "The slopes of 2 heads")
    eight = tensor_like(student.call("alibi_slopes", 8), (8,), "The slopes of 8 heads")
    distances = torch.tensor([2.0, 1.0, 0.0])
    printed = "The slopes of 8 heads, times minus the distances 2, 1, 0,"
    documented["kerashub.alibi.8"].matches(-eight[:, None] * distances, printed)
    many = tensor_like(student.call("alibi_slopes", 14), (14,), "The slopes of 14 heads")
    printed = "The last six slopes of 14 heads, times minus the distances 2 and 1,"
    documented["kerashub.alibi.14"].matches(-many[8:, None] * distances[:2], printed)


@check("alibi_slopes", points=0.2, layer="probe")
def test_slopes_of_other_numbers_of_heads(student, reference):
    """The slopes are right for several powers of 2, and for numbers of heads between them."""
    for num_heads in (4, 16, 1, 3, 12, 6, 7):
        ours = reference.call("alibi_slopes", num_heads)

        agrees(student.call("alibi_slopes", num_heads), ours, "The slopes")


def visible_part(bias, num_heads, num_queries, num_keys):
    """Return the entries of a bias that a causal mask does not hide."""
    bias = tensor_like(bias, (num_heads, num_queries, num_keys), "The bias")
    visible = torch.ones(num_queries, num_keys).tril(num_keys - num_queries) == 1
    return bias[:, visible]


# alibi_bias


@check("alibi_bias", points=0.1, layer="shapes")
def test_bias_has_an_entry_for_each_score(student):
    """For 2 heads, 3 queries and 5 keys, the bias has the shape (2, 3, 5)."""
    tensor_like(student.call("alibi_bias", 2, 3, 5), (2, 3, 5), "alibi_bias(2, 3, 5)")


@check("alibi_bias", points=0.3, layer="documented")
def test_bias_is_the_documented_one(student, documented):
    """For one query and three keys, the biases of 8 and of 14 heads are as documented."""
    eight = tensor_like(student.call("alibi_bias", 8, 1, 3), (8, 1, 3), "alibi_bias(8, 1, 3)")
    documented["kerashub.alibi.8"].matches(eight[:, 0], "The bias of 8 heads")
    many = tensor_like(student.call("alibi_bias", 14, 1, 3), (14, 1, 3), "alibi_bias(14, 1, 3)")
    documented["kerashub.alibi.14"].matches(many[8:, 0, :2], "The bias of heads 8 to 13 of 14")


@check("alibi_bias", points=0.2, layer="probe")
def test_bias_of_other_sizes(student, reference):
    """The bias is right for as many queries as keys, for fewer queries, and for one query."""
    for sizes in ((4, 5, 5), (3, 2, 7), (6, 1, 4), (1, 3, 8), (2, 1, 1)):
        ours = visible_part(reference.call("alibi_bias", *sizes), *sizes)

        found = visible_part(student.call("alibi_bias", *sizes), *sizes)
        agrees(found, ours, "The bias of the keys up to each query")


# RotaryAttention


@check(NAME, points=0.1, layer="signature")
def test_attention_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_in, d_out, context_length, num_heads and base."""
    sizes = {"d_in": 3, "d_out": 8, "context_length": 6, "num_heads": 2}

    student.new(NAME, **sizes)
    student.new(NAME, **sizes, base=500.0)


@check(NAME, points=0.1, layer="shapes")
def test_attention_gives_each_token_a_vector_of_d_out(student, probe):
    """Inputs of shape (3, 5, 7) give context vectors of shape (3, 5, 24)."""
    context = student.new(NAME, 7, 24, 10, 4)(probe.normal(3, 5, 7))

    tensor_like(context, (3, 5, 24), "RotaryAttention(7, 24, 10, 4) of (3, 5, 7)")


@check(NAME, points=0.3, layer="parameters")
def test_attention_draws_its_layers_in_order(student, reference, probe):
    """With the caller's seed, the four layers are drawn in the order of the docstring."""
    for s in (FOUR, TWO):
        sizes = (s.d_in, s.d_out, s.context, s.H)
        found = student.new(NAME, *sizes, seed=probe.seed).parameters()
        drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()

        for layer in QKV:
            expect(f"{layer}.bias" not in found, f"{layer} has a bias; it should have none.")
        for name in DRAWN:
            expect(name in found, f"There is no parameter {name}.")
            agrees(found[name].value, drawn[name].value, name)


@check(NAME, points=0.1, layer="parameters", rules=("no_seeding",))
def test_attention_leaves_the_seed_to_the_caller(student, reference, probe):
    """The results are right, and neither the constructor nor a call sets a seed."""
    x, drawn = tokens(probe, FOUR), []
    for seed in (5, 6):
        yours = student.new(NAME, FOUR.d_in, FOUR.d_out, FOUR.context, FOUR.H, seed=seed)
        built = student.draws_next()
        ours = reference.new(NAME, FOUR.d_in, FOUR.d_out, FOUR.context, FOUR.H, seed=seed)
        agrees(yours(x, seed=seed), ours(x), "The context")
        drawn.append((built, student.draws_next()))

    expect(
        not torch.equal(drawn[0][0], drawn[1][0]),
        "After construction, the random numbers no longer depend on the seed.",
    )
    expect(
        not torch.equal(drawn[0][1], drawn[1][1]),
        "After a call, the random numbers no longer depend on the seed.",
    )


@check(NAME, points=0.5, layer="probe")
def test_attention_is_right_with_any_weights(student, reference, probe):
    """The result is right for random weights, with 2, 3 and 4 heads."""
    for s in (FOUR, THREE, TWO):
        yours, ours = both(student, reference, probe, s)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.3, layer="probe")
def test_attention_serves_every_length_in_turn(student, reference, probe):
    """One module handles long and short inputs at several offsets, one after the other."""
    yours, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR, FOUR.context)

    for T, B, offset in ((FOUR.context, 3, 0), (1, 2, 4), (5, 1, 0), (1, 1, 0), (4, 2, 9)):
        part = x[:B, :T].contiguous()
        agrees(yours(part, offset=offset), ours(part, offset=offset), "The context")


@check(NAME, points=0.3, layer="probe")
def test_attention_uses_its_base(student, reference, probe):
    """The result is right for several bases."""
    for s, base in ((TWO, 50.0), (THREE, 3.0)):
        yours, ours = both(student, reference, probe, s, base)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.1, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, reference, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    attention, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR)

    agrees(attention(x), ours(x), "The context")
    keeps_dtype(attention, x)


@check(NAME, points=0.2, layer="laws")
def test_attention_depends_on_distances_only(student, reference, probe):
    """The result is the same at every offset, even beyond context_length."""
    yours, ours = both(student, reference, probe, TWO, 100.0)
    x = tokens(probe, TWO)

    agrees(yours(x), ours(x), "The context")
    for offset in (1, 7, TWO.context + 5, 40):
        agrees(yours(x, offset), ours(x), "The context at a different offset")


@check(NAME, points=0.1, layer="laws")
def test_attention_sees_the_order_of_earlier_tokens(student, reference, probe):
    """The last token's result changes when two earlier tokens are swapped."""
    yours, _ = both(student, reference, probe, THREE)
    x = tokens(probe, THREE)
    swapped = x[:, [0, 3, 2, 1, 4, 5]].contiguous()

    before = tensor_like(yours(x), (THREE.B, THREE.T, THREE.d_out), "The context")
    after = tensor_like(yours(swapped), (THREE.B, THREE.T, THREE.d_out), "The context")
    expect(
        not alike(after[:, -1], before[:, -1]),
        "The last token's result does not depend on the order of the tokens before it.",
    )
    agrees(after[:, 0], before[:, 0], "The first token's result after a change of later tokens")


@check(NAME, points=0.1, layer="laws")
def test_attention_never_looks_ahead(student, reference, probe):
    """Changing the last tokens changes their own results and no earlier result."""
    yours, ours = both(student, reference, probe, TWO)
    x = tokens(probe, TWO)
    others = x.clone()
    others[:, 5:] = tokens(probe, TWO, TWO.T - 5)

    before = tensor_like(yours(x), (TWO.B, TWO.T, TWO.d_out), "The context")
    agrees(before, ours(x), "The context")
    after = tensor_like(yours(others), (TWO.B, TWO.T, TWO.d_out), "The context")
    unchanged = alike(after[:, 5:], before[:, 5:])
    expect(not unchanged, "A change of the last tokens does not change their own results.")
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :5], before[:, :5], sentence)


@check(NAME, points=0.1, layer="laws", rules=("inputs_unchanged",))
def test_attention_keeps_the_items_of_a_batch_apart(student, reference, probe):
    """Each item of a batch gets the same result as it would alone, and the input is unchanged."""
    yours, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR)

    together = tensor_like(yours(x), (FOUR.B, FOUR.T, FOUR.d_out), "The context")
    agrees(together, ours(x), "The context")
    for item in range(FOUR.B):
        agrees(yours(x[item : item + 1]), together[item : item + 1], "The result of an item alone")
    expect(yours.keeps_inputs(x), "The call changes its input.")


@check(NAME, points=0.1, layer="laws", rules=("refuses",))
def test_attention_refuses_heads_that_do_not_fit(student, probe):
    """A number of heads that does not divide d_out, or an odd head size, raises an error."""
    student.new(NAME, 7, 8, 12, 4)  # an even size is accepted
    for d_out, num_heads in ((8, 3), (6, 4), (3, 4)):
        sizes = (7, d_out, 12, num_heads)
        refused = student.refuses(NAME, *sizes)
        refused = refused or student.new(NAME, *sizes).refuses(probe.normal(2, 12, 7))
        expect(
            refused,
            "A d_out that num_heads does not divide gives a result; it should raise a ValueError.",
            Status.NOT_REFUSED,
        )
    for d_out, num_heads in ((6, 2), (5, 1), (4, 4)):
        sizes = (7, d_out, 12, num_heads)
        refused = student.refuses(NAME, *sizes)
        refused = refused or student.new(NAME, *sizes).refuses(probe.normal(2, 12, 7))
        expect(
            refused,
            "Heads of an odd size give a result; they should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(NAME, points=0.1, layer="laws", rules=("refuses",))
def test_attention_refuses_more_tokens_than_fit(student, reference, probe):
    """The module accepts context_length tokens at any offset; more tokens raise an error."""
    yours, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR, FOUR.context)

    agrees(yours(x), ours(x), "The context")
    agrees(yours(x, FOUR.context), ours(x, FOUR.context), "The context at a different offset")
    for T in (FOUR.context + 1, 2 * FOUR.context):
        refused = yours.refuses(tokens(probe, FOUR, T))
        expect(
            refused,
            "More tokens than context_length give a result; they should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(NAME, points=0.2, layer="gradients", rules=("gradients",))
def test_attention_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all four layers are right."""
    yours, ours = both(student, reference, probe, THREE)
    x, back = tokens(probe, THREE), probe.normal(THREE.B, THREE.T, THREE.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(NAME, points=0.2, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, reference, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    yours, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR)

    agrees(yours(x), ours(x), "The context")
    avoids(student, NAME, READY_ATTENTION, BY_HAND)
    avoids_running(yours.operators(x), READY_ATTENTION, BY_HAND)


@check(NAME, points=0.1, layer="forbidden", rules=("no_loops",))
def test_attention_needs_no_loop_over_tokens(student, reference, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    yours, ours = both(student, reference, probe, FOUR)
    few, many = (tokens(probe, FOUR, T, scale=0.3) for T in (4, FOUR.context - 1))

    agrees(yours(many), ours(many), "The context")
    keeps_operators(yours.operators(few), yours.operators(many), AT_ONCE)
