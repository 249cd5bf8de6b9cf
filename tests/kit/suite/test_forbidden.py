"""Tests forbidden shortcuts: names in the source, and functions and operators that run."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from autograder.errors import CourseError
from autograder.results import Status
from autograder.suite.answer_values import Operators
from autograder.suite.checks import WrongAnswer
from autograder.suite.forbidden import (
    OPAQUE,
    UNSEEN,
    Need,
    avoids,
    avoids_itself,
    avoids_running,
    doubts_about,
    keeps_lookups,
    keeps_operators,
    keeps_products,
    keeps_results_below,
    looks_up_names,
    missing_evidence,
    needs,
    ready_made,
)
from autograder.suite.in_process import LocalChannel
from autograder.suite.student_proxy import Student

SOFTMAX = frozenset({"softmax", "_softmax"})
HEAD = "import torch\nimport torch.nn.functional as F\n"


def student_who_wrote(source: str) -> Student:
    """A student whose module has a function `f`."""
    return Student(LocalChannel("forbidden", (HEAD + source).encode()))


@pytest.mark.parametrize(
    ("source", "excerpt"),
    [
        pytest.param("def f(x): return torch.softmax(x, -1)", "torch.softmax", id="function"),
        pytest.param("def f(x): return x.softmax(-1)", "x.softmax", id="method"),
        pytest.param("def f(x): return (x + 1).softmax(-1)", "….softmax", id="computed"),
        pytest.param("def f(x): return F.softmax(x, -1)", "functional.softmax", id="alias"),
        pytest.param(
            "def g(x): return torch.softmax(x, -1)\ndef f(x): return g(x)",
            "Line 3",
            id="in-a-helper",
        ),
        pytest.param(
            "class Own:\n    def softmax(self, x): return x\ndef f(x): return F.softmax(x)",
            "functional.softmax",
            id="next-to-its-own-method-of-the-name",
        ),
        pytest.param(
            "def f(x): return getattr(F, 'soft' + 'max')(x)",
            "functional.softmax",
            id="looked-up-by-its-text",
        ),
        pytest.param(
            "def f(x): return F.softmax.__call__(x)",
            "functional.softmax",
            id="by-its-method",
        ),
    ],
)
def test_a_shortcut_in_the_source_is_refused(source: str, excerpt: str):
    """The message contains the line, and the reason why the shortcut is forbidden."""
    with pytest.raises(WrongAnswer) as caught:
        avoids(student_who_wrote(source), "f", SOFTMAX, "Write it yourself.")

    assert caught.value.status is Status.FORBIDDEN
    assert excerpt in caught.value.message
    assert caught.value.message.endswith("Write it yourself.")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def softmax(x): return x\ndef f(x): return softmax(x)", id="own-helper"),
        pytest.param(
            "class f:\n    def softmax(self, x): return x\n    def g(self, x): self.softmax(x)",
            id="own-method",
        ),
        pytest.param(
            "class Own:\n    def softmax(self, x): return x\ndef f(x): return Own().softmax(x)",
            id="method-of-an-own-object",
        ),
        pytest.param(
            "def f(x): return x.exp()\ndef g(x): return torch.softmax(x, -1)", id="elsewhere"
        ),
        pytest.param("def f(x):\n    '''Not torch.softmax.'''\n    return x", id="in-a-docstring"),
    ],
)
def test_own_names_are_allowed(source: str):
    """The student's own helpers may have any name."""
    avoids(student_who_wrote(source), "f", SOFTMAX, "")


def test_a_shortcut_hidden_from_the_source_is_found_when_it_runs():
    """`getattr` hides the name in the source, but not the operator that runs."""
    hidden = "def f(x): return getattr(torch, ''.join(['soft', 'max']))(x, -1)"
    student = student_who_wrote(hidden)
    avoids(student, "f", SOFTMAX, "")

    with pytest.raises(WrongAnswer, match="softmax"):
        avoids_running(student.operators("f", torch.zeros(2)), SOFTMAX, "")


