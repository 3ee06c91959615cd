"""Speculation changes no text and no log-probability, and is reported in counts, timings and predictions."""
import client
from context import EDIT, GREEDY, SEEDED, STORY, joined
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

COUNTS = ["num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens"]


@check("speculation: the text of every drafter")
def drafters(c):
    names = ["none", *c.drafters]
    for content in (EDIT, STORY):
        for sampling in (GREEDY, SEEDED):
            expected = c.usual(content, 48, **sampling)
            for name in names:
                same(c.server.text(content, max_tokens=48, drafter=name, **sampling), expected,
                     f"the text with drafter {name} and {sampling}")
    return ", ".join(names)


@check("speculation: the text that `foretoken generate` writes")
def generated(c):
    for content in (EDIT, STORY):
        same(c.usual(content, 48, **GREEDY), c.generate("--chat", "-p", content, "-n", 48), "the greedy text")
        same(c.usual(content, 48, **GREEDY), c.generate("--chat", "-p", content, "-n", 48, "--drafter", "none"),
             "the greedy text without a drafter")
    written = c.generate("--chat", "-p", STORY, "-n", 48, "--temp", 0.8, "--top-p", 0.9, "--seed", 11)
    same(c.usual(STORY, 48, **SEEDED), written, "the text of a seed")


@check("speculation: the text with a system message that `foretoken generate` writes")
def generated_system(c):
    messages = [{"role": "system", "content": "You correct texts."}, {"role": "user", "content": EDIT}]
    body = {"messages": messages, "max_tokens": 32, "temperature": 0}
    answer = c.server.post("/v1/chat/completions", body).good()["choices"][0]["message"]["content"]
    same(answer, c.generate("--chat", "--system", "You correct texts.", "-p", EDIT, "-n", 32), "the text")


@check("speculation: log-probabilities of a chat")
def logprobs(c):
    for sampling in (GREEDY, SEEDED):
        fields = {"max_tokens": 24, "logprobs": True, "top_logprobs": 5, **sampling}
        answer = c.server.chat(EDIT, **fields)
        choice = answer["choices"][0]
        entries = choice["logprobs"]["content"]
        check_entries(entries, choice["message"]["content"], answer["usage"], 5)
        if sampling is GREEDY:
            that(all(e["token"] == e["top_logprobs"][0]["token"] for e in entries),
                 "a greedy token is not the likeliest")
        plain = c.server.chat(EDIT, drafter="none", **fields)["choices"][0]
        same(choice["logprobs"], plain["logprobs"], f"log-probabilities with and without speculation, {sampling}")
        chunks = c.stream_chat(EDIT, **fields)
        streamed = [e for chunk in chunks for x in chunk["choices"] if x["logprobs"] for e in x["logprobs"]["content"]]
        same(streamed, entries, "log-probabilities of a stream")
    entries = c.server.chat(EDIT, max_tokens=4, logprobs=True, temperature=0)["choices"][0]["logprobs"]["content"]
    that(all(e["top_logprobs"] == [] for e in entries), "alternatives without top_logprobs")
    same(
        c.server.chat(EDIT, max_tokens=4, temperature=0)["choices"][0]["logprobs"], None,
        "logprobs that nobody asked for")


def check_entries(entries, text, usage, alternatives):
    """Expects one entry per token, bytes that add up to the text, and alternatives in falling order."""
    written = b"".join(bytes(e["bytes"]) for e in entries)
    that(written.decode("utf-8", errors="ignore").startswith(text), f"bytes {written!r} are not those of {text!r}")
    that(
        len(entries) in (usage["completion_tokens"], usage["completion_tokens"] - 1),
        f"{len(entries)} entries for {usage['completion_tokens']} tokens")
    for entry in entries:
        that(entry["logprob"] <= 0, f"logprob {entry['logprob']}")
        tops = [top["logprob"] for top in entry["top_logprobs"]]
        that(len(tops) == alternatives and tops == sorted(tops, reverse=True), f"alternatives: {tops}")
        that(entry["logprob"] <= tops[0], "the token is likelier than the likeliest")


