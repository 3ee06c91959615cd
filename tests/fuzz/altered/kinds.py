"""The kinds of altered files: their originals, their alterations and the commands that read them.

In commands, {file} stands for the altered file (or its folder, if a kind alters one file of a folder), {root} for the
folder of originals, {tiny} for a valid model, {out} for a file to write.
"""
import dataclasses
import os
import shutil

from alter_bytes import alter_any, alter_lines, alter_text
from alter_gguf import alter_gguf
from alter_json import alter_json, alter_json_lines
from alter_tensors import alter_archive, alter_datastore, alter_safetensors

METHODS = ("eagle", "hass", "eagle3", "glide", "edd", "medusa", "hydra", "chimera")
TREES = ("paper", "paper", "eagle2", "pct", "cape", "vct", "medusa", "eagle", "chain:gamma=4", "beam")
SAMPLING = ("", "", "--temp 1 --seed 3", "--temp 0.8 --top-p 0.9 --top-k 20 --seed 5", "--model-defaults")
BY_ENDING = {".json": alter_json, ".jsonl": alter_json_lines, ".safetensors": alter_safetensors, ".gguf": alter_gguf,
             ".bin": alter_archive, ".pt": alter_archive, ".model": alter_any, ".jinja": alter_text, ".txt": alter_lines}


@dataclasses.dataclass
class Kind:
    name: str
    weight: int
    originals: list  # paths below the folder of originals; of a folder, one file is altered
    commands: list  # command lines, or functions of (rng) that return one; a leading '!' runs the trainer
    alter: object = None  # a function of (rng, bytes); by default the one for the file's ending
    names_file: bool = True  # whether a refusal must name it
    alias: str = ""  # a text that a refusal may have in place of the file's name
    may_differ: bool = False  # whether the altered file may say that a drafter changed a text
    copied: str = ""  # a folder, ending in '/', below the case's folder that the copy is put into


def generate(*words):
    return " ".join(("generate -t 1 -q -p hello_hello_hello --ignore-eos", *words))


def drafting(rng, draft, method):
    """A command that drafts with the altered file."""
    words = [f"--draft {draft} --drafter {method} -n {rng.choice([2, 2, 9])} -m {{tiny}} --tree {rng.choice(TREES)}",
             rng.choice(SAMPLING), rng.choice(["--check", ""])]
    if method == "chimera" and rng.random() < 0.3:
        words.append("--draft-opt warm={root}/texts/ngrams")
    return generate(*words)


def model_commands(model):
    sampled = [generate(f"-m {model} -n 2 {s}") for s in SAMPLING]
    return [f"inspect {model}", f"inspect {model} --json", f"inspect {model} --tensors", f"inspect {model} --metadata",
            f"tokenize -m {model}", f"tokenize -m {model} --json --special", f"tokenize -m {model} --decode", *sampled,
            generate(f"-m {model} -n 2 --chat"), generate(f"-m {model} -n 6 --drafter pld --tree paper --check"),
            generate(f"-m {model} -n 3 --drafter pld+h --tree paper --check"),
            generate(f"-m {{tiny}} -n 3 --drafter draft-model --tree paper --draft-model {model} --check"),
            f"build-datastore -m {model} --out {{out}} --data {{root}}/texts/corpus.jsonl",
            f"count-ngrams -m {model} --out {{out}} --data {{root}}/texts/corpus.txt"]


def rewriting(command, model):
    return [f"{command} {model} -q -t 1 -o {{out}} --type {t}" for t in ("Q8_0", "F16", "Q4_K_M", "F32", "Q5_1")]


SPEC = "bench spec -m {tiny} -t 1 -q -n 4 --warm-up 0 --methods pld --tree paper --questions "
TRAIN = "!train lm --quiet --recipe {root}/texts/recipe.json --data {root}/texts "
SMALL = "--steps 2 --layers 1 --hidden 32 --ffn 32 --vocab 260 --length 16 --batch 2 --accumulate 1 --threads 1 --workers 1"


