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
from autograder.suite.compare import agrees, same_dtype, tensor, tensor_like
from autograder.suite.forbidden import avoids, avoids_running, keeps_operators
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
        "onnx",
        "scaled_dot_product_attention",
    }
)
NAME = "RotaryAttention"
QKV = ("W_query", "W_key", "W_value")
LACKS = ("out_proj.bias",)  # if it is missing, only the checks of parameters fail
DRAWN = ("W_query.weight", "W_key.weight", "W_value.weight", "out_proj.weight", "out_proj.bias")
BY_HAND = "In this exercise you build attention yourself: scores, softmax, weighted values."
AT_ONCE = "Rotate the pairs of all tokens at once."
BASE = 10000.0  # the default; checks of anything else pass it
EFFECT = 0.01  # far above float32 noise; the changes that the laws make have larger effects
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


def draw_weights(probe, s):
    """Draw large weights for all parameters."""
    shapes = {f"{name}__weight": (s.d_out, s.d_in) for name in QKV}
    return probe.weights(**shapes, out_proj__weight=(s.d_out, s.d_out), out_proj__bias=(s.d_out,))


def own(student, s, weights, base=BASE):
    """Build the student's module and load *weights*."""
    return student.new(NAME, s.d_in, s.d_out, s.context, s.H, base).load(weights, may_lack=LACKS)


def both(student, reference, probe, s, base=BASE):
    """Build the student's module and the reference, and load the same large weights."""
    weights = draw_weights(probe, s)
    return own(student, s, weights, base), own(reference, s, weights, base)


def tokens(probe, s, T=None, *, scale=0.6):
    """Draw a batch with different items."""
    return probe.normal(s.B, T or s.T, s.d_in, scale=scale)


def angles(reference, positions, d, base=BASE):
    """Return the cosines and sines for apply_rotary, so that it does not need rotary_angles."""
    return reference.call("rotary_angles", torch.as_tensor(positions), d, base)


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


def differs(one, other):
    """Return whether two results of the same shape differ much more than float32 noise."""
    apart = (one.to(torch.complex128) - other.to(torch.complex128)).abs()  # of any dtype
    return bool(apart.numel()) and not bool(apart.max() <= EFFECT)


def real(answer, shape, what="The result"):
    """Return a tensor of real numbers, with which a law can compute, or fail the check."""
    found = tensor_like(answer, shape, what)
    expect(found.is_floating_point(), f"{what} has the wrong dtype.", Status.WRONG_TYPE)
    return found


def sinusoids(student, length, d, base=BASE):
    """Return the table of the student."""
    return real(student.call("sinusoidal_positions", length, d, base), (length, d), "The table")


