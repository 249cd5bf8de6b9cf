"""Reads the parameters of a student's module under the names of the course, and sets their values.

A parameter may have a different name than in the course. Then it is matched by its place and shape,
so that only the checks of names fail.
"""

from collections.abc import Collection, Mapping, MutableMapping, Sequence

import torch
from torch import Tensor, nn


class MissingError(Exception):
    """Raised when the student's module lacks a name, a parameter or a mode."""


def parameters(module: nn.Module, names: Mapping[str, str]) -> dict[str, nn.Parameter]:
    """Return the parameters of *module*; *names* maps their names to those of the course."""
    return {names.get(own, own): one for own, one in module.named_parameters()}


def match(
    module: nn.Module, wanted: Sequence[str], values: Sequence[object] = ()
) -> dict[str, str]:
    """Map names of *module* to *wanted* ones by order, if number and shapes are the same."""
    own = {name: one for name, one in module.named_parameters() if name not in wanted}
    known = {name for name, _ in [*module.named_parameters(), *module.named_buffers()]}
    rest = [index for index, name in enumerate(wanted) if name not in known]
    if len(own) != len(rest):
        return {}
    pairs = zip(own.values(), rest, strict=True) if values else ()
    if any(one.shape != require_tensor(values[index]).shape for one, index in pairs):
        return {}
    return dict(zip(own, (wanted[index] for index in rest), strict=True))


def load(
    module: nn.Module,
    values: Mapping[str, object],
    may_lack: Collection[str],
    names: MutableMapping[str, str],
) -> None:
    """Copy *values* only into the parameters with these names, and add to *names* what matches.

    If a layer lacks a parameter in *may_lack*, such as a bias, the parameter is added. Other checks
    grade the missing parameters.
    """
    if not names:
        names.update(match(module, [*values], [*values.values()]))
    known = parameters(module, names)
    for name, value in values.items():
        wanted = require_tensor(value)
        parameter = known.get(name)
        if parameter is None and name in may_lack:
            parameter = _added(module, name, wanted)
        if parameter is None:
            found = ", ".join(own for own, _ in module.named_parameters())
            raise MissingError(f"torch lists no parameter {name}; found: {found or 'none'}")
        if parameter.shape != wanted.shape:
            msg = f"{name} has shape {tuple(parameter.shape)}, not {tuple(wanted.shape)}"
            raise MissingError(msg)
        with torch.no_grad():
            parameter.copy_(wanted)


def replace(module: nn.Module, values: Mapping[str, object]) -> None:
    """Replace parameters of any shape with *values*; ``None`` removes a parameter."""
    for name, value in values.items():
        owner_name, _, own_name = name.rpartition(".")
        owner = dict(module.named_modules()).get(owner_name)
        if owner is None:
            raise MissingError(f"There is no module {owner_name}")
        parameter = None if value is None else nn.Parameter(require_tensor(value))
        owner.register_parameter(own_name, parameter)


def require_tensor(value: object) -> Tensor:
    """Return *value* if it is a tensor, else raise ``TypeError``."""
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a tensor, not {type(value).__name__}")
    return value


def _added(module: nn.Module, name: str, value: Tensor) -> nn.Parameter | None:
    layer_name, _, own_name = name.rpartition(".")
    layer = dict(module.named_modules()).get(layer_name)
    if getattr(layer, own_name, value) is not None:
        return None
    added = nn.Parameter(value.clone())
    setattr(layer, own_name, added)
    return added
