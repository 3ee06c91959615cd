"""Makes the folder of small valid files that are then altered; foretoken itself writes some of them."""
import json
import os
import random
import shutil
import struct
import subprocess

from alter_gguf import Gguf
from alter_tensors import floats, matrix, ones, safetensors
from torch_file import archive, tensor

WORDS = ("hello", "the quick brown fox", "[1, 2, 1, 2]", "a text with a text in it", "Ünïcödé 漢字", "x = x + 1\n")
TEMPLATE = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
LAYER = {"attn_norm.": "input_layernorm.", "ffn_norm.": "post_attention_layernorm.", "attn_q.": "self_attn.q_proj.",
         "attn_k.": "self_attn.k_proj.", "attn_v.": "self_attn.v_proj.", "attn_output.": "self_attn.o_proj.",
         "cross_q.": "cross_attn.q_proj.", "cross_output.": "cross_attn.o_proj.", "ffn_gate.": "mlp.gate_proj.",
         "ffn_up.": "mlp.up_proj.", "ffn_down.": "mlp.down_proj."}
OUTER = {"token_embd.": "embed_tokens.", "output_norm.": "norm.", "output.": "lm_head."}
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, env=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit(f"cannot make the originals: {' '.join(command)}: {done.stderr.decode(errors='replace')}")


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(content if isinstance(content, bytes) else content.encode())


def write_json(path, value):
    write(path, json.dumps(value))


def mapped_byte(byte):
    """The character that represents a byte in byte-level vocabularies."""
    def printable(b):
        return 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255
    return chr(byte if printable(byte) else 256 + sum(not printable(b) for b in range(byte)))


def byte_level_tokenizer():
    vocab = {mapped_byte(b): b for b in range(256)} | {"he": 256, "ll": 257, "hell": 258}
    added = [{"id": 259 + i, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False} for i, text in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])]
    return {"version": "1.0", "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": {"type": "ByteLevel"}, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "unk_token": None, "continuing_subword_prefix": "", "byte_fallback": False,
                      "ignore_merges": False, "vocab": vocab, "merges": ["h e", "l l", "he ll"]}}


