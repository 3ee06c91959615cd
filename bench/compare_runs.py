#!/usr/bin/env python3
"""Compares two runs of one command: `foretoken bench spec --json` or `foretoken bench paper --json`.

Figures of acceptance must be equal to the last digit, and every speed-up must lie in the other run's
95 % interval. Prints what does not, and how much was compared; exits with 1 if acceptance differs.

usage: bench/compare_runs.py FIRST.json SECOND.json
"""
import json
import sys

ACCEPTANCE = ("tau_micro", "tau_macro", "acc_only", "alpha_edd", "alpha_lev", "alpha_tok", "alpha_n",
              "ECE", "nodes_per_cycle", "cycles", "tokens", "questions", "identical")


def spec_figures(run):
    """Yields (name, value, interval or None) of a bench spec."""
    for entry in run["results"]:
        name = " / ".join(str(entry[key]) for key in ("task", "method", "tree", "verifier", "temperature"))
        for key in ACCEPTANCE:
            if key in entry:
                yield f"{name}: {key}", entry[key], None
        yield f"{name}: speedup", entry["speedup"], (entry["speedup_low"], entry["speedup_high"])


def paper_figures(run):
    """The same of a bench paper: cells without an interval do not depend on the clock."""
    for cell in run["cells"]:
        name = " / ".join(cell["row"] + cell["column"]) + ": " + cell["metric"]
        interval = (cell["low"], cell["high"]) if "low" in cell else None
        yield name, cell["value"], interval


def figures(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    kind = paper_figures if "cells" in run else spec_figures
    return {name: (value, interval) for name, value, interval in kind(run)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    first, second = figures(sys.argv[1]), figures(sys.argv[2])
    if first.keys() != second.keys():
        sys.exit(f"{sys.argv[2]}: figures of another run than those of {sys.argv[1]}")
    exact = differing = timed = outside = 0
    for name, (value, interval) in first.items():
        other, other_interval = second[name]
        if interval is None:
            exact += 1
            if value != other:
                differing += 1
                print(f"{name}: {value} and {other}")
            continue
        timed += 1
        inside = interval[0] <= other <= interval[1] or other_interval[0] <= value <= other_interval[1]
        if not inside:
            outside += 1
            print(f"{name}: {value:.3f} {interval} and {other:.3f} {other_interval}")
    print(f"{exact - differing} of {exact} figures of acceptance are equal, "
          f"{timed - outside} of {timed} ratios lie in an interval of the other run")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
