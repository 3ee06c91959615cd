#!/usr/bin/env python3
"""Makes the goldens of tests/parity/draft: drafts with random weights in their authors' file layouts, for
the target ../model/llama, and the outputs of an independent implementation in PyTorch (transformers' Llama
layer and the documented glue).

    python3 -m venv venv && venv/bin/pip install torch==2.4.1 transformers==4.51.3 'numpy<2'
    venv/bin/python make_goldens.py

eagle/          config.json, model.safetensors: projection without bias, no embedding
eagle-bin/      config.json, pytorch_model.bin: projection with bias, a copy of the embedding
medusa/         medusa_lm_head.pt: three heads of two blocks
chimera/        chimera_head.pt, trimlp.pt, fast_layer1.pt: three heads
edd/            draft_model.pt: a layer, embedding, norm and LM head of its own
hydra/          config.json, hydra_lm_head.pt: three heads of two blocks
glide/          config.json, model.safetensors: one layer that attends to the target's last layer
eagle3/         config.json, pytorch_model.bin: a vocabulary of 40 tokens, no embedding; target/ is a model with
                the seven layers that three different hidden states need
Each has golden.bin, little-endian. eagle: pairs i32, tokens [pairs + 1] i32, features [pairs, d] f32,
drafted i32, tokens [drafted] i32, then of every pair and drafted token the outputs [rows, d] and logits
[rows, vocab] f32. medusa: rows i32, features [rows, d], then of each head logits [rows, vocab] f32. edd: text
i32, tokens [text] i32, hidden states [text, d] f32, path i32, tokens [path] i32 (the root first), then of each
logits [path, vocab] f32. chimera: pairs i32, tokens [pairs + 1] i32 (the root last), features [pairs, d] f32,
drafted i32, tokens [drafted] i32, then the logits of each head [drafted + 1, vocab] f32. hydra: rows i32,
features [rows, d] f32, path i32, tokens [path] i32 (the root first), then the prefix state [d] and the logits of
each head [path, vocab] f32. glide: pairs i32, tokens [pairs + 1] i32 (the root last), drafted
i32, tokens [drafted] i32, then the logits after the root and each drafted token [drafted + 1, vocab] f32.
eagle3: as eagle, with hidden states [pairs, 3d] in place of features; before the outputs, the target's ids of
the draft's vocabulary [draft vocabulary] i32; logits [rows, draft vocabulary].
"""

import json
import pathlib

