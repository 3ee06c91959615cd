#!/usr/bin/env python3
"""Writes the seed files of the datastore fuzz target, in the format that docs/formats.md describes.

    tests/fuzz/rest/make_corpus.py
"""
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "altered"))
from alter_tensors import checksum  # noqa: E402  of tests/fuzz/altered


def datastore(documents, vocab, vocabulary):
    width = 2 if vocab <= 0xFFFF else 4
    end = (1 << (8 * width)) - 1
    tokens = [t for d in documents for t in [*d, end]]
    text = b"".join(t.to_bytes(width, "big") for t in tokens)
    order = sorted(range(len(tokens)), key=lambda i: tokens[i:])
    contents = text + bytes(-len(text) % 4) + struct.pack(f"<{len(order)}I", *order)
    header = struct.pack("<8sIIQQQ", b"ftrest01", width, vocab, len(tokens), vocabulary, checksum(contents))
    return header + contents


if __name__ == "__main__":
    texts = [[1, 2, 3, 1, 2, 4], [2, 3, 1], []]
    (HERE / "datastore" / "two_bytes").write_bytes(datastore(texts, 12, 7))
    (HERE / "datastore" / "four_bytes").write_bytes(datastore(texts, 70000, 7))
    (HERE / "datastore" / "empty").write_bytes(datastore([], 12, 7))