def rotations(student, positions, d, base=BASE):
    """Return a complex number for each position and pair: its cosine plus i times its sine."""
    answer = student.call("rotary_angles", positions, d, base)
    pairs = (len(positions), d // 2)
    cos, sin = (real(one, pairs).float() for one in two_tensors(answer, *pairs))
    return torch.complex(cos, sin)


def rotated(student, x, cos, sin, halves):
    """Return the vectors of *x*, rotated by the student."""
    return real(student.call("apply_rotary", x, cos, sin, halves=halves), tuple(x.shape))


def as_pairs(x, halves):
    """Return the features of each pair as the last axis."""
    return x.unflatten(-1, (2, -1)).mT if halves else x.unflatten(-1, (-1, 2))


def context_of(attention, x, s, **kwargs):
    """Return the result of attention."""
    return real(attention(x, **kwargs), (*x.shape[:2], s.d_out), "The context")


# sinusoidal_positions


@check("sinusoidal_positions", points=0.05, layer="signature")
def test_sinusoids_have_a_usual_base(student):
    """Without a base, it is 10000."""
    given = student.call("sinusoidal_positions", 5, 6, base=BASE)

    agrees(student.call("sinusoidal_positions", 5, 6), given, "The table without a base")


@check("sinusoidal_positions", points=0.05, layer="shapes")
def test_sinusoids_have_a_row_for_each_position(student):
    """Seven positions and four features give a (7, 4) tensor."""
    rows = student.call("sinusoidal_positions", 7, 4)

    tensor_like(rows, (7, 4), "sinusoidal_positions(7, 4)")


@check("sinusoidal_positions", points=0.25, layer="documented")
def test_sinusoids_alternate_as_documented(student, documented):
    """The rows of positions 0 and 3 with six features, and 0 and 1 with four, are as documented."""
    six = tensor_like(student.call("sinusoidal_positions", 5, 6, BASE), (5, 6), "The table")
    documented["kerashub.sine.rows_0_3"].matches(six[[0, 3]], "The rows of positions 0 and 3")
    four = tensor_like(student.call("sinusoidal_positions", 3, 4, BASE), (3, 4), "The table")
    documented["kerashub.sine.d4"].matches(four[:2], "The rows of positions 0 and 1")


@check("sinusoidal_positions", points=0.15, layer="documented")
def test_sinusoids_of_512_features_are_the_documented_ones(student, documented):
    """With 512 features, the first five sines of the first three positions are as documented."""
    rows = student.call("sinusoidal_positions", 4, 512, BASE)

    found = tensor_like(rows, (4, 512), "sinusoidal_positions(4, 512)")[:3, 0:10:2]
    documented["roformer.sine"].matches(found, "The first five sines of positions 0, 1 and 2")


@check("sinusoidal_positions", points=0.2, layer="probe")
def test_sinusoids_of_other_sizes(student, reference, probe):
    """The rows are right for several lengths and numbers of features."""
    for sizes in ((9 + probe.number % 7, 8 + 2 * (probe.number % 3), BASE), (1, 6, BASE)):
        ours = reference.call("sinusoidal_positions", *sizes)

        agrees(student.call("sinusoidal_positions", *sizes), ours, "The table of positions")


@check("sinusoidal_positions", points=0.1, layer="probe")
def test_sinusoids_of_other_bases(student, reference, probe):
    """The rows are right for several bases."""
    for sizes in ((5, 10, 400.0 + probe.number % 211), (9, 2, 30.0 + probe.number % 23)):
        ours = reference.call("sinusoidal_positions", *sizes)

        agrees(student.call("sinusoidal_positions", *sizes), ours, "The table of positions")


@check("sinusoidal_positions", points=0.2, layer="laws")
def test_sinusoids_turn_by_the_same_angle_at_every_step(student, probe):
    """From each position to the next, a pair (cos, sin) is rotated by the same angle."""
    T, d = 8 + probe.number % 4, 6 + 2 * (probe.number % 5)
    rows = sinusoids(student, T, d)
    points = torch.complex(rows[:, 1::2].float(), rows[:, 0::2].float())

    agrees(points.abs(), torch.ones(T, d // 2), "The lengths of the pairs of sine and cosine")
    for step in (1, 3):
        turned = points[:-step] * points[step]
        agrees(turned.real, points[step:].real, "The cosines of later positions")
        agrees(turned.imag, points[step:].imag, "The sines of later positions")


@check("sinusoidal_positions", points=0.1, layer="laws")
def test_sinusoids_begin_without_a_turn(student, probe):
    """At position 0 all sines are 0 and all cosines 1, and every other position differs."""
    rows = sinusoids(student, 6, 8 + 2 * (probe.number % 3))

    first = torch.zeros_like(rows[0])
    first[1::2] = 1.0
    agrees(rows[0], first, "The row of position 0")
    for row in rows[1:]:
        expect(differs(row, first), "A later position has almost the row of position 0.")


@check("sinusoidal_positions", points=0.1, layer="laws")
def test_sinusoids_turn_slower_from_pair_to_pair(student, probe):
    """Each pair turns more slowly than the one before it, always by the same factor."""
    rows = sinusoids(student, 2, 8, 20.0 + probe.number % 60)
    turns = torch.atan2(rows[1, 0::2], rows[1, 1::2])
    factors = turns[1:] / turns[:-1]

    slower = bool(((factors > 0) & (factors < 1)).all())
    sentence = "Read as sine and cosine, an angle is not between 0 and that of the pair before."
    expect(slower, sentence)
    agrees(factors, factors[:1].expand(3), "The factors from pair to pair")


@check("sinusoidal_positions", points=0.1, layer="laws")
def test_sinusoids_turn_slower_with_a_larger_base(student, probe):
    """A larger base makes all pairs but the first turn more slowly."""
    base = 20.0 + probe.number % 60
    one, other = (sinusoids(student, 2, 8, each)[1] for each in (base, 3 * base))

    agrees(other[:2], one[:2], "The first pair with a larger base")
    slower = (other[2::2] < one[2::2] - 0.001).all() and (other[3::2] > one[3::2]).all()
    sentence = (
        "With a larger base, an even feature does not clearly fall, or an odd one does not rise."
    )
    expect(slower, sentence)


@check("sinusoidal_positions", points=0.1, layer="laws", rules=("refuses",))
def test_sinusoids_refuse_an_odd_number_of_features(student):
    """An even number of features is accepted, and an odd one raises an error."""
    tensor_like(student.call("sinusoidal_positions", 3, 8), (3, 8), "The table")
    for d_model in (5, 1, 9):
        refused = student.refuses("sinusoidal_positions", 4, d_model)
        expect(refused, ODD, Status.NOT_REFUSED)


# rotary_angles


@check("rotary_angles", points=0.05, layer="signature")
def test_angles_have_a_usual_base(student):
    """Without a base, it is 10000."""
    given = student.call("rotary_angles", torch.arange(5), 6, base=BASE)

    agrees(student.call("rotary_angles", torch.arange(5), 6), given, "The result without a base")


@check("rotary_angles", points=0.05, layer="shapes")
def test_angles_come_as_cosines_and_sines(student):
    """Five positions and eight features give two (5, 4) tensors."""
    two_tensors(student.call("rotary_angles", torch.arange(5), 8), 5, 4)


@check("rotary_angles", points=0.15, layer="documented")
def test_angles_are_the_documented_ones(student, documented):
    """The cosines and sines of positions 1 and 2 with 16 features are as documented."""
    cos, sin = two_tensors(student.call("rotary_angles", torch.arange(3), 16, BASE), 3, 8)

    documented["galopyz.cos.position_1"].matches(cos[1], "The cosines of position 1")
    documented["galopyz.sin.position_1"].matches(sin[1], "The sines of position 1")
    documented["galopyz.cos.position_2"].matches(cos[2], "The cosines of position 2")
    documented["galopyz.sin.position_2"].matches(sin[2], "The sines of position 2")


def same_angles(student, reference, positions, d, base=BASE):
    """Compare cosines and sines."""
    cos, sin = two_tensors(
        student.call("rotary_angles", positions, d, base), len(positions), d // 2
    )
    ours = reference.call("rotary_angles", positions, d, base)

    when = "" if base == BASE else " for another base"
    agrees(cos, ours[0], f"The cosines{when}")
    agrees(sin, ours[1], f"The sines{when}")


@check("rotary_angles", points=0.15, layer="probe")
def test_angles_of_whole_positions(student, reference, probe):
    """The angles are right for whole numbers in any order, and for negative ones."""
    same_angles(student, reference, torch.tensor([7, 2, 30, -4]), 10)
    same_angles(student, reference, (probe.uniform(5) * 40).long() - 9, 4)


@check("rotary_angles", points=0.1, layer="probe")
def test_angles_of_positions_between(student, reference, probe):
    """The angles are right for positions that are not whole numbers."""
    same_angles(student, reference, probe.normal(5, scale=20.0), 6)
    same_angles(student, reference, torch.tensor([0.5]), 2)


@check("rotary_angles", points=0.1, layer="probe")
def test_angles_of_other_bases(student, reference, probe):
    """The angles are right for several bases."""
    same_angles(student, reference, (probe.uniform(7) * 30).round(), 8, 500.0)
    same_angles(student, reference, torch.tensor([3.0, 1.0]), 6, 30.0)


@check("rotary_angles", points=0.1, layer="laws")
def test_angles_add_up(student, probe):
    """Squares of cosine and sine sum to one, and a sum of positions has the sum of their angles."""
    p, q = probe.normal(5, scale=9.0), probe.normal(5, scale=9.0)
    one, two, both_ = (rotations(student, each, 6) for each in (p, q, p + q))

    agrees(one.abs(), torch.ones(5, 3), "The lengths of the pairs of cosine and sine")
    agrees((one * two).real, both_.real, "The cosines of the sum")
    agrees((one * two).imag, both_.imag, "The sines of the sum")


@check("rotary_angles", points=0.1, layer="laws")
def test_angles_of_opposite_positions_are_opposite(student, probe):
    """Opposite positions have equal cosines and opposite sines, which are not 0."""
    p = probe.uniform(5) * 2 + 1
    one, other = (rotations(student, each, 6) for each in (p, -p))

    sentence = "The sine of a position above 0 is not clearly positive or negative."
    expect(bool((one.imag.abs() > 0.0001).all()), sentence)
    agrees(other.real, one.real, "The cosines of opposite positions")
    agrees(other.imag, -one.imag, "The sines of opposite positions")


@check("rotary_angles", points=0.1, layer="laws")
def test_angles_shrink_from_pair_to_pair(student, probe):
    """The angle of each pair is smaller than that of the one before it, by the same factor."""
    found = rotations(student, torch.tensor([1.0]), 8, 20.0 + probe.number % 60).angle()[0]
    factors = found[1:] / found[:-1]

    smaller = bool(((factors > 0) & (factors < 1)).all())
    sentence = "Read as cosine and sine, an angle is not between 0 and that of the pair before."
    expect(smaller, sentence)
    agrees(factors, factors[:1].expand(3), "The factors from pair to pair")


@check("rotary_angles", points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_angles_leave_their_positions_alone(student, probe):
    """The positions are unchanged."""
    p = probe.normal(5, scale=9.0)
    one, other = (rotations(student, each, 6) for each in (p, p + 1))
    expect(differs(one, other), "Larger positions hardly change the result.")

    kept = student.keeps_inputs("rotary_angles", p, 6)
    expect(kept, "rotary_angles changes the positions that you pass to it.")


@check("rotary_angles", points=0.05, layer="laws", rules=("refuses",))
def test_angles_refuse_an_odd_number_of_features(student):
    """An even number of features is accepted, and an odd one raises an error."""
    two_tensors(student.call("rotary_angles", torch.arange(4), 6), 4, 3)
    for d in (5, 1, 9):
        refused = student.refuses("rotary_angles", torch.arange(4), d)
        expect(refused, ODD, Status.NOT_REFUSED)


# apply_rotary


@check("apply_rotary", points=0.05, layer="signature")
def test_rotation_is_in_pairs_by_default(student, probe):
    """Without halves, the result is that of halves=False."""
    x, cos, sin = probe.normal(5, 8), probe.uniform(5, 4), probe.uniform(5, 4)
    given = student.call("apply_rotary", x, cos, sin, halves=False)

    agrees(student.call("apply_rotary", x, cos, sin), given, "The result without halves")


@check("apply_rotary", points=0.05, layer="shapes")
def test_rotation_keeps_the_shape(student):
    """Vectors of shape (2, 3, 5, 8) keep this shape, with pairs and with halves."""
    x, cos, sin = torch.ones(2, 3, 5, 8), torch.ones(5, 4), torch.zeros(5, 4)

    for halves in (False, True):
        turned = student.call("apply_rotary", x, cos, sin, halves=halves)
        tensor_like(turned, (2, 3, 5, 8), f"The result with halves={halves}")


@check("apply_rotary", points=0.15, layer="documented")
def test_rotation_of_a_ramp_is_the_documented_one(student, reference, documented):
    """Pairs: in a head with 16 tokens and 64 features, the first six tokens are as documented."""
    head = torch.arange(16 * 64).view(1, 16, 64) / 100
    cos, sin = angles(reference, range(16), 64)

    turned = student.call("apply_rotary", head, cos, sin, halves=False)
    turned = tensor_like(turned, (1, 16, 64), "The result")
    documented["roformer.rotary"].matches(turned[0, :6, :8], "The first features of six tokens")


@check("apply_rotary", points=0.15, layer="documented")
def test_rotation_of_a_query_is_the_documented_one(student, reference, documented):
    """Pairs: the query is as documented after a rotation by 0 and by the angles of position 1."""
    drawn = torch.randn(2, 3, 4, 16, generator=torch.Generator().manual_seed(123))
    queries = drawn.transpose(1, 2).contiguous()  # (B, H, T, d)
    cos, sin = angles(reference, range(3), 16)

    unturned = torch.ones_like(cos), torch.zeros_like(sin)
    still = student.call("apply_rotary", queries, *unturned, halves=False)
    still = tensor_like(still, (2, 4, 3, 16), "The queries, rotated by 0")
    documented["galopyz.query"].matches(still[0, 0, 1], "The query, rotated by 0")
    turned = student.call("apply_rotary", queries, cos, sin, halves=False)
    turned = tensor_like(turned, (2, 4, 3, 16), "The rotated queries")
    documented["galopyz.rotated"].matches(turned[0, 0, 1], "The query at position 1")


@check("apply_rotary", points=0.15, layer="documented")
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
        documented[name].matches(turned, "The result with halves=True")


@check("apply_rotary", points=0.1, layer="documented")
def test_rotation_of_drawn_numbers_in_halves_is_the_documented_one(student, reference, documented):
    """Halves: the second of two tokens with 16 features is rotated as documented."""
    drawn = np.random.default_rng(0).standard_normal(size=(2, 2, 1, 16)).astype(np.float32)
    x = torch.tensor(drawn)[1, :, 0]  # (T, d)
    cos, sin = angles(reference, range(2), 16)

    turned = student.call("apply_rotary", x, cos, sin, halves=True)
    turned = tensor_like(turned, (2, 16), "The result with halves=True")
    documented["kerashub.rotary.seeded"].matches(turned[1], "The second token with halves=True")


def same_rotation(student, reference, probe, halves):
    """Compare the results for any angles, with zero to three axes before T."""
    for *front, T, d in ((3, 4, 5, 6), (2, 7, 8), (4, 10), (2, 3, 4, 1, 2)):
        x = probe.normal(*front, T, d)
        cos, sin = angles(reference, probe.normal(T, scale=20.0), d, 50.0)

        ours = reference.call("apply_rotary", x, cos, sin, halves=halves)
        turned = student.call("apply_rotary", x, cos, sin, halves=halves)
        agrees(turned, ours, f"The result with halves={halves}")


@check("apply_rotary", points=0.4, layer="probe")
def test_rotation_of_any_pairs(student, reference, probe):
    """Pairs are rotated right by any angles, with zero to three axes before T."""
    same_rotation(student, reference, probe, halves=False)


@check("apply_rotary", points=0.35, layer="probe")
def test_rotation_of_any_halves(student, reference, probe):
    """Halves are rotated right by any angles, with zero to three axes before T."""
    same_rotation(student, reference, probe, halves=True)


def keeps_lengths(student, reference, probe, halves):
    """Check that the vectors are rotated, and that each pair keeps its length."""
    x = probe.normal(3, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8, 20.0)
    turned = rotated(student, x, cos, sin, halves)

    expect(differs(turned, x), f"With halves={halves}, the vectors hardly change.")
    lengths = as_pairs(x, halves).norm(dim=-1)
    what = f"The lengths of the pairs with halves={halves}"
    agrees(as_pairs(turned, halves).norm(dim=-1), lengths, what)


def depends_on_distance(student, reference, probe, halves):
    """Check that a score of rotated vectors depends only on their distance."""
    x, scores = probe.normal(3, 2, 6), []
    for positions in ((3, 1), (10, 8), (43, 41), (1, 3)):
        turned = rotated(student, x, *angles(reference, positions, 6, 100.0), halves)
        scores.append((turned[:, 0] * turned[:, 1]).sum(dim=-1))

    for score in scores[1:3]:
        agrees(score, scores[0], "The score at the same distance")
    sentence = "A key before the query gets almost the score of one as far after it."
    expect(differs(scores[3], scores[0]), sentence)


def turns_towards_the_second(student, reference, probe, halves):
    """Check the direction of a rotation by less than a quarter turn."""
    cos, sin = angles(reference, probe.uniform(5) + 0.3, 8, 20.0)
    first = torch.zeros(5, 8)
    first[:, : 4 if halves else None : 1 if halves else 2] = 1.0  # the first feature of each pair
    turned = as_pairs(rotated(student, first, cos, sin, halves), halves)

    one, other = turned.unbind(dim=-1)
    expect(
        ((one > 0) & (one < 0.9999)).all(),
        "After a small rotation, a first feature is outside its range.",
    )
    expect((other > EFFECT).all(), "The second feature of a pair does not clearly grow.")


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_keeps_the_lengths_of_pairs(student, reference, probe):
    """Pairs: vectors change, but every pair of features keeps its length."""
    keeps_lengths(student, reference, probe, halves=False)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_keeps_the_lengths_in_halves(student, reference, probe):
    """Halves: vectors change, but every pair of features keeps its length."""
    keeps_lengths(student, reference, probe, halves=True)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_in_pairs_makes_scores_depend_on_the_distance(student, reference, probe):
    """Pairs: the product of a rotated query and a rotated key depends only on their distance."""
    depends_on_distance(student, reference, probe, halves=False)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_in_halves_makes_scores_depend_on_the_distance(student, reference, probe):
    """Halves: the product of a rotated query and a rotated key depends only on their distance."""
    depends_on_distance(student, reference, probe, halves=True)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_in_pairs_turns_towards_the_second_feature(student, reference, probe):
    """Pairs: a small angle turns (1, 0) towards (0, 1): the second feature grows."""
    turns_towards_the_second(student, reference, probe, halves=False)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_in_halves_turns_towards_the_second_feature(student, reference, probe):
    """Halves: a small angle turns (1, 0) towards (0, 1): the second feature grows."""
    turns_towards_the_second(student, reference, probe, halves=True)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_can_be_undone(student, reference, probe):
    """A vector changes by a rotation, and the inverse rotation gives it back."""
    x, positions = probe.normal(3, 5, 8), probe.normal(5, scale=9.0)
    cos, sin = angles(reference, positions, 8)

    for halves in (False, True):
        turned = rotated(student, x, cos, sin, halves)
        expect(differs(turned, x), f"With halves={halves}, the vectors hardly change.")
        back = rotated(student, turned.to(x.dtype), cos, -sin, halves)
        what = f"With halves={halves}, the result of a rotation and its inverse"
        agrees(back, x, what)


@check("apply_rotary", points=0.1, layer="laws")
def test_rotation_in_halves_is_one_in_pairs_of_other_features(student, reference, probe):
    """If the features are reordered from pairs to halves, both layouts give the same numbers."""
    x = probe.normal(2, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8)

    pairs = rotated(student, x, cos, sin, halves=False)
    expect(differs(pairs, x), "With halves=False, the vectors hardly change.")
    order = torch.cat((torch.arange(0, 8, 2), torch.arange(1, 8, 2)))
    halves = rotated(student, x[..., order], cos, sin, halves=True)
    agrees(
        halves, pairs[..., order], "The result with halves=True of features in the order of halves"
    )


@check("apply_rotary", points=0.1, layer="laws", rules=("dtype",))
def test_rotation_keeps_the_dtype(keeps_dtype, student, reference, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 6)
    x = probe.normal(3, 5, 6)

    for halves in (False, True):
        one, other = (rotated(student, x, cos, each, halves) for each in (sin, -sin))
        expect(
            differs(one, other),
            f"With halves={halves}, the opposite sine hardly changes the result.",
        )
        keeps_dtype("apply_rotary", x, cos, sin, halves)


@check("apply_rotary", points=0.15, layer="laws", rules=("inputs_unchanged",))
def test_rotation_leaves_its_arguments_alone(student, reference, probe):
    """The vectors, the cosines and the sines are unchanged."""
    x = probe.normal(3, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8)

    for halves in (False, True):
        kept = student.keeps_inputs("apply_rotary", x, cos, sin, halves=halves)
        expect(kept, f"With halves={halves}, apply_rotary changes a tensor that you pass to it.")
        one, other = (rotated(student, x, cos, each, halves) for each in (sin, -sin))
        expect(
            differs(one, other),
            f"With halves={halves}, the opposite sine hardly changes the result.",
        )


@check("apply_rotary", points=0.1, layer="laws", rules=("gradients",))
def test_rotation_keeps_the_vectors_in_the_graph(student, reference, probe):
    """A gradient reaches every vector, with pairs and with halves."""
    x, back = probe.normal(3, 5, 8), probe.normal(3, 5, 8)
    cos, sin = angles(reference, probe.normal(5, scale=9.0), 8)

    for halves in (False, True):
        found = student.gradients("apply_rotary", x, cos, sin, halves, cotangent=back).inputs[0]
        when = f"With halves={halves}, "
        expect(found is not None, f"{when}no gradient reaches the input.")
        lengths = tensor_like(found, (3, 5, 8), f"{when}the gradient of the input").norm(dim=-1)
        expect((lengths > EFFECT).all(), f"{when}the gradient of a vector is 0, almost 0 or NaN.")


@check("apply_rotary", points=0.15, layer="gradients", rules=("gradients",))
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
        cos, sin = angles(reference, range(T), 6)
        ran.append(student.operators("apply_rotary", probe.normal(3, T, 6), cos, sin, halves=False))

    keeps_operators(*ran, AT_ONCE)


def slopes_of(student, num_heads):
    """Return the slopes of heads."""
    return real(student.call("alibi_slopes", num_heads), (num_heads,), "The slopes")


# alibi_slopes


@check("alibi_slopes", points=0.05, layer="shapes")
def test_slopes_are_one_number_for_each_head(student):
    """Five heads have a float32 tensor of five slopes."""
    found = tensor_like(student.call("alibi_slopes", 5), (5,), "alibi_slopes(5)")

    expect(found.dtype is torch.float32, "The slopes are not float32.", Status.WRONG_TYPE)


@check("alibi_slopes", points=0.15, layer="documented")
def test_slopes_are_the_documented_ones(student, documented):
    """The slopes of 2 and 8 heads are as documented."""
    two = student.call("alibi_slopes", 2)
    documented["dsplog.alibi.slopes"].matches(two, "The slopes of 2 heads")
    eight = tensor_like(student.call("alibi_slopes", 8), (8,), "The slopes of 8 heads")
    distances = torch.tensor([2.0, 1.0, 0.0])
    printed = "The slopes of 8 heads, times minus the distances 2, 1, 0,"
    documented["kerashub.alibi.8"].matches(-eight[:, None] * distances, printed)


@check("alibi_slopes", points=0.1, layer="documented")
def test_slopes_of_14_heads_are_the_documented_ones(student, documented):
    """The last six slopes of 14 heads are as documented."""
    many = tensor_like(student.call("alibi_slopes", 14), (14,), "The slopes of 14 heads")
    printed = "The last six slopes of 14 heads, times minus the distances 2 and 1,"
    distances = torch.tensor([2.0, 1.0])
    documented["kerashub.alibi.14"].matches(-many[8:, None] * distances, printed)


@check("alibi_slopes", points=0.1, layer="probe")
def test_slopes_of_powers_of_two(student, reference, probe):
    """The slopes are right for several powers of 2."""
    for num_heads in (2 ** (1 + probe.number % 3), 2 ** (4 + probe.number % 5), 1):
        ours = reference.call("alibi_slopes", num_heads)

        agrees(student.call("alibi_slopes", num_heads), ours, "The slopes")


@check("alibi_slopes", points=0.1, layer="probe")
def test_slopes_of_other_numbers_of_heads(student, reference, probe):
    """The slopes are right for numbers of heads between powers of 2."""
    for num_heads in (3, 5 + probe.number % 3, 9 + probe.number % 7):
        ours = reference.call("alibi_slopes", num_heads)

        agrees(student.call("alibi_slopes", num_heads), ours, "The slopes")


@check("alibi_slopes", points=0.1, layer="laws")
def test_slopes_of_powers_of_two_fall_evenly(student, probe):
    """For a power of 2, slopes fall by the same factor from head to head, down to 1/256."""
    for num_heads in (2 ** (2 + probe.number % 2), 2 ** (4 + probe.number % 5)):
        slopes = slopes_of(student, num_heads)
        factors = slopes[1:] / slopes[:-1]

        agrees(factors, factors[:1].expand(num_heads - 1), "The factors from head to head")
        agrees(256 * slopes[-1], slopes.new_tensor(1.0), "256 times the last slope")


@check("alibi_slopes", points=0.1, layer="laws")
def test_slopes_are_all_different(student, probe):
    """All slopes are between 0 and 1, and no two heads have the same."""
    for num_heads in (5 + probe.number % 3, 9 + probe.number % 7):
        slopes = slopes_of(student, num_heads).sort().values

        between = bool(((slopes > 0) & (slopes < 1)).all())
        expect(between, "A slope is not between 0 and 1.")
        expect((slopes[1:] > 1.001 * slopes[:-1]).all(), "Two heads have almost the same slope.")


@check("alibi_slopes", points=0.1, layer="laws")
def test_slopes_begin_with_those_of_a_power_of_two(student, probe):
    """The first heads have the slopes for a power of 2; the next one has a larger slope."""
    for power, num_heads in ((4, 5 + probe.number % 3), (8, 9 + probe.number % 7)):
        slopes = slopes_of(student, num_heads)

        agrees(slopes[:power], slopes_of(student, power), "The first slopes")
        sentence = "The slope that follows those for a power of 2 is not clearly larger."
        expect(slopes[power] > slopes[:power].max() + 0.001, sentence)


def visible_part(bias, num_heads, num_queries, num_keys):
    """Return the entries of a bias that a causal mask does not hide."""
    bias = tensor_like(bias, (num_heads, num_queries, num_keys), "The bias")
    visible = torch.ones(num_queries, num_keys).tril(num_keys - num_queries) == 1
    return bias[:, visible]


def same_bias(student, reference, *sizes):
    """Compare the entries that a causal mask does not hide."""
    found = visible_part(student.call("alibi_bias", *sizes), *sizes)
    ours = visible_part(reference.call("alibi_bias", *sizes), *sizes)
    agrees(found, ours, "The part of the bias that a causal mask does not hide")


def bias_of(student, *sizes):
    """Return the bias."""
    return real(student.call("alibi_bias", *sizes), sizes, "The bias")


# alibi_bias


@check("alibi_bias", points=0.05, layer="shapes")
def test_bias_has_an_entry_for_each_score(student):
    """For 2 heads, 3 queries and 5 keys, the bias has the shape (2, 3, 5)."""
    tensor_like(student.call("alibi_bias", 2, 3, 5), (2, 3, 5), "alibi_bias(2, 3, 5)")


@check("alibi_bias", points=0.15, layer="documented")
def test_bias_is_the_documented_one(student, documented):
    """For one query and three keys, the biases of 8 and of 14 heads are as documented."""
    eight = tensor_like(student.call("alibi_bias", 8, 1, 3), (8, 1, 3), "alibi_bias(8, 1, 3)")
    documented["kerashub.alibi.8"].matches(eight[:, 0], "The bias of 8 heads")
    many = tensor_like(student.call("alibi_bias", 14, 1, 3), (14, 1, 3), "alibi_bias(14, 1, 3)")
    documented["kerashub.alibi.14"].matches(many[8:, 0, :2], "The bias of heads 8 to 13 of 14")


@check("alibi_bias", points=0.1, layer="probe")
def test_bias_of_as_many_queries_as_keys(student, reference, probe):
    """The bias is right for as many queries as keys."""
    for heads, tokens_ in ((4, 5 + probe.number % 3), (3, 8 + probe.number % 5), (2, 1)):
        same_bias(student, reference, heads, tokens_, tokens_)


@check("alibi_bias", points=0.1, layer="probe")
def test_bias_of_the_last_queries(student, reference, probe):
    """The bias is right for fewer queries than keys, and for one query."""
    for sizes in ((3, 2, 7 + probe.number % 5), (6, 1, 4 + probe.number % 3), (1, 3, 8)):
        same_bias(student, reference, *sizes)


@check("alibi_bias", points=0.1, layer="laws")
def test_bias_of_its_own_key_is_zero(student, probe):
    """The bias of each query's own key is 0, and that of the key before it is not."""
    for num_queries in (3, 7):
        bias = bias_of(student, 2 + probe.number % 3, num_queries, 7)

        own_key = bias.diagonal(7 - num_queries, dim1=1, dim2=2)
        agrees(own_key, torch.zeros_like(own_key), "The bias of a query's own key")
        before = bias[:, -1, -2]
        expect((before.abs() > 0.0001).all(), "The bias of the key before is almost 0 or NaN.")


@check("alibi_bias", points=0.1, layer="laws")
def test_bias_falls_evenly_with_the_distance(student, probe):
    """Each key further back lowers the bias by the same step, which differs between heads."""
    bias = bias_of(student, 4 + probe.number % 3, 2, 7)[:, -1]
    steps = bias[:, 1:] - bias[:, :-1]

    agrees(steps, steps[:, :1].expand(-1, 6), "The steps from key to key")
    expect((steps > 0.001).all(), "The bias of a key further back is not lower, or hardly.")
    expect(differs(steps, steps.flip(0)), "Heads have almost the same bias.")


@check("alibi_bias", points=0.1, layer="laws")
def test_bias_of_the_last_queries_is_the_end_of_the_whole(student, probe):
    """The bias of the last queries is that of the last rows for all queries, which differ."""
    heads = 2 + probe.number % 3
    whole = bias_of(student, heads, 7, 7)[:, -3:]

    expect(differs(whole[:, -1, :5], whole[:, -3, :5]), "Two queries have almost the same bias.")
    visible = torch.ones(3, 7).tril(4) == 1
    found = bias_of(student, heads, 3, 7)[:, visible]
    agrees(found, whole[:, visible], "The bias of the last queries")


# RotaryAttention


@check(NAME, points=0.05, layer="signature")
def test_attention_is_built_by_the_names_of_its_arguments(student):
    """The constructor takes d_in, d_out, context_length, num_heads and base."""
    sizes = {"d_in": 3, "d_out": 8, "context_length": 6, "num_heads": 2}

    student.new(NAME, **sizes)
    student.new(NAME, **sizes, base=500.0)


@check(NAME, points=0.05, layer="signature")
def test_attention_has_a_usual_base(student, probe):
    """Without a base, it is 10000."""
    s, x = FOUR, tokens(probe, FOUR)
    weights = draw_weights(probe, s)
    usual = student.new(NAME, s.d_in, s.d_out, s.context, s.H).load(weights, may_lack=LACKS)

    given = context_of(own(student, s, weights), x, s)
    agrees(context_of(usual, x, s), given, "The context without a base")


@check(NAME, points=0.05, layer="shapes")
def test_attention_gives_each_token_a_vector_of_d_out(student, probe):
    """Inputs of shape (3, 5, 7) give context vectors of shape (3, 5, 24)."""
    context = student.new(NAME, 7, 24, 10, 4)(probe.normal(3, 5, 7))

    tensor_like(context, (3, 5, 24), "RotaryAttention(7, 24, 10, 4) of (3, 5, 7)")


@check(NAME, points=0.05, layer="parameters")
def test_attention_names_its_layers(student):
    """The layers have the names of the docstring."""
    found = student.new(NAME, 7, 24, 10, 4).parameters()

    for name in DRAWN:
        expect(name in found, f"torch lists no parameter {name}.", Status.MISSING)


@check(NAME, points=0.15, layer="parameters")
def test_attention_draws_its_layers_in_order(student, reference, probe):
    """With the caller's seed, the four layers are drawn in the order of the docstring."""
    for s in (FOUR, TWO):
        sizes = (s.d_in, s.d_out, s.context, s.H)
        found = student.new(NAME, *sizes, seed=probe.seed).named(*DRAWN)
        drawn = reference.new(NAME, *sizes, seed=probe.seed).parameters()

        for name in DRAWN:
            agrees(found[name].value, drawn[name].value, f"{name} right after construction")


@check(NAME, points=0.05, layer="parameters")
def test_attention_has_one_bias(student):
    """There are five parameters: four weights, and the bias of out_proj."""
    shapes = [*student.new(NAME, 7, 24, 10, 4).shapes().values()]

    expect(len(shapes) == 5, "There are not five parameters.")
    biases = sum(len(shape) == 1 for shape in shapes)
    expect(biases == 1, "Not exactly one of the parameters has a single axis, as a bias has.")


@check(NAME, points=0.05, layer="parameters", rules=("no_seeding",))
def test_attention_leaves_the_seed_to_the_caller(student, probe):
    """The constructor and a call set no seed."""
    x, drawn = tokens(probe, FOUR), []
    for seed in (5, 6):
        yours = student.new(NAME, FOUR.d_in, FOUR.d_out, FOUR.context, FOUR.H, seed=seed)
        built = student.draws_next()
        context_of(yours, x, FOUR)
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


@check(NAME, points=0.55, layer="probe")
def test_attention_is_right_with_any_weights(student, reference, probe):
    """The result is right for random weights, with 2, 3 and 4 heads."""
    for s in (FOUR, THREE, TWO):
        yours, ours = both(student, reference, probe, s)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context")


@check(NAME, points=0.25, layer="probe")
def test_attention_serves_every_length_in_turn(student, reference, probe):
    """One module handles long and short inputs, one after the other."""
    yours, ours = both(student, reference, probe, FOUR)
    x = tokens(probe, FOUR, FOUR.context)

    for T, B in ((FOUR.context, 3), (1, 2), (5, 1), (1, 1), (4, 2)):
        part = x[:B, :T].contiguous()
        agrees(yours(part), ours(part), "The context")


@check(NAME, points=0.3, layer="probe")
def test_attention_uses_its_base(student, reference, probe):
    """The result is right for several bases."""
    for s, base in ((TWO, 50.0), (THREE, 3.0)):
        yours, ours = both(student, reference, probe, s, base)
        x = tokens(probe, s)

        agrees(yours(x), ours(x), "The context with another base")


@check(NAME, points=0.2, layer="laws")
def test_attention_depends_on_distances_only(student, probe):
    """The result is the same at every offset, even beyond context_length; the base changes it."""
    weights, x = draw_weights(probe, TWO), tokens(probe, TWO)
    attention = own(student, TWO, weights, 100.0)
    context = context_of(attention, x, TWO)

    slower = context_of(own(student, TWO, weights, 3.0), x, TWO)
    expect(differs(slower, context), "Another base hardly changes the result.")
    for offset in (1, 7, TWO.context + 5, 40):
        moved = context_of(attention, x, TWO, offset=offset)
        agrees(moved, context, "The context at a different offset")


@check(NAME, points=0.1, layer="laws")
def test_attention_sees_the_order_of_earlier_tokens(student, probe):
    """Swapping two earlier tokens changes the last token's result, and not that of the first."""
    attention = own(student, THREE, draw_weights(probe, THREE))
    x = tokens(probe, THREE, scale=0.3)  # small, so that every token keeps a weight that shows
    before = context_of(attention, x, THREE)
    after = context_of(attention, x[:, [0, 3, 2, 1, 4, 5]].contiguous(), THREE)

    sentence = "Another order of earlier tokens hardly changes the last token's result."
    expect(differs(after[:, -1], before[:, -1]), sentence)
    agrees(after[:, 0], before[:, 0], "The first token's result after a change of later tokens")


@check(NAME, points=0.15, layer="laws")
def test_attention_never_looks_ahead(student, probe):
    """Other tokens at the end change their own results and no earlier result."""
    attention, x = own(student, TWO, draw_weights(probe, TWO)), tokens(probe, TWO)
    others = torch.cat((x[:, :5], tokens(probe, TWO, TWO.T - 5)), dim=1)
    before, after = (context_of(attention, one, TWO) for one in (x, others))

    changed = differs(after[:, 5:], before[:, 5:])
    expect(changed, "A change of the last tokens hardly changes their own results.")
    sentence = "After a change of the last tokens, the result of the first tokens"
    agrees(after[:, :5], before[:, :5], sentence)


@check(NAME, points=0.1, layer="laws")
def test_attention_keeps_the_items_of_a_batch_apart(student, probe):
    """Items have different results, and each has the same result alone and in a batch."""
    attention, x = own(student, FOUR, draw_weights(probe, FOUR)), tokens(probe, FOUR)
    together = context_of(attention, x, FOUR)

    expect(differs(together[0], together[1]), "Different items have almost the same result.")
    for item in range(FOUR.B):
        alone = context_of(attention, x[item : item + 1], FOUR)
        agrees(alone, together[item : item + 1], "The result of an item alone")


@check(NAME, points=0.1, layer="laws")
def test_attention_gives_a_first_token_its_own_value(student, probe):
    """Other queries and keys change the results of later tokens, but not that of the first one."""
    x, weights, offset = tokens(probe, THREE), draw_weights(probe, THREE), 3
    other = draw_weights(probe, THREE)
    changed = weights | {name: other[name] for name in ("W_query.weight", "W_key.weight")}
    first = context_of(own(student, THREE, weights), x, THREE)
    second = context_of(own(student, THREE, changed), x, THREE, offset=offset)

    expect(differs(second[:, -1], first[:, -1]), "Queries and keys have hardly any effect.")
    agrees(second[:, 0], first[:, 0], "The first token's result with other queries and keys")


@check(NAME, points=0.1, layer="laws")
def test_attention_of_equal_tokens_gives_equal_results(student, probe):
    """If all tokens of an item are equal, so are their results, which differ between items."""
    attention, x = own(student, FOUR, draw_weights(probe, FOUR)), tokens(probe, FOUR)
    context = context_of(attention, x[:, :1].repeat(1, FOUR.T, 1), FOUR)

    agrees(context, context[:, :1].expand_as(context), "The context of equal tokens")
    expect(differs(context[0], context[1]), "Different items have almost the same result.")


@check(NAME, points=0.1, layer="laws")
def test_attention_is_linear_in_its_values(student, probe):
    """Without the bias of out_proj, twice the weights of W_value double the result."""
    x, weights = tokens(probe, TWO), draw_weights(probe, TWO)
    weights["out_proj.bias"] = torch.zeros(TWO.d_out)
    doubled = weights | {"W_value.weight": 2 * weights["W_value.weight"]}
    context = context_of(own(student, TWO, weights), x, TWO)

    expect(differs(context, 2 * context), "Without a bias, the result is 0 or almost 0.")
    found = context_of(own(student, TWO, doubled), x, TWO)
    agrees(found, 2 * context, "The result with doubled weights of W_value")


@check(NAME, points=0.05, layer="laws", rules=("dtype",))
def test_attention_keeps_the_dtype(keeps_dtype, student, probe):
    """In float64 the result is float64, and in float32 it is float32."""
    attention, x = own(student, FOUR, draw_weights(probe, FOUR)), tokens(probe, FOUR)
    one, other = (context_of(attention, each, FOUR) for each in (x, 2 * x))

    expect(differs(one, other), "Doubled tokens hardly change the result.")
    keeps_dtype(attention, x)


@check(NAME, points=0.05, layer="laws", rules=("inputs_unchanged",))
def test_attention_leaves_its_input_alone(student, probe):
    """The input is unchanged."""
    attention, x = own(student, FOUR, draw_weights(probe, FOUR)), tokens(probe, FOUR)

    expect(attention.keeps_inputs(x), "The call changes its input.")
    one, other = (context_of(attention, each, FOUR) for each in (x, 2 * x))
    expect(differs(one, other), "Doubled tokens hardly change the result.")


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
def test_attention_refuses_more_tokens_than_fit(student, probe):
    """The module accepts context_length tokens at any offset; more tokens raise an error."""
    attention, x = own(student, FOUR, draw_weights(probe, FOUR)), tokens(probe, FOUR, FOUR.context)
    for offset in (0, FOUR.context):
        context_of(attention, x, FOUR, offset=offset)

    for T in (FOUR.context + 1, 2 * FOUR.context):
        refused = attention.refuses(tokens(probe, FOUR, T))
        expect(
            refused,
            "More tokens than context_length give a result; they should raise a ValueError.",
            Status.NOT_REFUSED,
        )


@check(NAME, points=0.15, layer="gradients", rules=("gradients",))
def test_attention_can_be_trained(student, reference, probe):
    """The gradients of the input and of the weights of all four layers are right."""
    yours, ours = both(student, reference, probe, THREE)
    x, back = tokens(probe, THREE), probe.normal(THREE.B, THREE.T, THREE.d_out)

    same_gradients(yours.gradients(x, cotangent=back), ours.gradients(x, cotangent=back))


@check(NAME, points=0.1, layer="forbidden", rules=("no_ready_attention",))
def test_attention_is_built_by_hand(student, probe):
    """Attention is computed step by step, not by torch's ready-made attention."""
    avoids(student, NAME, READY_ATTENTION, BY_HAND)
    ran = own(student, FOUR, draw_weights(probe, FOUR)).operators(tokens(probe, FOUR))
    avoids_running(ran, READY_ATTENTION, BY_HAND)


@check(NAME, points=0.05, layer="forbidden", rules=("no_loops",))
def test_attention_needs_no_loop_over_tokens(student, probe):
    """The number of tensor operations is the same for few tokens and for many."""
    attention = own(student, FOUR, draw_weights(probe, FOUR))
    few, many = (tokens(probe, FOUR, T, scale=0.3) for T in (4, FOUR.context - 1))

    keeps_operators(attention.operators(few), attention.operators(many), AT_ONCE)
