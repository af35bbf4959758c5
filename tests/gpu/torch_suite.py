"""Runs a selection of PyTorch's test files in both modes and compares the outcomes. See torch_suite.sh."""

import argparse
import importlib.metadata
import os
import re
import sys

import harness

FILES = ("test_cuda.py", "test_cuda_primary_ctx.py", "test_cuda_trace.py", "test_cuda_multigpu.py")
# PyTorch's test names for copies, streams, events, pinned memory and graphs. Tests of optimisers are many, slow and
# about neither.
EXPRESSION = "(stream or event or pin or graph or non_blocking or copy) and not optim"
LINE = re.compile(r"^(\S+\.py::\S+) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)
TEST_LIMIT_S = 40


def pytest_command(arguments):
    """pytest with a line a test; pytest-timeout, if installed, ends a test that hangs."""
    command = [sys.executable, "-m", "pytest", "-v", "--tb=line", "--color=no", "-p", "no:cacheprovider",
               "--continue-on-collection-errors"]
    try:
        importlib.metadata.version("pytest-timeout")
        command += ["--timeout", str(TEST_LIMIT_S)]
    except importlib.metadata.PackageNotFoundError:
        pass
    return command + arguments


def run(mode, folder, arguments, limit_s):
    """The outcome of every test that ran: {test: outcome}, and the whole run."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        done = harness.run(mode, pytest_command(arguments), limit_s, environment={"PYTHONDONTWRITEBYTECODE": "1"})
    finally:
        os.chdir(before)
    return dict(LINE.findall(done["out"])), done


def differing(outcomes):
    """Tests that did not end alike, or ended in one mode only."""
    native, ours = (outcomes[mode] for mode in harness.MODES)
    return sorted(test for test in native.keys() | ours.keys() if native.get(test) != ours.get(test))


def second_look(folder, tests, limit_s):
    """Runs the tests that differ once more by themselves in both modes: a difference that repeats is no chance."""
    return {mode: run(mode, folder, tests, limit_s)[0] for mode in harness.MODES}


def summary_rows(outcomes, runs):
    rows = []
    for mode in harness.MODES:
        counts = {}
        for outcome in outcomes[mode].values():
            counts[outcome] = counts.get(outcome, 0) + 1
        done = runs[mode]
        rows.append([mode, done["wall_s"], done["status"], counts.get("PASSED", 0),
                     counts.get("FAILED", 0) + counts.get("ERROR", 0), counts.get("SKIPPED", 0)])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("-k", dest="expression", default=EXPRESSION)
    parser.add_argument("--limit-s", type=float, default=170, help="for each of the two runs")
    arguments = parser.parse_args()
    files = [name for name in FILES if os.path.exists(os.path.join(arguments.folder, name))]
    if "test_cuda.py" not in files:
        sys.exit(f"{arguments.folder} has no test_cuda.py")
    selection = [*files, "-k", arguments.expression]
    outcomes, runs = {}, {}
    for mode in harness.MODES:
        outcomes[mode], runs[mode] = run(mode, arguments.folder, selection, arguments.limit_s)
    different, again = differing(outcomes), {}
    if different:
        again = second_look(arguments.folder, different, min(60, arguments.limit_s / 4))
    lasting = [test for test in different
               if again["native"].get(test) != again["overtake"].get(test) or test not in again["native"]]
    counts, reasons = harness.copy_counts(runs["overtake"]["report"])
    tests = sorted(outcomes["native"].keys() | outcomes["overtake"].keys())
    harness.save("torch_suite.json", {
        "header": harness.header(), "question": "programs", "torch": importlib.metadata.version("torch"),
        "files": files, "expression": arguments.expression,
        "rows": [{"test": test, **{mode: outcomes[mode].get(test) for mode in harness.MODES}} for test in tests],
        "different": different, "again": again, "different_again": lasting, "copies": counts,
        "passed_on": reasons, **harness.sums(runs["overtake"]["report"])})
    for mode in harness.MODES:
        if not outcomes[mode]:
            print(f"{mode}: no test ran (status {runs[mode]['status']})")
            print(harness.tail(runs[mode]["out"] + runs[mode]["err"], 12))
    for test in different:
        first, second = ([one[mode].get(test, "-") for mode in harness.MODES] for one in (outcomes, again))
        print(f"differs: {test}: native {first[0]}, overtake {first[1]}; again {second[0]}, {second[1]}")
    print(f"copies: {counts}; passed on: {reasons}")
    harness.print_table(["mode", "s", "status", "passed", "failed", "skipped"], summary_rows(outcomes, runs))
    print(f"tests that differ: {len(different)}, again: {len(lasting)}")
    sys.exit(1 if lasting or not outcomes["native"] else 0)


if __name__ == "__main__":
    main()
