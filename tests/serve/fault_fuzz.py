"""Ten thousand bad requests: each gets an error object or a closed connection, and the server survives."""
import collections
import concurrent.futures
import http.client
import io
import socket

import client
import fuzz_http
from faults_shared import Reference
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

HANGS = 60  # seconds after which an answer to a whole request counts as missing
LOOK = 0.2  # seconds that a client waits if the server may rightly wait for more bytes
FINE = (501, 503, 505)  # acceptable 5xx: not implemented, unavailable, HTTP version not supported
LARGE_EVERY = 500  # one in this many requests has 100 MB


class NoReply(Exception):
    """The server closed the connection, or is rightly waiting for more bytes."""


class Incoming(io.BufferedReader):
    """A reader of a connection for successive replies: none of them closes it or buffers bytes of the next one."""

    def __init__(self, connection):
        super().__init__(socket.SocketIO(connection, "r"))
        self.connection = connection

    def makefile(self, *_):
        return self

    def close(self):
        pass


def next_reply(incoming, is_whole):
    incoming.connection.settimeout(HANGS if is_whole else LOOK)
    reply = http.client.HTTPResponse(incoming)
    try:
        reply.begin()
        body = reply.read()
        return client.Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, body)
    except (http.client.RemoteDisconnected, ConnectionError) as gone:
        raise NoReply("closed") from gone
    except socket.timeout as late:
        if is_whole:
            raise AssertionError(f"no answer in {HANGS} s") from late
        raise NoReply("waits") from late


def judge(reply, may_be_good):
    """The kind of a reply, for the counts. Fails if the reply is not allowed."""
    if reply.status < 300:
        that(may_be_good, f"status {reply.status}, expected an error: {reply.body[:80]!r}")
        return "good"
    that(400 <= reply.status < 500 or reply.status in FINE, f"status {reply.status}: {reply.body[:80]!r}")
    reply.error()
    return str(reply.status)


def send(server, sending):
    with client.connect(server, HANGS) as connection:
        try:
            for part in sending.parts:
                connection.sendall(part)
        except OSError:
            pass  # the server has refused already, perhaps with a reply
        incoming = Incoming(connection)
        may_be_good = sending.may_be_good or sending.kind == "length too small"
        try:
            for _ in range(sending.good_before):
                same(next_reply(incoming, True).status, 200, "status of a good request before garbage")
            return judge(next_reply(incoming, sending.is_whole), may_be_good)
        except NoReply as none:
            return str(none)


def make(f, i):
    rng = f.random(f"fuzz {i}")
    if i % LARGE_EVERY == LARGE_EVERY // 2:
        return fuzz_http.large(rng)
    weights = [weight for weight, _ in fuzz_http.KINDS]
    ((_, function), ) = rng.choices(fuzz_http.KINDS, weights)
    return function(rng)


def try_one(f, server, i):
    sending = make(f, i)
    try:
        return sending.kind, send(server, sending), None
    except (AssertionError, OSError, http.client.HTTPException) as failure:
        return sending.kind, "FAULT", f"request {i} ({sending.kind}): {failure!r}"


@check("fuzz: bad requests")
def bad_requests(f):
    """A fault names the number of its request, which together with --seed reproduces it (fault_fuzz.make)."""
    count, batch = f.count(10_000, 200), 500
    counts, faults = collections.Counter(), []
    with f.start("--parallel", "2", "--max-tokens", "8", "--queue", "64") as server:
        reference = Reference(server, 8)
        before = server.status("VmRSS")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for begin in range(0, count, batch):
                found = pool.map(lambda i: try_one(f, server, i), range(begin, min(begin + batch, count)))
                for kind, outcome, fault in found:
                    counts[kind, outcome] += 1
                    if fault:
                        faults.append(fault)
                that(
                    server.alive,
                    f"the server ended with {server.process.poll()} within requests {begin} to {begin + batch}: "
                    f"{server.log[-20:]}")
                reference.check(server, f"after {begin + batch} bad requests")
        server.wait_idle()
        grown = server.status("VmRSS") - before
    for kind in sorted({kind for kind, _ in counts}):
        print(f"  {kind}: " + ", ".join(f"{n} {o}" for (k, o), n in sorted(counts.items()) if k == kind))
    that(not faults, f"{len(faults)} faults of {count}: " + "; ".join(faults[:10]))
    return f"{count} requests; resident memory grew by {grown >> 10} MiB"
