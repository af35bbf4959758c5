"""Runs every client natively and under `overtake run`, compares their output, and tabulates the intercepted calls."""

import argparse
import concurrent.futures
import sys
import tempfile

import harness
import programs


def result_of(done):
    """The results that must be equal: all output of a C program, the result line of a Python one, and the status."""
    lines = [line for line in done["out"].splitlines() if not line.startswith("{")]
    marked = [line for line in lines if line.startswith("RESULT {")]
    return done["status"], marked or lines


def both(name, command, arguments):
    """One client in both modes, one after the other."""
    options = ("--deployment", arguments.deployment)
    return name, {mode: harness.run(mode, command, arguments.limit_s, environment=programs.ENVIRONMENT, options=options)
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
    """Prints the differences."""
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
        wanted = [client for client in programs.CLIENTS if not arguments.only or client.name in arguments.only]
        found, left_out = programs.gather(wanted, folder)
        if not found:
            sys.exit("no client can run here: " + "; ".join(left_out))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            done = list(pool.map(lambda item: both(item[0].name, item[1], arguments), found))
    rows = [row_of(name, runs) for name, runs in done]
    harness.save(f"clients-{arguments.deployment}.json",
                 {"header": harness.header(), "question": "programs", "deployment": arguments.deployment,
                  "jobs": arguments.jobs, "left_out": left_out, "rows": rows})
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