@check("speculation: log-probabilities of a completion")
def text_logprobs(c):
    prompt = "one two three four one two three four one two"
    fields = {"max_tokens": 24, "logprobs": 3, "temperature": 0}
    choice = c.complete(prompt, **fields).choices[0].model_dump()
    found = choice["logprobs"]
    counts = {len(found[key]) for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}
    that(len(counts) == 1, f"lists of different lengths: {counts}")
    offset = 0
    for token, at, tops, logprob in zip(found["tokens"], found["text_offset"], found["top_logprobs"],
                                        found["token_logprobs"]):
        if "\ufffd" not in choice["text"] and "\ufffd" not in token and at < len(choice["text"]):
            that(choice["text"].startswith(token, at) or choice["text"].endswith(token[:1]),
                 f"{token!r} is not at {at}")
        that(at >= offset and 1 <= len(tops) <= 4, f"at {at}: {tops}")
        same(tops[token], logprob, f"the share of {token!r} among the alternatives")
        offset = at
    plain = c.complete(prompt, extra_body={"drafter": "none"}, **fields).choices[0].model_dump()
    same(found, plain["logprobs"], "log-probabilities with and without speculation")
    chunks = c.stream_text(prompt, **fields)
    parts = [x["logprobs"] for chunk in chunks for x in chunk["choices"] if x["logprobs"]]
    for key in found:
        same([v for part in parts for v in part[key]], found[key], f"{key} of a stream")


@check("speculation: the block of an answer")
def block(c):
    c.need_drafter()
    answer = c.server.chat(EDIT, max_tokens=64, temperature=0, speculation_metrics="detailed")
    found = answer["metrics"]["speculative_decoding"]
    that(found, "nothing was drafted for a text that copies")
    same(sum(found["per_step_accepted"]), found["num_accepted_draft_tokens"], "accepted tokens of the steps")
    same(sum(found["per_step_drafted"]), found["num_draft_tokens"], "drafted tokens of the steps")
    same(len(found["per_step_accepted"]), found["num_spec_steps"], "steps")
    same(sum(found["acceptance_histogram"]), found["num_spec_steps"], "the histogram's sum")
    same(sum(i * n for i, n in enumerate(found["acceptance_histogram"])), found["num_accepted_draft_tokens"],
         "its mean")
    mean = 1 + found["num_accepted_draft_tokens"] / found["num_spec_steps"]
    that(abs(found["mean_acceptance_length"] - mean) < 1e-6, f"mean_acceptance_length {found}")
    rate = found["num_accepted_draft_tokens"] / found["num_draft_tokens"]
    that(abs(found["draft_acceptance_rate"] - rate) < 1e-6, f"draft_acceptance_rate {found}")
    by_length = [
        sum(n) for n in zip(*[[sum(v), sum(i * k for i, k in enumerate(v))]
                              for v in found["acceptance_histogram_by_draft_length"].values()])
    ]
    same(by_length, [found["num_spec_steps"], found["num_accepted_draft_tokens"]], "the histograms by length")
    that(found["num_accepted_draft_tokens"] > 0, "no guess was accepted in a text that copies")
    return f"{found['mean_acceptance_length']:.2f} tokens a step"


@check("speculation: where the block is told")
def block_places(c):
    def of(**fields):
        return c.server.chat(EDIT, max_tokens=24, temperature=0, **fields)

    that("metrics" not in of(speculation_metrics="none"), "metrics with speculation_metrics none")
    summary = of(speculation_metrics="summary")["metrics"]["speculative_decoding"]
    that("per_step_accepted" not in (summary or {}), "a summary lists every step")
    same(of(n=2)["metrics"]["speculative_decoding"], None, "the block of two answers")
    same(of(drafter="none")["metrics"]["speculative_decoding"], None, "the block without a drafter")
    chunks = c.stream_chat(EDIT, max_tokens=24, temperature=0, stream_options={"include_usage": True})
    that(all("metrics" not in chunk for chunk in chunks[:-1]), "a chunk before the last has metrics")
    same(set(chunks[-1]["metrics"]["speculative_decoding"] or {}), set(summary or {}),
         "the block of a stream's last chunk")


@check("speculation: timings")
def timings(c):
    answer = c.server.chat(STORY, max_tokens=24, temperature=0, cache_prompt=False)
    found, usage = answer["timings"], answer["usage"]
    same(found["prompt_n"] + found["cache_n"], usage["prompt_tokens"], "prompt_n and cache_n")
    same(found["predicted_n"], usage["completion_tokens"], "predicted_n")
    that(found["prompt_ms"] > 0 and found["predicted_ms"] > 0, f"timings: {found}")
    rate = 1000 * found["predicted_n"] / found["predicted_ms"]
    that(abs(found["predicted_per_second"] / rate - 1) < 1e-3, f"predicted_per_second: {found}")
    that(found.get("draft_n", 0) >= found.get("draft_n_accepted", 0), f"drafts: {found}")
    chunks = c.stream_chat(STORY, max_tokens=24, temperature=0, timings_per_token=True)
    counts = [chunk["timings"]["predicted_n"] for chunk in chunks if "timings" in chunk]
    that(len(counts) > 1 and counts == sorted(counts), f"predicted_n of chunks: {counts}")


