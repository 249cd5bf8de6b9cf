"""Tests the mistakes that a student's source alone shows."""

from collections.abc import Sequence

import pytest

from autograder.diagnosis.contract import contract_of
from autograder.diagnosis.source_signs import has_leftover, signs
from autograder.diagnosis.student_code import StudentCode

SOLUTION = """
import torch
from torch import nn


def mix(a, b, share=0.5):
    return a * share + b * (1 - share)


class Head(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, size)

    def forward(self, x):
        return self.layer(x)
"""
HEAD = """
class Head(nn.Module):
    def __init__(self, size):
        {init}

    def forward({args}):
        {body}
"""
FORM = {
    "init": "super().__init__(); self.layer = nn.Linear(size, size)",
    "args": "self, x",
    "body": "return self.layer(x)",
}


def found(
    exercise: str, code: str, start: str = "from torch import nn\n", texts: Sequence[str] = ()
) -> dict[str, str]:
    """Return the sentences of the signs in *code* that raised *texts*, by their names."""
    contract = contract_of(StudentCode((SOLUTION.encode(),), ()), exercise, [exercise])
    source = StudentCode((start.encode(), code.encode()), ["mix", "Head"])
    return {one.name: one.sentence for one in signs(source, exercise, contract, texts)}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"args": "x"}, "no_self"),
        ({"args": "self"}, "other_signature"),
        ({"init": "self.layer = nn.Linear(size, size)"}, "not_initialized"),
        ({"init": "super().__init__(); layer = nn.Linear(size, size)"}, "self_forgotten"),
        ({"body": "return layer(x)"}, "self_missing"),
        ({"body": "return self.layer(x) / size"}, "self_missing"),
        ({"body": "return nn.Linear(3, 3)(x)"}, "layer_in_forward"),
        ({"body": "self.layer(x); return x"}, "result_dropped"),
        ({"body": "x.masked_fill(x > 0, 1); return self.layer(x)"}, "result_dropped"),
        ({"body": "x.transpose(0, 1); return self.layer(x)"}, "result_dropped"),
        ({"body": "raise NotImplementedError; return self.layer(x)"}, "still_raises"),
    ],
)
def test_a_mistake_in_a_module_is_seen(change: dict[str, str], name: str):
    """The source of a module shows the mistake."""
    assert next(iter(found("Head", HEAD.format(**{**FORM, **change})))) == name


@pytest.mark.parametrize(
    ("code", "name", "part"),
    [
        ("def mix(a): return a", "other_signature", "takes one argument, and that of the stub"),
        ("def mix(self, a, b): return a", "self_in_function", "not a method"),
        ("def mix(a, b, share=0.4): return a", "other_default", "`share` is 0.4"),
        ("def mix(a, b, share=0.5): return a / a.sum(-1)", "axis_not_kept", "without keepdim=True"),
        (
            "def mix(a, b, share=0.5):\n    top = a.max(dim=1)\n    return a - top",
            "axis_not_kept",
            "Line 2 computes a `max`",
        ),
        (
            "def mix(a, b, share=0.5):\n    half = a * share\n    return a",
            "result_unused",
            "Line 2 computes `half`",
        ),
    ],
)
def test_a_function_is_described(code: str, name: str, part: str):
    """Other arguments or defaults than in the stub, and lost axes, are described."""
    said = found("mix", code)

    assert list(said) == [name]
    assert part in said[name]


@pytest.mark.parametrize(
    "code",
    [
        "def mix(x, y, share=1 / 2): return x\n",
        "def mix(a, b, share=0.5, *, more=1): return a",
        "def mix(*args): return args",
        "def mix(a, b, **options): return a",
        "def mix(a, b, share=0.50): return a.add_(b) / a.sum(-1, keepdim=True) - a.sum()",
        "def mix(a, b, share=0.5): return a / max(1, b - 1)",
        "def mix(a, b, share=0.5): return a / a.sum(dim=0)",
        "def mix(a, b, share=0.5): return (a * b).sum(dim=1) / b.sum(dim=1)",
        "def mix(a, b, share=0.5):\n    top = torch.max(a, b)\n    return a - top",
        "other = 1",
        "from torch import nn\nsize = 3",
    ],
)
def test_other_code_has_no_sign(code: str):
    """Code that takes the calls of the stub, in any form, shows no mistake."""
    assert found("mix", code).keys() <= {"other_default"}
    assert found("Head", HEAD.format(**FORM)) == {}


def test_a_function_inside_a_method_needs_no_self():
    """The module has no attribute for a function that a method defines, or for a lambda."""
    body = "layer = lambda t: t\n        def size(t): return layer(t)\n        return size(x)"

    assert found("Head", HEAD.format(**{**FORM, "body": body})) == {}


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("def mix(a, b, part=0.5): return a", "share", "part"),
        ("def mix(a, c, share=0.5): return a", "b", "c"),
    ],
)
def test_another_name_of_an_argument_is_a_sign_where_a_call_fails(code: str, old: str, new: str):
    """An argument may have any name, unless a check passes it by the name in the stub."""
    text = f"mix() got an unexpected keyword argument '{old}'"
    said = found("mix", code, texts=["mix() missing 1 argument", text])

    assert said["other_names"].startswith(f"The argument `{old}` of the stub is named `{new}`")
    assert found("mix", code, texts=["x has no size"]) == {}


def test_the_stub_below_the_code_is_seen():
    """If the stub still follows the code, both lines are named."""
    stub = 'def mix(a, b):\n    """Mix."""\n    raise NotImplementedError\n'
    said = found("mix", f"def mix(a, b, share=0.5):\n    return a + b\n\n\n{stub}")

    assert said["defined_twice"].startswith("`mix` is defined twice, in lines 1 and 5. ")
    assert "defined_twice" not in found("mix", f"{stub}{stub}")


def test_only_code_besides_the_raise_is_a_leftover():
    """A stub is not written yet, and code with the stub's raise is."""
    stub, begun = (
        StudentCode((f'def mix(a, b):\n    """Mix."""\n{body}'.encode(),), ["mix"])
        for body in (
            "    raise NotImplementedError\n",
            "    c = a\n    raise NotImplementedError()\n",
        )
    )

    assert not has_leftover(stub, "mix")
    assert has_leftover(begun, "mix")
    assert not has_leftover(stub, "other")


@pytest.mark.parametrize(
    ("code", "named"),
    [
        pytest.param("def mix(a, b, share=0.5) -> float:\n    c = a + b", True, id="no-line"),
        pytest.param("def mix(a, b, share=0.5) -> float:\n    return", True, id="without-a-value"),
        pytest.param(
            "def mix(a, b, share=0.5) -> float:\n    def c():\n        return a", True, id="inner"
        ),
        pytest.param("def mix(a, b, share=0.5) -> float:\n    return a", False, id="returns"),
        pytest.param("def mix(a, b, share=0.5) -> float:\n    yield a", False, id="yields"),
        pytest.param("def mix(a, b, share=0.5) -> None:\n    a.sort()", False, id="none"),
        pytest.param("def mix(a, b, share=0.5):\n    c = a + b", False, id="no-annotation"),
        pytest.param(
            "def mix(a, b, share=0.5) -> float:\n    raise NotImplementedError", False, id="stub"
        ),
    ],
)
def test_a_function_that_never_returns_its_result_is_named(code: str, named: bool):  # noqa: FBT001  # a parameter
    """The annotation of the stub promises a result, and no line of the function returns one."""
    assert ("no_return" in found("mix", code)) == named
