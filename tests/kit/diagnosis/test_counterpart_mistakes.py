"""Tests the kinds of mistake that put the counterpart of a part in its place."""

import pytest

from autograder.diagnosis.counterpart_mistakes import RULES
from autograder.diagnosis.mistakes.exercise_code import ExerciseCode
from autograder.diagnosis.mistakes.kinds import KINDS
from tests.kit.diagnosis.conftest import lines_by_key

FUNCTION = """
def joined(rows: Tensor, mask: Tensor, start: int, end: int, num_parts: int):
    front = [[start, *row] for row in rows]
    back = [[*row, end] for row in rows]
    visible = mask.unsqueeze(1)
    later_mask = rows > 3
    done = visible | (rows == end)
    if all(one > start for one in rows) and done.any():
        longest = max(len(row) for row in rows)
    last = rows[:, -1] - rows[:, 0]
    rest = rows[:, 1:] * front[:longest] + rows / last
    rows[:longest] = rest[-2:]
    parts = rows.unflatten(-1, (num_parts, -1))
    largest = rest[:-1].argmax(dim=-1)
    loss = -rows.mean()
    for row in rows:
        found = [end(start(row))]
    if not start:
        return found
    return torch.stack([parts, largest]), done
"""
CLASS = """
class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.self_att, self.cross_att = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x):
        x = self.norm1(x + self.self_att(x))
        return x + self.cross_att(self.norm2(x))

    def reads(self, x, memory):
        return self.cross_att(self.norm2(x), memory, x)

    def steps(self, x):
        before = self.norm1(x)
        x = x + self.self_att(before)
        x = x * self.cross_att(x)
        return x
"""


IN_FUNCTION = lines_by_key(RULES, FUNCTION, "joined")
IN_CLASS = lines_by_key(RULES, CLASS, "Block")


@pytest.mark.parametrize(
    ("key", "line"),
    [
        pytest.param("wrong_end.first", "last = rows[:, 0] - rows[:, 0]", id="first-for-last"),
        pytest.param("wrong_end.last", "last = rows[:, -1] - rows[:, -1]", id="last-for-first"),
        pytest.param(
            "wrong_end.part",
            "rest = rows[:, 1:] * front[slice(-longest, None)] + rows / last",
            id="the-end-for-the-beginning",
        ),
        pytest.param(
            "wrong_end.written", "rows[slice(-longest, None)] = rest[-2:]", id="written-at-the-end"
        ),
        pytest.param(
            "all_any.one",
            "if any((one > start for one in rows)) and done.any():",
            id="any-for-all",
        ),
        pytest.param(
            "all_any.all",
            "if all((one > start for one in rows)) and done.all():",
            id="all-for-any",
        ),
        pytest.param(
            "condition_inverted", "done = visible | (rows != end)", id="unequal-for-equal"
        ),
        pytest.param("mask_inverted.booleans", "later_mask = rows <= 3", id="an-inverted-mask"),
        pytest.param("shift_missing.front", "front = [[*row, end] for row in rows]", id="no-start"),
        pytest.param("shift_missing.end", "back = [[start, *row] for row in rows]", id="no-end"),
        pytest.param("shift_missing.left_out", "back = [[*row] for row in rows]", id="no-shift"),
        pytest.param(
            "operand_repeated.argument",
            "back = [[*row, start] for row in rows]",
            id="another-argument",
        ),
        pytest.param(
            "numbers_exchanged.named", "done = visible | (rows == start)", id="two-arguments"
        ),
        pytest.param(
            "wrong_operation.no_first_term",
            "rest = rows / last",
            id="without-the-first-term",
        ),
        pytest.param(
            "wrong_operation.no_first_factor",
            "rest = front[:longest] + rows / last",
            id="without-the-first-factor",
        ),
        pytest.param(
            "wrong_operation.reversed_difference",
            "last = rows[:, 0] - rows[:, -1]",
            id="the-opposite-difference",
        ),
        pytest.param("wrong_operation.no_difference", "last = rows[:, -1]", id="no-difference"),
        pytest.param(
            "wrong_operation.reversed_quotient",
            "rest = rows[:, 1:] * front[:longest] + last / rows",
            id="the-opposite-quotient",
        ),
        pytest.param(
            "wrong_operation.and_for_or", "done = visible & (rows == end)", id="and-for-or"
        ),
        pytest.param(
            "wrong_operation.or_for_and",
            "if all((one > start for one in rows)) or done.any():",
            id="or-for-and",
        ),
        pytest.param("wrong_operation.one_condition", "done = visible", id="one-condition"),
        pytest.param(
            "wrong_reduction.other",
            "longest = min((len(row) for row in rows))",
            id="the-smallest-for-the-largest",
        ),
        pytest.param(
            "wrong_reduction.other",
            "largest = rest[:-1].argmin(dim=-1)",
            id="the-place-of-the-smallest",
        ),
        pytest.param(
            "new_axis_missing", "return (torch.cat([parts, largest]), done)", id="no-new-axis"
        ),
        pytest.param(
            "wrong_return.sign", "return -(torch.stack([parts, largest]), done)", id="minus"
        ),
        pytest.param("wrong_operation.sign", "loss = rows.mean()", id="a-missing-sign"),
        pytest.param("wrong_end.first_round", "for row in list(rows)[:1]:", id="one-round"),
        pytest.param(
            "wrong_end.first_only", "longest = next((len(row) for row in rows))", id="the-first-row"
        ),
        pytest.param(
            "shift_missing.added", "back = [[start, *[*row, end]] for row in rows]", id="both"
        ),
        pytest.param(
            "sizes_exchanged.apart",
            "parts = rows.unflatten(-1, (-1, num_parts)).transpose(-2, -1)",
            id="entries-apart",
        ),
        pytest.param(
            "dtype.other",
            "return (torch.stack([parts, largest]), done.to(torch.float32))",
            id="the-dtype-of-a-result",
        ),
    ],
)
def test_a_rule_puts_the_counterpart_in_place(key: str, line: str):
    """Each rule changes the line that its sentence is about."""
    assert line in IN_FUNCTION[key]


