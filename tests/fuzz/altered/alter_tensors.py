"""Writing safetensors files, and alterations of safetensors files, torch archives and datastores."""
import io
import json
import math
import struct
import warnings
import zipfile

import alter_json
from alter_bytes import INTEGERS, alter_any, extreme, flip_bits, pack

warnings.filterwarnings("ignore", "Duplicate name")  # archives get doubled members on purpose
MASK = (1 << 64) - 1
SIZES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1}


def safetensors(tensors, metadata=None):
    """The bytes of a file. tensors: {name: (dtype, shape, bytes)}"""
    header, at = {"__metadata__": metadata or {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def alter_numbers(rng, data, start):
    """Replaces one or all F32 of the data from `start` on by extremes."""
    count = (len(data) - start) // 4
    if count <= 0:
        return data
    run = rng.choice([1, 1, 1, count])
    at = start + rng.randrange(count - run + 1) * 4
    return data[:at] + pack("f", extreme(rng, "f", 1.0)) * run + data[at + 4 * run :]


def alter_entry(rng, header):
    """Alters the type, shape, offsets or name of one tensor in the header; returns what was done."""
    name = rng.choice([n for n in header if n != "__metadata__"])
    entry = header[name]
    choice = rng.choice(["dtype", "shape", "offsets", "rename", "turn"])
    if choice == "dtype":
        entry["dtype"] = rng.choice([*SIZES, "F64", "BOOL", "F8_E4M3", "x", "", None])
    elif choice == "shape":
        entry["shape"] = rng.choice([[], [0], [*entry["shape"], 1], [1 << 62, 4], [-1], [2.5], entry["shape"][:-1],
                                     [rng.choice(INTEGERS) for _ in entry["shape"]]])
    elif choice == "offsets":
        begin, end = entry["data_offsets"]
        entry["data_offsets"] = rng.choice([[end, begin], [begin + 1, end + 1], [begin, end - 4], [0, end], [begin, MASK],
                                            [MASK - 3, MASK], [begin, begin], [-4, 4], [begin]])
    elif choice == "rename":
        header[rng.choice([name + "x", name[:-1], "", "__metadata__", name.replace("0", "7")])] = header.pop(name)
    else:
        entry["shape"] = entry["shape"][::-1]
    return f"{name}: {choice}"


def alter_safetensors(rng, data):
    (size,) = struct.unpack_from("<Q", data)
    text, rest = data[8 : 8 + size], data[8 + size :]
    choice = rng.random()
    if choice < 0.15:
        return alter_any(rng, data)
    if choice < 0.25:
        return "bits of the header", flip_bits(rng, data, 8 + size)
    if choice < 0.35:
        number = rng.choice([*INTEGERS, size - 1, size + 1, len(data), len(data) - 8])
        return f"header of {number} bytes", struct.pack("<Q", number) + data[8:]
    if choice < 0.55:
        return "numbers", alter_numbers(rng, data, 8 + size)
    header = json.loads(text)
    if choice < 0.8:
        done, text = alter_entry(rng, header), json.dumps(header).encode()
    else:
        done, text = alter_json.alter_value(rng, header)
    return done, struct.pack("<Q", len(text)) + text + rest


def alter_archive(rng, data):
    """Alters the zip as bytes, or one of its members and writes the zip with the right checksums."""
    if rng.random() < 0.3:
        return alter_any(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    pickle = next(i for i, (name, _) in enumerate(members) if name.endswith("data.pkl"))
    at = pickle if rng.random() < 0.6 else rng.randrange(len(members))
    name, content = members[at]
    choice = rng.choice(["alter", "alter", "alter", "remove", "rename", "double", "numbers"])
    if choice == "remove":
        del members[at]
    elif choice == "rename":
        members[at] = rng.choice(["x", "/etc/x", "../x", name + "0", "archive/data/9"]), content
    elif choice == "double":
        members.append((name, content[: len(content) // 2]))
    elif choice == "numbers":
        members[at] = name, alter_numbers(rng, content, 0)
    else:
        done, content = alter_any(rng, content)
        members[at] = name, content
        choice = done
    out = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.05 else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", method) as archive:
        for member, content in members:
            archive.writestr(zipfile.ZipInfo(member), content, method)
    return f"{name}: {choice}", out.getvalue()


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def checksum(contents):
    """HashBytes of docs/formats.md."""
    value = mix(len(contents))
    for i in range(0, len(contents), 8):
        value = mix(value ^ int.from_bytes(contents[i : i + 8], "little"))
    return value


def alter_datastore(rng, data):
    """Alters a field of the header, or the contents; corrects the checksum in two of three files."""
    if rng.random() < 0.2:
        return alter_any(rng, data)
    out = bytearray(data)
    if rng.random() < 0.5:
        at, form = rng.choice([(0, "Q"), (8, "I"), (12, "I"), (16, "Q"), (24, "Q"), (32, "Q")])
        (value,) = struct.unpack_from("<" + form, out, at)
        number = extreme(rng, form, value)
        struct.pack_into("<" + form, out, at, number)
        done = f"offset {at}: {value} to {number}"
    else:
        done, rest = alter_any(rng, data[40:])
        out[40:] = rest
    if rng.random() < 0.66 and not done.startswith("offset 32"):
        struct.pack_into("<Q", out, 32, checksum(bytes(out[40:])))
        done += ", checksum right"
    return done, bytes(out)


def floats(rng, count, spread):
    """The bytes of `count` F32 from [-spread, spread]."""
    return struct.pack(f"<{count}f", *(rng.uniform(-spread, spread) for _ in range(count)))


def matrix(rng, rows, cols):
    return "F32", [rows, cols], floats(rng, rows * cols, 1.7 / math.sqrt(cols))


def ones(count):
    return "F32", [count], struct.pack("<f", 1.0) * count
