"""Reader of a day: obeys words on standard input, and checks its memory and its arrays."""

import json
import sys

import touchline

KINDS = ["tops", "trades", "books", "orders", "statistics", "status"]
# Growth of the maximum from the second quarter of the reads to the second half, KiB.
GROWTH_MAX = 4 * 1024


def memory(names=("RssAnon", "VmRSS")):
    with open("/proc/self/status") as file:
        values = dict(line.split(":", 1) for line in file)
    return [int(values[name].split()[0]) for name in names]


def drain(bus, keep):
    """Numbers of rows, by kind."""
    rows = [0] * len(KINDS)
    while batch := bus.read(timeout=0):
        rows = [before + len(array) for before, array in zip(rows, batch, strict=True)]
        for array in (*batch, batch.states):
            assert not array.flags.writeable
            if keep is not None and len(array):
                keep.append((array, array.tobytes()))
    return rows


def published(packets):
    """Numbers of rows in these packets of the day."""

    def every(number, among=packets):
        return (among + number - 1) // number

    # The first quantity of an instrument is that of its book at the begin in a packet of 997, and its top stays the same.
    tops = packets - every(997, min(packets, 5_000))
    return [tops, every(5), 2 * packets, 2 * every(7), every(50), every(50)]


def refused(array):
    for change in (lambda: array.__setitem__(0, array[0]), lambda: setattr(array.flags, "writeable", True)):
        try:
            change()
        except ValueError:
            continue
        raise AssertionError("the array can be written")


def main(name, directory, instruments, orders, packets):
    bus = touchline.Bus(name, directory=directory, events=KINDS)
    # What a reader gets of the time before it joined.
    assert bus.read(timeout=5) and sys.stdin.readline().strip() == "begin"
    drain(bus, None)
    print("read", flush=True)
    read, kept, samples = [0] * len(KINDS), [], []
    for line in sys.stdin:
        if line.strip() == "end":
            break
        first = not samples
        part = drain(bus, kept if first else None)
        read = [before + rows for before, rows in zip(read, part)]
        assert len(bus.symbols) == int(instruments)
        if len(samples) % 4 == 0:
            books = [bus.book(bus.symbols[0]), bus.orders(bus.symbols[0])]
            assert len(books[1].bids) + len(books[1].asks) == int(orders)
            if first:
                kept += [(array, array.tobytes()) for book in books for array in (book.bids, book.asks)]
        samples.append(memory())
        print("read", flush=True)
    stats = bus.stats
    assert (stats["overruns"], stats["inconsistent"]) == (0, 0), stats
    assert read == published(int(packets)), (read, published(int(packets)))
    # Of each kind, and of two books.
    assert len(kept) >= len(KINDS) + 4, len(kept)
    # Each array was kept over the day; now also without its bus.
    bus.close()
    for array, bytes in kept:
        refused(array)
        assert array.tobytes() == bytes
    quarter = len(samples) // 4
    warm, late = ([max(column) for column in zip(*part)] for part in (samples[quarter : 2 * quarter], samples[2 * quarter :]))
    growth = [after - before for before, after in zip(warm, late)]
    assert max(growth) <= GROWTH_MAX, (warm, late)
    print(json.dumps({"rows": read, "anon_and_rss_kib": warm, "growth_kib": growth, "kept": len(kept)}), flush=True)


main(*sys.argv[1:])
