#!/usr/bin/env python3
"""Runs the commands of README.md and the pages of docs/ as their reader would.

A command is a line of a code block that begins with `foretoken` or `curl`, or a code span that gives a subcommand options
or files. Commands run in the order of the pages, equal ones once, in a scratch folder that has the files that the pages
name. They read an empty standard input and must end with status 0. `serve` must answer /health, accept the `curl` lines
that follow it on its page, and end with status 0 on SIGTERM. SKIPPED lists what does not run.

usage: tests/docs/run_commands.py [BINARY]
"""
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "tests" / "serve")]
import check_docs  # noqa: E402
import server as servers  # noqa: E402

BEGINS = re.compile(r"((build/release/)?foretoken|curl) ")
COMMAND_SECONDS = 100  # a busy machine included
SHOWN = 100  # characters of a command

# Commands that do not run: a pattern that is searched in the page's text, and why.
SKIPPED = [
    (r"foretoken train |--draft runs/", "trains, or needs a trained run"),
    (r"smollm2-135m|qwen2\.5-coder", "needs a model that is not in the tree"),
    (r"--random 1\.1b", "needs minutes, and memory for 1.1 billion weights"),
    (r"bench peers", "needs the programs of llama.cpp"),
    (r"bench (decode|neighbours|batch) -m|bench project", "measures for more than 30 s"),
    (r"find-heads", "takes more than 10 s"),
    (r"^foretoken (generate --check|generate --stats -|bench spec --json FILE)$", "is the name of an option"),
]

# What stands for a file or value of the reader's.
PLACEHOLDERS = {
    "MODEL": "model.gguf",
    "MODEL.gguf": "model.gguf",
    "DRAFT": "draft.gguf",
    "FILE": "draft.gguf",
    "COMMAND": "generate",
    "hass.vocabulary=N": "hass.vocabulary=1024",
    "hass.head=H": "hass.head=q4_0",
    "vocabulary=$n": "vocabulary=all",
    "head=$h": "head=q4_0",
    "hf-directory/ -o model.gguf": "hf-directory/ -o converted.gguf",  # model.gguf is there, and is not replaced
}
PLACEHOLDER = re.compile(r"(?<=\s)(%s)(?=\s|$)" % "|".join(map(re.escape, PLACEHOLDERS)))

PROMPT = ("Please correct this text, and answer with the text only: The market open every Saturday. "
          "The farmers brings bread to the market, and the market close at noon.")
QUOTING = """Answer the question with a summary that quotes the sources. Mark each copied span as [ source_number span ].

[1] Markets: The market opens every Saturday.

[2] Bread: Farmers bring bread to the market.

Question: Who brings bread to the market?
Answer:"""


class Command(typing.NamedTuple):
    page: str
    line: int
    text: str

    @property
    def is_server(self):
        return re.match(r"\S*foretoken serve (?!--help)", self.text) is not None

    @property
    def is_request(self):
        return self.text.startswith("curl ")


def is_whole(text):
    """Whether a code span is more than the name of a subcommand."""
    return any(not re.fullmatch(r"[a-z][a-z-]*", word) for word in shlex.split(text)[1:])


def commands_of(path):
    page = check_docs.Page(ROOT / path)
    found = list(check_docs.command_lines(page.blocks, BEGINS))
    found += [(line, text) for line, text in check_docs.command_lines(page.spans, check_docs.COMMAND)
              if "foretoken " in text and is_whole(text)]
    return [Command(path, line, text) for line, text in sorted(found)]


def json_lines(*objects):
    return "".join(json.dumps(o) + "\n" for o in objects)


