#!/usr/bin/env python3
"""Lets a server that others wrote judge the command: `check.py SERVER ENDPOINT PROGRAM WORK`.

Prints a line for each check, `ok`, `FAIL` or `skipped` with the reason, and a last one with the
counts; the status is 1 if any failed. `--quick` leaves out repetitions, `--only NAME` all other
checks. The server is empty and runs already (`cargo xtask servers`).
"""
import argparse
import sys
import time
import traceback
from pathlib import Path

from checks import CHECKS
from clients import connect
from stage import Skipped, Stage


def judge(check, stage):
    """`ok`, `FAIL` or `skipped`, and what there is to say."""
    try:
        return "ok", check(stage) or ""
    except Skipped as reason:
        return "skipped", str(reason)
    except AssertionError as failure:
        return "FAIL", str(failure)
    except Exception:  # A client's own errors, of which every server has others.
        return "FAIL", traceback.format_exc().strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server")
    parser.add_argument("endpoint")
    parser.add_argument("program", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    client = connect(options.server, options.endpoint)
    stage = Stage(client, options.program.resolve(), options.work, options.quick)
    counts = dict.fromkeys(("ok", "FAIL", "skipped"), 0)
    for check in CHECKS:
        name = check.__name__
        if options.only and name not in options.only:
            continue
        began = time.monotonic()
        verdict, said = judge(check, stage)
        counts[verdict] += 1
        seconds = time.monotonic() - began
        words = name.replace("_", " ")
        print(f"{options.server}: {verdict:7} {words} ({seconds:.1f} s){': ' + said if said else ''}", flush=True)
    print(f"{options.server}: {counts['ok']} ok, {counts['FAIL']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
