"""A tape of the session, against the bus that it is of and against itself: every way to read it gives the same.

Rows of tape and live bus are compared in every language by the tests of `crates/capi`.
"""

import asyncio
import contextlib
import datetime
import fcntl
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import touchline

TAPE = os.environ["TOUCHLINE_TAPE"]
KINDS = ["tops", "trades", "books", "orders"]


def copy(tmp_path):
    return pathlib.Path(shutil.copytree(TAPE, tmp_path / "tape"))


@contextlib.contextmanager
def recorded(tape):
    """A tape that a recorder writes, which is one whose lock is held."""
    with open(pathlib.Path(tape) / "lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def batches(journal):
    """Its batches, up to the end of the tape."""
    read = []
    while batch := journal.read():
        read.append(batch)
    return read


def rows(batches, kind):
    return np.concatenate([getattr(batch, kind) for batch in batches])


def test_a_tape_has_the_books_and_trades_of_its_bus_and_ends():
    with touchline.Journal(TAPE, events=KINDS) as journal, touchline.Bus("demo", events=KINDS) as bus:
        assert isinstance(journal, touchline.Bus) and journal.name == "demo"
        assert journal.path == pathlib.Path(TAPE) and "Journal demo" in repr(journal)
        assert not journal.stopped
        kinds = {event.kind for event in journal}
        assert {"top", "trade", "book", "orders", "defined", "connection"} <= kinds
        assert journal.stopped and journal.next(1) is None and journal.poll() is None and not journal.read()
        bus.read()
        while bus.read(0):
            pass
        assert journal.symbols == bus.symbols
        assert journal.definitions() == bus.definitions()
        for symbol in bus.symbols:
            for side in ("bids", "asks"):
                for call in ("book", "orders"):
                    there, here = (getattr(getattr(of, call)(symbol), side) for of in (bus, journal))
                    assert (there == here).all(), (symbol, side, call)
            assert journal.top(symbol).state == "stale", "the end of the publisher is on the tape"
            assert (journal.top(symbol).bid, journal.top(symbol).ask) == (bus.top(symbol).bid, bus.top(symbol).ask)


def test_every_way_to_read_gives_the_same():
    with touchline.Journal(TAPE, "demo", events=KINDS) as journal:
        arrays = batches(journal)
    with touchline.Journal(pathlib.Path(TAPE), events=KINDS) as journal:
        small = []
        while batch := journal.read(limit=7):
            small.append(batch)
    for kind in ("tops", "trades", "levels", "orders", "states", "order_states"):
        some, others = rows(arrays, kind), rows(small, kind)
        # The last event of a packet may have no row, and be the first of another batch.
        for name in set(some.dtype.names) - {"end_of_batch"}:
            assert np.array_equal(some[name], others[name], equal_nan=some[name].dtype.kind == "f"), (kind, name)
    again = [pickle.loads(pickle.dumps(batch)) for batch in arrays]
    assert rows(again, "levels").tobytes() == rows(arrays, "levels").tobytes()
    with touchline.Journal(TAPE, events=KINDS) as journal:
        tops = [(event.instrument, event.bid, event.sequence) for event in journal if event.kind == "top"]
    of = rows(arrays, "tops")
    same = [(row["instrument"], None if np.isnan(row["bid"]) else row["bid"], row["sequence"]) for row in of]
    assert tops == same and len(tops) > 1_000

    async def collect():
        with touchline.Journal(TAPE, events=KINDS) as journal:
            return [batch async for batch in journal.batches()]

    assert rows(asyncio.run(collect()), "levels").tobytes() == rows(arrays, "levels").tobytes()


@pytest.mark.parametrize("kind", ["trades", "statistics", "status", "quotes"])
def test_an_empty_batch_is_the_end_whatever_the_time(kind):
    """Messages without an event, however many, do not end the loop."""
    with touchline.Journal(TAPE, events=[kind]) as journal:
        events = sum(1 for _ in journal)
    for timeout in (0, 1e-6):
        with touchline.Journal(TAPE, events=[kind]) as journal:
            counted = 0
            while batch := journal.read(timeout):
                counted += len(batch)
            assert journal.stopped and counted == events
            assert journal.next(timeout) is None

    async def consume():
        with touchline.Journal(TAPE, events=[kind]) as journal:
            return sum([len(batch) async for batch in journal.batches(1e-6)])

    assert asyncio.run(consume()) == events


def test_parts_of_a_tape_are_the_whole():
    with touchline.Journal(TAPE, events=["trades"]) as journal:
        trades = rows(batches(journal), "trades")
    with touchline.Journal(TAPE, events=KINDS, raw=True) as journal:
        read = batches(journal)
    stamps = [rows(read, kind) for kind in ("tops", "trades", "levels", "orders")]
    stamps = np.concatenate([np.stack([of["sequence"], of["receive_ns"]], axis=1) for of in stamps])
    # A packet that is held for others has an earlier time than those before it: a moment that none of them crosses.
    times = stamps[np.lexsort(stamps.T[::-1])][:, 1]
    times = times[times > 0].astype(np.int64)
    before, behind = np.maximum.accumulate(times)[:-1], np.minimum.accumulate(times[::-1])[::-1][1:]
    calm = behind[before < behind // 1_000 * 1_000]
    middle = int(calm[len(calm) // 2])
    utc = datetime.timezone.utc
    # A time of datetime has no nanoseconds.
    micro = middle // 1_000 * 1_000
    forms = [middle, np.datetime64(middle, "ns"), datetime.datetime.fromtimestamp(middle // 10**9, utc).replace(microsecond=micro // 1_000 % 10**6)]
    for time in forms:
        parts = []
        for options in ({"end": time}, {"start": time}):
            with touchline.Journal(TAPE, events=["trades"], **options) as journal:
                parts.append(rows(batches(journal), "trades"))
        assert len(parts[0]) > 100 and len(parts[1]) > 100
        assert np.concatenate(parts)["sequence"].tolist() == trades["sequence"].tolist(), time
        at = micro if time is forms[2] else middle
        assert parts[0]["receive_ns"].max() < at <= parts[1]["receive_ns"].min()
    sequence = int(trades["sequence"][len(trades) // 2])
    with touchline.Journal(TAPE, events=["trades"], start_sequence=sequence) as journal:
        first = rows(batches(journal), "trades")[0]
    assert first["sequence"] <= sequence
    for options, why in [({"start": datetime.datetime(2026, 1, 1)}, "has no time zone"), ({"end": 5, "end_sequence": 5}, "give one of them")]:
        with pytest.raises(ValueError, match=why):
            touchline.Journal(TAPE, **options)


def test_a_tape_cannot_be_pickled():
    with touchline.Journal(TAPE) as journal, pytest.raises(TypeError, match="pickle"):
        pickle.dumps(journal)


def test_options_are_those_of_a_bus():
    with touchline.Journal(TAPE, symbols=["ZQA*"], raw=True, keep_books=False, events=["trades"]) as journal:
        trades = rows(batches(journal), "trades")
        assert set(trades["instrument"]) == {0} and journal.symbols == ["ZQA0"]
        assert trades["price"].dtype == np.int64
    for options, why in [({"events": ["top"]}, "give tops"), ({"wait": -1}, "give a time"), ({"idle": "x"}, "give backoff")]:
        with pytest.raises(ValueError, match=why):
            touchline.Journal(TAPE, **options)
    with pytest.raises(TypeError, match="lossless"):
        touchline.Journal(TAPE, lossless=True)


def test_the_buses_of_a_tape_are_listed():
    assert touchline.buses(journal=TAPE) == ["demo"]
    with pytest.raises(touchline.BusNotFound, match="no bus is called nope; buses here: demo"):
        touchline.Journal(TAPE, "nope")
    with pytest.raises(ValueError, match="give one of them"):
        touchline.buses(TAPE, journal=TAPE)


def test_what_is_no_tape_is_refused_in_one_line(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        for call in (touchline.Journal, lambda path: touchline.buses(journal=path)):
            with pytest.raises(touchline.Error, match="no segment of a tape; give the directory") as error:
                call(path)
            assert error.value.kind == "record" and "\n" not in str(error.value)


def test_a_wait_at_the_end_of_a_tape_that_is_recorded_ends_by_signal_stop_and_close(tmp_path):
    tape = copy(tmp_path)

    def raises(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, raises)
    with recorded(tape), touchline.Journal(tape) as journal:
        while journal.read(0.1):
            pass
        assert not journal.stopped and journal.next(0.01) is None and not journal.stopped
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(InterruptedError):
            journal.next()
        threading.Timer(0.05, journal.stop).start()
        assert journal.next() is None and journal.stopped
    with recorded(tape), touchline.Journal(tape) as journal:
        counted = 0
        for _ in journal:
            counted += 1
            if counted == 1_000:
                threading.Timer(0.05, journal.close).start()
        assert counted >= 1_000
    signal.signal(signal.SIGALRM, before)


def test_a_tape_whose_recorder_ends_ends(tmp_path):
    tape = copy(tmp_path)
    with touchline.Journal(tape) as journal:
        with recorded(tape):
            while journal.read(0.1):
                pass
            assert not journal.stopped
        assert journal.next(10) is None and journal.stopped


def test_a_recorder_that_starts_again_is_waited_for_as_long_as_stated(tmp_path):
    tape = copy(tmp_path)
    for tape_wait in (60, 0):
        with touchline.Journal(tape, tape_wait=tape_wait) as journal:
            with recorded(tape):
                while journal.read(0.1):
                    pass
            assert journal.next(1.5) is None
            with recorded(tape):
                assert journal.next(0.1) is None
                assert journal.stopped == (tape_wait == 0)


def test_a_child_reads_on_where_its_parent_was():
    with touchline.Journal(TAPE) as journal:
        for _ in range(50):
            journal.next()
        child = os.fork()
        if child == 0:
            os._exit(sum(1 for _ in journal) % 251)
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) == sum(1 for _ in journal) % 251


def test_damage_is_said_by_every_way_to_read_after_the_rows_before_it(tmp_path):
    tape = copy(tmp_path)
    segment = tape / "0000000001.tlj"
    whole = segment.read_bytes()
    used = len(whole.rstrip(b"\0"))
    damaged = bytearray(whole)
    damaged[used // 2] ^= 1
    segment.write_bytes(damaged)

    def count(act):
        counted = 0
        with touchline.Journal(tape) as journal:
            with pytest.raises(touchline.Error, match="the journal is damaged .*touchline journal verify") as error:
                while got := act(journal):
                    counted += len(got) if isinstance(got, touchline.Batch) else 1
            assert error.value.kind == "record" and journal.stopped
            # It stays the answer.
            with pytest.raises(touchline.Error, match="damaged"):
                journal.poll()
        return counted

    counts = {count(act) for act in (lambda of: of.next(5), lambda of: of.poll() or of.next(5), lambda of: of.read(5))}
    assert len(counts) == 1 and counts.pop() > 100
    with touchline.Journal(tape) as journal, pytest.raises(touchline.Error, match="damaged"):
        for _ in journal:
            pass
    # A loop that ends with `stopped` is not told that the tape has ended.
    with touchline.Journal(tape) as journal, pytest.raises(touchline.Error, match="damaged"):
        while not journal.stopped:
            journal.read()
    with touchline.Journal(tape) as journal, pytest.raises(touchline.Error, match="damaged"):
        # Before the damage all books are live, so `ready` is asked for one that never is.
        while True:
            journal.ready(5)
            journal.next(5)

    async def consume():
        with touchline.Journal(tape) as journal:
            return [batch async for batch in journal.batches()]

    with pytest.raises(touchline.Error, match="damaged"):
        asyncio.run(consume())


def test_a_tape_removed_underneath_is_said(tmp_path):
    for whole in (True, False):
        tape = copy(tmp_path / str(whole))
        with touchline.Journal(tape) as journal:
            journal.next()
            if whole:
                shutil.rmtree(tape)
            else:
                for segment in tape.glob("*.tlj"):
                    segment.unlink()
            with pytest.raises(touchline.Error, match="was removed before it was read") as error:
                while journal.read(5):
                    pass
            assert error.value.kind == "record"


def test_a_bus_with_its_tape_begins_with_the_tape():
    with touchline.Journal(TAPE, events=["trades"]) as journal:
        trades = rows(batches(journal), "trades")
    time = trades["receive_ns"][len(trades) // 2]
    with touchline.Bus("demo", events=["trades"], tape=TAPE, start=time) as bus:
        read = []
        while batch := bus.read(2):
            read.append(batch)
            if batch.connection and batch.connection.connection == "caught_up":
                break
        assert not bus.on_tape
        assert bus.stats["tape_messages"] > 0 and bus.stats["tape_losses"] == 0
    read = rows(read, "trades")
    assert len(read) > 100 and read["sequence"].tolist() == trades["sequence"][-len(read) :].tolist()
    with pytest.raises(ValueError, match="give the tape of the bus, too"):
        touchline.Bus("demo", start=5)


def test_missing_memory_is_an_error():
    program = """
import resource, sys, touchline
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(sys.argv[2]), -1))
try:
    touchline.Journal(sys.argv[1], events=["tops", "orders"])
except MemoryError as error:
    print(error)
"""
    said = {}
    for mib in (2, 70):
        command = [sys.executable, "-c", program, TAPE, str(mib << 20)]
        said[mib] = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "no memory for the updates of bus demo" in said[2], said
    assert "no memory for the books of bus demo" in said[70], said


def test_ready_reads_up_to_live_books_and_says_that_a_tape_has_ended():
    with touchline.Journal(TAPE) as journal:
        journal.ready(10)
        assert {journal.top(symbol).state for symbol in journal.symbols} == {"live"}
        for _ in journal:
            pass
        with pytest.raises(touchline.NotReady, match="its tape has ended, and 8 books of 8 are not live"):
            journal.ready(10)
