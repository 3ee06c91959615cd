#!/usr/bin/env python3
"""Writes goldens/: small tokenizer.json files, and the ids that Hugging Face `tokenizers` gives for some texts.

Run:  python3 -m venv .venv && .venv/bin/pip install tokenizers==0.23.3
      .venv/bin/python tests/parity/tokenizer/make_goldens.py

The vocabularies are trained here on the sources of a few standard modules of the Python that runs
this, so another Python gives other files; the comparison holds for any of them.
"""

import argparse as _argparse
import inspect
import json
import pathlib
import random
import textwrap
import unicodedata

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent / "goldens"
SPACE = "\u2581"
CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
LLAMA3 = (rf"(?i:{CONTRACTIONS})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
BEFORE = r"[^\r\n\p{L}\p{N}]?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (rf"{BEFORE}{UPPER}*{LOWER}+(?i:{CONTRACTIONS})?|{BEFORE}{UPPER}+{LOWER}*(?i:{CONTRACTIONS})?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(*stages):
    return {"type": "Sequence", "pretokenizers": list(stages)}


BYTE_PRE_TOKENIZERS = {
    "gpt2": byte_level(True),
    "llama3": sequence(split(LLAMA3), byte_level(False)),
    "qwen2": sequence(split(QWEN2), byte_level(False)),
    "starcoder": sequence({"type": "Digits", "individual_digits": True}, byte_level(True)),
    "falcon": sequence({"type": "Punctuation", "behavior": "Contiguous"}, byte_level(True),
                       {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]")),
    "deepseek": sequence(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                         split("[一-龥ࠀ-一가-퟿]+"), {"type": "Digits", "individual_digits": True},
                         byte_level(False)),
    "gpt4o": sequence(split(GPT4O), byte_level(False)),
    "unnamed": sequence(split(r"\p{Lu}\p{Ll}*|\p{Ll}+|\s+"), byte_level(False)),
}
# Pre-tokenizers by llama.cpp's names. Those that are not above are taken from the models that the
# names refer to.
DEEPSEEK3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
             r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
NAMED_PRE_TOKENIZERS = {
    "gpt-2": BYTE_PRE_TOKENIZERS["gpt2"],
    "llama-bpe": BYTE_PRE_TOKENIZERS["llama3"],
    "qwen2": BYTE_PRE_TOKENIZERS["qwen2"],
    "starcoder": BYTE_PRE_TOKENIZERS["starcoder"],
    "falcon": BYTE_PRE_TOKENIZERS["falcon"],
    "deepseek-coder": BYTE_PRE_TOKENIZERS["deepseek"],
    "gpt-4o": BYTE_PRE_TOKENIZERS["gpt4o"],
    "deepseek-v3": sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK3),
                            byte_level(False)),
    "tekken": sequence(split(GPT4O.replace(f"(?i:{CONTRACTIONS})?", "").replace("{1,3}", "")),
                       byte_level(False)),
    "qwen35": sequence(split(QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(
        r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")), byte_level(False)),
    "seed-coder": sequence(split(QWEN2.replace(r"[^\s\p{L}\p{N}]+[\r\n]*", r"[^\s\p{L}\p{N}\r\n]+")),
                           byte_level(False)),
    "bloom": sequence(split(BLOOM), byte_level(False)),
    "viking": sequence(split(BLOOM), {"type": "Digits", "individual_digits": True}, byte_level(False)),
}
# Numbers of every kind: digits of other scripts, fractions, superscripts, Roman, circled, Han; and
# letters whose UTF-8 has the bytes of ², ³, ¹, ¼, ½ and ¾.
NUMBERS = ["1 12 123 1234 12345,678", " ½ 1½ ¾cup", "x² + 10⁵ H₂O", " ٣٤٥ ٣٤٥٦ ۱۲", "１２３４ ５", "Ⅷ ⅻ ①② ⑴", "१२३ ৭ ௧௨",
           "一二三 〇 三千", "𝟘𝟙𝟚 𐄇", "it's 3 o'clock, 1st 2nd", "  12  ½\n 7\t8\n\n", "über naïve ¾ ¼ ³¹ ü² ž½",
           "v1.2.3-½beta", "1️⃣ 5️⃣", "a1b22c333 d4444", "3,14 1_000 0x1F", "½½½ ²²²² 12½34"]
NORMALIZE_SPACES = {"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": SPACE},
    {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]}


def metaspace(scheme):
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": False}


PIECE_STAGES = {
    "pieces-legacy": (NORMALIZE_SPACES, None),
    "pieces-always": (None, metaspace("always")),
    "pieces-first": (None, metaspace("first")),
    "pieces-never": (None, metaspace("never")),
}


def corpus():
    return [inspect.getsource(module) for module in (_argparse, textwrap, json.decoder, random)] * 3


def texts():
    rng = random.Random(7)
    out = ["", " ", "  ", "\n", "\t\n ", "Hello, world!", "  two  spaces  ", "It's we'LL I'M don't 'tis",
           "def f(x):\n    return x ** 2  # squared\r\n\r\n", "1 12 123 1234 12345,678", "naïve café Ñandú",
           "日本語のテキスト 한국어 русский עברית", "🙂👩‍👩‍👧 e\u0301 \u00a0 \u3000x", "a<|end|>b <|end|> c",
           "<s>bos in text</s>", " <|end|>", "...---!!!???", "CamelCaseWORDSAndMore", "\x00\x01\x7f",
           "// comment/\n/path/to/file"]
    alphabets = ["abcdefgh ABC  '\n\t.,;:!?0123456789", "éèüßñçøåÆ ΑΒΓαβγ жзи ", "日本語中文字 한국 ー、。", "🙂🚀👍🏽 é"]
    for _ in range(40):
        letters = alphabets[rng.randrange(4)] + alphabets[0]
        out.append("".join(rng.choice(letters) for _ in range(rng.randrange(1, 60))))
    for _ in range(12):
        points = (chr(rng.randrange(0x20, 0x30000)) for _ in range(30))
        # Categories of unassigned code points depend on the version of Unicode.
        out.append("".join(c for c in points if unicodedata.category(c) not in ("Cs", "Cn", "Co")))
    return [t for t in out if unicodedata.normalize("NFC", t) == t]


def pieces():
    """{name of a pre-tokenizer: the lengths in bytes of the pieces of each text of NUMBERS}"""
    lengths = {}
    for name, spec in NAMED_PRE_TOKENIZERS.items():
        tokenizer = Tokenizer(models.BPE())
        stages = json.loads(tokenizer.to_str())
        stages["pre_tokenizer"] = spec
        pre_tokenizer = Tokenizer.from_str(json.dumps(stages)).pre_tokenizer
        # Each character of a piece stands for one byte.
        lengths[name] = [[len(p) for p, _ in pre_tokenizer.pre_tokenize_str(t)] for t in NUMBERS]
    return lengths


def added(tokens, rstrip=()):
    return [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": t in rstrip,
             "normalized": False, "special": special} for i, t, special in tokens]


def template(token, token_id):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {token: {"id": token, "ids": [token_id], "tokens": [token]}}}


