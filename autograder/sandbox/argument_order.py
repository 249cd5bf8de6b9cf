"""Passes the arguments of a constructor by name, if the code has them in a different order."""

import inspect
from collections.abc import Callable, Mapping, Sequence

BY_NAME = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
BY_POSITION = frozenset(
    {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}
)


class OtherOrderError(Exception):
    """Raised when the code has its arguments in a different order; the text lists them."""


def arranged(
    definition: Callable[..., object], names: Sequence[str], args: Sequence[object]
) -> tuple[Sequence[object], Mapping[str, object]]:
    """Return *args*, the values of *names*, as positional and named arguments of *definition*."""
    if len(args) <= len(names) and other_order(definition, names):
        return (), dict(zip(names, args, strict=False))
    return args, {}


def require_order(definition: Callable[..., object], names: Sequence[str]) -> None:
    """Raise ``OtherOrderError`` if *definition* has the arguments *names* in a different order."""
    if found := other_order(definition, names):
        raise OtherOrderError(found)


def other_order(definition: Callable[..., object], names: Sequence[str]) -> str:
    """Return the arguments of *definition* if all *names* are among them, in a different order.

    In all other cases, even if the signature can't be read, return "".
    """
    try:
        signature = inspect.signature(definition)
    except (TypeError, ValueError):
        return ""
    parameters = [*signature.parameters.values()]
    by_name = {one.name for one in parameters if one.kind in BY_NAME}
    in_place = [one.name for one in parameters if one.kind in BY_POSITION][: len(names)]
    if in_place == [*names] or not by_name.issuperset(names):
        return ""
    empty = inspect.Parameter.empty
    bare = [one.replace(default=empty, annotation=empty) for one in parameters]
    return str(signature.replace(parameters=bare, return_annotation=empty))
