"""Where a loader continues: after a checkpoint, an interrupt or a fork, and in another process."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import fdconvert
from loading import rows, rows_of, small


def test_it_goes_on_in_the_middle(beton: Path) -> None:
    loader = small(beton)
    whole = [rows(loader), rows(loader)]
    loader = small(beton)
    batches = loader.batches()
    head = rows_of(next(batches))
    text = json.dumps(loader.state_dict())
    assert json.loads(text)["state"] == loader.state_dict()["state"]

    again = small(beton, threads=1)
    again.load_state_dict(json.loads(text))
    again.set_epoch(0)
    assert head + rows(again) == whole[0]
    assert rows(again) == whole[1]
    # Another size of batch continues at the same sample.
    again = small(beton, 2)
    again.load_state_dict(json.loads(text))
    assert len(rows(again)) == 8

    script = """
        import json, pickle, sys
        loader = pickle.load(sys.stdin.buffer)
        json.dump([batch.samples.tolist() for batch in loader.batches()], sys.stdout)
    """
    code = [sys.executable, "-P", "-c", textwrap.dedent(script)]
    run = subprocess.run(code, input=pickle.dumps(loader), stdout=subprocess.PIPE, check=True)
    assert sum(json.loads(run.stdout), []) == [row[0] for row in whole[0][4:]]
    # Pickling has taken nothing from it.
    assert head + [row for batch in batches for row in rows_of(batch)] == whole[0]
    assert loader.epoch == 1


def test_states_of_others_are_refused(beton: Path, photos: Path) -> None:
    state = small(beton).state_dict()
    with pytest.raises(fdconvert.UsageError, match="state"):
        small(photos).load_state_dict(state)
    with pytest.raises(fdconvert.UsageError, match="state"):
        small(beton, seed=8).load_state_dict(state)
    for wrong in [{}, {"version": 2, "state": state["state"]}, state | {"state": "00"}]:
        with pytest.raises(fdconvert.UsageError, match="state"):
            small(beton).load_state_dict(wrong)


def test_ctrl_c_ends_the_waiting(beton: Path) -> None:
    script = f"""
        import fdconvert, signal, sys
        # A shell that started the tests in the background ignores it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        small = [fdconvert.transforms.Resize((32, 32))]
        two = fdconvert.Prefetch(bytes=2 * 32 * 32 * 3)
        loader = fdconvert.Loader({str(beton)!r}, 1, transform=small, prefetch=two)
        batches = iter(loader)
        kept = [next(batches), next(batches)]
        before = loader.state_dict()
        print("waiting", flush=True)
        try:
            next(batches)
        except KeyboardInterrupt:
            assert loader.state_dict() == before
            kept.clear()
            rest = sum(1 for _ in batches)
            print("interrupted", rest)
    """
    code = [sys.executable, "-P", "-c", textwrap.dedent(script)]
    with subprocess.Popen(code, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted 10\n"
    assert process.returncode == 0


def test_both_sides_of_a_fork_go_on(beton: Path) -> None:
    expected = rows(small(beton, 2))
    loader = small(beton, 2)
    batches = loader.batches()
    first = next(batches)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(60)
            inherited = rows_of(first)
            # What the child drops is the parent's to give back.
            del first
            rest = [row for batch in batches for row in rows_of(batch)]
            status = int(inherited + rest != expected)
            os.write(writing, b"done")
        finally:
            os._exit(status)
    os.close(writing)
    rest = [row for batch in batches for row in rows_of(batch)]
    assert rows_of(first) + rest == expected
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"done"
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_it_can_be_sent_to_processes(beton: Path, method: str) -> None:
    loader = small(Path(os.path.relpath(beton)), 3)
    next(iter(loader))
    expected = rows(pickle.loads(pickle.dumps(loader)))
    assert len(expected) == 9
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(rows, (loader,)).get(timeout=60) == expected
