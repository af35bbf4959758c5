"""A training step of PyTorch under tools that look into a program, natively and under the drop-in in turn: the time
until its result, and whether the result is the same.

Usage: OVERTAKE_BIN=folder python3 benches/gpu/debuggers.py [TOOL]... [--rounds N] [--limit-s N] [--json FILE]

The limit of a tool: 1.2 times the native time without a tool, and what the tool costs natively. `plain` is no tool.
"""

import argparse
import hashlib
import shutil
import sys

import harness

FACTOR_MAX = 1.2
TOOLS = {
    "plain": ([], {}),
    "launch blocking": ([], {"CUDA_LAUNCH_BLOCKING": "1"}),
    "memcheck": (["compute-sanitizer", "--tool", "memcheck"], {}),
    "ncu": (["ncu", "--clock-control", "none", "--launch-count", "4"], {}),
}
COLUMNS = ("tool", "rounds", "native s", "overtake s", "limit s", "same result", "holds")


def step():
    """Pageable tensors to the device, a step with them, and the result back."""
    import torch
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 64)).cuda()
    inputs = torch.randn(4096, 1024).to("cuda")
    loss = model(inputs).square().mean()
    loss.backward()
    gradients = torch.cat([weights.grad.flatten() for weights in model.parameters()]).cpu()
    digest = hashlib.sha256(gradients.numpy().tobytes()).hexdigest()
    print(f"RESULT {loss.item():.6f} {digest}")


def result_of(done):
    """The line of the result, or how the run ended without one."""
    lines = [line for line in done["out"].splitlines() if line.startswith("RESULT ")]
    return lines[-1] if lines else f"no result (status {done['status']})"


def row_of(tool, runs, native_plain_s):
    """The line of one tool; `runs` has for each mode the runs of all rounds."""
    native_s, ours_s = (harness.median([run["wall_s"] for run in runs[mode]]) for mode in harness.MODES)
    limit_s = FACTOR_MAX * native_plain_s + native_s - native_plain_s
    results = {result_of(run) for mode in harness.MODES for run in runs[mode]}
    is_same = len(results) == 1 and next(iter(results)).startswith("RESULT ")
    return [tool, len(runs["native"]), native_s, ours_s, limit_s, is_same, is_same and ours_s <= limit_s]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tools", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=120, help="for each run")
    parser.add_argument("--json", default="debuggers.json")
    arguments = parser.parse_args()
    chosen = ["plain", *(tool for tool in arguments.tools or TOOLS if tool != "plain")]
    unknown = [tool for tool in chosen if tool not in TOOLS]
    if unknown:
        sys.exit(f"no such tool: {', '.join(unknown)}; there are: {', '.join(TOOLS)}")
    missing = [tool for tool in chosen if TOOLS[tool][0] and not shutil.which(TOOLS[tool][0][0])]
    runs = {tool: {mode: [] for mode in harness.MODES} for tool in chosen if tool not in missing}
    command = [sys.executable, __file__, "--step"]
    for number in range(arguments.rounds):
        for tool, kept in runs.items():
            before, environment = TOOLS[tool]
            for mode in harness.MODES if number % 2 == 0 else reversed(harness.MODES):
                kept[mode].append(harness.run(mode, [*before, *command], arguments.limit_s, environment=environment))
    native_plain_s = harness.median([run["wall_s"] for run in runs["plain"]["native"]])
    rows = [row_of(tool, kept, native_plain_s) for tool, kept in runs.items()]
    harness.save(arguments.json, {
        "header": harness.header(), "question": "programs",
        "rows": [{"tool": tool, "mode": mode, "wall_s": run["wall_s"], "result": result_of(run)}
                 for tool, kept in runs.items() for mode in harness.MODES for run in kept[mode]]})
    for tool in missing:
        print(f"left out: {tool} (no command {TOOLS[tool][0][0]})")
    for tool, kept in runs.items():
        for run in kept["overtake"] + kept["native"]:
            if not result_of(run).startswith("RESULT "):
                print(f"{tool}, {run['mode']}: {result_of(run)}\n{harness.tail(run['out'] + run['err'], 8)}")
    harness.print_table(COLUMNS, rows)
    sys.exit(0 if all(row[-1] for row in rows) else 1)


if __name__ == "__main__":
    step() if sys.argv[1:] == ["--step"] else main()
