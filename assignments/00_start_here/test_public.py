"""The public suite of this stage: `autograder check` runs it as often as you like.

It makes the same checks as the suite that grades you, on different inputs.
The file records.bin holds the answers of the solution to these inputs.
"""

import torch

from autograder.suite.checks import check
from autograder.suite.compare import agrees

SIZE = 5  # numbers in a vector


# mix


@check("mix", points=5, layer="probe")
def test_mixes_half_and_half(student, probe):
    """Each number in the result is halfway between the numbers in a and b."""
    a, b = probe.normal(SIZE), probe.normal(SIZE)

    agrees(student.call("mix", a, b), torch.lerp(a, b, 0.5), "The mixture")


@check("mix", points=5, layer="laws")
def test_a_vector_with_itself_stays_as_it_is(student, probe):
    """A vector mixed with itself is that vector."""
    a = probe.normal(SIZE)

    agrees(student.call("mix", a, a), a, "The mixture of a vector with itself")
