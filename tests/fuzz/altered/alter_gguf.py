"""Alterations of GGUF files: parses a file, alters a part and writes it again."""
import copy
import dataclasses
import struct

from alter_bytes import NOT_UTF8, alter_any, extreme, flip_bits, pack

FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
# tensor type: (elements per block, bytes per block)
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 12: (256, 144),
          13: (256, 176), 14: (256, 210), 26: (1, 4), 30: (1, 2)}


@dataclasses.dataclass
class Tensor:
    name: bytes
    dims: list
    type: int
    offset: int
    data: bytes


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self):
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element = self.number("I")
            return element, [self.value(element) for _ in range(self.number("Q"))]
        return self.number(FORMS[kind])


class Writer:
    """Collects the bytes written, and the place of every number: {kind of field: [(offset, format)]}."""

    def __init__(self):
        self.out, self.fields = bytearray(), {}

    def number(self, form, value, label):
        self.fields.setdefault(label, []).append((len(self.out), form))
        self.out += pack(form, value)

    def string(self, text, label):
        self.number("Q", len(text), label + " length")
        self.out += text

    def value(self, kind, value, label):
        if kind == STRING:
            self.string(value, label)
        elif kind == ARRAY:
            element, items = value
            self.number("I", element, "array type")
            self.number("Q", len(items), "array length")
            for item in items:
                self.value(element, item, "array item")
        else:
            self.number(FORMS[kind], value, label)


