"""Alterations of files of any format: flipped bits, cut ends, extreme numbers."""
import math
import struct

INTEGERS = [0, 1, 2, 3, 7, 31, 33, 127, 128, 255, 256, 1 << 15, 1 << 16, (1 << 20) + 1, (1 << 24) - 1,
            (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 61) + 1, 1 << 62, (1 << 63) - 1,
            1 << 63, (1 << 64) - 32, (1 << 64) - 1]
FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, 1e-45, 1e-30, 1e30, 3e38, -3e38]
NOT_UTF8 = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x80abc", b"\x00", b"a\x1b[2Jb"]


def extreme(rng, form, value):
    """A number for struct's format `form`: extreme, a neighbour of `value`, or derived from it."""
    if form in "fde":
        return rng.choice([*FLOATS, -value, value * 1e9, value / 1e9])
    bits = 8 * struct.calcsize("<" + form)
    number = rng.choice([*INTEGERS, value + 1, value - 1, value * 2, value // 2, -value, rng.getrandbits(bits)])
    number &= (1 << bits) - 1
    if form.islower() and number >> (bits - 1):
        number -= 1 << bits
    return number


def pack(form, number):
    """The little-endian bytes of `number`; infinity for a float that `form` cannot hold."""
    try:
        return struct.pack("<" + form, number)
    except OverflowError:
        return struct.pack("<" + form, math.copysign(math.inf, number))


def flip_bits(rng, data, head=None):
    """Flips 1 to 8 bits, among the first `head` bytes if it is given."""
    out = bytearray(data)
    end = min(len(out), head or len(out))
    for _ in range(rng.randint(1, 8) if end else 0):
        out[rng.randrange(end)] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(rng, data):
    return data[: rng.randrange(len(data))] if data else b""


def remove_run(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randint(1, 64) :]


def repeat_run(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at : at + rng.randint(1, 64)] * rng.randint(2, 50) + data[at:]


def insert_noise(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randint(1, 32)) + data[at:]


def insert_bad_text(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(NOT_UTF8) + data[at:]


def lengthen(rng, data):
    return data + rng.choice([b"\0", b"\n", b"}", rng.randbytes(rng.randint(1, 4096))])


def empty(_rng, _data):
    return b""


def swap_halves(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[at:] + data[:at]


def overwrite_number(rng, data):
    """Replaces 4 or 8 bytes at a multiple of 4 by an extreme number."""
    form = rng.choice("IQf")
    size = struct.calcsize(form)
    if len(data) < size:
        return data + b"\xff"
    at = rng.randrange((len(data) - size) // 4 + 1) * 4
    (value,) = struct.unpack_from("<" + form, data, at)
    return data[:at] + pack(form, extreme(rng, form, value)) + data[at + size :]


ANY = [flip_bits, flip_bits, cut, cut, remove_run, repeat_run, insert_noise, lengthen, empty, swap_halves,
       overwrite_number]
TEXT = [flip_bits, cut, remove_run, repeat_run, insert_bad_text, insert_bad_text, lengthen, empty, swap_halves]


def alter_any(rng, data):
    """Returns (what was done, the altered bytes)."""
    change = rng.choice(ANY)
    return change.__name__, change(rng, data)


def alter_text(rng, data):
    change = rng.choice(TEXT)
    return change.__name__, change(rng, data)


def alter_lines(rng, data):
    """Removes, repeats, swaps, empties, cuts or replaces lines, or alters the text as bytes."""
    lines = data.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.randrange(8)
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(to, lines[at])
    elif choice == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif choice == 3:
        lines[at] = rng.choice([b"", b" ", b"\r", b"0", b"-1", b"{}", b"[]", b"null", b"garbage"])
    elif choice == 4:
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    elif choice == 5:
        words = lines[at].split(b" ")
        words[rng.randrange(len(words))] = rng.choice(
            [b"-1", b"4294967296", b"99999999999999999999", b"nan", b"1e400", b"", b"x", b"0x10", b"\xff"])
        lines[at] = b" ".join(words)
    elif choice == 6:
        lines[at] *= rng.choice([2, 1000])
    else:
        return alter_text(rng, data)
    return f"lines, way {choice}, line {at + 1}", b"\n".join(lines)
