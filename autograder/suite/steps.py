"""Counts the steps that lead to an answer: the torch functions whose results it depends on.

An unused result does not count: a program that calculates attention weights and then returns its
argument takes no steps.
"""

from collections.abc import Callable, Iterable, Iterator

from torch import Tensor
from torch.overrides import TorchFunctionMode

MAX_STEPS = 5_000  # followed in one answer; a solution takes about twenty


class StepCounter(TorchFunctionMode):
    """Tracks, for each tensor in its block, the steps that lead to it."""

    def __init__(self) -> None:
        super().__init__()
        self._behind: dict[int, frozenset[int]] = {}  # the steps behind a tensor, by its id
        self._kept: list[Tensor] = []  # keeps the tensors alive, so that ids stay unique

    @property
    def count(self) -> int:
        """The number of tensors that were tracked."""
        return len(self._kept)

    def behind(self, *things: object) -> frozenset[int]:
        """Return the steps behind the tensors in *things*, which may be collections."""
        none = frozenset[int]()
        return none.union(*(self._behind.get(id(tensor), none) for tensor in _tensors(things)))

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        result = func(*args, **(kwargs or {}))
        changed = args[:1] if func is Tensor.__setitem__ else (result,)
        if len(self._kept) < MAX_STEPS and (found := list(_tensors(changed))):
            steps = self.behind(args, kwargs or {}) | {len(self._kept)}
            self._kept += found
            self._behind |= dict.fromkeys(map(id, found), steps)
        return result


def _tensors(thing: object) -> Iterator[Tensor]:
    """Yield the tensors in *thing*."""
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, dict):
        yield from _tensors(thing.values())
    elif isinstance(thing, Iterable) and not isinstance(thing, str | bytes):
        for part in thing:
            yield from _tensors(part)
