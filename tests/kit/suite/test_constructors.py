"""Tests the order of constructors' arguments: read from the solution, sent, and graded."""

from autograder.results import Status
from autograder.sandbox.protocol import Problem
from autograder.suite.constructors import ArgumentOrder, constructors_in

SOURCE = """
class Attention(nn.Module):
    def __init__(self, d_in: int, d_out: int, dropout: float = 0.0, *, bias: bool = False) -> None:
        super().__init__()

class Masked(Attention):
    def forward(self, x):
        return x

class Single(nn.Module):
    def __init__(self, d):
        super().__init__()

class Anything(nn.Module):
    def __init__(self, a, b, *rest):
        super().__init__()

class Helper:
    def __init__(self, a, b):
        self.a = a

def mix(a, b):
    return a
"""
EXERCISES = ("Attention", "Masked", "Single", "Anything", "mix", "absent")
ORDER = ArgumentOrder({"Attention": ("d_in", "d_out")}, "Attention")


def test_the_arguments_are_read_from_the_source():
    """Classes with several constructor arguments are found, including inherited arguments."""
    names = ("d_in", "d_out", "dropout")

    assert constructors_in(SOURCE, EXERCISES) == {"Attention": names, "Masked": names}


def test_only_requests_that_build_a_known_class_have_names():
    """A request carries the names if it builds a known class, by `new` or by `call`."""
    names = ("d_in", "d_out")

    assert ORDER.fields("new", "Attention") == {"arguments": names, "in_order": True}
    assert ORDER._replace(graded="").fields("call", "Attention") == {
        "arguments": names,
        "in_order": False,
    }
    assert not ORDER.fields("new", "nn.Linear")
    assert not ORDER.fields("has", "Attention")


def test_another_order_is_a_wrong_answer_with_both_orders():
    """The message shows the code's order and the right one; the public sentence only the latter."""
    error = ORDER.wrong_answer(Problem(kind="other-order", text="(d_out, d_in)"), "Attention")

    assert error is not None
    assert error.status is Status.WRONG_VALUE
    assert "takes (d_out, d_in); it must take its arguments in the order (d_in, d_out)." in (
        error.message
    )
    assert "(d_out, d_in)" not in error.public
    assert "costs points only here" in error.public


def test_other_problems_are_no_wrong_order():
    """Other problems, and classes without a known order, get no message about the order."""
    order = Problem(kind="other-order", text="(b, a)")

    assert ORDER.wrong_answer(Problem(kind="missing"), "Attention") is None
    assert ORDER.wrong_answer(order, "Helper") is None
