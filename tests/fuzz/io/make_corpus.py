#!/usr/bin/env python3
"""Writes the seed files of the io fuzz targets: small valid files that the fuzzer mutates.

    .venv/bin/pip install gguf==0.19.0 numpy && .venv/bin/python tests/fuzz/io/make_corpus.py
"""
import json
import pathlib
import struct
import sys

import gguf
import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "altered"))
from torch_file import archive, pickled, tensor  # noqa: E402  of tests/fuzz/altered


def write_gguf(name, tokenizer, architecture="llama"):
    writer = gguf.GGUFWriter(str(HERE / "gguf" / name), architecture)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(16)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(2.0)
    tokens = ["<unk>", "<s>", "</s>", "a", "b", "ab"]
    writer.add_tokenizer_model(tokenizer)
    writer.add_token_list(tokens)
    writer.add_token_types([2, 3, 3, 1, 1, 1])
    if tokenizer == "llama":
        writer.add_token_scores([0.0, 0.0, 0.0, -1.0, -2.0, -0.5])
    else:
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{{ messages }}")
    writer.add_tensor("token_embd.weight", np.ones((6, 32), np.float16))
    for kind in ("Q8_0", "Q4_0", "Q5_1"):
        kind = gguf.GGMLQuantizationType[kind]
        blocks = gguf.quants.quantize(np.ones((1, 32), np.float32), kind)
        writer.add_tensor(f"blk.0.{kind.name}.weight", blocks, raw_dtype=kind)
    for kind in ("Q4_K", "Q5_K", "Q6_K"):
        kind = gguf.GGMLQuantizationType[kind]
        blocks = np.ones((1, gguf.GGML_QUANT_SIZES[kind][1]), np.uint8)
        writer.add_tensor(f"blk.0.{kind.name}.weight", blocks, raw_dtype=kind)
    writer.add_tensor("rope_freqs.weight", np.ones(8, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_draft():
    writer = gguf.GGUFWriter(str(HERE / "gguf" / "draft"), "foretoken-draft")
    key = "foretoken.draft."
    writer.add_string(key + "method", "medusa")
    for name, value in [("version", 1), ("embedding_length", 32), ("output_heads", 1), ("ranks_step", 2),
                        ("target.vocab_size", 6), ("target.embedding_length", 32), ("target.block_count", 1),
                        ("target.attention.head_count", 2), ("target.attention.head_count_kv", 1),
                        ("target.attention.key_length", 16)]:
        writer.add_uint32(key + name, value)
    writer.add_array(key + "ranks", [4, 0, 2])
    writer.add_array(key + "ranks_coverage", [0.5, 1.0])
    writer.add_array(key + "acceptance", [0.75, 0.5])
    writer.add_tensor("head.0.output.weight", np.ones((6, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_safetensors():
    header = {"__metadata__": {"format": "pt"},
              "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
              "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
              "c": {"dtype": "I64", "shape": [], "data_offsets": [22, 30]}}
    text = json.dumps(header).encode()
    (HERE / "safetensors" / "small").write_bytes(struct.pack("<Q", len(text)) + text + bytes(30))
    (HERE / "safetensors" / "empty").write_bytes(struct.pack("<Q", 2) + b"{}")


def write_configs():
    shape = {"vocab_size": 8, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
             "rms_norm_eps": 1e-5, "bos_token_id": 1, "eos_token_id": [2, 3],
             "tie_word_embeddings": True}
    variants = {
        "llama3": {"architectures": ["LlamaForCausalLM"], "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64}},
        "mistral": {"architectures": ["MistralForCausalLM"], "sliding_window": 32},
        "qwen2": {"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 0,
                  "sliding_window": 16, "rope_scaling": {"type": "linear", "factor": 2}},
        "qwen3": {"architectures": ["Qwen3ForCausalLM"], "layer_types": ["full_attention"] * 2,
                  "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0,
                                      "mscale": 1.0, "mscale_all_dim": 0.5}},
    }
    for name, more in variants.items():
        (HERE / "hf_config" / name).write_text(json.dumps(shape | more))
    (HERE / "hf_config" / "generation").write_text(json.dumps(
        {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "do_sample": True, "eos_token_id": 2}))


def write_torch():
    state = {"a.weight": tensor("FloatStorage", "0", 6, 0, (2, 3), (3, 1)),
             "a.bias": tensor("BFloat16Storage", "1", 4, 1, (3,), (1,)), "step": 7}
    (HERE / "torch_file" / "pickle").write_bytes(pickled(state))
    archive(HERE / "torch_file" / "archive", state, [bytes(24), bytes(8)])


for folder in ("gguf", "safetensors", "hf_config", "torch_file"):
    (HERE / folder).mkdir(exist_ok=True)
write_gguf("sentencepiece", "llama")
write_gguf("byte_bpe", "gpt2", "qwen2")
write_draft()
write_safetensors()
write_configs()
write_torch()
