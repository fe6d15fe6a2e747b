#!/usr/bin/env python3
"""Runs loaders in turn, round after round, and prints a table.

    compare.py --rounds 5 --crop center 'ours=PYTHON benches/loaders/ours.py DATA' 'dali=PYTHON ...'

Each command is one of the scripts beside this one, with its own interpreter and data; crop and
threads are added to it. Runs of one round stand next to each other in time, so that a busy machine
is busy for all of them; ratios are taken within rounds.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys


class Failed(Exception):
    """A loader gave no result; the text is the last that it said."""


def once(command, crop, threads):
    """The result of one run of a loader."""
    words = shlex.split(command) + ["--crop", crop, "--threads", str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()
        raise Failed(said[-1][-500:])
    return json.loads(lines[-1])


def rows(runs, crop, threads):
    """What a table shows of each loader; `runs` of one round have its number and stand together."""
    chosen = [run for run in runs if (run["crop"], run["threads"]) == (crop, threads)]
    names = list(dict.fromkeys(run["name"] for run in chosen))
    by_name = {name: {run["round"]: run for run in chosen if run["name"] == name} for name in names}
    first = by_name[names[0]] if names else {}
    for name, of in by_name.items():
        cpu = [run["cpu_ms_per_image"] for run in of.values()]
        shared = [of[n]["cpu_ms_per_image"] / first[n]["cpu_ms_per_image"] for n in of if n in first]
        yield {
            "name": name,
            "images_per_s": statistics.median(run["images_per_s"] for run in of.values()),
            "cpu_ms": statistics.median(cpu),
            "range": (min(cpu), max(cpu)),
            "ratio": statistics.median(shared) if shared else float("nan"),
            "memory_mib": max(run["memory_mib"] for run in of.values()),
        }


def table(runs, crop, all_threads):
    """Markdown, with ratios to the first loader."""
    lines = [
        f"| {crop} | threads | images/s | CPU-ms per image | range | CPU by the first's | MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for threads in all_threads:
        for row in rows(runs, crop, threads):
            least, most = row["range"]
            lines.append(
                f"| {row['name']} | {threads} | {row['images_per_s']:.0f} | {row['cpu_ms']:.2f} "
                f"| {least:.2f}-{most:.2f} | {row['ratio']:.2f} | {row['memory_mib']:.0f} |"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--crop", choices=["center", "rrc"], default="center")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND")
    args = parser.parse_args()
    commands = dict(command.split("=", 1) for command in args.commands)
    runs = []
    for number in range(args.rounds):
        for threads in args.threads:
            for name, command in commands.items():
                try:
                    run = once(command, args.crop, threads)
                except Failed as reason:
                    sys.exit(f"{name}: no result: {reason}")
                runs.append({"round": number, **run})
                print(f"round {number}, {threads} threads, {name}: {run}", file=sys.stderr)
    print(table(runs, args.crop, args.threads))


if __name__ == "__main__":
    main()