import numpy
import safetensors.torch
import torch
import transformers
from transformers.models.llama.modeling_llama import (
    LlamaAttention, LlamaDecoderLayer, LlamaMLP, LlamaRMSNorm, LlamaRotaryEmbedding,
    apply_rotary_pos_emb)

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = ("architectures", "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads",
          "num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "rope_theta")
PAIRS, DRAFTED, HEADS, BLOCKS = 23, 4, 3, 2


class Eagle(torch.nn.Module):
    def __init__(self, config, bias):
        super().__init__()
        self.fc = torch.nn.Linear(2 * config.hidden_size, config.hidden_size, bias=bias)
        self.layers = torch.nn.ModuleList([LlamaDecoderLayer(config, 0)])
        self.layers[0].input_layernorm = torch.nn.Identity()
        self.rotary = LlamaRotaryEmbedding(config=config)

    def forward(self, embeddings, features):
        x = self.fc(torch.cat((embeddings, features), dim=-1))
        rows = x.shape[1]
        positions = torch.arange(rows)[None]
        mask = torch.full((rows, rows), float("-inf")).triu(1)[None, None]
        return self.layers[0](
            x, attention_mask=mask, position_ids=positions,
            position_embeddings=self.rotary(x, positions))[0]


class Eagle3(torch.nn.Module):
    """Fuses three hidden states into a feature; attention reads the feature and the token's embedding."""

    def __init__(self, config, known):
        super().__init__()
        width = config.hidden_size
        self.fc = torch.nn.Linear(3 * width, width, bias=False)
        self.midlayer = torch.nn.Module()
        self.midlayer.self_attn = LlamaAttention(config, 0)
        for name in ("q_proj", "k_proj", "v_proj"):
            rows = getattr(self.midlayer.self_attn, name).out_features
            setattr(self.midlayer.self_attn, name, torch.nn.Linear(2 * width, rows, bias=False))
        self.midlayer.mlp = LlamaMLP(config)
        for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm"):
            setattr(self.midlayer, name, LlamaRMSNorm(width, eps=config.rms_norm_eps))
        self.norm = LlamaRMSNorm(width, eps=config.rms_norm_eps)
        ids = known.nonzero()[:, 0]
        self.lm_head = torch.nn.Linear(width, len(ids), bias=False)
        self.register_buffer("d2t", ids - torch.arange(len(ids)))
        self.register_buffer("t2d", known)
        self.rotary = LlamaRotaryEmbedding(config=config)

    def forward(self, embeddings, features):
        layer, rows = self.midlayer, features.shape[1]
        positions = torch.arange(rows)[None]
        mask = torch.full((rows, rows), float("-inf")).triu(1)[None, None]
        read = torch.cat((layer.input_layernorm(embeddings), layer.hidden_norm(features)), dim=-1)
        x = features + layer.self_attn(
            read, attention_mask=mask, position_embeddings=self.rotary(features, positions))[0]
        return x + layer.mlp(layer.post_attention_layernorm(x))


class Edd(torch.nn.Module):
    """Runs hidden states and embeddings as rows of one sequence; returns logits of the tokens' rows."""

    def __init__(self, config):
        super().__init__()
        self.embedding_layer = torch.nn.Embedding(config.vocab_size, config.hidden_size)
        self.decoder = LlamaDecoderLayer(config, 0)
        self.norm = LlamaRMSNorm(config.hidden_size, eps=1e-6)
        self.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.rotary = LlamaRotaryEmbedding(config=config)

    def forward(self, states, tokens):
        x = torch.cat((states, self.embedding_layer(tokens)), dim=1)
        rows = x.shape[1]
        positions = torch.arange(rows)[None]
        mask = torch.full((rows, rows), float("-inf")).triu(1)[None, None]
        out = self.decoder(x, attention_mask=mask, position_ids=positions,
                           position_embeddings=self.rotary(x, positions))[0]
        return self.lm_head(self.norm(out[:, states.shape[1]:]))


class Glimpse(torch.nn.Module):
    """Cross-attention of a draft layer over a target layer's cached keys and values."""

    def __init__(self, width, target):
        super().__init__()
        self.heads, self.head_dim = target.num_attention_heads, target.head_dim
        inner = self.heads * self.head_dim
        self.q_proj = torch.nn.Linear(width, inner, bias=False)
        self.o_proj = torch.nn.Linear(inner, width, bias=False)

    def forward(self, x, keys, values, rotation):
        """x [1, rows, width]; keys, values [1, kv_heads, seen, head_dim], rotated."""
        q = self.q_proj(x).view(1, -1, self.heads, self.head_dim).transpose(1, 2)
        q, _ = apply_rotary_pos_emb(q, q, *rotation)
        repeat = self.heads // keys.shape[1]
        keys, values = keys.repeat_interleave(repeat, 1), values.repeat_interleave(repeat, 1)
        weights = (q @ keys.transpose(2, 3) / self.head_dim ** 0.5).softmax(-1)
        return self.o_proj((weights @ values).transpose(1, 2).flatten(2))


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.nn.functional.silu(self.linear(x))


class Chimera(torch.nn.Module):
    """Heads over the last feature and the output of a layer over all features and all trigram states."""

    def __init__(self, target):
        super().__init__()
        width, self.embedding = target.config.hidden_size, target.get_input_embeddings()
        self.trimlp = torch.nn.Sequential(
            Block(3 * width), torch.nn.Linear(3 * width, width, bias=False))
        self.layer = torch.nn.ModuleList([LlamaDecoderLayer(target.config, 0)])
        self.heads = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(2 * width, target.config.vocab_size, bias=False))
            for _ in range(HEADS))
        self.rotary = LlamaRotaryEmbedding(config=target.config)

    def state(self, text, end):
        words = [text[0], text[min(1, end)], text[end]] if end < 2 else text[end - 2:end + 1]
        return self.trimlp(torch.cat([self.embedding(word) for word in words]))

    def forward(self, text, features, head):
        """Logits of head `head`, for a path of `head` drafted tokens. features [pairs, d]."""
        pairs, last = features.shape[0], features.shape[0] + head
        states = [self.state(text, end) for end in range(1, last + 1)]
        x = torch.cat((features, torch.stack(states)))[None]
        positions = torch.cat((torch.arange(pairs), torch.arange(1, last + 1)))[None]
        mask = torch.zeros(1, 1, x.shape[1], x.shape[1])  # only the last row is read: it sees all
        out = self.layer[0](x, attention_mask=mask, position_ids=positions,
                            position_embeddings=self.rotary(x, positions))[0]
        return self.heads[head](torch.cat((features[-1], out[0, -1])))


