"""Draws the stories and makes the storyteller: python -m tools.storyteller.

Writes the stories of the labs and the weights into ``assignments/course/made``. It draws a million
characters, trains for some twelve minutes on one core, rounds the weights, refuses weights whose
held-out loss is not the documented one, and measures the fixed texts again.
"""

import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import numpy as np
import torch

from tools.storyteller import margins
from tools.storyteller.stories import draw_stories, long_sentences, split
from tools.storyteller.training import (
    Model,
    Run,
    Size,
    encode,
    held_out_loss,
    rounded,
    train,
    unrounded,
)

MADE: Final = Path(__file__).parents[2] / "assignments/course/made"
LAB_SIZE, LAB_SEED = 118_000, 1  # characters of the stories for labs
SIZE, SEED = 1_000_000, 2  # characters of the stories for the weights
LOSS, NEAR = 0.300, 0.02  # nats for each held-out character
# With these, torch and MKL compute alike on every x86 processor, in three times the time; they are
# read when torch is imported.
ALIKE: Final = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}


def main() -> int:
    """Write the stories and the weights; return 1 if the weights are worse than documented."""
    if not ALIKE.items() <= os.environ.items():
        again = [sys.executable, "-m", "tools.storyteller"]
        return subprocess.run(again, env={**os.environ, **ALIKE}, check=False).returncode  # noqa: S603  # this program
    torch.set_num_threads(1)
    told: set[str] = set()
    lab, held = split(draw_stories(LAB_SIZE, LAB_SEED, told), LAB_SEED)
    text = "".join(draw_stories(SIZE, SEED, held=long_sentences(held)))
    symbols = "".join(sorted(set(lab + held)))
    print(f"{len(text):,} characters, {len(symbols)} symbols", flush=True)
    torch.manual_seed(0)
    model = Model(Size(len(symbols)))
    held_ids = encode(held, symbols)

    def report(step: int, loss: float, seconds: float) -> None:
        other = held_out_loss(model, held_ids)
        print(f"step {step}, {seconds:.0f} s: {loss:.3f}, held out {other:.3f}", flush=True)

    train(model, encode(text, symbols), Run(), report)
    stored = rounded(dict(model.named_parameters()))
    model.load_state_dict(unrounded(stored))
    loss = held_out_loss(model, held_ids)
    print(f"rounded: held out {loss:.4f}")
    if abs(loss - LOSS) > NEAR:
        print(f"Nothing is written: the loss is not within {NEAR} of {LOSS}.")
        return 1
    for name, stories in (("train", lab), ("held", held)):
        packed = lzma.compress(stories.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)
        (MADE / f"stories_{name}.txt.xz").write_bytes(packed)
    facts = {"heads": model.size.heads, "window": model.size.window, "symbols": symbols}
    with (MADE / "storyteller.npz").open("wb") as file:
        np.savez_compressed(file, **stored, **{name: np.array(one) for name, one in facts.items()})  # type: ignore[arg-type]
    return margins.main()


if __name__ == "__main__":
    sys.exit(main())
