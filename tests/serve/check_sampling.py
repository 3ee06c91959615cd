"""Sampling options: each has its effect, and the text is the same with and without speculation."""
from context import EDIT, GREEDY, STORY
from results import Suite, same, that

SUITE = Suite()
check = SUITE.check

LIST = "one two three four one two three four one two three"
WARM = {"temperature": 1.2, "seed": 21}


def both(c, content, **fields):
    """The text of an answer. Fails unless it is the same without speculation."""
    text = c.server.text(content, max_tokens=40, **fields)
    same(c.server.text(content, max_tokens=40, drafter="none", **fields), text, f"with and without a drafter, {fields}")
    return text


@check("sampling: temperature 0 and cuts to the likeliest token are greedy")
def greedy(c):
    expected = c.usual(STORY, 40, **GREEDY)
    for cut in ({"top_k": 1}, {"min_p": 1}, {"top_p": 0}, {"temperature": 0, "top_p": 0.5, "seed": 9}):
        same(both(c, STORY, **{**WARM, **cut}), expected, f"the text with {cut}")


@check("sampling: cuts change the text")
def cuts(c):
    whole = both(c, STORY, **WARM)
    same(both(c, STORY, top_k=-1, top_p=1, min_p=0, **WARM), whole, "the text with cuts that cut nothing")
    same(both(c, STORY, top_k=0, typical_p=1, **WARM), whole, "the text with cuts that cut nothing")
    for cut in ({"top_k": 2}, {"top_p": 0.3}, {"min_p": 0.4}, {"typical_p": 0.3}, {"temperature": 0.3}):
        that(both(c, STORY, **{**WARM, **cut}) != whole, f"{cut} changes nothing")


@check("sampling: penalties change the text")
def penalties(c):
    whole = both(c, EDIT, **GREEDY)
    for penalty in ({"frequency_penalty": 2}, {"presence_penalty": 2}, {"repeat_penalty": 1.8},
                    {"repetition_penalty": 1.8}):
        that(both(c, EDIT, **GREEDY, **penalty) != whole, f"{penalty} changes nothing")
    same(both(c, EDIT, **GREEDY, repeat_penalty=1.8, repeat_last_n=0), whole,
         "the text with penalties that look back on nothing")
    near = both(c, EDIT, **GREEDY, repeat_penalty=1.8, repeat_last_n=4)
    far = both(c, EDIT, **GREEDY, repeat_penalty=1.8, repeat_last_n=-1)
    that(near != far, "penalties that look back on 4 tokens and on all write the same")
    same(both(c, EDIT, **GREEDY, repeat_penalty=1.8), both(c, EDIT, **GREEDY, repetition_penalty=1.8),
         "two names of one penalty")


@check("sampling: logit_bias")
def logit_bias(c):
    def first(**fields):
        return c.complete(LIST, max_tokens=1, temperature=0, logprobs=0, **fields).choices[0]

    usual = first()
    token = c.tokens(usual.text)[0]
    banned = first(logit_bias={str(token): -100})
    that(banned.text != usual.text, f"{usual.text!r} is written in spite of a bias of -100")
    ruled_out = c.server.post(
        "/v1/completions",
        {"prompt": LIST, "max_tokens": 1, "temperature": 0, "logit_bias": {str(token): False}}).good()
    that(ruled_out["choices"][0]["text"] != usual.text, f"{usual.text!r} is written in spite of a bias of false")
    (fox, ) = c.tokens(" x")[:1]
    wanted = c.server.post("/detokenize", {"tokens": [fox]}).good()["content"]
    same(first(logit_bias={str(fox): 100}).text, wanted, "the text with a bias of 100")
    for drafter in ("none", *c.drafters):
        answer = c.complete(LIST, max_tokens=24, temperature=0, logit_bias={str(token): -3},
                            extra_body={"drafter": drafter}).choices[0].text
        plain = c.complete(LIST, max_tokens=24, temperature=0, logit_bias={str(token): -3},
                           extra_body={"drafter": "none"}).choices[0].text
        same(answer, plain, f"the text with a bias, drafter {drafter}")


@check("sampling: all at once")
def together(c):
    fields = {
        "temperature": 0.9, "top_k": 40, "top_p": 0.95, "min_p": 0.02, "typical_p": 0.95, "seed": 33,
        "frequency_penalty": 0.3, "presence_penalty": 0.2, "repeat_penalty": 1.1, "repeat_last_n": 32
    }
    text = both(c, EDIT, **fields)
    same(both(c, EDIT, **fields), text, "the text, again")