class Narrowing(torch.nn.Module):
    """A residual block whose shortcut is a linear layer."""

    def __init__(self, inputs, width):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, width)
        self.res_connection = torch.nn.Linear(inputs, width)

    def forward(self, x):
        return self.res_connection(x) + torch.nn.functional.silu(self.linear(x))


class Hydra(torch.nn.Module):
    """Heads over the output of a layer over all features, the root and the earlier drafted tokens."""

    def __init__(self, config):
        super().__init__()
        width, vocab = config.hidden_size, config.vocab_size
        own = transformers.LlamaConfig(**{**config.to_dict(), "num_hidden_layers": 1})
        self.prefix_embeding_layer = transformers.LlamaModel(own)
        self.hydra_mlp = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.Dropout(0.0), Narrowing((head + 2) * width, width),
                *(part for _ in range(BLOCKS - 1) for part in (torch.nn.Dropout(0.0), Block(width))))
            for head in range(HEADS))
        self.hydra_lm_head = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Dropout(0.0), torch.nn.Linear(width, vocab))
            for _ in range(HEADS))

    def forward(self, features, embeddings):
        state = self.prefix_embeding_layer(inputs_embeds=features[None])[0][0, -1]
        logits = []
        for head in range(HEADS):
            told = torch.cat((state, embeddings[:head + 1].flatten()))
            logits.append(self.hydra_lm_head[head](self.hydra_mlp[head](told)))
        return state, logits


def randomise(module, generator):
    """Draws weights large enough that every part changes the outputs measurably."""
    with torch.no_grad():
        for name, value in module.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if "norm" in name:
                value.copy_(1.0 + 0.2 * noise)
            elif name.endswith("bias"):
                value.copy_(0.3 * noise)
            else:
                value.copy_(1.2 * noise / value.shape[1] ** 0.5)


def write(path, *parts):
    with open(path, "wb") as file:
        for part in parts:
            if isinstance(part, int):
                part = numpy.int32(part)
            elif part.dtype == torch.int64:
                part = part.to(torch.int32).numpy()
            else:
                part = part.detach().numpy()
            file.write(part.tobytes())


def make_eagle(target, folder, bias, generator):
    folder.mkdir(exist_ok=True)
    draft = Eagle(target.config, bias).eval()
    randomise(draft, generator)
    vocab = target.config.vocab_size
    tokens = torch.randint(3, vocab, (PAIRS + 1,), generator=generator)
    drafted = torch.randint(3, vocab, (DRAFTED,), generator=generator)
    table, head = target.model.embed_tokens, target.lm_head
    with torch.no_grad():
        features = target.model(tokens[None, :-1]).last_hidden_state
        inputs, given = table(tokens[None, 1:]), features
        out = draft(inputs, given)
        for token in drafted:  # its feature is the output that predicted it
            inputs = torch.cat((inputs, table(token[None, None])), dim=1)
            given = torch.cat((given, out[:, -1:]), dim=1)
            out = draft(inputs, given)
        logits = head(out)
    write(folder / "golden.bin", PAIRS, tokens, features[0], DRAFTED, drafted, out[0], logits[0])
    state = {name: value for name, value in draft.state_dict().items() if "rotary" not in name}
    config = {key: getattr(target.config, key) for key in CONFIG} | {
        "num_hidden_layers": 1, "bias": bias}
    (folder / "config.json").write_text(json.dumps(config) + "\n")
    if bias:
        state["embed_tokens.weight"] = table.weight.detach().clone()
        torch.save(state, folder / "pytorch_model.bin")
    else:
        safetensors.torch.save_file(state, folder / "model.safetensors")


