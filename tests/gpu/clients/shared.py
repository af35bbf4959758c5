"""What the clients share: known bytes, and a result line of digests that must not depend on how copies are made."""

import hashlib
import json
import sys

import numpy

BULK_BYTES = 32 << 20
SMALL_BYTES = 64 << 10


def known_bytes(count, seed):
    return numpy.random.Generator(numpy.random.PCG64(seed)).integers(0, 256, count, dtype=numpy.uint8)


class Result:
    """Digests by name, printed as one line. `must` is for what the client itself can tell to be wrong."""

    def __init__(self, client):
        self.client, self.values, self.wrong = client, {}, []

    def digest(self, name, array):
        flat = numpy.ascontiguousarray(array)
        self.values[name] = hashlib.sha256(flat.view(numpy.uint8).tobytes()).hexdigest()[:16]

    def value(self, name, value):
        self.values[name] = value

    def must(self, name, truth):
        if not truth:
            self.wrong.append(name)

    def finish(self):
        print("RESULT " + json.dumps({"client": self.client, "values": self.values, "wrong": self.wrong},
                                     sort_keys=True), flush=True)
        sys.exit(1 if self.wrong else 0)
