"""/v1/completions: text and tokens, several prompts, n, streams."""
import time

from context import GREEDY, SEEDED, finish, joined
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

ONCE = "Once upon a time there was a"
LIST = "one two three four one two three four one two three"


@check("completions: a text")
def text(c):
    answer = c.complete(ONCE, max_tokens=24, temperature=0)
    that(answer.id.startswith("cmpl-"), f"id {answer.id}")
    same((answer.object, answer.model), ("text_completion", c.model), "object and model")
    that(abs(answer.created - time.time()) < 600, f"created {answer.created}")
    (choice, ) = answer.choices
    that(choice.text and choice.finish_reason in ("stop", "length"), f"the choice: {choice}")
    same(answer.usage.prompt_tokens, len(c.tokens(ONCE, add_special=True)), "prompt_tokens")
    same(choice.text, c.generate("-p", ONCE, "-n", 24), "the text that `foretoken generate` writes")


@check("completions: tokens are the text's")
def tokens(c):
    ids = c.tokens(ONCE, add_special=True)
    by_text = c.complete(ONCE, max_tokens=24, temperature=0)
    by_tokens = c.complete(ids, max_tokens=24, temperature=0)
    same(by_tokens.choices[0].text, by_text.choices[0].text, "the text")
    same(by_tokens.usage.prompt_tokens, len(ids), "prompt_tokens")


@check("completions: several prompts, n of each")
def prompts(c):
    asked = [ONCE, LIST, "The sky is"]
    lone = [c.complete(p, max_tokens=12, temperature=0).choices[0].text for p in asked]
    answer = c.complete(asked, max_tokens=12, temperature=0)
    same([choice.index for choice in answer.choices], [0, 1, 2], "indices")
    same([choice.text for choice in answer.choices], lone, "the texts")
    mixed = c.complete([c.tokens(p, add_special=True) for p in asked], max_tokens=12, temperature=0)
    same([choice.text for choice in mixed.choices], lone, "the texts of prompts of tokens")
    twice = c.complete(asked[:2], n=2, max_tokens=12, temperature=1, seed=3)

    def alone(i):  # a seed for each answer
        return c.complete(asked[i // 2], max_tokens=12, temperature=1, seed=3 + i).choices[0].text

    expected = [alone(i) for i in range(4)]
    same([choice.text for choice in twice.choices], expected, "two answers of two prompts, all of the first one before")
    chunks = c.stream_text(asked, max_tokens=12, **GREEDY)
    same([joined(chunks, i) for i in range(3)], lone, "the texts of a stream")
    same([finish(chunks, i) is not None for i in range(3)], [True] * 3, "finish reasons")


@check("completions: a streamed answer is the unstreamed one")
def stream(c):
    for sampling in (GREEDY, SEEDED):
        for prompt in (ONCE, LIST):
            whole = c.complete(prompt, max_tokens=32, **sampling)
            chunks = c.stream_text(prompt, max_tokens=32, stream_options={"include_usage": True}, **sampling)
            same(joined(chunks), whole.choices[0].text, f"the text of a stream with {sampling}")
            same(chunks[-1]["choices"], [], "choices of the last chunk")
            same(chunks[-1]["usage"]["completion_tokens"], whole.usage.completion_tokens, "completion_tokens")
            that(all(chunk["usage"] is None for chunk in chunks[:-1]), "usage of other chunks is not null")
            same({chunk["object"] for chunk in chunks}, {"text_completion"}, "object")
    said = [chunk.choices[0].text for chunk in c.complete(ONCE, max_tokens=16, temperature=0, stream=True)]
    same("".join(said), c.complete(ONCE, max_tokens=16, temperature=0).choices[0].text, "the openai client's stream")


@check("completions: stop strings")
def stops(c):
    whole = c.complete(LIST, max_tokens=40, temperature=0).choices[0].text
    that(len(whole) > 12, f"the answer is too short to try: {whole!r}")
    for first in range(1, len(whole) - 3, max(1, len(whole) // 6)):
        stop = whole[first:first + 3]
        answer = c.complete(LIST, max_tokens=40, temperature=0, stop=stop)
        same(answer.choices[0].text, whole[:whole.index(stop)], f"the text before {stop!r}")
        same(joined(c.stream_text(LIST, max_tokens=40, stop=stop, **GREEDY)), whole[:whole.index(stop)],
             f"a stream before {stop!r}")


@check("completions: sampled as `foretoken generate` samples")
def sampled(c):
    answer = c.complete(ONCE, max_tokens=32, temperature=0.8, top_p=0.9, seed=11)
    written = c.generate("-p", ONCE, "-n", 32, "--temp", 0.8, "--top-p", 0.9, "--seed", 11)
    same(answer.choices[0].text, written, "the text")
    extra = {"top_k": 20, "min_p": 0.05, "repeat_penalty": 1.2}
    answer = c.complete(ONCE, max_tokens=32, temperature=1.1, seed=5, extra_body=extra)
    written = c.generate("-p", ONCE, "-n", 32, "--temp", 1.1, "--top-k", 20, "--min-p", 0.05, "--repeat-penalty", 1.2,
                         "--seed", 5)
    same(answer.choices[0].text, written, "the text with top_k, min_p and a penalty")


@check("completions: an empty prompt")
def empty(c):
    reply = c.server.post("/v1/completions", {"prompt": "", "max_tokens": 4, "temperature": 0})
    if reply.status == 200:  # the model begins every text with a token of its own, so the prompt is not empty
        return "answered"
    same((reply.status, reply.error()["param"]), (400, "prompt"), "status and param")
    return "refused"
