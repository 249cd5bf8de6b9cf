"""Runs the course with the oldest and the newest torch: python -m tools.torch_versions [VERSION].

The oldest is the one that pyproject.toml allows, and the newest the one that uv finds. Each is
installed into a new virtual environment in a temporary folder, which takes some gigabytes if only
builds with GPU libraries are found. With each, `autograder verify` holds and the quick tests pass.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.pytest_versions import ROOT, oldest

PINNED_BY_TORCH = ("torch", "sympy")
TESTS = ("-q", "-n", "1", "--ignore", "tests/browser", "-m", "not slow and not nightly", "tests")


def main(versions: list[str]) -> None:
    """Run with each of *versions*, by default the oldest and the newest; exit with 1 on failure."""
    passed = [_passes(version) for version in versions or (oldest("torch"), "torch")]
    sys.exit(not all(passed))


def _passes(version: str) -> bool:
    """Whether everything holds with *version*, such as ``torch==2.6``."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        kit, python = folder / "kit", str(folder / "env" / "bin" / "python")
        lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        kept = [line for line in lines if line.partition("==")[0] not in PINNED_BY_TORCH]
        constraints = folder / "constraints.txt"
        constraints.write_text("\n".join(kept), "utf-8")
        uv = [sys.executable, "-m", "uv"]
        install = [*uv, "pip", "install", "-q", "--python", python, "-c", str(constraints)]
        steps = (
            ["git", "clone", "-q", str(ROOT), str(kit)],
            [*uv, "venv", "-q", "--python", sys.executable, str(folder / "env")],
            [*install, "-e", f"{kit}[dev]", version],
            [python, "-c", "import torch; print('torch', torch.__version__, flush=True)"],
        )
        if any(_run(step, folder) for step in steps):
            return False
        (kit / ".venv").symlink_to(folder / "env")  # some tests run its commands
        checks = (["-m", "autograder", "verify"], ["-m", "pytest", *TESTS])
        codes = [_run([python, *check], kit) for check in checks]
        return not any(codes)


def _run(command: list[str], folder: Path) -> int:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode  # noqa: S603  # our own commands


if __name__ == "__main__":
    main(sys.argv[1:])
