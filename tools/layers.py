#!/usr/bin/env python3
"""Checks that each room includes exactly the rooms that its row in docs/design.md allows.

The table under "## Rooms" is the only list of rooms. A room is a folder of src/, or a folder named from the
repository's root, with its subfolders except for those that are rooms themselves. An include of a room that the row
lacks is an error, and so is a room in the row that no file includes. Tests and their helpers (*_testing.*) are exempt.

usage: tools/layers.py [ROOT]
"""
import collections
import os
import re
import sys

TOPS = ("src", "apps", "eval", "train")
TEST = re.compile(r"_(test|fuzz)\.cc$|_testing\.(h|cc)$")
INCLUDE = re.compile(r'\s*#include\s+"([^"]+)"')


def read_table(path):
    """Returns {room: the rooms it may include}, in the order of the table."""
    rooms, inside = {}, False
    with open(path, encoding="utf-8") as f:
        for text in f:
            if text.startswith("## "):
                inside = text.strip() == "## Rooms"
            cells = [cell.strip() for cell in text.split("|")[1:-1]] if inside else []
            if len(cells) >= 3 and cells[0].startswith("`"):
                rooms[cells[0].strip("`")] = set(re.findall(r"`([^`]+)`", cells[2]))
    return rooms


def room_of(path, rooms):
    """The room of a path as written in an include; None if it is in no room."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def sources(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if re.search(r"\.(h|cc)$", name) and not TEST.search(name):
                    yield os.path.relpath(os.path.join(folder, name), root)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    rooms = read_table(os.path.join(root, "docs", "design.md"))
    errors, seen, edges = [], set(), collections.defaultdict(list)
    above = set()
    for room, allowed in rooms.items():
        errors += [f"docs/design.md: {room} may include {other}, which is no room above it" for other in allowed - above]
        above.add(room)
    for path in sources(root):
        room = room_of(path.removeprefix("src/"), rooms)
        if room is None:
            errors.append(f"{path}: docs/design.md has no room for it")
            continue
        seen.add(room)
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for line, text in enumerate(f, 1):
                m = INCLUDE.match(text)
                other = room_of(m.group(1), rooms) if m else None
                if other not in (None, room):
                    edges[room, other].append(f"{path}:{line}")
    errors += [f"docs/design.md: there is no {room}/" for room in rooms.keys() - seen]
    for (a, b), where in sorted(edges.items()):
        if b not in rooms[a]:
            errors.append(f"{a}/ may not include {b}/: {', '.join(where[:5])}")
    for room, allowed in rooms.items():
        unused = [other for other in rooms if other in allowed and (room, other) not in edges]
        errors += [f"docs/design.md: {room} may include {other}, but no file of it does" for other in unused]
    for error in errors:
        print("layers:", error, file=sys.stderr)
    if not errors:
        print(f"layers: {len(rooms)} rooms include what docs/design.md lets them, and nothing in it is unused")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
