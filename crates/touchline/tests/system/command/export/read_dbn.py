"""Reads the DBN files of a folder with Databento's reader, and compares counts, and the books that they fold to, with those of a
replay: read_dbn.py FOLDER BOOKS ORDERS, both of `touchline replay`."""

import json
import pathlib
import sys

import databento_dbn as dbn

UNDEFINED = 2**63 - 1


def records(path):
    decoder = dbn.DBNDecoder()
    decoder.write(path.read_bytes())
    metadata, *rest = decoder.decode()
    return metadata, rest


def price(number):
    """The shortest plain decimal."""
    sign, number = "-" if number < 0 else "", abs(number)
    whole, part = divmod(number, 10**9)
    return f"{sign}{whole}" + (f".{part:09}".rstrip("0") if part else "")


def rows(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def levels(record, side):
    """Levels of a side of a record, as `touchline replay --books` writes them; a level that was never stated ends the list."""
    found = []
    for level in record.levels:
        number = getattr(level, f"{side}_px")
        if number == UNDEFINED:
            break
        found.append([price(number), getattr(level, f"{side}_sz"), getattr(level, f"{side}_ct")])
    return found


def check_counts(folder):
    for path in sorted(folder.glob("*.dbn")):
        about = json.loads((folder / f"{path.name}.json").read_text())
        metadata, found = records(path)
        assert len(found) == about["records"], path
        assert metadata.version == 3 and metadata.schema == path.stem, metadata
        assert metadata.dataset == "TOUCHLINE", metadata
        print(f"{path.name}: {len(found)} records")


def check_levels(folder, books, name, count):
    """The levels of the last record of an instrument are the book of the replay."""
    _, found = records(folder / f"{name}.dbn")
    last = {record.instrument_id: record for record in found}
    compared = 0
    for book in books:
        record = last.get(book["security_id"])
        if record is None:
            assert not book["bids"] and not book["asks"], book
            continue
        for side in ["bid", "ask"]:
            # The list is `null` from a level on that was never stated, and a number of orders that is not stated is 0.
            expected = []
            for level in book[f"{side}s"][:count]:
                if level is None:
                    break
                expected.append([level[0], level[1], level[2] or 0])
            assert levels(record, side) == expected, (name, book["symbol"], side)
            compared += len(expected)
    assert compared > 0, "books that are empty prove nothing"
    print(f"{name}: {compared} levels are equal")


def check_orders(folder, expected):
    """Orders that are added, changed and removed one by one."""
    _, found = records(folder / "mbo.dbn")
    orders = {}
    for record in found:
        book = orders.setdefault(record.instrument_id, {})
        action = str(record.action)
        if action == "R":
            book.clear()
        elif action in "AM":
            assert (record.order_id in book) == (action == "M"), record
            book[record.order_id] = (str(record.side), price(record.price), record.size)
        elif action == "C":
            removed = book.pop(record.order_id)
            assert removed == (str(record.side), price(record.price), record.size), record
    compared = 0
    for row in expected:
        of_replay = {}
        for side, letter in [("bids", "B"), ("asks", "A")]:
            for order_id, at, size in row[f"orders_{side}"]:
                of_replay[int(order_id)] = (letter, at, size)
        assert orders.get(row["security_id"], {}) == of_replay, row["symbol"]
        compared += len(of_replay)
    assert compared > 0, "books that are empty prove nothing"
    print(f"mbo: {compared} orders are equal")


def check_flags(folder):
    """The last record of an instrument in a packet says so, and no other one."""
    _, found = records(folder / "mbp-10.dbn")
    last = {}
    for record in found:
        key = record.instrument_id
        if key in last and last[key].sequence != record.sequence:
            assert int(last[key].flags) & 128, last[key]
        last[key] = record
    assert any(int(record.flags) & 32 for record in found), "no book was whole"


folder = pathlib.Path(sys.argv[1])
books, orders = rows(sys.argv[2]), rows(sys.argv[3])
check_counts(folder)
check_levels(folder, books, "mbp-10", 10)
check_levels(folder, books, "mbp-1", 1)
check_orders(folder, orders)
check_flags(folder)