def hf_model(folder, config, rng, shards=1):
    """Writes a Hugging Face model directory with random weights, without a tokenizer."""
    c = {"vocab_size": 262, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "bos_token_id": 259,
         "eos_token_id": [259, 261], "tie_word_embeddings": False, "rope_theta": 10000.0, "torch_dtype": "float32"} | config
    d, ffn = c["hidden_size"], c["intermediate_size"]
    head = c.get("head_dim", d // c["num_attention_heads"])
    q, kv = head * c["num_attention_heads"], head * c["num_key_value_heads"]
    tensors = {"model.embed_tokens.weight": matrix(rng, c["vocab_size"], d), "model.norm.weight": ones(d)}
    if not c["tie_word_embeddings"]:
        tensors["lm_head.weight"] = matrix(rng, c["vocab_size"], d)
    for layer in range(c["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        tensors |= {p + "input_layernorm.weight": ones(d), p + "post_attention_layernorm.weight": ones(d),
                    p + "self_attn.q_proj.weight": matrix(rng, q, d), p + "self_attn.k_proj.weight": matrix(rng, kv, d),
                    p + "self_attn.v_proj.weight": matrix(rng, kv, d), p + "self_attn.o_proj.weight": matrix(rng, d, q),
                    p + "mlp.gate_proj.weight": matrix(rng, ffn, d), p + "mlp.up_proj.weight": matrix(rng, ffn, d),
                    p + "mlp.down_proj.weight": matrix(rng, d, ffn)}
        if "Qwen2" in c["architectures"][0]:
            tensors |= {p + f"self_attn.{n}_proj.bias": ("F32", [size], floats(rng, size, 0.1))
                        for n, size in (("q", q), ("k", kv), ("v", kv))}
        if "Qwen3" in c["architectures"][0]:
            tensors |= {p + "self_attn.q_norm.weight": ones(head), p + "self_attn.k_norm.weight": ones(head)}
    write_json(folder + "/config.json", c)
    names = sorted(tensors)
    if shards == 1:
        write(folder + "/model.safetensors", safetensors(tensors))
    else:
        files = {n: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, n in enumerate(names)}
        for file in set(files.values()):
            write(folder + "/" + file, safetensors({n: tensors[n] for n in names if files[n] == file}))
        write_json(folder + "/model.safetensors.index.json", {"metadata": {"total_size": 1}, "weight_map": files})
    write_json(folder + "/generation_config.json", {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "top_k": 40,
                                                    "eos_token_id": 261})


def hf_tokenizer(folder):
    write_json(folder + "/tokenizer.json", byte_level_tokenizer())
    write_json(folder + "/tokenizer_config.json", {
        "bos_token": {"content": "<|endoftext|>", "lstrip": False}, "eos_token": "<|im_end|>", "add_bos_token": False,
        "added_tokens_decoder": {"259": {"content": "<|endoftext|>", "special": True}}, "chat_template": TEMPLATE,
        "model_max_length": 256})


def write_hf(root):
    rng = random.Random(1)
    hf_model(root + "/hf/llama", {"architectures": ["LlamaForCausalLM"], "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}}, rng)
    hf_model(root + "/hf/qwen2", {"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True, "max_window_layers": 0,
                                  "sliding_window": 16}, rng, shards=2)
    hf_model(root + "/hf/qwen3", {"architectures": ["Qwen3ForCausalLM"], "head_dim": 16, "tie_word_embeddings": True,
                                  "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0}}, rng)
    hf_model(root + "/hf/mistral", {"architectures": ["MistralForCausalLM"], "sliding_window": 32, "bos_token_id": 1,
                                    "eos_token_id": 2}, rng)
    for name in ("llama", "qwen2", "qwen3"):
        hf_tokenizer(f"{root}/hf/{name}")
    write(root + "/hf/qwen2/chat_template.jinja", TEMPLATE)
    shutil.copy(HERE + "/../tokenizer/model/small.model", root + "/hf/mistral/tokenizer.model")
    hf_model(root + "/wide", {"architectures": ["LlamaForCausalLM"], "hidden_size": 256, "intermediate_size": 256,
                              "num_hidden_layers": 1}, rng)
    hf_tokenizer(root + "/wide")


def write_models(root, foretoken, tiny):
    models = root + "/models"
    os.makedirs(models)
    shutil.copy(tiny, models + "/tiny.gguf")
    for name in sorted(os.listdir(root + "/hf")):
        run(foretoken, "convert", f"{root}/hf/{name}", "-q", "-o", f"{models}/{name}.gguf")
    for kind in ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"):
        run(foretoken, "quantize", tiny, "-q", "-o", f"{models}/{kind.lower()}.gguf", "--type", kind)
    for kind in ("Q4_K_M", "Q5_K_M", "Q6_K"):
        run(foretoken, "convert", root + "/wide", "-q", "-o", f"{models}/{kind.lower()}.gguf", "--type", kind)
    shutil.rmtree(root + "/wide")


def published_name(method, name):
    """The authors' name of a draft's tensor; "" if their files do not have it."""
    layer, number = ("", "0") if not name.startswith("blk.") else (name.split(".", 2)[2], name.split(".")[1])
    inner = next((LAYER[k] + layer[len(k) :] for k in LAYER if layer.startswith(k)), "")
    outer = next((OUTER[k] + name[len(k) :] for k in OUTER if name.startswith(k)), "")
    parts = name.split(".")
    if method in ("eagle", "hass"):
        return f"layers.{number}.{inner}" if inner else name if name.startswith("fc.") else outer
    if method == "eagle3":
        return f"midlayer.{inner or layer}" if layer else name if name.startswith("fc.") or name == "d2t" else outer
    if method == "glide":
        return f"model.layers.{number}.{inner}" if inner else outer if outer.startswith("lm_head") else "model." + outer
    if method == "edd":
        return f"decoder.{inner}" if inner else outer.replace("embed_tokens", "embedding_layer")
    if method == "medusa":
        return f"{parts[1]}.{parts[3]}.linear.{parts[4]}" if parts[2] == "res" else f"{parts[1]}.1.weight"
    if method == "hydra":
        if parts[0] != "head":
            return "prefix_embeding_layer." + (f"layers.{number}.{inner}" if inner else outer)
        module = {"fc": "1.linear", "skip": "1.res_connection"}.get(parts[2])
        if parts[2] == "output":
            return f"hydra_lm_head.{parts[1]}.1.{parts[3]}"
        return f"hydra_mlp.{parts[1]}.{module or f'{2 * int(parts[3]) + 1}.linear'}.{parts[-1]}"
    return ""


def write_torch(path, tensors):
    state, storages = {}, []
    for name, (_, shape, data) in tensors.items():
        strides = [1] * len(shape)
        for i in range(len(shape) - 2, -1, -1):
            strides[i] = strides[i + 1] * shape[i + 1]
        state[name] = tensor("FloatStorage", str(len(storages)), len(data) // 4, 0, tuple(shape), tuple(strides))
        storages.append(data)
    archive(path, state, storages)


def write_published(root, method):
    """Writes a draft in its authors' file layout. Chimera, which has three files, is not supported."""
    with open(f"{root}/drafts/{method}.gguf", "rb") as file:
        draft = Gguf(file.read())
    tensors = {}
    for t in draft.tensors:
        name = published_name(method, t.name.decode())
        if name:
            kind, data = "F32", t.data
            if name == "d2t":
                kind, data = "I64", b"".join(struct.pack("<q", int(x)) for (x,) in struct.iter_unpack("<f", t.data))
            tensors[name] = kind, t.dims[::-1], data
    heads = {"edd": ["lm_head.weight", "embedding_layer.weight"], "hydra": [f"hydra_lm_head.{k}.1.weight" for k in range(4)]}
    for name in heads.get(method, []):  # tensors that our files leave to the target
        tensors.setdefault(name, matrix(random.Random(name), 259, 64))
    folder = f"{root}/published/{method}"
    stem = {"medusa": "medusa_lm_head", "hydra": "hydra_lm_head", "edd": "draft_model"}.get(method, "model")
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 259, "hidden_size": 64,
              "intermediate_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
              "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
    if method == "eagle3":
        config |= {"draft_vocab_size": next(len(t[2]) // 8 for n, t in tensors.items() if n == "d2t")}
    if method == "glide":
        config |= {"hidden_size": 96, "num_hidden_layers": 2, "num_key_value_heads": 4, "large_hidden_size": 64,
                   "large_num_attention_heads": 4, "large_head_dim": 16, "block_size": 5, "head_dim": 16}
    write_json(folder + "/config.json", config)
    if method in ("hass", "medusa"):
        write_torch(f"{folder}/{'pytorch_model.bin' if method == 'hass' else stem + '.pt'}", tensors)
    else:
        write(f"{folder}/{stem}.safetensors", safetensors(tensors))


def write_texts(root, foretoken, tiny, env):
    t = root + "/texts"
    chats = [{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": w}]} for w in WORDS[:4]]
    mixed = [{"conversations": [{"from": "human", "value": WORDS[0]}, {"from": "gpt", "value": WORDS[4]}]}, *chats[:2],
             {"text": WORDS[1]}, {"text": WORDS[5]}]
    write(t + "/asked.jsonl", "".join(json.dumps(c) + "\n" for c in chats))
    write(t + "/corpus.jsonl", "".join(json.dumps(c, ensure_ascii=False) + "\n" for c in mixed))
    write(t + "/corpus.txt", "\n<|endoftext|>\n".join(WORDS * 2))
    write(t + "/questions.jsonl", "".join(json.dumps(
        {"question_id": i, "category": kind, "turns": [w, "and"]}) + "\n"
        for i, (w, kind) in enumerate(zip(WORDS, ("writing", "math", "qa")))))
    write_json(t + "/heads.json", {"model": "tiny", "prompts": 2, "domain": "input", "trials": 9, "candidates": 12,
                                   "heads": [[0, 1, 7], [2, 3, 5], [1, 0, 1]]})
    write(t + "/ids", "1 2 3 258")  # the standard input of every command
    write(t + "/tree.txt", "0\n1\n0,0\n0,2   # a grandchild\n1,0\n")
    write_json(t + "/recipe.json", {
        "vocab": 260, "layers": 1, "hidden": 32, "ffn": 32, "heads": 2, "kv_heads": 1, "head_dim": 16, "length": 16, "batch": 2,
        "steps": 3, "warmup": 1, "eval_every": 2, "eval_sequences": 2, "heldout": 0.2, "threads": 1, "lr": 0.001,
        "data": [{"files": "corpus.jsonl", "weight": 1.5}]})
    write_json(t + "/paper.json", {
        "title": "trees", "source": "Table 1", "differs": "all", "new_tokens": 4, "rows": ["method"], "columns": ["metric"],
        "metrics": ["tau_micro", "alpha_n:0"], "parts": [{"name": "all", "questions": "questions.jsonl"}],
        "methods": [{"name": "PLD", "drafter": "pld"}], "printed": [{"model": "7B", "cells": {"PLD": "1.5 0.5"}}]})
    write(t + "/run/log.jsonl", "".join(json.dumps(
        {"step": i, "loss": 3 / i, "lr": 0.1, "heldout_loss": 2.5, "alpha_1": 0.5, "top1_1": 0.25}) + "\n"
        for i in range(1, 6)))
    texts = ["--data", t + "/corpus.jsonl", "--data", t + "/corpus.txt"]
    run(foretoken, "build-datastore", "-m", tiny, "--out", t + "/corpus.datastore", *texts)
    run(foretoken, "count-ngrams", "-m", tiny, "--out", t + "/ngrams", "-n", "3", "--most", "40", *texts)
    run(foretoken, "distill", "-m", tiny, "-t", "1", "-q", "-n", "3", "--batch", "1", "--limit", "2", "--data",
        t + "/asked.jsonl", "--out", t + "/distilled.jsonl")
    run(foretoken, "bench", "spec", "-m", tiny, "-t", "1", "-q", "-n", "4", "--warm-up", "0", "--methods", "pld", "--tree",
        "paper", "--questions", t + "/questions.jsonl", "--resume", t + "/journal", env=env)
    run(foretoken, "generate", "-m", tiny, "-t", "1", "-q", "-p", "hello hello hello", "-n", "24", "--drafter", "pld",
        env=env | {"XDG_CACHE_HOME": root + "/measured"})


def write_runs(root, trainer):
    """Writes the folder of a short training run, with its checkpoint."""
    texts = root + "/texts"
    run(trainer, "train", "lm", "--quiet", "--recipe", texts + "/recipe.json", "--data", texts, "--out", root + "/runs/lm")


def make(root, foretoken, tiny, make_drafts, trainer):
    """Makes the folder `root`. Its file "complete" is written last; without it the folder is made anew."""
    shutil.rmtree(root, ignore_errors=True)
    env = dict(os.environ, XDG_CACHE_HOME=root + "/cache")
    write_hf(root)
    write_models(root, foretoken, tiny)
    os.makedirs(root + "/drafts")
    run(make_drafts, tiny, root + "/drafts")
    for method in ("eagle", "hass", "eagle3", "glide", "edd", "medusa", "hydra"):
        write_published(root, method)
    write_texts(root, foretoken, root + "/models/tiny.gguf", env)
    if trainer:
        write_runs(root, trainer)
    write(root + "/complete", "")
