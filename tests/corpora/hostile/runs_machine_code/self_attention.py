"""Maps a page of machine code that it wrote itself, and asks torch to compile more."""

import ctypes
import mmap

from torch import nn
from torch.utils import cpp_extension

try:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\x31\xc0\xc3")  # return 0
    START = ctypes.addressof(ctypes.c_char.from_buffer(page))
    NUMBER = ctypes.CFUNCTYPE(ctypes.c_int)(START)()
except (OSError, ValueError):
    pass
try:
    cpp_extension.load_inline("evil", "int main() { return 0; }")
except BaseException:
    pass


class SelfAttentionV1(nn.Module):
    def __init__(self, *_sizes, **_options):
        super().__init__()

    def forward(self, x):
        return x


SelfAttention_v1 = SelfAttention_v2 = SelfAttentionV1
