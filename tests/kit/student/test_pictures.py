"""Tests heatmaps side by side, curves, and diagrams of shapes."""

import base64
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
import torch
from matplotlib import colors
from torch import Tensor

from autograder.student.pictures import Diagram, Drawing, Panels, curves, heatmaps, shapes

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ("Your", "journey", "starts")
WEIGHTS = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
INF = float("inf")

Draw = Callable[..., Any]


class Drawn(NamedTuple):
    """The picture of a cell, and the axes of all its panels, without their bars."""

    panels: Panels
    axes: list[Any]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The objects that were displayed."""
    displayed: list[Any] = []
    monkeypatch.setattr("IPython.display.display", displayed.append)
    return displayed


@pytest.fixture
def draw(shown: list[Any]) -> Draw:
    """Draw heatmaps and return what was shown."""

    def heatmaps_of(*arguments: Any, **options: Any) -> Drawn:
        heatmaps(*arguments, **options)
        (panels,) = shown
        assert "<img " in panels._repr_html_()  # the kit's fonts, labels and layout work
        return Drawn(panels, [figure.axes[0] for figure in panels.figures])

    return heatmaps_of


def labels(ticks: list[Any]) -> list[str]:
    """The words on an axis, in order."""
    return [tick.get_text() for tick in ticks]


def numbers(axis: Any) -> list[str]:
    """The text of the cells, row by row."""
    return [text.get_text() for text in axis.texts]


def colours(axis: Any) -> list[str]:
    """The colors of these numbers."""
    return [text.get_color() for text in axis.texts]


def image(axis: Any) -> Any:
    """The cells of a panel."""
    (cells,) = axis.images
    return cells


def test_words_stand_on_both_axes(draw: Draw):
    """Words are on both axes: queries label the rows, and keys label the columns."""
    (axis,) = draw({"weights": WEIGHTS}, WORDS).axes

    assert labels(axis.get_xticklabels()) == list(WORDS)
    assert labels(axis.get_yticklabels()) == list(WORDS)
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("key (attended to)", "query (attends)")
    assert axis.get_title() == "weights"


def test_the_axes_say_what_is_not_attention(draw: Draw):
    """A lab names the axes of a heatmap whose rows and columns are not queries and keys."""
    (axis,) = draw({"likely": WEIGHTS}, WORDS, labels=("letter", "next letter")).axes

    assert (axis.get_xlabel(), axis.get_ylabel()) == ("next letter", "letter")


def test_keys_may_be_other_words_than_queries(draw: Draw):
    """The words of the keys may differ from those of the queries, as in cross-attention."""
    (axis,) = draw({"weights": torch.rand(2, 3)}, ["I", "go"], WORDS).axes

    assert labels(axis.get_yticklabels()) == ["I", "go"]
    assert labels(axis.get_xticklabels()) == list(WORDS)


def test_row_i_is_the_query_and_column_j_the_key(draw: Draw):
    """The first row of a heatmap is on top, and each number is in its own cell."""
    (axis,) = draw({"weights": WEIGHTS}, WORDS).axes
    places = {text.get_position(): text.get_text() for text in axis.texts}

    assert places[2, 0] == "0.25"
    assert places[2, 1] == "0.70"
    assert axis.get_ylim() == (2.5, -0.5)
    assert image(axis).get_array().tolist() == WEIGHTS.tolist()


def test_panels_share_one_colour_scale(draw: Draw):
    """All panels of a picture have the same color scale, so heads can be compared."""
    left, right = draw({"a": WEIGHTS / 2, "b": WEIGHTS}, WORDS).axes

    assert image(left).get_clim() == image(right).get_clim() == (0.0, 1.0)
    assert [axis.get_title() for axis in (left, right)] == ["a", "b"]


def test_scores_below_zero_are_on_the_scale(draw: Draw):
    """The scale reaches as far below 0 as above it; for weights it begins at 0."""
    scores = torch.tensor([[-2.0, 1.0], [0.5, 3.0]])
    (axis,) = draw({"scores": scores}, WORDS[:2]).axes

    assert image(axis).get_clim() == (-3.0, 3.0)


def test_numbers_can_be_read_on_dark_cells(draw: Draw):
    """Numbers are white on dark cells and black on light ones."""
    (axis,) = draw({"weights": torch.tensor([[0.0, 1.0]])}, ["a"], ["b", "c"]).axes

    assert colours(axis) == ["black", "white"]
    assert numbers(axis) == ["0.00", "1.00"]


def test_digits_can_be_chosen(draw: Draw):
    """The number of digits can be chosen, such as none for counts."""
    (axis,) = draw({"counts": torch.tensor([[3, 14]])}, ["a"], ["b", "c"], digits=0).axes

    assert numbers(axis) == ["3", "14"]


@pytest.mark.parametrize("entry", [-INF, INF, float("nan")], ids=str)
def test_what_is_not_finite_stays_white(draw: Draw, entry: float):
    """A value that is not finite is readable text, and does not change the scale."""
    (axis,) = draw({"masked": torch.tensor([[entry, 0.5]])}, ["a"], ["b", "c"]).axes

    assert numbers(axis) == [str(entry), "0.50"]
    assert colours(axis)[0] == "black"
    assert image(axis).get_array().mask.tolist() == [[True, False]]
    assert image(axis).get_cmap().get_bad()[3] == 0.0  # transparent, like the page behind it
    assert image(axis).get_clim() == (0.0, 1.0)


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
    """A table of numbers from a lab or a student is drawn without preparation."""
    (axis,) = draw({"table": table}, WORDS[:2]).axes

    assert len(numbers(axis)) == 4
    assert set(colours(axis)) <= {"black", "white"}


def test_rows_of_many_tokens_name_their_largest_weights(draw: Draw):
    """A picture of many tokens has no numbers in its cells; the three largest are in the labels."""
    words = [f"w{number}" for number in range(13)]
    weights = torch.zeros(13, 13)
    weights[:, 2], weights[:, 7], weights[:, 11] = 0.2, 0.5, 0.3
    (axis,) = draw({"weights": weights}, words).axes

    assert numbers(axis) == []
    assert labels(axis.get_xticklabels()) == words
    assert labels(axis.get_yticklabels())[12] == "w12: w7 0.50, w11 0.30, w2 0.20"


def test_an_entry_as_large_as_others_is_not_among_the_largest(draw: Draw):
    """If all weights but one are equal, the largest is named alone, and otherwise none is."""
    words = [f"w{number}" for number in range(13)]
    weights = torch.full((13, 13), 1 / 13)
    weights[4], weights[4, 9] = 0.04, 0.52
    (axis,) = draw({"weights": weights}, words).axes

    assert labels(axis.get_yticklabels())[3:5] == ["w3", "w4: w9 0.52"]


def test_twelve_tokens_have_numbers(draw: Draw):
    """Numbers still fit into the cells of twelve tokens."""
    words = [f"w{number}" for number in range(12)]
    (axis,) = draw({"weights": torch.rand(12, 12)}, words).axes

    assert len(numbers(axis)) == 144
    assert labels(axis.get_yticklabels()) == words


def test_small_weights_are_pale(draw: Draw):
    """Weights are drawn from 0 to 1 even if the largest is small, and a bar says so."""
    drawn = draw({"weights": torch.full((6, 6), 1 / 6)}, ["a", "b", "c", "d", "e", "f"])
    (axis,) = drawn.axes

    assert image(axis).get_clim() == (0.0, 1.0)
    assert [len(figure.axes) for figure in drawn.panels.figures] == [2]


@pytest.mark.parametrize(
    ("numbers", "limits"), [([[1.0, 3.0]], (0.0, 3.0)), ([[-3.0, 1.0]], (-3.0, 3.0))], ids=str
)
def test_only_numbers_below_zero_have_a_symmetric_scale(
    draw: Draw, numbers: list[list[float]], limits: tuple[float, float]
):
    """Weights after dropout and counts have no half of a scale that they can't reach."""
    (axis,) = draw({"numbers": numbers}, ["a"], ["b", "c"]).axes

    assert image(axis).get_clim() == limits


