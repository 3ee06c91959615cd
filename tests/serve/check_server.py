"""Endpoints about the server, tokens and templates, and the server's HTTP."""
import json
import subprocess
import threading
import time

import jsonschema
from prometheus_client.parser import text_string_to_metric_families

import client
from context import GREEDY, STORY
from curl import curl
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check


@check("server: /health and /v1/models")
def models(c):
    same(curl(c.server, "/health").json(), {"status": "ok"}, "/health")
    (model, ) = c.client.models.list().data
    same((model.id, model.object, model.owned_by), (c.model, "model", "foretoken"), "the model")
    found = curl(c.server, "/v1/models").json()
    same(found["object"], "list", "object")
    meta = found["data"][0]["meta"]
    that(all(meta[key] > 0 for key in ("n_vocab", "n_ctx_train", "n_embd", "n_params", "size")), f"meta: {meta}")
    same(found["data"][0]["max_model_len"], c.context, "max_model_len")


@check("server: /props")
def props(c):
    same(c.props["total_slots"], len(c.server.get("/slots").good()), "total_slots and /slots")
    that("/" not in c.props["model_path"], f"/props tells a path: {c.props['model_path']}")
    that(c.props["build_info"].startswith("foretoken"), f"build_info {c.props['build_info']}")
    that(c.props["drafter"] in (*c.drafters, "none"), f"drafter {c.props['drafter']} of {c.drafters}")
    that(isinstance(c.props["chat_template"], str), "chat_template is no text")


@check("server: /slots while it answers, and after")
def slots(c):
    done = []
    body = c.chat_body(STORY, max_tokens=400, ignore_eos=True, stream=True)

    def run():
        done.append(c.server.post("/v1/chat/completions", body))

    thread = threading.Thread(target=run)
    thread.start()
    busy = []
    while thread.is_alive():
        busy += [slot for slot in c.server.get("/slots").good() if slot["is_processing"]]
        time.sleep(0.01)
    thread.join()
    that(busy, "no slot was ever busy")
    that(any(slot["next_token"][0]["n_decoded"] > 0 for slot in busy), f"no slot decoded a token: {busy[-1:]}")
    that(all(slot["n_prompt_tokens"] > 0 and slot["id_task"] >= 0 for slot in busy), f"a busy slot: {busy[:1]}")
    c.server.wait_idle()


@check("server: /metrics is Prometheus' text")
def metrics(c):
    reply = curl(c.server, "/metrics")
    that(reply.headers["content-type"].startswith("text/plain; version=0.0.4"), reply.headers["content-type"])
    families = list(text_string_to_metric_families(reply.text))
    names = [family.name for family in families]
    that(len(names) == len(set(names)), "a family occurs twice")
    kinds = {family.name: family.type for family in families}
    that(all(family.documentation for family in families), "a family without help")
    for name, kind in (("vllm:num_requests_running", "gauge"), ("vllm:num_requests_waiting", "gauge"),
                       ("vllm:kv_cache_usage_perc", "gauge"), ("vllm:prompt_tokens", "counter"),
                       ("vllm:generation_tokens", "counter"), ("vllm:time_to_first_token_seconds", "histogram"),
                       ("vllm:inter_token_latency_seconds", "histogram"), ("vllm:e2e_request_latency_seconds",
                                                                           "histogram"), ("vllm:request_success",
                                                                                          "counter"),
                       ("llamacpp:prompt_tokens", "counter"), ("llamacpp:tokens_predicted",
                                                               "counter"), ("llamacpp:requests_processing", "gauge"),
                       ("llamacpp:n_decode", "counter"), ("vllm:spec_decode_num_drafts",
                                                          "counter"), ("llamacpp:spec_decode_num_drafts", "counter")):
        same(kinds.get(name), kind, f"type of {name}")
    for family in families:
        if family.type == "histogram":
            check_histogram(family)


def check_histogram(family):
    buckets = [s.value for s in family.samples if s.name.endswith("_bucket")]
    (count, ) = [s.value for s in family.samples if s.name.endswith("_count")]
    that(buckets == sorted(buckets) and buckets[-1] == count, f"{family.name}: buckets {buckets} of {count}")


@check("server: counters of requests and tokens")
def counters(c):
    def read():
        samples = client.metrics(c.server.get("/metrics").text)
        return [
            client.value(samples, name)
            for name in ("vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:request_success_total",
                         "vllm:time_to_first_token_seconds_count", "vllm:e2e_request_latency_seconds_count",
                         "llamacpp:tokens_predicted_total", "foretoken:requests_refused_total")
        ]

    before = read()
    usages = [c.server.chat(STORY, max_tokens=12, **GREEDY)["usage"] for _ in range(3)]
    c.server.post("/v1/completions", {})
    rises = [b - a for a, b in zip(before, read())]
    written = sum(usage["completion_tokens"] for usage in usages)
    same(rises, [sum(usage["prompt_tokens"] for usage in usages), written, 3, 3, 3, written, 1],
         "the rise of prompt tokens, tokens, answers, first tokens, requests, llama.cpp's tokens, refusals")


TEXTS = [
    "Hello, world!", "héllo 日本語 🦊🏊‍♀️ ½ Ω żółw", "  spaces\t\ttabs\n\nlines  ", "<|im_start|>user\nx<|im_end|>",
    "x" * 3000, "\u0000\u0007"
]


