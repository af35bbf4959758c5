#!/usr/bin/env python3
"""The size of the repository at a commit: `benches/size.py [COMMIT]` (HEAD by default) prints the rows of
reports/size/README.md as JSON. It reads what git has stored, and asks cargo for the test programs."""

import collections
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

CODE = {".rs", ".c", ".h", ".hpp", ".cpp", ".cu", ".cuh", ".py", ".pyi", ".sh", ".js"}
# The first kind whose pattern begins a path; a test is one wherever it stands. Folders of both layouts.
KINDS = [
    ("measuring", r"benches/|\w+/benches/|probes/|tests/gpu/|crates/report/|crates/cli/src/bench"
                  r"|crates/xtask/src/(headline|agreement|store|stored|machine)"),
    ("tests", r"tests/|.*/tests/|.*/tests\.rs$|.*/models\.rs$|.*/models/|.*/soft\.rs$|crates/testkit/"),
    ("soft GPU", r"crates/(softgpu|workloads|backend)/"),
    ("chores", r"crates/xtask/|\.ci/|build\.rs$"),
    ("generated", r"crates/abi/src/(generated|prototypes)\.rs$|crates/capi/include/overtake\.h$"),
    ("stack", r"semaphores/|channels/|copies/"
              r"|crates/(hal|abi|driver|os|doors|priority|terms|threads|contexts|options|shim|preload)/"),
    ("upper layers", r"graph/|stages/|memory/|tasks/|arrays/|pipelines/|plan/|src/|crates/(feed|profile)/"),
    ("C library, Python, command", r"crates/(capi|cli|console)/"),
    ("examples", r"examples/|docs/"),
]
LAYERS = ("stack", "upper layers")


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True).stdout


def without_tests(text):
    """The lines of a file, and those of the tests at its end."""
    lines = text.splitlines()
    for number, line in enumerate(lines[:-1]):
        if re.match(r"#\[cfg\((all\()?test", line) and re.match(r"(pub )?mod \w+ \{", lines[number + 1]):
            return lines[:number], lines[number:]
    return lines, []


def functions(lines):
    """The length of each function: rustfmt closes it at its own depth."""
    for number, line in enumerate(lines):
        head = re.match(r"( *)(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern \"C\") )*fn \w", line)
        if head and not line.rstrip().endswith((";", "}")):
            for end in range(number + 1, len(lines)):
                if lines[end] == head[1] + "}":
                    yield end - number + 1
                    break
                if lines[end].startswith(head[1]) and lines[end].endswith(");"):
                    break


def circles(files):
    """Groups of files of a crate that use each other in a circle, by `use` and by paths from `crate` and `super`."""
    crates = collections.defaultdict(dict)
    for name, text in files.items():
        if "/src/" in f"/{name}" and name.endswith(".rs"):
            base, _, module = f"/{name}".rpartition("/src/")
            parts = [it for it in module[:-3].split("/") if it not in ("lib", "main", "mod")]
            crates[base][tuple(parts)] = "\n".join(re.sub(r"//.*", "", it) for it in without_tests(text)[0])
    groups = []
    for base, modules in crates.items():
        arrows = {at: targets(at, text, modules) - {at} for at, text in modules.items()}
        groups += [(base, group) for group in strong(arrows) if len(group) > 1]
    return groups


def targets(at, text, modules):
    found = set()
    for path in paths(text):
        if path[0] == "crate":
            path = path[1:]
        elif path[0] == "self":
            path = list(at) + path[1:]
        else:
            up = 0
            while up < len(path) and path[up] == "super":
                up += 1
            path = list(at[: len(at) - up]) + path[up:]
        for end in range(len(path), 0, -1):
            if tuple(path[:end]) in modules:
                found.add(tuple(path[:end]))
                break
    return found


def paths(text):
    for start in re.finditer(r"\b(crate|super|self)::", text):
        yield from tree(text, start.start())


def tree(text, at):
    """The paths of a `use` tree, or one path."""
    end, depth = at, 0
    while end < len(text) and (depth or text[end] not in " ;,()<>)&=."):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth < 0:
            break
        end += 1
    return spread(re.sub(r"\s+", "", text[at:end]))


