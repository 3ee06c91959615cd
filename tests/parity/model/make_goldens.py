#!/usr/bin/env python3
"""Makes the golden models of tests/parity/model: tiny random models of every supported family, saved
by Hugging Face transformers, with the logits and hidden states that transformers computes.

    python3 -m venv venv && venv/bin/pip install torch==2.4.1 transformers==4.51.3 'numpy<2'
    venv/bin/python make_goldens.py

Each folder gets config.json, model.safetensors (f32) and golden.bin: little-endian, the number of
token sequences (i32), then for each sequence
    n        i32
    tokens   [n] i32
    logits   [n, vocab] f32
    hidden   [layers + 1, n, hidden] f32   transformers' hidden_states, in its order
"""

import pathlib

import numpy
import torch
import transformers

VOCAB = 101
SIZES = dict(
    vocab_size=VOCAB,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    rms_norm_eps=1e-5,
    bos_token_id=1,
    eos_token_id=2,
    attn_implementation="eager",
)
LENGTHS = (1, 7, 24, 57)

LLAMA3 = dict(
    rope_type="llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16,
)
LLAMA3_SIZES = dict(
    max_position_embeddings=128,
    rope_theta=500000.0,
    rope_scaling=LLAMA3,
    hidden_size=48,
    tie_word_embeddings=True,
    num_hidden_layers=2,
)
QWEN3_SIZES = dict(head_dim=20, rms_norm_eps=1e-6, rope_theta=1000000.0, num_hidden_layers=2)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)

MODELS = {
    "llama": ("Llama", {}),
    "llama-linear": ("Llama", dict(rope_scaling=dict(rope_type="linear", factor=2.0))),
    "llama-yarn": ("Llama", dict(rope_scaling=YARN, rope_theta=1000.0)),
    "llama-3.1": ("Llama", LLAMA3_SIZES),
    "llama-mha": ("Llama", dict(num_key_value_heads=4)),
    "mistral": ("Mistral", dict(sliding_window=9, head_dim=12)),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True, rope_theta=1000000.0)),
    "qwen3": ("Qwen3", QWEN3_SIZES),
}


def randomise(model, generator):
    """Draws weights large enough that every part of the model changes the logits measurably."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if "norm" in name:
                value.copy_(1.0 + 0.2 * noise)
            elif name.endswith("bias"):
                value.copy_(0.3 * noise)
            else:
                value.copy_(1.2 * noise / value.shape[1] ** 0.5)


def write_goldens(path, model, generator):
    with open(path, "wb") as file:
        file.write(numpy.int32(len(LENGTHS)).tobytes())
        for length in LENGTHS:
            tokens = torch.randint(3, VOCAB, (1, length), generator=generator)
            with torch.no_grad():
                out = model(tokens, output_hidden_states=True, use_cache=False)
            file.write(numpy.int32(length).tobytes())
            file.write(tokens[0].to(torch.int32).numpy().tobytes())
            file.write(out.logits[0].numpy().tobytes())
            for hidden in out.hidden_states:
                file.write(hidden[0].numpy().tobytes())


def main():
    folder = pathlib.Path(__file__).resolve().parent
    for seed, (name, (family, overrides)) in enumerate(MODELS.items()):
        generator = torch.Generator().manual_seed(seed)
        config = getattr(transformers, family + "Config")(**{**SIZES, **overrides})
        model = getattr(transformers, family + "ForCausalLM")(config).float().eval()
        randomise(model, generator)
        model.save_pretrained(folder / name, safe_serialization=True)
        (folder / name / "generation_config.json").unlink(missing_ok=True)
        write_goldens(folder / name / "golden.bin", model, generator)
        print(name, sum(p.numel() for p in model.parameters()), "parameters")


if __name__ == "__main__":
    main()
