#!/usr/bin/env python3
"""Writes the greedy tokens that llama.cpp generates with a GGUF of our trainer.

llama.cpp runs through its Python package (PyPI: llama-cpp-python; goldens made with 0.3.36). The model is
tiny.gguf beside this file: two layers trained for a minute by

    foretoken train lm --recipe tests/parity/llama_cpp/tiny_recipe.json --data DATA --out RUN
    foretoken train export --checkpoint RUN --out tests/parity/llama_cpp/tiny.gguf --type f32

usage: make_goldens.py [--model GGUF] [--foretoken BINARY] [--check-only]
  writes goldens.json beside this file: {"prompt": [ids], "tokens": [ids]} a prompt. With --check-only
  nothing is written: BINARY's own tokens are compared with llama.cpp's for the model, which is how a
  larger model is checked by hand.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import llama_cpp

HERE = os.path.dirname(os.path.abspath(__file__))
NEW_TOKENS = 64
PROMPTS = [
    "The lighthouse on the island was built",
    "Write a Python function that adds two numbers.",
    "Question: What is the capital of France? Answer:",
    "def main():\n    total = 0\n",
    "Once upon a time there was a small",
    "The chemical reaction between acid and base",
    "Correct the spelling of this sentence: he go to school.",
    "In the year 1911 a storm",
    "SELECT name FROM customers WHERE",
    "The president of the committee said that",
    "A cell is the smallest unit of",
    "import os\nimport sys\n",
    "Dear Sir, I am writing to",
    "12 + 30 = 42. 7 * 6 =",
    "The meeting was about the budget of",
    "for i in range(10):",
    "Good morning! How can I help you",
    "The sum of the angles of a triangle is",
    "It was a dark night, and the wind",
    "Replace the word red by blue: the red house and the red door.",
]


def llama_cpp_greedy(model, text):
    ids = model.tokenize(text.encode(), add_bos=False, special=False)
    model.reset()
    model.eval(ids)
    tokens = []
    while len(tokens) < NEW_TOKENS:
        logits = model.scores[model.n_tokens - 1]
        token = int(logits.argmax())
        tokens.append(token)
        if token == model.token_eos() or llama_cpp.llama_vocab_is_eog(model._model.vocab, token):
            break
        model.eval([token])
    return ids, tokens


def foretoken_greedy(binary, path, text, isa):
    with tempfile.NamedTemporaryFile(suffix=".json") as stats:
        subprocess.run(
            [binary, "generate", "-m", path, "-p", text, "-n", str(NEW_TOKENS), "--isa", isa,
             "--cache-type", "f32", "--stats", stats.name],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.load(open(stats.name))["tokens"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default=os.path.join(HERE, "tiny.gguf"))
    parser.add_argument("--foretoken")
    parser.add_argument("--isa", default="auto")
    parser.add_argument("--check-only", action="store_true")
    args = parser.parse_args()

    model = llama_cpp.Llama(args.model, n_ctx=1024, n_batch=512, logits_all=True, verbose=False,
                            type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32,
                            flash_attn=False)
    goldens, same = [], 0
    for text in PROMPTS:
        ids, tokens = llama_cpp_greedy(model, text)
        goldens.append({"prompt": list(ids), "tokens": tokens})
        if args.foretoken:
            ours = foretoken_greedy(args.foretoken, args.model, text, args.isa)
            equal = ours == tokens
            same += equal
            if not equal:
                at = next((i for i, (a, b) in enumerate(zip(ours, tokens)) if a != b), min(len(ours), len(tokens)))
                print(f"differs at token {at}: {text!r}\n  ours  {ours}\n  llama {tokens}", file=sys.stderr)
    if args.foretoken:
        print(f"{same} of {len(PROMPTS)} prompts give the same {NEW_TOKENS} greedy tokens")
    if not args.check_only:
        with open(os.path.join(HERE, "goldens.json"), "w", encoding="utf-8") as f:
            json.dump(goldens, f, separators=(",", ":"))
            f.write("\n")
    return 0 if not args.foretoken or same == len(PROMPTS) else 1


if __name__ == "__main__":
    sys.exit(main())
