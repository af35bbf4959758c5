"""Measures what live figures cost, and looks at a program by `overtake top` and `overtake metrics`, for `live.sh`."""

import argparse
import json
import os
import statistics
import subprocess
import sys

import harness

CALL_LIMIT_US = 0.05
KINDS = ("H2D 4 KiB", "H2D 64 KiB", "D2H 4 KiB", "default 4 KiB", "launch")


def environment(mode):
    """Under the drop-in, with live figures or without."""
    return dict(os.environ, LD_PRELOAD=harness.preload_library(), OVERTAKE_LIVE=mode)


def medians_us(program, mode):
    command = [program, "40000"]
    done = subprocess.run(command, env=environment(mode), capture_output=True, text=True, timeout=60, check=True)
    run = json.loads(done.stdout)
    return {kind: run[kind]["median_ns"] / 1e3 for kind in KINDS}


def cost(program, runs):
    """Rows of the time of a call, and whether the limit holds. Both modes in turn: drift meets both."""
    seen = {"off": [], "on": []}
    for turn in range(runs):
        for mode in ("off", "on") if turn % 2 == 0 else ("on", "off"):
            seen[mode].append(medians_us(program, mode))
    holds = True
    print(f"{'call':<16}{'off, us':>10}{'on, us':>10}{'added, us':>12}")
    for kind in KINDS:
        off, on = ([run[kind] for run in seen[mode]] for mode in ("off", "on"))
        added = statistics.median(after - before for before, after in zip(off, on))
        held = added <= CALL_LIMIT_US
        holds &= held
        print(f"{kind:<16}{statistics.median(off):>10.3f}{statistics.median(on):>10.3f}{added:>12.3f}"
              f"  {'' if held else 'ABOVE'}")
    return holds


def seen(program):
    """Whether both commands show a program that copies."""
    with subprocess.Popen([program, "800000"], env=environment("on"), stdout=subprocess.DEVNULL) as running:
        try:
            subprocess.run(["sleep", "3"], check=True)
            asked = [[harness.tools(), "top", "--once"], [harness.tools(), "metrics"]]
            said = [subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
                    for command in asked]
            print(said[0], flush=True)
            print("\n".join(line for line in said[1].splitlines() if "link_limit" in line or "bytes_total{" in line))
            return all(str(running.pid) in text for text in said)
        finally:
            running.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("calls")
    parser.add_argument("--runs", type=int, default=8)
    options = parser.parse_args()
    holds = cost(options.calls, options.runs)
    sys.exit(0 if seen(options.calls) and holds else 1)


if __name__ == "__main__":
    main()
