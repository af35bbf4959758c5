"""Runs the programs natively and under `overtake run`, in turn, and prints one table of their times and limits.

Usage: OVERTAKE_BIN=folder python3 benches/gpu/pair.py [PROGRAM]... [--rounds N] [--budget-s N] [--limit-s N]
       [--json FILE] [--control] [-- ARGUMENT of the one PROGRAM...]

With `--control` each round has a second native run: the factor between two native runs is the spread of the machine,
below which no factor of the drop-in says anything.

Every program has an idle and a loaded phase, and prints its samples. A round is one run of each program in both modes;
the mode that goes first changes from round to round. Factors are formed within a round; the table has their median,
least and greatest. Runs that no longer fit into the budget are left out: the column "rounds" has the number that ran.
Without a PROGRAM all are run but `unmodified`, and all clients once.
"""

import argparse
import os
import sys
import tempfile
import time

import harness
import programs

# A second native run in a round.
CONTROL = "native again"
EVERY = (*programs.PROGRAMS, *programs.CLIENTS)
COLUMNS = ("program", "case", "what", "rounds", "native", "overtake", "factor", "least", "greatest", "limit", "holds")


class Case:
    """The results of one case of a program: per round and mode one row of its output."""

    def __init__(self, program, name):
        self.program, self.name, self.rounds = program, name, []

    def figures(self, figure):
        """[(native, overtake)] of the rounds that have both."""
        both = [tuple(figure(rows[mode]) for mode in harness.MODES) for rows in self.rounds]
        return [pair for pair in both if None not in pair]

    def tails_of(self, *phases):
        """The p99 of each of these (mode, phase) in each round; nothing if one has too few samples in all rounds."""
        rounds = [rows for rows in self.rounds if all(rows.get(mode, {}).get(phase) for mode, phase in phases)]
        if any(sum(len(rows[mode][phase]) for rows in rounds) < harness.P99_SAMPLES for mode, phase in phases):
            return []
        return [tuple(harness.percentile(sorted(rows[mode][phase]), 0.99) for mode, phase in phases)
                for rows in rounds]

    def line(self, what, values, limit, at_least=False):
        """One line of the table from pairs of figures: their medians, the factor between them, and whether it holds."""
        if not values:
            return [self.program.name, self.name, what, 0, None, None, None, None, None, limit, limit is None]
        factors = [after / before for before, after in values]
        factor = harness.median(factors)
        holds = None if limit is None else factor >= limit if at_least else factor <= limit
        native, ours = (harness.median(column) for column in zip(*values))
        figures = (native, ours, factor, min(factors), max(factors))
        return [self.program.name, self.name, what, len(values), *figures, limit, holds]

    def count(self, what, ours, limit):
        """One line of a figure without a native counterpart."""
        return [self.program.name, self.name, what, len(self.rounds), None, ours, *[None] * 3, limit, ours <= limit]

    def lines(self):
        limits = self.program.limits
        idle, loaded = (lambda row, phase=phase: harness.median(row[phase]) for phase in ("idle_us", "loaded_us"))
        across = [(idle(rows["native"]), loaded(rows["overtake"])) for rows in self.rounds]
        yield self.line("idle p50, us", self.figures(idle), limits.idle)
        again = [(idle(rows["native"]), idle(rows[CONTROL])) for rows in self.rounds if CONTROL in rows]
        if again:
            yield self.line("idle p50 of two native runs", again, None)
        # The first copies of a process have no load.
        if self.figures(loaded):
            yield self.line("loaded p50, us", self.figures(loaded), limits.loaded)
        if limits.loaded_on_idle:
            yield self.line("loaded p50 on native idle", [pair for pair in across if None not in pair],
                            limits.loaded_on_idle)
        yield from self.tails(limits)
        yield self.line("bulk, GB/s", self.figures(lambda row: row.get("bulk_gbs")), limits.bulk, at_least=True)
        wrong = sum(not rows[mode]["bytes_ok"] for rows in self.rounds for mode in harness.MODES)
        yield self.count("runs with wrong bytes", wrong, 0)
        if any("digest" in row for rows in self.rounds for row in rows.values()):
            others = sum(rows["native"].get("digest") != rows["overtake"].get("digest") for rows in self.rounds)
            yield self.count("rounds with another result", others, 0)

    def tails(self, limits):
        """The tails of the distributions, round by round: a spell of the host is in the p99 of its round only."""
        idle, loaded = ([(mode, phase) for mode in harness.MODES] for phase in ("idle_us", "loaded_us"))
        for what, phases, limit in (("idle p99, us", idle, None),
                                    ("idle p99 of two native runs", (idle[0], (CONTROL, "idle_us")), None),
                                    ("loaded p99, us", loaded, None),
                                    ("loaded p99 on native idle", (idle[0], loaded[1]), limits.loaded_p99_on_idle)):
            values = self.tails_of(*phases)
            if values and ("on native" not in what or limit):
                yield self.line(what, values, limit)
        values = self.tails_of(loaded[1])
        if limits.loaded_p99_us and values:
            p99_us = harness.median([p99_us for p99_us, in values])
            yield self.count("loaded p99 itself, us", p99_us, limits.loaded_p99_us)