@check("speculation: cycles cover the text")
def cycles(c):
    for drafter in ("none", *c.drafters[:1]):
        answer = c.server.chat(EDIT, max_tokens=48, temperature=0, cycles=True, drafter=drafter)
        (choice, ) = answer["choices"]
        found = choice["cycles"]
        same(sum(cycle["characters"] for cycle in found), len(choice["message"]["content"]), f"characters, {drafter}")
        same(sum(cycle["tokens"] for cycle in found), answer["usage"]["completion_tokens"], f"tokens, {drafter}")
        that(all(0 <= x["accepted"] <= x["drafted"] and x["accepted"] <= x["tokens"] for x in found),
             f"cycles: {found}")
        chunks = c.stream_chat(EDIT, max_tokens=48, temperature=0, cycles=True, drafter=drafter)
        streamed = [x for chunk in chunks for choice in chunk["choices"] for x in choice.get("cycles", [])]
        same(sum(x["characters"] for x in streamed), len(joined(chunks)), f"characters of a stream, {drafter}")
        same(sum(x["tokens"] for x in streamed), answer["usage"]["completion_tokens"], f"tokens of a stream, {drafter}")


@check("speculation: a prediction is drafted from")
def prediction(c):
    c.need_drafter()
    whole = c.usual(STORY, 64, **GREEDY)
    guess = {"type": "content", "content": whole}
    answer = c.chat(STORY, max_tokens=64, temperature=0, prediction=guess)
    same(answer.choices[0].message.content, whole, "the text with the right prediction")
    details = answer.usage.completion_tokens_details
    that(details.accepted_prediction_tokens > 0, f"nothing of the right prediction was accepted: {details}")
    that(details.accepted_prediction_tokens <= answer.usage.completion_tokens,
         f"more was accepted than written: {details}")
    parts = {"type": "content", "content": [{"type": "text", "text": whole}]}
    in_parts = c.chat(STORY, max_tokens=64, temperature=0, prediction=parts)
    same(in_parts.choices[0].message.content, whole, "the text with a prediction in parts")
    wrong = {"type": "content", "content": "Nothing of this will be written, whatever it says. " * 8}
    other = c.chat(STORY, max_tokens=64, temperature=0, prediction=wrong)
    same(other.choices[0].message.content, whole, "the text with a wrong prediction")
    seeded = c.chat(STORY, max_tokens=48, prediction={"type": "content", "content": c.usual(STORY, 48, **SEEDED)},
                    **SEEDED)
    same(seeded.choices[0].message.content, c.usual(STORY, 48, **SEEDED), "the text of a seed with its prediction")
    none = c.server.chat(STORY, max_tokens=48, temperature=0)["usage"]["completion_tokens_details"]
    same(none, {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}, "details without a prediction")
    return f"{details.accepted_prediction_tokens} of {answer.usage.completion_tokens} tokens"


@check("speculation: counters rise")
def counters(c):
    c.need_drafter()

    def read():
        samples = client.metrics(c.server.get("/metrics").text)
        names = [
            f"{space}:spec_decode_{name}" for space in ("vllm", "llamacpp")
            for name in ("num_drafts_total", "num_draft_tokens_total", "num_accepted_tokens_total",
                         "num_accepted_tokens_per_pos_total")
        ]
        return samples, [client.value(samples, name) for name in names]

    _, before = read()
    answer = c.server.chat(EDIT, max_tokens=64, temperature=0)
    samples, after = read()
    rises = [b - a for a, b in zip(before, after)]
    block = answer["metrics"]["speculative_decoding"]
    same(rises[:3], [block[name] for name in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")],
         "the rise of drafts, draft tokens and accepted tokens")
    same(rises[3], rises[2], "the rise of accepted tokens over all positions")
    same(rises[4:], rises[:4], "the rise of llama.cpp's counters")
    methods = {labels.get("method") for name, labels, _ in samples if name == "vllm:spec_decode_num_drafts_total"}
    that(methods and None not in methods, f"methods: {methods}")
