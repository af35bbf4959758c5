"""Runs the Python program of a page: `run_page.py FILE`. Prints how its copy went."""

import ctypes
import sys
import warnings

from test_overtake import Device

import overtake_gpu
from overtake_gpu import _lib

SIZE = 1 << 20


class Tensor:
    """A tensor on the device, as far as the pages use it."""

    def __init__(self, device):
        self.memory = device.made("cuMemAlloc_v2", ctypes.c_size_t(SIZE))
        self.stream = device.made("cuStreamCreate", 1)
        self.priorities = []

    def copy_(self, pinned, non_blocking):
        assert non_blocking
        library, before = _lib.load(), ctypes.c_int(-1)
        library.overtake_set_thread_priority(0, ctypes.byref(before))
        library.overtake_set_thread_priority(before, None)
        self.priorities.append(before.value)
        overtake_gpu.memcpy_async(self.memory, pinned, SIZE, self.stream, kind=overtake_gpu.HOST_TO_DEVICE)


warnings.simplefilter("ignore")  # that this is not under `overtake run`
device = Device()
on_device = Tensor(device)
names = {
    "loader": device.made("cuStreamCreate", 1),
    "on_device": on_device,
    "pinned": device.made("cuMemHostAlloc", ctypes.c_size_t(SIZE), 0),
}
with open(sys.argv[1], encoding="utf-8") as page:
    exec(compile(page.read(), sys.argv[1], "exec"), names)
device.must("cuCtxSynchronize")
assert overtake_gpu.stream_priority(names["loader"]) == 1
copies = "copy" if len(on_device.priorities) == 1 else "copies"
print(len(on_device.priorities), copies, "of priority", *on_device.priorities)
