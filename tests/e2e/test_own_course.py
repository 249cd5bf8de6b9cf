"""Tests the instructions of docs/course.md: a course with some stages and a new one."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.kit.commands import run


@pytest.mark.slow
def test_a_course_of_some_stages_and_a_new_one_holds(tmp_path: Path, pytestconfig: pytest.Config):
    """The stages are built like those of the whole course; the skeleton is verified as it is."""
    folder = tmp_path / "mine"
    run(pytestconfig.rootpath, "autograder", "new-course", "--stages", "02,05", str(folder))
    run(folder, "autograder", "new-stage", "11_layer_norm")
    run(folder, "autograder", "release")
    output = run(folder, "autograder", "verify", "--full", "--stage", "11")

    assert output.endswith("Everything holds.\n"), output  # no stage is stale or leaks
    assert "11_layer_norm: stub 0, solution 10" in output


def test_the_imports_of_the_page_for_authors_work(pytestconfig: pytest.Config):
    """The imports that docs/author.md lists for a suite work."""
    page = (pytestconfig.rootpath / "docs" / "author.md").read_text("utf-8")
    block = re.search(r"(?ms)^## What a suite imports$.*?^```python\n(.*?)^```", page)[1]
    suite = pytestconfig.rootpath / "tests/hidden/04_self_attention/test_self_attention.py"
    names: dict[str, object] = {"__file__": str(suite)}
    exec(block, names)  # noqa: S102  # imports of a page of ours

    assert {"check", "expect", "agrees", "avoids", "pytest", "torch"} <= names.keys()


def test_the_api_page_lists_what_suites_and_labs_import(pytestconfig: pytest.Config):
    """Each name of docs/api.md exists, and suites and labs import no other name of the kit."""
    root = pytestconfig.rootpath
    page = (root / "docs" / "api.md").read_text("utf-8")
    listed = re.findall(r"(?m)^::: ([\w.]+)\.(\w+)$", page)
    labs = [path.read_text("utf-8") for path in (root / "source").glob("*/lab.ipynb")]
    modules = [path.read_text("utf-8") for path in (root / "tests" / "hidden").rglob("*.py")]
    imported = {
        name
        for text in (*labs, *modules)
        for names in re.findall(r"from autograder\.[\w.]+ import (\([^)]*\)|[\w, ]+)", text)
        for name in re.findall(r"\w+", names)
    }

    assert not [name for module, name in listed if not hasattr(import_module(module), name)]
    assert imported <= {name for _, name in listed}