@pytest.mark.parametrize(
    ("own", "excerpt"),
    [
        pytest.param("def f(x): return g(x)", "", id="only-calls-it"),
        pytest.param("def f(x): return g(x) + F.softmax(x, -1)", "Line 4", id="does-it-too"),
        pytest.param("def f(x): return g(x).cumsum(-1)", "cumsum", id="runs-another"),
        pytest.param(
            "def h(x): return F.softmax(x, -1)\ndef f(x): return g(x) + h(x)",
            "Line 4",
            id="in-its-own-helper",
        ),
    ],
)
def test_an_exercise_is_not_blamed_for_what_it_calls(own: str, excerpt: str):
    """Uses and operators of a lower exercise do not count; those of the caller count."""
    student = student_who_wrote(f"def g(x): return torch.softmax(x, -1)\n{own}")
    x, names = torch.zeros(2), SOFTMAX | {"cumsum"}
    ran, below = student.operators("f", x), {"g": student.operators("g", x)}

    with pytest.raises(WrongAnswer, match=excerpt) if excerpt else nullcontext():
        avoids_itself(student, "f", names, "", ran, below)


def test_code_without_a_shortcut_passes():
    """Code that runs only allowed functions, exp and sum, passes."""
    student = student_who_wrote("def f(x): return x.exp() / x.exp().sum()")

    avoids_running(student.operators("f", torch.zeros(2)), SOFTMAX, "")


def test_a_loop_over_tokens_is_found_by_counting_operators():
    """A loop runs more operators on a longer input."""
    student = student_who_wrote("def f(x): return torch.stack([row * 2 for row in x])")
    few, many = (student.operators("f", torch.zeros(n, 2)) for n in (2, 4))
    constant = Operators({}, {("aten.mul.Tensor", 4): 1})
    keeps_operators(constant, constant, "")

    with pytest.raises(WrongAnswer, match="Use one multiplication"):
        keeps_operators(few, many, "Use one multiplication.")


PROJECTED = """
def f(x_new, cache, W):
    old, keys = cache
    keys = torch.cat((keys, x_new @ W)) if KEPT else torch.cat((old, x_new)) @ W
    return keys.sum()
"""


def projections(kept: str) -> list[Operators]:
    """The operators that run on one new token after ten others, and after forty."""
    student = student_who_wrote(PROJECTED.replace("KEPT", kept))
    caches = [(torch.ones(n, 4), torch.ones(n, 3)) for n in (10, 40)]
    new, W = torch.ones(1, 4), torch.ones(4, 3)
    return [student.operators("f", new, cache, W) for cache in caches]


def test_what_is_projected_again_is_found_by_its_width():
    """Without a cache, every token is projected again, so a longer text costs more."""
    with pytest.raises(WrongAnswer, match="compute 33 numbers in the first call and 123"):
        keeps_products(*projections("False"), 4, "Project the new token only.")


def test_only_the_new_token_is_projected_with_a_cache():
    """With a cache, the products of this width do not grow with the text."""
    few, many = projections("True")
    keeps_products(few, many, 4, "")

    assert few.products_over(4) == many.products_over(4) == 3


LOOKUPS = """
TABLE = torch.ones(7, 3)

def once(ids, steps):
    found = HOW
    return [found + step for step in range(steps)]

def again(ids, steps):
    return [HOW + step for step in range(steps)]
"""
WAYS = (
    pytest.param("F.embedding(ids, TABLE)", id="embedding"),
    pytest.param("TABLE[ids]", id="index"),
    pytest.param("TABLE.index_select(0, ids)", id="selection"),
    pytest.param("F.one_hot(ids, 7).float() @ TABLE", id="product-with-one-hot-rows"),
)


def lookups(how: str, name: str) -> list[Operators]:
    """Return the operators of one step, and of five, with a table of seven rows."""
    student = student_who_wrote(LOOKUPS.replace("HOW", how))
    return [student.operators(name, torch.tensor([2, 5]), steps) for steps in (1, 5)]


@pytest.mark.parametrize("how", WAYS)
def test_a_table_that_is_read_once_is_read_once_in_five_steps(how: str):
    """A lookup before the loop is one lookup, however it is written."""
    few, many = lookups(how, "once")
    keeps_lookups(few, many, (7, 3), "")

    assert few.lookups((7, 3)) == many.lookups((7, 3)) == 1


@pytest.mark.parametrize("how", WAYS)
def test_a_table_that_is_read_in_each_step_is_found_by_its_size(how: str):
    """A lookup in each of five steps is five lookups."""
    with pytest.raises(WrongAnswer, match="read 1x in a short call and 5x in a longer one"):
        keeps_lookups(*lookups(how, "again"), (7, 3), "Look them up once.")


