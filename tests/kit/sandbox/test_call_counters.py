"""Tests the counters of torch functions and operators."""

import _thread
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from autograder.sandbox import call_counters
from autograder.sandbox.call_counters import CallCounters


def test_functions_are_counted_as_the_code_calls_them():
    """A method and a function of torch count by their names."""
    x = torch.ones(2, 2)
    counters = CallCounters()
    with counters.counting():
        torch.softmax(x, dim=-1)
        x.softmax(dim=-1)
        torch.bmm(x[None], x[None])

    assert counters.functions["softmax"] == 2
    assert counters.functions["bmm"] == 1


def test_functions_of_torch_ops_have_the_names_of_torch():
    """Another library's operator also has its library's name, even if it is made of torch's own."""
    library = torch.library.Library("counted", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.impl("double", lambda x: torch.add(x, x), "CompositeImplicitAutograd")
    counters = CallCounters()
    with counters.counting():
        torch.ops.aten.exp(torch.ones(2))
        torch.ops.aten.exp.default(torch.ones(2))
        torch.ops.counted.double(torch.ones(2))

    assert counters.functions["exp"] == 2
    assert counters.functions["counted.double"] == 1


def test_operators_are_counted_with_their_largest_input():
    """The largest input of an operator may be in a list."""
    counters = CallCounters()
    with counters.counting():
        torch.ones(6) * 2
        torch.cat([torch.ones(3), torch.ones(5)])

    assert counters.operators["aten.mul.Tensor 6"] == 1
    assert counters.operators["aten.cat.default 5"] == 1


@pytest.mark.parametrize(
    ("code", "product"),
    [
        pytest.param(lambda x, w: x @ w, "5 4 3", id="matrices"),
        pytest.param(lambda x, w: torch.nn.functional.linear(x, w.T), "5 4 3", id="linear"),
        pytest.param(lambda x, w: torch.einsum("ti,io->to", x, w), "5 4 3", id="einsum"),
        pytest.param(lambda x, w: x[None] @ w[None].expand(2, -1, -1), "10 4 3", id="batch"),
        pytest.param(lambda x, w: torch.addmm(input=w[:1], mat1=x, mat2=w), "5 4 3", id="keywords"),
        pytest.param(lambda x, w: w.T @ x[0], "3 4 1", id="vector"),
    ],
)
def test_products_are_measured_in_every_form(code, product):
    """Rows, inner width and columns are counted, for every function that makes a product."""
    counters = CallCounters()
    with counters.counting():
        code(torch.ones(5, 4), torch.ones(4, 3))

    assert counters.products == {product: 1}


def test_the_largest_result_is_no_view_of_an_input():
    """Slices and expanded tensors are not counted as results; a mask and a product are."""
    x = torch.ones(8, 8)
    counters = CallCounters()
    with counters.counting():
        x[:4].T.expand(100, -1, -1)
        torch.zeros(5)
    views = counters.largest
    with counters.counting():
        torch.softmax(input=x[:4], dim=-1)

    assert views == 5
    assert counters.largest == 32


def test_the_number_of_counted_names_is_limited(monkeypatch):
    """Calls beyond the limit of names run without being counted."""
    monkeypatch.setattr(call_counters, "MAX_COUNTED", 1)
    counters = CallCounters()
    with counters.counting():
        result = torch.ones(2).add(1).mul(3)

    assert len(counters.functions) == 1
    assert result.tolist() == [6.0, 6.0]


@pytest.fixture
def watching(monkeypatch):
    """Counters that watch the threads of this test."""
    for module in (_thread, threading):
        for name in dir(module):
            if name.lstrip("_") in call_counters.STARTS:  # set back at the end
                monkeypatch.setattr(module, name, getattr(module, name))
    counters = CallCounters()
    counters.watch_threads()
    return counters


def in_a_thread(call) -> None:
    """Call it in a thread of the module `threading`."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def in_a_bare_thread(call) -> None:
    """Call it in a thread that Python keeps no object of."""
    done = threading.Event()
    _thread.start_new_thread(lambda: (call(), done.set()), ())
    done.wait()


def in_a_pool(call) -> None:
    """Call it in a thread of a pool."""
    with ThreadPoolExecutor() as pool:
        pool.submit(call).result()


@pytest.mark.parametrize("run", [in_a_thread, in_a_bare_thread, in_a_pool])
def test_calls_in_a_thread_are_counted(watching, run):
    """Calls in any thread are counted, although torch counts each thread separately."""
    with watching.counting():
        run(lambda: torch.softmax(torch.ones(3), dim=-1))

    assert watching.functions["softmax"] == 1
    assert watching.operators["aten._softmax.default 3"] == 1


def test_a_thread_that_has_started_before_is_counted(watching):
    """A thread from the import of a submission is counted as well."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(torch.ones, 2).result()
        before = dict(watching.functions)
        with watching.counting():
            pool.submit(torch.softmax, torch.ones(3), -1).result()

    assert not before
    assert watching.functions["softmax"] == 1


def test_nothing_is_counted_between_two_counts(watching):
    """Each count of functions and operators begins at zero."""
    with watching.counting():
        torch.ones(2).exp()
    in_a_thread(lambda: torch.ones(2).exp())
    with watching.counting():
        torch.ones(2).log()

    assert "exp" not in watching.functions
    assert watching.functions["log"] == 1
