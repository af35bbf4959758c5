"""Runs every client natively and under `overtake run`, compares what they print, and tabulates what was intercepted."""

import argparse
import concurrent.futures
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = os.path.join(HERE, "clients")

# Name, file, what Python needs to have for it.
PYTHON = [("torch streams", "torch_streams.py", "torch"), ("torch graphs", "torch_graphs.py", "torch"),
          ("torch loader", "torch_loader.py", "torch"), ("torch allocator", "torch_allocator.py", "torch"),
          ("cupy", "cupy_copies.py", "cupy"), ("jax", "jax_loop.py", "jax"),
          ("numba-cuda", "numba_copies.py", "numba"), ("cuda-bindings batch", "batches.py", "cuda.bindings")]
# Name, source, flags of nvcc.
COMPILED = [("cudart static", "copies.cu", ["-cudart", "static"]),
            ("cudart shared", "copies.cu", ["-cudart", "shared"]),
            ("per-thread stream", "copies.cu", ["-cudart", "static", "--default-stream", "per-thread"]),
            ("driver program", "driver.cu", ["-lcuda"])]
# JAX would take most of the device's memory from the clients beside it.
ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONDONTWRITEBYTECODE": "1"}


def has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def library_flags():
    """Where the toolkit's libraries are, for the linker and the loader, and the stub of libcuda for the linker."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("nvcc"))))
    folders = [os.path.join(root, *parts) for parts in (["lib64"], ["lib"], ["targets", "x86_64-linux", "lib"])]
    flags = []
    for folder in filter(os.path.isdir, folders):
        flags += [f"-L{folder}", f"-L{folder}/stubs", "-Xlinker", f"-rpath={folder}"]
    return flags


def compile_client(name, source, flags, folder):
    """The program's path, or None with a word on standard error if it does not compile."""
    program = os.path.join(folder, name.replace(" ", "-").strip("-"))
    command = ["nvcc", "-O2", "-std=c++17", "-arch=native", os.path.join(CLIENTS, source), *flags,
               *library_flags(), "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        print(f"{name} does not compile:\n{harness.tail(done.stderr)}", file=sys.stderr)
        return None
    return program


def gather(only, folder):
    """The clients that this machine can run: {name: command}; and those that it cannot."""
    commands, left_out = {}, []
    for name, file, module in PYTHON:
        if not only or name in only:
            if has_module(module):
                commands[name] = [sys.executable, os.path.join(CLIENTS, file)]
            else:
                left_out.append(f"{name} (no Python module {module})")
    wanted = [row for row in COMPILED if not only or row[0] in only]
    if wanted and not shutil.which("nvcc"):
        return commands, left_out + [f"{name} (no nvcc)" for name, _, _ in wanted]
    with concurrent.futures.ThreadPoolExecutor(len(wanted) or 1) as pool:
        programs = pool.map(lambda row: compile_client(*row, folder), wanted)
    for (name, _, _), program in zip(wanted, programs):
        if program:
            commands[name] = [program]
        else:
            left_out.append(f"{name} (does not compile)")
    return commands, left_out


def result_of(done):
    """What must be the same: everything that a C program prints, the result line of a Python one, and the status."""
    lines = done["out"].splitlines()
    marked = [line for line in lines if line.startswith("RESULT {")]
    return done["status"], marked or lines


def both(name, command, arguments):
    """One client in both modes, one after the other."""
    options = ("--deployment", arguments.deployment)
    return name, {mode: harness.run(mode, command, arguments.limit_s, environment=ENVIRONMENT, options=options)
                  for mode in harness.MODES}


def row_of(name, runs):
    """The line of the table."""
    native, ours = runs["native"], runs["overtake"]
    counts, reasons = harness.copy_counts(ours["report"])
    ended = native["status"] == 0
    same = ended and result_of(native) == result_of(ours)
    verdict = "yes" if same else "native fails" if not ended else "timeout" if ours["status"] == "timeout" else "NO"
    return {"client": name, "native_s": native["wall_s"], "overtake_s": ours["wall_s"], "same": verdict,
            "status": ours["status"], "copies": counts, "passed_on": reasons,
            "calls": harness.call_counts(ours["report"]), "report": ours["report"] is not None,
            **harness.sums(ours["report"])}


def explain(row, runs):
    """Says what differs."""
    for mode, done in runs.items():
        print(f"  {row['client']}, {mode}: status {done['status']}\n{harness.tail(done['err'])}")
    before, after = (result_of(runs[mode])[1] for mode in harness.MODES)
    for left, right in zip(before, after):
        if left != right:
            print(f"    native   {left[:400]}\n    overtake {right[:400]}")


def print_calls(rows):
    """Calls by symbol over all clients."""
    totals = {}
    for row in rows:
        for symbol, (intercepted, passed) in row["calls"].items():
            both_counts = totals.setdefault(symbol, [0, 0])
            both_counts[0] += intercepted
            both_counts[1] += passed
    print("\ncalls by symbol, all clients")
    harness.print_table(["symbol", "intercepted", "passed on"],
                        [[symbol, *counts] for symbol, counts in sorted(totals.items()) if any(counts)])


def print_rows(rows):
    reasons = sorted({f"{reason}: {copies}" for row in rows for reason, copies in row["passed_on"].items()})
    print("\nreasons for passing copies on (by client):", "; ".join(reasons) or "none")
    for text in sorted({text for row in rows for text in row["warnings"]}):
        print("warning:", text)
    print()
    harness.print_table(
        ["client", "native s", "overtake s", "same result", "urgent", "kernel", "engine", "passed on", "rescues",
         "stood down"],
        [[row["client"], row["native_s"], row["overtake_s"], row["same"], row["copies"]["urgent"],
          row["copies"]["kernel"], row["copies"]["engine"], row["copies"]["passed on"], row["rescues"],
          "yes" if row["stood_down"] else "no"] for row in rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[], help="the name of a client; may be given again")
    parser.add_argument("--jobs", type=int, default=4, help="clients at once; times are indicative if above 1")
    parser.add_argument("--limit-s", type=float, default=60)
    parser.add_argument("--deployment", choices=("preload", "shadow", "audit"), default="preload")
    arguments = parser.parse_args()
    harness.tools()
    with tempfile.TemporaryDirectory(prefix="overtake-clients-") as folder:
        commands, left_out = gather(arguments.only, folder)
        if not commands:
            sys.exit("no client can run here: " + "; ".join(left_out))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            done = list(pool.map(lambda item: both(*item, arguments), commands.items()))
    rows = [row_of(name, runs) for name, runs in done]
    harness.save(f"clients-{arguments.deployment}.json",
                 {"deployment": arguments.deployment, "jobs": arguments.jobs, "left_out": left_out, "rows": rows})
    for row, (_, runs) in zip(rows, done):
        if row["same"] != "yes":
            explain(row, runs)
    print_calls(rows)
    for text in left_out:
        print("left out:", text)
    print_rows(rows)
    sys.exit(0 if all(row["same"] == "yes" for row in rows) else 1)


if __name__ == "__main__":
    main()
