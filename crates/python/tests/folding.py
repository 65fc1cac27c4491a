"""Books that a program folds from arrays, and compares with those of the product."""

import numpy as np

import touchline

LEVEL = {word: number for number, word in touchline.names.LEVEL_ACTION.items()}
ORDER = {word: number for number, word in touchline.names.ORDER_ACTION.items()}


class Books:
    """Levels of the direct and the implied book, orders, and states, by the index of the instrument."""

    def __init__(self):
        self.levels = {}
        self.orders = {}
        self.states = {}
        self.order_states = {}
        self.cleared = 0
        #: Instruments that have rows since the last check.
        self.changed = set()

    def take(self, batch):
        for rows in (batch.levels, batch.orders, batch.states, batch.order_states):
            self.changed.update(np.unique(rows["instrument"]).tolist())
        levels, states = merged(batch.levels, batch.states)
        for row in levels:
            self.level(row)
        self.states.update(states)
        orders, states = merged(batch.orders, batch.order_states)
        for row in orders:
            self.order(row)
        self.order_states.update(states)

    def level(self, row):
        rows = self.levels.setdefault((row["instrument"], row["book"], row["side"]), [])
        at, action = row["index"], row["action"]
        if action == LEVEL["insert"]:
            rows.insert(at, (row["price"], row["size"]))
        elif action == LEVEL["replace"]:
            rows[at] = (row["price"], row["size"])
        elif action == LEVEL["remove"]:
            del rows[at]
        else:
            self.cleared += bool(rows)
            rows.clear()

    def order(self, row):
        orders = self.orders.setdefault((row["instrument"], row["side"]), {})
        if row["action"] == ORDER["clear"]:
            self.cleared += bool(orders)
            orders.clear()
        elif row["action"] == ORDER["delete"]:
            del orders[row["order_id"]]
        else:
            orders[row["order_id"]] = (row["price"], row["size"])

    def check(self, source, changed=False):
        """Compares them with those of a bus or a replay whose batches were taken, all or the changed ones; prices are raw."""
        symbols = source.symbols
        for instrument in self.changed if changed else range(len(symbols)):
            symbol = symbols[instrument]
            if symbol == "?":
                # Not defined yet.
                continue
            # By index: a later instrument may have the same symbol.
            book, orders = source.book(instrument, direct=True), source.orders(instrument)
            implied = source.book(instrument, implied=True)
            for side, name in enumerate(("bids", "asks")):
                for list_, kept in enumerate((book, implied)):
                    own = self.levels.get((instrument, list_, side), [])
                    rows = getattr(kept, name)[["price", "size"]].tolist()
                    assert own == rows, symbol
                ranked = getattr(orders, name)
                own = self.orders.get((instrument, side), {})
                known = {row["order_id"]: (row["price"], row["size"]) for row in ranked}
                assert own == known, symbol
            assert self.states.get(instrument, book.state) == book.state, symbol
            assert self.order_states.get(instrument, orders.state) == orders.state, symbol
        self.changed.clear()


def merged(steps, states):
    """Rows of steps, and the last state of each instrument, of either array."""
    last = {}
    for rows in (steps, states):
        for instrument in np.unique(rows["instrument"]):
            row = rows[rows["instrument"] == instrument][-1]
            # A change of the connection has no number, and is the last of its batch.
            number = row["sequence"] or np.iinfo(np.uint64).max
            if number >= last.get(instrument, (0, None))[0]:
                last[instrument] = (number, touchline.names.STATE[row["state"]])
    return steps, {instrument: state for instrument, (_, state) in last.items()}
