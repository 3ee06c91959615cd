#!/usr/bin/env python3
"""Fails when a folder includes another it may not: layers point downwards only.

usage: tools/layers.py [ROOT]
"""
import collections
import os
import re
import sys

# Each folder and the folders it may include.
ALLOWED = {
    "base": set(),
    "text": {"base"},
    "io": {"base", "text"},
    "backend": {"base", "io"},
    "tree": {"base"},
    "model": {"base", "io", "backend"},
    "verify": {"base", "backend", "io", "tree"},
    "draft": {"base", "text", "io", "backend", "tree", "model", "verify"},
    "engine": {"base", "io", "text", "backend", "tree", "model", "verify", "draft"},
}


def sources(root):
    for folder, _, names in os.walk(root):
        for name in names:
            if re.search(r"\.(h|cc)$", name) and not re.search(r"_(test|fuzz)\.cc$|_testing\.h$", name):
                yield os.path.join(folder, name)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "src")
    edges = collections.defaultdict(list)
    for path in sources(root):
        rel = os.path.relpath(path, root)
        layer = rel.split(os.sep)[0]
        with open(path, encoding="utf-8") as f:
            for line, text in enumerate(f, 1):
                m = re.match(r'\s*#include\s+"([a-z_]+)/', text)
                if m and m.group(1) != layer and m.group(1) in ALLOWED:
                    edges[layer, m.group(1)].append(f"{rel}:{line}")
    bad = {e: where for e, where in edges.items() if e[1] not in ALLOWED.get(e[0], set())}
    for (a, b), where in sorted(bad.items()):
        print(f"layers: {a}/ may not include {b}/: {', '.join(where[:5])}", file=sys.stderr)
    if bad:
        return 1
    print("layers:", ", ".join(f"{a}->{b}" for a, b in sorted(edges)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
