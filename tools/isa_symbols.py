#!/usr/bin/env python3
"""Fails when an object built for one instruction set defines a function that the linker may share.

The linker keeps one copy of an inline function. If it were the copy of a file built for AVX-512, every
processor would run it. So all such functions of these files lie in the namespace of their set.

usage: tools/isa_symbols.py OBJECT...   (others than kernels_*.o, linear_*.o and emulated_*.o are left out)
       tools/isa_symbols.py --build DIR  (those that DIR/compile_commands.json names and that are built)
"""
import json
import os
import re
import subprocess
import sys

OBJECT = re.compile(r"(?:(?:kernels|linear)_)?(\w+)(?<!_test)\.cc\.o")
# What a compiler puts into every object, and a few instructions long.
HARMLESS = re.compile(r"__clang_call_terminate|asan\.module_|__odr_asan")


def set_of(path):
    """The set that an object is built for, which is also the namespace of its functions; None for other objects."""
    name = OBJECT.fullmatch(os.path.basename(path))
    return name[1] if name and re.match("kernels_|linear_|emulated_", name[0]) else None


def shared(path):
    own = f"foretoken::{set_of(path)}::"
    listing = subprocess.run(["nm", "-C", "--defined-only", path], check=True, text=True, capture_output=True).stdout
    for line in listing.splitlines():
        kind, name = re.match(r"\S* +(\S) (.*)", line).groups()
        if kind == "W" and own not in name and not HARMLESS.search(name):
            yield name


def built(folder):
    """What a build folder has compiled so far."""
    path = os.path.join(folder, "compile_commands.json")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        commands = json.load(f)
    for command in commands:
        output = re.search(r" -o (\S+)", command["command"])
        if output and os.path.exists(path := os.path.join(folder, output.group(1))):
            yield path


def main():
    in_build = sys.argv[1:2] == ["--build"]
    paths = built(sys.argv[2]) if in_build else sys.argv[1:]
    objects = [path for path in paths if set_of(path)]
    if not objects and in_build:
        print("isa_symbols: nothing is built yet, nothing checked")
        return 0
    if not objects:
        print("isa_symbols: none of these objects is built for an instruction set", file=sys.stderr)
        return 1
    bad = [f"{os.path.basename(path)}: {name}" for path in objects for name in shared(path)]
    for line in bad:
        print("isa_symbols: may be shared with other objects:", line, file=sys.stderr)
    if not bad:
        print(f"isa_symbols: {len(objects)} objects share no function with others")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
