import argparse, json, resource, time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--data")
    parser.add_argument("--images", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--size", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--autoaugment", action="store_true")
    parser.add_argument("--latency", type=float, default=0)
    return parser.parse_args()


def cpu_seconds():
    """CPU time of this process and of its ended children; workers end with their epoch."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def measure(epoch, warm_up=True):
    """Times the second of two epochs, with warm caches; `epoch` yields the rows of each batch."""
    if warm_up:
        sum(epoch())
    began, cpu = time.perf_counter(), cpu_seconds()
    images = sum(epoch())
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    print(json.dumps({"images": int(images), "seconds": seconds, "cpu_seconds": cpu}))


def probed(version):
    print(json.dumps({"version": version}))
