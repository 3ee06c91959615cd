"""Named checks, run one after the other, and the table of their results."""
import fnmatch
import json
import sys
import time
import traceback


class Skip(Exception):
    """Raised by a check that cannot run here. Its text says why."""


class Suite:
    """Checks in the order in which they were declared."""
    def __init__(self):
        self.checks = []

    def check(self, name):
        """Declares a function as the check `name`. What it returns, if anything, is shown as a note."""
        def add(function):
            self.checks.append((name, function))
            return function

        return add


class Results:
    """The results of checks, as rows of (group, name, "pass"|"FAIL"|"skip", seconds, note)."""
    def __init__(self):
        self.rows = []

    def run(self, group, suites, context, only=None, give_up=lambda: False):
        """Runs the checks of `suites` whose names match the pattern `only`, each with `context`. Once `give_up` returns
        true, as when the server is gone, the remaining checks fail without being tried."""
        for name, function in [check for suite in suites for check in suite.checks]:
            if only and not fnmatch.fnmatch(name, only):
                continue
            if give_up():
                self.add(group, name, "FAIL", 0, "not tried: the server is gone")
                continue
            self.run_one(group, name, lambda function=function: function(context))

    def run_one(self, group, name, function):
        begin = time.monotonic()
        try:
            outcome, note = "pass", function() or ""
        except Skip as reason:
            outcome, note = "skip", str(reason)
        except Exception as failure:  # whatever goes wrong fails only this check
            outcome, note = "FAIL", f"{place(failure)}: {failure}" or repr(failure)
            if not isinstance(failure, AssertionError):
                traceback.print_exc(limit=8)
        self.add(group, name, outcome, time.monotonic() - begin, note)

    def add(self, group, name, outcome, seconds, note=""):
        self.rows.append((group, name, outcome, seconds, note))
        print(f"{outcome}  {seconds:6.2f} s  {group}: {name}" + (f": {note}" if note else ""), flush=True)

    def count(self, outcome):
        return sum(row[2] == outcome for row in self.rows)

    def finish(self, path=None):
        """Prints the table and a summary line, and writes the rows to `path` as JSON. Returns the exit status."""
        groups = list(dict.fromkeys(row[0] for row in self.rows))
        width = max((len(group) for group in groups), default=0)
        print("\n" + "group".ljust(width) + "  passed  failed  skipped  seconds")
        for group in groups:
            rows = [row for row in self.rows if row[0] == group]
            counts = [sum(row[2] == outcome for row in rows) for outcome in ("pass", "FAIL", "skip")]
            print(
                f"{group.ljust(width)}  {counts[0]:6}  {counts[1]:6}  {counts[2]:7}  {sum(row[3] for row in rows):7.1f}"
            )
        for group, name, outcome, _, note in self.rows:
            if outcome == "FAIL":
                print(f"FAIL  {group}: {name}: {note}")
        print(f"{self.count('pass')} passed, {self.count('FAIL')} failed, {self.count('skip')} skipped", flush=True)
        if path:
            keys = ("group", "name", "outcome", "seconds", "note")
            with open(path, "w", encoding="utf-8") as out:
                json.dump([dict(zip(keys, row)) for row in self.rows], out, indent=1)
        return 1 if self.count("FAIL") else 0


def place(failure):
    """The place of a failure: the innermost line that belongs to a check, not to a helper."""
    helpers = ("results.py", "client.py", "server.py")
    frames = [f for f in traceback.extract_tb(failure.__traceback__) if "/tests/serve/" in f.filename]
    own = [f for f in frames if not f.filename.endswith(helpers)] or frames
    return f"{own[-1].filename.rsplit('/', 1)[1]}:{own[-1].lineno}" if own else type(failure).__name__


def that(condition, what):
    if not condition:
        raise AssertionError(what)


def same(found, expected, what):
    """Fails unless the values are equal. Of lists of one length, only the first items that differ are shown."""
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for i, (one, other) in enumerate(zip(found, expected)):
            same(one, other, f"{what}, item {i}")
        return
    if found != expected:
        raise AssertionError(f"{what}: found {short(found)}, expected {short(expected)}")


def short(value, most=300):
    text = repr(value)
    return text if len(text) <= most else text[:most - 3] + "..."


def warn(text):
    print(text, file=sys.stderr, flush=True)
