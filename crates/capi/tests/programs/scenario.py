"""Says each event as a line, as the readers in the other languages do."""

import sys

import touchline


def say(*words):
    print(":", *words, flush=True)


def number(value):
    return "-" if value is None else value


def line(event):
    words = [event.kind, event.symbol]
    if event.kind == "top":
        words += [event.state, event.bid, event.bid_size, event.ask, event.ask_size]
    elif event.kind in ("book", "state"):
        words.append(event.state)
    elif event.kind == "trade":
        words += [event.price, event.size, event.aggressor]
    say(*map(number, words))


def caught_up(bus):
    for symbol in bus.symbols:
        top = bus.top(symbol)
        sides = (top.bid, top.bid_size, top.ask, top.ask_size)
        say("kept", symbol, top.state, *map(number, sides))
    try:
        bus.top("ESU5")
    except touchline.InstrumentNotFound as error:
        say("error", error.kind, error)


def main(name, directory):
    try:
        bus = touchline.Bus(
            name, directory=directory, events=["tops", "trades", "books"], raw=True
        )
    except touchline.Error as error:
        say("error", error.kind, error)
        sys.exit(1)
    with bus:
        for event in bus:
            if event.kind != "connection":
                line(event)
                continue
            say("connection", event.connection)
            if event.connection == "caught_up":
                caught_up(bus)


main(*sys.argv[1:])
