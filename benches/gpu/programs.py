"""The programs that run natively and under `overtake run`: their builds, their commands and their limits."""

import concurrent.futures
import dataclasses
import importlib.util
import os
import shutil
import subprocess
import sys

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
# JAX would take most of the device's memory from the programs beside it.
ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits that must hold; None: not judged. Factors are medians over the rounds, each within one round."""
    # The median of the idle phase, and that of the loaded one, on the native median of the same phase.
    idle: float | None = 1.05
    loaded: float | None = 1.05
    # Under load, on the native median and the native p99 of the idle phase.
    loaded_on_idle: float | None = 1.5
    loaded_p99_on_idle: float | None = 2.0
    # The p99 under load, in microseconds.
    loaded_p99_us: float | None = None
    # The least share of the native rate of the bulk copies.
    bulk: float | None = 0.9


# A client is judged by the time of all its work; `run_clients.py` checks the other results.
WHOLE = Limits(loaded_on_idle=None, loaded_p99_on_idle=None, bulk=None)


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    source: str
    # The Python module that it needs, or the compiler.
    needs: str
    arguments: tuple = ()
    limits: Limits = Limits()
    # For the compiler.
    flags: tuple = ()
    # Rounds of `pair.py` at most: clients take long.
    rounds: int | None = None
    # It runs only where it is named: its cases have processes of their own and take minutes.
    by_name: bool = False


PROGRAMS = (
    Program("frames", "frames.c", "gcc", ("3", "0.4")),
    # JAX has one stream for both kinds of copies: the small ones come after the large ones by the program's own order.
    Program("device_put", "device_put.py", "jax", ("--rounds", "2", "--seconds", "1.2"),
            Limits(loaded_on_idle=None, loaded_p99_on_idle=None)),
    Program("shapes", "shapes.py", "torch"),
    Program("round_trip", "round_trip.py", "cupy"),
    Program("by_hand", "by_hand.py", "torch", limits=Limits(None, None, None, None, None, None)),
    Program("loaders", "loaders.py", "safetensors", limits=Limits(None, None, None, None, None, None), rounds=1),
    Program("contended", "contended.py", "torch", ("--rounds", "3", "--idle-samples", "80"),
            Limits(loaded_on_idle=1.2, loaded_p99_on_idle=1.5)),
    Program("serving", "serving.py", "torch", ("--segments", "2"), Limits(loaded_p99_us=200.0, bulk=None)),
    Program("unpinned", "unpinned.py", "torch", (), Limits(bulk=None)),
    Program("unmodified", "unmodified.py", "torch", limits=Limits(None, None, None, None, None, None), by_name=True),
    Program("offload", "offload.py", "ctypes", ("--rounds", "5"), Limits(loaded_p99_us=200.0, bulk=None)),
    Program("offload of 64 KiB", "offload.py", "ctypes", ("--rounds", "5", "--block-kib", "64"),
            Limits(loaded_p99_us=200.0, bulk=None)),
)


def client(name, source, needs, *flags):
    return Program(name, os.path.join("clients", source), needs, ("--timed",), WHOLE, flags, rounds=1)


CLIENTS = (
    client("torch streams", "torch_streams.py", "torch"),
    client("torch graphs", "torch_graphs.py", "torch"),
    client("torch loader", "torch_loader.py", "torch"),
    client("torch allocator", "torch_allocator.py", "torch"),
    client("cupy", "cupy_copies.py", "cupy"),
    client("jax", "jax_loop.py", "jax"),
    client("numba-cuda", "numba_copies.py", "numba"),
    client("cuda-bindings batch", "batches.py", "cuda.bindings"),
    client("cudart static", "copies.cu", "nvcc", "-cudart", "static"),
    client("cudart shared", "copies.cu", "nvcc", "-cudart", "shared"),
    client("per-thread stream", "copies.cu", "nvcc", "-cudart", "static", "--default-stream", "per-thread"),
    client("driver program", "driver.cu", "nvcc", "-lcuda"),
)
COMPILERS = {"gcc": ("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{HERE}/../../tests/c"),
             "nvcc": ("nvcc", "-O2", "-std=c++17", "-arch=native")}


def has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def library_flags():
    """The folders of the toolkit's libraries, for linker and loader, and of the stub of libcuda, for the linker."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
    folders = [os.path.join(root, *parts) for parts in (["lib64"], ["lib"], ["targets", "x86_64-linux", "lib"])]
    flags = []
    for folder in filter(os.path.isdir, folders):
        flags += [f"-L{folder}", f"-L{folder}/stubs", "-Xlinker", f"-rpath={folder}"]
    return flags


def compiled(program, folder):
    """The program's path, or None with a message on standard error if it does not compile."""
    path = os.path.join(folder, program.name.replace(" ", "-"))
    libraries = library_flags() if program.needs == "nvcc" else ["-ldl"]
    command = [*COMPILERS[program.needs], os.path.join(HERE, program.source), *program.flags, *libraries, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        print(f"{program.name} does not compile:\n{harness.tail(done.stderr)}", file=sys.stderr)
        return None
    return path


def gather(wanted, folder):
    """The programs that can run here, [(program, command without its arguments)]; the others, with the reason."""
    found, left_out, sources = [], [], []
    for program in wanted:
        if program.needs in COMPILERS:
            missing = not shutil.which(program.needs)
        else:
            missing = not has_module(program.needs)
        if missing:
            left_out.append(f"{program.name} (no {program.needs})")
        elif program.needs in COMPILERS:
            sources.append(program)
        else:
            found.append((program, [sys.executable, os.path.join(HERE, program.source)]))
    with concurrent.futures.ThreadPoolExecutor(len(sources) or 1) as pool:
        paths = list(pool.map(lambda program: compiled(program, folder), sources))
    found += [(program, [path]) for program, path in zip(sources, paths) if path]
    left_out += [f"{program.name} (does not compile)" for program, path in zip(sources, paths) if not path]
    return sorted(found, key=lambda item: wanted.index(item[0])), left_out