def run_pair(program, command, turn, limit_s, modes=harness.MODES):
    """One run in each mode. Each mode has each place among the runs of a round in turn."""
    runs = {}
    for mode in (modes[(turn + place) % len(modes)] for place in range(len(modes))):
        kind = "native" if mode == CONTROL else mode
        done = harness.run(kind, command, limit_s, environment=programs.ENVIRONMENT)
        done["result"] = harness.last_json(done["out"])
        done["copies"], done["passed_on"] = harness.copy_counts(done.pop("report"))
        if done["status"] != 0 or not done["result"]:
            done["result"] = None
            print(f"{program.name}, {mode}: status {done['status']}\n{harness.tail(done['err'])}", flush=True)
        runs[mode] = done
    return runs


def run_rounds(found, arguments):
    """All runs within the budget: [(program, round, runs)]."""
    began, longest_s, done = time.monotonic(), {}, []
    modes = (*harness.MODES, CONTROL) if arguments.control else harness.MODES
    for turn in range(arguments.rounds):
        for program, command in found:
            if program.rounds and turn >= program.rounds and not arguments.programs:
                continue
            left_s = arguments.budget_s - (time.monotonic() - began)
            if left_s < longest_s.get(program.name, 5.0):
                continue
            at = time.monotonic()
            limit_s = min(arguments.limit_s, max(left_s / len(modes), 5.0))
            done.append((program, turn, run_pair(program, command, turn, limit_s, modes)))
            longest_s[program.name] = max(longest_s.get(program.name, 0.0), time.monotonic() - at)
            print(f"round {turn + 1}: {program.name} took {time.monotonic() - at:.1f} s", flush=True)
    return done


def cases_of(done):
    """The cases of all programs, in the order in which they came."""
    cases = {}
    for program, _, runs in done:
        if all(run["result"] for run in runs.values()):
            rows = {mode: {row["case"]: row for row in run["result"]["rows"]} for mode, run in runs.items()}
            for name in rows["native"]:
                case = cases.setdefault((program.name, name), Case(program, name))
                case.rounds.append({mode: rows[mode][name] for mode in runs})
    return list(cases.values())


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", help="names; none: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-s", type=float, default=460)
    parser.add_argument("--limit-s", type=float, default=60, help="of one run")
    parser.add_argument("--control", action="store_true", help="a second native run in each round")
    parser.add_argument("--json", default="pair.json", help="where the runs go")
    words, extra = sys.argv[1:], None
    if "--" in words:
        words, extra = words[:words.index("--")], words[words.index("--") + 1:]
    arguments = parser.parse_args(words)
    names = [program.name for program in EVERY]
    unknown = [name for name in arguments.programs if name not in names]
    if unknown:
        sys.exit(f"no program {unknown[0]}: there are " + ", ".join(names))
    if extra is not None and len(arguments.programs) != 1:
        sys.exit("arguments after -- are those of one program: name it")
    return arguments, extra


def stored(done):
    """The runs in the format of `cargo xtask store-run`: one for each program and round, with every sample."""
    header, kept = harness.header(), []
    for program, turn, runs in done:
        is_client = program in programs.CLIENTS
        rows = [row for mode in harness.MODES for row in phase_rows(mode, runs[mode]["result"])]
        for row in rows if is_client else ():
            row["case"] = program.name
        about = {mode: {key: runs[mode][key] for key in ("status", "wall_s", "copies", "passed_on")}
                 for mode in harness.MODES}
        question = "clients" if is_client else program.name
        versions = (runs["native"]["result"] or {}).get("versions")
        kept.append({"header": header, "question": question, "round": turn, "modes": about, "rows": rows,
                     **({"versions": versions} if versions else {})})
    return kept


def phase_rows(mode, result):
    """The rows of one run of a program, two for each case; none if it did not end well."""
    for row in (result or {}).get("rows", []):
        bulk = {"bulk_gbps": row.get("bulk_gbs"), "bulk_alone_gbps": row.get("bulk_alone_gbs"),
                "bytes_ok": row["bytes_ok"], **({"digest": row["digest"]} if "digest" in row else {})}
        yield harness.phase_row(row["case"], mode, "idle", row["idle_us"])
        yield harness.phase_row(row["case"], mode, "loaded", row["loaded_us"], **bulk)


def main():
    arguments, extra = parsed()
    harness.tools()
    with tempfile.TemporaryDirectory(prefix="overtake-pair-") as folder:
        wanted = [program for program in EVERY
                  if program.name in arguments.programs or not (arguments.programs or program.by_name)]
        found, left_out = programs.gather(wanted, folder)
        found = [(program, [*command, *(program.arguments if extra is None else extra)]) for program, command in found]
        done = run_rounds(found, arguments)
    table = [line for case in cases_of(done) for line in case.lines()]
    failed = [f"{program.name}, {mode}, round {turn + 1}" for program, turn, runs in done for mode in harness.MODES
              if not runs[mode]["result"]]
    path = harness.save(arguments.json, stored(done))
    for text in left_out:
        print("left out:", text)
    for text in failed:
        print("DID NOT END WELL:", text)
    print(f"samples and counts are in {path}\n")
    harness.print_table(COLUMNS, table)
    sys.exit(0 if table and not failed and all(line[-1] is not False for line in table) else 1)


if __name__ == "__main__":
    main()