def test_code_that_reads_no_table_does_not_pass_as_reading_it_once():
    """Without any lookup, nothing shows that the table was read."""
    few, many = lookups("ids[:, None]", "once")

    with pytest.raises(WrongAnswer, match="No vector is looked up"):
        keeps_lookups(few, many, (7, 3), "")


def test_a_matrix_of_all_scores_is_found_by_its_size():
    """A result as large as all scores is forbidden, even if nothing reads it."""
    student = student_who_wrote("def f(q): return q @ q.T\ndef g(q): return q[:2] @ q[:2].T")
    queries = torch.ones(8, 2)
    keeps_results_below(student.operators("g", queries), 64, "")

    with pytest.raises(WrongAnswer, match="a result of 64 numbers"):
        keeps_results_below(student.operators("f", queries), 64, "Use tiles.")


def test_next_to_hidden_inputs_counts_are_not_shown():
    """Next to hidden inputs no count is shown, because a worker could forge it."""
    few, many = Operators({}, {("aten.add", 1): 31}), Operators({}, {("aten.add", 1): 41})
    with pytest.raises(WrongAnswer) as caught:
        keeps_operators(few, many, "One product is enough.")

    assert "31" in caught.value.message
    assert caught.value.public.endswith("in what it calls. One product is enough.")
    assert not any(letter.isdigit() for letter in caught.value.public)


@pytest.mark.parametrize(
    ("source", "open_"),
    [
        pytest.param("def f(x, n): return getattr(torch, n)(x)", True, id="computed"),
        pytest.param("def f(x): return eval('torch')", True, id="eval"),
        pytest.param("def f(x): return getattr(torch, 'exp')(x)", False, id="text"),
        pytest.param("def f(x): return x.eval()", False, id="method-of-the-name"),
        pytest.param("def f(x): return x\ndef g(x): eval('x')", False, id="elsewhere"),
        pytest.param("find = getattr\ndef f(x): return find(torch, 'exp')(x)", True, id="renamed"),
    ],
)
def test_a_source_that_looks_names_up_is_told(source: str, open_):
    """Source that looks names up gives a notice, so that a person reviews it."""
    channel = LocalChannel("forbidden", (HEAD + source).encode())

    assert looks_up_names(channel.definitions, "f") is open_


def test_what_may_be_a_shortcut_is_a_notice_and_no_loss():
    """A name that may be a shortcut gives a notice, and loses points only if the shortcut runs."""
    source = "known = []\nknown.append(torch.softmax)\ndef f(x): return known[0](x, -1)"
    student = student_who_wrote(source)
    avoids(student, "f", SOFTMAX, "Write it yourself.")

    assert student.doubts["f"].startswith("Line 4 of the file contains the name softmax, which f")


@pytest.mark.parametrize(
    ("source", "number"),
    [
        pytest.param(
            "class f:\n    def softmax(self, x): return x\n"
            "    def g(self, x): return self.softmax(x)",
            0,
            id="own-method",
        ),
        pytest.param(
            "class f:\n    def __init__(self, own): self.softmax = own\n"
            "    def g(self, x): return self.softmax(x)",
            0,
            id="own-attribute",
        ),
        pytest.param(
            "class f(torch.Tensor):\n    def g(self): return self.softmax(-1)", 1, id="inherited"
        ),
        pytest.param(
            "class Own:\n    def softmax(self, x): return x\ndef f(x): return x.softmax(-1)",
            1,
            id="of-what-is-not-known",
        ),
    ],
)
def test_a_method_of_the_name_is_a_notice_unless_it_is_their_own(source: str, number: int):
    """A method of tensors counts too, and so does that of a class derived from Tensor."""
    student = student_who_wrote(source)
    avoids(student, "f", SOFTMAX, "")

    assert len(student.doubts) == number


@pytest.mark.parametrize(
    ("source", "excerpt"),
    [
        pytest.param(
            "def f(x, n): return getattr(torch, n)(x)", "which functions run in f", id="lookup"
        ),
        pytest.param("import threading\ndef f(x): return x", "`threading` in line 3", id="threads"),
        pytest.param(
            "def f(x): return x\n" + "".join(f"def f{i}(): f{i}\n" for i in range(2_500)),
            "more names than the grader reads",
            id="too-many-names",
        ),
    ],
)
def test_what_a_source_may_hide_is_said_in_one_sentence(source: str, excerpt: str):
    """A source that may hide a shortcut gives one notice for the file."""
    definitions = LocalChannel("forbidden", (HEAD + source).encode()).definitions
    (sentence,) = doubts_about(definitions, ["f"])

    assert excerpt in sentence
    assert list(doubts_about(definitions, [])) == []


