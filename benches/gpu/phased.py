"""The parts that programs with an idle and a loaded phase share: a thread with bulk, and phases in turn.

Needs nothing but Python's own library.
"""

import argparse
import atexit
import os
import statistics
import sys
import threading
import time

PAUSE_S = 0.001
# Bulk is under way when the first step of a loaded phase begins.
LEAD_S = 0.02


class Bulk:
    """The thread of a program's bulk: it repeats `once`, which returns the bytes that it has moved."""

    def __init__(self):
        self.good, self.rate, self.ending, self.thread = True, 0.0, None, None

    def work(self):
        moved, began = 0, time.perf_counter()
        while not self.ending.is_set():
            moved += self.once()
        self.rate = moved / (time.perf_counter() - began) / 1e9

    def __enter__(self):
        self.ending, self.thread = threading.Event(), threading.Thread(target=self.work)
        self.thread.start()
        time.sleep(LEAD_S)

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def check(self):
        """Whether the last bytes have arrived, where `once` does not look itself."""


def phase(small, samples, seconds):
    """The times of steps in microseconds: so many, or as many as the time allows."""
    taken_us, until = [], time.perf_counter() + seconds
    while len(taken_us) < samples and time.perf_counter() < until:
        began = time.perf_counter()
        small.step()
        taken_us.append(round((time.perf_counter() - began) * 1e6, 1))
        time.sleep(PAUSE_S)
    small.check()
    return taken_us


def await_turn():
    """Under `turns.py`: the program is ready, and waits until the ones before it have measured. It goes on to exist
    until all have, so that its end disturbs none of them."""
    if "OVERTAKE_TURNS" in os.environ:
        print("ready", flush=True)
        sys.stdin.readline()
        atexit.register(sys.stdin.read)


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--samples", type=int, default=240, help="of each phase, all rounds together")
    parser.add_argument("--seconds", type=float, default=0.6, help="of one phase at most")
    return parser.parse_args()


def turn(small, bulk, samples, seconds):
    """A phase without bulk, and one with it."""
    quiet = phase(small, samples, seconds)
    with bulk:
        return quiet, phase(small, samples, seconds)


def cases(prepared, arguments):
    """The rows of cases, each a name, the steps and the bulk: phases without and with bulk in turn, after one of each
    to warm up."""
    prepared = list(prepared)
    for _, small, bulk in prepared:
        turn(small, bulk, 20, arguments.seconds)
    await_turn()
    return [row(name, small, bulk, arguments) for name, small, bulk in prepared]


def row(name, small, bulk, arguments):
    idle, loaded, rates = [], [], []
    for _ in range(arguments.rounds):
        quiet, busy = turn(small, bulk, arguments.samples // arguments.rounds, arguments.seconds)
        idle, loaded, rates = idle + quiet, loaded + busy, [*rates, bulk.rate]
    bulk.check()
    return {"case": name, "idle_us": idle, "loaded_us": loaded, "bulk_gbs": statistics.median(rates),
            "bytes_ok": small.good and bulk.good}
