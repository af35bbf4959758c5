"""Public test suites natively and under `overtake run`: the same tests fail.

The suites are not part of this repository. A suite is a folder of test files and what pytest is to run of them, for
example `torch=/tests/torch:test_cuda.py,test_dataloader.py`, or, of a package that brings its tests,
`numba=/tests:--import-mode=importlib,--pyargs,numba.cuda.tests.cudadrv`. PyTorch's tests need expecttest, numba-cuda's
filecheck and a conftest with its fixture `initialize_from_pytest_config`. All suites run at once, each natively and
under overtake at the same time, with as many workers as --workers says. Tests that did not end alike run again by
themselves in both modes; those that differ again are what this looks for.
"""

import argparse
import importlib.metadata
import os
import re
import sys
import threading
import time

import harness

# What a test ended with, as `pytest -v` writes it with and without workers of pytest-xdist.
PLAIN = re.compile(r"^(\S+\.py::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)
WORKER = re.compile(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+\.py::.+?) *$", re.MULTILINE)
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
AGAIN_MAX = 60  # so many tests run again by themselves
PACKAGES = {"torch": "torch", "cupy": "cupy-cuda13x", "jax": "jax", "numba": "numba-cuda"}


class Suite:
    """The part of one project's tests that runs."""

    def __init__(self, text):
        self.name, place = text.split("=", 1)
        folder, files = place.split(":", 1)
        self.folder, self.files = os.path.abspath(folder), files.split(",")
        self.outcomes, self.runs, self.again = {}, {}, {}

    def version(self):
        try:
            return importlib.metadata.version(PACKAGES.get(self.name.split("-")[0], self.name))
        except importlib.metadata.PackageNotFoundError:
            return None

    def run(self, mode, tests, workers, limit_s, test_limit_s):
        """The outcome of every test that ran, {test: outcome}, and the whole run."""
        command = [sys.executable, "-m", "pytest", "-v", "--tb=line", "--color=no", "-p", "no:cacheprovider",
                   "--continue-on-collection-errors", f"--timeout={test_limit_s}"]
        command += ["-n", str(workers), "--max-worker-restart=100"] if workers > 1 else []
        inside = ["bash", "-c", 'cd "$0" && exec "$@"', self.folder, *command, *tests]
        done = harness.run(mode, inside, limit_s, environment=ENVIRONMENT)
        outcomes = dict(PLAIN.findall(done["out"]))
        outcomes.update((test, outcome) for outcome, test in WORKER.findall(done["out"]))
        return outcomes, done

    def first_look(self, mode, arguments):
        self.outcomes[mode], self.runs[mode] = self.run(
            mode, [*self.files, *arguments.pytest], arguments.workers, arguments.limit_s, arguments.test_limit_s)

    def differing(self):
        """Tests that ran in both modes and did not end alike."""
        native, ours = (self.outcomes[mode] for mode in harness.MODES)
        return sorted(test for test in native.keys() & ours.keys() if native[test] != ours[test])

    def second_look(self, limit_s, test_limit_s):
        """Runs what differs once more by itself in both modes: a difference that repeats is no chance."""
        different = self.differing()[:AGAIN_MAX]
        for mode in harness.MODES if different else ():
            self.again[mode] = self.run(mode, different, 1, limit_s, test_limit_s)[0]

    def lasting(self):
        """Tests that differed in the second look too, or had none."""
        looks = [self.again.get(mode, {}) for mode in harness.MODES]
        return [test for test in self.differing() if test not in looks[0] or looks[0][test] != looks[1].get(test)]

    def row(self):
        native, ours = (self.outcomes[mode] for mode in harness.MODES)
        both = native.keys() & ours.keys()
        failed = sum(native[test] in ("FAILED", "ERROR") for test in both)
        counts, _ = harness.copy_counts(self.runs["overtake"]["report"])
        return [self.name, self.version() or "-", len(native), len(ours), len(both),
                sum(native[test] == "PASSED" for test in both), failed, len(self.differing()), len(self.lasting()),
                *(self.runs[mode]["wall_s"] for mode in harness.MODES), counts["urgent"] + counts["kernel"]]

    def saved(self):
        counts, reasons = harness.copy_counts(self.runs["overtake"]["report"])
        native, ours = (self.outcomes[mode] for mode in harness.MODES)
        tests = sorted(native.keys() | ours.keys())
        ends = [(native.get(test), ours.get(test)) for test in tests]
        return {"suite": self.name, "version": self.version(), "files": self.files,
                "status": {mode: self.runs[mode]["status"] for mode in harness.MODES},
                "wall_s": {mode: self.runs[mode]["wall_s"] for mode in harness.MODES},
                "passed": ends.count(("PASSED", "PASSED")), "skipped": ends.count(("SKIPPED", "SKIPPED")),
                "failed": sum(one in ("FAILED", "ERROR") and one == two for one, two in ends),
                "compared": sum(None not in both for both in ends), "differ": len(self.differing()),
                "lasting": self.lasting(), "again": self.again,
                "rest": [[test, *both] for test, both in zip(tests, ends)
                         if both not in (("PASSED", "PASSED"), ("SKIPPED", "SKIPPED"))],
                "copies": counts, "passed_on": reasons, **harness.sums(self.runs["overtake"]["report"])}


def at_once(jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def progress(began, suites, done):
    while not done.wait(30):
        left = [f"{suite.name} {mode}" for suite in suites for mode in harness.MODES if mode not in suite.runs]
        print(f"{time.monotonic() - began:.0f} s, still running: {', '.join(left)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="+", type=Suite, metavar="NAME=FOLDER:FILE[,FILE]...")
    parser.add_argument("--pytest", action="append", default=[], metavar="ARGUMENT", help="one more for pytest")
    parser.add_argument("--workers", type=int, default=3, help="of each run (pytest-xdist); default 3")
    parser.add_argument("--limit-s", type=float, default=400, help="for the first look; default 400")
    parser.add_argument("--again-s", type=float, default=60, help="for each run of the second look; default 60")
    parser.add_argument("--test-limit-s", type=int, default=60, help="for one test (pytest-timeout); default 60")
    arguments = parser.parse_args()
    began, done = time.monotonic(), threading.Event()
    threading.Thread(target=progress, args=(began, arguments.suites, done), daemon=True).start()
    at_once([lambda suite=suite, mode=mode: suite.first_look(mode, arguments)
             for suite in arguments.suites for mode in harness.MODES])
    done.set()
    at_once([lambda suite=suite: suite.second_look(arguments.again_s, arguments.test_limit_s)
             for suite in arguments.suites])
    harness.save("suites.json", {"header": harness.header(), "question": "programs",
                                 "rows": [suite.saved() for suite in arguments.suites]})
    for suite in arguments.suites:
        for mode in harness.MODES:
            if not suite.outcomes[mode]:
                print(f"{suite.name}, {mode}: no test ran (status {suite.runs[mode]['status']})")
                print(harness.tail(suite.runs[mode]["out"] + suite.runs[mode]["err"], 12))
        for test in suite.differing():
            first, second = ([one.get(mode, {}).get(test, "-") for mode in harness.MODES]
                             for one in (suite.outcomes, suite.again))
            print(f"differs: {test}: native {first[0]}, overtake {first[1]}; again {second[0]}, {second[1]}")
    harness.print_table(["suite", "version", "native", "overtake", "both", "passed", "failed", "differ", "again",
                         "native s", "overtake s", "copies moved"], [suite.row() for suite in arguments.suites])
    bad = any(suite.lasting() or not suite.outcomes["native"] for suite in arguments.suites)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
