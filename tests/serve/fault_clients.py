"""Clients that disconnect, read slowly, or connect and send nothing."""
import concurrent.futures
import contextlib
import socket
import struct
import threading
import time

import client
from faults_shared import LONG, QUESTION, Reference, body_of
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check


def reset(connection):
    """Closes a connection with a TCP reset instead of a FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_some(connection, most):
    got = 0
    while got < most:
        part = connection.recv(min(4096, most - got))
        if not part:
            break
        got += len(part)


def disconnect(server, rng):
    """Runs one client that disconnects at a random point, which it returns: within the head or the body, before the
    answer, in the middle of it, or without reading what was sent."""
    where = rng.choice(["head", "body", "before", "middle", "middle", "unread"])
    streamed = rng.random() < 0.6
    path = rng.choice(["/v1/chat/completions", "/v1/completions"])
    n = rng.choice([1, 1, 1, 3])
    body = body_of(path, LONG, max_tokens=400, ignore_eos=True, stream=streamed, n=n, seed=rng.randrange(1 << 30))
    head = client.head("POST", path, body)
    connection = client.connect(server)
    try:
        if where == "head":
            connection.sendall(head[:rng.randrange(len(head))])
        elif where == "body":
            connection.sendall(head + body[:rng.randrange(len(body))])
        else:
            connection.sendall(head + body)
        if where == "middle":
            if streamed:
                read_some(connection, rng.randrange(1, 4000))
            else:
                time.sleep(rng.random() * 0.1)
        elif where == "unread":
            time.sleep(rng.random() * 0.05)
    finally:
        reset(connection) if rng.random() < 0.5 else connection.close()
    return where


@check("clients: disconnects at random points")
def disconnects(f):
    count = f.count(1000, 20)
    with f.start("--parallel", "4", "--queue", "64") as server:
        reference = Reference(server)
        server.wait_idle()
        files, threads = server.open_files(), server.status("Threads")
        rngs = [f.random(f"disconnect {i}") for i in range(count)]
        at_once = 16
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            places = list(pool.map(lambda rng: disconnect(server, rng), rngs))
        server.wait_idle()
        reference.check(server, f"after {count} disconnects")
        server.wait_idle()
        wait_for(lambda: server.open_files() <= files + 2, f"{server.open_files()} files are open, {files} were before")
        more = server.status("Threads") - threads  # workers are started on demand and kept
        that(more <= 4 * at_once, f"{more} threads more than before {count} disconnects, {at_once} at once")
        return ", ".join(f"{places.count(where)} {where}" for where in sorted(set(places)))


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        that(time.monotonic() < deadline, what)
        time.sleep(0.05)


@check("clients: an answer is cancelled when its client goes")
def cancelled(f):
    """With one slot and answers that fill the context, the next client would otherwise wait for all of them."""
    with f.start("--parallel", "1", "--queue", "64") as server:
        reference = Reference(server)
        for streamed in (True, False):
            body = body_of("/v1/chat/completions", LONG, ignore_eos=True, stream=streamed, max_tokens=1500)
            gone = [client.connect(server) for _ in range(8)]
            for connection in gone:
                connection.sendall(client.head("POST", "/v1/chat/completions", body) + body)
            wait_for(lambda: server.busy_slots() == 1, "the slot was never busy")
            before = client.value(client.metrics(server.get("/metrics").text), "vllm:generation_tokens_total")
            for connection in gone:
                connection.close()
            server.wait_idle()
            after = client.value(client.metrics(server.get("/metrics").text), "vllm:generation_tokens_total")
            that(after - before < 8 * 1500 / 2, f"{after - before} tokens were written for clients that had gone")
            reference.check(server, f"after clients went, streamed {streamed}")


@check("clients: slow readers stop nobody")
def slow_readers(f):
    """There are more slow readers than slots: an answer does not wait for its reader."""
    with f.start("--parallel", "4") as server:
        reference = Reference(server)
        # The fewer tokens, which take a minute with sanitizers, are 300 KB, which no socket's buffers hold either.
        tokens = 150 if f.is_instrumented else 1200
        body = body_of("/v1/chat/completions", LONG, max_tokens=tokens, ignore_eos=True, stream=True, logprobs=True,
                       top_logprobs=20)
        stop, slow = threading.Event(), []
        for _ in range(6):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((server.host, server.port))
            connection.sendall(client.head("POST", "/v1/chat/completions", body) + body)
            slow.append(connection)

        def read_slowly():
            while not stop.wait(1):
                for connection in slow:
                    with contextlib.suppress(OSError):  # a server may give up on such a reader
                        connection.recv(1)

        reader = threading.Thread(target=read_slowly)
        reader.start()
        try:
            for i in range(f.count(40, 4)):
                reference.check(server, f"beside slow readers, request {i}")
                same(server.get("/health").status, 200, "/health beside slow readers")
        finally:
            stop.set()
            reader.join()
            for connection in slow:
                connection.close()
        server.wait_idle()
        reference.check(server, "after slow readers")


@check("clients: a slow reader gets all of its answer")
def slow_and_whole(f):
    with f.start("--parallel", "2") as server:
        fields = {"max_tokens": 96, "ignore_eos": True, "temperature": 0}
        whole = server.text(LONG, **fields)
        body = body_of("/v1/chat/completions", LONG, stream=True, **fields)
        connection = client.connect(server)
        connection.sendall(client.head("POST", "/v1/chat/completions", body, Connection="close") + body)
        got = b""
        while part := connection.recv(512):
            got += part
            time.sleep(0.002)
        connection.close()
        head, _, rest = got.partition(b"\r\n\r\n")
        that(b"200" in head.split(b"\r\n")[0], f"the head {head[:80]!r}")
        text = "".join(client.contents(client.unchunked(head, rest)))
        same(text, whole, "the text that a slow reader got")


@check("clients: 1,000 idle connections")
def idle(f):
    """Half of them have sent a part of a request."""
    count = f.count(1000, 1000 if f.scale < 1 and not f.is_instrumented else 100)
    client.allow_many_files(count + 100)
    with f.start("--parallel", "2") as server:
        reference = Reference(server)
        connections = []
        try:
            for i in range(count):
                connections.append(client.connect(server, 30))
                if i % 2:
                    connections[-1].sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            for _ in range(10):
                same(server.get("/health", timeout=20).status, 200, f"/health beside {count} idle connections")
            reference.check(server, f"beside {count} idle connections")
            body = body_of("/v1/chat/completions", QUESTION, max_tokens=24, stream=True, temperature=0)
            chunks = client.events(server.post("/v1/chat/completions", body).body)
            same(chunks[-1], "[DONE]", "the end of a stream beside idle connections")
        finally:
            for connection in connections:
                connection.close()
        wait_for(lambda: server.open_files() < 100,
                 f"{server.open_files()} files are open after all connections were closed")
        reference.check(server, "after idle connections")
    return f"{count} connections"
