"""Tests the executor: every verb on a loaded module, and the descriptions of problems."""

from collections.abc import Callable
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from autograder.sandbox.executor import VERBS, RequestExecutor
from autograder.sandbox.protocol import (
    MAX_NAMES,
    MAX_PROBLEMS,
    ObjectValue,
    OpaqueValue,
    Problem,
    Reply,
    Request,
    SourceValue,
    Verb,
)
from autograder.sandbox.tensors import Encoder, decode, encode_tensor

MIB = 1 << 20
SOURCE = """
import torch
from torch import nn

def double(x, times=2):
    return times * x

def in_place(x, y):
    y += 1
    return x

class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.factor = nn.Parameter(torch.rand(d))
        self.unused = nn.Parameter(torch.zeros(1))
        self.register_buffer("mask", torch.eye(2))

    def forward(self, x):
        return x * self.factor if self.training else x

class Swapped(nn.Module):
    def __init__(self, second, first):
        super().__init__()
        self.register_buffer("first", torch.tensor([first]))
"""

Ask = Callable[..., Reply]


def asking(*cells: str) -> Ask:
    """Run *cells* in an executor, and return what sends requests; several cells are a notebook."""
    executor = RequestExecutor("tiny", notebook=len(cells) > 1, max_bytes=MIB)
    encoder = Encoder(lambda _module: -1, MIB)

    def ask(verb: str, **fields: object) -> Reply:
        fields["args"] = tuple(map(encoder.encode, fields.get("args", ())))
        fields["kwargs"] = {k: encoder.encode(v) for k, v in fields.get("kwargs", {}).items()}
        return executor.answer(Request(verb=verb, **fields))

    ask.imported = value(ask("run", cells=tuple(cell.encode() for cell in cells)))
    return ask


def value(reply: Reply) -> object:
    """The value of *reply* as a Python object."""
    assert reply.problem is None, reply.problem
    return decode(reply.value, lambda handle: handle)


def problem_in(reply: Reply) -> Problem:
    """The problem that *reply* describes."""
    assert reply.problem is not None
    return reply.problem


@pytest.fixture
def ask() -> Ask:
    """Sends requests to an executor that has run SOURCE."""
    return asking(SOURCE)


@pytest.fixture
def scale(ask: Ask) -> int:
    """The handle of a Scale of two features, made with seed 1."""
    return value(ask("new", name="Scale", args=(2,), seed=1))


@pytest.fixture
def factor() -> Tensor:
    """The numbers that Scale draws with seed 1."""
    return torch.rand(2, generator=torch.Generator().manual_seed(1))


# The verbs


def test_the_table_has_exactly_the_verbs_of_the_protocol():
    """Each verb has a function, and each function has a verb."""
    assert set(VERBS) == set(get_args(Verb))


def test_read_lists_definitions_without_running_anything():
    """Names are read from the syntax tree, before the module has run."""
    executor = RequestExecutor("tiny", notebook=False, max_bytes=MIB)
    cell = b"raise SystemExit\ndef f(x): return x.softmax(-1)"
    source = executor.answer(Request(verb="read", cells=(cell,))).value

    assert isinstance(source, SourceValue)
    assert [definition.name for definition in source.definitions] == ["f"]
    assert [use.name for use in source.definitions[0].uses] == ["x.softmax"]


def test_a_source_with_a_number_that_is_too_long_to_print_runs():
    """The names of a source with a number of 5,000 digits are read, and it runs."""
    executor = RequestExecutor("tiny", notebook=False, max_bytes=MIB)
    cells = (b"x = 0x" + b"f" * 5000,)
    source = executor.answer(Request(verb="read", cells=cells)).value

    assert isinstance(source, SourceValue)
    assert [definition.name for definition in source.definitions] == ["x"]
    assert value(executor.answer(Request(verb="run", cells=cells))) == []


def test_has_is_true_of_what_can_be_called(ask: Ask):
    """`has` is true of a function and a class, and false of other names and values."""
    found = [value(ask("has", name=name)) for name in ("double", "Scale", "triple", "__file__")]

    assert found == [True, True, False, False]


def test_signature_lists_the_parameters(ask: Ask):
    """Each parameter has a name, a kind, and whether it is optional."""
    assert value(ask("signature", name="double")) == [
        {"name": "x", "kind": "POSITIONAL_OR_KEYWORD", "optional": False},
        {"name": "times", "kind": "POSITIONAL_OR_KEYWORD", "optional": True},
    ]


def test_call_passes_positional_and_named_arguments(ask: Ask):
    """`call` passes positional and named arguments as Python does."""
    result = value(ask("call", name="double", args=(torch.ones(2),), kwargs={"times": 3}))

    assert torch.equal(result, torch.tensor([3.0, 3.0]))


