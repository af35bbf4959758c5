"""Runs programs natively and under `overtake run` with several settings, in turn, and prints one table for each.

Usage: OVERTAKE_BIN=folder python3 benches/gpu/turns.py PROGRAM... [--set NAME=VALUE[,NAME=VALUE]...]...
       [--rounds N] [--control] [--ready-s N] [--json PREFIX]

A program takes longer to start than to be measured. So the processes of all rounds start at once and prepare
themselves; then each has its turn, while the others wait, and all end together. A round is one process for each program
in each mode; the mode that goes first changes from round to round. A program that does not know turns (`frames`) is
started when its turn comes. With `--control` each round has a second native run: the factor between the two is the
spread of the machine. Each setting gets a file, with the native runs beside it, in the format of `pair.py`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import harness
import pair
import programs

# The parts of a program's run that are enough for one round of several.
ARGUMENTS = {
    "shapes": ("--rounds", "3", "--samples", "600", "--seconds", "0.5"),
    "round_trip": ("--rounds", "2", "--samples", "240", "--seconds", "0.4"),
    "device_put": ("--rounds", "1", "--seconds", "0.9"),
    "offload": ("--rounds", "4"),
    "offload of 64 KiB": ("--rounds", "4", "--block-kib", "64"),
    "serving": ("--segments", "1"),
    "frames": ("1", "0.3"),
    "loaders": (),
}
UNPREPARED = ("frames",)
# A turn takes a few seconds at most.
TURN_S = 20.0


def options(setting):
    """The variables of NAME=VALUE[,NAME=VALUE]..."""
    pairs = (option.split("=", 1) for option in setting.split(","))
    return {"OVERTAKE_" + name.upper(): value for name, value in pairs}


class Run:
    """A process of a program in one mode: native, or a setting of the drop-in."""

    def __init__(self, program, command, mode, turn, folder):
        self.program, self.mode, self.turn, self.wall_s, self.said = program, mode, turn, 0.0, []
        stem = os.path.join(folder, f"{program.name}-{mode}-{turn}")
        self.report, self.errors, self.out = stem + ".json", stem + ".err", stem + ".out"
        variables = {**os.environ, **programs.ENVIRONMENT, "PYTHONUNBUFFERED": "1", "OVERTAKE_TURNS": "1"}
        if mode not in ("native", pair.CONTROL):
            variables.update(options(mode))
            command = [harness.tools(), "run", "--json", self.report, "--", *command]
        with open(self.errors, "w") as errors, open(self.out, "w") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=errors, env=variables,
                                            start_new_session=True)
        harness.RUNNING.add(self.process)

    def wait_for(self, found, until):
        """Waits until the output has what is looked for, the process has ended, or the time is over."""
        while True:
            ended = self.process.poll() is not None
            with open(self.out) as file:
                result = found(file.read())
            if result or ended or time.monotonic() > until:
                return result
            time.sleep(0.005)

    def measure(self):
        """Gives the process its turn."""
        began = time.monotonic()
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except OSError:
            pass
        self.result = self.wait_for(harness.last_json, began + TURN_S)
        self.wall_s = time.monotonic() - began

    def end(self, until):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=max(until - time.monotonic(), 0.1))
        except (OSError, subprocess.TimeoutExpired):
            harness.stop_group(self.process)
        harness.RUNNING.discard(self.process)
        if not self.result:
            with open(self.errors) as file:
                print(f"{self.program.name}, {self.mode}, round {self.turn + 1}: status {self.process.returncode}\n"
                      f"{harness.tail(file.read())}", flush=True)
        copies, passed_on = harness.copy_counts(harness.read_report(self.report))
        return {"status": self.process.returncode, "wall_s": self.wall_s, "copies": copies, "passed_on": passed_on,
                "result": self.result}


def in_turn(found, modes, arguments, folder):
    """All runs: {(program, round): {mode: run}}."""
    order = [(program, [*command, *ARGUMENTS[program.name]], modes[(turn + place) % len(modes)], turn)
             for turn in range(arguments.rounds) for program, command in found for place in range(len(modes))]
    began = time.monotonic()
    ready = {step: Run(*order[step], folder) for step in range(len(order))
             if order[step][0].name not in UNPREPARED}
    for run in ready.values():
        run.wait_for(lambda text: text.startswith("ready"), began + arguments.ready_s)
    print(f"ready after {time.monotonic() - began:.1f} s", flush=True)
    done = {}
    for step, (program, _, mode, turn) in enumerate(order):
        run = ready.get(step) or Run(*order[step], folder)
        run.measure()
        done.setdefault((program, turn), {})[mode] = run
        if program.name in UNPREPARED:
            run.end(time.monotonic() + 2)
    print(f"measured after {time.monotonic() - began:.1f} s", flush=True)
    until = time.monotonic() + 10
    for run in ready.values():
        run.process.stdin.close()
    ended = {key: {mode: run.end(until) for mode, run in runs.items()} for key, runs in done.items()}
    print(f"ended after {time.monotonic() - began:.1f} s", flush=True)
    return ended


def judged(done, setting, path):
    """Stores the runs of one setting with the native ones, and prints their table."""
    os.environ.update(options(setting))
    names = {"native": "native", pair.CONTROL: pair.CONTROL, setting: "overtake"}
    runs = [(program, turn, {names[mode]: run for mode, run in modes.items() if mode in names})
            for (program, turn), modes in done.items()]
    kept = pair.stored(runs)
    for name in options(setting):
        del os.environ[name]
    print(f"\n{setting}: samples and counts are in {harness.save(path, kept)}")
    harness.print_table(pair.COLUMNS, [line for case in pair.cases_of(runs) for line in case.lines()])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+", choices=sorted(ARGUMENTS))
    parser.add_argument("--set", action="append", required=True, dest="settings")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--control", action="store_true", help="a second native run in each round")
    parser.add_argument("--ready-s", type=float, default=60)
    parser.add_argument("--json", default="turns")
    arguments = parser.parse_args()
    harness.tools()
    with tempfile.TemporaryDirectory(prefix="overtake-turns-") as folder:
        found, left_out = programs.gather([program for program in programs.PROGRAMS
                                           if program.name in arguments.programs], folder)
        native = ("native", pair.CONTROL) if arguments.control else ("native",)
        done = in_turn(found, [*native, *arguments.settings], arguments, folder)
    for text in left_out:
        print("left out:", text)
    for setting in arguments.settings:
        judged(done, setting, f"{arguments.json}-{setting.replace('=', '-').replace(',', '-')}.json")
    sys.exit(0 if all(run["result"] for modes in done.values() for run in modes.values()) else 1)


if __name__ == "__main__":
    main()