def all_kinds(root, with_trainer):
    def listed(folder):
        return sorted(f"{folder}/{name}" for name in os.listdir(f"{root}/{folder}"))

    small_context = "raise the context"  # the message if the altered model declares too short a context

    def draft_commands(method, path):
        return [f"inspect {path}", f"inspect {path} --json", lambda rng: drafting(rng, path, method)]

    models, drafts = listed("models"), [f"drafts/{m}.gguf" for m in METHODS]
    kinds = [
        Kind("model", 24, models, [*model_commands("{file}"), *rewriting("quantize", "{file}")],
             alias=small_context),
        Kind("tiny model", 6, ["models/tiny.gguf"], [*model_commands("{file}"), *rewriting("quantize", "{file}")],
             alias=small_context),
        Kind("Hugging Face", 24, listed("hf"), [*model_commands("{file}"), *rewriting("convert", "{file}")],
             alias=small_context),
        *(Kind(f"draft {d[7:-5]}", 3, [d], draft_commands(d[7:-5], "{file}")) for d in drafts),
        *(Kind(f"published {p[10:]}", 2, [p], draft_commands(p[10:], "{file}")) for p in listed("published")),
        Kind("auto draft", 2, drafts, [generate("-m {tiny} -n 3 --drafter auto --draft {file} --tree eagle2 --check")]),
        Kind("datastore", 5, ["texts/corpus.datastore"],
             [generate("-m {tiny} -n 4 --drafter rest --datastore {file} --check --tree", t) for t in ("paper", "eagle2")],
             alter_datastore),
        Kind("n-grams", 2, ["texts/ngrams"],
             [generate("-m {tiny} -n 3 --drafter chimera --draft {root}/drafts/chimera.gguf --tree paper --draft-opt warm={file}")],
             alter_lines),
        Kind("journal", 5, ["texts/journal"],
             [SPEC + f"{{root}}/texts/questions.jsonl --resume {{file}} {o} {{out}}" for o in ("--json", "--html", "--answers")],
             alter_json_lines, may_differ=True),
        Kind("distilled", 4, ["texts/distilled.jsonl"],
             ["distill -m {tiny} -t 1 -q -n 3 --batch 2 --limit 3 --data {root}/texts/asked.jsonl --out {file}"]),
        Kind("corpus", 6, ["texts/corpus.jsonl", "texts/corpus.txt", "texts/asked.jsonl"],
             ["build-datastore -m {tiny} --out {out} --data {file}", "count-ngrams -m {tiny} --out {out} --data {file}",
              "distill -m {tiny} -t 1 -q -n 2 --data {file} --out {out}"]),
        Kind("questions", 3, ["texts/questions.jsonl"], [SPEC + "{file} --json {out}", SPEC + "{file} --html {out}"]),
        Kind("heads", 2, ["texts/heads.json"],
             [generate("-m {tiny} -n 3 --drafter pld+a --tree paper --check --draft-opt heads={file}")]),
        Kind("tree", 2, ["texts/tree.txt"], [generate("-m {tiny} -n 3 --drafter pld --check --tree static:file={file}")]),
        Kind("table", 2, ["texts/paper.json"],
             ["bench paper {file} -m {tiny} -t 1 -q -n 2 --warm-up 0 --limit 1 --questions {root}/texts"], alias="paper: "),
        Kind("training log", 2, ["texts/run"], ["train plot {file} --out {out}"]),
        Kind("prompt", 2, ["texts/corpus.txt"],
             ["generate -t 1 -q -m {tiny} -n 2 -f {file}", generate("-m {tiny} -n 2 --drafter llma --reference {file} --tree paper")],
             names_file=False),  # if it is too long or empty, the message names the prompt instead
        Kind("costs", 1, listed("measured/foretoken"), [generate("-m {tiny} -n 3 --drafter pld --check")], names_file=False,
             copied="cache/foretoken/"),
    ]
    if with_trainer:
        kinds += [
            Kind("checkpoint", 5, listed("runs"), [TRAIN + "--out {file}", "!train export --checkpoint {file} --out {out}"]),
            Kind("training data", 2, ["texts/corpus.jsonl", "texts/corpus.txt"],
                 ["!train lm --quiet --data {file} --dtype f32 --heads 2 --kv-heads 1 --head-dim 16 " + SMALL + " --out {out}"]),
            Kind("recipe", 2, ["texts/recipe.json"],
                 ["!train lm --quiet --recipe {file} --data {root}/texts " + SMALL + " --out {out}"],
                 alias="/originals/texts/"),  # the recipe names data there
        ]
    return kinds


def choose_command(rng, kind):
    command = rng.choice(kind.commands)
    return command if isinstance(command, str) else command(rng)


def make_case(rng, kinds, root, folder):
    """Writes an altered file into `folder`.

    Returns (kind, what was done, the path for {file}, the altered file, command).
    """
    kind = rng.choices(kinds, [k.weight for k in kinds])[0]
    original = rng.choice(kind.originals)
    source, target = f"{root}/{original}", f"{folder}/{kind.copied}{os.path.basename(original)}"
    altered = target
    if os.path.isdir(source):
        os.makedirs(target)
        names = sorted(n for n in os.listdir(source) if alteration_of(n))
        chosen = rng.choice(names)
        for name in os.listdir(source):
            if name != chosen:
                shutil.copy(f"{source}/{name}", f"{target}/{name}")
        source, altered = f"{source}/{chosen}", f"{target}/{chosen}"
    os.makedirs(os.path.dirname(altered), exist_ok=True)
    with open(source, "rb") as file:
        data = file.read()
    for _ in range(20):  # some alterations change nothing, such as two equal lines swapped
        done, changed = (kind.alter or alteration_of(source))(rng, data)
        if changed != data:
            break
    with open(altered, "wb") as file:
        file.write(changed)
    return kind, f"{os.path.relpath(source, root)}: {done}", target, altered, choose_command(rng, kind)


def alteration_of(path):
    """The alteration for a file, by its name; None for a file that is never altered."""
    if os.path.basename(path) == "corpus.bin":
        return alter_any
    return BY_ENDING.get(os.path.splitext(path)[1])
