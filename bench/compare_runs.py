#!/usr/bin/env python3
"""Checks whether a second run of `foretoken bench spec --json` or `foretoken bench paper --json` reproduces a first.

Acceptance figures must be exactly equal. Of two ratios, rounded to the two digits of the tables, one must lie in the
other run's interval. As some 95 % intervals are missed by chance, they are only counted; the test uses wider intervals,
which all ratios of a run meet at once in 95 of 100 runs (Bonferroni, assuming normal errors). Prints the figures that
differ and a summary; exits with 1 if acceptance differs or a ratio is outside both wider intervals.

usage: bench/compare_runs.py FIRST.json SECOND.json
"""
import json
import statistics
import sys

ACCEPTANCE = ("tau_micro", "tau_macro", "acc_only", "alpha_edd", "alpha_lev", "alpha_tok", "alpha_n",
              "ECE", "nodes_per_cycle", "cycles", "tokens", "questions", "identical")


def spec_figures(run):
    """Yields (name, value, interval or None) for the figures of a `bench spec` run."""
    for entry in run["results"]:
        name = " / ".join(str(entry[key]) for key in ("task", "method", "tree", "verifier", "temperature"))
        for key in ACCEPTANCE:
            if key in entry:
                yield f"{name}: {key}", entry[key], None
        yield f"{name}: speedup", entry["speedup"], (entry["speedup_low"], entry["speedup_high"])


def paper_figures(run):
    """Yields (name, value, interval or None) for the cells of a `bench paper` run. Only timed cells have intervals."""
    for cell in run["cells"]:
        name = " / ".join(cell["row"] + cell["column"]) + ": " + cell["metric"]
        interval = (cell["low"], cell["high"]) if "low" in cell else None
        yield name, cell["value"], interval


def figures(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    kind = paper_figures if "cells" in run else spec_figures
    return {name: (value, interval) for name, value, interval in kind(run)}


def widened(value, interval, factor):
    return value - (value - interval[0]) * factor, value + (interval[1] - value) * factor


def inside(value, interval):
    """Whether a value is in an interval, to the two digits of the tables."""
    return round(interval[0], 2) <= round(value, 2) <= round(interval[1], 2)


def reproduced(first, second, factor):
    """Whether the value of either pair (value, interval) lies in the other pair's interval, widened by `factor`."""
    return (inside(second[0], widened(*first, factor)) or
            inside(first[0], widened(*second, factor)))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    first, second = figures(sys.argv[1]), figures(sys.argv[2])
    if first.keys() != second.keys():
        sys.exit(f"{sys.argv[2]}: figures of another run than those of {sys.argv[1]}")
    exact = [name for name, (_, interval) in first.items() if interval is None]
    timed = [name for name, (_, interval) in first.items() if interval is not None]
    equal = sum(first[name] == second[name] for name in exact)
    normal = statistics.NormalDist()
    together = normal.inv_cdf(1 - 0.025 / max(1, len(timed))) / normal.inv_cdf(0.975)
    alone = sum(reproduced(first[name], second[name], 1) for name in timed)
    outside = [name for name in timed if not reproduced(first[name], second[name], together)]
    for name in [name for name in exact if first[name] != second[name]] + outside:
        print(f"{name}: {first[name]} and {second[name]}")
    print(f"{equal} of {len(exact)} figures of acceptance are equal; of {len(timed)} ratios, {alone} lie in a "
          f"95 % interval of the other run, {len(timed) - len(outside)} in the interval for all at once")
    sys.exit(1 if equal < len(exact) or outside else 0)


if __name__ == "__main__":
    main()