def test_a_seed_comes_before_the_call(ask: Ask, scale: int, factor: Tensor):
    """The generator is seeded first, so that drawn weights are the documented ones."""
    parameters = value(ask("parameters", handle=scale))

    assert torch.equal(parameters["factor"], factor)
    assert parameters["factor"].dtype == torch.float32


def test_new_refuses_what_is_not_a_module(ask: Ask):
    """`new` refuses a function."""
    problem = problem_in(ask("new", name="double", args=(1.0,)))

    assert (problem.kind, problem.text) == ("missing", "double is not a torch.nn.Module")


def test_new_builds_torchs_own_modules(ask: Ask):
    """A name that begins with "nn." is looked up in torch, not in the student's module."""
    handle = value(ask("new", name="nn.Linear", args=(3, 2)))

    assert value(ask("shapes", handle=handle)) == {"weight": [2, 3], "bias": [2]}


def test_forward_and_mode_use_the_module_of_the_handle(ask: Ask, scale: int, factor: Tensor):
    """The mode that `train` and `eval` set affects forward."""
    x = torch.ones(2)
    trained = value(ask("forward", handle=scale, args=(x,)))
    value(ask("mode", handle=scale, name="eval"))

    assert torch.equal(trained, factor)
    assert torch.equal(value(ask("forward", handle=scale, args=(x,))), x)


HOOKED = """
from torch import nn

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Identity(), nn.Identity()

    def leave_two_hooks(self):
        self.first.register_forward_hook(lambda part, given, made: None)
        self.second.register_forward_pre_hook(lambda part, given: None)

    def replace_a_forward(self):
        self.second.forward = lambda x: x

    def leave_a_hook_for_all(self):
        nn.modules.module.register_module_forward_hook(lambda part, given, made: None)

    def remove_its_hook(self):
        self.first.register_forward_hook(lambda part, given, made: None).remove()
"""


@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param("leave_two_hooks", 2, id="two-hooks-in-its-parts"),
        pytest.param("replace_a_forward", 1, id="a-replaced-forward"),
        pytest.param("leave_a_hook_for_all", 1, id="a-hook-of-all-modules"),
        pytest.param("remove_its_hook", 0, id="no-hook-that-was-removed"),
    ],
)
def test_hooks_of_a_module_are_counted(name: str, count: int):
    """The hooks that a call leaves in a module or in torch are counted."""
    ask = asking(HOOKED)
    pair = value(ask("new", name="Pair"))
    before = value(ask("hooks", handle=pair))

    value(ask("method", name=name, handle=pair))
    after = value(ask("hooks", handle=pair))
    nn.modules.module._global_forward_hooks.clear()

    assert (before, after) == (0, count)


def test_buffers_and_state_are_listed_by_name(ask: Ask, scale: int):
    """Buffers are not parameters; the state holds both."""
    assert list(value(ask("buffers", handle=scale))) == ["mask"]
    assert list(value(ask("state", handle=scale))) == ["factor", "unused", "mask"]


def test_shapes_are_listed_without_the_values(ask: Ask, scale: int):
    """The sizes of a model are listed even if it is too large to send."""
    assert value(ask("shapes", handle=scale)) == {"factor": [2], "unused": [1]}


def test_move_lists_device_and_dtype(ask: Ask, scale: int):
    """After a move to float64, parameters and buffers have that dtype."""
    places = value(ask("move", handle=scale, name="float64"))

    assert set(places) == {"factor", "unused", "mask"}
    assert set(places.values()) == {"cpu torch.float64"}


def test_replace_puts_a_parameter_of_another_shape_in_place(ask: Ask, scale: int):
    """``None`` removes a parameter, and a name without a parameter gets one."""
    values = {"factor": torch.tensor([[2.0, 3.0]]), "unused": None, "new": torch.ones(1)}
    value(ask("replace", handle=scale, kwargs=values))
    found = value(ask("parameters", handle=scale))

    assert found.keys() == {"factor", "new"}
    assert torch.equal(found["factor"].detach(), torch.tensor([[2.0, 3.0]]))
    assert problem_in(ask("replace", handle=scale, kwargs={"a.b": None})).kind == "missing"


def test_load_copies_values_into_parameters(ask: Ask, scale: int):
    """``forward`` uses the values that `load` has copied."""
    value(ask("load", handle=scale, kwargs={"factor": torch.tensor([2.0, 3.0])}))
    result = value(ask("forward", handle=scale, args=(torch.ones(2),)))

    assert torch.equal(result, torch.tensor([2.0, 3.0]))


