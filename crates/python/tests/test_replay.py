"""Captures through the path in this process: the same arrays and books as the bus of the same replay."""

import concurrent.futures
import ctypes
import json
import os
import threading
import time

import numpy as np
import pytest

import touchline
from folding import Books

FAULTY = os.environ["TOUCHLINE_FAULTY"]
SESSION = os.environ["TOUCHLINE_SESSION"]
CONFIG = os.path.join(SESSION, "cme.toml")
CAPTURE = os.path.join(SESSION, "session.pcap")
KINDS = ["tops", "trades", "books", "orders"]


def whole(**options):
    replay = touchline.replay(CONFIG, CAPTURE, **options)
    return replay, list(replay)


def test_books_at_the_end_are_those_of_the_bus():
    replay, batches = whole(events=KINDS, raw=True)
    assert batches
    with touchline.Bus("demo", events=KINDS, raw=True) as bus:
        while next(bus).connection != "caught_up":
            pass
        assert sorted(bus.symbols) == sorted(replay.symbols)
        for symbol in bus.symbols:
            for ours, theirs in [
                (replay.book(symbol), bus.book(symbol)),
                (replay.orders(symbol), bus.orders(symbol)),
            ]:
                assert ours.bids.tolist() == theirs.bids.tolist()
                assert ours.asks.tolist() == theirs.asks.tolist()
    # The publisher of the bus has ended; the replay's books are as the last packet left them.
    assert {replay.book(symbol).state for symbol in replay.symbols} == {"live"}


def test_books_at_the_end_are_those_of_the_exchange():
    replay, _ = whole()
    with open(os.path.join(SESSION, "truth-books.jsonl")) as file:
        truth = [json.loads(line) for line in file]
    assert len(truth) == 8
    for exchange in truth:
        book = replay.book(exchange["symbol"], direct=True)
        for side, rows in (("bids", book.bids), ("asks", book.asks)):
            sizes = [size for _, size, *_ in exchange[side]]
            assert rows["size"].tolist() == sizes


def test_the_last_top_of_each_instrument_is_its_best_level():
    replay, batches = whole()
    tops = np.concatenate([batch.tops for batch in batches])
    assert (np.diff(tops["sequence"].astype(np.int64)) >= 0).all()
    for index, symbol in enumerate(replay.symbols):
        last = tops[tops["instrument"] == index][-1]
        assert last["bid"] == replay.top(symbol).bid == replay.book(symbol).bids["price"][0]


@pytest.mark.parametrize("limit", [1, 65_536])
def test_folded_books_are_those_of_the_replay(limit):
    """Over losses, resets and ends within an event; compared at each end of a batch."""
    cleared = 0
    for name in sorted(os.listdir(FAULTY)):
        folder = os.path.join(FAULTY, name)
        config, capture = (os.path.join(folder, file) for file in ("config.xml", "session.pcap"))
        replay = touchline.replay(config, capture, channel=998, events=["books", "orders"], raw=True)
        books, batches = Books(), 0
        while batch := replay.read(limit=limit):
            books.take(batch)
            batches += 1
            if limit > 1 or batches % 20 == 0:
                books.check(replay)
        books.check(replay)
        cleared += books.cleared
    assert cleared > 100


# Rows of one message that changed all books: by instrument, and then in this order.
ARRAYS = ["trades", "statistics", "status", "tops", "levels", "states", "orders", "order_states"]


@pytest.mark.parametrize("kinds", [["books"], ["orders"], ["trades"], ["tops", "trades"], KINDS])
def test_the_last_row_of_each_packet_is_marked(kinds):
    packets = 0
    for name in sorted(os.listdir(FAULTY)):
        folder = os.path.join(FAULTY, name)
        config, capture = (os.path.join(folder, file) for file in ("config.xml", "session.pcap"))
        replay = touchline.replay(config, capture, channel=998, events=kinds, raw=True)
        for batch in replay:
            rows = sorted(
                (int(row["sequence"]), int(row["instrument"]), rank, int(row["receive_ns"]), bool(row["end_of_batch"]))
                for rank, array in enumerate(ARRAYS)
                for row in getattr(batch, array)
            )
            for (*_, received, is_end), (*_, next_received, _) in zip(rows, rows[1:]):
                if received != next_received:
                    assert is_end, (name, received)
                    packets += 1
    assert packets > 100


