"""Says each event as a line, as the readers in the other languages do: one by one, or from the rows of arrays."""

import os
import signal
import sys

import touchline

# A number that is absent, as an array has it.
NONE = 2**63 - 1
# Behind every number of a message.
LAST = 2**64
MODE = os.environ.get("TOUCHLINE_TEST_MODE")
ARRAYS = "TOUCHLINE_TEST_ARRAYS" in os.environ
# A test in the background has SIGINT ignored, and Python keeps that.
signal.signal(signal.SIGINT, signal.default_int_handler)
MODES = {"wait": {"wait": 60}, "lossless": {"name": "recorder", "lossless": True}}


def say(*words):
    print(":", *words, flush=True)


def number(value):
    return "-" if value is None or value == NONE else value


def best(top):
    return (top.bid, top.bid_size, top.bid_book, top.ask, top.ask_size, top.ask_book)


def say_event(bus, event):
    words = [event.kind, event.symbol]
    if event.kind == "top":
        words += [event.state, *best(event)]
    elif event.kind in ("book", "orders", "state"):
        words.append(event.state)
    elif event.kind == "trade":
        words += [event.price, event.size, event.aggressor, event.action]
    elif event.kind == "statistic":
        words += [event.detail, event.price, event.size, event.action]
    elif event.kind == "defined":
        of = bus.definitions()
        names = ("security_id", "venue", "currency", "maturity", "tick")
        words += [of[name][event.instrument] for name in names]
    say(*map(number, words))
    if event.kind == "trade" and event.size == 1:
        messages, size = bus.lag
        say("lag", "behind" if size > messages else "none")


def say_rows(bus, batch):
    """Rows of the kinds in the order of the bus; steps of one message are one change of a book."""
    lines = {}

    def add(rank, rows, words):
        for row in rows:
            # Rows of the connection have no number, and are the last of a batch.
            key = (int(row["sequence"]) or LAST, row["instrument"], rank)
            lines[key] = [bus.symbols[row["instrument"]], *words(row)]

    def state(row):
        return touchline.names.STATE[row["state"]]

    def top(row):
        books = [touchline.names.BOOK.get(row[side]) for side in ("bid_book", "ask_book")]
        return [state(row), row["bid"], row["bid_size"], books[0], row["ask"], row["ask_size"], books[1]]

    add("0 top", batch.tops, top)
    aggressor, action = touchline.names.AGGRESSOR, touchline.names.TRADE_ACTION

    def trade(row):
        return [row["price"], row["size"], aggressor[row["aggressor"]], action[row["action"]]]

    def statistic(row):
        return [touchline.names.STATISTIC[row["kind"]], row["price"], row["size"], action[row["action"]]]

    add("1 trade", batch.trades, trade)
    add("1 statistic", batch.statistics, statistic)
    add("2 book", batch.levels, lambda row: [state(row)])
    add("3 state", batch.states, lambda row: [state(row)])
    add("4 orders", batch.orders, lambda row: [state(row)])
    add("4 orders", batch.order_states, lambda row: [state(row)])
    for rows, word, lists in ((batch.levels, "LEVEL_ACTION", 4), (batch.orders, "ORDER_ACTION", 2)):
        names = getattr(touchline.names, word)
        for sequence, instrument in {(row["sequence"], row["instrument"]) for row in rows if row["whole"]}:
            of = rows[(rows["sequence"] == sequence) & (rows["instrument"] == instrument)]
            cleared = sum(names[action] == "clear" for action in of["action"])
            if cleared != lists:
                say("whole book with", cleared, "steps that empty it")
    for key in sorted(lines):
        say(key[2][2:], *map(number, lines[key]))


def say_connection(bus, event):
    say("connection", event.connection)
    if event.connection != "caught_up":
        return
    for symbol in bus.symbols:
        top = bus.top(symbol)
        say("kept", symbol, top.state, *map(number, best(top)))
        if not ARRAYS:
            continue
        book = bus.book(symbol)
        for list_of in ("direct", "implied"):
            for merged, alone in ((book.bids, "bids"), (book.asks, "asks")):
                rows = getattr(bus.book(symbol, **{list_of: True}), alone)
                assert merged[list_of].sum() == rows["size"].sum(), (symbol, list_of)
    try:
        bus.top("ESU5")
    except touchline.InstrumentNotFound as error:
        say("error", error.kind, error)


def read(bus):
    for event in bus:
        if event.kind == "connection":
            say_connection(bus, event)
        else:
            say_event(bus, event)


def read_arrays(bus):
    while not bus.stopped:
        batch = bus.read()
        say_rows(bus, batch)
        if batch.connection:
            say_connection(bus, batch.connection)


def say_stopped(stats):
    words = ["overruns", stats["overruns"], "lost", "yes" if stats["lost"] else "no"]
    for name in ("restarts", "unknown", "undefined", "inconsistent"):
        words += [name, stats[name]]
    say("stopped", *words)


def main(name, directory):
    if MODE == "wait":
        say("waiting")
    kinds = ["books", "orders"] if MODE in ("books", "tape-books") else ["tops", "trades", "books", "statistics"]
    options = {"events": kinds, "raw": True}
    try:
        if MODE and MODE.startswith("tape"):
            bus = touchline.Journal(f"{directory}.tape", "other" if MODE == "tape-other" else name, **options)
        else:
            tape = f"{directory}.tape" if MODE in ("with-tape", "from-tape") else None
            if tape:
                options.update(tape_wait=60)
            if MODE == "from-tape":
                options.update(start_sequence=1)
            bus = touchline.Bus(name, directory=directory, tape=tape, **options, **MODES.get(MODE, {}))
        with bus:
            if MODE == "ready":
                bus.ready(2)
                say("ready")
            try:
                read_arrays(bus) if ARRAYS else read(bus)
            except KeyboardInterrupt:
                pass
            say_stopped(bus.stats)
    except touchline.Error as error:
        say("error", error.kind, error)
        sys.exit(1)


main(*sys.argv[1:])