def test_load_refuses_what_does_not_fit(ask: Ask, scale: int):
    """A value for a missing parameter is a problem of the module, not an exception of its code."""
    problem = problem_in(ask("load", handle=scale, kwargs={"weight": torch.ones(2)}))

    assert problem.kind == "missing"
    assert "no parameter weight" in problem.text


def test_gradients_reach_inputs_and_parameters(ask: Ask, scale: int, factor: Tensor):
    """A cotangent is sent back to inputs and weights; None means that no gradient arrives."""
    x, cotangent = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 10.0])
    found = value(ask("gradients", handle=scale, args=(cotangent, x)))["gradients"]

    assert torch.equal(found["input 0"], factor * cotangent)
    assert torch.equal(found["factor"], x * cotangent)
    assert found["unused"] is None


def test_operators_are_counted_by_name_and_size(ask: Ask):
    """Each operator is listed with the size of its largest input."""
    found = value(ask("operators", name="double", args=(torch.ones(4),)))

    assert found["operators"] == {"aten.mul.Tensor 4": 1}
    assert (found["products"], found["largest"]) == ({}, 4)


def test_draw_shows_the_state_of_the_generator(ask: Ask):
    """After a seed the next four numbers are known."""
    expected = torch.rand(4, generator=torch.Generator().manual_seed(5))

    assert torch.equal(value(ask("draw", seed=5)), expected)


def test_an_unknown_handle_is_missing(ask: Ask):
    """A handle from before a crash names no module."""
    assert problem_in(ask("forward", handle=5)).kind == "missing"


def test_an_input_changed_in_place_is_noticed(ask: Ask):
    """The reply lists the arguments that the call changed."""
    reply = ask("call", name="in_place", args=(torch.ones(2), torch.ones(2)))

    assert reply.changed == (1,)


def test_a_nan_that_stays_is_not_a_change(ask: Ask):
    """NaN that stays NaN is not reported as a change of an argument."""
    nan = torch.tensor([torch.nan])

    assert ask("call", name="double", args=(nan,)).changed == ()


# What goes wrong


def test_the_line_of_an_exception_is_the_students_own():
    """The innermost line of the module is reported, not a line of torch."""
    ask = asking("import torch\n\ndef f(x):\n    return torch.cat(x)\n")
    problem = problem_in(ask("call", name="f", args=(1,)))

    assert (problem.kind, problem.type) == ("raised", "TypeError")
    assert (problem.place, problem.line, problem.code) == ("tiny.py", 4, "return torch.cat(x)")


def test_in_a_notebook_the_code_below_the_guard_runs():
    """As in Jupyter, a notebook is the main module, so code below its guard is defined."""
    guarded = "if __name__ == '__main__':\n    def f():\n        return 1\n"

    assert value(asking(guarded, "")("call", name="f")) == 1
    assert value(asking(guarded)("has", name="f")) is False


def test_in_a_notebook_cell_and_line_are_reported():
    """In a notebook, a problem contains the cell and the line in that cell."""
    ask = asking("x = 1", "%time\ndef f():\n    return 1 / 0\n")
    problem = problem_in(ask("call", name="f"))

    assert (problem.place, problem.line) == ("cell 2", 3)


def test_a_failing_cell_is_reported_and_skipped():
    """Cells after a failing cell still run."""
    ask = asking("1 / 0", "def f(:", "def f(): return 3")

    assert [(item["place"], item["type"]) for item in ask.imported] == [
        ("cell 1", "ZeroDivisionError"),
        ("cell 2", "SyntaxError"),
    ]
    assert value(ask("call", name="f")) == 3


def test_a_module_that_raises_keeps_its_other_definitions():
    """Definitions above and below a line that raises can be graded."""
    ask = asking("def f(): return 3\nraise ValueError('oh')\ndef g(): ...\n")

    assert [(item["line"], item["text"]) for item in ask.imported] == [(2, "oh")]
    assert [value(ask("has", name=name)) for name in "fg"] == [True, True]


def test_a_line_that_fails_in_a_cell_costs_itself():
    """After a line that fails, a class below it in the same cell is still defined."""
    ask = asking("x = 1", "import math\n\nundefined(x)\n\nclass Half: ...\n")

    assert [(item["place"], item["line"]) for item in ask.imported] == [("cell 2", 3)]
    assert value(ask("has", name="Half")) is True


def test_a_failed_statement_is_named_by_its_own_line_and_the_innermost():
    """A failed statement has the line of the call at module level and that of the raise."""
    (problem,) = asking("def half(x):\n    return x / 0\n\nx = y = half(1)\n").imported

    assert problem["line"] == 2
    assert problem["statement"] == {
        "place": "tiny.py",
        "line": 4,
        "names": ("x", "y"),
        "number": 2,
    }


