"""Forks, threads, signals and ends on a quiet bus; the same at random on a busy one is in `crates/capi/tests`."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time

import little_memory
import pytest

import touchline


def quiet(**options):
    """A bus that has nothing to read any more."""
    bus = touchline.Bus("demo", **options)
    while bus.poll() is not None:
        pass
    return bus


def in_child(act):
    """Acts in a forked child, which then ends as if it had never been."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_a_child_of_a_reader_with_a_name_is_refused_and_frees_nothing():
    with quiet(name="forker") as bus:
        process = os.getpid()

        def reads():
            for call in (bus.poll, bus.next, bus.read, bus.ready, lambda: next(iter(bus))):
                with pytest.raises(touchline.Forked, match=f"joined by process {process}") as error:
                    call()
                assert error.value.kind == "forked"
            assert bus.top(bus.symbols[0]).kind == "top", "what was read is there"
            bus.close()

        in_child(reads)
        with pytest.raises(touchline.Error, match="has a reader called forker already"):
            touchline.Bus("demo", name="forker")
        assert bus.poll() is None
    quiet(name="forker").close()


def test_a_child_of_a_reader_without_a_name_reads_on():
    with touchline.Bus("demo") as bus:

        def reads():
            with bus:
                assert len(bus.read(timeout=1)) > 0

        in_child(reads)
        assert len(bus.read(timeout=1)) > 0


def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    with quiet() as bus:
        thread = threading.Thread(target=bus.read, kwargs={"timeout": 5.0})
        thread.start()
        time.sleep(0.1)

        def reads():
            with pytest.raises(RuntimeError, match="when this process was forked"):
                bus.poll()
            bus.close()

        in_child(reads)
        thread.join()


@pytest.mark.parametrize("ends", ["close", "stop"])
@pytest.mark.parametrize(
    "wait",
    [
        lambda bus: list(bus),
        lambda bus: bus.next(),
        lambda bus: bus.read(timeout=None),
        lambda bus: bus.ready(timeout=60),
    ],
)
def test_another_thread_ends_each_wait(wait, ends):
    bus = quiet()
    errors = []

    def waits():
        try:
            wait(bus)
        except touchline.NotReady as error:
            errors.append(error)

    thread = threading.Thread(target=waits)
    thread.start()
    time.sleep(0.1)
    assert not bus.stopped
    getattr(bus, ends)()
    thread.join(5)
    assert not thread.is_alive()
    assert bus.stopped
    assert not bus.read(timeout=None) if ends == "stop" else True
    if ends == "close":
        for call in (bus.poll, lambda: iter(bus)):
            with pytest.raises(ValueError, match="bus demo is closed"):
                call()


def test_an_iteration_ends_when_another_thread_closes_its_bus():
    bus = quiet()
    iteration = iter(bus)
    bus.close()
    with pytest.raises(StopIteration):
        next(iteration)


@pytest.mark.parametrize("loop", ["for _ in bus: pass", "while not bus.stopped: bus.read(timeout=None)"])
@pytest.mark.parametrize("end", ["bus.close()", "bus.stop()", "(bus.close(), sys.exit(0))"])
def test_a_handler_ends_the_loop_that_it_interrupts(loop, end):
    program = f"""
import os, signal, sys, threading, touchline
bus = touchline.Bus("demo")
signal.signal(signal.SIGTERM, lambda *_: {end})
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
{loop}
assert bus.stopped
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


def test_ready_gives_nothing_that_was_read_before_it():
    """A canceled `batches()` holds an event, whose steps are gone once `ready` has read on."""
    with touchline.Bus("demo", events=["books"]) as bus:
        assert bus._wait(5.0) and bus.stats["events"] == 0
        with pytest.raises(touchline.NotReady):
            bus.ready(timeout=0.2)
        assert bus.stats["events"] > 8
        assert bus.poll() is None


@pytest.mark.parametrize("call", ["_wait", "read"])
def test_batches_end_when_their_bus_is_closed_within_a_call(call):
    async def reads(bus):
        async for _ in bus.batches():
            pass

    class Closed(touchline.Bus):
        def close_first(self, *arguments):
            self.close()
            return getattr(touchline.Bus, call)(self, *arguments)

    setattr(Closed, call, Closed.close_first)
    bus = Closed("demo")
    asyncio.run(reads(bus))
    assert bus.stopped


def test_a_handler_that_reads_is_told_that_its_own_thread_does():
    with quiet() as bus:
        said = []

        def reads(*_):
            try:
                bus.poll()
            except RuntimeError as error:
                said.append(str(error))

        before = signal.signal(signal.SIGALRM, reads)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        bus.next(timeout=3)
        signal.signal(signal.SIGALRM, before)
        assert len(said) == 1 and "the call that this handler interrupts" in said[0]


def test_a_daemon_thread_ends_silently_with_its_interpreter():
    """Also in the import of numpy, which the first read does."""
    program = """
