"""What the loader benchmarks share: the task, the clock, and one line of JSON at the end.

The task: JPEG files to batches of 256 uint8 images of 224 x 224 in one contiguous array, either
`center` (short side to 256, centre crop) or `rrc` (random resized crop, scale 0.08 to 1). One epoch
to warm up, then timed ones. CPU time is that of the process and of all it has started. With
`--floats` the batches are float32, normalised, channels first.
"""

import argparse
import json
import os
import resource
import sys
import time

SIZE = 224
BATCH = 256
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", help="folder of JPEGs in class folders, or a packed dataset")
    parser.add_argument("--crop", choices=["center", "rrc"], default="center")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--floats", action="store_true")
    return parser.parse_args()


def jpegs(folder):
    found = []
    for root, _, names in os.walk(folder):
        found += [os.path.join(root, name) for name in names if name.lower().endswith((".jpeg", ".jpg"))]
    return sorted(found)


def cpu_seconds():
    """Of this process and of children that have ended or are still there."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total + sum(live_cpu_seconds(pid) for pid in children(os.getpid()))


def children(parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found += [int(pid), *children(int(pid))]
    return found


def live_cpu_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib():
    """Proportional set size of the process and its children."""
    total = 0
    for pid in [os.getpid(), *children(os.getpid())]:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as rollup:
                total += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        except OSError:
            pass
    return total / 1024


def run(name, arguments, epoch):
    """`epoch()` yields the batches of one epoch; each has a shape, and is uint8 without `--floats`."""
    for _ in epoch():
        pass
    n_images, memory = 0, 0.0
    cpu, wall = cpu_seconds(), time.perf_counter()
    for _ in range(arguments.epochs):
        for batch in epoch():
            n_images += batch.shape[0]
            memory = memory or memory_mib()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    if not n_images:
        sys.exit(f"{name} gave no images")
    print(
        json.dumps(
            {
                "name": name,
                "crop": arguments.crop,
                "threads": arguments.threads,
                "images": n_images,
                "images_per_s": n_images / wall,
                "cpu_ms_per_image": cpu / n_images * 1e3,
                "memory_mib": memory,
            }
        )
    )
