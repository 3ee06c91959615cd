"""What the checks of one model share: its server, the `openai` client, prompts and cached answers."""
import functools
import subprocess

import openai

import client
import server as servers
from results import Skip, that

# EDIT's answer repeats the prompt, so that drafts are accepted; STORY's does not.
EDIT = (
    "Correct this text, and answer with the text only: The market open every Saturday. The farmers brings bread to the "
    "market, and the market close at noon. The market open every Saturday.")
STORY = "Write a short story about a fox who learns to swim."
SEEDED = {"temperature": 0.8, "top_p": 0.9, "seed": 11}
GREEDY = {"temperature": 0}


class Context:
    def __init__(self, server, path, binary):
        self.server, self.path, self.binary = server, path, binary
        self.client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=client.TIMEOUT)
        self.props = server.get("/props").good()
        self.document = server.get("/openapi.json").good()
        self.model = self.props["model_alias"]
        self.context = self.props["default_generation_settings"]["n_ctx"]
        self.vocab = server.get("/v1/models").good()["data"][0]["meta"]["n_vocab"]
        self.drafters = self.props["drafters"]

    # Answers by the openai client.

    def chat(self, content, **fields):
        """The chat.completion for one user message. Fields that the client does not know go into extra_body."""
        return self.client.chat.completions.create(model="any", messages=[{"role": "user", "content": content}],
                                                   **fields)

    def complete(self, prompt, **fields):
        return self.client.completions.create(model="any", prompt=prompt, **fields)

    @functools.lru_cache(maxsize=None)
    def usual(self, content, tokens, **sampling):
        """The text of an answer with the default drafter, cached."""
        return self.server.text(content, max_tokens=tokens, **sampling)

    # Requests without the openai client.

    def chat_body(self, content, **fields):
        return {"messages": [{"role": "user", "content": content}], **fields}

    def post_chat(self, content, **fields):
        return self.server.post("/v1/chat/completions", self.chat_body(content, **fields))

    def stream_chat(self, content, **fields):
        return client.stream(self.server, "/v1/chat/completions", self.chat_body(content, **fields))

    def stream_text(self, prompt, **fields):
        return client.stream(self.server, "/v1/completions", {"prompt": prompt, **fields})

    # Commands, other endpoints, and what the server has.

    def generate(self, *options):
        """What `foretoken generate` writes with this model."""
        command = [str(self.binary), "generate", "-m", str(self.path), "-q", *map(str, options)]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=servers.START_SECONDS)
        that(run.returncode == 0, f"{' '.join(command)}: status {run.returncode}: {run.stderr.decode()[-300:]}")
        return run.stdout.decode("utf-8")

    def tokens(self, text, **fields):
        return self.server.post("/tokenize", {"content": text, **fields}).good()["tokens"]

    def need_drafter(self):
        if self.props["drafter"] == "none":
            raise Skip("the server has no drafter")

    def has_tools(self):
        return "tools" in self.props["chat_template"] and "<tool_call>" in self.props["chat_template"]


def joined(chunks, index=0):
    """The text of one choice of a stream."""
    parts = []
    for chunk in chunks:
        for choice in chunk["choices"]:
            if choice["index"] == index:
                parts.append(choice["delta"].get("content") or "" if "delta" in choice else choice["text"])
    return "".join(parts)


def finish(chunks, index=0):
    """The finish_reason of one choice of a stream. Fails unless the choice's last chunk, and no other, has it."""
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    that(reasons and reasons[-1] is not None and not any(reasons[:-1]), f"finish reasons of a stream: {reasons}")
    return reasons[-1]
