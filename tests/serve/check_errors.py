"""Refused requests: each gets the right status and an error object that names the field."""
import openai

import client
from context import EDIT
from curl import curl
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
ONCE = {"prompt": "Once", "max_tokens": 4}


def refused(c, path, body, param, code=None, status=400):
    reply = c.server.post(path, body)
    what = f"{path} with {client.encode(body)[:160]!r}"
    same(reply.status, status, what)
    error = reply.error()
    that(error["type"] == "invalid_request_error", f"{what}: type {error['type']}")
    same(error["param"], param, f"{what}: param")
    if code:
        same(error["code"], code, f"{what}: code")
    that("Hello" not in error["message"], f"{what}: the message quotes the prompt: {error['message']}")
    return error


# Fields of both endpoints, with values of a wrong type.
WRONG_TYPES = [("temperature", "hot"), ("temperature", True), ("top_p", "x"), ("top_k", 1.5), ("min_p", []),
               ("typical_p", {}), ("max_tokens", "many"), ("max_tokens", 2.5), ("n", "two"), ("n", 1.5),
               ("seed", "seven"), ("seed", 0.5), ("stop", 5), ("stop", {"a": 1}), ("stream", "yes"), ("stream", 1),
               ("ignore_eos", "no"), ("presence_penalty", "a"), ("frequency_penalty", []), ("repeat_penalty", "a"),
               ("repeat_last_n", 1.1), ("logit_bias", [1]), ("logit_bias", "a"), ("response_format", "json"),
               ("response_format", []), ("json_schema", "{}"), ("grammar", 5), ("prediction", "text"),
               ("stream_options", True), ("cache_prompt", 1), ("cycles", "yes"), ("model", 5), ("user", {}),
               ("timings_per_token", 0)]
# Fields of both endpoints, with values of the right type that are out of range or not known.
WRONG_VALUES = [("temperature", -0.1), ("temperature", 101), ("top_p", 1.1), ("top_p", -0.1),
                ("top_k", -2), ("min_p", 2), ("typical_p", -1), ("max_tokens", 0), ("max_tokens", -2),
                ("max_tokens", 1 << 40), ("n", 0), ("n", -1), ("n", 1000000), ("seed", 1 << 70), ("seed", -(1 << 70)),
                ("stop", ""), ("stop", ["a", ""]), ("stop", ["x"] * 65), ("stop", "x" * 257), ("presence_penalty", 2.1),
                ("frequency_penalty", -2.1), ("repeat_penalty", 0), ("repeat_last_n", -2), ("logit_bias", {"-1": 1}),
                ("logit_bias", {"x": 1}), ("logit_bias", {"99999999": 1}), ("logit_bias", {"1": 101}),
                ("drafter", "nobody"), ("speculation_metrics", "all"), ("grammar", "root ::= ("),
                ("grammar", "root ::= root"), ("grammar", "x ::= y"), ("json_schema", {"type": "strange"}),
                ("json_schema", {"type": "string", "format": "no-such-format"}),
                ("json_schema", {"$ref": "http://example.org/x"}), ("user", "x" * 257)]


@check("errors: wrong types name the field")
def types(c):
    for name, value in WRONG_TYPES:
        for path, body in ((CHAT, HELLO), (TEXT, ONCE)):
            is_part = isinstance(value, float)  # a number that is not whole: its value is wrong, not its type
            refused(c, path, {**body, name: value}, name, "invalid_value" if is_part else "invalid_type")


@check("errors: wrong values name the field")
def values(c):
    for name, value in WRONG_VALUES:
        for path, body in ((CHAT, HELLO), (TEXT, ONCE)):
            error = refused(c, path, {**body, name: value}, param_of(name, value))
            that(error["code"] in ("invalid_value", "unsupported_value"), f"{name} {value!r}: code {error['code']}")


def param_of(name, value):
    """The name that the error gives the field; an element of a list is named by its index."""
    return "stop[1]" if value == ["a", ""] else name


