"""What the checks of faults share: servers, numbers of repetitions, and a reference answer."""
import random

import client
import server as servers
from results import same

QUESTION = "Correct this text: The market open every Saturday. The farmers brings bread to the market."
LONG = "Write a long story about a fox, a river and a bridge."


class Faults:
    """The context of every fault's check."""
    def __init__(self, args):
        self.model, self.binary, self.scale, self.seed = args.model, args.binary, args.scale, args.seed
        self.is_instrumented = args.binary.parent.name in ("asan", "tsan")
        if self.is_instrumented:
            client.TIMEOUT *= 5  # a token takes about ten times as long with a sanitizer

    def count(self, full, least=1):
        """The number of repetitions at this scale, at least `least`. `full`: at scale 1."""
        return max(least, round(full * self.scale))

    def random(self, name):
        return random.Random(f"{self.seed} {name}")

    def start(self, *options, port=0):
        return servers.Server(self.model, *options, binary=self.binary, port=port)


class Reference:
    """An answer that the server must give again after every fault."""
    def __init__(self, server, tokens=24):
        self.fields = {"max_tokens": tokens, "temperature": 0, "cache_prompt": False}
        self.text = server.text(QUESTION, **self.fields)

    def check(self, server, when):
        same(server.text(QUESTION, **self.fields), self.text, f"the reference answer {when}")


def body_of(path, content, **fields):
    """The body of a request to either endpoint, as bytes."""
    prompt = {"messages": [{"role": "user", "content": content}]} if "chat" in path else {"prompt": content}
    return client.encode({**prompt, **fields})
