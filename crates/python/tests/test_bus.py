"""The module against a bus that `touchline replay --publish` leaves: the same answers as the Rust client's.

Run by the system tests of `crates/touchline`, which give the directory of the bus and the session.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import touchline
from folding import Books

DIRECTORY = os.environ["TOUCHLINE_DIR"]
KINDS = ["tops", "trades", "books", "orders"]


@pytest.fixture
def bus():
    with touchline.Bus("demo", events=KINDS) as bus:
        yield bus


def caught_up(bus):
    """Reads up to the event that says so; returns the batches."""
    batches = []
    while True:
        batch = bus.read(timeout=5)
        assert batch, "it catches up"
        batches.append(batch)
        if batch.connection and batch.connection.connection == "caught_up":
            return batches


def test_an_unknown_bus_is_named_with_those_that_exist():
    with pytest.raises(touchline.BusNotFound, match="no bus is called nope; buses here: demo"):
        touchline.Bus("nope")
    assert issubclass(touchline.BusNotFound, OSError)
    assert touchline.buses() == ["demo"]
    assert touchline.buses(directory=DIRECTORY) == ["demo"]


def test_the_first_read_imports_numpy_before_it_waits():
    program = '''
import sys, touchline
bus = touchline.Bus("demo")
assert "numpy" not in sys.modules
bus.read(timeout=0)
assert "numpy" in sys.modules
'''
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("raised", "attempt"),
    [("ImportError", "batch.tops"), ("KeyboardInterrupt", "bus.read(timeout=0)")],
)
def test_a_missing_numpy_is_named_with_the_first_array_and_ctrl_c_ends_its_import(raised, attempt):
    program = f'''
import sys, touchline
class Finder:
    def find_spec(name, *_):
        if name == "numpy":
            raise {raised}
sys.meta_path.insert(0, Finder)
bus = touchline.Bus("demo")
batch = bus.read(timeout=0) if {raised} is ImportError else None
try:
    {attempt}
except {raised} as error:
    assert {raised} is KeyboardInterrupt or "pip install" in str(error)
else:
    sys.exit("no {raised}")
'''
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"events": ["top"]}, 'events "top" is unknown: give tops, trades'),
        ({"events": []}, "leave it out"),
        ({"idle": "sleep"}, 'give backoff, yield, spin'),
        ({"wait": -1}, "give a time"),
        ({"wait": float("nan")}, "give a time"),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(options, why):
    with pytest.raises(ValueError, match=why):
        touchline.Bus("demo", **options)


def test_each_instrument_is_defined_before_its_values_and_then_it_has_caught_up(bus):
    defined = set()
    for event in bus:
        if event.kind == "defined":
            defined.add(event.instrument)
            assert bus.symbols[event.instrument] == event.symbol
        elif event.kind == "top":
            assert event.instrument in defined
            assert event.state == "stale"
            assert event.bid < event.ask
        elif event.connection == "caught_up":
            break
    assert len(defined) == len(bus.symbols) == 8
    assert bus.stats["inconsistent"] == 0
    assert bus.lag == (0, 0)
    assert bus.poll() is None


def test_arrays_and_books_agree_with_the_iterator(bus):
    batches = caught_up(bus)
    tops = np.concatenate([batch.tops for batch in batches])
    with touchline.Bus("demo", events=KINDS) as other:
        events = []
        for event in other:
            if event.connection == "caught_up":
                break
            if event.kind == "top":
                events.append((event.instrument, event.bid, event.ask, event.sequence))
    columns = ["instrument", "bid", "ask", "sequence"]
    assert [tuple(row) for row in tops[columns].tolist()] == events
    for row in tops:
        book = bus.book(bus.symbols[row["instrument"]])
        top = bus.top(bus.symbols[row["instrument"]])
        assert (top.bid, top.ask) == (row["bid"], row["ask"])
        assert book.bids["price"][0] == row["bid"] and book.asks["price"][0] == row["ask"]
        assert (np.diff(book.bids["price"]) < 0).all() and (np.diff(book.asks["price"]) > 0).all()


def test_statistics_and_status_are_arrays_of_the_same_events():
    kinds = ["statistics", "status"]
    with touchline.Bus("demo", events=kinds, raw=True) as bus:
        statistics, status = map(np.concatenate, zip(*caught_up(bus)))
    found = {"statistic": [], "status": []}
    with touchline.Bus("demo", events=kinds, raw=True) as bus:
        for event in bus:
            if event.connection == "caught_up":
                break
            found.get(event.kind, []).append(event)
        groups = dict(zip(bus.symbols, bus.definitions()["group"]))
    none = np.iinfo(np.int64).max
    assert len(statistics) > 8 and len(status) == 8
    for row, event in zip(statistics, found["statistic"], strict=True):
        assert (row["sequence"], row["instrument"]) == (event.sequence, event.instrument)
        assert touchline.names.STATISTIC[row["kind"]] == event.detail
        assert touchline.names.TRADE_ACTION[row["action"]] == event.action
        for column in ("price", "size"):
            assert row[column] == (none if (value := getattr(event, column)) is None else value)
    for row, event in zip(status, found["status"], strict=True):
        assert (row["sequence"], row["instrument"]) == (event.sequence, event.instrument)
        assert (row["exchange_ns"], row["receive_ns"]) == (event.exchange_ns, event.receive_ns)
        assert (row["status"], event.detail) == (17, "ready to trade")
        assert row["group"] == groups[event.symbol]


def test_raw_numbers_are_exact(bus):
    caught_up(bus)
    with touchline.Bus("demo", raw=True) as raw:
        caught_up(raw)
        for symbol in raw.symbols:
            exact, rounded = raw.book(symbol).bids, bus.book(symbol).bids
            assert exact["price"].dtype == np.int64
            np.testing.assert_array_equal(exact["price"] / 1e9, rounded["price"])


def test_arrays_are_read_only_and_outlive_their_bus():
    with touchline.Bus("demo", events=KINDS) as bus:
        batches = caught_up(bus)
        bids = bus.book(bus.symbols[0]).bids
    before = bids.tobytes(), batches[-1].tops.tobytes()
    with pytest.raises(ValueError, match="read-only"):
        bids["price"] = 0
    for array in (bids, bids.base, batches[0].trades, batches[-1].tops, batches[-1].states):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True
    for _ in range(20):
        with touchline.Bus("demo", events=KINDS) as bus:
            caught_up(bus)
    assert (bids.tobytes(), batches[-1].tops.tobytes()) == before


def test_an_array_that_a_program_changes_is_its_own(bus):
    full = caught_up(bus)[-1].tops
    columns = full.dtype.names
    full.dtype.names = [f"{name}_" for name in columns]
    none = bus.read(timeout=0)
    none.tops.shape = (0, 1)
    assert none.tops is none.tops
    for name in ("tops", "trades", "levels", "orders", "statistics", "status", "states", "order_states"):
        array, other = getattr(none, name), getattr(bus.read(timeout=0), name)
        assert other.shape == (0,) and array is not other and array.dtype is not other.dtype
    assert none.tops.dtype.names == columns
    # An equal type, also in the order of its bytes and with its padding.
    assert none.tops.dtype == bus.read(timeout=0).tops.dtype != full.dtype


def test_folded_books_are_those_of_the_bus():
    with touchline.Bus("demo", events=KINDS, raw=True) as bus:
        books = Books()
        for batch in caught_up(bus):
            books.take(batch)
        books.check(bus)
        assert len(books.states) == len(books.order_states) == 8


def test_an_unknown_symbol_is_a_key_error_with_a_sentence(bus):
    caught_up(bus)
    with pytest.raises(KeyError) as error:
        bus.book("ZQA9")
    assert isinstance(error.value, touchline.InstrumentNotFound)
    assert str(error.value) == 'bus demo has no instrument "ZQA9" (8 are defined); did you mean ZQA0?'


def test_a_closed_bus_says_so(bus):
    bus.close()
    with pytest.raises(ValueError, match="bus demo is closed"):
        bus.poll()


def test_a_second_thread_is_refused_while_one_reads(bus):
    caught_up(bus)
    reader = threading.Thread(target=bus.read, kwargs={"timeout": 5.0})
    reader.start()
    time.sleep(0.2)
    with pytest.raises(RuntimeError, match="is being read by another thread"):
        bus.poll()
    reader.join()
    assert bus.poll() is None


@pytest.fixture(scope="module")
def half_started(tmp_path_factory):
    """Directory of a bus whose publisher has not assigned its tables yet."""
    directory = tmp_path_factory.mktemp("half")
    copy = ["cp", "-r", "--sparse=always", os.path.join(DIRECTORY, "demo"), directory]
    subprocess.run(copy, check=True)
    with open(directory / "demo" / "definitions", "r+b") as table:
        table.seek(16 * 8)
        table.write(bytes(8))
    with pytest.raises(touchline.Error, match="start") as error:
        touchline.Bus("demo", directory=directory)
    assert error.value.kind == "half_started"
    return directory


@pytest.mark.parametrize(
    "wait",
    [
        "for event in bus: pass",
        "bus.next()",
        "while True: bus.read(timeout=None)",
        "bus.ready(60)",
        "touchline.Bus('nope', wait=60)",
        "touchline.Bus('demo', directory=sys.argv[1])",
        "asyncio.run(forever(bus))",
    ],
)
def test_ctrl_c_ends_each_wait_soon(wait, half_started):
    program = f"""
