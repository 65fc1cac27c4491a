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
    events = 0
    while batch := bus.read(timeout=0):
        events += len(batch)
        for array in (*batch, batch.states):
            assert not array.flags.writeable
            if keep is not None and len(array):
                keep.append((array, array.tobytes()))
    return events


def refused(array):
    for change in (lambda: array.__setitem__(0, array[0]), lambda: setattr(array.flags, "writeable", True)):
        try:
            change()
        except ValueError:
            continue
        raise AssertionError("the array can be written")


def main(name, directory, instruments, orders):
    bus = touchline.Bus(name, directory=directory, events=KINDS)
    events, kept, samples = 0, [], []
    for line in sys.stdin:
        if line.strip() == "end":
            break
        first = not samples
        events += drain(bus, kept if first else None)
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
    # Each array was kept over the day; now also without its bus.
    bus.close()
    for array, bytes in kept:
        refused(array)
        assert array.tobytes() == bytes
    quarter = len(samples) // 4
    warm, late = ([max(column) for column in zip(*part)] for part in (samples[quarter : 2 * quarter], samples[2 * quarter :]))
    growth = [after - before for before, after in zip(warm, late)]
    assert max(growth) <= GROWTH_MAX, (warm, late)
    print(json.dumps({"events": events, "anon_and_rss_kib": warm, "growth_kib": growth, "kept": len(kept)}), flush=True)


main(*sys.argv[1:])
