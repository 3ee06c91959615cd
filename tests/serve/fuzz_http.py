"""Seeded bad HTTP requests: malformed HTTP, false lengths, floods of headers, bodies of 100 MB, garbage after a good
request.

A kind is a function of (rng) that returns a Sending.
"""
import dataclasses
import gzip
import json
import typing

import client
import fuzz_bodies

MEBIBYTE = 1 << 20
KINDS = []
BODY = json.dumps({"prompt": "Once", "max_tokens": 1}).encode()


@dataclasses.dataclass
class Sending:
    kind: str
    parts: typing.Iterable[bytes]  # sent one after the other, until the server closes the connection
    may_be_good: bool = False
    is_whole: bool = True  # False: the server may wait for more bytes, so the client leaves after a while
    good_before: int = 0  # good requests before the bad one


def kind(weight):
    def add(function):
        KINDS.append((weight, function))
        return function

    return add


def plain(name, *parts, **options):
    return Sending(name, parts, **options)


@kind(60)
def body(rng):
    """A bad body in a well-formed request."""
    weights = [weight for weight, _ in fuzz_bodies.KINDS]
    ((_, function), ) = rng.choices(fuzz_bodies.KINDS, weights)
    path, value = function(rng)
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    name = function.__name__
    parts = [client.head("POST", path, data, Connection="close"), data]
    return Sending(name, parts, may_be_good=name in fuzz_bodies.MAY_BE_GOOD)


@kind(6)
def request_line(rng):
    line = rng.choice([
        b"GET", b"GET /", b"GET / HTTP/1.1 x", b"GET  / HTTP/1.1", b" GET / HTTP/1.1", b"G\x00T / HTTP/1.1",
        b"GET /\x00 HTTP/1.1", b"GET /\x7f HTTP/1.1", b"GET / HTTP/9.9", b"GET / HTTP/2.0", b"GET / http/1.1",
        b"GET / HTTP/1.", b"GET / HTTP/-1.1", b"/ GET HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"GET * HTTP/1.1",
        b"OPTIONS * HTTP/1.1", b"TRACE / HTTP/1.1", b"BREW /pot HTTP/1.1", b"x" * 10_000 + b" / HTTP/1.1",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1", b"GET http://evil.example/ HTTP/1.1",
        b"GET /..%2f..%2fetc/passwd HTTP/1.1", b"GET /%00 HTTP/1.1", b"GET /%zz HTTP/1.1", b"GET /%ff%fe HTTP/1.1",
        b"GET ?x HTTP/1.1", b"GET /../../etc/passwd HTTP/1.1", "GET /\u00e9 HTTP/1.1".encode(),
        b"\xff\xfe\xfd / HTTP/1.1", b"GET /nothing?" + b"a=b&" * 3000 + b" HTTP/1.1", b"POST / HTTP/1.1"
    ])
    return plain("request line", line + b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                 is_whole=b" HTTP/1.1" in line, may_be_good=line.startswith(b"OPTIONS"))


@kind(8)
def headers(rng):
    flood = rng.choice([200, 5000, 50_000])
    lines = rng.choice([[b"X-%d: y" % i for i in range(flood)], [b"X: " + b"y" * rng.choice([9000, 100_000, MEBIBYTE])],
                        [b"X" * 100_000 + b": y"], [b": y"], [b"no colon"], [b"X : y"], [b" folded: y"],
                        [b"X: a", b" b"], [b"X: a\x00b"], [b"X\x00: a"], [b"X: \x01"], [b"\xff: a"], [b"X: a\nY: b"],
                        [b"X: a\rY: b"], [b"Content-Length: -1"], [b"Content-Length: x"],
                        [b"Content-Length: 99999999999999999999"], [b"Content-Length: 18446744073709551615"],
                        [b"Content-Length: 5", b"Content-Length: 6"], [b"Content-Length: 0x10"],
                        [b"Content-Length: 5, 5"], [b"Content-Length: +5"], [b"Content-Length:"],
                        [b"Transfer-Encoding: gzip"], [b"Transfer-Encoding: chunked, chunked"],
                        [b"Transfer-Encoding: chunked", b"Content-Length: 5"], [b"Transfer-Encoding: xchunked"],
                        [b"Transfer-Encoding: chunked\x0b"], [b"Expect: miracles"], [b"Host: a", b"Host: b"],
                        [b"Host: evil.example"], [b"Host: " + b"x" * 5000], [b"Host:"],
                        [b"Authorization: " + b"x" * 7000], [b"Range: bytes=0-99999999999"],
                        [b"Upgrade: websocket", b"Connection: upgrade"], [b"Connection: " + b"close," * 1000],
                        [b"Accept-Encoding: " + b"gzip;q=9," * 800], [b"Content-Type: multipart/form-data; boundary="],
                        [b"Cookie: " + b"a=b;" * 1500]])
    host = [] if any(line.lower().startswith(b"host") for line in lines) else [b"Host: 127.0.0.1"]
    method = rng.choice([b"GET /nothing", b"POST /v1/completions"])
    return plain("headers", b"\r\n".join([method + b" HTTP/1.1", *host, *lines, b"Connection: close"]) + b"\r\n\r\n",
                 rng.randbytes(5), is_whole=False)


