"""Tests that the course gives the same results with other sets of torch's kernels."""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from autograder.course import load
from tools.kernel_sets import SETS

X86 = platform.machine() in {"x86_64", "AMD64"}
ONLY_X86 = pytest.mark.skipif(not X86, reason="other processors have no AVX2 and no MKL")


def prove(pytestconfig: pytest.Config, environment: dict[str, str], words: Sequence[str]) -> str:
    """Prove stages in a process with these settings; return what it prints."""
    done = subprocess.run(  # noqa: S603  # our own command
        [sys.executable, "-m", "tools.kernel_sets", *words],
        cwd=pytestconfig.rootpath,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("no-vectors", "one-thread"), id="no-vectors", marks=pytest.mark.nightly),
        pytest.param(("avx2", "compatible-mkl", "two-threads"), id="other-sums", marks=ONLY_X86),
    ],
)
def test_two_stages_hold_under_other_kernels(pytestconfig: pytest.Config, names: Sequence[str]):
    """Under other kernels `verify` has no finding, and names and built files are the same."""
    settings = {key: value for name in names for key, value in SETS[name].items()}
    words = ["01", "09", "--full", "--every", "25", "--build", "01"]

    assert prove(pytestconfig, settings, words) == "2 stages done\n"


STAGES = [stage.name[:2] for stage in load(Path(__file__).parents[2]).stages]


@pytest.fixture(scope="module")
def usual(pytestconfig: pytest.Config) -> list[str]:
    """The output of a proof of every stage with the kernels of this machine."""
    return prove(pytestconfig, {}, ["--full", "--every", "8", "--build", *STAGES]).splitlines()


@pytest.mark.nightly  # the test above proves two stages, one with large models
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=ONLY_X86 if name in {"avx2", "compatible-mkl"} else [])
        for name in SETS
    ],
)
def test_every_stage_holds_under_every_set_of_kernels(
    pytestconfig: pytest.Config, usual: list[str], name: str
):
    """`verify` has no findings, `release` keeps the bytes, and names do not depend on the kernels.

    A student's machine and grading may give different names if the fingerprints are incomplete;
    these names are the same under every set.
    """
    printed = prove(
        pytestconfig, SETS[name], ["--full", "--every", "8", "--build", *STAGES]
    ).splitlines()

    done = f"{len(STAGES) + 1} stages done"  # including the stage for practice
    assert [line for line in printed if " in grading, " not in line] == [done]
    assert printed == usual
