"""Programs as people write them, most with pageable memory: what each takes, and what comes of it.

Usage: unmodified.py [CASE]... [--samples N] [--mib N] [--device cuda] [--list]

Each case has a process of its own, so that its copies are the first of a process, as in a program of that kind. It
needs no network: models have random weights, and a case whose package is missing is left out. The loaded phase, where a
case has one, is the same beside a thread that makes `.cpu()` copies of another model. The last line of the output is a
JSON object; `pair.py unmodified` runs it natively and under `overtake run` and compares the digests of the results.
`--device cpu` tries most of it without a GPU.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
# Kernels that add in the same order in each run, so that natively two runs have one result.
DETERMINISTIC = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "NVIDIA_TF32_OVERRIDE": "0"}
# A part of `.cpu()` and `.to("cuda")`, as large as a tensor of a layer.
TENSOR_MIB = 32


def digest(*parts):
    """A digest of arrays, tensors and numbers."""
    total = hashlib.sha256()
    for part in parts:
        if hasattr(part, "detach"):
            part = part.detach().cpu().contiguous().view(-1).numpy()
        total.update(part.tobytes() if hasattr(part, "tobytes") else repr(part).encode())
    return total.hexdigest()[:16]


def timed(step, samples, wait):
    """The times of steps in microseconds, each with the wait for its end."""
    taken_us = []
    for _ in range(samples):
        began = time.perf_counter()
        step()
        wait()
        taken_us.append(round((time.perf_counter() - began) * 1e6, 1))
    return taken_us


class Torch:
    """PyTorch on the device, with deterministic kernels."""

    def __init__(self, arguments):
        import torch

        self.torch, self.device = torch, arguments.device
        torch.manual_seed(7)
        torch.use_deterministic_algorithms(True)
        # It would write all memory that a copy is about to fill.
        torch.utils.deterministic.fill_uninitialized_memory = False
        self.wait = torch.cuda.synchronize if self.device == "cuda" else lambda: None

    def linear(self, width, layers):
        nn = self.torch.nn
        parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
        return nn.Sequential(*parts).to(self.device)

    def train(self, model, batch, samples, context):
        """Times of training steps, and the digest of their losses."""
        optimizer, losses = self.torch.optim.SGD(model.parameters(), lr=1e-3), []

        def step():
            with context():
                loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())

        step()
        return timed(step, samples, self.wait), digest(losses)

    def group(self, backend):
        """This process alone as a group, without a network."""
        path = os.path.join(tempfile.mkdtemp(), "store")
        self.torch.distributed.init_process_group(backend, init_method=f"file://{path}", rank=0, world_size=1)


class Beside:
    """A thread that fetches the weights of another model with `.cpu()`, one after the other."""

    def __init__(self, gpu, mib):
        self.gpu, self.weights = gpu, [gpu.torch.full((TENSOR_MIB * MIB,), layer % 200, dtype=gpu.torch.uint8,
                                                      device=gpu.device) for layer in range(max(1, mib // TENSOR_MIB))]
        self.moved, self.good, self.rate, self.ending = 0, True, None, threading.Event()

    def work(self):
        began = time.perf_counter()
        while not self.ending.is_set():
            for layer, weight in enumerate(self.weights):
                fetched = weight.cpu()
                self.good = self.good and int(fetched[0]) == layer % 200 == int(fetched[-1])
                self.moved += weight.numel()
                if self.ending.is_set():
                    break
        self.rate = self.moved / (time.perf_counter() - began) / 1e9

    def __enter__(self):
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def decode(arguments):
    """Greedy decoding, a token at a time, whose `.item()` waits for each."""
    gpu = Torch(arguments)
    torch, width, layers = gpu.torch, 1024, 12
    model, table = gpu.linear(width, layers), torch.randn(8192, width, device=gpu.device)
    tokens, state = [1], torch.zeros(width, device=gpu.device)

    @torch.no_grad()
    def step():
        nonlocal state
        state = torch.tanh(state + model(table[tokens[-1]]))
        tokens.append(int((table @ state).argmax().item()))

    idle_us = timed(step, arguments.samples * 5, gpu.wait)[arguments.samples:]
    with Beside(gpu, arguments.mib) as beside:
        # It waits for its token, and not for the copies of the other thread.
        loaded_us = timed(step, arguments.samples * 2, lambda: None)
    return {"idle_us": idle_us, "loaded_us": loaded_us, "bulk_gbs": beside.rate, "bytes_ok": beside.good,
            "digest": digest(tokens)}


def generate(arguments):
    """The same by the library transformers, with a model that has GPT-2's shape."""
    import transformers

    gpu = Torch(arguments)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config()).to(gpu.device).eval()
    prompt, results = gpu.torch.arange(1, 33, device=gpu.device)[None], []

    def step():
        made = model.generate(prompt, attention_mask=gpu.torch.ones_like(prompt), do_sample=False, pad_token_id=0,
                              min_new_tokens=16, max_new_tokens=16)
        results.append(made[0].tolist())

    step()
    idle_us = timed(step, arguments.samples, gpu.wait)
    with Beside(gpu, arguments.mib) as beside:
        loaded_us = timed(step, max(2, arguments.samples // 4), lambda: None)
    same = all(result == results[0] for result in results)
    return {"idle_us": idle_us, "loaded_us": loaded_us, "bulk_gbs": beside.rate, "bytes_ok": beside.good and same,
            "digest": digest(results[0])}


def fsdp(arguments):
    """Training steps with FSDP2, whose parameters are in pageable host memory between the steps."""
    gpu = Torch(arguments)
    from torch.distributed import fsdp as sharded

    gpu.group("nccl" if gpu.device == "cuda" else "gloo")
    model, policy = gpu.linear(2048, 16), sharded.CPUOffloadPolicy(pin_memory=False)
    for layer in model:
        if list(layer.parameters()):
            sharded.fully_shard(layer, offload_policy=policy)
    sharded.fully_shard(model, offload_policy=policy)
    batch = gpu.torch.randn(256, 2048, device=gpu.device)
    import contextlib

    idle_us, result = gpu.train(model, batch, arguments.samples, contextlib.nullcontext)
    gpu.torch.distributed.destroy_process_group()
    return {"idle_us": idle_us, "digest": result}


def save_on_cpu(arguments, pin_memory=False):
    """Training steps whose activations wait in host memory for the way back."""
    gpu = Torch(arguments)
    context = lambda: gpu.torch.autograd.graph.save_on_cpu(pin_memory=pin_memory)
    model, batch = gpu.linear(2048, 12), gpu.torch.randn(8192, 2048, device=gpu.device)
    idle_us, result = gpu.train(model, batch, max(2, arguments.samples // 4), context)
    return {"idle_us": idle_us, "digest": result}


def checkpoint(arguments):
    """The call that stages a checkpoint, which the program waits for; the writing goes on behind it."""
    gpu = Torch(arguments)
    from torch.distributed import checkpoint as stored

    gpu.group("gloo")
    count = max(1, arguments.mib // TENSOR_MIB)
    state = {f"layer {layer}": gpu.torch.randn(TENSOR_MIB * MIB // 4, device=gpu.device) for layer in range(count)}
    idle_us, good = [], True
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            writing = stored.async_save(state, checkpoint_id=folder)
            idle_us.append(round((time.perf_counter() - began) * 1e6, 1))
            writing.result()
            back = {name: gpu.torch.empty_like(tensor, device="cpu") for name, tensor in state.items()}
            stored.load(back, checkpoint_id=folder)
            good = good and all(gpu.torch.equal(back[name], tensor.cpu()) for name, tensor in state.items())
    gpu.torch.distributed.destroy_process_group()
    return {"idle_us": idle_us, "bytes_ok": good, "digest": digest(*list(state.values())[:2])}


def copies(arguments, gpu_of):
    """Tensors of a model to the host and to the device, from and to memory that nobody has pinned."""
    there, back, wait = gpu_of(arguments)
    import numpy

    count = max(1, arguments.mib // TENSOR_MIB)
    source = [numpy.full(TENSOR_MIB * MIB, layer % 200, numpy.uint8) for layer in range(count)]
    near, fetched = [], []
    to_device = timed(lambda: near.append(there(source[len(near)])), count, wait)
    to_host = timed(lambda: fetched.append(back(near[len(fetched)])), count, wait)
    good = all(numpy.array_equal(before, after) for before, after in zip(source, fetched))
    rate = lambda taken_us: count * TENSOR_MIB * MIB / sum(taken_us) / 1e3
    return [{"to": end, "idle_us": taken_us, "bytes_ok": good, "bulk_gbs": rate(taken_us)}
            for end, taken_us in (("device", to_device), ("host", to_host))]


def of_torch(arguments):
    gpu = Torch(arguments)
    return (lambda array: gpu.torch.from_numpy(array).to(gpu.device)), (lambda near: near.cpu().numpy()), gpu.wait


def of_cupy(_):
    import cupy

    return cupy.asarray, cupy.asnumpy, cupy.cuda.Device().synchronize


def of_jax(_):
    import jax
    import numpy

    # A copy: on the CPU the array may be the same memory.
    there = lambda array: jax.device_put(array).block_until_ready()
    return there, (lambda near: numpy.array(near)), (lambda: None)


def load_file(arguments):
    """Weights from a file by safetensors, which maps it."""
    gpu = Torch(arguments)
    from safetensors import torch as stored

    count = max(1, arguments.mib // TENSOR_MIB)
    weights = {f"layer {layer}": gpu.torch.full((TENSOR_MIB * MIB,), layer % 200, dtype=gpu.torch.uint8)
               for layer in range(count)}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.safetensors")
        stored.save_file(weights, path)
        loaded = []
        idle_us = timed(lambda: loaded.append(stored.load_file(path, device=gpu.device)), 3, gpu.wait)
        good = all(gpu.torch.equal(loaded[0][name].cpu(), weights[name]) for name in weights)
    return {"idle_us": idle_us, "bytes_ok": good, "bulk_gbs": count * TENSOR_MIB * MIB / min(idle_us) / 1e3}


def offload(arguments):
    """Forwards of a model that accelerate brings to the device layer by layer."""
    import accelerate

    gpu = Torch(arguments)
    model = gpu.linear(4096, 8).to("cpu")
    batch = gpu.torch.randn(64, 4096, device=gpu.device)
    moved, results = accelerate.cpu_offload(model, execution_device=gpu.device), []

    @gpu.torch.no_grad()
    def step():
        results.append(moved(batch))

    step()
    return {"idle_us": timed(step, arguments.samples, gpu.wait), "digest": digest(results[-1])}


# The name of each case, the package that it needs, and its function.
CASES = {
    "decode": ("torch", decode),
    "transformers": ("transformers", generate),
    "fsdp": ("torch", fsdp),
    "save_on_cpu": ("torch", save_on_cpu),
    "save_on_cpu pinned": ("torch", lambda arguments: save_on_cpu(arguments, pin_memory=True)),
    "checkpoint": ("torch", checkpoint),
    "torch copies": ("torch", lambda arguments: copies(arguments, of_torch)),
    "cupy copies": ("cupy", lambda arguments: copies(arguments, of_cupy)),
    "jax copies": ("jax", lambda arguments: copies(arguments, of_jax)),
    "safetensors": ("safetensors", load_file),
    "accelerate": ("accelerate", offload),
}


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", help="; ".join(CASES))
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--mib", type=int, default=1024, help="of the weights that are moved")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--here", action="store_true", help="the one case in this process")
    parser.add_argument("--list", action="store_true", help="print the cases whose packages are here")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}: there are " + ", ".join(CASES))
    return arguments


def of_child(name, arguments):
    """The rows of a case, measured in a process of its own; its complaint ends this program."""
    command = [sys.executable, os.path.abspath(__file__), name, "--here", "--samples", str(arguments.samples), "--mib",
               str(arguments.mib), "--device", arguments.device]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **DETERMINISTIC})
    if done.returncode != 0:
        sys.exit(f"{name}: status {done.returncode}")
    result = json.loads(done.stdout.splitlines()[-1])
    print(f"{name}: done", flush=True)
    named = lambda row: f"{name} to the {row['to']}" if "to" in row else name
    return [{"case": named(row), "loaded_us": [], "bytes_ok": True, **row}
            for row in (result if isinstance(result, list) else [result])]


def main():
    arguments = parsed()
    if arguments.list:
        print("\n".join(name for name, (package, _) in CASES.items() if importlib.util.find_spec(package)))
        return
    if arguments.here:
        print(json.dumps(CASES[arguments.cases[0]][1](arguments)), flush=True)
        return
    rows, left_out, packages = [], [], set()
    for name in arguments.cases or CASES:
        if importlib.util.find_spec(CASES[name][0]) is None:
            left_out.append(f"{name} (no {CASES[name][0]})")
        else:
            rows += of_child(name, arguments)
            packages.add(CASES[name][0])
    if left_out:
        print("left out: " + ", ".join(left_out), file=sys.stderr)
    print(json.dumps({"script": "unmodified", "left_out": left_out, "versions": versions(packages), "rows": rows}),
          flush=True)


def versions(packages):
    """The versions of the packages whose cases ran."""
    from importlib import metadata

    found = {}
    for name in sorted(packages):
        for package in (name, f"{name}-cuda12x", f"{name}-cuda13x"):
            try:
                found[name] = metadata.version(package)
                break
            except metadata.PackageNotFoundError:
                continue
    return found


if __name__ == "__main__":
    main()
