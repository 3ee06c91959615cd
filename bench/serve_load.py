#!/usr/bin/env python3
"""Loads `foretoken serve` with streaming clients and checks every answer.

First, each of 200 distinct requests is answered alone, without a drafter: this is its lone answer. Then, for each
number of clients, batches of these requests are answered in several ways, called arms: with speculation, without it,
and by the server of --peer, if any. The arms alternate. Every answer must equal the lone answer to its request,
whatever runs beside it. Equal answers are equal work, so ratios of times are ratios of speeds; their intervals are
computed over batches. Resident memory is sampled throughout.

    bench/serve_load.py -m build/models/smollm2-135m-instruct-q4_1.gguf --data ../shared/data/eval [--clients 1,4,16,64]
        [--seconds 60] [--last-seconds 600] [--peer llama-server=http://127.0.0.1:8081] [--json FILE] [--page FILE]
    bench/serve_load.py --from FILE.json --page docs/results/serving.md

--url uses a running server instead of -m; with --other, that server is not foretoken and is measured in one arm without
checks. Run it on an idle machine.
"""
import argparse
import asyncio
import json
import pathlib
import sys
import time
import urllib.parse

from load import figures, page, questions, stream

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "serve"))
import server as servers  # noqa: E402

SHORTEST_BATCH = 16  # requests


class Arm:
    """One way to answer requests: a server, and the fields added to each request."""
    def __init__(self, name, url, fields, checked, key=None):
        parts = urllib.parse.urlsplit(url)
        self.name, self.fields, self.checked = name, fields, checked
        self.host, self.port, self.key = parts.hostname, parts.port or 80, key
        self.answers, self.seconds, self.batches = [], 0.0, []

    def client(self):
        return stream.Client(self.host, self.port, self.key)

    def begin(self):
        self.answers, self.seconds, self.batches = [], 0.0, []


class Load:
    """The measurement: arms, requests, and their lone answers."""
    def __init__(self, arms, bodies, pid, cached):
        self.arms, self.bodies, self.pid = arms, bodies, pid
        self.common = {"cache_prompt": cached}
        self.lone = {}
        self.memory = []  # (seconds, MiB)
        self.next = 0

    async def answer_alone(self):
        """Collects the lone answers from the first arm that is checked; without one, does nothing."""
        arm = next((arm for arm in self.arms if arm.checked), None)
        if arm is None:
            return
        client = arm.client()
        for i, body in enumerate(self.bodies):
            answer = await client.ask({**body, **self.common, "drafter": "none"})
            if answer.error:
                raise SystemExit(f"lone request {i}: {answer.error}")
            self.lone[i] = (answer.text, answer.finish, answer.tokens)
        client.close()

    def wrong(self, arm, i, answer):
        """Describes what is wrong with an answer; None if nothing is."""
        if answer.error:
            return answer.error
        if arm.checked and (answer.text, answer.finish, answer.tokens) != self.lone[i]:
            return f"not the lone answer: {answer.text[:80]!r}, {answer.finish}, {answer.tokens} tokens"
        return None

    async def run_batch(self, arm, clients, batch, faults):
        """Sends a batch from `clients` concurrent clients. Returns seconds and tokens."""
        waiting = iter(batch)
        begin, tokens = time.monotonic(), 0

        async def work():
            nonlocal tokens
            client = arm.client()
            for i in waiting:
                answer = await client.ask({**self.bodies[i], **self.common, **arm.fields})
                fault = self.wrong(arm, i, answer)
                if fault:
                    faults.append(f"{arm.name}, request {i}: {fault}")
                tokens += answer.tokens
                arm.answers.append(answer)
            client.close()

        await asyncio.gather(*[work() for _ in range(clients)])
        return time.monotonic() - begin, tokens

    def take_batch(self, size):
        batch = [(self.next + i) % len(self.bodies) for i in range(size)]
        self.next += size
        return batch

    async def watch(self):
        begin = time.monotonic()
        while True:
            size = figures.resident(self.pid) if self.pid else None
            if size is not None:
                self.memory.append((time.monotonic() - begin, size))
            await asyncio.sleep(1)

    async def run(self, clients, seconds):
        """Measures rounds of one batch per arm, in alternating order, for at least `seconds`."""
        for arm in self.arms:
            arm.begin()
        size = max(SHORTEST_BATCH, 2 * clients)
        faults, rounds, self.memory = [], 0, []
        for arm in self.arms:  # the first batch warms up caches and the measured costs of trees
            await self.run_batch(arm, clients, self.take_batch(size), faults)
            arm.begin()
        watcher = asyncio.create_task(self.watch())
        begin, cpu, server_cpu = time.monotonic(), figures.own_cpu(), figures.cpu_of(self.pid)
        while rounds < 2 or time.monotonic() - begin < seconds:
            batch = self.take_batch(size)
            for arm in self.arms if rounds % 2 == 0 else reversed(self.arms):
                took, tokens = await self.run_batch(arm, clients, batch, faults)
                arm.seconds += took
                arm.batches.append((took, tokens))
            rounds += 1
        wall = time.monotonic() - begin
        watcher.cancel()
        own = (figures.own_cpu() - cpu) / wall
        server = (figures.cpu_of(self.pid) - server_cpu) / wall if server_cpu is not None else None
        return self.result(clients, wall, own, server, faults)

    def result(self, clients, wall, own, server, faults):
        settled = [(at, size) for at, size in self.memory if at > wall / 3]
        found = {
            "clients": clients, "seconds": wall, "generator_cpu": own, "server_cpu": server, "faults": len(faults),
            "first_faults": faults[:5], "arms": {}, "ratios": {}, "memory": self.memory,
            "memory_mib": [settled[0][1], settled[-1][1]] if settled else None,
            "memory_slope_mib_per_minute": 60 * figures.slope(settled) if settled else None
        }
        for arm in self.arms:
            tokens = sum(answer.tokens for answer in arm.answers)
            per_token = [a.per_token for a in arm.answers if a.per_token is not None]
            found["arms"][arm.name] = {
                "requests": len(arm.answers), "requests_per_second": len(arm.answers) / arm.seconds,
                "tokens_per_second": tokens / arm.seconds,
                "first_token": figures.percentiles([a.first_token for a in arm.answers]),
                "per_token": figures.percentiles(per_token),
                "gap": figures.percentiles([gap for a in arm.answers for gap in a.gaps]), "checked": arm.checked
            }
        first = self.arms[0]
        for arm in self.arms[1:]:
            ratios = [(t1 / s1) / (t2 / s2) for (s1, t1), (s2, t2) in zip(first.batches, arm.batches)]
            found["ratios"][arm.name] = [*figures.ratio_interval(ratios), len(ratios)]
        return found