def test_small_batches_are_the_whole_in_parts():
    _, batches = whole(raw=True)
    replay = touchline.replay(CONFIG, [CAPTURE], raw=True)
    parts = []
    while batch := replay.read(limit=100):
        parts.append(batch)
    assert len(parts) > 10
    for kind in ("tops", "trades"):
        one = np.concatenate([getattr(batch, kind) for batch in batches])
        other = np.concatenate([getattr(batch, kind) for batch in parts])
        assert one.tobytes() == other.tobytes()


def test_another_thread_may_read_and_two_at_once_may_not():
    replay = touchline.replay(CONFIG, CAPTURE)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert len(threads.submit(replay.read, 100).result()) >= 100
        reads = [threads.submit(replay.read, 1_000_000) for _ in range(2)]
        errors = [read.exception() for read in reads]
    assert [error for error in errors if error is None or isinstance(error, RuntimeError)] == errors
    assert None in errors


def test_symbols_select():
    replay, batches = whole(symbols=["ZQA*"])
    assert replay.symbols and all(symbol.startswith("ZQA") for symbol in replay.symbols)
    assert len(replay.symbols) < 8
    everything = touchline.replay(os.path.join(SESSION, "config.xml"), CAPTURE, channel=998)
    assert len(everything.read(limit=1_000_000)) > sum(map(len, batches))


def test_mistakes_are_sentences(tmp_path):
    with pytest.raises(touchline.Error, match="nowhere.pcap"):
        touchline.replay(CONFIG, "nowhere.pcap")
    with pytest.raises(touchline.Error, match="nowhere.toml"):
        touchline.replay("nowhere.toml", CAPTURE)
    with pytest.raises(ValueError, match="give tops, trades"):
        touchline.replay(CONFIG, CAPTURE, events=["all"])
    cut = tmp_path / "cut.pcap"
    with open(CAPTURE, "rb") as file:
        cut.write_bytes(file.read()[:-7])
    replay = touchline.replay(CONFIG, cut)
    assert sum(map(len, replay)) > 1_000
    assert len(replay.truncations) == 1 and "cut.pcap" in replay.truncations[0]
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(cut.read_bytes()[:24])
    with pytest.raises(touchline.Error, match="no packet is for channel 998"):
        list(touchline.replay(CONFIG, empty))


def resident_kib():
    # What was freed is not counted: the C library keeps some of it, more or less from run to run.
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def test_memory_does_not_grow_with_what_was_read():
    def once():
        whole(events=KINDS)
        with touchline.Bus("demo", events=KINDS) as bus:
            event = None
            while event is None or event.connection != "caught_up":
                batch = bus.read(timeout=1)
                assert batch
                event = batch.connection
            bus.book(bus.symbols[0]), bus.orders(bus.symbols[0]), bus.definitions()

    for _ in range(10):
        once()
    before = resident_kib()
    for _ in range(30):
        once()
    assert resident_kib() - before < 1_024


@pytest.mark.parametrize("opened", [touchline.Journal, lambda _, **options: touchline.replay(CONFIG, CAPTURE, **options)])
def test_other_threads_run_while_definitions_are_read(tmp_path, opened):
    """Definitions of a pipe, which another thread of this process writes; nothing for five seconds would be the end of it."""
    pipe = tmp_path / "definitions"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)

    def write():
        time.sleep(0.1)
        for _ in range(10):
            os.write(end, b"none\n" * 200)
            time.sleep(0.05)
        os.close(end)

    writer = threading.Thread(target=write)
    begin = time.monotonic()
    writer.start()
    with pytest.raises(touchline.Error):
        opened(os.environ["TOUCHLINE_TAPE"], definitions=pipe)
    assert time.monotonic() - begin < 4
    writer.join()
