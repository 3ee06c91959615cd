#!/usr/bin/env python3
"""Fails when an object built for one instruction set defines a function that the linker may share.

The linker keeps one copy of an inline function. If it were the copy of a file built for AVX-512, every
processor would run it. So all such functions of these files lie in the namespace of their set.

usage: tools/isa_symbols.py OBJECT...   (others than kernels_*.o, linear_*.o and emulated_*.o are left out)
"""
import os
import re
import subprocess
import sys

OBJECT = re.compile(r"(?:kernels|linear|emulated)_\w+\.cc\.o$")
SET = re.compile(r"foretoken::(?:portable|avx|amx|emulated_)\w*::")
# What a compiler puts into every object, and a few instructions long.
HARMLESS = re.compile(r"__clang_call_terminate|asan\.module_|__odr_asan")


def shared(path):
    listing = subprocess.run(["nm", "-C", "--defined-only", path], check=True, text=True, capture_output=True).stdout
    for line in listing.splitlines():
        kind, name = re.match(r"\S* +(\S) (.*)", line).groups()
        if kind == "W" and not SET.search(name) and not HARMLESS.search(name):
            yield name


def main():
    objects = [path for path in sys.argv[1:] if OBJECT.search(os.path.basename(path))]
    if not objects:
        print("isa_symbols: none of these objects is built for an instruction set", file=sys.stderr)
        return 1
    bad = [f"{os.path.basename(path)}: {name}" for path in objects for name in shared(path)]
    for line in bad:
        print("isa_symbols: may be shared with other objects:", line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
