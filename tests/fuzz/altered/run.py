#!/usr/bin/env python3
"""Alters small valid files by a seed, gives each to the command that reads it, and checks how the command ends.

    run.py --bin build/asan --tiny build/asan/tests/cli/tiny.gguf --work build/asan/altered --count 10000 --seed 1

A command may take the file or refuse it (status 0, 1 or 2). A fault is: ending by a signal; more than 20 s of processor
time, 60 s in all or 4 GB of resident memory; writing another text than without a drafter; refusing a file without
naming it on standard error, or changing it; leaving a half-written output behind. Faulty files are kept in
WORK/faults/NUMBER with their command. A run with the same seed continues where it was stopped; --only NUMBER repeats one.
"""
import argparse
import concurrent.futures
import filecmp
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import kinds as kinds_module
import originals

MEMORY, PROCESSOR_SECONDS, SECONDS = 4 << 30, 20, 60
SANITIZERS = {"ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:max_allocation_size_mb=4096:allocator_may_return_null=1:"
                              "hard_rss_limit_mb=4096",
              "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1"}


def limited(command, environment, stdin_path, stderr_path):
    """Runs a command under the limits. Returns (exit code, timed out, seconds, bytes of resident memory)."""
    begin = time.monotonic()
    with open(stdin_path, "rb") as stdin, open(stderr_path, "wb") as stderr:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 5))
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    seconds = time.monotonic() - begin
    return process.returncode, seconds >= SECONDS, seconds, usage.ru_maxrss * 1024


def is_empty_folder(path):
    """Whether `path` is an empty folder. Commands make output folders early, so these are not leftovers."""
    return os.path.isdir(path) and not os.listdir(path)


def faults_of(code, timed_out, memory, message, kind, target):
    """The faults in how a command ended, as a list of texts."""
    found = []
    if timed_out or code == -signal.SIGXCPU:
        found.append("took too long")
    elif code < 0:
        found.append(f"ended by {signal.Signals(-code).name}")
    elif code == 3 and not kind.may_differ:
        found.append("said another text than without a drafter")
    elif code > 3:
        found.append(f"ended with status {code}")
    if memory > MEMORY:
        found.append(f"took {memory >> 20} MiB")
    if code in (1, 2):
        text = message.decode(errors="replace")
        if kind.names_file and target not in text and (not kind.alias or kind.alias not in text):
            found.append("did not name the file")
        if "json.exception" in text or "what():" in text:
            found.append("showed an exception")
    try:
        if any(ord(c) < 32 and c not in "\n\r\t" or ord(c) == 127 for c in message.decode()):
            found.append("printed control characters")
    except UnicodeDecodeError:
        found.append("printed text that is not UTF-8")
    return found


