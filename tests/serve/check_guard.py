"""Access control: API keys, the Host header, origins of web pages, limits of sizes. Needs a server with `options`."""
import json
import subprocess

import openai

from curl import curl
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

KEY = "correct-horse-battery-staple"
ORIGIN = "https://chat.example.org"
MEBIBYTE = 1 << 20


def options(folder):
    """The options of the server that these checks need. Writes a file of keys into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = folder / "keys"
    keys.write_text("second-key\n\nthird-key\n")
    keys.chmod(0o600)
    return ["--api-key", KEY, "--api-key-file", keys, "--cors-origin", ORIGIN, "--max-tokens", "8"]


BODY = {"messages": [{"role": "user", "content": "Hello"}], "temperature": 0}
BEARER = ["-H", f"Authorization: Bearer {KEY}"]


@check("guard: keys")
def keys(server):
    for header in ([], ["-H", "Authorization: Bearer wrong"], ["-H", "Authorization: Bearer"],
                   ["-H", "Authorization: Basic x"], ["-H", f"Authorization: {KEY}"],
                   ["-H", f"Authorization: Bearer {KEY}x"], ["-H", f"Authorization: Bearer {KEY[:-1]}"]):
        for path in ("/v1/chat/completions", "/v1/completions", "/tokenize"):
            reply = curl(server, path, *header, body=BODY)
            same((reply.status, reply.error()["type"]), (401, "authentication_error"), f"{path} with {header}")
            that(KEY not in reply.text and "wrong" not in reply.text, f"the error repeats a key: {reply.text}")
        for path in ("/slots", "/props", "/metrics", "/nothing"):
            same(curl(server, path, *header).status, 401, f"{path} with {header}")
    for key in (KEY, "second-key", "third-key"):
        client = openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)
        that(client.chat.completions.create(model="m", **BODY).choices, "no answer")
    same(curl(server, "/v1/models", *BEARER).status, 200, "/v1/models with the key")
    same(curl(server, "/health").json(), {"status": "ok"}, "/health without a key")
    try:
        openai.OpenAI(base_url=server.url + "/v1", api_key="wrong", max_retries=0).models.list()
    except openai.AuthenticationError as error:
        same(error.code, "invalid_api_key", "code")
    else:
        raise AssertionError("the openai client's wrong key was taken")


@check("guard: Host")
def host(server):
    port = server.port
    for name in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example",
                 "192.168.1.7"):
        reply = curl(server, "/v1/models", *BEARER, "-H", f"Host: {name}")
        same((reply.status, reply.error()["type"]), (403, "permission_error"), f"Host: {name}")
    for name in (f"localhost:{port}", "localhost", f"127.0.0.1:{port}", "127.0.0.1", f"[::1]:{port}",
                 f"LOCALHOST:{port}"):
        same(curl(server, "/v1/models", *BEARER, "-H", f"Host: {name}").status, 200, f"Host: {name}")


@check("guard: origins of web pages")
def origins(server):
    asks = [
        "-X", "OPTIONS", "-H", "Access-Control-Request-Method: POST", "-H",
        "Access-Control-Request-Headers: authorization,content-type"
    ]
    reply = curl(server, "/v1/chat/completions", *asks, "-H", f"Origin: {ORIGIN}")
    that(reply.status in (200, 204), f"status of OPTIONS: {reply.status}")
    same(reply.headers.get("access-control-allow-origin"), ORIGIN, "the origin that may read")
    that("POST" in reply.headers.get("access-control-allow-methods", ""), f"methods: {reply.headers}")
    allowed = reply.headers.get("access-control-allow-headers", "").lower()
    that("authorization" in allowed and "content-type" in allowed, f"headers: {allowed}")
    that("origin" in reply.headers.get("vary", "").lower(), f"Vary: {reply.headers.get('vary')}")
    reply = curl(server, "/v1/chat/completions", *BEARER, "-H", f"Origin: {ORIGIN}", body=BODY)
    same((reply.status, reply.headers.get("access-control-allow-origin")), (200, ORIGIN), "an answer to the origin")
    reply = curl(server, "/v1/chat/completions", "-H", f"Origin: {ORIGIN}", body=BODY)
    same((reply.status, reply.headers.get("access-control-allow-origin")), (401, ORIGIN), "an error to the origin")
    for other in ("https://evil.example", ORIGIN + ".evil.example", "null", "http://chat.example.org"):
        reply = curl(server, "/v1/chat/completions", *BEARER, "-H", f"Origin: {other}", body=BODY)
        same(reply.headers.get("access-control-allow-origin"), None, f"the origin that may read, for {other}")


@check("guard: sizes")
def sizes(server):
    large = json.dumps({**BODY, "metadata": "x" * (33 * MEBIBYTE)})
    reply = curl(server, "/v1/chat/completions", *BEARER, "-H", "Expect: 100-continue", body=large)
    same((reply.status, reply.error()["type"]), (413, "invalid_request_error"), "status and type of a body of 33 MiB")
    for headers in ([f"X-Large: {'x' * 100_000}"], [f"X-Many-{i}: {'y' * 200}" for i in range(2000)]):
        reply = curl(server, "/health", *[part for header in headers for part in ("-H", header)])
        same((reply.status, reply.error()["type"]), (431, "invalid_request_error"), "status and type of large headers")
    same(curl(server, "/" + "x" * 100_000).status in (414, 431), True, "a path of 100,000 characters is refused")


@check("guard: --max-tokens bounds every answer")
def lengths(server):
    for fields in ({}, {"max_tokens": 100}, {"max_tokens": -1}):
        answer = curl(server, "/v1/chat/completions", *BEARER, body={**BODY, **fields, "ignore_eos": True}).good()
        same(answer["usage"]["completion_tokens"], 8, f"completion_tokens with {fields}")


@check("guard: nothing of prompts, keys or paths is logged")
def logs(server):
    secret = "a prompt that nobody may read"
    curl(server, "/v1/completions", *BEARER, body={"prompt": secret, "max_tokens": 2})
    curl(server, "/v1/completions", *BEARER, body={"prompt": secret, "grammar": "root ::= (" + "nobody"})
    said = "\n".join(server.log)
    for text in (secret, KEY, "second-key", "nobody"):
        that(text not in said, f"the log says {text!r}")


@check("guard: a port that is taken")
def port_taken(server):
    again = list(server.command)
    again[again.index("--port") + 1] = str(server.port)
    run = subprocess.run(again, capture_output=True, text=True, timeout=300)
    that(run.returncode == 1, f"exit status {run.returncode}, expected 1")
    that(str(server.port) in run.stderr, f"the message names no port: {run.stderr[-300:]}")