import asyncio, signal, sys, time, touchline
signal.signal(signal.SIGINT, signal.default_int_handler)
async def forever(bus):
    async for batch in bus.batches(timeout=None):
        pass
bus = touchline.Bus('demo')
while bus.poll() is not None:
    pass
print('waits', flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
"""
    def once():
        command = [sys.executable, "-c", program, half_started]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"waits\n"
        time.sleep(0.3)
        sent = time.clock_gettime(time.CLOCK_MONOTONIC)
        child.send_signal(signal.SIGINT)
        ended, _ = child.communicate(timeout=100)
        # Without a time it had ended before the signal: a loud host starts it late, and a half-started bus is refused after a second.
        return float(ended) - sent if ended else float("inf")

    # 50 ms at most on a quiet host; a loud one delays a process by more, and not each time.
    assert any(once() < 0.1 for _ in range(5))


def test_a_mistake_is_not_waited_for():
    started = time.monotonic()
    with pytest.raises(ValueError, match="unknown|pattern|regular"):
        touchline.Bus("demo", symbols=["/(/"], wait=30)
    assert time.monotonic() - started < 10


def test_a_task_that_ends_keeps_its_batch():
    async def twice():
        with touchline.Bus("demo", events=KINDS) as bus:
            events = 0
            for _ in range(500):
                try:
                    async with asyncio.timeout(0.001) if hasattr(asyncio, "timeout") else bus:
                        async for batch in bus.batches():
                            events += len(batch)
                except TimeoutError:
                    pass
                if bus.stats["events"] == events and events > 8:
                    break
            while batch := bus.read(timeout=0):
                events += len(batch)
            assert events == bus.stats["events"]

    if hasattr(asyncio, "timeout"):
        asyncio.run(twice())


def test_batches_for_asyncio():
    async def first():
        with touchline.Bus("demo") as bus:
            events = 0
            async for batch in bus.batches(timeout=0.1):
                events += len(batch)
                if batch.connection and batch.connection.connection == "caught_up":
                    return events

    assert asyncio.run(first()) > 8


def test_definitions_are_a_table(bus):
    caught_up(bus)
    table = bus.definitions()
    assert table["symbol"] == bus.symbols
    assert {len(column) for column in table.values()} == {8}
    assert set(table["venue"]) == {"cme"}
