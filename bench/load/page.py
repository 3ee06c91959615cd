"""Writes the measurements as Markdown: the tables and the page docs/results/serving.md."""
import datetime
import math
import os
import re

import revision

HEAD = """# Serving

Throughput and latency of `foretoken serve` with streaming clients, each of which sends its next request as soon as its answer is
complete. Runs with and without speculation, and of other servers, alternate on the same requests. "First row over this one" is a
ratio of tokens per second, with its 95 % interval over batches. A delivery may contain several tokens. Every answer of foretoken is
compared with the answer to the same request alone and without a drafter; a fault is an answer that differs or is missing.
`bench/serve_load.py` measures this and writes this page.
"""


def milliseconds(seconds):
    return "-" if math.isnan(seconds) else f"{1e3 * seconds:.0f}" if seconds >= 0.1 else f"{1e3 * seconds:.1f}"


def rows_of(columns, rows):
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def table(runs):
    """The table of speed and latency: one row for each number of clients and each arm."""
    columns = ["clients", "", "requests/s", "tokens/s", "first row over this one", "first token, ms: p50 p95 p99",
               "a token, ms: p50 p95 p99", "between deliveries, ms: p50 p95 p99", "requests", "faults"]
    rows = []
    for run in runs:
        for name, arm in run["arms"].items():
            ratio = run["ratios"].get(name)
            rows.append([
                str(run["clients"]), name, f"{arm['requests_per_second']:.2f}", f"{arm['tokens_per_second']:.0f}",
                f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]" if ratio else "",
                *[" ".join(milliseconds(x) for x in arm[key]) for key in ("first_token", "per_token", "gap")],
                str(arm["requests"]), str(run["faults"]) if arm["checked"] else ""])
    return rows_of(columns, rows)


def use_table(runs):
    """The table of memory and CPU use: one row for each number of clients."""
    columns = ["clients", "minutes", "resident memory, MiB: begin, end", "slope, MiB a minute", "server, cores",
               "load generator, cores"]
    rows = []
    for run in runs:
        memory = run["memory_mib"]
        rows.append([
            str(run["clients"]), f"{run['seconds'] / 60:.1f}", f"{memory[0]:.0f}, {memory[1]:.0f}" if memory else "",
            f"{run['memory_slope_mib_per_minute']:+.2f}" if memory else "",
            "" if run["server_cpu"] is None else f"{run['server_cpu']:.2f}", f"{run['generator_cpu']:.3f}"])
    return rows_of(columns, rows)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        found = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {key.strip(): text.strip() for key, text in found.items()}
    amx = "with" if "amx_int8" in found.get("flags", "").split() else "without"
    return f"{found.get('model name', 'unknown')}, {os.cpu_count()} cores, {amx} AMX"


def circumstances(arguments):
    """Machine, date, commit and command line, with paths reduced to file names."""
    words = [re.sub(r"[^\s=]*/", "", word) if "://" not in word else word for word in arguments]
    return {
        "machine": processor(), "date": datetime.date.today().isoformat(), "commit": revision.commit(),
        "command": "bench/" + " ".join(words)
    }


def write(found):
    parts = [HEAD]
    for kept in found:
        cached = "may use the prefix cache" if kept["cache_prompt"] else "do not use the prefix cache"
        parts += [
            f"\n{kept['machine']}, {kept['date']}, commit {kept['commit']}; {kept['requests']} distinct requests of "
            f"{kept['data']}, greedy and seeded; prompts {cached}.\n", f"    {kept['command']}\n",
            *([kept["note"] + "\n"] if kept.get("note") else []),
            table(kept["runs"]),
            "Memory of the server after the first third of the time, and the CPU use of both processes on this machine's "
            f"{os.cpu_count()} cores:\n",
            use_table(kept["runs"])
        ]
        faults = [fault for run in kept["runs"] for fault in run["first_faults"]]
        if faults:
            parts.append("Faults:\n\n" + "\n".join(f"- {fault}" for fault in faults) + "\n")
    return "\n".join(parts)
