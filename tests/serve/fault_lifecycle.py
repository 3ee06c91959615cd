"""A server that is killed and restarted under load, and one that is told to end while it works."""
import socket
import subprocess
import threading
import time

import client
from faults_shared import LONG, QUESTION, body_of
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

PATH = "/v1/chat/completions"


class Clients:
    """Threads that send requests one after the other, half of them streamed, and count right answers, wrong ones and
    failed connections."""
    def __init__(self, host, port, expected, fields, count=6):
        self.host, self.port, self.expected, self.fields = host, port, expected, fields
        self.right, self.wrong, self.failed = 0, [], 0
        self.lock, self.stopped = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i % 2 == 0, ), daemon=True) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, streamed):
        body = body_of(PATH, QUESTION, stream=streamed, **self.fields)
        while not self.stopped.is_set():
            try:
                reply = client.request(self.host, self.port, "POST", PATH, body, timeout=60)
                text = "".join(client.contents(
                    reply.body)) if streamed else reply.good()["choices"][0]["message"]["content"]
                with self.lock:
                    if text == self.expected:
                        self.right += 1
                    else:
                        self.wrong.append(text)
            except (OSError, client.Broken, AssertionError, ValueError):  # refused, reset, or cut within an answer
                with self.lock:
                    self.failed += 1
                time.sleep(0.01)

    def wait_for_right(self, more, seconds=120):
        """Waits for `more` further right answers."""
        deadline, goal = time.monotonic() + seconds, self.right + more
        while self.right < goal:
            that(time.monotonic() < deadline,
                 f"{goal - self.right} right answers of {more} did not come in {seconds} s")
            time.sleep(0.01)

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(90)
        that(not any(thread.is_alive() for thread in self.threads), "a client hangs")
        same(self.wrong, [], "answers that are not the lone one")


@check("lifecycle: kill -9 and restart under load")
def killed(f):
    """Clients that retry get the right answer from the server that is restarted on the same port."""
    fields = {"max_tokens": 24, "temperature": 0}
    with f.start("--parallel", "4") as first:
        clients = Clients(first.host, first.port, first.text(QUESTION, **fields), fields)
        try:
            clients.wait_for_right(8)
            first.kill()
            restart_often(f, clients)
        finally:
            clients.stopped.set()
    that(clients.failed > 0, "no client noticed that the server was killed")
    return f"{clients.right} right answers, {clients.failed} failures of connections"


def restart_often(f, clients):
    rounds, rng = f.count(10, 2), f.random("kill")
    for i in range(rounds):
        with f.start("--parallel", "4", port=clients.port) as server:
            clients.wait_for_right(rng.randrange(4, 12))
            if i < rounds - 1:
                server.kill()
                continue
            clients.stop()
            server.wait_idle()


def start_answers(server, count, streamed, fields):
    """Opens connections and requests a long answer on each."""
    connections = []
    for i in range(count):
        body = body_of(PATH, LONG, stream=streamed, **{**fields, "seed": i})
        connection = client.connect(server)
        connection.sendall(client.head("POST", PATH, body, Connection="close") + body)
        connections.append(connection)
    return connections


def finish_answer(connection, streamed):
    """Reads an answer to its end; returns its text."""
    got = b""
    with connection:
        while part := connection.recv(65536):
            got += part
    head, _, rest = got.partition(b"\r\n\r\n")
    that(head.startswith(b"HTTP/1.1 200"), f"an answer in flight got {got[:200]!r}")
    body = client.unchunked(head, rest)
    if streamed:
        same(client.events(body)[-1], "[DONE]", "the end of a stream")
        return "".join(client.contents(body))
    return client.Reply(200, {}, body).good()["choices"][0]["message"]["content"]


@check("lifecycle: SIGTERM lets answers end, streamed and not")
def drains(f):
    fields = {"max_tokens": 200, "ignore_eos": True, "temperature": 0.8}
    for streamed in (True, False):
        with f.start("--parallel", "4", "--drain-seconds", "300") as server:  # enough with sanitizers
            count = 6  # two wait for a slot
            expected = [server.text(LONG, **fields, seed=i) for i in range(count)]
            connections = start_answers(server, count, streamed, fields)
            deadline = time.monotonic() + 60
            while server.busy_slots() < 4:
                that(time.monotonic() < deadline, "four slots never became busy")
            server.terminate()
            found = [finish_answer(connection, streamed) for connection in connections]
            same(found, expected, f"answers that SIGTERM met, streamed {streamed}")
            same(server.wait(), 0, "exit status")


@check("lifecycle: SIGTERM refuses what comes later")
def refuses(f):
    with f.start("--parallel", "1") as server:
        connections = start_answers(server, 1, True, {"max_tokens": 1500, "ignore_eos": True})
        while server.busy_slots() < 1:
            time.sleep(0.005)
        server.terminate()
        deadline = time.monotonic() + 60
        while not any("shutting down" in line for line in server.log):  # before that it may accept requests
            that(time.monotonic() < deadline, "the server does not say that it is shutting down")
            time.sleep(0.01)
        refused = 0
        while server.alive and refused < 20:
            try:
                reply = client.request(server.host, server.port, "POST", PATH, body_of(PATH, QUESTION, max_tokens=2),
                                       timeout=30)
                if reply.status == 503:
                    reply.error()
                    that("retry-after" in reply.headers, "503 without Retry-After")
                    refused += 1
            except (OSError, client.Broken):
                refused += 1
            time.sleep(0.01)
        connections[0].close()
        same(server.wait(), 0, "exit status")
        that(refused > 0, "nothing was refused")


@check("lifecycle: SIGTERM ends beside idle and slow connections, and twice at once")
def ends_anyway(f):
    with f.start("--parallel", "2") as server:
        idle = [client.connect(server) for _ in range(20)]
        for connection in idle[:10]:
            connection.sendall(b"POST / HTTP/1.1\r\n")
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((server.host, server.port))
        body = body_of(PATH, LONG, stream=True, max_tokens=60)
        slow.sendall(client.head("POST", PATH, body) + body)
        server.terminate()
        same(server.wait(), 0, "exit status")
        for connection in [*idle, slow]:
            connection.close()
    with f.start("--parallel", "1") as server:
        connections = start_answers(server, 4, True, {"max_tokens": 1500, "ignore_eos": True})
        while server.busy_slots() < 1:
            time.sleep(0.005)
        server.terminate()
        time.sleep(0.2)
        if server.alive:
            server.terminate()  # a second signal does not wait for answers
        same(server.wait(30), 0, "exit status")
        for connection in connections:
            connection.close()


@check("lifecycle: what cannot start says why")
def cannot_start(f):
    for options, status in ((["-m", "/nowhere/model.gguf"], 1), (["-m", f.model, "--port",
                                                                  "99999"], 2), (["-m", f.model, "--parallel", "0"], 2),
                            (["-m", f.model, "--drafter", "nobody"], 2), ([], 2), (["-m", f.model, "--api-key",
                                                                                    ""], None)):
        run = subprocess.run([str(f.binary), "serve", *map(str, options)], capture_output=True, text=True, timeout=300)
        that(run.returncode in ((status, ) if status else (1, 2)), f"serve {options}: exit status {run.returncode}")
        that(run.stderr.strip(), f"serve {options}: says nothing")