def test_code_that_does_nothing_with_its_tensors_breaks_the_rule():
    """Code without operators breaks the rule, because no count can show the absence of a loop."""
    student = student_who_wrote("def f(x): return 1.0\ndef g(lengths): return 1.0")
    idle = student.operators("f", torch.zeros(2))
    with pytest.raises(WrongAnswer, match="ran no tensor operation"):
        keeps_operators(idle, idle, "Use one multiplication.")

    kept = student.operators("g", [1, 2])  # it may have been computed in an earlier call
    keeps_operators(kept, kept, "")


@pytest.fixture
def suite(tmp_path: Path) -> str:
    """The path of a suite in a course with one list of ready-made functions."""
    (tmp_path / "ready_made.toml").write_text('sorting = ["sort", "sorted"]\n')
    return str(tmp_path / "01_lists" / "test_lists.py")


def test_a_suite_names_a_list_of_its_course(suite: str):
    """The lists are in `ready_made.toml`, in the folder that holds the stages' suites."""
    assert ready_made(suite, "sorting") == {"sort", "sorted"}


def test_a_list_that_does_not_exist_is_refused(suite: str):
    """The message names the file, the suite, and the lists that exist."""
    with pytest.raises(
        CourseError, match=r"ready_made.toml has no list 'sort', .* Lists: sorting."
    ):
        ready_made(suite, "sort")


def test_a_rule_names_what_right_code_runs(tmp_path: Path, suite: str):
    """A rule without *needs* needs nothing, and one that names no list is refused."""
    text = "format_version = 1\n" + "".join(
        f'[[rule]]\nname = "{name}"\nsentence = "It is by hand."\nmethods = []\n{more}'
        for name, more in (("by_hand", 'needs = "sorting"\n'), ("dtype", ""))
    )
    rules, lists = tmp_path / "rules.toml", Path(suite).parents[1] / "ready_made.toml"
    rules.write_text(text)
    found = needs(rules, lists)
    rules.write_text(text.replace("sorting", "soft"))

    assert found == {"by_hand": Need("sorting", frozenset({"sort", "sorted"}))}
    with pytest.raises(CourseError, match="has no list 'soft'"):
        needs(rules, lists)


@pytest.mark.parametrize(
    ("ran", "unseen"),
    [(["sort"], ""), (["min"], "sorting"), (["min", "tolist"], ""), (None, "")],
    ids=["it-ran", "it-did-not", "plain-python-may-have", "nothing-was-counted"],
)
def test_what_a_rule_needs_must_be_counted_unless_it_may_run_elsewhere(ran, unseen: str):
    """Only answers that count functions are evidence, and conversions leave the question open."""
    counted = {"functions": dict.fromkeys(ran or (), 1), "operators": {}}
    answers = [("call" if ran is None else "operators", counted)]
    needed = {"by_hand": Need("sorting", frozenset({"sort", "sorted"}))}

    found = missing_evidence(["dtype", "by_hand"], needed, answers)
    assert found == (UNSEEN.format(unseen) if unseen else "")


@pytest.mark.parametrize(
    ("functions", "operators"),
    [
        pytest.param(["sort"], ["mine.attend.default 18"], id="operator"),
        pytest.param(["sort", "mine.attend"], ["aten.bmm.default 18"], id="made-of-torchs-own"),
        pytest.param(["sort", "tolist"], ["mine.attend.default 18"], id="with-a-conversion"),
    ],
)
def test_an_operator_of_somebody_elses_hides_what_runs(functions: list[str], operators: list[str]):
    """If such an operator ran, a listed function that also ran proves nothing."""
    counted = {"functions": dict.fromkeys(functions, 1), "operators": dict.fromkeys(operators, 1)}
    needed = {"by_hand": Need("sorting", frozenset({"sort", "sorted"}))}

    assert missing_evidence(["by_hand"], needed, [("operators", counted)]) == OPAQUE
    assert not missing_evidence(["dtype"], needed, [("operators", counted)])
