"""The programs that `pair.py` runs natively and under `overtake run`: how each is started, and what has to hold."""

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
    """What may not be exceeded; None: not judged. Factors are medians over the rounds, each within one round."""
    # The median of the idle phase, and that of the loaded one, on the native median of the same phase.
    idle: float | None = 1.05
    loaded: float | None = 1.05
    # Under load, on the native median and the native p99 of the idle phase: for copies that are to overtake the load.
    loaded_on_idle: float | None = None
    loaded_p99_on_idle: float | None = None
    # The p99 under load, in microseconds.
    loaded_p99_us: float | None = None
    # The least share of the native rate of the bulk copies.
    bulk: float | None = 0.9


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    source: str
    # The Python module that it needs, or "gcc".
    needs: str
    arguments: tuple = ()
    limits: Limits = Limits()


PROGRAMS = (
    Program("frames", "frames.c", "gcc", ("3", "0.4")),
    Program("device_put", "device_put.py", "jax", ("--rounds", "2", "--seconds", "1.2")),
    Program("contended", "contended.py", "torch", ("--rounds", "3", "--idle-samples", "80"),
            Limits(loaded_on_idle=1.2, loaded_p99_on_idle=1.5)),
    Program("serving", "serving.py", "torch", ("--segments", "2"), Limits(loaded_p99_us=200.0, bulk=None)),
    Program("offload", "offload.py", "ctypes", ("--rounds", "5"), Limits(loaded_p99_us=200.0, bulk=None)),
)


def has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def compiled(program, folder):
    """The path of a C program of this folder, built in that one."""
    path = os.path.join(folder, program.name)
    command = ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{HERE}/../c",
               os.path.join(HERE, program.source), "-ldl", "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{program.name} does not compile:\n{harness.tail(done.stderr)}")
    return path


def gather(names, folder):
    """What of these programs can run here, [(program, command)]; and what cannot, with the reason."""
    found, left_out = [], []
    for program in PROGRAMS:
        if names and program.name not in names:
            continue
        if program.needs == "gcc" and shutil.which("gcc"):
            found.append((program, [compiled(program, folder), *program.arguments]))
        elif program.needs != "gcc" and has_module(program.needs):
            found.append((program, [sys.executable, os.path.join(HERE, program.source), *program.arguments]))
        else:
            left_out.append(f"{program.name} (no {program.needs})")
    return found, left_out
