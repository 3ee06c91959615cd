#!/usr/bin/env python3
"""Checks a running `foretoken serve` as a black box, with the openai client and curl.

Every check is a named function. The checks run one after the other on a server for each model, and a table shows the
results. Without --model, the models are the shipped one, SmolLM2 if scripts/fetch_model.sh has fetched it, and the
shipped one with a template that has tools.

    tests/serve/install.sh && build/serve-venv/bin/python tests/serve/conformance.py [--only 'chat: s*'] [--model FILE]...
"""
import argparse
import pathlib
import sys

import check_chat
import check_errors
import check_forms
import check_guard
import check_sampling
import check_server
import check_speculation
import check_text
import context
import models
import server as servers
from results import Results

EVERYTHING = [
    suite.SUITE
    for suite in (check_server, check_chat, check_text, check_speculation, check_sampling, check_forms, check_errors)
]
OPTIONS = ["--parallel", "4", "--context", "1024"]


def check_model(results, group, path, suites, args):
    with servers.Server(path, *OPTIONS, *models.drafters_beside(path), binary=args.binary) as server:
        shared = context.Context(server, path, args.binary)
        results.run(group, suites, shared, args.only, lambda: not server.alive)


def check_guarded(results, args):
    with servers.Server(models.SHIPPED, *check_guard.options(servers.SCRATCH), binary=args.binary) as server:
        results.run("guarded", [check_guard.SUITE], server, args.only, lambda: not server.alive)


def check_all(results, args):
    """Checks the usual three models, and access control on a server of its own."""
    def on(group, path, suites):
        results.run_one(group, "the server starts, and ends with 0",
                        lambda: check_model(results, group, path, suites, args))

    on("shipped", models.SHIPPED, EVERYTHING)
    if path := models.smollm2():
        on("smollm2", path, EVERYTHING)
    else:
        results.add("smollm2", "every check", "skip", 0, "the model is not there; scripts/fetch_model.sh fetches it")
    on("tools", models.with_tools(), [check_forms.SUITE])
    results.run_one("guarded", "the server starts, and ends with 0", lambda: check_guarded(results, args))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", type=pathlib.Path, metavar="FILE",
                        help="instead of the usual three")
    parser.add_argument("--binary", type=pathlib.Path, default=servers.BINARY)
    parser.add_argument("--only", metavar="PATTERN", help="checks whose names match, as in 'chat: s*'")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    args = parser.parse_args()
    results = Results()
    for path in args.model or []:
        results.run_one(path.stem, "the server starts, and ends with 0",
                        lambda path=path: check_model(results, path.stem, path, EVERYTHING, args))
    if not args.model:
        check_all(results, args)
    return results.finish(args.json)


if __name__ == "__main__":
    sys.exit(main())
