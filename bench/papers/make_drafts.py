#!/usr/bin/env python3
"""Trains the drafts that the papers' tables need, one after the other.

The commands are in drafts.json beside this file. Existing drafts are kept and interrupted trainings are resumed, so
this script can be repeated with equal arguments until all drafts are made. It writes them to drafts/ beside the model,
where

    foretoken bench paper TABLE -m MODEL --questions FOLDER

finds them.

    bench/papers/make_drafts.py MODEL.gguf --data ../shared/data/train --tables hass-10,edd-1
        [--keys hass,eagle] [--chats FILE] [--steps 600] [--drafts FOLDER] [--runs FOLDER]
        [--foretoken build/release/foretoken] [--list]

--steps replaces the length of every recipe; a recipe for a share of the data gets that share of the steps.
"""
import argparse
import fnmatch
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FULL_STEPS = 1200  # steps of a full training in drafts.json, of which recipes take shares
EXPORT = "foretoken train export --checkpoint runs/KEY --out drafts/STEM-KEY-q8_0.gguf --type q8_0"


def draft_keys(table, args):
    """The keys of the drafts that a table's methods need, sweeps expanded."""
    file = HERE / f"{table}.json"
    if not file.exists():
        sys.exit(f"{table}: no such table; known: {', '.join(all_tables())}")
    keys = []
    for method in json.loads(file.read_text(encoding="utf-8")).get("methods", []):
        named = [method["draft"]] if "draft" in method else []
        for name, values in method.get("for", {}).items():
            if values == "layers":
                values = range(1, layers(args.foretoken, str(args.model)) + 1)
            named = [key.replace(f"${name}", str(value)) for key in named for value in values]
        keys += named
    return list(dict.fromkeys(keys))


@functools.cache
def layers(foretoken, model):
    """The number of layers of the model."""
    out = subprocess.run([foretoken, "inspect", "--json", model], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)["config"]["layers"]


def all_tables():
    return sorted(f.stem for f in HERE.glob("*.json") if f.stem != "drafts")


def recipe(key, recipes):
    """The commands that make a draft, from drafts.json, with placeholders."""
    for pattern, text in recipes.items():
        if not fnmatch.fnmatchcase(key, pattern):
            continue
        own = key[len(pattern) - 1:] if pattern.endswith("*") else ""
        text = text.replace("*", own)
        if text.startswith("train "):
            text = f"foretoken {text} --target MODEL --data DATA --out runs/KEY, then {EXPORT}"
        return text[text.index("foretoken "):].split(", then ")
    sys.exit(f"{key}: no such draft; known: {', '.join(recipes)}")


def start_of(key, recipes):
    """The key of the draft whose run supplies the initial weights; None: they are random."""
    found = re.search(r"--init runs/(\S+)", recipe(key, recipes)[0])
    return found and found[1]


def is_there(key, drafts):
    """Whether `foretoken bench paper` would find the draft: as *-KEY-TYPE.gguf, or as *.KEY."""
    files = [f.stem.rpartition("-")[0] for f in drafts.glob("*.gguf")]
    return any(name.endswith(f"-{key}") for name in files) or bool(list(drafts.glob(f"*.{key}")))


def arguments(command, key, args):
    """Converts a command of drafts.json to arguments, with placeholders and --steps filled in."""
    stem = args.model.stem.rpartition("-")[0] or args.model.stem
    words = {"MODEL": str(args.model), "DATA": args.data, "CHATS": args.chats}
    places = {"runs/": f"{args.runs}/", "drafts/": f"{args.drafts}/", "STEM.": f"{args.drafts}/STEM.",
              "answered.jsonl": f"{args.runs}/answered.jsonl"}
    out = []
    for word in shlex.split(command)[1:]:
        if word == "CHATS" and args.chats is None:
            sys.exit(f"{key} needs --chats FILE, conversations as JSON lines")
        word = words.get(word, word)
        for place, value in places.items():
            if word.startswith(place):
                word = value + word[len(place):]
        out.append(word.replace("STEM", stem).replace("KEY", key))
    if args.steps and out[0] == "train" and out[1] != "export":
        steps = args.steps
        for option in ("--steps", "--time-budget"):
            if option not in out:
                continue
            at = out.index(option)
            if option == "--steps":
                steps = max(1, args.steps * int(out[at + 1]) // FULL_STEPS)
            del out[at:at + 2]
        out += ["--steps", str(steps), "--warmup", str(max(1, min(60, steps // 10))), "--time-budget", "0s"]
    return [args.foretoken, *out]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--data", required=True, help="what the recipes learn from: files, or a folder")
    parser.add_argument("--tables", default="", metavar="NAME,...",
                        help="as `foretoken bench paper` calls them; without any, all")
    parser.add_argument("--keys", default="", metavar="KEY,...", help="drafts, as drafts.json calls them")
    parser.add_argument("--chats", help="conversations to answer anew and to look things up in")
    parser.add_argument("--steps", type=int,
                        help="of a whole training; without it, as long as each recipe says")
    parser.add_argument("--drafts", type=pathlib.Path, help="default: drafts/ beside the model")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs"))
    parser.add_argument("--foretoken", default="build/release/foretoken")
    parser.add_argument("--list", action="store_true", help="say what is missing, and train nothing")
    args = parser.parse_args()
    args.drafts = args.drafts or args.model.parent / "drafts"
    recipes = json.loads((HERE / "drafts.json").read_text(encoding="utf-8"))
    tables = [name for name in args.tables.split(",") if name]
    keys = [key for key in args.keys.split(",") if key]
    if not tables and not keys:
        tables = all_tables()
    keys = list(dict.fromkeys(keys + [key for table in tables for key in draft_keys(table, args)]))
    missing = [key for key in keys if not is_there(key, args.drafts)]
    starts = [start_of(key, recipes) for key in missing]
    starts = [key for key in starts if key and not (args.runs / key / "checkpoint.safetensors").exists()]
    missing = list(dict.fromkeys(starts + missing))
    print(f"{len(keys)} drafts, {len(missing)} of them to be made", file=sys.stderr)
    for number, key in enumerate(missing, 1):
        commands = [arguments(command, key, args) for command in recipe(key, recipes)]
        for command in commands:
            print(f"[{number}/{len(missing)}] {shlex.join(command)}", file=sys.stderr)
            if not args.list:
                args.drafts.mkdir(parents=True, exist_ok=True)
                args.runs.mkdir(parents=True, exist_ok=True)
                status = subprocess.run(command, check=False).returncode
                if status != 0:
                    sys.exit(f"{key}: exit status {status}")


if __name__ == "__main__":
    main()
