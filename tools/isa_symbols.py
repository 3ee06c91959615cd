#!/usr/bin/env python3
"""Checks that objects built for one instruction set define no function that the linker may share.

The linker keeps one copy of an inline function. If that copy came from a file built for AVX-512, CPUs without it
would run it, too. All inline functions of these files must therefore be in the namespace of their set.

usage: tools/isa_symbols.py OBJECT...   (files other than kernels_*.o, linear_*.o and emulated_*.o are ignored)
       tools/isa_symbols.py --build DIR  (objects named in DIR/compile_commands.json that exist)
"""
import json
import os
import re
import subprocess
import sys

OBJECT = re.compile(r"(?:(?:kernels|linear)_)?(\w+)(?<!_test)\.cc\.o")
# Functions of a few instructions that the compiler adds to every object.
HARMLESS = re.compile(r"__clang_call_terminate|asan\.module_|__odr_asan")


def set_of(path):
    """The instruction set of an object, which is also the namespace of its functions; None for other objects."""
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
    """Yields the objects that exist in a build folder."""
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
