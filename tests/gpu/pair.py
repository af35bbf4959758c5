"""Runs one measuring script natively and under `overtake run`, prints both side by side and judges them.

Usage: OVERTAKE_BIN=folder python3 tests/gpu/pair.py contended.py|serving.py|offload.py [--limit-s N] [arguments]
"""

import argparse
import os
import sys

import harness

HERE = os.path.dirname(os.path.abspath(__file__))

# What has to hold under `overtake run`, per script: factors on the idle figures of the same run, a limit on p99, and
# the least share of the native bulk rate. None: not judged.
LIMITS = {"contended": {"p50_factor": 1.2, "p99_factor": 1.5, "p99_us": None, "bulk_share": 0.9},
          "serving": {"p50_factor": None, "p99_factor": None, "p99_us": 200.0, "bulk_share": None},
          "offload": {"p50_factor": None, "p99_factor": None, "p99_us": 200.0, "bulk_share": None}}


def judge(limits, native, ours):
    """The findings of one case: [(what, figure, limit, holds)]."""
    idle, loud, found = ours["idle"], ours["contended"], [("bytes", ours["bytes_ok"], True, ours["bytes_ok"])]
    if not idle["count"] or not loud["count"]:
        return [*found, ("samples", min(idle["count"], loud["count"]), 1, False)]
    if limits["p50_factor"]:
        factor = loud["p50_us"] / idle["p50_us"]
        found.append(("p50 / idle p50", factor, limits["p50_factor"], factor <= limits["p50_factor"]))
    if limits["p99_factor"]:
        factor = loud["p99_us"] / idle["p99_us"]
        found.append(("p99 / idle p99", factor, limits["p99_factor"], factor <= limits["p99_factor"]))
    if limits["p99_us"]:
        found.append(("p99 us", loud["p99_us"], limits["p99_us"], loud["p99_us"] <= limits["p99_us"]))
    if limits["bulk_share"] and native:
        best = max(native["bulk_gbs"], native.get("bulk_alone_gbs") or 0.0)
        share = ours["bulk_gbs"] / best
        found.append(("bulk / native bulk", share, limits["bulk_share"], share >= limits["bulk_share"]))
    return found


def table_rows(runs):
    """One line per case and mode."""
    rows = []
    for mode in harness.MODES:
        for row in (runs[mode]["result"] or {}).get("rows", []):
            idle, loud = row["idle"], row["contended"]
            rows.append([row["case"], mode, idle["p50_us"], idle["p99_us"], loud["count"], loud["p50_us"],
                         loud["p99_us"], loud["max_us"], row["bulk_gbs"], row.get("bulk_alone_gbs"), row["bytes_ok"]])
    return sorted(rows, key=lambda row: row[0])


def findings(name, runs):
    """What holds and what does not, case by case."""
    native = {row["case"]: row for row in (runs["native"]["result"] or {}).get("rows", [])}
    ours = (runs["overtake"]["result"] or {}).get("rows", [])
    return [(row["case"], *found) for row in ours for found in judge(LIMITS[name], native.get(row["case"]), row)]


def measure(name, arguments, limit_s):
    """Both runs, each with the JSON object that it printed last."""
    command = [sys.executable, os.path.join(HERE, name + ".py"), *arguments]
    runs = {}
    for mode in harness.MODES:
        runs[mode] = done = harness.run(mode, command, limit_s)
        done["result"] = harness.last_json(done["out"])
        if done["status"] != 0 or not done["result"]:
            print(f"{name}, {mode}: status {done['status']}\n{harness.tail(done['err'])}")
    return runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("script")
    parser.add_argument("--limit-s", type=float, default=60)
    asked, arguments = parser.parse_known_args()
    name = os.path.basename(asked.script).removesuffix(".py")
    if name not in LIMITS:
        sys.exit(f"{asked.script}: not one of " + ", ".join(LIMITS))
    runs = measure(name, arguments, asked.limit_s)
    judged, report = findings(name, runs), runs["overtake"]["report"]
    counts, reasons = harness.copy_counts(report)
    harness.save(f"{name}.json", {
        "runs": {mode: {key: runs[mode][key] for key in ("status", "wall_s", "result")} for mode in harness.MODES},
        "judged": judged, "report": report})
    print(f"copies: {counts}; passed on: {reasons}; {harness.sums(report)}\n")
    harness.print_table(["case", "mode", "idle p50 us", "p99", "samples", "contended p50 us", "p99", "max", "bulk GB/s",
                         "alone", "bytes"], table_rows(runs))
    print()
    harness.print_table(["case", "what", "overtake", "limit", "holds"], judged)
    sys.exit(0 if judged and all(row[-1] for row in judged) else 1)


if __name__ == "__main__":
    main()
