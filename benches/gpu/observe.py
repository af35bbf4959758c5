"""Measures what watching costs, and asks `overtake run` about programs whose answer is known, for `observe.sh`."""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys

import harness

CALL_LIMIT_US = 0.1
LOSS_LIMIT = 0.01
KINDS = ("H2D 4 KiB", "H2D 64 KiB", "D2H 4 KiB", "default 4 KiB", "launch")
PROCESSES = 3
WARMING = 3
HERE = os.path.dirname(os.path.abspath(__file__))


def environment(mode):
    """Natively, or with a drop-in that only watches."""
    variables = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    if mode == "observed":
        variables.update(LD_PRELOAD=harness.preload_library(), OVERTAKE_OBSERVE="only")
    return variables


def turns(count):
    """Both modes, in turn: drift meets both."""
    for turn in range(count):
        yield from (("native", "observed") if turn % 2 == 0 else ("observed", "native"))


def output(command, variables, limit_s):
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=limit_s)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{harness.tail(done.stderr)}")
    return done


def calls(program, runs):
    """Rows of the time of a call by kind, what watching adds to its median and to its least, and whether the limit
    holds."""
    seen = {"native": [], "observed": []}
    for mode in turns(runs):
        seen[mode].append(json.loads(output([program, "40000"], environment(mode), 60).stdout))
    rows = []
    for kind in KINDS:
        # Processes differ by more than the cost, so many of each are compared, and not pairs of them.
        figures = {(mode, figure): statistics.median(run[kind][figure] / 1e3 for run in seen[mode])
                   for mode in seen for figure in ("median_ns", "min_ns")}
        added, least = (figures["observed", figure] - figures["native", figure] for figure in ("median_ns", "min_ns"))
        rows.append((kind, figures["native", "median_ns"], added, least, added <= CALL_LIMIT_US))
    return rows


def latency(rounds, folder):
    """Ratios of observed to native: the rate of bulk, and the median of urgent copies, of CUDA alone."""
    ratios, pair = {"bulk": [], "p50": []}, {}
    for mode in turns(rounds):
        file = os.path.join(folder, f"latency-{mode}.json")
        command = [harness.tools(), "-q", "bench", "latency", "--seconds", "2", "--methods", "native", "--json", file]
        output(command, environment(mode), 300)
        with open(file, encoding="utf-8") as stored:
            pair[mode] = json.load(stored)["rows"]
        if len(pair) == 2:
            for native, ours in zip(pair["native"], pair["observed"]):
                for name, field in (("bulk", "bulk_gbps"), ("p50", "p50_us")):
                    if native.get(field) and ours.get(field):
                        ratios[name].append(ours[field] / native[field])
            pair = {}
    return {name: statistics.median(values) for name, values in ratios.items() if values}


class Loop:
    """A process of `loop.py` that waits for its turn."""

    def __init__(self, framework, mode):
        command = [sys.executable, os.path.join(HERE, "loop.py"), framework]
        self.process = subprocess.Popen(command, env=environment(mode), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def group(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        if self.process.wait(timeout=60) != 0:
            sys.exit("loop.py failed")


def loops(framework, groups):
    """The time of a step natively, and by what that of a watched process differs: groups of steps in turn, of three
    processes each, because processes differ among themselves."""
    both = {mode: [Loop(framework, mode) for _ in range(PROCESSES)] for mode in ("native", "observed")}
    seen = {mode: [[] for _ in range(PROCESSES)] for mode in both}
    for turn in range(groups + WARMING):
        for place in range(PROCESSES):
            for mode in ("native", "observed") if turn % 2 == 0 else ("observed", "native"):
                step_us = both[mode][place].group()
                if turn >= WARMING:
                    seen[mode][place].append(step_us)
    for process in (*both["native"], *both["observed"]):
        process.end()
    medians = {mode: sorted(statistics.median(times) for times in seen[mode]) for mode in seen}
    pairs = [after / before for place in range(PROCESSES)
             for before, after in zip(seen["native"][place], seen["observed"][place])]
    return medians, statistics.median(pairs)


def compared(program, rounds, folder):
    """What `--compare` says of a program."""
    name = os.path.splitext(os.path.basename(program[-1]))[0]
    file = os.path.join(folder, f"compare-{name}.json")
    command = [harness.tools(), "run", "--compare", str(rounds), "--hide-output", "--json", file, "--", *program]
    print(output(command, dict(os.environ), 900).stderr, flush=True)
    with open(file, encoding="utf-8") as stored:
        return json.load(stored)["help"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("calls")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--compare", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    folder = harness.out_folder()
    holds = True
    print(f"{'call':<16}{'native, us':>12}{'added, us':>12}{'to the least':>14}")
    for kind, native, added, least, held in calls(options.calls, options.runs):
        print(f"{kind:<16}{native:>12.3f}{added:>12.3f}{least:>14.3f}  {'' if held else 'ABOVE'}", flush=True)
        holds &= held
    for name, ratio in latency(options.rounds, folder).items():
        held = ratio >= 1 - LOSS_LIMIT if name == "bulk" else ratio <= 1 + LOSS_LIMIT
        print(f"bench latency, {name}: {ratio:.4f} of native  {'' if held else 'BEYOND'}")
        holds &= held
    for framework in filter(importlib.util.find_spec, ("torch", "jax") if options.groups else ()):
        medians, ratio = loops(framework, options.groups)
        held = ratio <= 1 + LOSS_LIMIT
        natively, ours = (" ".join(f"{step_us:.1f}" for step_us in medians[mode]) for mode in ("native", "observed"))
        print(f"{framework}, a step: {natively} us natively, {ours} us observed, {ratio:.4f} by pairs  "
              f"{'' if held else 'BEYOND'}", flush=True)
        holds &= held
    if importlib.util.find_spec("torch") and options.compare:
        for program in ("contended.py", "serving.py"):
            said = compared([sys.executable, os.path.join(HERE, program)], options.rounds, folder)
            holds &= said["answer"] == "helps"
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
