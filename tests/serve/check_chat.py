"""/v1/chat/completions: answers, streams, lengths, stop strings, seeds, several choices."""
import time

import client
from context import EDIT, GREEDY, SEEDED, STORY, finish, joined
from curl import curl
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check


@check("chat: a conversation of several roles")
def roles(c):
    answer = c.client.chat.completions.create(
        model="whatever", max_tokens=24, temperature=0,
        messages=[{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Name a colour."},
                  {"role": "assistant", "content": "Red."}, {"role": "user", "content": "Another one.", "name": "ann"}])
    that(answer.id.startswith("chatcmpl-") and len(answer.id) == len("chatcmpl-") + 32, f"id {answer.id}")
    same(answer.object, "chat.completion", "object")
    same(answer.model, c.model, "model: any name is taken, and echoed as the one that is loaded")
    that(abs(answer.created - time.time()) < 600, f"created {answer.created}")
    that(answer.system_fingerprint, "system_fingerprint is missing")
    (choice, ) = answer.choices
    same((choice.index, choice.message.role), (0, "assistant"), "the choice")
    that(choice.finish_reason in ("stop", "length") and choice.message.content, f"the choice: {choice}")
    usage = answer.usage
    same(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens, "total_tokens")
    that(usage.prompt_tokens > 8 and 1 <= usage.completion_tokens <= 24, f"usage: {usage}")
    that(0 <= usage.prompt_tokens_details.cached_tokens <= usage.prompt_tokens, f"usage: {usage}")


@check("chat: developer is system")
def developer(c):
    def said(role):
        return c.client.chat.completions.create(
            model="m", max_tokens=16, temperature=0, messages=[{"role": role, "content": "Speak of rivers."},
                                                               {"role": "user",
                                                                "content": "Go on."}]).choices[0].message.content

    same(said("developer"), said("system"), "the answer")


@check("chat: content parts are joined by newlines")
def content_parts(c):
    parts = [{"type": "text", "text": "Repeat this text:"}, {"type": "text", "text": EDIT}]
    in_parts = c.chat(parts, max_tokens=24, temperature=0)
    whole = c.chat("Repeat this text:\n" + EDIT, max_tokens=24, temperature=0)
    same(in_parts.choices[0].message.content, whole.choices[0].message.content, "the answer")
    same(in_parts.usage.prompt_tokens, whole.usage.prompt_tokens, "prompt_tokens")


@check("chat: the same prompt again is cached")
def cached(c):
    question = "Which of these is a fruit: hammer, apple, cloud? " + STORY
    first = c.server.chat(question, max_tokens=8, temperature=0)
    again = c.server.chat(question, max_tokens=8, temperature=0)
    fresh = c.server.chat(question, max_tokens=8, temperature=0, cache_prompt=False)
    cached_tokens = [a["usage"]["prompt_tokens_details"]["cached_tokens"] for a in (first, again, fresh)]
    that(cached_tokens[1] > 0 and cached_tokens[2] == 0,
         f"cached tokens of a first, a second, an uncached: {cached_tokens}")
    same([a["choices"][0]["message"] for a in (again, fresh)], [first["choices"][0]["message"]] * 2, "the answers")


@check("chat: a stream by the openai client")
def client_stream(c):
    chunks = list(c.chat(EDIT, max_tokens=40, temperature=0, stream=True, stream_options={"include_usage": True}))
    that(len({chunk.id for chunk in chunks}) == 1, "chunks of one answer have several ids")
    same({chunk.object for chunk in chunks}, {"chat.completion.chunk"}, "object")
    same(chunks[0].choices[0].delta.role, "assistant", "the first delta's role")
    same(chunks[0].choices[0].delta.content, "", "the first delta's content")
    that(all(chunk.choices[0].delta.role is None for chunk in chunks[1:-1]), "a later delta tells the role, too")
    same(chunks[-1].choices, [], "choices of the last chunk")
    that(all(chunk.usage is None for chunk in chunks[:-1]), "usage stands in another chunk than the last")
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    whole = c.chat(EDIT, max_tokens=40, temperature=0)
    same(text, whole.choices[0].message.content, "the stream's text")
    same(chunks[-2].choices[0].finish_reason, whole.choices[0].finish_reason, "finish_reason")
    same(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens, "completion_tokens")
    same(chunks[-1].usage.prompt_tokens, whole.usage.prompt_tokens, "prompt_tokens")


@check("chat: a stream on the wire")
def wire_stream(c):
    body = c.chat_body(EDIT, max_tokens=24, stream=True, **SEEDED)
    reply = curl(c.server, "/v1/chat/completions", "-N", body=body)
    same(reply.status, 200, "status")
    that(reply.headers["content-type"].startswith("text/event-stream"), f"content type {reply.headers['content-type']}")
    found = client.events(reply.body)
    same(found[-1], "[DONE]", "the last event")
    that('"usage"' not in "".join(found), "usage is told without include_usage")


@check("chat: a streamed answer is the unstreamed one")
def stream_is_whole(c):
    for sampling in (GREEDY, SEEDED, {"temperature": 1.3, "seed": 5}):
        for content in (EDIT, STORY):
            chunks = c.stream_chat(content, max_tokens=48, **sampling)
            same(joined(chunks), c.usual(content, 48, **sampling), f"a stream with {sampling}")
            that(finish(chunks) in ("stop", "length"), "finish_reason")


@check("chat: whole characters in every chunk")
def whole_characters(c):
    text = "héllo 日本語 🦊🏊 ½ Ω żółw"
    fields = {"grammar": f'root ::= "{text}"', "max_tokens": 96, "temperature": 0}
    chunks = c.stream_chat("Write it.", **fields)
    same(joined(chunks), text, "the text of a stream")
    that(all("\ufffd" not in joined([chunk]) for chunk in chunks), "a chunk has half a character")
    same(c.server.text("Write it.", **fields), text, "the text")


@check("chat: max_tokens and its other names")
def lengths(c):
    for name in ("max_tokens", "max_completion_tokens", "n_predict"):
        answer = c.server.chat(STORY, ignore_eos=True, temperature=0, **{name: 7})
        same(answer["usage"]["completion_tokens"], 7, f"completion_tokens with {name}")
        same(answer["choices"][0]["finish_reason"], "length", f"finish_reason with {name}")
    answer = c.server.chat(STORY, ignore_eos=True, temperature=0, max_tokens=9, max_completion_tokens=5)
    same(answer["usage"]["completion_tokens"], 5, "completion_tokens where the least counts")
    same(c.usual(STORY, 5, ignore_eos=True, **GREEDY), answer["choices"][0]["message"]["content"],
         "the shortest answer")


@check("chat: ignore_eos goes on")
def ignore_eos(c):
    answer = c.server.chat("What is 2 + 2? Answer with the number.", ignore_eos=True, temperature=0, max_tokens=160)
    same(answer["usage"]["completion_tokens"], 160, "completion_tokens")
    same(answer["choices"][0]["finish_reason"], "length", "finish_reason")


@check("chat: stop strings end the answer before them")
def stops(c):
    whole = c.usual(EDIT, 40, **GREEDY)
    that(len(whole) > 20, f"the answer is too short to try: {whole!r}")
    for first in range(0, len(whole) - 4, max(1, len(whole) // 10)):
        stop = whole[first:first + 4]
        expected = whole[:whole.index(stop)]
        answer = c.chat(EDIT, max_tokens=40, temperature=0, stop=stop)
        same(answer.choices[0].message.content, expected, f"the text before {stop!r}")
        same(answer.choices[0].finish_reason, "stop", f"finish_reason at {stop!r}")
        same(joined(c.stream_chat(EDIT, max_tokens=40, temperature=0, stop=[stop])), expected,
             f"a stream before {stop!r}")
    early, late = whole[8:11], whole[-6:-2]
    several = c.chat(EDIT, max_tokens=40, temperature=0, stop=[late, "never written \u2603", early])
    same(several.choices[0].message.content, whole[:min(whole.index(early), whole.index(late))],
         "the first of three stops")
    none = c.chat(EDIT, max_tokens=40, temperature=0, stop=["never written \u2603"])
    same(none.choices[0].message.content, whole, "the text with a stop that does not come")


@check("chat: stop strings inside accepted runs")
def stops_in_runs(c):
    c.need_drafter()
    answer = c.server.chat(EDIT, max_tokens=64, temperature=0, cycles=True)["choices"][0]
    whole, at, tried = answer["message"]["content"], 0, 0
    for cycle in answer["cycles"]:
        run = whole[at:at + cycle["characters"]]
        at += cycle["characters"]
        if cycle["tokens"] < 3 or len(run) < 5 or tried == 12:
            continue
        tried += 1
        stop = run[1:3] + run[3:4]  # begins and ends within the run
        same(c.server.text(EDIT, max_tokens=64, temperature=0, stop=stop), whole[:whole.index(stop)],
             f"before {stop!r}")
    that(tried > 0, f"no cycle of this answer wrote three tokens: {answer['cycles']}")
    return f"{tried} runs"


@check("chat: seeds")
def seeds(c):
    def said(**fields):
        return c.server.text(STORY, max_tokens=40, temperature=1, **fields)

    first = said(seed=7)
    same(said(seed=7), first, "the text of an equal seed")
    that(said(seed=8) != first, "seeds 7 and 8 write the same text")
    that(said() != said(), "two answers without a seed are the same")
    that(said(seed=-1) != said(seed=-1), "two answers with seed -1, a random one, are the same")
    same(said(seed=18446744073709551615), said(seed=18446744073709551615), "the text of the largest seed")
    same(said(seed=-9223372036854775808), said(seed=-9223372036854775808), "the text of the least seed")


@check("chat: n answers are those of the seeds that follow")
def several(c):
    answer = c.chat(STORY, n=3, max_tokens=24, temperature=1, seed=100)
    same([choice.index for choice in answer.choices], [0, 1, 2], "indices")
    lone = [c.server.text(STORY, max_tokens=24, temperature=1, seed=100 + i) for i in range(3)]
    same([choice.message.content for choice in answer.choices], lone, "the answers")
    that(answer.usage.completion_tokens <= 72, f"usage: {answer.usage}")
    chunks = c.stream_chat(STORY, n=3, max_tokens=24, temperature=1, seed=100)
    same([joined(chunks, i) for i in range(3)], lone, "the answers of a stream")
    for i in range(3):
        finish(chunks, i)
        first = next(x for chunk in chunks for x in chunk["choices"] if x["index"] == i)
        same(first["delta"].get("role"), "assistant", f"the role in the first delta of choice {i}")


@check("chat: unknown, null and ignored fields change nothing")
def ignored(c):
    expected = c.usual(EDIT, 16, **GREEDY)
    extra = {
        "what_is_this": [1, {"x": None}], "metadata": {"a": "b"}, "store": True, "service_tier": "auto", "user": "me",
        "stop": None, "seed": None, "tools": None, "response_format": None, "reasoning_effort": "low",
        "response_format_": "x", "logit_bias": None, "stream": None, "best_of": 1, "echo": False, "suffix": 3
    }
    same(c.server.text(EDIT, max_tokens=16, temperature=0, **extra), expected, "the answer")
    same(c.server.text(EDIT, max_tokens=16, temperature=0, response_format={"type": "text"}, tools=[], stop=[]),
         expected, "the answer with empty lists")
