"""A context manager that starts and stops `foretoken serve` for tests.

    with Server(model, "--parallel", "4") as server:
        requests to server.url

The server chooses its port and reports it on standard error. It must be ready in time and end with status 0 on SIGTERM.
"""
import os
import pathlib
import re
import resource
import signal
import subprocess
import threading
import time

import client

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / "build" / "release" / "foretoken"
SCRATCH = ROOT / "build" / "serve-check"

READY = re.compile(r"foretoken: .* on http://(\[[0-9a-f:]+\]|[^\s:]+):(\d+)")
START_SECONDS = 300  # instrumented builds take long
STOP_SECONDS = 120
IDLE_SECONDS = 60


class Server:
    """A running server. `options` follow `serve -m MODEL --port PORT`; `port` may be that of an earlier server that has
    ended. `log` holds the lines of its standard error."""
    def __init__(self, model, *options, binary=BINARY, port=0):
        self.command = [str(binary), "serve", "-m", str(model), "--port", str(port), *map(str, options)]
        self.log = []
        self.process = None
        self.stopped = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, failure, *_):
        if self.stopped:
            return
        if failure is not None:  # report that failure, not how the server ends
            self.kill()
            return
        self.stop()

    def start(self):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        environment = {"XDG_CACHE_HOME": str(SCRATCH / "cache"), **os.environ}
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=environment)
        ready = threading.Event()
        self.reader = threading.Thread(target=self._read, args=(ready, ), daemon=True)
        self.reader.start()
        deadline = time.monotonic() + START_SECONDS
        while not ready.wait(0.05):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self._fail("did not say where it listens")
        while True:
            try:
                if self.get("/health").status == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                self._fail("/health did not become 200")
            time.sleep(0.02)

    def _read(self, ready):
        for line in self.process.stderr:
            text = line.decode(errors="replace").rstrip("\n")
            self.log.append(text)
            found = READY.search(text)
            if found and not ready.is_set():
                self.host, self.port = found[1].strip("[]"), int(found[2])
                ready.set()

    def _fail(self, what):
        status = self.process.poll()
        self.kill()
        said = "\n".join(self.log[-20:])
        raise AssertionError(f"{' '.join(self.command)}: {what}; status {status}; it said:\n{said}")

    @property
    def url(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    @property
    def alive(self):
        return self.process.poll() is None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=STOP_SECONDS):
        """Waits for the server to end by itself; returns its exit status. Fails, and kills it, after `seconds`."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end within {seconds} s of SIGTERM") from None
        self.stopped = True
        self.reader.join(5)
        return status

    def stop(self):
        if self.alive:
            self.terminate()
        status = self.wait()
        if status != 0:
            said = "\n".join(self.log[-40:])
            raise AssertionError(f"the server ended with status {status}, expected 0; it said:\n{said}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.stopped = True

    # Requests.

    def get(self, path, **options):
        return client.request(self.host, self.port, "GET", path, **options)

    def post(self, path, body, **options):
        return client.request(self.host, self.port, "POST", path, body, **options)

    def chat(self, content, **fields):
        """The answer to one user message, as a parsed object."""
        body = {"messages": [{"role": "user", "content": content}], **fields}
        return self.post("/v1/chat/completions", body).good()

    def text(self, content, **fields):
        """The assistant's text in answer to one user message."""
        return self.chat(content, **fields)["choices"][0]["message"]["content"]

    # The server's state.

    def busy_slots(self):
        return sum(slot["is_processing"] for slot in self.get("/slots").good())

    def wait_idle(self, seconds=IDLE_SECONDS):
        """Waits until nothing is computed or queued."""
        deadline = time.monotonic() + seconds
        while True:
            metrics = client.metrics(self.get("/metrics").text)
            waiting = client.value(metrics, "vllm:num_requests_waiting")
            running = client.value(metrics, "vllm:num_requests_running")
            busy = self.busy_slots()
            if busy == 0 and waiting == 0 and running == 0:
                return
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{busy} slots are busy, {running:g} requests run and {waiting:g} wait, {seconds} s "
                    "after the last client went")
            time.sleep(0.05)

    def status(self, field):
        """A number from /proc/PID/status; sizes are in KiB."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as lines:
            for line in lines:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise KeyError(field)

    def open_files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def limit_memory(self, more):
        """Limits its address space to what it has plus `more` bytes; None: no limit. Returns the limit in bytes."""
        limit = resource.RLIM_INFINITY if more is None else self.status("VmSize") * 1024 + more
        resource.prlimit(self.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        return limit
