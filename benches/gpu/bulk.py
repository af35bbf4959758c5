#!/usr/bin/env python3
"""The table of bulk.sh: bulk over that of the native run of the same round, and the urgent copies beside it."""

import json
import sys
from pathlib import Path
from statistics import median

WAYS = ("native", "default", "whole")
# Per cent of the native rate that bulk keeps, beside urgent copies and with none for a while.
BESIDE = {"256M": 92, "4M": 90, "both": 88}
ALONE = {"256M": 98, "4M": 98, "2M": 98, "1M": 98}


def rows(folder, name, way, round_):
    """The rows of one run, by direction: bulk alone, and beside the urgent copies."""
    path = folder / f"{name}-{way}-{round_}.json"
    if not path.exists():
        return {}
    found = json.loads(path.read_text())["rows"]
    return {row["direction"]: row for row in found if row["method"] == "native+priority"}


def spread(values):
    return f"{median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def verdict(name, values, least):
    held = median(values) >= least
    print(f"{name}: {spread(values)} % (limit at least {least}): {'holds' if held else 'DOES NOT HOLD'}")
    return held


def judge(name, of, way, alone):
    """Prints the lines of one size and one way. Returns whether the limits hold that are for this way."""
    held = True
    for direction in sorted(of["native"][0]):
        label = "2M both ways" if name == "both" else f"{name} {direction}"
        pairs = [(ours[direction], native[direction]) for ours, native in zip(of[way], of["native"]) if ours and native]
        kept = [100 * ours["bulk_gbps"] / native["raw_gbps"] for ours, native in pairs]
        unmet = [100 * ours["raw_gbps"] / native["raw_gbps"] for ours, native in pairs]
        p50, most = ([ours[key] for ours, _ in pairs] for key in ("p50_us", "max_us"))
        print(f"{label} {way}: bulk {spread(kept)} %, p50 {spread(p50)} us, slowest {spread(most)} us")
        if way == "whole" and name in BESIDE:
            held &= verdict(f"{label}, beside urgent copies", kept, BESIDE[name])
        if way == "whole" and alone:
            held &= verdict(f"{label}, with none", unmet, ALONE[name])
    return held


def main():
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    held = True
    print(f"bulk as per cent of bulk alone, natively in the same round; medians of {rounds} rounds (lowest to highest)")
    for name in ("256M", "4M", "2M", "1M", "both"):
        of = {way: [rows(folder, name, way, number + 1) for number in range(rounds)] for way in WAYS}
        for way in WAYS:
            held &= judge(name, of, way, name in ALONE)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