def arms_of(args, url):
    if args.other:
        arms = [Arm(args.other, url, {}, False, args.api_key)]
    else:
        arms = [
            Arm("speculation", url, {}, True, args.api_key),
            Arm("no drafter", url, {"drafter": "none"}, True, args.api_key)
        ]
    for text in args.peer:
        name, separator, peer = text.partition("=")
        if not separator:
            raise SystemExit(f"--peer {text}: expected NAME=URL")
        arms.append(Arm(name, peer, {}, False))
    return arms


async def measure(args, url, pid):
    paths = sorted(args.data.glob("*.jsonl")) if args.data.is_dir() else [args.data]
    bodies = questions.make_requests(paths, args.requests, args.characters, args.seed)
    load = Load(arms_of(args, url), bodies, pid, args.cache)
    begin = time.monotonic()
    await load.answer_alone()
    print(f"{len(bodies)} requests, lone answers in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    runs = []
    for clients in args.clients:
        seconds = args.last_seconds if clients == args.clients[-1] and args.last_seconds else args.seconds
        runs.append(await load.run(clients, seconds))
        print(page.table(runs[-1:]), flush=True)
    data = f"{len(paths)} files of {args.data.name}" if args.data.is_dir() else args.data.name
    return {"runs": runs, "requests": len(bodies), "cache_prompt": args.cache, "data": data}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, default=servers.BINARY)
    parser.add_argument("--option", action="append", default=[],
                        help="of the server, as --option=--memory=2G; repeatable")
    parser.add_argument("--url", help="of a server that runs, instead of --model")
    parser.add_argument("--pid", type=int, help="of that server, to watch its memory")
    parser.add_argument("--api-key")
    parser.add_argument("--other", metavar="NAME", help="the server at --url is not foretoken: nothing is checked")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=URL",
                        help="another server, beside it by turns")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "eval",
                        help="a file of questions, or a folder")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--characters", type=int, default=2000, help="of a prompt at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=lambda text: [int(n) for n in text.split(",")], default=[1, 4, 16, 64])
    parser.add_argument("--parallel", type=int, default=16, help="slots of the server that is started")
    parser.add_argument("--seconds", type=float, default=60, help="for each number of clients")
    parser.add_argument("--last-seconds", type=float, help="for the last number of clients")
    parser.add_argument("--cache", action="store_true", help="let prompts that came before be found in the cache")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--page", metavar="FILE", help="write the results as a page")
    parser.add_argument("--note", metavar="TEXT", help="for the page, such as the version and options of a peer; with --from, "
                        "of the first file")
    parser.add_argument("--from", dest="kept", action="append", metavar="FILE",
                        help="make the page of what --json kept; repeatable")
    args = parser.parse_args()
    if not (args.kept or args.model or args.url):
        parser.error("--model, --url or --from is missing")
    return args


def run(args):
    if args.url:
        return asyncio.run(measure(args, args.url, args.pid))
    queue = max(64, 2 * max(args.clients))
    with servers.Server(args.model, "--parallel", args.parallel, "--queue", queue, *args.option,
                        binary=args.binary) as server:
        return asyncio.run(measure(args, server.url, server.pid))


def main():
    args = parse_arguments()
    if args.kept:
        found = [json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in args.kept]
    else:
        found = [{**page.circumstances(sys.argv), **run(args)}]
    if args.note:
        found[0]["note"] = args.note
    if args.json and not args.kept:
        pathlib.Path(args.json).write_text(json.dumps(found[0], indent=1), encoding="utf-8")
    if args.page:
        pathlib.Path(args.page).write_text(page.write(found), encoding="utf-8")
    faults = sum(one["faults"] for kept in found for one in kept["runs"])
    if faults:
        print(f"{faults} faults", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
