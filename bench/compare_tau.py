#!/usr/bin/env python3
"""Compares tau of several methods or drafts on the same questions, with 95 % intervals.

Reads answers that `foretoken bench spec --answers FOLDER` wrote (one file a method), of one run or of several runs with
equal questions, -n and model. Tau is the number of tokens per cycle over all questions (`tau_micro`); the first token
of a turn comes from the prompt's pass and counts for no cycle. The intervals are percentiles of a bootstrap over
questions. Differences are paired: both methods answered each of the questions drawn. Two methods whose interval holds 0
are "not separated".

usage: bench/compare_tau.py NAME=ANSWERS.jsonl NAME=ANSWERS.jsonl ... [--pairs A:B,C:D]

Without --pairs, every method is compared with the first.
"""
import json
import random
import sys

RESAMPLES = 2000


def read(path):
    """{question: (tokens, cycles, answer)}"""
    questions = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            choice = record["choices"][0]
            lengths = choice["accept_lengths"]
            questions[json.dumps(record["question_id"])] = (sum(lengths), len(lengths), choice["turns"])
    if not questions:
        sys.exit(f"{path}: no answers")
    return questions


def tau(answers, keys):
    return sum(answers[k][0] for k in keys) / max(1, sum(answers[k][1] for k in keys))


def interval(values):
    values = sorted(values)
    return values[int(0.025 * len(values))], values[int(0.975 * len(values))]


def parse(args):
    pairs = None
    if "--pairs" in args:
        at = args.index("--pairs")
        if at + 1 == len(args):
            sys.exit("--pairs needs a value, for example hass:eagle,glide:vanilla")
        pairs = [tuple(pair.split(":")) for pair in args[at + 1].split(",")]
        args = args[:at] + args[at + 2:]
    if len(args) < 2 or any("=" not in arg for arg in args):
        sys.exit(__doc__)
    methods = {}
    for arg in args:
        name, path = arg.split("=", 1)
        methods[name] = read(path)
    names = list(methods)
    pairs = pairs or [(names[0], name) for name in names[1:]]
    for pair in pairs:
        if len(pair) != 2 or not set(pair) <= set(names):
            sys.exit(f"--pairs: expected two of {', '.join(names)}, joined by ':', not '{':'.join(pair)}'")
    return methods, pairs


def main():
    methods, pairs = parse(sys.argv[1:])
    names = list(methods)
    keys = sorted(methods[names[0]])
    for name in names[1:]:
        if sorted(methods[name]) != keys:
            sys.exit(f"{name}: other questions than {names[0]}'s")
        different = sum(methods[name][k][2] != methods[names[0]][k][2] for k in keys)
        if different:
            sys.exit(f"{name}: {different} of {len(keys)} answers differ from {names[0]}'s")
    drawn = random.Random(0)
    samples = [drawn.choices(keys, k=len(keys)) for _ in range(RESAMPLES)]
    resampled = {name: [tau(methods[name], sample) for sample in samples] for name in names}
    print(f"| method | tau [95 %], {len(keys)} questions |\n|---|---|")
    for name in names:
        low, high = interval(resampled[name])
        print(f"| {name} | {tau(methods[name], keys):.2f} [{low:.2f}, {high:.2f}] |")
    print("\n| pair | difference [95 %] | |\n|---|---|---|")
    for a, b in pairs:
        low, high = interval(x - y for x, y in zip(resampled[a], resampled[b]))
        verdict = f"{a} higher" if low > 0 else f"{b} higher" if high < 0 else "not separated"
        print(f"| {a}, {b} | {tau(methods[a], keys) - tau(methods[b], keys):+.3f} [{low:+.3f}, {high:+.3f}] | {verdict} |")


if __name__ == "__main__":
    main()