def make_eagle3(folder, generator):
    folder.mkdir(exist_ok=True)
    layers, vocab, known = 7, 61, 40
    config = transformers.LlamaConfig(
        architectures=["LlamaForCausalLM"], vocab_size=vocab, hidden_size=32, intermediate_size=32,
        num_hidden_layers=layers, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=500.0,
        attn_implementation="eager")
    target = transformers.LlamaForCausalLM(config).float().eval()
    randomise(target, generator)
    own = transformers.LlamaConfig(**{**config.to_dict(), "num_hidden_layers": 1,
                                      "intermediate_size": 48, "rope_theta": 700.0})
    own._attn_implementation = "eager"
    mask = torch.zeros(vocab, dtype=torch.bool)
    mask[torch.randperm(vocab, generator=generator)[:known]] = True
    draft = Eagle3(own, mask).eval()
    randomise(draft, generator)
    tokens = torch.randint(3, vocab, (PAIRS + 1,), generator=generator)
    drafted = torch.randint(3, vocab, (DRAFTED,), generator=generator)
    table = target.model.embed_tokens
    with torch.no_grad():
        states = target(tokens[None, :-1], output_hidden_states=True).hidden_states
        tapped = torch.cat([states[i] for i in (2, layers // 2, layers - 3)], dim=-1)
        inputs, given = table(tokens[None, 1:]), draft.fc(tapped)
        out = draft(inputs, given)
        for token in drafted:  # its feature is the output that predicted it, without the final norm
            inputs = torch.cat((inputs, table(token[None, None])), dim=1)
            given = torch.cat((given, out[:, -1:]), dim=1)
            out = draft(inputs, given)
        logits = draft.lm_head(draft.norm(out))
    write(folder / "golden.bin", PAIRS, tokens, tapped[0], DRAFTED, drafted, mask.nonzero()[:, 0],
          out[0], logits[0])
    torch.save({name: value for name, value in draft.state_dict().items() if "rotary" not in name},
               folder / "pytorch_model.bin")
    described = {key: getattr(own, key) for key in CONFIG} | {
        "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1,
        "draft_vocab_size": known}
    (folder / "config.json").write_text(json.dumps(described) + "\n")
    (folder / "target").mkdir(exist_ok=True)
    large = {key: getattr(config, key) for key in CONFIG} | {"num_hidden_layers": layers}
    (folder / "target" / "config.json").write_text(json.dumps(large) + "\n")
    safetensors.torch.save_file(dict(target.state_dict()), folder / "target" / "model.safetensors")


def make_glide(target, folder, generator):
    folder.mkdir(exist_ok=True)
    large = target.config
    config = transformers.LlamaConfig(
        architectures=["LlamaForCausalLM"], vocab_size=large.vocab_size, hidden_size=48,
        intermediate_size=40, num_hidden_layers=1, num_attention_heads=3, num_key_value_heads=3,
        max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=500.0,
        attn_implementation="eager")
    draft = transformers.LlamaForCausalLM(config).float().eval()
    layer = draft.model.layers[0]
    layer.cross_attn = Glimpse(config.hidden_size, large)
    randomise(draft, generator)
    tokens = torch.randint(3, large.vocab_size, (PAIRS + 1,), generator=generator)
    drafted = torch.randint(3, large.vocab_size, (DRAFTED,), generator=generator)
    with torch.no_grad():
        seen = target.model(tokens[None, :-1], use_cache=True).past_key_values[-1]
        fed = torch.cat((tokens, drafted))[None]
        rows = fed.shape[1]
        positions = torch.arange(rows)[None]
        mask = torch.full((rows, rows), float("-inf")).triu(1)[None, None]
        x = draft.model.embed_tokens(fed)
        x = x + layer.self_attn(
            layer.input_layernorm(x), attention_mask=mask,
            position_embeddings=draft.model.rotary_emb(x, positions))[0]
        x = x + layer.cross_attn(x, *seen, target.model.rotary_emb(x, positions))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
        logits = draft.lm_head(draft.model.norm(x))
    write(folder / "golden.bin", PAIRS, tokens, DRAFTED, drafted, logits[0, PAIRS:])
    own = {key: getattr(config, key) for key in CONFIG} | {
        "num_hidden_layers": 1, "block_size": 5, "large_hidden_size": large.hidden_size,
        "large_num_attention_heads": large.num_attention_heads, "large_head_dim": large.head_dim}
    (folder / "config.json").write_text(json.dumps(own) + "\n")
    safetensors.torch.save_file(dict(draft.state_dict()), folder / "model.safetensors")


def make_medusa(target, folder, generator):
    folder.mkdir(exist_ok=True)
    width, vocab = target.config.hidden_size, target.config.vocab_size
    heads = torch.nn.ModuleList(
        torch.nn.Sequential(*(Block(width) for _ in range(BLOCKS)),
                            torch.nn.Linear(width, vocab, bias=False)) for _ in range(HEADS))
    randomise(heads, generator)
    features = torch.randn(5, width, generator=generator)
    with torch.no_grad():
        logits = [head(features) for head in heads]
    write(folder / "golden.bin", 5, features, *logits)
    torch.save(heads.state_dict(), folder / "medusa_lm_head.pt")
    (folder / "config.json").write_text(
        json.dumps({"medusa_num_heads": HEADS, "medusa_num_layers": BLOCKS}) + "\n")


def make_edd(target, folder, generator):
    folder.mkdir(exist_ok=True)
    draft = Edd(target.config).eval()
    randomise(draft, generator)
    vocab = target.config.vocab_size
    text = torch.randint(3, vocab, (PAIRS,), generator=generator)
    path = torch.randint(3, vocab, (DRAFTED + 1,), generator=generator)
    with torch.no_grad():
        states = target(text[None], output_hidden_states=True).hidden_states[-4]
        logits = draft(states, path[None])
    write(folder / "golden.bin", PAIRS, text, states[0], DRAFTED + 1, path, logits[0])
    torch.save({name: value for name, value in draft.state_dict().items() if "rotary" not in name},
               folder / "draft_model.pt")


def make_chimera(target, folder, generator):
    folder.mkdir(exist_ok=True)
    draft = Chimera(target).eval()
    own = torch.nn.ModuleList([draft.trimlp, draft.layer, draft.heads])
    randomise(own, generator)
    vocab = target.config.vocab_size
    text = torch.randint(3, vocab, (PAIRS + HEADS,), generator=generator)
    with torch.no_grad():
        features = target(text[None, :PAIRS], output_hidden_states=True).hidden_states[-1][0]
        logits = [draft(text, features, head) for head in range(HEADS)]
    write(folder / "golden.bin", PAIRS, text[:PAIRS + 1], features, HEADS - 1, text[PAIRS + 1:],
          *logits)
    for name, part in (("trimlp", draft.trimlp), ("fast_layer1", draft.layer),
                       ("chimera_head", draft.heads)):
        torch.save(part.state_dict(), folder / f"{name}.pt")


def make_hydra(target, folder, generator):
    folder.mkdir(exist_ok=True)
    draft = Hydra(target.config).eval()
    randomise(draft, generator)
    vocab = target.config.vocab_size
    text = torch.randint(3, vocab, (PAIRS + HEADS,), generator=generator)
    with torch.no_grad():
        features = target(text[None, :PAIRS], output_hidden_states=True).hidden_states[-1][0]
        state, logits = draft(features, target.get_input_embeddings()(text[PAIRS:]))
    write(folder / "golden.bin", PAIRS, features, HEADS, text[PAIRS:], state, *logits)
    torch.save(draft.state_dict(), folder / "hydra_lm_head.pt")
    (folder / "config.json").write_text(json.dumps(
        {"hydra_num_heads": HEADS, "hydra_num_layers": BLOCKS, "grounded_heads": True}) + "\n")


def main():
    generator = torch.Generator().manual_seed(11)
    target = transformers.LlamaForCausalLM.from_pretrained(
        HERE.parent / "model" / "llama", attn_implementation="eager").float().eval()
    make_eagle(target, HERE / "eagle", False, generator)
    make_eagle(target, HERE / "eagle-bin", True, generator)
    make_medusa(target, HERE / "medusa", generator)
    make_edd(target, HERE / "edd", generator)
    make_glide(target, HERE / "glide", torch.Generator().manual_seed(12))
    make_chimera(target, HERE / "chimera", torch.Generator().manual_seed(13))
    make_hydra(target, HERE / "hydra", torch.Generator().manual_seed(14))
    make_eagle3(HERE / "eagle3", torch.Generator().manual_seed(15))


if __name__ == "__main__":
    main()
