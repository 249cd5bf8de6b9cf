"""Tests the conditions on a student's source under which a sentence is said."""

import pytest

from autograder.diagnosis.conditions import broken_in, require_conditions
from autograder.diagnosis.student_code import StudentCode, WrittenCode

ATTEND = """
def attend(queries, keys, values, temperature):
    size = keys.shape[-1]
    scores = queries @ keys.transpose(0, 1) / size ** 0.5
    shifted = scores - scores.max(dim=-1).values
    weights = torch.exp(shifted)
    return (weights / weights.sum(-1, keepdim=True)) @ values
"""


def written(code: str, name: str = "attend") -> WrittenCode:
    """Return the facts about a definition in *code*."""
    return StudentCode((code.encode(),), [name]).written(name)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("divides", True),
        ("takes roots", True),
        ("takes exponentials", True),
        ("calls softmax", False),
        ("no calls softmax", True),
        ("calls softmax | calls exp", True),
        ("may call softmax", True),
        ("may call attend", False),
        ("divides by keys", True),
        ("divides by temperature", False),
        ("no reads temperature", True),
        ("reads values", True),
        ("swaps axes", True),
        ("swaps first and second", True),
        ("swaps first and third", False),
        ("computes size from keys", True),
        ("computes size from values", False),
        ("slices", False),
        ("loops", False),
        ("loses an axis", True),
        ("reads the axis last", True),
        ("reads the axis first", False),
        ("returns weights", False),
        ("returns a value", True),
        ("changes tensors in place", False),
        ("leaves a name unused", False),
        ("runs along another axis", True),
    ],
)
def test_a_condition_is_a_fact_about_the_source(condition: str, *, holds: bool):
    """Each condition is decided by the syntax tree alone."""
    assert (broken_in(written(ATTEND), [condition]) == "") is holds


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        ("for x in xs:\n        return x", "returns in a loop"),
        ("y = 2 * xs", "leaves a name unused"),
        ("for x in xs:\n        if x:\n            break", "leaves loops early"),
        ("y = [x for x in xs[:1]]", "leaves loops early"),
        ("for x in xs[1:]:\n        y = x", "skips iterations"),
        ("while x < len(xs) - 1:\n        x += 1", "skips iterations"),
        ("for x in xs:\n        if x:\n            y = x", "skips iterations"),
        ("return x, y", "returns several"),
        ("x += 1", "changes tensors in place"),
        ("x.masked_fill_(m, -math.inf)", "uses infinity"),
        ("softmax(softmax(x))", "takes a softmax twice"),
        ("self.a = 1\n    self.a = 2", "sets twice a"),
        ("torch.softmax(x)", "omits the axis of softmax"),
        ("f(x, dim=-1)", "passes dim"),
        ("self.register_buffer('mask', m)", "sets mask"),
        ("return x", "returns x"),
        ("return -1", "returns a value"),
        ("return x.transpose(-1, -2)", "swaps first and second"),
        ("return x.transpose(1, -1)", "swaps second and third"),
        ("return torch.transpose(x, 0, 2)", "swaps third and first"),
        ("return x.transpose(a, b)", "swaps first and third"),
        ("return x.T", "swaps first and third"),
        ("return keys.transpose(1, 2)", "swaps second and third of the keys"),
        ("return heads(x).transpose(1, 2)", "swaps second and third of the keys"),
        ("return x.sum() / len(x)", "may take a mean"),
        ("return x.amin()", "may take a minimum"),
        ("return attention_weights @ V", "multiplies the weights by the values"),
        ("return torch.bmm(w, x)", "multiplies `w` by `x`"),
        ("return torch.softmax(s).matmul(V)", "multiplies The weights by the values"),
        ("a, b = x, y", "computes a from x"),
        ("a, b = f(x)", "computes b from x"),
    ],
)
def test_a_form_of_code_is_recognized(body: str, condition: str):
    """Statements have the form that their condition names."""
    assert broken_in(written(f"def f(x):\n    {body}\n", "f"), [condition]) == ""
    assert broken_in(written("def f(x):\n    pass\n", "f"), [condition]) == condition


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        ("return None", "returns a value"),
        ("return", "returns a value"),
        ("return values @ weights", "multiplies the weights by the values"),
        ("return queries.transpose(1, 2)", "swaps second and third of the keys"),
        ("return x.amin()", "may take a mean"),
    ],
)
def test_a_similar_form_is_another_one(body: str, condition: str):
    """A `return` of nothing has no value, and a size that is passed twice is not passed once."""
    assert broken_in(written(f"def f(x):\n    {body}\n", "f"), [condition]) == condition


def test_helpers_count_and_other_exercises_do_not():
    """A fact may be in a helper of the exercise, but not in another exercise that it calls."""
    code = StudentCode(
        (b"def a(x): return h(x) + b(x)\ndef h(x): return x / 2\ndef b(x): return x ** 0.5\n",),
        ["a", "b"],
    )

    assert broken_in(code.written("a"), ["divides", "no takes roots"]) == ""


def test_nothing_is_said_about_a_missing_definition():
    """Without a definition, even a sentence without conditions is not admitted."""
    assert broken_in(written("x = 1"), [])


def test_unknown_words_are_refused():
    """A condition with unknown words is an error of the course."""
    require_conditions(["no divides by {name}", "loops | slices"])

    with pytest.raises(ValueError, match="unknown condition 'divdes'"):
        require_conditions(["loops | divdes"])


def test_the_values_of_two_names_are_told_apart():
    """If one statement sets two names, each is computed from its own value."""
    code = written("def f(x, y):\n    a, b = x, y\n    return a\n", "f")

    assert broken_in(code, ["computes a from x", "computes b from y"]) == ""
    assert broken_in(code, ["computes a from y"]) == "computes a from y"
