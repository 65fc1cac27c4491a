"""Best bid and ask of each instrument of a bus, after each venue packet: top_of_book.py BUS."""

import sys

import touchline

with touchline.Bus(sys.argv[1] if len(sys.argv) > 1 else "demo", events=["tops"]) as bus:
    tops = []
    for event in bus:
        if event.kind == "top":
            tops.append(event)
        elif event.kind == "connection":
            print(event.connection, file=sys.stderr)
        # What the bus has kept belongs to no packet: it ends with an event of the connection.
        if event.end_of_batch or event.kind == "connection":
            for top in tops:
                if top.bid is not None and top.ask is not None:
                    print(top.symbol, top.state, top.bid, top.ask)
            tops.clear()
