"""Captures that lack a part, and files that are not what they are given as; and batches that go to another process."""

import os
import pickle
import re
import struct
import warnings

import numpy as np
import pytest

import touchline

SESSION = os.environ["TOUCHLINE_SESSION"]
CONFIG = os.path.join(SESSION, "cme.toml")
CONFIG_XML = os.path.join(SESSION, "config.xml")
CAPTURE = os.path.join(SESSION, "session.pcap")
KINDS = ["tops", "trades", "books", "orders", "statistics", "status"]


def part(path, without, begin=0.0):
    """The session without these feeds, by the letters of `config.xml`, from a part of it on."""
    with open(CONFIG_XML) as file:
        connections = re.findall(r"<connection id.*?</connection>", file.read(), re.S)
    left_out = set()
    for one in connections:
        kind, address = (re.search(rf'{what}([\w.]+)["<]', one)[1] for what in ('feed-type="', "<ip>"))
        if kind in without:
            left_out.add(bytes(map(int, address.split("."))))
    assert len(left_out) == 2 * len(without)
    with open(CAPTURE, "rb") as file:
        data = file.read()
    kept, at = [data[:24]], 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        record = data[at : at + 16 + length]
        # Ethernet without a tag, IPv4.
        if record[16 + 30 : 16 + 34] not in left_out and at >= begin * len(data):
            kept.append(record)
        at += 16 + length
    path.write_bytes(b"".join(kept))
    return path


def test_without_definitions_books_are_found_by_index_and_security_id(tmp_path):
    whole = touchline.replay(CONFIG, CAPTURE)
    list(whole)
    table = whole.definitions()
    bare = touchline.replay(CONFIG, part(tmp_path / "bare.pcap", ["N"]))
    batches = list(bare)
    assert {state for state in np.concatenate([batch.tops for batch in batches])["state"]} >= {0}
    ids = bare.definitions()["security_id"]
    assert set(ids) == set(table["security_id"])
    for index, security_id in enumerate(ids):
        symbol = table["symbol"][table["security_id"].index(security_id)]
        # Without its definition a book has as many levels as any.
        expected = whole.book(symbol, direct=True).bids["size"].tolist()
        found = bare.book(index, direct=True), bare.book(security_id=security_id, direct=True)
        for book in found:
            assert book.bids["size"].tolist()[: len(expected)] == expected
        assert bare.top(index).instrument == bare.top(security_id=security_id).instrument == index
        assert bare.orders(index).bids["size"].tolist() == whole.orders(symbol).bids["size"].tolist()
    with pytest.raises(touchline.InstrumentNotFound, match='no instrument "99"'):
        bare.book(99)
    with pytest.raises(touchline.InstrumentNotFound):
        bare.book(security_id=99)
    for wrong in ({}, {"symbol": 1, "security_id": 1}):
        with pytest.raises(ValueError, match="which instrument"):
            bare.book(**wrong)
    with touchline.Bus("demo") as bus:
        list(iter(bus.poll, None))
        assert bus.book(0).symbol == bus.book(security_id=bus.definitions()["security_id"][0]).symbol


def test_definitions_come_from_another_capture(tmp_path):
    whole = touchline.replay(CONFIG, CAPTURE)
    list(whole)
    bare = part(tmp_path / "bare.pcap", ["N"])
    defined = touchline.replay(CONFIG, bare, definitions=CAPTURE)
    assert sum(map(len, defined)) > 1_000
    assert sorted(defined.symbols) == sorted(whole.symbols)
    for symbol in whole.symbols:
        assert defined.book(symbol).bids.tolist() == whole.book(symbol).bids.tolist()


def test_definitions_come_from_a_file(tmp_path):
    whole = touchline.replay(CONFIG, CAPTURE)
    list(whole)
    bare = part(tmp_path / "bare.pcap", ["N"])
    ids = whole.definitions()["security_id"]
    table = tmp_path / "definitions.jsonl"
    table.write_text("".join(f'{{"security_id":{id},"symbol":"S{id}"}}\n' for id in ids))
    named = touchline.replay(CONFIG, bare, definitions=table)
    assert sum(map(len, named)) > 1_000
    assert named.symbols == [f"S{id}" for id in ids]
    with pytest.warns(UserWarning, match=r"the capture defines 8 instruments otherwise.*\(symbol\)"):
        assert sum(map(len, touchline.replay(CONFIG, CAPTURE, definitions=[table]))) > 1_000
    table.write_text('{"security_id":1,"symbol":"A","tick":"x"}\n')
    with pytest.raises(touchline.Error, match='definitions.jsonl:1: tick is "x": give a decimal'):
        touchline.replay(CONFIG, bare, definitions=table)


