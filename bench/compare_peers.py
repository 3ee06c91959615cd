#!/usr/bin/env python3
"""Times passes of M rows in foretoken and in other engines on the same GGUF file, interleaved.

A peer is a folder with llama-batched-bench and llama-bench of llama.cpp or ik_llama.cpp. Two things are measured: a
pass in which M sequences decode one token each, with logits for all of them, which is the work of verifying M nodes;
and a prompt of 512 tokens. A turn is the mean of 8 passes at 32 cached positions and takes a second or two, loading
included. Turns alternate between engines for each M, because memory bandwidth changes from minute to minute. Prints
the medians over turns in milliseconds, and the best peer's time over ours.

Options may follow the folder: first those of llama-batched-bench, then, after a colon, those of llama-bench.

    bench/compare_peers.py MODEL.gguf --peer llama.cpp=FOLDER --peer "ik=FOLDER -rtr : -rtr 1"
        [--rows 1,4,8,16,32,64] [--turns 7] [--threads 2] [--isa auto]
        [--foretoken build/release/foretoken] [--json FILE]
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

CONTEXT = 32  # cached positions
PASSES = 8  # per turn


def run(command):
    with tempfile.TemporaryDirectory() as folder:  # peers write logs to the current directory
        child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=folder)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}\n{child.stderr[-800:]}")
    return child.stdout, child.stderr


class Peer:
    def __init__(self, text):
        name, separator, rest = text.partition("=")
        if not separator or not rest:
            sys.exit(f"--peer {text}: expected NAME=FOLDER [OPTIONS] [: OPTIONS]")
        self.name = name
        self.folder, *options = shlex.split(rest)
        self.folder = os.path.abspath(self.folder)
        split = options.index(":") if ":" in options else len(options)
        self.options, self.prompt_options = options[:split], options[split + 1:]

    def seconds(self, model, rows, threads):
        """Seconds of a pass of `rows` rows."""
        # llama.cpp prints the table to standard output, ik_llama.cpp to standard error.
        out = run([f"{self.folder}/llama-batched-bench", "-m", model, "-c", "8192", "-b", "512",
                   "-ub", "512", "-t", str(threads), "-pps", "-npp", str(CONTEXT), "-ntg",
                   str(PASSES), "-npl", str(rows), *self.options])
        for line in "\n".join(out).splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) >= 10 and cells[0].isdigit():
                return float(cells[6]) / int(cells[1])
        sys.exit(f"{self.name}: llama-batched-bench printed no line for {rows} rows")

    def prompt(self, model, threads):
        """Tokens a second in reading a prompt of 512 tokens."""
        out = run([f"{self.folder}/llama-bench", "-m", model, "-p", "512", "-n", "0", "-r", "1",
                   "-t", str(threads), "-o", "json", *self.prompt_options])
        return json.loads(out[0])[0]["avg_ts"]


class Foretoken:
    name = "foretoken"

    def __init__(self, program, isa):
        self.program, self.isa = os.path.abspath(program), isa

    def bench(self, what, model, threads, *options):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            run([self.program, "bench", what, "-m", model, "--context", str(CONTEXT), "--threads",
                 str(threads), "--isa", self.isa, "--json", out.name, *options])
            return json.load(open(out.name, encoding="utf-8"))

    def seconds(self, model, rows, threads):
        """Seconds of a pass of `rows` rows: a mean over passes, which peers print too."""
        result = self.bench("profile", model, threads, "--rows", str(rows), "--repeats", str(PASSES))
        return sum(result["passes"][0]["thread_seconds"].values()) / result["threads"]

    def prompt(self, model, threads):
        """Tokens a second in reading a prompt of 512 tokens."""
        result = self.bench("decode", model, threads, "--rows", "1", "--repeats", "1")
        return result["decode"]["prompt_tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--peer", action="append", required=True, metavar="NAME=FOLDER [OPTIONS] [: OPTIONS]")
    parser.add_argument("--rows", default="1,4,8,16,32,64")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="auto", help="foretoken's instruction set")
    parser.add_argument("--foretoken", default="build/release/foretoken")
    parser.add_argument("--json", help="also write the medians to this file")
    args = parser.parse_args()
    model = os.path.abspath(args.model)
    rows = [int(m) for m in args.rows.split(",")]
    peers = [Peer(text) for text in args.peer]
    engines = [Foretoken(args.foretoken, args.isa), *peers]
    seconds = {engine.name: {m: [] for m in rows} for engine in engines}
    prompts = {engine.name: [] for engine in engines}
    for turn in range(args.turns):
        print(f"turn {turn + 1} of {args.turns}", file=sys.stderr)
        for m in rows:
            for engine in engines:
                seconds[engine.name][m].append(engine.seconds(model, m, args.threads))
        for engine in engines:
            prompts[engine.name].append(engine.prompt(model, args.threads))
    median = {name: {m: statistics.median(t) for m, t in by.items()} for name, by in seconds.items()}
    print("| rows | " + " | ".join(median) + " | best peer / foretoken |")
    print("|" + "---|" * (len(median) + 2))
    for m in rows:
        best = min(median[p.name][m] for p in peers)
        cells = " | ".join(f"{1e3 * by[m]:.1f}" for by in median.values())
        print(f"| {m} | {cells} | {best / median['foretoken'][m]:.2f} |")
    rates = {name: statistics.median(r) for name, r in prompts.items()}
    best = max(rates[p.name] for p in peers)
    cells = " | ".join(f"{rate:.0f}" for rate in rates.values())
    print(f"| prompt, tokens/s | {cells} | {rates['foretoken'] / best:.2f} times as fast |")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"seconds": median, "prompt_tokens_per_second": rates}, out, indent=1)


if __name__ == "__main__":
    main()
