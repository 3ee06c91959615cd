#!/usr/bin/env python3
"""Runs schemathesis against the server's own /openapi.json: no server error, and every answer matches its schema.

A fixed seed makes runs repeatable, and the server's --max-tokens bounds every answer. schemathesis.toml says which
checks are made, and why others are not.

    build/serve-venv/bin/python tests/serve/schema.py [--examples 20] [--long]
"""
import argparse
import os
import pathlib
import subprocess
import sys

import models
import server as servers

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = ["--parallel", "4", "--max-tokens", "8", "--context", "512"]


def try_schema(server, examples, seed):
    """Runs schemathesis in the scratch folder, where its caches stay. Returns its exit status."""
    program = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"), "run"]
    # One worker: with several, hypothesis's cache of sources fails now and then (6.170).
    options = {"--url": server.url, "--phases": "examples,coverage,fuzzing", "--max-examples": examples, "--seed": seed,
               "--generation-database": "none", "--request-timeout": 60, "--workers": 1}
    words = [str(word) for option in options.items() for word in option]
    command = [*program, server.url + "/openapi.json", *words, "--no-color"]
    environment = {**os.environ, "NO_PROXY": "*", "no_proxy": "*", "COLUMNS": "120"}
    return subprocess.run(command, cwd=servers.SCRATCH, env=environment, stdin=subprocess.DEVNULL).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path, default=models.SHIPPED)
    parser.add_argument("--binary", type=pathlib.Path, default=servers.BINARY)
    parser.add_argument("--examples", type=int, default=20, help="requests of an endpoint, about (20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="1,000 examples")
    args = parser.parse_args()
    examples = 1000 if args.long else args.examples
    with servers.Server(args.model, *OPTIONS, binary=args.binary) as server:
        status = try_schema(server, examples, args.seed)
        server.wait_idle()
    print(f"{int(status == 0)} passed, {int(status != 0)} failed")
    return status


if __name__ == "__main__":
    sys.exit(main())