@check("errors: what is missing")
def missing(c):
    refused(c, CHAT, {"max_tokens": 4}, "messages", "missing_required_parameter")
    refused(c, CHAT, {"messages": None}, "messages", "missing_required_parameter")
    refused(c, TEXT, {}, "prompt", "missing_required_parameter")
    refused(c, CHAT, {"messages": [{"content": "Hello"}]}, "messages[0].role", "missing_required_parameter")
    refused(c, CHAT, {"messages": [{"role": "user"}]}, "messages[0].content", "missing_required_parameter")
    refused(c, "/tokenize", {}, "content", "missing_required_parameter")
    refused(c, "/detokenize", {"text": "x"}, "tokens", "missing_required_parameter")
    refused(c, "/apply-template", {}, "messages", "missing_required_parameter")


@check("errors: messages and prompts")
def messages(c):
    def wrong(value, param):
        refused(c, CHAT, {"messages": value}, param)

    wrong([], "messages")
    wrong("Hello", "messages")
    wrong(["Hello"], "messages[0]")
    wrong([{"role": "captain", "content": "Hello"}], "messages[0].role")
    wrong([{"role": "user", "content": 5}], "messages[0].content")
    wrong([{"role": "user", "content": ["Hello"]}], "messages[0].content[0]")
    wrong([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text")
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    refused(c, CHAT, {"messages": [{"role": "user", "content": [image]}]}, "messages[0].content[0].type",
            "unsupported_parameter")
    for prompt, param in ((5, "prompt"), ([], "prompt"), ({}, "prompt"), (["a", 5], "prompt[1]"), ([-1], "prompt[0]"),
                          ([c.vocab], "prompt[0]"), ([0, "a"], "prompt[1]"), ([[]], "prompt[0]"), ([[0], [c.vocab]],
                                                                                                   "prompt[1][0]")):
        refused(c, TEXT, {"prompt": prompt}, param)
    refused(c, TEXT, {"prompt": ["a"] * 65}, "prompt")
    refused(c, TEXT, {"prompt": ["a"] * 9, "n": 2}, "n")
    refused(c, "/detokenize", {"tokens": [c.vocab]}, "tokens[0]")
    refused(c, "/tokenize", {"content": 5}, "content", "invalid_type")


@check("errors: fields that do not go together")
def together(c):
    refused(c, CHAT, {**HELLO, "top_logprobs": 2}, "top_logprobs")
    refused(c, CHAT, {**HELLO, "logprobs": True, "top_logprobs": 21}, "top_logprobs")
    refused(c, CHAT, {**HELLO, "logprobs": 5}, "logprobs", "invalid_type")
    refused(c, TEXT, {**ONCE, "logprobs": True}, "logprobs", "invalid_type")
    refused(c, CHAT, {**HELLO, "stream_options": {"include_usage": True}}, "stream_options")
    refused(c, CHAT, {**HELLO, "tool_choice": "required"}, "tool_choice")
    refused(c, CHAT, {**HELLO, "tool_choice": "sometimes"}, "tool_choice")
    refused(c, CHAT, {**HELLO, "tools": [{"type": "function"}]}, "tools[0].function", "missing_required_parameter")
    refused(c, CHAT, {**HELLO, "tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name")
    both = {"grammar": 'root ::= "a"', "json_schema": {"type": "object"}}
    that(refused(c, CHAT, {**HELLO, **both}, "json_schema")["message"], "no message")
    refused(c, CHAT, {**HELLO, "grammar": 'root ::= "a"', "ignore_eos": True}, "ignore_eos")
    refused(c, CHAT, {**HELLO, "response_format": {"type": "yaml"}}, "response_format.type")
    refused(c, CHAT, {**HELLO, "response_format": {"type": "json_schema"}}, "response_format.json_schema",
            "missing_required_parameter")
    refused(c, CHAT, {**HELLO, "prediction": {"type": "content"}}, "prediction.content", "missing_required_parameter")
    refused(c, CHAT, {**HELLO, "chat_template_kwargs": {"messages": []}}, "chat_template_kwargs")


@check("errors: what is known and not supported")
def unsupported(c):
    """Every field that /openapi.json calls not supported is refused with a value and accepted with null."""
    schemas, tried = c.document["components"]["schemas"], 0
    for path, body, schema in ((CHAT, HELLO, "ChatRequest"), (TEXT, ONCE, "TextRequest")):
        for name, about in schemas[schema]["properties"].items():
            if not about["description"].startswith("Not supported"):
                continue
            tried += 1
            for value in ("something else", 7, [{"a": 1}], {"a": 1}, True):
                refused(c, path, {**body, name: value}, name, "unsupported_parameter")
            same(c.server.post(path, {**body, name: None}).status, 200, f"{path} with {name}: null")
    that(tried > 20, f"only {tried} fields are said to be not supported")
    return f"{tried} fields"


@check("errors: bodies that are no JSON")
def bodies(c):
    for body in (b"", b"{", b"nonsense", b"[1]", b'"text"', b"null", b'{"prompt": "a",}', b'{"prompt": "\xff"}',
                 b"{'prompt': 'a'}", b'{"prompt": "a", "prompt": "b"}', b'{"temperature": 1e999, "prompt": "a"}',
                 b'{"prompt": "\\ud800"}', b'{"prompt": NaN}', b'\xef\xbb\xbf{', b'{"prompt": "a"} x',
                 b'{"a": ' + b"[" * 100 + b"]" * 100 + b', "prompt": "a"}'):
        reply = c.server.post(TEXT, body)
        same(reply.status, 400, f"status with the body {body[:60]!r}")
        same(reply.error()["type"], "invalid_request_error", f"type with the body {body[:60]!r}")


@check("errors: a context that is exceeded")
def context(c):
    for path, body in ((TEXT, {"prompt": [1] * (c.context + 1)}),
                       (CHAT, {"messages": [{"role": "user", "content": "word " * (c.context + 1)}]})):
        reply = c.server.post(path, body)
        same((reply.status, reply.error()["code"]), (400, "context_length_exceeded"), f"{path}: status and code")
        that(str(c.context) in reply.error()["message"], f"the message names no context: {reply.error()['message']}")
        same(reply.error()["param"], "messages" if path == CHAT else "prompt", "param")
    full = c.server.post(
        TEXT, {"prompt": [1] * (c.context - 3), "max_tokens": 50, "temperature": 0, "ignore_eos": True}).good()
    same(full["choices"][0]["finish_reason"], "length", "finish_reason where the context ends the answer")
    that(full["usage"]["completion_tokens"] <= 3, f"usage: {full['usage']}")


@check("errors: paths and methods")
def paths(c):
    for path in ("/v1/nothing", "/v2/chat/completions", "/etc/passwd", "/v1/chat/completions/",
                 "/..%2f..%2fetc/passwd"):
        reply = curl(c.server, path, "--path-as-is")
        same((reply.status, reply.error()["type"]), (404, "not_found_error"), f"{path}: status and type")
        that("passwd" not in reply.error()["message"], "the message repeats the path")
    for method, path, allowed in (("GET", CHAT, "POST"), ("DELETE", "/v1/models", "GET"), ("PUT", "/health", "GET"),
                                  ("GET", "/tokenize", "POST")):
        reply = curl(c.server, path, "-X", method)
        same((reply.status, reply.error()["type"]), (405, "invalid_request_error"), f"{method} {path}: status and type")
        that(allowed in reply.headers.get("allow", ""), f"{method} {path}: Allow {reply.headers.get('allow')}")
    for path in ("/v1/embeddings", "/v1/responses", "/v1/messages"):
        reply = curl(c.server, path, body={"input": "Hello"})
        same((reply.status, reply.error()["type"]), (501, "not_supported_error"), f"{path}: status and type")
        same(reply.headers.get("x-should-retry"), "false", f"{path}: X-Should-Retry")


@check("errors: as the openai client raises them")
def raised(c):
    def raises(kind, call):
        try:
            call()
        except kind as error:
            return error
        raise AssertionError(f"no {kind.__name__}")

    error = raises(openai.BadRequestError, lambda: c.chat("Hello", temperature=200))
    same((error.param, error.code, error.type), ("temperature", "invalid_value", "invalid_request_error"), "the error")
    error = raises(openai.BadRequestError, lambda: c.complete([1] * (c.context + 1)))
    same(error.code, "context_length_exceeded", "code")
    raises(openai.InternalServerError, lambda: c.client.embeddings.create(model="m", input="Hello"))
    raises(openai.InternalServerError, lambda: c.client.responses.create(model="m", input="Hello"))
    model = c.client.models.list().data[0].id
    same(
        c.client.models.retrieve(model).id if c.server.get(f"/v1/models/{model}").status == 200 else model, model,
        "the model")
    same(c.chat(EDIT, max_tokens=2).model, model, "the model of an answer")