class Runner:
    def __init__(self, args):
        self.args = args
        work = os.path.abspath(args.work)
        self.root, self.cases, self.faulty = work + "/originals", work + "/cases", work + "/faults"
        self.results_path, self.cache = work + "/results.jsonl", work + "/cache"
        self.foretoken = os.path.abspath(args.bin + "/foretoken")
        self.trainer = os.path.abspath(args.trainer) if args.trainer else ""
        if not os.path.exists(os.path.dirname(self.trainer) + "/libforetoken_train.so"):
            self.trainer = ""
        self.tiny = os.path.abspath(args.tiny)
        os.makedirs(work, exist_ok=True)
        made = not os.path.exists(self.root + "/complete") or bool(self.trainer) != os.path.exists(self.root + "/runs")
        if made:
            originals.make(self.root, self.foretoken, self.tiny, os.path.abspath(args.bin + "/make_drafts"), self.trainer)
        self.tiny = self.root + "/models/tiny.gguf"
        self.kinds = [k for k in kinds_module.all_kinds(self.root, bool(self.trainer)) if args.kind in k.name]
        self.environment = dict(os.environ, **SANITIZERS, XDG_CACHE_HOME=self.cache)
        shutil.rmtree(self.cases, ignore_errors=True)
        if made:
            self.check_originals()

    def check_originals(self):
        """Ends the program unless each unaltered original is accepted by a command of its kind."""
        for kind in self.kinds:
            for original in kind.originals:
                folder = f"{self.cases}/original"
                shutil.rmtree(folder, ignore_errors=True)
                target = f"{folder}/{kind.copied}{os.path.basename(original)}"
                copy = shutil.copytree if os.path.isdir(f"{self.root}/{original}") else shutil.copy
                os.makedirs(os.path.dirname(target), exist_ok=True)
                copy(f"{self.root}/{original}", target)
                command = self.words(kinds_module.choose_command(random.Random(original), kind), target, folder)
                code, _, _, _ = limited(command, self.environment, self.root + "/texts/ids", folder + "/stderr")
                if code != 0:
                    with open(folder + "/stderr", encoding="utf-8", errors="replace") as file:
                        raise SystemExit(f"{original}, unaltered: status {code}: {' '.join(command)}\n{file.read()}")

    def words(self, text, target, folder):
        program = self.trainer if text.startswith("!") else self.foretoken
        places = {"file": target, "root": self.root, "tiny": self.tiny, "out": folder + "/out"}
        filled = [w.format(**places) if "{" in w else w.replace("hello_", "hello ")
                  for w in text.lstrip("!").split()]
        return [program, *filled]

    def run(self, number):
        folder = f"{self.cases}/{number}"
        os.makedirs(folder)
        rng = random.Random(f"{self.args.seed} {number}")
        kind, done, target, altered, text = kinds_module.make_case(rng, self.kinds, self.root, folder)
        shutil.copyfile(altered, folder + "/kept")
        before = {*os.listdir(folder), "stderr"}
        command = self.words(text, target, folder)
        own = {"XDG_CACHE_HOME": folder + "/cache"} if kind.copied else {}
        code, timed_out, seconds, memory = limited(command, self.environment | own, self.root + "/texts/ids", folder + "/stderr")
        with open(folder + "/stderr", "rb") as file:
            message = file.read()
        faults = faults_of(code, timed_out, memory, message, kind, target)
        if code in (1, 2):
            if not os.path.exists(altered) or not filecmp.cmp(altered, folder + "/kept", shallow=False):
                faults.append("changed the file that it refused")
            left = sorted(name for name in {*os.listdir(folder)} - before if not is_empty_folder(f"{folder}/{name}"))
            if left and not text.startswith("!"):
                faults.append("left " + ", ".join(left))
        result = {"seed": self.args.seed, "number": number, "kind": kind.name, "done": done, "status": code,
                  "seconds": round(seconds, 2), "memory": memory, "faults": faults}
        if faults or self.args.only is not None:
            self.keep(number, folder, command, result)
        shutil.rmtree(folder, ignore_errors=True)
        return result

    def keep(self, number, folder, command, result):
        kept = f"{self.faulty}/{number}"
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(self.faulty, exist_ok=True)
        shutil.copytree(folder, kept)
        words = [w.replace(folder, kept) for w in command]
        with open(kept + "/command", "w", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n" + " ".join(f"'{w}'" if " " in w else w for w in words) + "\n")

    def known(self):
        """{number: result} of earlier runs with this seed."""
        if not os.path.exists(self.results_path):
            return {}
        with open(self.results_path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        return {r["number"]: r for r in lines if r["seed"] == self.args.seed}

    def run_all(self):
        results = {} if self.args.fresh else self.known()
        begin, end = self.args.begin, self.args.begin + self.args.count
        numbers = [n for n in range(begin, end) if n not in results]
        mode = "w" if self.args.fresh else "a"
        deadline = time.monotonic() + self.args.seconds if self.args.seconds else None
        with open(self.results_path, mode, encoding="utf-8") as out, \
                concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            waiting = iter(numbers)
            running = {pool.submit(self.run, n) for _, n in zip(range(self.args.jobs), waiting)}
            while running:
                ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ended:
                    result = future.result()
                    results[result["number"]] = result
                    out.write(json.dumps(result) + "\n")
                    out.flush()
                    if result["faults"]:
                        print(f"{result['number']}: {result['kind']}: {result['done']}: {'; '.join(result['faults'])}", flush=True)
                    if deadline is None or time.monotonic() < deadline:
                        running |= {pool.submit(self.run, n) for _, n in zip(range(1), waiting)}
        return [results[n] for n in range(begin, end) if n in results]


def summary(seed, results):
    slowest, largest = max(results, key=lambda r: r["seconds"]), max(results, key=lambda r: r["memory"])
    taken, faulty = sum(r["status"] == 0 for r in results), sum(bool(r["faults"]) for r in results)
    refused = sum(r["status"] in (1, 2) for r in results)
    return (f"{len(results)} altered files, seed {seed}: {taken} taken, {refused} refused, {faulty} with faults; slowest "
            f"{slowest['seconds']} s (number {slowest['number']}), most memory {largest['memory'] >> 20} MiB "
            f"(number {largest['number']})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of foretoken and make_drafts")
    parser.add_argument("--tiny", required=True, help="the model that make_tiny_model writes")
    parser.add_argument("--trainer", help="a foretoken with its trainer beside it; the trainer's files are left out without")
    parser.add_argument("--work", required=True, help="folder for originals, results and faults")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--begin", type=int, default=0, help="the first number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, help="begin none after that")
    parser.add_argument("--only", type=int, help="this number alone; it is kept among the faults")
    parser.add_argument("--kind", default="", help="kinds whose names hold this alone (kinds.py)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    args = parser.parse_args()
    runner = Runner(args)
    if args.only is not None:
        print(json.dumps(runner.run(args.only), indent=1))
        return 0
    results = runner.run_all()
    print(summary(args.seed, results))
    return 1 if any(r["faults"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