def test_negative_numbers_of_a_large_picture_have_a_minus(draw: Draw):
    """Without colours, a dark red cell looks like a dark blue one."""
    words = [f"w{number}" for number in range(13)]
    (axis,) = draw({"keys": torch.eye(13) * -2 + torch.eye(13).roll(1, 0)}, words).axes

    assert numbers(axis).count("\N{MINUS SIGN}") == 13
    assert set(numbers(axis)) == {"", "\N{MINUS SIGN}"}


@pytest.mark.parametrize(
    ("title", "rows", "columns"),
    [
        ("the next character", list("The cra"), ["space", *"abcehnorswy"]),
        ("restored", ["layers.0.heads", "layers.1.heads"], ["position 0", "position 1"]),
        ("weights", WORDS[:1], ["destination"] * 9),
        ("layer 1, head 1", list("abcdefghijkl"), list("abcdefghijkl")),
        ("bytes", ["0 merges", "256 merges"], list("One_evening_Pip_went_out.")),
        ("a title that is longer than its panel, and has three lines", list("ab"), list("abc")),
    ],
    ids=lambda value: value if isinstance(value, str) else len(value),
)
def test_no_text_of_a_picture_is_cut_off(
    draw: Draw, title: str, rows: list[str], columns: list[str]
):
    """The title and all labels are inside the picture, with no empty space above them."""
    (figure,) = draw({title: torch.rand(len(rows), len(columns))}, rows, columns).panels.figures
    box = figure.get_tightbbox()
    empty = figure.get_figheight() - box.y1

    assert min(box.x0, box.y0) >= 0
    assert box.x1 <= figure.get_figwidth()
    assert 0 <= empty < 0.3  # inches