def test_the_statement_and_the_innermost_line_may_be_in_two_cells():
    """A function of one cell may fail in a statement of another cell."""
    (problem,) = asking("def half(x):\n    return x / 0\n", "x = half(1)\n").imported

    assert (problem["place"], problem["line"]) == ("cell 1", 2)
    assert problem["statement"]["place"] == "cell 2"


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("import tiktoken", id="import-of-what-is-not-installed"),
        pytest.param("print(undefined)", id="demo"),
        pytest.param("from multihead import MultiHeadAttention", id="sibling-not-submitted"),
        pytest.param("exit()", id="exit"),
        pytest.param("raise KeyboardInterrupt", id="interrupt"),
        pytest.param("exec('f(:')", id="syntax-error-in-a-string"),
    ],
)
@pytest.mark.parametrize("place", ["above", "below"])
def test_a_failure_at_module_level_costs_itself(statement: str, place: str):
    """A statement that fails loses no function above or below it."""
    function = "def f(): return 3"
    parts = [statement, function] if place == "above" else [function, statement]
    ask = asking("\n".join(parts))

    assert [item["kind"] for item in ask.imported] == ["raised"]
    assert value(ask("call", name="f")) == 3


def test_what_depends_on_a_failed_statement_fails_in_its_own_right():
    """A class derived from a missing one is not defined, and the next class is."""
    ask = asking("from multihead import Attention\nclass A(Attention): ...\nclass B: ...\n")

    assert [item["statement"]["names"] for item in ask.imported] == [("Attention",), ("A",)]
    assert [value(ask("has", name=name)) for name in "AB"] == [False, True]


def test_a_name_that_shadows_torch_costs_the_calls_that_need_it():
    """Code that rebinds `torch` loses only its calls that need torch."""
    ask = asking(
        "import torch\ntorch = None\ndef f(x): return torch.exp(x)\ndef g(x): return x + x\n"
    )

    assert problem_in(ask("call", name="f", args=(torch.ones(1),))).type == "AttributeError"
    assert torch.equal(value(ask("call", name="g", args=(torch.ones(1),))), torch.tensor([2.0]))


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        pytest.param("def f(): return 3\ndef g(:\n", "not-compiled", id="grammar"),
        pytest.param("def f(): return 3\nreturn 4\n", "raised", id="return-outside-a-function"),
    ],
)
def test_a_syntax_error_costs_its_statement(cell: str, kind: str):
    """The rest of a file with a syntax error runs."""
    ask = asking(cell)

    assert [(item["kind"], item["line"]) for item in ask.imported] == [(kind, 2)]
    assert value(ask("has", name="f")) is True


def test_thousands_of_failing_statements_are_reported_in_part():
    """The first of thousands of failing statements are reported, and later code runs."""
    ask = asking("1 / 0\n" * 5000 + "def f(): return 3\n")

    assert [item["line"] for item in ask.imported] == list(range(1, MAX_PROBLEMS + 1))
    assert value(ask("call", name="f")) == 3


def test_names_that_are_too_long_or_too_many_are_left_out():
    """A worker sends a bounded list of names."""
    names = ", ".join(f"n{number}" for number in range(99))
    long, many = asking(f"{'x' * 81} = y = 1 / 0\n{names} = 1 / 0\n").imported

    assert long["statement"]["names"] == ("y",)
    assert len(many["statement"]["names"]) == MAX_NAMES


def test_a_future_import_holds_for_every_statement_below_it():
    """Annotations are not evaluated, in later cells too."""
    future = "from __future__ import annotations\ndef f(x: Later): return 3\n"

    assert asking(future).imported == []
    assert asking(future, "def g(x: Later): return 4\n").imported == []


def test_only_the_first_statement_is_the_docstring():
    """A string at module level that is not the docstring has no effect."""
    ask = asking('"""First."""\nx = 1\n"""Second."""\ndef f(): return __doc__\n')

    assert value(ask("call", name="f")) == "First."


@pytest.mark.parametrize(
    "rebinding",
    [
        pytest.param("Half = Half()", id="instance"),
        pytest.param("Half = None", id="nothing"),
        pytest.param("for Half in [1, 2]: pass", id="loop"),
    ],
)
def test_a_class_whose_name_is_rebound_can_be_constructed(rebinding: str):
    """A class whose name is bound again can be constructed, and the second line is reported."""
    ask = asking(f"from torch import nn\nclass Half(nn.Module): ...\nx = 1\n{rebinding}\n")

    assert ask("new", name="Half").value == ObjectValue(0)
    assert [(item["kind"], item["statement"]) for item in ask.imported] == [
        ("rebound", {"place": "tiny.py", "line": 4, "names": ("Half",), "number": 0})
    ]


