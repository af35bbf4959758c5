"""The parts that programs with an idle and a loaded phase share: a thread with bulk, and phases in turn.

Needs nothing but Python's own library.
"""

import argparse
import statistics
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


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--samples", type=int, default=240, help="of each phase, all rounds together")
    parser.add_argument("--seconds", type=float, default=0.6, help="of one phase at most")
    return parser.parse_args()


def case(name, small, bulk, arguments):
    """Phases without and with bulk in turn, after one of each to warm up: one row of the output."""
    idle, loaded, rates = [], [], []
    for turn in range(arguments.rounds + 1):
        samples = arguments.samples // arguments.rounds if turn else 20
        quiet = phase(small, samples, arguments.seconds)
        with bulk:
            busy = phase(small, samples, arguments.seconds)
        if turn:
            idle, loaded, rates = idle + quiet, loaded + busy, [*rates, bulk.rate]
    bulk.check()
    return {"case": name, "idle_us": idle, "loaded_us": loaded, "bulk_gbs": statistics.median(rates),
            "bytes_ok": small.good and bulk.good}
