"""Draws attention weights as heatmaps, with the tokens on both axes."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

FEW = 10  # tokens; up to this number each cell shows its value
INCH = 0.55  # of one cell, so that two digits behind the point fit
DARK = 0.6  # of the largest number: from here on, black can't be read on the colour
MARGIN = 1.6  # inches for tokens and title


def heatmaps(
    weights: Mapping[str, Any],
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    digits: int = 2,
) -> None:
    """Draw matrices side by side, each under its name.

    *weights* maps a title to a (Tq, Tk) tensor. Row i is the token that asks, the query; column
    j the token that it looks at, the key. *rows* and *columns* name them; *columns* are *rows*
    by default. All panels share one colour scale, so that they can be compared: blue is more, and
    where numbers are negative, red is less than 0. Entries of -inf, which softmax turns into 0,
    stay white. Raises ``ValueError`` where the tokens do not fit the shape.
    """
    import matplotlib.pyplot as plt  # noqa: PLC0415  # half a second, only where needed
    import torch  # noqa: PLC0415  # likewise

    keys = list(rows if columns is None else columns)
    tables = {title: torch.as_tensor(table).detach().float() for title, table in weights.items()}
    for title, table in tables.items():
        if tuple(table.shape) != (len(rows), len(keys)):
            wanted = f"({len(rows)}, {len(keys)}): one row per query, one column per key"
            msg = f"{title!r} has shape {tuple(table.shape)}, the tokens need {wanted}."
            raise ValueError(msg)
    finite = torch.cat([table[torch.isfinite(table)] for table in tables.values()])
    most = float(finite.abs().max()) if finite.numel() else 1.0
    colours, low = ("RdBu", -most) if (finite < 0).any() else ("Blues", 0.0)
    size = (len(tables) * (len(keys) * INCH + MARGIN), len(rows) * INCH + MARGIN)
    figure, axes = plt.subplots(1, len(tables), figsize=size, squeeze=False, layout="constrained")
    for axis, (title, table) in zip(axes[0], tables.items(), strict=True):
        cells = table.masked_fill(~torch.isfinite(table), torch.nan).numpy()
        axis.imshow(cells, colours, vmin=low, vmax=most)
        axis.set(title=title, xlabel="key: looked at", ylabel="query: asks")
        axis.set_xticks(range(len(keys)), keys, rotation=45, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(rows)), rows)
        if max(len(rows), len(keys)) <= FEW:
            _write_numbers(axis, table, DARK * most, digits)
    plt.show()
    plt.close(figure)


def _write_numbers(axis: Any, table: Any, dark_from: float, digits: int) -> None:
    """Write each entry into its cell, white where the cell is dark."""
    for row, entries in enumerate(table.tolist()):
        for column, entry in enumerate(entries):
            colour = "white" if dark_from < abs(entry) < inf else "black"
            axis.text(column, row, f"{entry:.{digits}f}", ha="center", va="center", color=colour)
