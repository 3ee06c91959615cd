"""Requests by the curl program, an independent HTTP client, for what must hold on the wire."""
import subprocess

import client

SECONDS = 120


def curl(server, path, *options, body=None, seconds=SECONDS):
    """The reply to `curl OPTIONS URL/path`; with a `body`, to a POST of JSON."""
    command = ["curl", "-sS", "-i", "--max-time", str(seconds), "--noproxy", "*", *options]
    data = client.encode(body)
    if data is not None:
        command += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
        if not any(option.startswith("Expect:") for option in options):
            command += ["-H", "Expect:"]  # else curl waits for 100 Continue before it sends a large body
    run = subprocess.run([*command, server.url + path], input=data or b"", capture_output=True)
    if run.returncode != 0:
        raise AssertionError(
            f"curl {path}: exit status {run.returncode}: {run.stderr.decode(errors='replace').strip()}")
    return parse(run.stdout)


def parse(output):
    """The last reply of curl's output. Those before it are interim ones, such as "100 Continue"."""
    while True:
        head, _, body = output.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        if status >= 200:
            break
        output = body
    headers = {}
    for line in lines[1:]:
        name, _, text = line.partition(":")
        headers[name.lower()] = text.strip()
    return client.Reply(status, headers, body)
