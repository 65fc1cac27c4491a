"""Readers in bad moments: forks, threads, signals, cancels and ends at random, on a lossless bus whose trades are numbered.

Each run is a process of its own with a reader that has a name: it gets each number once and in order, whatever happens to it, and then it
ends in one of the ways that programs end. Prints the seed; RUNS and SEED give others. Given the bus and its directory.
"""

import asyncio
import functools
import os
import random
import signal
import sys
import threading
import time
import traceback

import numpy  # noqa: F401: every run would import it again
import touchline

BUS, DIRECTORY = sys.argv[1:3]
RUNS = int(os.environ.get("RUNS", "20"))
SEED = int(os.environ.get("SEED", str(time.time_ns() % 1_000_000)))
# Numbers of a run at least, and its time.
COUNT, SECONDS = 300, 0.15


class Alarm(Exception):
    """What the handler of a signal raises."""


def join(**options):
    return touchline.Bus(BUS, directory=DIRECTORY, events=["trades"], **options)


class Run:
    def __init__(self, number):
        self.random = random.Random(f"{SEED}/{number}")
        self.bus = join(name="moments", lossless=True)
        self.numbers = []
        # What the loops got, before it is looked at: a handler may raise at any other call of the program.
        self.got = []
        self.happened = []
        self.until = time.monotonic() + SECONDS
        self.way = self.random.randrange(6)

    def is_over(self):
        return time.monotonic() > self.until and len(self.numbers) >= COUNT

    def settle(self):
        """Numbers of what the loops got; no handler raises meanwhile."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one in self.got:
            if isinstance(one, touchline.Batch):
                self.numbers.extend(int(size) for size in one.trades["size"])
            elif one.kind == "trade":
                self.numbers.append(int(one.size))
        self.got.clear()

    # Ways to read. A value that a call returns while a handler raises may be lost to the program; one that a loop gets is not.

    def read(self):
        limit = self.random.choice([1, 7, 100, 65_536, 1 << 20])
        for batch in iter(functools.partial(self.bus.read, 0.02, limit), None):
            self.got.append(batch)
            if self.random.random() < 0.2:
                return

    def iterate(self):
        for event in self.bus:
            self.got.append(event)
            if self.random.random() < 0.02:
                return

    def poll(self):
        for event in iter(self.bus.poll, None):
            self.got.append(event)
            if self.random.random() < 0.02:
                return

    def tasks(self):
        async def consume():
            async for batch in self.bus.batches(limit=self.random.choice([1, 50, 65_536])):
                self.got.append(batch)

        async def cancel():
            for _ in range(self.random.randrange(1, 5)):
                task = asyncio.create_task(consume())
                await asyncio.sleep(self.random.random() * 0.01)
                for _ in range(self.random.randrange(1, 4)):
                    task.cancel()
                    await asyncio.sleep(self.random.choice([0, 0, 0.001]))
                await asyncio.wait([task])

        asyncio.run(cancel())

    # What happens meanwhile.

    def fork(self):
        child = os.fork()
        if child == 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
            try:
                self.in_child(self.random.randrange(6))
                status = 0
            except BaseException:
                traceback.print_exc()
                status = 1
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, "the child has done it"

    def in_child(self, what):
        if what == 0:
            self.bus.close()
        elif what == 1:
            self.bus = None
        elif what in (2, 3):
            try:
                self.bus.read(timeout=0.1) if what == 2 else next(iter(self.bus))
            except (touchline.Forked, RuntimeError):
                return
            raise AssertionError("a child reads as its parent")
        elif what == 4:
            with join() as own:
                own.read(timeout=1)
        # Else it ends at once.

    def in_thread(self):
        """A thread of its own reader, which another thread closes."""
        other = join()

        def loop():
            for _ in other:
                pass

        thread = threading.Thread(target=loop)
        thread.start()
        time.sleep(self.random.random() * 0.01)
        self.random.choice([other.close, other.stop])()
        thread.join(10)
        assert not thread.is_alive(), "the loop of the other thread ends"

    def daemon(self):
        """A thread that reads when the program ends."""
        other = join()
        how = self.random.choice([lambda: other.read(timeout=None), lambda: other.next(0.5)])

        def loop():
            while True:
                how()

        threading.Thread(target=loop, daemon=True).start()

    def go(self):
        signal.signal(signal.SIGALRM, raises)
        reads = [self.read, self.iterate, self.poll]
        others = [self.tasks, self.tasks, self.tasks, self.fork, self.in_thread, self.daemon]
        while not self.is_over():
            step = self.random.choice(reads * 3 + others)
            self.happened.append(step.__name__)
            try:
                # An exception in the loop of asyncio is not of the bus.
                if step in reads and self.random.random() < 0.5:
                    signal.setitimer(signal.ITIMER_REAL, 0.0001 + self.random.random() * 0.01)
                step()
                self.settle()
            except Alarm:
                self.settle()
                self.happened.append("Alarm")
            except RuntimeError as error:
                # Rows of an interrupted read come first.
                assert "take them with read()" in str(error), error
                self.happened.append("held-back")
                self.settle()
                self.got.append(self.bus.read(timeout=0))
                self.settle()
        while (batch := self.bus.read(timeout=0, limit=1)) and len(self.got) < COUNT:
            self.got.append(batch)
        self.settle()
        counts = self.bus.stats
        first = self.numbers[0]
        assert self.numbers == list(range(first, first + len(self.numbers))), "each number once, in order"
        assert (counts["lost"], counts["overruns"]) == (0, 0), counts

    def end(self):
        """Ends as programs do; each way has status 0."""
        way = self.way
        if way == 0:
            self.bus.close()
        elif way == 1:
            os._exit(0)
        elif way == 2:
            # A service: the handler closes what its loop reads.
            def stop(*_):
                self.bus.close()
                sys.exit(0)

            signal.signal(signal.SIGTERM, stop)
            threading.Timer(self.random.random() * 0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
            while True:
                for _ in self.bus:
                    pass
        elif way == 3:
            signal.signal(signal.SIGTERM, lambda *_: self.bus.stop())
            threading.Timer(self.random.random() * 0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
            while not self.bus.stopped:
                self.bus.read(timeout=None)
        elif way == 4:
            self.daemon()
            time.sleep(self.random.random() * 0.01)
        # Else the interpreter ends with an open bus.


def raises(*_):
    raise Alarm


def main():
    print(f"SEED={SEED} RUNS={RUNS}", flush=True)
    failed = 0
    counts = {}
    for number in range(RUNS):
        readable, writable = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(readable)
            os.setpgid(0, 0)
            run = None
            try:
                run = Run(number)
                run.go()
                os.write(writable, f"held {' '.join(run.happened)} end-{run.way}".encode())
                run.end()
            except SystemExit:
                raise
            except BaseException:
                traceback.print_exc()
                os.write(writable, b"\n" + " ".join(run.happened if run else []).encode())
                os._exit(1)
            # As a program ends.
            sys.exit(0)
        os.close(writable)
        status = wait(child, 60)
        if number % 100 == 99:
            print(f"{number + 1} runs, {failed} failed", flush=True)
        said = b"".join(iter(functools.partial(os.read, readable, 1 << 16), b"")).decode()
        os.close(readable)
        for word in said.split()[1:]:
            counts[word] = counts.get(word, 0) + 1
        if status != 0 or not said.startswith("held") or "\n" in said:
            failed += 1
            print(f"run {number} of seed {SEED}: status {status}: {said}", flush=True)
    print(f"{RUNS} runs, {failed} failed; {counts}", flush=True)
    return failed


def wait(child, seconds):
    """Status of a child; one that hangs is killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    return f"hangs, then {os.waitpid(child, 0)[1]}"


failed = main()
sys.exit(failed != 0)