@pytest.mark.parametrize(
    ("table", "hatched"),
    [
        pytest.param([[1.0, -INF], [2.0, 0.0]], [(0, 1)], id="scores"),
        pytest.param([[1.0, 0.0], [0.4, 0.6]], [(0, 1)], id="weights"),
        pytest.param([[0.5, 0.0], [0.4, 0.6]], [], id="values"),
        pytest.param([[1.0, 0.0], [1e-40, 1.0]], [], id="underflow"),
    ],
)
def test_masked_entries_are_hatched(
    draw: Draw, table: list[list[float]], hatched: list[tuple[int, int]]
):
    """A zero that softmax gives to a masked entry differs from a zero of other numbers."""
    (axis,) = draw({"table": table}, WORDS[:2]).axes
    places = [(round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)) for patch in axis.patches]

    assert places == hatched
    assert all(patch.get_hatch() for patch in axis.patches)


def test_curves_differ_without_colour():
    """Each curve has its own marker, and its name with this marker at its end."""
    figure = curves("both", {"GPT": ([1, 2], [3.0, 1.0]), "table": ([1, 2], [3.0, 2.0])})
    (axis,) = figure.axes

    assert len({line.get_marker() for line in axis.lines}) == 2
    assert [text.get_text() for text in axis.texts] == ["● GPT", "■ table"]
    assert figure.legends == []


def test_a_curve_below_another_is_still_seen():
    """The markers of the first curve are larger than those that cover them."""
    same = [1, 2], [3.0, 1.0]
    first, second = curves("both", {"theory": same, "measured": same}).axes[0].lines

    assert first.get_markersize() > second.get_markersize()


def test_held_out_curves_are_dashed():
    """The curve of held-out text has the colour of its model, and a legend names both styles."""
    figure = curves("both", {"GPT": ([1, 2], [3.0, 1.0], [3.0, 2.0]), "old": ([1], None, [2.0])})
    (axis,) = figure.axes
    train, held, alone = axis.lines[:3]

    assert [train.get_linestyle(), held.get_linestyle(), alone.get_linestyle()] == ["-", "--", "--"]
    assert train.get_color() == held.get_color() != alone.get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "training text",
        "held-out text",
    ]


def test_names_stand_at_the_ends_of_curves_on_a_logarithmic_axis():
    """Between 0.0001 and 1, a curve that ends at 0.01 has its name at half the height."""
    lines = {"low": ([1, 2], [1.0, 0.0001]), "middle": ([1, 2], [1.0, 0.01])}
    axis = curves("losses", lines, log_y=True).axes[0]
    places = {text.get_text(): text.get_position()[1] for text in axis.texts}

    assert axis.get_yscale() == "log"
    assert places["■ middle"] == pytest.approx(0.5, abs=0.01)
    assert places["● low"] < 0.1


def test_whole_numbers_have_whole_ticks_and_weights_the_scale_that_was_asked_for():
    """There is no layer 1.5, and a name is at the height of its curve on the given scale."""
    axis = curves("shares", {"a": (range(1, 5), [0.2, 0.3, 0.4, 0.5])}, limits=(0, 1)).axes[0]
    (name,) = axis.texts

    assert axis.get_ylim() == (0, 1)
    assert all(tick == int(tick) for tick in axis.get_xticks())
    assert name.get_position()[1] == pytest.approx(0.5)


def test_names_at_the_ends_do_not_cover_each_other():
    """Curves that end at the same height have their names below each other."""
    lines = {name: ([1, 2], [3.0, 1.0]) for name in ("a", "b", "c")}
    (axis,) = curves("same end", lines, levels={"level": 1.0}).axes
    heights = sorted(text.get_position()[1] for text in axis.texts)

    assert len(heights) == 4
    assert min(after - before for before, after in pairwise(heights)) > 0.05


@pytest.mark.parametrize(
    "shape", [(2, 3), (3, 2), (1, 3, 3), (3,), ()], ids=lambda shape: str(tuple(shape))
)
def test_a_shape_that_the_tokens_do_not_fit_is_refused(shown: list[Any], shape: tuple[int, ...]):
    """If a shape does not fit the tokens, the message names the panel and both shapes."""
    with pytest.raises(ValueError, match="one row per query, one column per key") as caught:
        heatmaps({"weights": torch.rand(shape)}, WORDS)

    assert str(caught.value).startswith(f"'weights' has shape {shape}; the tokens need (3, 3)")
    assert shown == []


