#!/usr/bin/env python3
"""Writes formats.golden: blocks of every tensor type, decoded and encoded by the `gguf` package.

Made with gguf 0.19.0 and numpy 2.4.6 from PyPI (both recorded in the file):

    python3 -m venv .venv && .venv/bin/pip install gguf==0.19.0 numpy==2.4.6
    .venv/bin/python tests/parity/io/make_goldens.py

The file: a line of text with the versions, then records of
    u8 kind ('d' dequantised, 'q' quantised), u8 name length, name, u32 values, u32 block bytes,
    block bytes, values as f32.
A 'd' record has random blocks and the package's values for them; a 'q' record random values and the
package's blocks for them. Everything is little-endian.
"""
import importlib.metadata
import pathlib
import struct

import gguf
import numpy as np

FORMATS = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"]
# The types for which the package has ggml's reference quantisation.
QUANTISED = ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
# The bytes of half-precision scales in a block. Random bits there could be infinities or NaNs.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
BLOCKS = 12


def random_blocks(rng, name, block_bytes):
    if name == "F16":
        halves = np.arange(0, 0x10000, 13, dtype=np.uint16)
        return halves[np.isfinite(halves.view(np.float16))].view(np.uint8)
    if name == "BF16":
        words = np.arange(0, 0x10000, 13, dtype=np.uint16)
        return words[(words & 0x7F80) != 0x7F80].view(np.uint8)
    blocks = rng.integers(0, 256, (BLOCKS, block_bytes), dtype=np.uint8)
    for at in SCALES[name]:
        scale = rng.normal(0, 0.02, BLOCKS).astype(np.float16)
        scale[0] = np.float16(6e-8)  # subnormal
        blocks[:, at:at + 2] = scale.reshape(-1, 1).view(np.uint8)
    return blocks.ravel()


def random_values(rng, name):
    values = rng.normal(0, 0.05, (BLOCKS * 4, 32)).astype(np.float32)
    values[0] = 0  # scale zero
    values[1] = 0.25  # a constant
    values[2, 5] = 3.0  # an outlier
    values[3] = np.arange(-16, 16) / 8  # ties
    values[4] = -np.arange(32) / 31
    values[5] *= 1e-6  # subnormal scales
    values[6] *= 1e3
    return values


def record(kind, name, blocks, values):
    blocks, values = np.ascontiguousarray(blocks).ravel(), values.astype("<f4").ravel()
    head = kind.encode() + bytes([len(name)]) + name.encode()
    return head + struct.pack("<II", values.size, blocks.size) + blocks.tobytes() + values.tobytes()


def main():
    rng = np.random.default_rng(20240611)
    versions = " ".join(f"{p} {importlib.metadata.version(p)}" for p in ("gguf", "numpy"))
    out = bytearray(f"golden values of tensor formats, made by {versions}\n".encode())
    for name in FORMATS:
        kind = gguf.GGMLQuantizationType[name]
        blocks = random_blocks(rng, name, gguf.GGML_QUANT_SIZES[kind][1])
        out += record("d", name, blocks, gguf.quants.dequantize(blocks, kind))
    for name in QUANTISED:
        values = random_values(rng, name)
        blocks = gguf.quants.quantize(values, gguf.GGMLQuantizationType[name]).view(np.uint8)
        out += record("q", name, blocks, values)
    path = pathlib.Path(__file__).with_name("formats.golden")
    path.write_bytes(out)
    print(f"{path}: {len(out)} bytes")


if __name__ == "__main__":
    main()
