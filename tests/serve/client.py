"""A small HTTP client for tests: requests, events of streams, and Prometheus' text format."""
import http.client
import json
import re
import resource
import socket

TIMEOUT = 120  # seconds without a byte after which a server counts as hanging

Broken = http.client.HTTPException  # raised for an answer that was cut or is not HTTP


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode("utf-8")

    def json(self):
        return json.loads(self.body)

    def good(self):
        """The JSON of the answer. Fails unless the status is 200."""
        if self.status != 200:
            raise AssertionError(f"status {self.status}, expected 200: {self.body[:400]!r}")
        return self.json()

    def error(self):
        """The error object of the answer. Fails if there is none or it is incomplete."""
        try:
            error = self.json()["error"]
        except (ValueError, KeyError, TypeError):
            raise AssertionError(f"status {self.status} without an error object: {self.body[:400]!r}") from None
        problem = error_problem(error)
        if problem:
            raise AssertionError(f"status {self.status}: {problem}: {error}")
        return error


def error_problem(error):
    """What is wrong with an error object; None if nothing is."""
    if not isinstance(error, dict):
        return "the error is no object"
    for field, kinds in (("message", str), ("type", str), ("param", (str, type(None))), ("code", (str, type(None)))):
        if field not in error:
            return f"the error has no '{field}'"
        if not isinstance(error[field], kinds):
            return f"the error's '{field}' is {error[field]!r}"
    return None if error["message"] else "the error has an empty message"


def encode(body):
    """A body as bytes: bytes and None unchanged, text as UTF-8, anything else as JSON."""
    if body is None or isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def request(host, port, method, path, body=None, headers=None, timeout=None):
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout or TIMEOUT)
    try:
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, encode(body), {**kind, **(headers or {})})
        answer = connection.getresponse()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def head(method, path, body=b"", host="127.0.0.1", **more):
    """The bytes of a request's head, to be sent over a socket. The body, which is not included, sets the length."""
    lines = [
        f"{method} {path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", f"Content-Length: {len(body)}",
        *(f"{k.replace('_', '-')}: {v}" for k, v in more.items())
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def connect(server, timeout=None):
    return socket.create_connection((server.host, server.port), timeout or TIMEOUT)


def events(body):
    """The data of server-sent events; comments are left out. Fails unless every event is one line "data: ..."."""
    text = body.decode("utf-8") if isinstance(body, bytes) else body
    if not text.endswith("\n\n"):
        raise AssertionError(f"the stream ends within an event: {text[-80:]!r}")
    found = []
    for block in text[:-2].split("\n\n"):
        if block.startswith(":"):
            continue
        if not block.startswith("data: ") or "\n" in block:
            raise AssertionError(f"an event is not one line 'data: ...': {block[:200]!r}")
        found.append(block[len("data: "):])
    return found


def stream(server, path, body, **options):
    """The chunks of a streamed answer. Fails unless the stream ends with [DONE], its only one."""
    reply = server.post(path, {**body, "stream": True}, **options)
    if reply.status != 200:
        raise AssertionError(f"status {reply.status}, expected a stream: {reply.body[:400]!r}")
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        raise AssertionError(f"a stream's content type is {reply.headers.get('content-type')!r}")
    found = events(reply.body)
    if not found or found[-1] != "[DONE]" or "[DONE]" in found[:-1]:
        raise AssertionError(f"[DONE] is not the one last event: {found[-2:]}")
    return [json.loads(event) for event in found[:-1]]


def contents(body):
    """The texts of a chat's stream, one for each choice of each chunk."""
    chunks = [json.loads(event) for event in events(body) if event != "[DONE]"]
    return [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]


def unchunked(head, body):
    """The body of an answer, decoded if `head` says that it was sent in chunks."""
    if b"transfer-encoding: chunked" not in head.lower():
        return body
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        whole, body = whole + body[:length], body[length + 2:]
        if length == 0:
            return whole
    raise AssertionError("a body in chunks does not end")


def allow_many_files(count):
    """Raises this process's limit of open files to `count`, as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE,
                           (count if hard == resource.RLIM_INFINITY else min(count, hard), hard))


SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def metrics(text):
    """The samples of Prometheus' text format: [(name, {label: value}, number)]."""
    samples = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        found = SAMPLE.match(line)
        if not found:
            raise AssertionError(f"/metrics: not a sample: {line!r}")
        samples.append((found[1], dict(LABEL.findall(found[2] or "")), float(found[3])))
    return samples


def value(samples, name, **labels):
    """The sum of a metric's samples that have these labels."""
    return sum(number for n, has, number in samples if n == name and labels.items() <= has.items())
