"""Tests the layout of the engine: names, sizes, and that each package's tests reach all of it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "autograder"
TESTS = ROOT / "tests"
PACKAGES = sorted(path.parent.name for path in ENGINE.glob("*/__init__.py"))
MOST_LINES = 500  # of a module; a longer one begins a sentence of its docstring with REASON
REASON = "It is long because"
MOST_LINES_OF_FUNCTION = 50
WORD = re.compile(r"(?:.*[.:])?([\w-]+)")  # the last word of `package.module:name`

REACHED_ELSEWHERE = {
    "Diagnostician": "tests/e2e/test_carried_errors.py grades with it",
    "NoGradients": "tests/kit/diagnosis compares it with the faults of wrong programs",
    "superseded": "tests/kit/gradebook/test_collection.py collects files that were uploaded again",
}


class Definition(NamedTuple):
    """A function, a class or a constant of a module."""

    module: Path
    name: str


def modules() -> list[Path]:
    """List the modules of the engine."""
    return sorted(ENGINE.rglob("*.py"))


@cache
def tree_of(module: Path) -> ast.Module:
    """Parse a module once."""
    return ast.parse(module.read_text("utf-8"))


@cache
def words_of(test: Path) -> frozenset[str]:
    """Return the words of a test file."""
    return frozenset(words(ast.parse(test.read_text("utf-8"))))


def words(tree: ast.AST) -> Iterator[str]:
    """Yield the names in a tree, also those in strings: commands and dotted paths."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name.rpartition(".")[2]
            case ast.Constant(value=str(text)) if found := WORD.fullmatch(text):
                yield found[1].replace("-", "_")


def definitions(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the functions, classes and constants of a module, with their names."""
    for node in tree_of(path).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from ((name, node) for target in targets for name in words(target))


@cache
def used_words(package: str) -> dict[Definition, frozenset[str]]:
    """Return the words that each definition of *package* uses; without a name, of all packages."""
    return {
        Definition(path, name): frozenset(words(node))
        for path in modules()
        if path.is_relative_to(ENGINE / package)
        for name, node in definitions(path)
    }


@cache
def unreached(package: str) -> list[str]:
    """List the public functions and classes that the tests of their package do not reach.

    A test reaches what it names, and what a definition that it reaches names. Without a name, the
    modules outside the packages are meant, which every package uses.
    """
    used = used_words(package)
    public = defaultdict(set)
    for one in used:
        public[one.name].add(one)
    tests = [
        path for folder in (f"kit/{package}", "e2e") for path in (TESTS / folder).rglob("*.py")
    ]
    named = frozenset().union(*map(words_of, tests))
    todo = [one for one in used if one.name.rstrip("_") in named]
    reached = set(todo)
    while todo:
        one = todo.pop()
        for word in used[one]:
            own = Definition(one.module, word)
            found = {own} if own in used else public[word] if word[0] != "_" else set()
            todo += found - reached
            reached |= found
    missed = (one for one in used.keys() - reached if is_public(one))
    return sorted(one.name for one in missed if package or one.module.parent == ENGINE)


def is_public(one: Definition) -> bool:
    """Return whether other modules may use a definition; pytest calls its own hooks."""
    return not one.name.startswith(("_", "pytest_")) and not one.name.isupper()


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_the_tests_of_a_package_reach_its_public_functions(package: str):
    """The tests in tests/kit/a or tests/e2e reach each public function and class of a."""
    assert [name for name in unreached(package) if name not in REACHED_ELSEWHERE] == []


def test_each_exception_is_still_needed():
    """A function that the tests of its package reach is not listed as an exception."""
    found = {name for package in ("", *PACKAGES) for name in unreached(package)}

    assert REACHED_ELSEWHERE.keys() <= found


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_has_tests(package: str):
    """The folder tests/kit/a contains the tests of autograder/a."""
    assert list((TESTS / "kit" / package).glob("test_*.py"))


def test_no_module_is_long_without_a_reason():
    """A module of more than 500 lines gives the reason in its docstring."""
    long = [path for path in modules() if len(path.read_text("utf-8").splitlines()) > MOST_LINES]

    assert [path for path in long if REASON not in (ast.get_docstring(tree_of(path)) or "")] == []


def test_no_function_is_long():
    """No function has more than 50 lines."""
    lengths = {
        f"{path.stem}.{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert {name for name, lines in lengths.items() if lines > MOST_LINES_OF_FUNCTION} == set()


def test_no_module_name_occurs_twice():
    """No module name occurs twice, so a name without its package is enough."""
    paths = defaultdict(list)
    for path in modules():
        paths[path.name].append(path.relative_to(ENGINE).as_posix())
    repeated = [found for name, found in paths.items() if len(found) > 1 and name[0] != "_"]

    assert repeated == []


def test_no_class_name_occurs_twice():
    """No class name occurs twice, so a class is known by its name."""
    owners = defaultdict(list)
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(path.relative_to(ENGINE).as_posix())

    assert [found for found in owners.values() if len(found) > 1] == []
