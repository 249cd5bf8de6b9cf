"""Tests the tables of tensors: shades, marks of wrong entries, and the names of axes."""

from autograder.reports.tensor_tables import tensor_tables
from autograder.results import Grid


def test_weights_are_shaded_on_the_scale_of_the_expected_ones(weights: Grid):
    """The largest expected weight has full shade, 0 none; a larger one has full shade, too."""
    expected, yours, difference = tensor_tables(weights)

    assert expected.shaded
    assert not difference.shaded
    assert expected.rows[5].cells[5].shade == 1.0
    assert expected.rows[0].cells[0].shade == 0.5
    assert yours.rows[1].cells[0].shade == 1.0


def test_wrong_entries_are_marked_in_yours_and_in_the_difference(weights: Grid):
    """The expected values are never marked as wrong."""
    wrong = [[cell.wrong for cell in table.rows[1].cells] for table in tensor_tables(weights)]

    assert wrong == [[False] * 6, [True] * 6, [True] * 6]


def test_axes_without_tokens_count_from_zero():
    """Axes without tokens are counted from zero, as in "rows 0, 2"."""
    pair = (("1.0", "2.0"), ("3.0", "4.0"))
    table = tensor_tables(Grid(pair, pair, pair, ((False, False), (False, True))))[0]

    assert table.columns == ("0", "1")
    assert [row.head for row in table.rows] == ["0", "1"]
    assert not table.shaded


def test_a_vector_has_no_row_to_name():
    """The only row of a vector has no heading."""
    row = (("0.1", "nan", "-inf"),)
    table = tensor_tables(Grid(row, row, row, ((False, True, True),), (), ("a", "b", "c")))[1]

    assert [line.head for line in table.rows] == [""]


def test_an_entry_that_is_not_a_number_has_no_shade():
    """NaN and infinities have no shade."""
    row = (("0.5", "nan", "-inf"),)
    table = tensor_tables(Grid(row, row, row, ((False, True, True),), ("a",), ("a", "b", "c")))[1]

    assert [cell.shade for cell in table.rows[0].cells] == [1.0, 0.0, 0.0]
