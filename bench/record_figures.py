#!/usr/bin/env python3
"""Runs a bench command and appends its figures to a CSV file of docs/performance/data.

The command must take --json. Each figure becomes one row: machine, date, commit, command, what, value, unit. `what`
names the figure and lists what it depends on, as in "pass; type=Q8_0; rows=4; context=0". --label adds to each.

    bench/record_figures.py --csv docs/performance/data/avx2.csv --machine "AMD EPYC Zen 3 (2 cores)" --label type=Q8_0 --
        build/release/foretoken bench decode --random 1.1b --type Q8_0
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import revision

COLUMNS = ["machine", "date", "commit", "command", "what", "value", "unit"]
# Members of the JSON, by what their figures, or those of their elements, describe.
ELEMENTS = {"decode": "autoregressive", "curve": "pass", "passes": "part of a pass", "kernels": "product", "points": "texts together",
            "levels": "level of a draft", "look_ups": "look-up", "scenarios": "processes"}
# Labels that come first, so that `what` can be read from left to right.
FIRST = ["type", "rows", "context"]
NAMES = {"name", "product", "drafter", "tree"}  # labels whose value says enough
# Suffixes of keys: the unit of the figure, and the factor from the unit of the JSON.
UNITS = [("tokens_per_second", "tokens/s", 1), ("bytes_per_second", "GB/s", 1e-9),
         ("macs_per_second", "G multiply-adds/s", 1e-9), ("words_per_second", "G words/s", 1e-9), ("seconds", "ms", 1e3),
         ("bytes", "MB", 1e-6), ("fraction", "%", 100), ("limit", "x", 1), ("ratio", "x", 1), ("of_alone", "x", 1)]
# Figures that need no word beside their unit.
PLAIN = {"seconds", "tokens_per_second"}


def unit_of(key):
    key = key.removesuffix("_most").removesuffix("_least")
    return next(((unit, factor) for suffix, unit, factor in UNITS if key.endswith(suffix)), ("", 1))


def wording(key):
    if key == "times_the_limit":
        return "over the limit"
    for part in ("_tokens_per_second", "_per_second", "_seconds", "seconds_"):
        key = key.replace(part, "")
    return key.replace("_", " ")


def is_label(key, value):
    return isinstance(value, str) or (isinstance(value, int) and unit_of(key)[0] == "")


def figures(value, where, labels, plain=""):
    """Yields (what, value, unit) for all numbers in a JSON value."""
    if isinstance(value, dict):
        own = {**labels, **{k: v for k, v in value.items() if is_label(k, v)}}
        for key, inner in value.items():
            if is_label(key, inner):
                continue
            if isinstance(inner, (dict, list)):
                yield from figures(inner, [*where, ELEMENTS.get(key, wording(key))], own, key)
            else:
                unit, factor = unit_of(key) if unit_of(key)[0] else unit_of(plain)
                word = [] if key in PLAIN else [wording(key)]
                yield "; ".join([*where, *texts(own), *word]), inner * factor, unit
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from figures(inner, where, labels)
            else:
                unit, factor = unit_of(plain)
                yield "; ".join([*where, *texts(labels), f"number {index + 1}"]), inner * factor, unit


def texts(labels):
    order = [k for k in FIRST if k in labels] + [k for k in labels if k not in FIRST]
    return [str(labels[k]) if k in NAMES else f"{k}={labels[k]}" for k in order]


def number(value):
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def as_typed(command):
    """The command without the folders of its files, which are of no use elsewhere."""
    return shlex.join(os.path.basename(word) if "/" in word else word for word in command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="A commit ends in + if files differ from it.")
    parser.add_argument("--csv", type=pathlib.Path, required=True, help="the file to append to")
    parser.add_argument("--machine", required=True, help='as in "AMD EPYC Zen 3 (2 cores)"')
    parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    labels = {}
    for label in args.label:
        key, separator, value = label.partition("=")
        if not separator:
            parser.error(f"--label {label}: expected KEY=VALUE")
        labels[key] = value
    is_new = not args.csv.exists()
    if not is_new:
        with open(args.csv, encoding="utf-8", newline="") as f:
            if next(csv.reader(f), None) != COLUMNS:
                sys.exit(f"{args.csv}: has other columns than {','.join(COLUMNS)}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "figures.json"
        status = subprocess.run([*args.command, "--json", path], check=False).returncode
        if status != 0:
            sys.exit(f"{args.command[0]}: exit status {status}; nothing is recorded")
        found = json.loads(path.read_text(encoding="utf-8"))
    commit = revision.commit() + ("+" if revision.has_changes() else "")
    circumstances = [args.machine, datetime.date.today().isoformat(), commit, as_typed(args.command)]
    rows = [[*circumstances, what, number(value), unit] for what, value, unit in figures(found, [], labels)]
    with open(args.csv, "a", encoding="utf-8", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerows([COLUMNS, *rows] if is_new else rows)
    print(f"{args.csv}: {len(rows)} figures", file=sys.stderr)


if __name__ == "__main__":
    main()