def test_rows_that_are_never_live_are_warned_of(tmp_path):
    bare = part(tmp_path / "bare.pcap", ["S", "SMBO"], begin=0.5)
    with pytest.warns(UserWarning, match='no row of this replay is live.*join="natural"'):
        assert sum(map(len, touchline.replay(CONFIG, bare, join="snapshot"))) > 0
    natural = touchline.replay(CONFIG, bare, join="natural")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tops = np.concatenate([batch.tops for batch in natural])
    assert not np.isnan(tops["bid"]).all(), "updates bring levels back"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(touchline.replay(CONFIG, CAPTURE))
        list(touchline.replay(CONFIG, bare, events=["trades"]))
    with pytest.raises(ValueError, match="give snapshot .* or natural"):
        touchline.replay(CONFIG, CAPTURE, join="now")


@pytest.mark.parametrize(
    ("error", "said", "arguments", "options"),
    [
        (ValueError, r'events is a list, and one text is given: write events=\["tops"\]', (CONFIG, CAPTURE), {"events": "tops"}),
        (ValueError, r'write symbols=\["ZQ\*"\]', (CONFIG, CAPTURE), {"symbols": "ZQ*"}),
        (touchline.Error, "session.pcap is a capture, given as the configuration", (CAPTURE, CONFIG), {}),
        (touchline.Error, "config.xml is XML.*name one, in Python channel=310", (CONFIG_XML, CAPTURE), {}),
        (touchline.Error, "cme.toml is not XML.*leave out the channel", (CONFIG, CAPTURE), {"channel": 998}),
        (touchline.Error, "it has no channel 1;", (CONFIG_XML, CAPTURE), {"channel": 1}),
        (touchline.Error, "cme.toml is text, given as a capture", (CONFIG, CONFIG), {}),
        (touchline.Error, "cme.toml is text, given as a capture", (CONFIG, CAPTURE), {"definitions": CONFIG}),
        (touchline.Error, "no capture is given", (CONFIG, []), {}),
    ],
)
def test_wrong_arguments_are_told_what_to_do(error, said, arguments, options):
    with pytest.raises(error, match=said):
        touchline.replay(*arguments, **options)


def test_a_table_is_no_capture(tmp_path):
    table = tmp_path / "quotes.csv"
    table.write_text("time,bid,ask\n1,2,3\n")
    with pytest.raises(touchline.Error, match="quotes.csv is text, given as a capture; give pcap or pcapng"):
        touchline.replay(CONFIG, table)


def test_one_text_is_no_list_of_a_bus():
    for option in ("events", "symbols"):
        with pytest.raises(ValueError, match=rf'write {option}=\["ZQA\*"\]'):
            touchline.Bus("demo", **{option: "ZQA*"})


@pytest.mark.parametrize("raw", [False, True])
def test_a_batch_goes_to_another_process(raw):
    batches = list(touchline.replay(CONFIG, CAPTURE, events=KINDS, raw=raw))
    with touchline.Bus("demo", events=KINDS, raw=raw) as bus:
        while batch := bus.read(timeout=0):
            batches.append(batch)
    assert any(batch.connection for batch in batches)
    for batch in batches:
        copy = pickle.loads(pickle.dumps(batch))
        assert (len(copy), bool(copy), repr(copy)) == (len(batch), bool(batch), repr(batch))
        for name in ("tops", "trades", "levels", "orders", "statistics", "status", "states", "order_states"):
            ours, theirs = getattr(batch, name), getattr(copy, name)
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes()), name
            assert not theirs.flags.writeable
        assert [array.tobytes() for array in copy] == [array.tobytes() for array in batch]
        assert str(copy.connection) == str(batch.connection)


def test_a_damaged_pickle_is_refused():
    (batch, *_) = touchline.replay(CONFIG, CAPTURE)
    make, (state,) = batch.__reduce__()
    release, raw, wanted, events, rows, connection = state
    for wrong in (
        (release, raw, wanted, events, rows[:-1], connection),
        (release, raw, wanted, events, [rows[0][:-1], *rows[1:]], connection),
        (release, raw, 0, events, rows, connection),
        (release, raw, wanted, events, rows, (99, 0, 0)),
    ):
        with pytest.raises(ValueError, match="is damaged"):
            make(wrong)
    with pytest.raises(ValueError, match="pickled by touchline 0.0.0.*use one release"):
        make(("0.0.0", *state[1:]))
