#!/usr/bin/env python3
"""Checks that files are opened, JSON is written and tensors are read only in the sources that may do so.

usage: tools/one_place.py [ROOT]
"""
import os
import re
import sys

# Folders above src/model. They pass tensors and cache rows on, but do not read them.
ABOVE_MODEL = (
    "src/draft/",
    "src/verify/",
    "src/engine/",
    "src/runtime/",
    "src/insight/",
    "src/serve/",
    "src/grammar/",
)
# Folders of programs, where a member `data` usually belongs to a recipe or an option.
PROGRAMS = ("apps/", "eval/", "train/")

# (pattern, files that may contain it, what to use instead, and optionally the folders that the rule covers).
RULES = [
    (r"(\.|->)dump\(", {"src/base/json.cc"}, "JsonText (base/json.h), which takes any bytes"),
    (
        r"\bstd::(basic_)?[io]?fstream\b|\bfopen\(",
        # available_cores.cc reads small files of /proc and /sys, which may be missing
        {"apps/talk/cmd_demo.cc", "src/base/available_cores.cc", "train/event_log.cc"},
        "MappedFile, ReadText (base/input_file.h) or OutputFile (base/output_file.h)",
    ),
    (
        r"(?<![\w.>:])(::)?open\(.*\bO_(RDONLY|WRONLY|RDWR)\b",
        {
            "src/base/folder_lock.cc",
            "src/base/input_file.cc",
            "src/base/output_file.cc",
            "src/draft/chimera/spill_file.cc",
            "train/feature_file.cc",
        },
        "OpenInput (base/input_file.h) or OutputFile (base/output_file.h)",
    ),
    (r"\bstd::cin\b", {"apps/talk/line_reader.cc"}, 'ReadText("-") (base/input_file.h)'),
    (
        r"(\.|->)data\b(?!\()",
        # decoder_layers.cc compares addresses, page_pool.cc cuts memory into pages, connection_loop.cc has epoll events
        {
            "src/model/decoder_layers.cc",
            "src/model/page_pool.cc",
            "src/serve/http/connection_loop.cc",
        },
        "Backend::Download or an op: memory is the device's",
        ("src/model/", *ABOVE_MODEL),
    ),
    (
        r"\btensor(\.|->)data\b(?!\()",
        set(),
        "Backend::Download or an op: memory is the device's",
        PROGRAMS,
    ),
    (
        r"(\.|->)(pages\b(?!\()|Row\()",
        set(),
        "Backend::Download or an op: rows of caches are the device's",
        (*ABOVE_MODEL, *PROGRAMS),
    ),
]


def sources(root):
    for top in ("src", "apps", "eval", "train"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if re.search(r"\.(h|cc)$", name) and not re.search(
                    r"(_test|_fuzz|_testing)\.(cc|h)$", name
                ):
                    yield os.path.join(folder, name)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    found = 0
    for path in sorted(sources(root)):
        rel = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as f:
            for line, text in enumerate(f, 1):
                for pattern, allowed, instead, *folders in RULES:
                    if folders and not rel.startswith(folders[0]):
                        continue
                    if rel not in allowed and re.search(pattern, text.split("//")[0]):
                        print(f"{rel}:{line}: expected {instead}", file=sys.stderr)
                        found += 1
    if found == 0:
        print("one place: files are opened, JSON written and tensors read where that is done right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
