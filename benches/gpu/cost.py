"""Times the programs of cost/ natively and with the drop-in, in turn, so that drift meets both."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import harness

CALL_LIMIT_US = 0.3
START_LIMIT_MS = 0.5


def environment(mode):
    """The environment of `overtake run`, which ends in exec, without the start of the command itself."""
    variables = dict(os.environ)
    if mode == "overtake":
        variables["LD_PRELOAD"] = harness.preload_library()
    return variables


def calls(program, count, runs):
    """Per kind of call and mode: the medians of the runs, in nanoseconds."""
    seen = {mode: {} for mode in harness.MODES}
    for turn in range(runs):
        for mode in harness.MODES if turn % 2 == 0 else reversed(harness.MODES):
            done = subprocess.run([program, str(count)], env=environment(mode), capture_output=True, text=True,
                                  timeout=60)
            if done.returncode != 0:
                sys.exit(f"calls, {mode}: status {done.returncode}\n{harness.tail(done.stderr)}")
            for kind, figures in json.loads(done.stdout).items():
                seen[mode].setdefault(kind, []).append(figures["median_ns"])
    return seen


def start_s(command, variables):
    """One process from its start to its end."""
    began = time.perf_counter()
    process = os.posix_spawn(command[0], command, variables)
    _, status = os.waitpid(process, 0)
    taken = time.perf_counter() - began
    if status != 0:
        sys.exit(f"{command[0]}: status {os.waitstatus_to_exitcode(status)}")
    return taken


def starts(command, count):
    """Start-to-end times in milliseconds by mode, and the paired differences."""
    seen, variables = {mode: [] for mode in harness.MODES}, {mode: environment(mode) for mode in harness.MODES}
    for turn in range(count + 2):
        for mode in harness.MODES if turn % 2 == 0 else reversed(harness.MODES):
            taken = start_s(command, variables[mode])
            if turn >= 2:
                seen[mode].append(taken * 1e3)
    return seen


def call_rows(seen):
    rows = []
    for kind in seen["native"]:
        native, ours = (statistics.median(seen[mode][kind]) / 1e3 for mode in harness.MODES)
        rows.append([kind, "us", native, ours, ours - native, CALL_LIMIT_US, ours - native <= CALL_LIMIT_US])
    return rows


def start_row(name, seen):
    native, ours = (statistics.median(seen[mode]) for mode in harness.MODES)
    added = statistics.median(after - before for before, after in zip(seen["native"], seen["overtake"]))
    return [name, "ms", native, ours, added, START_LIMIT_MS, added <= START_LIMIT_MS]


def stored_calls(seen):
    """A row for each mode and kind of call: the medians of the runs."""
    return [{"case": kind, "mode": mode, "unit": "ns", "samples": len(values), "values": values}
            for mode in harness.MODES for kind, values in seen[mode].items()]


def stored_starts(name, seen):
    """A row for each mode: every start."""
    return [{"case": name, "mode": mode, "unit": "ms", "samples": len(seen[mode]),
             "values": [round(value, 4) for value in seen[mode]]} for mode in harness.MODES]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=6, help="runs of the calls program in each mode")
    parser.add_argument("--calls", type=int, default=40000, help="calls of each of five kinds in one run")
    parser.add_argument("--starts", type=int, default=200, help="starts of an empty program in each mode")
    parser.add_argument("--driver-starts", type=int, default=30, help="starts of a program that opens the driver")
    arguments = parser.parse_args()
    seen = calls(os.path.join(arguments.build, "calls"), arguments.calls, arguments.runs)
    empty = starts(["/bin/true"], arguments.starts)
    driver = starts([os.path.join(arguments.build, "start")], arguments.driver_starts)
    rows = [*call_rows(seen), start_row("start of an empty program", empty),
            start_row("start of a program that calls cuInit", driver)]
    harness.save("cost.json", {"header": harness.header(), "question": "startup", "judged": rows,
                               "rows": [*stored_calls(seen), *stored_starts(rows[-2][0], empty),
                                        *stored_starts(rows[-1][0], driver)]})
    harness.print_table(["what", "unit", "native", "drop-in", "added", "limit", "holds"], rows)
    sys.exit(0 if all(row[-1] for row in rows) else 1)


if __name__ == "__main__":
    main()
