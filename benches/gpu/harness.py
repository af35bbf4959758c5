"""Runs a program natively or under `overtake run`, bounded in time, and prints tables.

Needs nothing but Python's own library, so that every script here can use it on a machine that has little else.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

MODES = ("native", "overtake")
CLASSES = ("urgent", "kernel", "engine")
# Fewer samples give no reliable 99th percentile.
P99_SAMPLES = 1000
RUNNING = set()


def tools():
    """The command `overtake`: in $OVERTAKE_BIN, else on PATH."""
    folder = os.environ.get("OVERTAKE_BIN")
    found = shutil.which("overtake", path=os.path.abspath(folder)) if folder else shutil.which("overtake")
    if not found:
        sys.exit("no command `overtake`: build it (cargo build --release) and name its folder in OVERTAKE_BIN")
    return os.path.abspath(found)


def preload_library():
    """The drop-in itself, for measurements without the command around it."""
    path = os.path.join(os.path.dirname(tools()), "libovertake_preload.so")
    if not os.path.exists(path):
        sys.exit(f"{path} is missing: build the package overtake-preload and put the library beside `overtake`")
    return path


def out_folder():
    """The folder of results: $OUT, else a new temporary folder whose name is printed."""
    folder = os.environ.get("OUT")
    if not folder:
        folder = os.environ["OUT"] = tempfile.mkdtemp(prefix="overtake-gpu-")
        print(f"results go to {folder}", flush=True)
    os.makedirs(folder, exist_ok=True)
    return folder


def answer(*command):
    """The output of a small command, or None if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def header():
    """The facts without which figures are useless, as `overtake` reports them for this machine and its own build, and
    the command. $COMMIT gives the commit of a build that does not know it."""
    said = answer(tools(), "info", "--json")
    if not said:
        sys.exit("`overtake info --json` fails here: without it no result says where it comes from")
    info = json.loads(said)
    known = {key: info[key] for key in ("version", "commit", "product", "driver", "driver_release", "environment")}
    if known["commit"] == "unknown":
        known["commit"] = os.environ.get("COMMIT", "unknown")
    known["environment"] = {name: without_folder(value) for name, value in known["environment"].items()
                            if name != "OVERTAKE_BIN"}
    words = [without_folder(word) for word in sys.argv[1:]]
    return {**known, "backend": info["backend"]["name"], "device": info["devices"][0]["name"],
            "devices": len(info["devices"]),
            "command": " ".join(["python3", f"benches/gpu/{os.path.basename(sys.argv[0])}", *words])}


def without_folder(word):
    """A word without the folder of an absolute path, which exists on one machine only."""
    return os.path.basename(word.rstrip("/")) if word.startswith("/") else word


def steps_ns(samples_us):
    """Samples in their stored form: ascending, the first and then the differences, in nanoseconds."""
    ascending = sorted(round(sample * 1000) for sample in samples_us)
    return [after - before for before, after in zip([0, *ascending], ascending)]


def phase_row(case, mode, phase, samples_us, **more):
    """The row of one phase of a program: the figures that its samples support, and the samples themselves."""
    ascending = sorted(samples_us)
    p99_us = percentile(ascending, 0.99) if len(ascending) >= P99_SAMPLES else None
    return {"case": case, "mode": mode, "phase": phase, "samples": len(ascending), "p50_us": median(ascending),
            "p99_us": p99_us, "max_us": ascending[-1] if ascending else None, **more,
            "latency_steps_ns": steps_ns(ascending)}


def save(path, value):
    """Writes one JSON file of results, into the folder of results unless its path names another. Lists of numbers are
    on one line."""
    path = os.path.join(out_folder(), path) if os.path.basename(path) == path else path
    text = json.dumps(value, indent=1)
    with open(path, "w") as file:
        file.write(re.sub(r"\[[-+.\de,\s]+\]", lambda numbers: " ".join(numbers[0].split()), text) + "\n")
    return path


def stop_group(process):
    """Ends a program that ran out of time, with all its processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            pass


def end_everything(number, _frame):
    """Ends the programs of a script that is ended, because they are process groups of their own."""
    for process in list(RUNNING):
        stop_group(process)
    os._exit(128 + number)


signal.signal(signal.SIGTERM, end_everything)


def run(mode, command, limit_s=120, report=True, environment=None, options=()):
    """One run of a program. Output goes through files, so that no grandchild can hold a pipe open."""
    variables = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
    with tempfile.TemporaryDirectory(prefix="overtake-run-") as folder:
        json_file = os.path.join(folder, "report.json")
        if mode == "overtake":
            asked = ["--json", json_file] if report else []
            command = [tools(), "run", *options, *asked, "--", *command]
        with open(os.path.join(folder, "out"), "w+b") as out, open(os.path.join(folder, "err"), "w+b") as err:
            began = time.perf_counter()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=variables,
                                       start_new_session=True)
            RUNNING.add(process)
            try:
                process.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                stop_group(process)
            finally:
                RUNNING.discard(process)
            wall_s = time.perf_counter() - began
            texts = [read_all(out), read_all(err)]
        finished = wall_s < limit_s
        return {"mode": mode, "status": process.returncode if finished else "timeout", "wall_s": wall_s,
                "out": texts[0], "err": texts[1], "report": read_report(json_file)}


def read_all(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def read_report(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def processes(report):
    """The reports of single processes in the output of `overtake run --json`."""
    if not isinstance(report, dict):
        return []
    inner = report.get("processes")
    return [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else [report]


def copy_counts(report):
    """Copies by class over all processes and devices, and those that were passed on by reason."""
    counts, reasons = dict.fromkeys((*CLASSES, "passed on"), 0), {}
    for process in processes(report):
        for device in process.get("devices", []):
            for name in CLASSES:
                counts[name] += device.get("copies", {}).get(name, {}).get("copies", 0)
            for row in device.get("passed_on", []):
                reasons[row["reason"]] = reasons.get(row["reason"], 0) + row["copies"]
    counts["passed on"] = sum(reasons.values())
    return counts, reasons


def call_counts(report):
    """Calls by symbol over all processes: {symbol: [intercepted, passed on]}."""
    calls = {}
    for process in processes(report):
        for row in process.get("calls", []):
            both = calls.setdefault(row["symbol"], [0, 0])
            both[0] += row.get("intercepted", 0)
            both[1] += row.get("passed_on", 0)
    return calls


def sums(report):
    """Rescues, errors and whether any process stood down."""
    devices = [device for process in processes(report) for device in process.get("devices", [])]
    return {"rescues": sum(device.get("rescues", 0) for device in devices),
            "errors": sum(device.get("errors", 0) for device in devices),
            "stood_down": any(device.get("stood_down", False) for device in devices),
            "warnings": sorted({text for process in processes(report) for text in process.get("warnings", [])})}


def last_json(text):
    """The last line of a program's output that is a JSON object."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None


def tail(text, lines=6):
    return "\n".join("    " + line for line in text.strip().splitlines()[-lines:])


def percentile(sorted_values, share):
    """The smallest value that at least this share of the samples does not exceed."""
    if not sorted_values:
        return None
    rank = -(-share * len(sorted_values) // 1)
    return sorted_values[min(len(sorted_values), max(1, int(rank))) - 1]


def median(values):
    """The median, or None without values."""
    return statistics.median(values) if values else None


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    return str(value)


def print_table(header, rows):
    """A table with columns as wide as they need to be."""
    cells = [[cell(value) for value in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for number, row in enumerate(cells):
        print(" | ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        if number == 0:
            print("-+-".join("-" * width for width in widths))
    sys.stdout.flush()