class Gguf:
    def __init__(self, data):
        r = Reader(data)
        self.magic, self.version = r.number("I"), r.number("I")
        tensors, pairs = r.number("Q"), r.number("Q")
        self.pairs = []
        for _ in range(pairs):
            key = r.string()
            kind = r.number("I")
            self.pairs.append([key, kind, r.value(kind)])
        self.alignment = next((v for k, _, v in self.pairs if k == b"general.alignment"), 32)
        self.tensors = []
        for _ in range(tensors):
            name = r.string()
            dims = [r.number("Q") for _ in range(r.number("I"))]
            self.tensors.append(Tensor(name, dims, r.number("I"), r.number("Q"), b""))
        start = -(-r.at // self.alignment) * self.alignment
        for t in self.tensors:
            values, size = BLOCKS[t.type]
            count = 1
            for dim in t.dims:
                count *= dim
            t.data = data[start + t.offset : start + t.offset + count // values * size]

    def write(self):
        w = Writer()
        w.number("I", self.magic, "magic")
        w.number("I", self.version, "version")
        w.number("Q", len(self.tensors), "counts")
        w.number("Q", len(self.pairs), "counts")
        for key, kind, value in self.pairs:
            w.string(key, "key")
            w.number("I", kind, "value type")
            w.value(kind, value, "value")
        for t in self.tensors:
            w.string(t.name, "tensor name")
            w.number("I", len(t.dims), "tensor dimensions")
            for dim in t.dims:
                w.number("Q", dim, "tensor size")
            w.number("I", t.type, "tensor type")
            w.number("Q", t.offset, "tensor offset")
        w.header = len(w.out)
        data = bytearray()
        for t in self.tensors:
            if t.offset < 1 << 30:
                data = data.ljust(t.offset, b"\0")
                data[t.offset : t.offset + len(t.data)] = t.data
        w.out += bytes(-len(w.out) % self.alignment) + data
        return w

    def place(self):
        """Recomputes offsets after tensors were added or removed."""
        at = 0
        for t in self.tensors:
            t.offset = at
            at += -(-len(t.data) // self.alignment) * self.alignment


def alter_field(rng, gguf):
    w = gguf.write()
    label = rng.choice(sorted(w.fields))
    at, form = rng.choice(w.fields[label])
    (value,) = struct.unpack_from("<" + form, w.out, at)
    number = extreme(rng, form, value)
    w.out[at : at + struct.calcsize("<" + form)] = pack(form, number)
    return f"{label} at {at}: {value} to {number}", bytes(w.out)


def other_value(rng, kind, value):
    """Another value of type `kind`."""
    if kind == STRING:
        return rng.choice([b"", b"x", value + b"x", value[:-1], value[::-1], value * 300, *NOT_UTF8, b"{{" * 50])
    if kind == ARRAY:
        element, items = value
        items = rng.choice([items[:-1], items[1:], items * 2, items[::-1], [], items[:1] * len(items)])
        return element, items
    return extreme(rng, FORMS[kind], value)


def any_value(rng):
    kind = rng.choice([*FORMS, STRING, ARRAY])
    if kind == STRING:
        return kind, rng.choice([b"", b"x", b"1", b"true", b"default", *NOT_UTF8])
    if kind == ARRAY:
        element = rng.choice([*FORMS, STRING])
        items = [any_item(rng, element) for _ in range(rng.choice([0, 1, 3, 259]))]
        return kind, (element, items)
    return kind, extreme(rng, FORMS[kind], 1)


def any_item(rng, kind):
    return rng.choice([b"", b"a", b"\xff"]) if kind == STRING else extreme(rng, FORMS[kind], 1)


def alter_pair(rng, gguf):
    pairs = gguf.pairs
    at, to = rng.randrange(len(pairs)), rng.randrange(len(pairs))
    key, kind, value = pairs[at]
    choice = rng.choice(["remove", "double", "rename", "swap", "retype", "retype", "change", "change", "change", "item"])
    if choice == "remove":
        del pairs[at]
    elif choice == "double":
        pairs.insert(to, [key, kind, other_value(rng, kind, value)])
    elif choice == "rename":
        pairs[at][0] = rng.choice([key + b"x", key[:-1], b"", key.upper(), pairs[to][0], *NOT_UTF8])
    elif choice == "swap":
        pairs[at][1:], pairs[to][1:] = pairs[to][1:], pairs[at][1:]
    elif choice == "retype":
        pairs[at][1:] = any_value(rng)
    elif choice == "item" and kind == ARRAY and value[1]:
        items = list(value[1])
        for _ in range(rng.randint(1, 3)):
            i = rng.randrange(len(items))
            items[i] = other_value(rng, value[0], items[i])
        pairs[at][2] = value[0], items
    else:
        pairs[at][2] = other_value(rng, kind, value)
    return f"{key.decode()}: {choice}", bytes(gguf.write().out)


def extreme_values(rng, t):
    """The data of `t` with elements replaced by extremes; for quantised types, with flipped bits."""
    form = {0: "f", 1: "e"}.get(t.type)
    if form is None or not t.data:
        return flip_bits(rng, t.data)
    size = struct.calcsize(form)
    count = len(t.data) // size
    run = rng.choice([1, 1, count])
    at = rng.randrange(count - run + 1) * size
    return t.data[:at] + pack(form, extreme(rng, form, 1.0)) * run + t.data[at + run * size :]


def alter_tensor(rng, gguf):
    tensors = gguf.tensors
    at, to = rng.randrange(len(tensors)), rng.randrange(len(tensors))
    t, other = tensors[at], tensors[to]
    choice = rng.choice(["remove", "double", "rename", "swap names", "swap data", "turn", "type", "dims", "values", "values",
                         "offset", "shrink"])
    if choice == "remove":
        del tensors[at]
        gguf.place()
    elif choice == "double":
        tensors.insert(to, copy.copy(t))
        gguf.place()
    elif choice == "rename":
        t.name = rng.choice([t.name + b"x", t.name[:-1], b"", other.name, t.name.replace(b"0", b"9"), *NOT_UTF8])
    elif choice == "swap names":
        t.name, other.name = other.name, t.name
    elif choice == "swap data":
        t.offset, other.offset = other.offset, t.offset
    elif choice == "turn":
        t.dims = t.dims[::-1] if len(t.dims) > 1 else [1, *t.dims]
    elif choice == "type":
        t.type = rng.choice([*BLOCKS, *range(40)])
    elif choice == "dims":
        t.dims = rng.choice([[], [0], [*t.dims, 1], [1] * 4, [1] * 5, t.dims[:-1], [d * 2 for d in t.dims], [1 << 32, 1 << 32]])
    elif choice == "values":
        t.data = extreme_values(rng, t)
    elif choice == "offset":
        t.offset = rng.choice([t.offset + 1, t.offset + gguf.alignment, 0, 1 << 31, 1 << 62, other.offset])
    else:
        t.dims = [*t.dims[:-1], max(0, t.dims[-1] - 1)]
        t.data = t.data[: len(t.data) * t.dims[-1] // (t.dims[-1] + 1)]
        gguf.place()
    return f"{t.name!r}: {choice}", bytes(gguf.write().out)


def alter_gguf(rng, data):
    choice = rng.random()
    if choice < 0.12:
        return alter_any(rng, data)
    gguf = Gguf(data)
    if choice < 0.2:
        return "bits of the header", flip_bits(rng, data, gguf.write().header)
    return rng.choice([alter_field, alter_pair, alter_pair, alter_tensor])(rng, gguf)
