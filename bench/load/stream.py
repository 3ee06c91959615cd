"""A lightweight client of streamed answers, with one persistent connection per client.

While an answer arrives, its bytes are only stored with the times of their arrival; events are parsed after its end.
"""
import asyncio
import json
import time


class Answer:
    """The result of one request. Times are seconds of time.monotonic()."""
    def __init__(self):
        self.status = 0
        self.text = ""
        self.finish = None
        self.prompt_tokens = self.tokens = 0
        self.error = None
        self.sent = self.first = self.last = 0.0
        self.gaps = []  # seconds between deliveries of text

    @property
    def first_token(self):
        return self.first - self.sent

    @property
    def per_token(self):
        """Mean seconds per token after the first; None if there is at most one token."""
        return (self.last - self.first) / (self.tokens - 1) if self.tokens > 1 else None


class Connection(asyncio.Protocol):
    """One HTTP connection, for one request at a time."""
    def __init__(self):
        self.transport = None
        self.waiter = None

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, fault):
        if self.waiter is not None and not self.waiter.done():
            if self.is_unbounded and self.head_ended:
                self.finish()
            else:
                self.waiter.set_exception(ConnectionError(f"the server closed the connection: {fault}"))

    def ask(self, request):
        """Sends a request. Returns a future of (status, [(time, bytes)] of the body)."""
        self.waiter = asyncio.get_running_loop().create_future()
        self.buffer, self.parts, self.status = b"", [], 0
        self.head_ended = self.is_chunked = self.is_unbounded = self.closes = False
        self.left = 0  # bytes of the body still to come, unless the body is chunked
        self.transport.write(request)
        return self.waiter

    def finish(self):
        if not self.waiter.done():
            self.waiter.set_result((self.status, self.parts))

    def data_received(self, data):
        now = time.monotonic()
        self.buffer += data
        if not self.head_ended and not self.take_head():
            return
        if not self.is_chunked:
            self.take(now, len(self.buffer))
            if not self.is_unbounded and self.left <= 0:
                self.finish()
            return
        while self.take_chunk(now):
            pass

    def take_head(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head, self.buffer = self.buffer[:end].lower(), self.buffer[end + 4:]
        self.status = int(head.split(b" ", 2)[1])
        self.is_chunked = b"\r\ntransfer-encoding: chunked" in head
        length = head.find(b"\r\ncontent-length:")
        if length >= 0:
            self.left = int(head[length + 17:].split(b"\r\n", 1)[0])
        self.is_unbounded = not self.is_chunked and length < 0
        self.closes = b"\r\nconnection: close" in head
        self.head_ended = True
        return True

    def take(self, now, size):
        if size > 0:
            self.parts.append((now, self.buffer[:size]))
        self.left -= size
        self.buffer = self.buffer[size:]

    def take_chunk(self, now):
        """Consumes one chunk if it is complete. Returns whether another one may follow in the buffer."""
        end = self.buffer.find(b"\r\n")
        if end < 0:
            return False
        size = int(self.buffer[:end].split(b";")[0], 16)
        if len(self.buffer) < end + 2 + size + 2:
            return False
        if size == 0:
            self.buffer = self.buffer[end + 4:]
            self.finish()
            return False
        self.buffer = self.buffer[end + 2:]
        self.take(now, size)
        self.buffer = self.buffer[2:]
        return True


def request_bytes(host, port, body, key=None):
    data = json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}}).encode()
    lines = [
        "POST /v1/chat/completions HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json",
        f"Content-Length: {len(data)}"
    ]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def read_answer(answer, status, parts):
    """Parses the events of a complete answer into `answer`."""
    answer.status = status
    if status != 200:
        answer.error = f"status {status}: {b''.join(part for _, part in parts)[:200]!r}"
        return
    texts, rest, times, is_done = [], b"", [], False
    for at, part in parts:
        *events, rest = (rest + part).split(b"\n\n")
        wrote = False
        for event in events:
            if not event.startswith(b"data: "):
                continue
            if event == b"data: [DONE]":
                is_done = True
                continue
            chunk = json.loads(event[6:])
            if "error" in chunk:
                answer.error = f"the stream's error: {chunk['error']}"
            usage = chunk.get("usage")
            if usage:
                answer.prompt_tokens, answer.tokens = usage["prompt_tokens"], usage["completion_tokens"]
            for choice in chunk.get("choices", ()):
                text = choice["delta"].get("content")
                if text:
                    texts.append(text)
                    wrote = True
                answer.finish = choice["finish_reason"] or answer.finish
        if wrote:
            times.append(at)
    answer.text = "".join(texts)
    if not is_done and answer.error is None:
        answer.error = "the stream ended without [DONE]"
    answer.first, answer.last = (times[0], times[-1]) if times else (parts[-1][0], ) * 2
    answer.gaps = [b - a for a, b in zip(times, times[1:])]


class Client:
    """Sends requests one after the other on a connection, and reconnects if it was lost."""
    def __init__(self, host, port, key=None):
        self.host, self.port, self.key = host, port, key
        self.connection = None

    async def ask(self, body):
        answer = Answer()
        data = request_bytes(self.host, self.port, body, self.key)
        answer.sent = time.monotonic()
        try:
            status, parts = await self.exchange(data)
            read_answer(answer, status, parts)
            if self.connection.closes:
                self.close()
        except (OSError, ValueError, KeyError) as fault:
            answer.error = repr(fault)
            self.close()
        if answer.error and not answer.last:
            answer.first = answer.last = time.monotonic()
        return answer

    async def exchange(self, data):
        """Sends a request, once more on a new connection if the server has closed the kept one without an answer,
        which HTTP allows."""
        is_kept = self.connection is not None and not self.connection.transport.is_closing()
        if not is_kept:
            await self.connect()
        try:
            return await self.connection.ask(data)
        except ConnectionError:
            if not is_kept or self.connection.status != 0:
                raise
        await self.connect()
        return await self.connection.ask(data)

    async def connect(self):
        _, self.connection = await asyncio.get_running_loop().create_connection(Connection, self.host, self.port)

    def close(self):
        if self.connection is not None and self.connection.transport is not None:
            self.connection.transport.close()
        self.connection = None
