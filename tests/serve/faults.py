#!/usr/bin/env python3
"""Faults that a server must survive: kill and restart, clients that disconnect or do not read, bad requests, no memory.

Every fault is a named check, and a table shows the results. --scale shortens the run: 1/50 makes 20 disconnects instead
of 1,000. Needs nothing but Python.

    tests/serve/faults.py [--scale 1/50] [--binary build/asan/foretoken] [--only 'fuzz*'] [--seed 1]
"""
import argparse
import fractions
import pathlib
import sys

import fault_clients
import fault_fuzz
import fault_lifecycle
import fault_memory
import models
import server as servers
from faults_shared import Faults
from results import Results

SUITES = [module.SUITE for module in (fault_clients, fault_lifecycle, fault_memory, fault_fuzz)]


def scale(text):
    value = float(fractions.Fraction(text))
    if not 0 < value <= 10:
        raise argparse.ArgumentTypeError(f"{text}: expected a scale such as 1 or 1/50")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path, default=models.SHIPPED)
    parser.add_argument("--binary", type=pathlib.Path, default=servers.BINARY)
    parser.add_argument("--scale", type=scale, default=1.0, help="share of the full number of repetitions, as in 1/50")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="PATTERN", help="faults whose names match")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    args = parser.parse_args()
    results = Results()
    results.run("faults", SUITES, Faults(args), args.only)
    return results.finish(args.json)


if __name__ == "__main__":
    sys.exit(main())
