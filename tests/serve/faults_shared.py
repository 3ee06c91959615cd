"""What the faults share: servers, numbers of repetitions, and an answer that must stay the same."""
import random

import client
import server as servers
from results import same

QUESTION = "Correct this text: The market open every Saturday. The farmers brings bread to the market."
LONG = "Write a long story about a fox, a river and a bridge."


class Faults:
    """What every fault is given."""
    def __init__(self, args):
        self.model, self.binary, self.scale, self.seed = args.model, args.binary, args.scale, args.seed
        self.is_instrumented = args.binary.parent.name in ("asan", "tsan")

    def count(self, full, least=1):
        """A number of repetitions at this scale."""
        return max(least, round(full * self.scale))

    def random(self, name):
        return random.Random(f"{self.seed} {name}")

    def start(self, *options, port=0):
        return servers.Server(self.model, *options, binary=self.binary, port=port)


class Reference:
    """An answer that must be the same whatever happened in between."""
    def __init__(self, server, tokens=24):
        self.fields = {"max_tokens": tokens, "temperature": 0, "cache_prompt": False}
        self.text = server.text(QUESTION, **self.fields)

    def check(self, server, when):
        same(server.text(QUESTION, **self.fields), self.text, f"the reference answer {when}")


def body_of(path, content, **fields):
    """The bytes of a request's body, for either endpoint."""
    prompt = {"messages": [{"role": "user", "content": content}]} if "chat" in path else {"prompt": content}
    return client.encode({**prompt, **fields})
