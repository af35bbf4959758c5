"""Common parts of the clients: known bytes, a result line of digests that must not depend on how copies are made, and
the phases of a client: idle, and beside copies of 64 MiB that a thread keeps under way on a stream of its own."""

import ctypes
import hashlib
import json
import os
import sys
import threading
import time

import numpy

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from driver import Driver, check  # noqa: E402

BULK_BYTES = 32 << 20
SMALL_BYTES = 64 << 10
LOAD_BYTES, LOADS_QUEUED, LOAD_LOOK_S = 64 << 20, 4, 0.0005
RELAXED = 2


def known_bytes(count, seed):
    return numpy.random.Generator(numpy.random.PCG64(seed)).integers(0, 256, count, dtype=numpy.uint8)


class Result:
    """Digests by name, printed as one line. `must` is for mistakes that the client itself detects."""

    def __init__(self, client):
        self.client, self.values, self.wrong = client, {}, []

    def digest(self, name, array):
        flat = numpy.ascontiguousarray(array)
        self.value(name, hashlib.sha256(flat.view(numpy.uint8).tobytes()).hexdigest()[:16])

    def value(self, name, value):
        """Keeps a value; a later phase must have the same."""
        self.must(f"{name} as in the first phase", self.values.setdefault(name, value) == value)

    def must(self, name, truth):
        if not truth:
            self.wrong.append(name)

    def finish(self):
        print("RESULT " + json.dumps({"client": self.client, "values": self.values, "wrong": self.wrong},
                                     sort_keys=True), flush=True)
        sys.exit(1 if self.wrong else 0)


class Load:
    """The thread with the large copies, in the context that the client uses."""

    def __init__(self):
        self.driver = Driver()
        self.there, (self.host, _) = self.driver.device_bytes(LOAD_BYTES), self.driver.pinned_bytes(LOAD_BYTES)
        self.stream, self.events = self.driver.stream(), [self.driver.event() for _ in range(LOADS_QUEUED)]
        self.ending, self.thread, self.rate_gbs, self.error = None, None, 0.0, None

    def run(self):
        try:
            self.work()
        except OSError as error:
            self.error = error

    def work(self):
        # The client may be capturing meanwhile, and the calls here must not affect that.
        self.driver.use()
        self.driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(ctypes.c_int(RELAXED)))
        made, done, began = 0, 0, time.perf_counter()
        while not self.ending.is_set():
            while made - done < LOADS_QUEUED:
                check(self.driver.to_device(self.there, self.host, LOAD_BYTES, self.stream), "cuMemcpyHtoDAsync")
                self.driver.record(self.events[made % LOADS_QUEUED], self.stream)
                made += 1
            if self.driver.done(self.events[done % LOADS_QUEUED]):
                done += 1
            else:
                time.sleep(LOAD_LOOK_S)
        self.driver.synchronize(self.stream)
        self.rate_gbs = made * LOAD_BYTES / (time.perf_counter() - began) / 1e9

    def __enter__(self):
        self.ending, self.thread = threading.Event(), threading.Thread(target=self.run)
        self.thread.start()

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()
        if self.error:
            raise self.error


def phases(result, work):
    """Does the work idle and loaded, and ends with the result. With `--timed` a run to warm up comes first, and a line
    for `pair.py` gives the time of the work in each phase."""
    def once():
        began = time.perf_counter()
        work()
        return round((time.perf_counter() - began) * 1e6, 1)

    timed = "--timed" in sys.argv
    if timed:
        once()
    idle_us, load = once(), Load()
    with load:
        loaded_us = once()
    if timed:
        row = {"case": "all of it", "idle_us": [idle_us], "loaded_us": [loaded_us], "bulk_gbs": load.rate_gbs,
               "bytes_ok": not result.wrong}
        print(json.dumps({"script": result.client, "device": load.driver.device_name(), "rows": [row]}), flush=True)
    result.finish()
