#!/usr/bin/env python3
"""Times passes of M rows in foretoken and in other engines on the same GGUF file, taking turns.

A peer is a folder with llama.cpp's (or ik_llama.cpp's) llama-batched-bench and llama-bench: M
sequences decode a token each, every one's logits computed, as verification of M nodes needs them;
and a prompt of 512 tokens. Prints medians of all turns, in milliseconds, and the better peer's time
over ours.

Options for the two programs may follow the folder, those of llama-bench behind a colon.

    bench/compare_peers.py MODEL.gguf --peer llama.cpp=FOLDER --peer "ik=FOLDER -rtr : -rtr 1"
        [--rows 1,4,8,16,32,64] [--turns 3] [--threads 2] [--isa auto]
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


def run(command):
    with tempfile.TemporaryDirectory() as folder:  # peers leave logs where they run
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

    def rows(self, model, rows, threads):
        """Seconds of a pass, {M: seconds}."""
        # The table goes to standard output or, in ik_llama.cpp, to standard error.
        out = run([f"{self.folder}/llama-batched-bench", "-m", model, "-c", "8192", "-b", "512",
                   "-ub", "512", "-t", str(threads), "-pps", "-npp", "32", "-ntg", "8", "-npl",
                   ",".join(map(str, rows)), *self.options])
        times = {}
        for line in "\n".join(out).splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) >= 10 and cells[0].isdigit():
                times[int(cells[2])] = float(cells[6]) / int(cells[1])
        missing = [m for m in rows if m not in times]
        if missing:
            sys.exit(f"{self.name}: llama-batched-bench printed no line for {missing} rows")
        return times

    def prompt(self, model, threads):
        """Tokens a second of a prompt of 512."""
        out = run([f"{self.folder}/llama-bench", "-m", model, "-p", "512", "-n", "0", "-r", "1",
                   "-t", str(threads), "-o", "json", *self.prompt_options])
        return json.loads(out[0])[0]["avg_ts"]


def ours(args):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        run([args.foretoken, "bench", "decode", "-m", args.model, "--rows", args.rows, "--context",
             "32", "--threads", str(args.threads), "--repeats", "3", "--isa", args.isa, "--json",
             out.name])
        result = json.load(open(out.name, encoding="utf-8"))
    times = {point["rows"]: point["seconds"] for point in result["curve"]}
    limits = {point["rows"]: point["limit_seconds"] for point in result["curve"]}
    return times, result["decode"]["prompt_tokens_per_second"], limits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--peer", action="append", required=True, metavar="NAME=FOLDER [OPTIONS] [: OPTIONS]")
    parser.add_argument("--rows", default="1,4,8,16,32,64")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="auto", help="foretoken's instruction set")
    parser.add_argument("--foretoken", default="build/release/foretoken")
    parser.add_argument("--json", help="also write the medians to this file")
    args = parser.parse_args()
    args.foretoken, args.model = os.path.abspath(args.foretoken), os.path.abspath(args.model)
    rows = [int(m) for m in args.rows.split(",")]
    peers = [Peer(text) for text in args.peer]
    seconds = {name: {m: [] for m in rows} for name in ["foretoken", *(p.name for p in peers)]}
    prompts = {name: [] for name in seconds}
    limits = {m: [] for m in rows}
    for turn in range(args.turns):
        print(f"turn {turn + 1} of {args.turns}", file=sys.stderr)
        times, prompt, limit = ours(args)
        prompts["foretoken"].append(prompt)
        for m in rows:
            seconds["foretoken"][m].append(times[m])
            limits[m].append(limit[m])
        for peer in peers:
            for m, time in peer.rows(args.model, rows, args.threads).items():
                seconds[peer.name][m].append(time)
            prompts[peer.name].append(peer.prompt(args.model, args.threads))
    median = {name: {m: statistics.median(t) for m, t in by.items()} for name, by in seconds.items()}
    print("| rows | limit | " + " | ".join(median) + " | best peer / foretoken |")
    print("|" + "---|" * (len(median) + 3))
    for m in rows:
        best = min(median[p.name][m] for p in peers)
        cells = " | ".join(f"{1e3 * by[m]:.1f}" for by in median.values())
        limit = 1e3 * statistics.median(limits[m])
        print(f"| {m} | {limit:.1f} | {cells} | {best / median['foretoken'][m]:.2f} |")
    rates = {name: statistics.median(r) for name, r in prompts.items()}
    best = max(rates[p.name] for p in peers)
    cells = " | ".join(f"{rate:.0f}" for rate in rates.values())
    print(f"| prompt, tokens/s | | {cells} | {rates['foretoken'] / best:.2f} times as fast |")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"seconds": median, "prompt_tokens_per_second": rates}, out, indent=1)


if __name__ == "__main__":
    main()