def test_panels_go_below_each_other_on_a_narrow_page(draw: Draw):
    """Each panel is a separate image, which fits a screen of 400 pixels and has a description."""
    page = draw({"a < b": WEIGHTS, "b": WEIGHTS}, WORDS).panels._repr_html_()
    widths = [int(width) for width in re.findall(r'width="(\d+)"', page)]

    assert page.startswith('<div style="display:flex;flex-wrap:wrap')
    assert len(widths) == 2
    assert max(widths) < 400
    assert 'alt="a &lt; b"' in page


def test_panels_have_a_text_for_viewers_without_pictures(draw: Draw):
    """The text for viewers without pictures names the panels."""
    assert repr(draw({"a": WEIGHTS, "b": WEIGHTS}, WORDS).panels) == "Pictures: a, b"


def test_the_given_tensor_is_left_alone(draw: Draw):
    """A picture does not change its tensor."""
    weights = WEIGHTS.clone().requires_grad_()
    weights.data[0, 1] = -INF
    before = weights.detach().clone()
    draw({"weights": weights}, WORDS)

    assert torch.equal(weights, before)
    assert weights.grad is None


def test_cells_of_one_colour_map_grow_darker(draw: Draw):
    """In black and white, larger numbers are darker."""
    (axis,) = draw({"weights": WEIGHTS}, WORDS).axes
    shades = image(axis).get_cmap()([0.0, 0.25, 0.5, 0.75, 1.0])
    brightness = [value for *_, value in colors.rgb_to_hsv(shades[:, :3]).tolist()]

    assert brightness == sorted(brightness, reverse=True)


def svg(diagram: Diagram) -> ET.Element:
    """Return the picture of *diagram*."""
    encoded = diagram._repr_html_().partition("base64,")[2].partition('"')[0]
    return ET.fromstring(base64.b64decode(encoded))  # noqa: S314  # the file is from the kit


def test_shapes_stand_in_rows_with_steps_between():
    """The diagram is a picture that fits a narrow screen."""
    diagram = shapes({"q": "(T, d)", "k": "(T, d)"}, "dot products", {"scores": "(T, T)"})
    drawn = svg(diagram)

    assert [text.text for text in drawn.iter(f"{SVG}text")] == [
        *("q", "(T, d)", "k", "(T, d)"),
        "dot products",
        *("scores", "(T, T)"),
    ]
    assert len(list(drawn.iter(f"{SVG}path"))) == 1
    assert int(drawn.attrib["width"]) < 400


def test_a_diagram_is_wide_enough_for_its_longest_text():
    """A long step and long names widen the diagram, so that no text is cut off."""
    long = "forward: project, compare, softmax, mix, predict"
    stepped = svg(shapes({"x": "(T, d)"}, long, {"loss": "one number"}))
    named = svg(shapes({"grad_x": "(T, d)", "grad_W_query, grad_W_key, grad_W_value": "(d, d)"}))
    [_page, box, *_others] = named.iter(f"{SVG}rect")

    assert int(stepped.attrib["width"]) > 56 + 7 * len(long)
    assert float(box.attrib["width"]) > 7 * len("grad_W_query, grad_W_key, grad_W_value")


def test_a_diagram_is_an_image_with_its_text_next_to_it():
    """A diagram is an image with a text: Jupyter removes inline SVG."""
    page = shapes({"q": "(T, d)"})._repr_html_()

    assert page.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="q (T, d)"' in page


def test_shapes_can_be_read_as_text():
    """`shapes` has a text with one line for each row and each step."""
    diagram = shapes({"q": "(T, d)", "k": "(T, d)"}, "dot products", {"scores": "(T, T)"})

    assert repr(diagram) == "q (T, d)   k (T, d)\n  | dot products\nscores (T, T)"


def test_words_of_a_diagram_are_escaped():
    """Any character in the words of a diagram is escaped."""
    diagram = shapes({"<b>": "a & b"}, "<b>")

    assert "<b>" not in diagram._repr_html_()
    assert [text.text for text in svg(diagram).iter(f"{SVG}text")] == ["<b>", "a & b", "<b>"]


def test_a_drawing_is_an_image_with_its_title():
    """Viewers without pictures read the title; the width is that of the file."""
    svg = '<svg width="90" height="9"><title>A &amp; b</title></svg>'
    page = Drawing(svg)._repr_html_()

    assert repr(Drawing(svg)) == "A & b"
    assert 'alt="A &amp; b"' in page
    assert 'width="90"' in page
    assert base64.b64encode(svg.encode()).decode() in page
