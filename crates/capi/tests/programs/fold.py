"""Keeps books of its own from arrays alone, and compares them with the module's behind each read; and best prices at each end of a packet.

Given the bus, its directory and symbols, as the programs in C and C++; `folding.py` is beside the tests of the package.
"""

import signal
import sys

import touchline
from folding import Books

KINDS = ["tops", "books", "orders"]
LIMIT = 4_096


def check_best(bus, instrument):
    """The best bid and ask are the first levels of the merged book, unless a level that must exist is not known."""
    top = bus.top(instrument)
    merged = bus.book(instrument)
    lists = [bus.book(instrument, direct=True), bus.book(instrument, implied=True)]
    for side, rows in (("bid", merged.bids), ("ask", merged.asks)):
        firsts = [getattr(of, side + "s")[:1]["known"] for of in lists]
        price, size = getattr(top, side), getattr(top, side + "_size")
        if len(rows) == 0 or not all(first.all() for first in firsts):
            assert price is None, (top.symbol, side, top)
            continue
        row = rows[0]
        assert (price, size) == (row["price"], row["size"]), (top.symbol, side, top, row)
        book = "direct" if row["implied"] == 0 else "implied" if row["direct"] == 0 else "merged"
        assert getattr(top, side + "_book") == book, (top.symbol, side, top, row)
    assert top.state == merged.state, top


def main(name, directory, *symbols):
    join = {"directory": directory, "events": KINDS, "symbols": symbols, "raw": True}
    folded, checked, changed, tops = Books(), 0, set(), 0
    with touchline.Bus(name, **join) as arrays, touchline.Bus(name, **join) as events:
        signal.signal(signal.SIGINT, lambda *_: (arrays.stop(), events.stop()))
        while not arrays.stopped:
            batch = arrays.read(timeout=0.05, limit=LIMIT)
            folded.take(batch)
            # Not within a change of all books, which the kept books have whole.
            if batch.connection or len(batch) < LIMIT:
                checked += len(folded.changed)
                folded.check(arrays, changed=not batch.connection)
            for event in iter(events.poll, None):
                if event.instrument is not None:
                    changed.add(event.instrument)
                # Within a packet the best prices of an instrument come before its book.
                if event.end_of_batch:
                    for instrument in changed:
                        check_best(events, instrument)
                    changed.clear()
                    tops += 1
            if batch.connection:
                print(batch.connection.connection, flush=True)
        overruns = arrays.stats["overruns"] + events.stats["overruns"]
    assert tops > 0
    print("end checked", checked, "cleared", folded.cleared, "overruns", overruns, flush=True)


main(*sys.argv[1:])
