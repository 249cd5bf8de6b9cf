"""Start here: write one line of code to see how this course works.

Shapes in this stage: a and b are (d,), the mixture is (d,).

Rules for this stage, which are graded like the results:

- Properties count only if the results are right for other inputs too.
"""

from torch import Tensor


def mix(a: Tensor, b: Tensor) -> Tensor:
    """Mix half of a with half of b: (d,), (d,) -> (d,)."""
    raise NotImplementedError
