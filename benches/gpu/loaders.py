"""A model's weights from a safetensors file to the device: plainly, by hand, and by libraries that are made for it.

* `plain`: `load_file(path)`, which maps the file, then `.to("cuda")` for each tensor: copies of pageable memory.
* `safetensors`: `load_file(path, device="cuda")`, which copies each tensor to pinned memory with one thread.
* `torch.load` with `map_location="cuda"`: one thread reads each tensor into new memory.
* `mapped torch.load`: with `mmap=True`, then `.to("cuda")` for each tensor: copies of pageable memory.
* `pinned by hand`: a thread reads the file into one of two pinned buffers while the other one is copied.
* `fastsafetensors`, `Run:ai streamer`, `InstantTensor`: libraries that load models, called as their manuals say. Those
  that are not installed are left out.

The files are in memory: in the folder LOADERS_FOLDER, where `loaders.py --make` has made them, else they are made anew.
LOADERS_WAYS names some of the ways (`plain,InstantTensor`), else all are run. A thread of C, which no lock of Python
stops, copies 64 KiB to the device again and again: while nothing is loaded, and beside a load. A load alone is the
process's first one of its way, after one of a small file; the one beside the copies is its second. Every byte is summed
on the device. The last line of the output is a JSON object; `turns.py loaders` runs it natively and under
`overtake run`.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import safetensors.torch
import torch

import phased

MIB = 1 << 20
# A layer of a language model: four square matrices, three of its inner width, two norms.
LAYER_BYTES = (*[32 * MIB] * 4, *[86 * MIB] * 3, *[8 << 10] * 2)
SMALL_BYTES = (4 * MIB, 8 << 10)
HAND_BYTES = 32 * MIB
IDLE_S = 0.06
SAMPLES_MAX = 200000


class Urgent:
    """The thread of C: copies of 64 KiB to the device, one after the other, on a plain stream."""

    def __init__(self, library):
        self.library, self.count = ctypes.CDLL(library), 0
        self.taken_us = (ctypes.c_double * SAMPLES_MAX)()

    def __enter__(self):
        self.library.loaders_begin(self.taken_us, SAMPLES_MAX)
        return self

    def __exit__(self, *_):
        self.count = self.library.loaders_end()

    def times_us(self):
        return [round(self.taken_us[at], 1) for at in range(self.count)]


def plain_way(model):
    return {name: tensor.to("cuda") for name, tensor in safetensors.torch.load_file(model.path).items()}


def safetensors_way(model):
    return safetensors.torch.load_file(model.path, device="cuda")


def torch_way(model):
    return torch.load(model.path + ".pt", map_location="cuda", weights_only=True)


def mapped_torch_way(model):
    tensors = torch.load(model.path + ".pt", mmap=True, map_location="cpu", weights_only=True)
    return {name: tensor.to("cuda") for name, tensor in tensors.items()}


def hand_way(model):
    """What an author would write: two pinned buffers, a thread that reads, and events between."""
    size = os.path.getsize(model.path)
    buffers = [torch.empty(HAND_BYTES, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    free, full = [threading.Semaphore(1) for _ in buffers], [threading.Semaphore(0) for _ in buffers]
    whole, stream = torch.empty(size, dtype=torch.uint8, device="cuda"), torch.cuda.Stream()
    places = list(range(0, size, HAND_BYTES))

    def read():
        with open(model.path, "rb", buffering=0) as file:
            for turn, at in enumerate(places):
                free[turn % 2].acquire()
                file.readinto(memoryview(buffers[turn % 2].numpy())[:min(HAND_BYTES, size - at)])
                full[turn % 2].release()

    reader, last = threading.Thread(target=read), None
    reader.start()
    with torch.cuda.stream(stream):
        for turn, at in enumerate(places):
            full[turn % 2].acquire()
            count = min(HAND_BYTES, size - at)
            whole[at:at + count].copy_(buffers[turn % 2][:count], non_blocking=True)
            if last:
                last[0].synchronize()
                free[last[1]].release()
            last = (stream.record_event(), turn % 2)
    reader.join()
    stream.synchronize()
    return {name: whole[begin:end] for name, (begin, end) in model.places.items()}


def fast_way(model):
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup
    loader = SafeTensorsFileLoader(SingleGroup(), "cuda:0", nogds=True)
    loader.add_filenames({0: [model.path]})
    buffers = loader.copy_files_to_device()
    tensors = {name: buffers.get_tensor(name) for name in loader.get_keys()}
    loader.close()
    return tensors


def streamer_way(model):
    from runai_model_streamer import SafetensorsStreamer
    with SafetensorsStreamer() as streamer:
        streamer.stream_file(model.path, device="cuda:0")
        return dict(streamer.get_tensors())


def instant_way(model):
    from instanttensor import safe_open
    with safe_open(model.path, framework="pt", device=0) as file:
        return dict(file.tensors())


WAYS = (("plain", plain_way, "safetensors"), ("safetensors", safetensors_way, "safetensors"),
        ("torch.load", torch_way, "torch"), ("mapped torch.load", mapped_torch_way, "torch"),
        ("pinned by hand", hand_way, "torch"), ("fastsafetensors", fast_way, "fastsafetensors"),
        ("Run:ai streamer", streamer_way, "runai_model_streamer"), ("InstantTensor", instant_way, "instanttensor"))


class Model:
    """A file of weights, with the places and the sums of its tensors."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            header = json.loads(file.read(begin := int.from_bytes(file.read(8), "little")))
        told = header.pop("__metadata__")
        self.sums = json.loads(told["sums"])
        self.places = {name: [begin + 8 + at for at in one["data_offsets"]] for name, one in header.items()}
        self.bytes = sum(end - start for start, end in self.places.values())

    @staticmethod
    def make(path, sizes):
        """Writes the file, and the same tensors as PyTorch stores them."""
        random = numpy.random.Generator(numpy.random.SFC64(len(sizes)))
        tensors = {f"{at}.weight": torch.from_numpy(random.integers(0, 1 << 62, size // 8, dtype=numpy.int64))
                   for at, size in enumerate(sizes)}
        sums = {name: sum_of(tensor) for name, tensor in tensors.items()}
        tensors = {name: tensor.view(torch.uint8) for name, tensor in tensors.items()}
        safetensors.torch.save_file(tensors, path, {"sums": json.dumps(sums)})
        torch.save(tensors, path + ".pt")

    def is_right(self, tensors):
        return {name: sum_of(tensor.view(torch.int64)) for name, tensor in tensors.items()} == self.sums


def sum_of(tensor):
    return int(torch.sum(tensor).item())


def load(way, model):
    """Its bytes a second, in 10^9, and whether all arrived."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    tensors = way(model)
    torch.cuda.synchronize()
    rate = model.bytes / (time.perf_counter() - began) / 1e9
    right = model.is_right(tensors)
    del tensors
    torch.cuda.empty_cache()
    return rate, right


def row(name, way, model, urgent):
    alone, first_right = load(way, model)
    with urgent:
        time.sleep(IDLE_S)
    idle_us = urgent.times_us()
    with urgent:
        beside, second_right = load(way, model)
    return {"case": name, "idle_us": idle_us, "loaded_us": urgent.times_us(), "bulk_gbs": beside,
            "bulk_alone_gbs": alone, "bytes_ok": first_right and second_right}


def prepared(small):
    """The ways that are installed and load the small file."""
    asked = os.environ.get("LOADERS_WAYS")
    for name, way, needs in WAYS:
        if asked and name not in asked.split(","):
            continue
        if importlib.util.find_spec(needs) is None:
            print(f"left out: {name} (no {needs})", file=sys.stderr)
            continue
        try:
            _, right = load(way, small)
        except Exception as error:
            print(f"left out: {name} ({type(error).__name__}: {error})", file=sys.stderr)
            continue
        if right:
            yield name, way


def in_memory():
    """A folder whose files are in memory, if this machine has one."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=4, help="of 386 MiB")
    parser.add_argument("--make", action="store_true", help="make the files in LOADERS_FOLDER, and end")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="overtake-loaders-", dir=in_memory()) as own:
        folder = os.environ.get("LOADERS_FOLDER", own)
        large, small = os.path.join(folder, "large.safetensors"), os.path.join(folder, "small.safetensors")
        if arguments.make or not os.path.exists(small):
            os.makedirs(folder, exist_ok=True)
            Model.make(large, LAYER_BYTES * arguments.layers)
            Model.make(small, SMALL_BYTES)
        if not arguments.make:
            measure(Model(large), Model(small), own)


def measure(large, small, own):
    # A library that prints must not come between the lines that `turns.py` reads.
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    here = os.path.dirname(os.path.abspath(__file__))
    library = os.path.join(own, "loaders.so")
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC", "-pthread", f"-I{here}/../../tests/c",
                    os.path.join(here, "loaders.c"), "-ldl", "-o", library], check=True)
    torch.zeros(1, device="cuda")
    ways, urgent = list(prepared(small)), Urgent(library)
    with urgent:
        time.sleep(IDLE_S)
    phased.await_turn()
    rows = [row(name, way, large, urgent) for name, way in ways]
    print(json.dumps({"script": "loaders", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "rows": rows}), flush=True)


if __name__ == "__main__":
    main()