@pytest.mark.parametrize(
    ("key", "line"),
    [
        pytest.param(
            "wrong_operation.no_first_term_named",
            "return self.cross_att(self.norm2(x))",
            id="without-the-shortcut",
        ),
        pytest.param(
            "operand_repeated.argument",
            "return x + self.cross_att(self.norm1(x))",
            id="an-earlier-norm",
        ),
        pytest.param(
            "operand_repeated.argument",
            "return x + self.self_att(self.norm2(x))",
            id="the-other-attention",
        ),
        pytest.param(
            "operand_repeated.argument",
            "return self.cross_att(self.norm2(x), self.norm2(x))",
            id="one-input-for-two",
        ),
    ],
)
def test_a_rule_puts_another_layer_in_place(key: str, line: str):
    """Layers with similar names are used for one another, and shortcuts are left out."""
    assert line in IN_CLASS[key]


def test_a_later_layer_does_not_stand_in_for_an_earlier_one():
    """Numbered layers are used again, as in a copied line; the reverse is rare."""
    assert "x = self.norm2(x + self.self_att(x))" not in IN_CLASS["operand_repeated.argument"]


def test_every_kind_of_the_group_has_a_rule_that_makes_it():
    """Each kind of the group is made by a rule."""
    kinds = {key.partition(".")[0] for key in (*IN_FUNCTION, *IN_CLASS)}

    assert kinds >= {name for name, kind in KINDS.items() if kind.group == "counterpart"}


@pytest.mark.parametrize(("solution", "name"), [(FUNCTION, "joined"), (CLASS, "Block")])
def test_every_wrong_program_compiles(solution: str, name: str):
    """Each part of a rule has its place in the source."""
    code = ExerciseCode(solution, name, [name])
    for scope in code.scopes:
        for rewrite in (one for rule in RULES for one in rule(scope)):
            code.compile([rewrite], "solution.py")
