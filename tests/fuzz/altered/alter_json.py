"""Alterations of JSON: fields replaced, removed, renamed, doubled, swapped, or moved to edge values."""
import copy
import json

from alter_bytes import alter_lines, alter_text

# JSON text that json.dumps cannot write. A mark stands for it in the tree and is replaced after writing.
RAW = {f"@raw{i}@": text for i, text in enumerate([
    b"NaN", b"Infinity", b"1e400", b"-1e400", b"99999999999999999999999", b"-0", b"00", b"1.", b'"\\ud800"', b'"\xff\xfe"',
    b'"\\u0000"', b"[" * 2000, b"[" * 200000, b'{"a":' * 5000, b"", b"'x'", b"nul"])}
VALUES = [None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e-300, 1e38, 1e300, -1e300, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 53,
          (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 63), "", "x", "0", "true", "../../x", "\u202e", "a" * 70000, [], {},
          [[]], [None], {"": None}, [1, 2, 3], ["a", "b"], *RAW]


def places(tree, found=None):
    """Every (container, key) of the tree."""
    found = [] if found is None else found
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        found.append((tree, key))
        places(value, found)
    return found


def choose_place(rng, tree):
    """A random place, with extra weight on the root's own entries, which long lists would outnumber."""
    everything = places(tree)
    shallow = [p for p in everything if p[0] is tree]
    return rng.choice(shallow if rng.random() < 0.4 else everything)


def edge_of(rng, value):
    """A value near `value` or far from it, mostly of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return rng.choice([value + 1, value - 1, -value, value * 1000, value / 3, value * 1e30])
    if isinstance(value, str):
        return rng.choice([value[:-1], value + "x", value * 500, value.upper(), value[::-1], value + "\0"])
    if isinstance(value, list):
        return rng.choice([value[:-1], value[1:], value * 2, value[::-1], value[:1] * 20])
    if isinstance(value, dict):
        return rng.choice([dict(list(value.items())[:-1]), list(value), list(value.values())])
    return 0


def change_tree(rng, tree):
    """Alters the tree in place; returns what was done."""
    container, key = choose_place(rng, tree)
    choice = rng.randrange(8)
    if choice <= 2:
        container[key] = copy.deepcopy(rng.choice(VALUES))
        return f"{key!r} replaced"
    if choice <= 4:
        container[key] = edge_of(rng, container[key])
        return f"{key!r} moved to an edge"
    if choice == 5:
        del container[key]
        return f"{key!r} removed"
    if choice == 6 and isinstance(container, dict):
        new = rng.choice([str(key) + "x", str(key)[:-1], str(key).upper(), ""])
        container[new] = container.pop(key)
        return f"{key!r} renamed"
    other, to = choose_place(rng, tree)
    container[key], other[to] = other[to], container[key]
    return f"{key!r} and {to!r} swapped"


def holds_itself(tree, above=()):
    """Whether a swap put a container into itself."""
    if not isinstance(tree, (dict, list)):
        return False
    if any(tree is a for a in above):
        return True
    children = tree.values() if isinstance(tree, dict) else tree
    return any(holds_itself(child, (*above, tree)) for child in children)


def write(tree):
    text = json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for mark, raw in RAW.items():
        text = text.replace(b'"' + mark.encode() + b'"', raw)
    return text


def double_field(rng, tree):
    """The text of an object in which one key occurs twice, with different values."""
    key = rng.choice(list(tree))
    text = write(tree)
    again = write({key: copy.deepcopy(rng.choice(VALUES))})[1:-1]
    front = rng.random() < 0.5
    return b"{" + again + b", " + text[1:] if front else text[:-1] + b", " + again + b"}"


def alter_value(rng, tree):
    """Returns (what was done, the text). Alters `tree`, so the caller must have parsed it for this call."""
    if not isinstance(tree, (dict, list)) or not tree or rng.random() < 0.03:
        return "replaced", write(copy.deepcopy(rng.choice(VALUES)))
    if isinstance(tree, dict) and rng.random() < 0.1:
        return "a key doubled", double_field(rng, tree)
    done = [change_tree(rng, tree)]
    while tree and rng.random() < 0.15:
        done.append(change_tree(rng, tree))
    if holds_itself(tree):
        return "replaced", b"{}"
    return ", ".join(done), write(tree)


def alter_json(rng, data):
    if rng.random() < 0.25:
        return alter_text(rng, data)
    return alter_value(rng, json.loads(data))


def alter_json_lines(rng, data):
    """Alters the JSON of one line, or the lines themselves."""
    if rng.random() < 0.3:
        return alter_lines(rng, data)
    lines = data.split(b"\n")
    full = [i for i, line in enumerate(lines) if line]
    at = rng.choice(full)
    done, lines[at] = alter_value(rng, json.loads(lines[at]))
    return f"line {at + 1}: {done}", b"\n".join(lines)
