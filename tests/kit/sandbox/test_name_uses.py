"""Tests the dotted names that a piece of source uses."""

import ast

import pytest

from autograder.sandbox.name_uses import MAX_NAME, NameReader, dotted, odd_word, short


def mentions(source: str, **aliases: str) -> dict[str, bool]:
    """Return the names that a source uses, and whether each object is passed on."""
    reader = NameReader(aliases, bound={"own"}, classes={"Thing"})
    return {
        item.name: item.is_passed_on
        for statement in ast.parse(source).body
        for item in reader.mentions(statement)
    }


@pytest.mark.parametrize(
    ("source", "name", "is_passed_on"),
    [
        pytest.param("F.softmax(x)", "torch.nn.functional.softmax", False, id="called"),
        pytest.param("keep(F.softmax)", "torch.nn.functional.softmax", True, id="passed-on"),
        pytest.param(
            "getattr(F, 'soft' 'max')(x)", "torch.nn.functional.softmax", False, id="text"
        ),
        pytest.param("a @ b", "@", False, id="operator"),
        pytest.param("own.part", "own", False, id="own-object"),
        pytest.param("x[0].exp()", "?.exp", False, id="of-a-result"),
        pytest.param("eval('x')", "?.(computed)", False, id="computed"),
        pytest.param("keep(eval)", "?.(computed)", True, id="a-lookup-passed-on"),
    ],
)
def test_each_way_to_use_a_name_is_a_mention(source: str, name: str, is_passed_on: object):
    """The object of a name that is only called is not passed on."""
    found = mentions(source, F="torch.nn.functional")

    assert found[name] is is_passed_on


def test_a_parameter_hides_an_import():
    """Inside of a function, a parameter hides an import of the same name."""
    assert "torch.exp" not in mentions("def f(exp): return exp", exp="torch.exp")


def test_an_object_that_is_made_may_be_called_later():
    """The class of a new object is passed on, and not only its name."""
    assert mentions("keep(Thing())")["Thing"]
    assert not mentions("Thing().go()")["Thing"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        pytest.param("threading.Thread", "threading", id="module"),
        pytest.param("sys.modules", "sys.modules", id="modules"),
        pytest.param("x.__globals__", "__globals__", id="attribute"),
        pytest.param("torch.softmax", "", id="usual"),
    ],
)
def test_a_part_of_a_name_may_be_odd(name: str, word: str):
    """A name may hide which functions a source calls, unless the module bound it itself."""
    assert odd_word(name) == word
    assert odd_word(name, bound=("threading",)) == ("" if word == "threading" else word)


def test_a_long_name_becomes_its_digest():
    """Two long names become two digests."""
    one, other = (short(letter * (MAX_NAME + 1)) for letter in "ab")

    assert short("a" * MAX_NAME) == "a" * MAX_NAME
    assert len(one) < MAX_NAME
    assert one != other


def test_only_what_is_imported_has_a_dotted_name():
    """An imported name has a dotted name, and a variable has none."""
    found = [
        dotted(ast.parse(text, mode="eval").body, {"t": "torch"}) for text in ("t.nn.X", "x.y")
    ]

    assert found == ["torch.nn.X", ""]
