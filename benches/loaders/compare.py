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

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--crop", choices=["center", "rrc"], default="center")
parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND")
args = parser.parse_args()

commands = dict(command.split("=", 1) for command in args.commands)
environment = {**os.environ, "OMP_NUM_THREADS": "1"}
results = {}
for number in range(args.rounds):
    for threads in args.threads:
        for name, command in commands.items():
            words = shlex.split(command) + ["--crop", args.crop, "--threads", str(threads)]
            done = subprocess.run(words, capture_output=True, text=True, env=environment)
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            if not lines:
                sys.exit(f"{name}: no result\n{done.stdout}\n{done.stderr[-2000:]}")
            results.setdefault((name, threads), []).append(json.loads(lines[-1]))
            print(f"round {number}, {threads} threads, {name}: {lines[-1]}", file=sys.stderr)

first = next(iter(commands))
print(f"| {args.crop} | threads | images/s | CPU-ms per image | range | CPU by {first}'s | MiB |")
print("|---|---|---|---|---|---|---|")
for threads in args.threads:
    for name in commands:
        runs = results[name, threads]
        cpu = [run["cpu_ms_per_image"] for run in runs]
        own = [run["cpu_ms_per_image"] for run in results[first, threads]]
        ratio = statistics.median(theirs / ours for theirs, ours in zip(cpu, own))
        rate = statistics.median(run["images_per_s"] for run in runs)
        memory = max(run["memory_mib"] for run in runs)
        print(
            f"| {runs[0]['name']} | {threads} | {rate:.0f} | {statistics.median(cpu):.2f} "
            f"| {min(cpu):.2f}-{max(cpu):.2f} | {ratio:.2f} | {memory:.0f} |"
        )
