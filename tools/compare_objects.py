#!/usr/bin/env python3
"""Compares the machine code of two builds function by function: a change of names or comments leaves it equal.

Names, addresses and padding are left out, so renamed and moved functions are equal too. Lists the functions that only
one of the builds has, and ends with status 1 if there are any. Messages in the code make functions differ.

    tools/compare_objects.py OLD_FOLDER NEW_FOLDER      folders that contain object files, as in
        build/release/src/backend/CMakeFiles/ft_backend.dir/cpu/isa
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t(.*)$")
PADDING = re.compile(r"^(cs )?nop|^data16|^xchg\s+%ax,%ax")
ADDRESSES = [
    (re.compile(r"<.*>|#.*"), ""),
    (re.compile(r"^(j\w+|call)\s+[0-9a-f]+"), r"\1 X"),
    (re.compile(r"0x[0-9a-f]+\(%rip\)"), "X(%rip)"),
    (re.compile(r"\$0x[0-9a-f]+,%(ecx|edx|esi|r8d|r9d)$"), r"$X,%\1"),  # a failed check's line among them
]


def functions(folder):
    """The functions in the object files below `folder`: how often each code occurs, and one name of each code."""
    counts, names = collections.Counter(), {}
    for file in sorted(pathlib.Path(folder).rglob("*.o")):
        dump = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", "-C", file], capture_output=True, text=True,
                              check=True).stdout
        name, body = "", []
        for line in [*dump.splitlines(), "0 <end>:"]:
            if found := FUNCTION.match(line):
                if body:
                    counts[code := "\n".join(body)] += 1
                    names.setdefault(code, f"{file.name}: {name}")
                name, body = found[1], []
            elif found := INSTRUCTION.match(line):
                text = "relocation" if "R_X86" in found[1] else found[1]
                for pattern, by in ADDRESSES:
                    text = pattern.sub(by, text)
                if not PADDING.match(text):
                    body.append(text.strip())
    return counts, names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    args = parser.parse_args()
    (old, old_names), (new, new_names) = functions(args.old), functions(args.new)
    if not old or not new:
        sys.exit(f"{args.new if old else args.old}: contains no object file with functions")
    for sign, only, names in (("-", old - new, old_names), ("+", new - old, new_names)):
        for code in only:
            print(f"{sign} {names[code]} ({len(code.splitlines())} instructions)")
    print(f"{old.total()} and {new.total()} functions, {(old & new).total()} equal")
    return old != new


if __name__ == "__main__":
    sys.exit(main())
