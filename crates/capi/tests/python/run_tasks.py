"""Runs the Python program of the page about tasks: `run_tasks.py FILE`, with memory of its own."""

import ctypes
import sys

from test_overtake import Device

SIZE = 1 << 20

device = Device()
pinned, back = (device.made("cuMemHostAlloc", ctypes.c_size_t(SIZE), 0) for _ in range(2))
ctypes.memset(pinned, 7, SIZE)
ctypes.memset(back, 0, SIZE)
names = {"device": device.made("cuMemAlloc_v2", ctypes.c_size_t(SIZE)), "pinned": pinned, "back": back}
with open(sys.argv[1], encoding="utf-8") as page:
    exec(compile(page.read(), sys.argv[1], "exec"), names)
