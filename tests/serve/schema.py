#!/usr/bin/env python3
"""Lets schemathesis try the server against its own /openapi.json: no server error, no answer that its schema forbids.

A fixed seed makes runs repeatable, and --max-tokens of the server bounds every answer. schemathesis.toml says which checks
are made, and why others are not.

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


def try_schema(server, examples, phases, seed):
    """Exit status of schemathesis. Its notes and caches stay in the scratch folder."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file",
        str(HERE / "schemathesis.toml"), "run", server.url + "/openapi.json", "--url", server.url, "--phases", phases,
        "--max-examples",
        str(examples), "--seed",
        str(seed), "--generation-database", "none", "--request-timeout", "60", "--workers", "2", "--no-color"
    ]
    environment = {**os.environ, "NO_PROXY": "*", "no_proxy": "*", "COLUMNS": "120"}
    return subprocess.run(command, cwd=servers.SCRATCH, env=environment, stdin=subprocess.DEVNULL).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path, default=models.SHIPPED)
    parser.add_argument("--binary", type=pathlib.Path, default=servers.BINARY)
    parser.add_argument("--examples", type=int, default=20, help="requests of an endpoint, about (20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true", help="every phase, 1,000 examples")
    args = parser.parse_args()
    phases = "examples,coverage,fuzzing" if args.long else "fuzzing"
    examples = 1000 if args.long else args.examples
    with servers.Server(args.model, *OPTIONS, binary=args.binary) as server:
        status = try_schema(server, examples, phases, args.seed)
        server.wait_idle()
    print(f"{int(status == 0)} passed, {int(status != 0)} failed")
    return status


if __name__ == "__main__":
    sys.exit(main())
