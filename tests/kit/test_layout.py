"""Tests that each module has one test file under the mirrored path, and a unique name."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "autograder"
TESTS = ROOT / "tests" / "kit"

TESTS_WITHOUT_MODULE = {
    "test_layout.py": "tests the folders",
}
MODULES_WITHOUT_TEST = {
    "gradebook/exchange.py": "tests/e2e/test_exchange.py plays the whole exchange",
}


def modules():
    """List the modules of the engine, relative to it; a package's own files need no test."""
    return sorted(
        path.relative_to(ENGINE)
        for path in ENGINE.rglob("*.py")
        if path.name not in {"__init__.py", "__main__.py"}
    )


def files_of_tests():
    """List the test files of the engine, relative to their root."""
    return sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def test_each_test_file_has_its_module():
    """Each test file tests a module: tests/kit/a/test_b.py tests autograder/a/b.py."""
    expected = {path.with_name(f"test_{path.name}") for path in modules()}
    without = [path.as_posix() for path in files_of_tests() if path not in expected]

    assert [path for path in without if path not in TESTS_WITHOUT_MODULE] == []


def test_each_module_has_its_test_file():
    """Each module has a test file: tests/kit/a/test_b.py tests autograder/a/b.py."""
    present = set(files_of_tests())
    without = [
        path.as_posix() for path in modules() if path.with_name(f"test_{path.name}") not in present
    ]

    assert [path for path in without if path not in MODULES_WITHOUT_TEST] == []


def test_no_module_name_occurs_twice():
    """No module name occurs twice, so a name without its package is enough."""
    paths = defaultdict(list)
    for path in modules():
        paths[path.name].append(path.as_posix())

    assert [found for found in paths.values() if len(found) > 1] == []


def test_no_class_name_occurs_twice():
    """No class name occurs twice, so a class is known by its name."""
    owners = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse((ENGINE / path).read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(path.as_posix())

    assert [found for found in owners.values() if len(found) > 1] == []


@pytest.mark.parametrize("path", TESTS_WITHOUT_MODULE)
def test_each_excepted_test_file_exists(path):
    """Each test file that is listed as having no module exists, and has no module."""
    module = (ENGINE / path).with_name(Path(path).name.removeprefix("test_"))

    assert (TESTS / path).is_file()
    assert not module.exists()


@pytest.mark.parametrize("path", MODULES_WITHOUT_TEST)
def test_each_excepted_module_exists(path):
    """Each module that is listed as having no test file exists, and has no test file."""
    test = (TESTS / path).with_name(f"test_{Path(path).name}")

    assert (ENGINE / path).is_file()
    assert not test.exists()
