"""Plays a lab for a browser: a plain kernel in an empty folder, with the wheel and nothing else."""

import ast
import json
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from autograder.course import load
from tests.kit.commands import run

ROOT = Path(__file__).parents[2]
STAGE = "01_dot_product_attention"
SECONDS = 300  # for one cell on a busy machine
COURSE = load(ROOT)
# Lets the new environment find torch and Jupyter, which this test does not install again.
DEPENDENCIES = next(path for path in sys.path if path.endswith("site-packages"))
Run = Callable[[str], str]

pytestmark = pytest.mark.nightly  # starts kernels and installs a wheel: tests/kit has the parts


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-out of stage 01, with its lab for a browser."""
    folder = tmp_path_factory.mktemp("handout")
    urls = ("--wheel-url", folder.as_uri(), "--labs-url", "https://host.example/labs")
    run(ROOT, "autograder", "release", "--stage", "01", "--handout", str(folder), *urls)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment without the kit."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(DEPENDENCIES)
    return folder / "bin" / "python"


@pytest.fixture
def kernels(python: Path, tmp_path: Path) -> Iterator[Callable[[], Run]]:
    """Start a kernel in an empty folder, always the same one."""
    running: list[tuple[KernelManager, Any]] = []

    def stop() -> None:
        for manager, client in running:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        running.clear()

    def start() -> Run:
        stop()
        manager = KernelManager()
        manager.kernel_spec.argv[0] = str(python)
        manager.start_kernel(cwd=str(tmp_path))
        client = manager.client()
        running.append((manager, client))
        client.start_channels()
        client.wait_for_ready(timeout=SECONDS)

        def execute(code: str) -> str:
            shown: list[str] = []

            def note(message: dict) -> None:
                content = message["content"]
                shown.append(content.get("text", ""))
                shown.append(content.get("data", {}).get("text/plain", ""))
                shown.extend(content.get("traceback", ()))

            client.execute_interactive(code, output_hook=note, timeout=SECONDS)
            return "\n".join(shown)

        return execute

    yield start
    stop()


def solutions() -> dict[str, str]:
    """Map each exercise to its cell with the solution."""
    text = COURSE.stage("01").solution.read_text("utf-8")
    lines = [line if "### " not in line else "" for line in text.splitlines()]
    return {
        node.name: "\n".join([f"%%exercise {node.name}", *lines[node.lineno - 1 : node.end_lineno]])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def test_a_stage_is_solved_in_a_browser_and_its_lab_graded(
    handout: Path, kernels: Callable[[], Run], tmp_path: Path
):
    """The first cell installs everything; cells solve the stage; the lab alone earns the points."""
    lab = json.loads((handout / "labs" / "01.ipynb").read_text("utf-8"))
    first, setup = ["".join(c["source"]) for c in lab["cells"] if c["cell_type"] == "code"][:2]
    cells = solutions()
    execute = kernels()
    assert "files added" in execute(first)
    execute(setup)

    wrong = "%%exercise dot_product\ndef dot_product(a, b):\n    return 0"
    assert "✗ dot_product" in execute(wrong)
    assert "not valid Python" in execute(wrong.replace(":\n", "\n"))
    names = [*cells]
    for name in names[:4]:
        assert f"✓ {name}: complete." in execute(cells[name])

    execute = kernels()  # in the middle of the work
    assert "as you left them" in execute(first)
    execute(setup)
    for name in names[3:]:
        assert f"✓ {name}: complete." in execute(cells[name])
    assert "Every public check passes" in execute(
        "import sys\n!{sys.executable} -m autograder check"
    )

    for cell in lab["cells"]:
        if found := re.match(r"%%exercise (\w+)", "".join(cell["source"])):
            cell["source"] = cells[found[1]]
    (tmp_path / "01.ipynb").write_text(json.dumps(lab), "utf-8")
    graded = subprocess.run(  # noqa: S603  # our own command
        [sys.executable, "-m", "autograder", "grade", str(tmp_path / "01.ipynb")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "10 / 10" in graded.stdout
