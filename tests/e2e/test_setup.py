"""Tests `make setup`, with replacements of Python and uv that only report their arguments."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
case "$*" in
  *"config list") cat pip-settings ;;
  *"-m venv"*) mkdir -p .venv && touch .venv/rebuilt ;;
  *--force-reinstall*) echo "pip installs" ;;
esac
"""
UV = """#!/bin/sh
test -e uv-fails && exit 2
env | grep ^UV_ | sort
"""


@pytest.fixture
def setup(tmp_path: Path):
    """Return a function that runs `make setup` in an environment without packages."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "activate").touch()
    for name, script in {"python": PYTHON, "uv": UV}.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}

    def run(settings: str = "", **variables: str):
        (tmp_path / "pip-settings").write_text(settings)
        command = ["make", "setup", f"PYTHON={folder / 'python'}"]
        environment = {**inherited, **variables}
        done = subprocess.run(  # noqa: S603  # the system's make
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.splitlines()

    return run


def test_torch_is_the_cpu_build(setup):
    """Without settings of pip, torch comes from PyTorch's own index of CPU builds."""
    assert "UV_TORCH_BACKEND=cpu" in setup("global.cert='/ca.crt'\n")


def test_uv_gets_the_settings_of_pip(setup):
    """Setting up passes settings of pip to uv: variables before files, one line for each item."""
    output = setup(
        ":env:.index-url='https://a/simple'\n"
        "global.extra-index-url='\\nhttps://b/simple\\nhttps://c/simple'\n"
        "global.find-links='/wheels /more'\n"
        "global.index-url='https://d/simple'\n"
    )

    assert {
        "UV_DEFAULT_INDEX=https://a/simple",
        "UV_FIND_LINKS=/wheels,/more",
        "UV_INDEX=https://b/simple https://c/simple",
    } <= {*output}
    assert "UV_TORCH_BACKEND=cpu" not in output


def test_the_settings_of_uv_come_first(setup):
    """A variable of uv that is set keeps its value."""
    output = setup("global.find-links='/wheels'\n", UV_FIND_LINKS="/mine", UV_TORCH_BACKEND="auto")

    assert {"UV_FIND_LINKS=/mine", "UV_TORCH_BACKEND=auto"} <= {*output}


def test_pip_installs_where_uv_fails(setup, tmp_path: Path):
    """If uv fails, pip installs the kit, because pip reads settings that uv ignores (a proxy)."""
    (tmp_path / "uv-fails").touch()

    assert "pip installs" in setup()
    assert (tmp_path / ".venv" / ".installed").exists()


@pytest.mark.parametrize("interrupted", [True, False])
def test_only_an_interrupted_environment_is_built_again(setup, tmp_path: Path, interrupted: bool):  # noqa: FBT001  # a parameter of the test
    """An interrupted environment, which may hold half of a package, is built again."""
    if interrupted:
        (tmp_path / ".venv" / ".unfinished").touch()
    setup()

    assert (tmp_path / ".venv" / "rebuilt").exists() == interrupted
    assert not (tmp_path / ".venv" / ".unfinished").exists()