@kind(4)
def chunks(rng):
    head = b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    size = b"%x\r\n" % len(BODY)
    tail = rng.choice([
        b"x\r\n", b"-5\r\n", b"ffffffffffffffffff\r\n", b"ffffffff\r\n", b"\r\n\r\n", b"5;" + b"x" * 100_000 + b"\r\n",
        size + BODY + b"xx" + b"\r\n0\r\n\r\n", b"1\r\n{\r\n0\r\n\r\n", b"0\r\n\r\n", b"0x5\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n", b"5\nhello\n0\n\n", b"\x00\r\n", b"0\r\n" + b"T: x\r\n" * 20_000 + b"\r\n"
    ])
    return plain("chunks", head, tail, is_whole=False)


@kind(3)
def lengths(rng):
    """A Content-Length larger or smaller than the body."""
    more = rng.choice([1, 100, 1 << 20, 10 ** 12])
    if rng.random() < 0.5:
        head = client.head("POST", "/v1/completions", BODY).replace(b"Content-Length: %d" % len(BODY),
                                                                    b"Content-Length: %d" % (len(BODY) + more))
        return plain("length too large", head, BODY, is_whole=False)
    less = rng.randrange(len(BODY))
    head = client.head("POST", "/v1/completions", BODY).replace(b"Content-Length: %d" % len(BODY),
                                                                b"Content-Length: %d" % less)
    return plain("length too small", head, BODY, is_whole=False)


@kind(4)
def garbage(rng):
    data = rng.choice([
        rng.randbytes(rng.choice([1, 16, 1000,
                                  100_000])), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500),
        b"\x00" * 5000, b"\n" * 5000, b"\r\n" * 5000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"EHLO x\r\n",
        b"SSH-2.0-x\r\n", b"GET", b"a" * 300_000, b"<xml/>\r\n\r\n"
    ])
    return plain("garbage", data, is_whole=False)


@kind(3)
def pipelined(rng):
    good = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    bad = rng.choice([
        rng.randbytes(100) + b"\r\n\r\n", b"NONSENSE\r\n\r\n",
        client.head("POST", "/v1/completions", b"{") + b"{", b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n"
    ])
    times = rng.choice([1, 3, 50])
    return plain("pipelined", good * times + bad, good_before=times, is_whole=False)


@kind(1)
def encodings(rng):
    """Bodies declared as compressed: garbage, 64 MiB of zeros compressed, or a cut gzip stream."""
    coding = rng.choice([b"gzip", b"deflate", b"br", b"identity, gzip", b"x"])
    data = rng.choice([rng.randbytes(100), gzip.compress(bytes(64 * MEBIBYTE), 9), gzip.compress(b"{")[:-5]])
    head = client.head("POST", "/v1/completions", data, Content_Encoding=coding.decode(), Connection="close")
    return plain("encodings", head, data)


@kind(1)
def media(rng):
    kind_of_body = rng.choice([
        "text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "",
        "x" * 3000
    ])
    data = rng.choice(
        [BODY, b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n", b"a=b&c=d" * 2000, b""])
    head = client.head("POST", "/v1/completions", data, Connection="close").replace(b"application/json",
                                                                                    kind_of_body.encode())
    return plain("media types", head, data, may_be_good=True)


def large(rng, scale=1.0):
    """A body of 100 MB, with a Content-Length or in chunks, sent until the server closes the connection."""
    count = max(2, round(100 * scale))
    piece = b" " * MEBIBYTE
    if rng.random() < 0.5:
        head = b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (
            100 * MEBIBYTE)
        return Sending("100 MB", (head, *[piece] * count), is_whole=False)
    head = b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    piece = b"%x\r\n" % MEBIBYTE + piece + b"\r\n"
    return Sending("100 MB in chunks", (head, *[piece] * count), is_whole=False)