import sys, threading, time, touchline
def work():
    bus = touchline.Bus("demo")
    while True:
        bus.read(timeout=None)
threading.Thread(target=work, daemon=True).start()
time.sleep(float(sys.argv[1]))
"""
    seed = int(os.environ.get("SEED", str(time.time_ns() % 1_000_000)))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    for _ in range(15):
        # The import takes a tenth of a second and more.
        command = [sys.executable, "-c", program, str(0.02 + chance.random() * 0.2)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_huge_number_of_instruments_takes_no_memory():
    touchline.Bus("demo", instruments_max=(1 << 64) - 1).close()


@pytest.mark.parametrize("act", ["join", "replay"])
@pytest.mark.parametrize("mib", [0, 1, 3, 40, 150, 300, 500, 700])
def test_without_memory_there_is_an_exception(act, mib):
    """In an address space with this much room a reader or a replay is there or refused; nothing is aborted."""
    body = f"""
        kept = []
        try:
            for _ in range(4):
                if {act!r} == "join":
                    kept.append(touchline.Bus("demo", events=["books", "orders"]))
                    kept[-1].read(timeout=0, limit=1 << 20)
                else:
                    session = os.environ["TOUCHLINE_SESSION"]
                    kept.append(touchline.replay(session + "/cme.toml", session + "/session.pcap"))
                    kept.append(list(kept[-1]))
        except MemoryError as error:
            print(error)
        """
    command = [sys.executable, "-c", little_memory.program(body), str(mib)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ulimit -v" in done.stdout or "emory" in done.stdout


@pytest.mark.parametrize(
    "act",
    [
        "pickle.dumps(batch)",
        "pickle.loads(pickled)",
        "bus.book(symbol)",
        "bus.book(symbol, direct=True)",
        "bus.orders(symbol)",
        "bus.symbols",
        "bus.definitions()",
        "bus.top(symbol)",
        "bus.stats",
        "touchline.buses()",
        "touchline.Bus('demo')",
        "touchline.Bus('demo', symbols=['x' * 1_000_000] * 8)",
    ],
)
@pytest.mark.parametrize("kib", [0, 700, 2_500])
def test_copies_without_end_end_in_an_exception(act, kib):
    """A copy is kept until there is no memory for the next one; then the bus is as it was."""
    program = f"""
import pickle, resource, touchline, numpy
bus = touchline.Bus("demo", events=["tops", "trades", "books", "orders", "statistics"], raw=True)
batch = bus.read(timeout=5)
while len(bus.symbols) == 0 or len(batch) < 8:
    batch = bus.read(timeout=5)
symbol, pickled = bus.symbols[0], pickle.dumps(batch)
before = bus.book(symbol).bids.tolist(), bus.orders(symbol).bids.tolist()
reserve = bytearray(4 << 20)
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + ({kib} << 10)
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (room, limits[1]))
kept = []
try:
    while True:
        kept.append({act})
except MemoryError as error:
    # Without it the next line has no memory either.
    reserve = None
    resource.setrlimit(resource.RLIMIT_AS, limits)
    said = str(error)
print(len(kept), said)
kept.clear()
assert before == (bus.book(symbol).bids.tolist(), bus.orders(symbol).bids.tolist())
assert len(pickle.loads(pickled)) == len(batch)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
