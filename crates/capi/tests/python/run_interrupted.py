"""Tasks in a program that is interrupted at random times: `run_interrupted.py SEED TIMES`. No wait hangs, and none of
the interrupts is the end of the program."""

import os
import random
import signal
import sys
import threading
import time

import overtake_gpu
from test_overtake import Device

seed, times = map(int, sys.argv[1:])
device, draws, is_over, is_armed = Device(), random.Random(seed), threading.Event(), False


def interrupt(*_):
    """Only where the loop below handles it."""
    global is_armed
    if is_armed:
        is_armed = False
        raise KeyboardInterrupt


def bother():
    for _ in range(times):
        time.sleep(draws.random() * 0.02)
        os.kill(os.getpid(), signal.SIGINT)
    is_over.set()


def work(tasks):
    global is_armed
    try:
        while not is_over.is_set():
            is_armed = True
            first = tasks.kernel("first", lambda lane: sum(range(50)))
            tasks.host("then", lambda: sum(range(50)), after=[first])
            tasks.light("last", lambda: sum(range(50)), after=[first]).wait()
    finally:
        is_armed = False


signal.signal(signal.SIGINT, interrupt)
threading.Thread(target=bother).start()
seen = 0
with overtake_gpu.Dispatcher() as dispatcher:
    tasks = dispatcher.tasks()
    while not is_over.is_set():
        try:
            work(tasks)
        except (KeyboardInterrupt, overtake_gpu.TaskError) as ended:
            seen += isinstance(ended, KeyboardInterrupt)
    try:
        tasks.wait(60)
    except overtake_gpu.TaskError:
        pass  # a function that was interrupted
print("ok" if 0 < seen <= times else f"{seen} of {times}")
