"""Best bid and ask of each instrument of a bus: top_of_book.py BUS."""

import sys

import touchline

with touchline.Bus(sys.argv[1] if len(sys.argv) > 1 else "demo", events=["tops"]) as bus:
    for event in bus:
        if event.kind == "top" and event.bid is not None and event.ask is not None:
            print(event.symbol, event.state, event.bid, event.ask)
        elif event.kind == "connection":
            print(event.connection, file=sys.stderr)