def make_scratch(folder, binary):
    """Fills `folder` with a clone's places and the files that pages name; returns the clone."""
    clone = folder / "clone"
    question = {"question_id": 1, "category": "summarization", "turns": [PROMPT]}
    chat = {"conversations": [{"from": "human", "value": PROMPT}, {"from": "gpt", "value": "The market opens."}]}
    files = {
        "question.txt": PROMPT,
        "review.txt": "Is this review positive? The bread was fresh, and we will come again.",
        "sentiment.json": json.dumps({"enum": ["positive", "negative"]}),
        "list.gbnf": 'root ::= ("- " [a-z]+ "\\n")+',
        "chats.jsonl": json_lines(chat, chat),
        "answers.jsonl": json_lines(chat, chat),
        "questions.jsonl": json_lines(question, {**question, "question_id": 2}),
        "spec_bench.jsonl": json_lines(question),
        "quotesum_dev.jsonl": json_lines({
            "question_id": 1, "category": "attribution", "turns": [QUOTING],
            "reference": ["[ 2 Farmers bring bread ] to the market."]}),
        "texts/prose.txt": (PROMPT + "\n") * 40,
        "../shared/data/eval/spec_bench.jsonl": json_lines(question),
        "../shared/data/train/rust_book.txt": (PROMPT + "\n") * 40,
    }
    for name, text in files.items():
        path = clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    drafts = ROOT / "models" / "drafts"
    links = {
        "models": ROOT / "models",
        "draft.gguf": drafts / "foretoken-demo-24m-hass-q8_0.gguf",
        "hf-directory": ROOT / "tests" / "parity" / "model" / "llama",
        "build/release/foretoken": binary,
        "../bin/foretoken": binary,
        **{f"drafts/{path.name}": path for path in drafts.glob("foretoken-demo-*.gguf")},
    }
    for name, target in links.items():
        path = clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    # A copy, so that no command can write to the shipped file.
    shutil.copyfile(ROOT / "models" / "foretoken-demo-24m-q8_0.gguf", clone / "model.gguf")
    return clone


def run(text):
    try:
        done = subprocess.run(["bash", "-c", text], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=COMMAND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"does not end within {COMMAND_SECONDS} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace")
        raise AssertionError(f"status {done.returncode}: {said[-600:].strip()}")


def filled_in(text):
    return PLACEHOLDER.sub(lambda found: PLACEHOLDERS[found[0]], text)


class Report:
    """Prints a line for each command, and counts."""

    def __init__(self):
        self.passed = self.skipped = self.failed = 0

    def _print(self, outcome, command, what):
        text = command.text if len(command.text) <= SHOWN else command.text[:SHOWN] + "..."
        print(f"{outcome}  {command.page}:{command.line}: {text}  ({what})", flush=True)

    def skip(self, command, reason):
        self.skipped += 1
        self._print("skip", command, reason)

    def check(self, command, action):
        begin = time.monotonic()
        try:
            action()
        except AssertionError as failure:
            self.failed += 1
            self._print("FAIL", command, failure)
        else:
            self.passed += 1
            self._print("pass", command, f"{time.monotonic() - begin:.1f} s")


def check_server(command, requests, report, binary):
    """Serves at a free port as `command` says, and sends `requests` there."""
    options = shlex.split(filled_in(command.text), comments=True)[2:]
    at = options.index("-m")
    model = options[at + 1]
    with servers.Server(model, *options[:at], *options[at + 2:], binary=binary) as server:
        for request in requests:
            if shutil.which("curl") is None:
                report.skip(request, "curl is not installed")
                continue
            there = re.sub(r"http://127\.0\.0\.1:8080", server.url, request.text)
            report.check(request, lambda: run(there.replace("curl ", "curl -sS --fail --noproxy '*' ", 1)))


def check_pages(pages, report, binary):
    seen, reasons = set(), set()
    for page in pages:
        commands = commands_of(page)
        while commands:
            command = commands.pop(0)
            name = command.text.removeprefix("build/release/").split(" #")[0].rstrip()
            skip = next(((pattern, why) for pattern, why in SKIPPED if re.search(pattern, command.text)), None)
            if skip:
                reasons.add(skip)
                report.skip(command, skip[1])
            elif command.is_server:
                requests = []
                while commands and commands[0].is_request:
                    requests.append(commands.pop(0))
                if requests or name not in seen:
                    report.check(command, lambda: check_server(command, requests, report, binary))
            elif name not in seen:
                report.check(command, lambda: run(filled_in(command.text)))
            seen.add(name)
    for pattern, _ in [entry for entry in SKIPPED if entry not in reasons]:
        report.failed += 1
        print(f"FAIL  SKIPPED: no command matches {pattern}")


def main():
    binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else servers.BINARY).resolve()
    if not os.access(binary, os.X_OK):
        sys.exit(f"{binary}: no program is there")
    pages = ["README.md"] + sorted(os.path.relpath(p, ROOT) for p in glob.glob(str(ROOT / "docs" / "*.md")))
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chdir(make_scratch(folder, binary))
        os.environ.update(HOME=name, XDG_CACHE_HOME=str(folder / "cache"),
                          PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
        check_pages(pages, report, binary)
        os.chdir(ROOT)
    print(f"run_commands: {report.passed} passed, {report.skipped} skipped, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