def train_byte_model():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=560, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return json.loads(tokenizer.to_str())


def train_piece_model():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, "always", True)
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=420, show_progress=False))
    learnt = json.loads(tokenizer.to_str())["model"]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokens += sorted(learnt["vocab"], key=learnt["vocab"].get)
    return {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
            "vocab": {t: i for i, t in enumerate(tokens)}, "merges": learnt["merges"]}


def byte_tokenizers():
    base = train_byte_model()
    size = len(base["model"]["vocab"])
    for name, pre_tokenizer in BYTE_PRE_TOKENIZERS.items():
        spec = json.loads(json.dumps(base))
        spec["pre_tokenizer"] = pre_tokenizer
        spec["added_tokens"] = added([(size, "<s>", True), (size + 1, "<|end|>", False)],
                                     rstrip=("<|end|>",) if name == "gpt2" else ())
        if name == "qwen2":
            spec["normalizer"] = {"type": "NFC"}
        if name == "llama3":
            spec["post_processor"] = {"type": "Sequence", "processors": [byte_level(False), template("<s>", size)]}
            spec["model"]["ignore_merges"] = True
            spec["model"]["merges"] = spec["model"]["merges"][::2]  # leaves pieces that no merge makes
            made = {"".join(m) for m in spec["model"]["merges"]}
            usable = set(pre_tokenizers.ByteLevel.alphabet()) | made
            spec["model"]["merges"] = [m for m in spec["model"]["merges"] if set(m) <= usable]
        yield name, spec


def piece_tokenizers():
    model = train_piece_model()
    for name, (normalizer, pre_tokenizer) in PIECE_STAGES.items():
        yield name, {
            "version": "1.0", "truncation": None, "padding": None, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": template("<s>", 1), "decoder": None,
            "added_tokens": added([(0, "<unk>", True), (1, "<s>", True), (2, "</s>", True)]),
            "model": model}


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def main():
    HERE.mkdir(exist_ok=True)
    by_name = pieces()
    lines = [f"{json.dumps(name)}: {json.dumps(by_name[name], separators=(',', ':'))}" for name in by_name]
    (HERE / "numbers.json").write_text(
        '{"texts": ' + json.dumps(NUMBERS, ensure_ascii=False) + ',\n"pieces": {\n' +
        ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    (HERE / "texts.json").write_text(compact(texts()), encoding="utf-8")
    for name, spec in [*byte_tokenizers(), *piece_tokenizers()]:
        tokenizer = Tokenizer.from_str(compact(spec))
        ids = [tokenizer.encode(text).ids for text in texts()]
        (HERE / f"{name}.json").write_text(compact(spec), encoding="utf-8")
        (HERE / f"{name}.ids.json").write_text(compact(ids), encoding="utf-8")


if __name__ == "__main__":
    main()
