"""Buys 1,000 EUR/USD through the trading engine, and prints what becomes of the order."""

import sys

import touchline

with touchline.Desk("fx-run") as desk:
    parent = desk.send("EUR/USD", "buy", 1_000)
    for event in desk:
        if event["kind"] == "fill" and event["parent"] == parent:
            print("fill", event["quantity"], "at", event["price"])
        elif event["kind"] == "parent" and event["id"] == parent:
            print("parent", event["state"])
            if event["settled"]:
                break
        elif event["kind"] == "bus":
            print(event["text"], file=sys.stderr)
    for pair, row in desk.positions.items():
        print("position", pair, row["position"])