@pytest.mark.parametrize(
    "rebinding",
    [
        pytest.param("def f(): return 4", id="later-definition"),
        pytest.param("def g(): return 4\nf = g", id="other-function"),
        pytest.param("import functools\nf = functools.partial(max, 4, 1)", id="partial"),
        pytest.param("f = f()\ndef f(): return 4", id="defined-again"),
        pytest.param("def four(g): return lambda: 4\n@four\ndef f(): return 5", id="decorator"),
    ],
)
def test_a_name_that_is_rebound_to_another_callable_means_that(rebinding: str):
    """A name that is rebound to a callable means that callable, without a report."""
    ask = asking(f"def f(): return 3\n{rebinding}\n")

    assert value(ask("call", name="f")) == 4
    assert ask.imported == []


def test_a_definition_that_fails_leaves_the_earlier_one():
    """A definition that fails is not mistaken for a rebinding."""
    ask = asking("def f(): return 3\n@undefined\ndef f(): return 4\n")

    assert [item["kind"] for item in ask.imported] == ["raised"]
    assert value(ask("call", name="f")) == 3


@pytest.mark.parametrize(
    ("statement", "kind", "type_", "text"),
    [
        pytest.param("raise SystemExit(3)", "raised", "SystemExit", "3", id="exit"),
        pytest.param("raise KeyboardInterrupt", "raised", "KeyboardInterrupt", "", id="interrupt"),
        pytest.param("raise MemoryError", "out-of-memory", "MemoryError", "", id="memory"),
        pytest.param("raise Mute", "raised", "Mute", "", id="str-raises"),
        pytest.param(
            "raise Liar", "raised", "an exception that can't be shown", "", id="name-raises"
        ),
        pytest.param(r"raise ValueError('\ud800')", "raised", "ValueError", "?", id="surrogate"),
        pytest.param("raise OSError('a' * 10**6)", "raised", "OSError", "a" * 2000, id="long"),
    ],
)
def test_any_exception_becomes_data(statement: str, kind: str, type_: str, text: str):
    """No exception of student code leaves the executor, and each is described."""
    odd = (
        "class Mute(Exception):\n    def __str__(self): raise SystemExit\n"
        "class Meta(type):\n    __name__ = property(lambda self: 1 / 0)\n"
        "class Liar(Exception, metaclass=Meta): ...\n"
    )
    problem = problem_in(asking(f"{odd}def f(): {statement}\n")("call", name="f"))

    assert (problem.kind, problem.type, problem.text) == (kind, type_, text)


def test_a_stub_differs_from_a_mistake():
    """``NotImplementedError`` has its own kind: the exercise is not started."""
    ask = asking("def f():\n    raise NotImplementedError\n")

    assert problem_in(ask("call", name="f")).kind == "not-implemented"


def test_a_function_that_torch_lacks_is_a_mistake():
    """An operator that torch lacks for a dtype is a mistake, not an unwritten exercise."""
    ask = asking("import torch\n\ndef f():\n    return torch.ones(2) & torch.ones(2)\n")

    assert problem_in(ask("call", name="f")).kind == "raised"


def test_a_module_without_forward_is_a_mistake():
    """A module without ``forward`` is a mistake, not an unwritten exercise."""
    ask = asking("from torch import nn\n\ndef f():\n    return nn.ModuleList()(1)\n")

    assert problem_in(ask("call", name="f")).kind == "raised"


def test_a_result_that_cannot_be_sent_is_named():
    """A result that cannot be sent, such as a range, is replaced by the name of its type."""
    ask = asking("def f(): return range(3)")

    assert ask("call", name="f").value == OpaqueValue("range")


def test_a_module_that_is_returned_gets_a_handle():
    """A function that builds a module returns a handle, as `new` does."""
    ask = asking("from torch import nn\ndef f(): return nn.Identity()")
    made = ask("call", name="f").value

    assert made == ObjectValue(0)
    assert ask("forward", handle=0, args=(1.5,)).value == 1.5


def test_a_tensor_that_contradicts_itself_is_a_problem_not_a_crash():
    """The executor answers even a request that it can't decode."""
    good = encode_tensor(torch.ones(1), MIB)
    bad = type(good)(good.dtype, (5,), good.data)
    executor = RequestExecutor("tiny", notebook=False, max_bytes=MIB)

    assert executor.answer(Request(verb="draw", args=(bad,))).problem is not None
