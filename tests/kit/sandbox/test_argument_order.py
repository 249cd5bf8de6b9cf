"""Tests passing constructor arguments by position, or by name for a different order."""

from collections.abc import Callable

import pytest

from autograder.sandbox.argument_order import (
    OtherOrderError,
    arranged,
    other_order,
    require_order,
)

NAMES = ("d_in", "d_out", "dropout")


def swapped(d_in: int, dropout: float = 0.0, d_out: int = 1) -> None:
    """A class with the arguments in a different order."""


def only_by_name(d_in: int, *, d_out: int, dropout: float) -> None:
    """All arguments, of which two can't be given by position."""


def one_more(d_in: int, verbose: bool, d_out: int, dropout: float) -> None:  # noqa: FBT001  # students write such signatures
    """One more argument between them."""


def right(d_in: int, d_out: int, dropout: float, verbose: bool = False) -> None:  # noqa: FBT001, FBT002  # students write such signatures
    """The arguments in their order, and one more at the end."""


def other_names(size: int, d_out: int, dropout: float) -> None:
    """One argument with a different name."""


def any_number(*args: int) -> None:
    """Any number of arguments."""


def one_by_position(d_out: int, dropout: float, d_in: int, /) -> None:
    """Arguments that can't be given by name."""


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        pytest.param(swapped, "(d_in, dropout, d_out)", id="swapped"),
        pytest.param(only_by_name, "(d_in, *, d_out, dropout)", id="only-by-name"),
        pytest.param(one_more, "(d_in, verbose, d_out, dropout)", id="one-more"),
    ],
)
def test_code_with_another_order_gets_its_arguments_by_name(code: Callable[..., None], shown: str):
    """If all names are there in a different order, each value goes to the argument of its name."""
    assert other_order(code, NAMES) == shown
    assert arranged(code, NAMES, (3, 2, 0.5)) == ((), {"d_in": 3, "d_out": 2, "dropout": 0.5})
    with pytest.raises(OtherOrderError, match="d_in"):
        require_order(code, NAMES)


@pytest.mark.parametrize("code", [right, other_names, any_number, one_by_position, 3])
def test_other_code_gets_its_arguments_by_position(code: Callable[..., None]):
    """Values stay positional for the right order, other names, and code without a signature."""
    require_order(code, NAMES)

    assert arranged(code, NAMES, (3, 2, 0.5)) == ((3, 2, 0.5), {})


def test_surplus_arguments_stay_where_they_are():
    """A call with more values than names is positional, and fails as any such call does."""
    assert arranged(swapped, NAMES, (1, 2, 3, 4)) == ((1, 2, 3, 4), {})
