"""Heatmaps: what their axes and their cells show."""

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import pytest
import torch
from matplotlib import colors
from matplotlib import pyplot as plt
from torch import Tensor

from autograder.student.plots import heatmaps

WORDS = ("Your", "journey", "starts")
WEIGHTS = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
INF = float("inf")

Draw = Callable[..., Any]


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Iterator[Draw]:
    """Draw heatmaps and return the figure that was shown."""
    before = mpl.get_backend()
    mpl.use("Agg")
    shown: list[Any] = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))

    def heatmaps_of(*arguments: Any, **options: Any) -> Any:
        heatmaps(*arguments, **options)
        (figure,) = shown
        figure.canvas.draw()  # no font, label or layout of ours is beyond it
        return figure

    yield heatmaps_of
    plt.close("all")
    mpl.use(before)


def labels(ticks: list[Any]) -> list[str]:
    """The words on an axis, in order."""
    return [tick.get_text() for tick in ticks]


def numbers(axis: Any) -> list[str]:
    """The text of the cells, row by row."""
    return [text.get_text() for text in axis.texts]


def colours(axis: Any) -> list[str]:
    """The colours of these numbers."""
    return [text.get_color() for text in axis.texts]


def image(axis: Any) -> Any:
    """The cells of a panel."""
    (cells,) = axis.images
    return cells


def test_words_stand_on_both_axes(draw: Draw):
    """The rows ask, the columns are looked at, under the title."""
    (axis,) = draw({"weights": WEIGHTS}, WORDS).axes

    assert labels(axis.get_xticklabels()) == list(WORDS)
    assert labels(axis.get_yticklabels()) == list(WORDS)
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("key: looked at", "query: asks")
    assert axis.get_title() == "weights"


def test_keys_may_be_other_words_than_queries(draw: Draw):
    """In cross-attention a translation looks at its original."""
    (axis,) = draw({"weights": torch.rand(2, 3)}, ["I", "go"], WORDS).axes

    assert labels(axis.get_yticklabels()) == ["I", "go"]
    assert labels(axis.get_xticklabels()) == list(WORDS)


def test_row_i_is_the_query_and_column_j_the_key(draw: Draw):
    """The first row is on top, and numbers are in their own cells."""
    (axis,) = draw({"weights": WEIGHTS}, WORDS).axes
    places = {text.get_position(): text.get_text() for text in axis.texts}

    assert places[2, 0] == "0.25"
    assert places[2, 1] == "0.70"
    assert axis.get_ylim() == (2.5, -0.5)
    assert image(axis).get_array().tolist() == WEIGHTS.tolist()


def test_panels_share_one_colour_scale(draw: Draw):
    """Two heads can be compared: the same colour is the same weight."""
    left, right = draw({"a": WEIGHTS / 2, "b": WEIGHTS}, WORDS).axes

    assert image(left).get_clim() == image(right).get_clim() == (0.0, 1.0)
    assert [axis.get_title() for axis in (left, right)] == ["a", "b"]


def test_scores_below_zero_are_on_the_scale(draw: Draw):
    """It reaches as far below 0 as above it; weights, never negative, begin at 0."""
    scores = torch.tensor([[-2.0, 1.0], [0.5, 3.0]])
    (axis,) = draw({"scores": scores}, WORDS[:2]).axes

    assert image(axis).get_clim() == (-3.0, 3.0)


def test_numbers_can_be_read_on_dark_cells(draw: Draw):
    """White on dark, black on light."""
    (axis,) = draw({"weights": torch.tensor([[0.0, 1.0]])}, ["a"], ["b", "c"]).axes

    assert colours(axis) == ["black", "white"]
    assert numbers(axis) == ["0.00", "1.00"]


def test_digits_can_be_chosen(draw: Draw):
    """Counts need none."""
    (axis,) = draw({"counts": torch.tensor([[3, 14]])}, ["a"], ["b", "c"], digits=0).axes

    assert numbers(axis) == ["3", "14"]


@pytest.mark.parametrize("entry", [-INF, INF, float("nan")], ids=str)
def test_what_is_not_finite_stays_white(draw: Draw, entry: float):
    """It is readable text, and does not change the scale."""
    (axis,) = draw({"masked": torch.tensor([[entry, 0.5]])}, ["a"], ["b", "c"]).axes

    assert numbers(axis) == [str(entry), "0.50"]
    assert colours(axis)[0] == "black"
    assert image(axis).get_array().mask.tolist() == [[True, False]]
    assert image(axis).get_cmap().get_bad()[3] == 0.0  # as the page behind it
    assert image(axis).get_clim() == (0.0, 0.5)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(torch.full((2, 2), -INF), id="all-masked"),
        pytest.param(torch.zeros(2, 2), id="all-zero"),
        pytest.param(-torch.ones(2, 2), id="all-alike-and-negative"),
        pytest.param(torch.eye(2, dtype=torch.bool), id="truths"),
        pytest.param(torch.eye(2, dtype=torch.float64, requires_grad=True), id="with-a-gradient"),
        pytest.param([[1, 0], [0, 1]], id="lists"),
    ],
)
def test_any_table_of_numbers_can_be_drawn(draw: Draw, table: Tensor):
    """What a lab or a student hands over needs no preparation."""
    (axis,) = draw({"table": table}, WORDS[:2]).axes

    assert len(numbers(axis)) == 4
    assert set(colours(axis)) <= {"black", "white"}


def test_many_tokens_have_colours_only(draw: Draw):
    """Numbers would not fit."""
    words = [f"w{number}" for number in range(11)]
    (axis,) = draw({"weights": torch.rand(11, 11)}, words).axes

    assert numbers(axis) == []
    assert labels(axis.get_xticklabels()) == words


@pytest.mark.parametrize(
    "shape", [(2, 3), (3, 2), (1, 3, 3), (3,), ()], ids=lambda shape: str(tuple(shape))
)
def test_a_shape_that_the_tokens_do_not_fit_is_refused(draw: Draw, shape: tuple[int, ...]):
    """The message names the panel and both shapes; nothing is drawn."""
    with pytest.raises(ValueError, match="one row per query, one column per key") as caught:
        draw({"weights": torch.rand(shape)}, WORDS)

    assert str(caught.value).startswith(f"'weights' has shape {shape}, the tokens need (3, 3)")
    assert plt.get_fignums() == []


def test_the_figure_is_closed(draw: Draw):
    """A lab draws many; Matplotlib warns beyond twenty that are open."""
    draw({"weights": WEIGHTS}, WORDS)

    assert plt.get_fignums() == []


def test_the_given_tensor_is_left_alone(draw: Draw):
    """Students go on to compute with it."""
    weights = WEIGHTS.clone().requires_grad_()
    weights.data[0, 1] = -INF
    before = weights.detach().clone()
    draw({"weights": weights}, WORDS)

    assert torch.equal(weights, before)
    assert weights.grad is None


def test_cells_of_one_colour_map_grow_darker(draw: Draw):
    """Also printed in black and white, more is darker."""
    (axis,) = draw({"weights": WEIGHTS}, WORDS).axes
    shades = image(axis).get_cmap()([0.0, 0.25, 0.5, 0.75, 1.0])
    brightness = [value for *_, value in colors.rgb_to_hsv(shades[:, :3]).tolist()]

    assert brightness == sorted(brightness, reverse=True)
