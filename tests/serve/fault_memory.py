"""Memory that runs out: the server's own budget, and the system's while requests run."""
import concurrent.futures
import json

import client
from faults_shared import LONG, Reference, body_of
from results import Skip, Suite, same, that

SUITE = Suite()
check = SUITE.check

PATH = "/v1/chat/completions"
MEBIBYTE = 1 << 20


def ask(server, i, fields):
    """The text of one answer, or an object that says why it failed: the error object, or the connection's failure."""
    streamed = i % 2 == 0
    body = body_of(PATH, f"{LONG} Its number is {i}. " + "It is long. " * (i % 5 * 20), stream=streamed, seed=i,
                   **fields)
    try:
        reply = client.request(server.host, server.port, "POST", PATH, body)
    except (OSError, client.Broken) as cut:
        return {"message": repr(cut)}
    if reply.status != 200:
        that(reply.status in (429, 500, 503), f"status {reply.status}: {reply.body[:200]!r}")
        return reply.error()
    if not streamed:
        return reply.good()["choices"][0]["message"]["content"]
    events = client.events(reply.body)
    if '"error"' in events[-1]:
        error = json.loads(events[-1])["error"]
        that(client.error_problem(error) is None, f"the stream's error: {error}")
        return error
    same(events[-1], "[DONE]", "the end of a stream")
    return "".join(client.contents(reply.body))


def ask_all(server, count, fields, at_once):
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(lambda i: ask(server, i, fields), range(count)))


@check("memory: a budget that running answers outgrow")
def small_budget(f):
    """Answers are set aside and resumed, and equal those decoded alone. A prompt that never fits is refused."""
    fields = {"max_tokens": 120, "ignore_eos": True, "temperature": 0.8}
    count = f.count(64, 12)
    with f.start("--parallel", "8") as roomy:
        expected = ask_all(roomy, count, fields, 1)
    with f.start("--parallel", "8", "--memory", "4") as server:
        found = ask_all(server, count, fields, 16)
        same(found, expected, "the answers with a small budget")
        long = server.post("/v1/completions", {"prompt": [1] * 1900, "max_tokens": 4})
        if long.status != 200:
            same((long.status, long.error()["type"]), (400, "invalid_request_error"), "a prompt that never fits")
        server.wait_idle()
        same(ask(server, 0, fields), expected[0], "the first answer, again")


@check("memory: the system refuses it in mid-flight")
def refused(f):
    """While requests run, the address space may hardly grow. Answers are right or end with an error, and the server
    survives and answers as before once there is memory again."""
    if f.is_instrumented:
        raise Skip("sanitizers need address space of their own")
    fields = {"max_tokens": 160, "ignore_eos": True, "temperature": 0.8}
    count = f.count(200, 24)
    with f.start("--parallel", "8") as server:
        reference = Reference(server)
        expected = ask_all(server, count, fields, 1)
    errors, right = 0, 0
    for more in (0, 256 << 10, 2 * MEBIBYTE, 16 * MEBIBYTE):
        with f.start("--parallel", "8") as server:
            server.limit_memory(more)
            found = ask_all(server, count, fields, 16)
            for i, answer in enumerate(found):
                if isinstance(answer, dict):
                    errors += 1
                else:
                    same(answer, expected[i], f"answer {i} where {more} bytes were left")
                    right += 1
            that(server.alive, f"the server died where {more} bytes were left: {server.log[-5:]}")
            server.limit_memory(None)
            server.wait_idle()
            reference.check(server, "when there is memory again")
            same(server.get("/health").status, 200, "/health when there is memory again")
    return f"{right} right answers, {errors} errors"