@check("server: /tokenize and /detokenize go back and forth")
def tokenize(c):
    for text in TEXTS:
        for special in (True, False):
            ids = c.tokens(text, parse_special=special)
            that(ids and all(0 <= i < c.vocab for i in ids), f"tokens of {text[:40]!r}: {ids[:8]}")
            same(c.server.post("/detokenize", {"tokens": ids}).good()["content"], text, f"the text of {text[:40]!r}")
    pieces = c.tokens(TEXTS[1], with_pieces=True)
    same([piece["id"] for piece in pieces], c.tokens(TEXTS[1]), "ids with pieces")
    raw = b"".join(p["piece"].encode() if isinstance(p["piece"], str) else bytes(p["piece"]) for p in pieces)
    same(raw.decode(), TEXTS[1], "the pieces together")
    same(c.tokens(""), [], "tokens of an empty text")
    same(c.server.post("/detokenize", {"tokens": []}).good()["content"], "", "the text of no tokens")
    that(
        len(c.tokens("<|im_end|>", parse_special=True)) <= len(c.tokens("<|im_end|>", parse_special=False)),
        "parse_special")


@check("server: /apply-template is the prompt of a chat")
def apply_template(c):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": STORY}]
    prompt = c.server.post("/apply-template", {"messages": messages}).good()["prompt"]
    that("Be brief." in prompt and STORY in prompt, f"the prompt {prompt!r}")
    closed = c.server.post("/apply-template", {"messages": messages, "add_generation_prompt": False}).good()["prompt"]
    that(prompt.startswith(closed) and len(closed) < len(prompt), "add_generation_prompt changes nothing")
    answer = c.server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 24, "temperature": 0}).good()
    ids = c.tokens(prompt, parse_special=True, add_special=True)
    same(answer["usage"]["prompt_tokens"], len(ids), "prompt_tokens")
    text = c.server.post("/v1/completions", {"prompt": ids, "max_tokens": 24, "temperature": 0}).good()
    same(text["choices"][0]["text"], answer["choices"][0]["message"]["content"], "the answer to the prompt's tokens")


@check("server: /openapi.json")
def openapi(c):
    same(c.document["openapi"], "3.1.0", "openapi")
    that(c.document["info"]["title"] == "foretoken" and c.document["info"]["version"], f"info: {c.document['info']}")
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/models", "/health", "/metrics", "/tokenize",
                 "/detokenize", "/apply-template", "/props", "/slots", "/openapi.json", "/v1/embeddings",
                 "/v1/responses", "/v1/messages"):
        that(path in c.document["paths"], f"{path} is not described")
    text = json.dumps(c.document)
    that('"$vocab_last"' not in text and '"$most_' not in text, "a limit is not filled in")
    same(c.document["components"]["schemas"]["TokenIds"]["items"]["maximum"], c.vocab - 1, "the largest token")


@check("server: streams meet their schemas")
def stream_schemas(c):
    """Validates the data of events, which schemathesis does not look into."""
    def meet(chunks, name):
        schema = {"$ref": f"#/components/schemas/{name}", "components": c.document["components"]}
        validator = jsonschema.Draft202012Validator(schema)
        for chunk in chunks:
            validator.validate(chunk)
    rich = {"max_tokens": 16, "cycles": True, "timings_per_token": True, "stream_options": {"include_usage": True}}
    meet(c.stream_chat(STORY, logprobs=True, top_logprobs=2, **rich), "ChatChunk")
    meet(c.stream_text("Once", logprobs=2, n=2, **rich), "TextChunk")
    meet([c.server.chat(STORY, speculation_metrics="detailed", cycles=True, max_tokens=16)], "ChatAnswer")


@check("server: the page at /")
def page(c):
    reply = curl(c.server, "/")
    same(reply.status, 200, "status")
    that(reply.headers["content-type"].startswith("text/html"), reply.headers["content-type"])
    that("<html" in reply.text.lower(), "no page")
    that(
        "http://" not in reply.text.replace("http://www.w3.org", "")
        and "https://" not in reply.text.replace("https://www.w3.org", ""), "the page names an address elsewhere")


@check("server: connections are kept, and closed when asked")
def connections(c):
    run = subprocess.run([
        "curl", "-sS", "--noproxy", "*", "-o", "/dev/null", "-o", "/dev/null", "-w", "%{num_connects} ",
        c.server.url + "/health", c.server.url + "/props"
    ], capture_output=True, text=True)
    same(run.stdout.split(), ["1", "0"], "connections of two requests by curl")
    same(curl(c.server, "/health", "--http1.0").status, 200, "status of HTTP/1.0")
    same(
        curl(c.server, "/health", "-H", "Connection: close").headers.get("connection", "").lower(), "close",
        "Connection")
    reply = curl(c.server, "/health", "--head")
    same((reply.status, reply.body), (200, b""), "HEAD /health")
    large = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "metadata": "x" * 2_000_000}
    same(
        curl(c.server, "/v1/chat/completions", "-H", "Transfer-Encoding: chunked", body=large).status, 200,
        "a chunked body")
    same(
        curl(c.server, "/v1/chat/completions", "-H", "Expect: 100-continue", body=large).status, 200,
        "Expect: 100-continue")