def spread(text):
    head, brace, rest = text.partition("{")
    before = [it for it in head.split("::") if re.match(r"\w+$", it)]
    if not brace:
        return [before] if before else []
    items, depth, item = [], 0, ""
    for letter in rest:
        if letter == "," and not depth or letter == "}" and not depth:
            items.append(item)
            item = ""
            if letter == "}":
                break
            continue
        depth += {"{": 1, "}": -1}.get(letter, 0)
        item += letter
    return [before + more for item in items for more in (spread(item) or [[]])]


def strong(arrows):
    """Tarjan's strongly connected components."""
    sys.setrecursionlimit(10_000)
    index, low, stack, groups = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in arrows[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            groups.append(group)

    for node in arrows:
        if node not in index:
            visit(node)
    return groups


def count(commit):
    files, megabytes = {}, 0
    for line in git("ls-tree", "-r", "-l", commit).decode().splitlines():
        megabytes += int(line.split()[3]) / 1e6
    archive = tarfile.open(fileobj=io.BytesIO(git("archive", commit)))
    members = [it for it in archive.getmembers() if it.isfile()]
    for member in members:
        suffix = pathlib.PurePath(member.name).suffix
        if suffix in CODE or suffix in (".toml", ".md") or member.name == ".ci/run":
            files[member.name] = archive.extractfile(member).read().decode(errors="replace")
    kinds, names, longest_file, longest_function = collections.Counter(), collections.defaultdict(set), (0, ""), (0, "")
    for name, text in files.items():
        if pathlib.PurePath(name).suffix not in CODE and name != ".ci/run":
            continue
        kind = next((kind for kind, pattern in KINDS if re.match(pattern, name)), "others")
        lines, tests = without_tests(text) if name.endswith(".rs") else (text.splitlines(), [])
        kinds[kind] += len(lines)
        kinds["tests"] += len(tests)
        if kind in LAYERS and name.endswith(".rs"):
            for line in lines:
                if found := re.match(r" *(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) (\w+)", line):
                    names[found[1]].add(name)
        if name.endswith(".rs") and kind != "generated":
            longest_file = max(longest_file, (len(lines) + len(tests), name))
            longest_function = max(longest_function, (max(functions(lines + tests), default=0), name))
    glossary = files.get("docs/glossary.md", files["ARCHITECTURE.md"]).split("## Words")[-1]
    glossary = re.findall(r"^\| (?!word )([a-z].*?) \|", re.split(r"^## ", glossary, flags=re.M)[0], flags=re.M)
    table = files["crates/options/src/tunable.rs"]
    with tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder, members=[it for it in archive.getmembers() if not it.name.startswith("reports/")],
                           filter="data")
        said = subprocess.run(["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"], cwd=folder,
                              check=True, capture_output=True).stdout
    packages = json.loads(said)["packages"]
    groups = circles({name: text for name, text in files.items() if name.endswith(".rs")})
    return {
        "lines": dict(kinds.most_common()),
        "lines of all kinds": sum(kinds.values()),
        "lines of stack and upper layers": sum(kinds[it] for it in LAYERS),
        "pages, lines": sum(len(text.splitlines()) for name, text in files.items() if name.endswith(".md")),
        "files": len(members),
        "crates": len(packages),
        "glossary, rows": len(glossary),
        "glossary, words": sum(len(row.split(",")) for row in glossary),
        "types with a shared name": sum(len(places) > 1 for places in names.values()),
        "options": len(re.findall(r"^    option\(", table, flags=re.M)),
        "circles": len(groups),
        "files in circles": sum(len(group) for _, group in groups),
        "longest file": longest_file,
        "longest function": longest_function,
        "#[path] lines": sum(len(re.findall(r"^ *#\[path", text, flags=re.M)) for name, text in files.items()
                             if name.endswith(".rs")),
        "test programs": sum(target["test"] for package in packages for target in package["targets"]
                             if "bench" not in target["kind"] and "example" not in target["kind"]),
        "megabytes": round(megabytes, 1),
        "circles, where": [f"{base}: {len(group)}" for base, group in groups],
    }


if __name__ == "__main__":
    print(json.dumps(count(sys.argv[1] if len(sys.argv) > 1 else "HEAD"), indent=1))
