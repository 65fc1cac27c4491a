"""Tables of a replay and of a tape: equal to the series and books that the command writes of the same session, and to the arrays."""

import bisect
import csv
import datetime
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import touchline
from touchline import frames

SESSION = os.environ["TOUCHLINE_SESSION"]
TAPE = os.environ["TOUCHLINE_TAPE"]
CONFIG = os.path.join(SESSION, "cme.toml")
CAPTURE = os.path.join(SESSION, "session.pcap")
ALL = ["tops", "trades", "books", "orders", "statistics", "status"]
TABLES = [
    "tops",
    "trades",
    "levels",
    "orders",
    "statistics",
    "status",
    "states",
    "order_states",
    "mbp10",
    "tbbo",
]


def replay(**options):
    return touchline.replay(CONFIG, CAPTURE, **{"events": ALL, **options})


def columns(table):
    """Columns of a table, times as numbers."""
    return {
        name: (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for name, column in zip(table.schema.names, table.columns)
    }


def of_command(name):
    """A series that the command wrote with --display, by column; empty is None."""
    with open(os.path.join(SESSION, name)) as file:
        rows = list(csv.DictReader(file))
    number = {"exchange_ns": int, "receive_ns": int, "security_id": int, "trade_id": int}
    floats = ("price", "quantity", "bid_price", "bid_quantity", "ask_price", "ask_quantity")
    kinds = {**number, **dict.fromkeys(floats, float)}
    return {key: [kinds.get(key, str)(row[key]) if row[key] else None for row in rows] for key in rows[0]}


@pytest.mark.parametrize("table", ["trades", "tbbo"])
def test_trades_are_those_of_the_command(table):
    theirs = of_command("trades.csv")
    ours = columns(replay().to_arrow(table))
    words = {"new": "new", "change": "correction", "delete": "bust"}
    assert len(ours["time"]) == len(theirs["price"]) > 1_000
    assert ours["time"] == theirs["receive_ns"]
    assert ours["exchange_time"] == theirs["exchange_ns"]
    assert ours["symbol"] == theirs["symbol"]
    assert ours["security_id"] == theirs["security_id"]
    assert ours["price"] == theirs["price"]
    assert ours["size"] == theirs["quantity"]
    assert ours["aggressor"] == theirs["aggressor"]
    assert ours["trade_id"] == theirs["trade_id"]
    assert [words[action] for action in ours["action"]] == theirs["action"]
    if table == "tbbo":
        assert ours["state"] == theirs["state"]


def test_codes_that_are_not_stated_are_absent():
    source, codes = replay(events=["status"]), ("status", "reason", "event")
    rows = np.concatenate([batch.status for batch in source]).copy()
    for place, name in enumerate(codes):
        assert rows[name][place] != 255
        rows[name][place] = 255
    ours = columns(pa.Table.from_batches([frames._Maker(pa, source, "status").batch(rows)]))
    for place, name in enumerate(codes):
        assert ours[name] == [None if at == place else code for at, code in enumerate(rows[name].tolist())]
    frame = replay().to_pandas("status")
    assert {str(frame[name].dtype) for name in codes} == {"UInt8"}


def changes(rows):
    """Values of each instrument in order, without repetitions, from the first ones with a price on."""
    found = {}
    for instrument, time, *values in rows:
        one = found.setdefault(instrument, [])
        is_empty = not any(isinstance(value, float) for value in values)
        if one and one[-1][1:] == values or not one and is_empty:
            continue
        one.append([time, *values])
    return found


@pytest.mark.parametrize("table", ["tops", "mbp10"])
def test_quotes_are_those_of_the_command(table):
    theirs = of_command("quotes.csv")
    of_tops = ("bid", "bid_size", "ask", "ask_size", "bid_book", "ask_book")
    names = of_tops if table == "tops" else ("bid_0", "bid_size_0", "ask_0", "ask_size_0")
    ours = columns(replay().to_arrow(table))
    # A state with the same best prices is a row of "states".
    head = ("security_id", "time") if table == "tops" else ("security_id", "time", "state")
    csv_names = ("bid_price", "bid_quantity", "ask_price", "ask_quantity", "bid_book", "ask_book")
    csv_head = ("security_id", "receive_ns", *head[2:])
    ours = changes(zip(*(ours[name] for name in (*head, *names))))
    theirs = changes(zip(*(theirs[name] for name in (*csv_head, *csv_names[: len(names)]))))
    assert ours == theirs and sum(map(len, ours.values())) > 2_000


@pytest.mark.parametrize("which", ["direct", "implied"])
def test_the_last_ten_levels_are_the_books_of_the_command(which):
    table = replay(events=["books"]).to_pandas("mbp10", **{which: True})
    last = table.groupby("security_id").tail(1).set_index("security_id")
    with open(os.path.join(SESSION, "books.jsonl")) as file:
        books = [json.loads(line) for line in file]
    assert len(books) == 8
    levels = 0
    for book in books:
        row = last.loc[book["security_id"]]
        for side, name in (("bid", "bids"), ("ask", "asks")):
            expected = book[name if which == "direct" else f"implied_{name}"][:10]
            for level, (price, size, *orders) in enumerate(expected):
                assert (row[f"{side}_{level}"], row[f"{side}_size_{level}"]) == (float(price), size)
                assert not orders or row[f"{side}_orders_{level}"] == orders[0]
            assert len(expected) == 10 or pandas.isna(row[f"{side}_{len(expected)}"])
            levels += len(expected)
    assert levels >= 10


def journal(**options):
    return touchline.Journal(TAPE, **options)


@pytest.mark.parametrize("events", [ALL, ["trades"], ["trades", "status"], ["trades", "books"]])
@pytest.mark.parametrize("source", [replay, journal])
def test_the_quote_of_a_trade_is_the_last_top_before_it(source, events):
    """Whichever kinds are joined."""
    tops = columns(source(events=ALL).to_arrow("tops"))
    trades = columns(source(events=events).to_arrow("tbbo"))
    last, at, compared = {}, 0, 0
    for row in range(len(trades["time"])):
        while at < len(tops["time"]) and tops["sequence"][at] < trades["sequence"][row]:
            last[tops["instrument"][at]] = at
            at += 1
        before = last.get(trades["instrument"][row])
        for name in ("bid", "bid_size", "ask", "ask_size", "bid_book", "ask_book"):
            assert trades[name][row] == (None if before is None else tops[name][before]), (name, row)
        compared += before is not None
    assert compared > 1_000


def test_mbp10_has_the_books_after_each_event():
    """Against the books of a replay that is stopped at each packet."""
    table = columns(replay(events=["books"]).to_arrow("mbp10"))
    rows = {}
    for row, instrument in enumerate(table["instrument"]):
        rows.setdefault(instrument, []).append(row)
    stopped, compared = replay(events=["books"]), 0
    while batch := stopped.read(limit=1):
        # The last change of each instrument in the packet; without one in the first ten levels the row before it counts.
        arrays = [array[["sequence", "instrument"]] for array in (batch.levels, batch.states)]
        last = {int(row["instrument"]): int(row["sequence"]) for row in np.sort(np.concatenate(arrays))}
        for instrument, sequence in last.items():
            of = rows[instrument]
            row = of[bisect.bisect_right(of, sequence, key=lambda row: table["sequence"][row]) - 1]
            book = stopped.book(instrument)
            for side, levels in (("bid", book.bids), ("ask", book.asks)):
                prices = [table[f"{side}_{level}"][row] for level in range(10)]
                sizes = [table[f"{side}_size_{level}"][row] for level in range(10)]
                expected = levels[:10]
                assert prices == expected["price"].tolist() + [None] * (10 - len(expected))
                assert sizes == expected["size"].tolist() + [None] * (10 - len(expected))
            assert table["state"][row] == book.state
            compared += 1
    assert compared > 2_000


@pytest.mark.parametrize("limit", [500, 65_536])
@pytest.mark.parametrize("how", ["every", "times"])
def test_books_at_times_are_the_last_ones_before(monkeypatch, limit, how):
    monkeypatch.setattr(frames, "LIMIT", limit)
    rows = columns(replay(events=["books"]).to_arrow("mbp10"))
    step = 10_000_000
    first, end = -(-rows["time"][0] // step) * step, rows["time"][-1]
    grid = list(range(first, end + 1, step))
    if how == "times":
        grid = [first - step, *grid, grid[-1] + 10 * step]
        options = {"times": np.array(grid, "datetime64[ns]")}
    else:
        options = {"every": step / 1e9}
    ours = replay(events=["books"]).to_arrow("mbp10", **options)
    expected, last, at = [], {}, 0
    names = [name for name in ours.schema.names if name != "time"]
    for time in grid:
        while at < len(rows["time"]) and rows["time"][at] <= time:
            last[rows["instrument"][at]] = at
            at += 1
        expected += [(time, *(rows[name][last[one]] for name in names)) for one in sorted(last)]
    ours = columns(ours)
    assert list(zip(ours["time"], *(ours[name] for name in names))) == expected
    assert len(expected) > 100


@pytest.mark.parametrize("kind", ["step", "times"])
@pytest.mark.parametrize("is_divided", [False, True])
def test_books_of_a_state_are_not_received_before_what_follows_it(kind, is_divided):
    """Behind a gap of a tape the state has no times; what the reader says of its connection has no number either."""
    dtype = [("sequence", np.uint64), ("receive_ns", np.int64), ("instrument", np.uint32), ("price", np.int64)]
    none, second = frames.NO_TIME, 10**9
    rows = [
        # The state at the begin, a change; the loss; the state behind it, a change; a state at the end.
        *[(1, none, 0, 1), (2, 100 * second, 0, 10), (0, none, 0, 11)],
        *[(7, none, 0, 99), (7, none, 1, 98), (8, 160 * second, 0, 100), (9, none, 1, 97)],
    ]
    rows = np.array(rows, dtype)
    parts = [rows[at : at + 1] for at in range(len(rows))] if is_divided else [rows]
    parts.insert(1, rows[:0])
    grid = 20 * second if kind == "step" else second * np.array([90, 100, 120, 140, 159, 160, 200])
    got = [[tuple(row)[1:] for row in batch.tolist()] for batch in frames._at(iter(parts), grid)]
    lost = [[(time * second, 0, 11)] for time in (100, 120, 140)]
    ended = [[(time * second, 0, 100), (time * second, 1, 97)] for time in (160, 200)]
    assert got == (lost + ended[:1] if kind == "step" else [[], *lost, [(159 * second, 0, 11)], *ended])


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_every_form_has_the_values_of_the_arrays(tmp_path, monkeypatch, table, raw):
    arrow = replay(raw=raw).to_arrow(table)
    values = columns(arrow)
    assert arrow.schema.names[:5] == ["symbol", "security_id", "time", "exchange_time", "sequence"]
    if table not in ("mbp10", "tbbo"):
        source = replay(raw=raw)
        array = np.concatenate([getattr(batch, table) for batch in source])
        assert len(array) == len(arrow) > 0
        for name in set(array.dtype.names) & set(values):
            if pa.types.is_dictionary(arrow.schema.field(name).type):
                continue
            absent = {float("nan"), 2**63 - 1, 2**32 - 1, 0 if name == "trade_id" else None}
            ours = [None if value in absent or value != value else value for value in array[name].tolist()]
            assert ours == values[name], name
        symbols = [source.symbols[index] if index < len(source.symbols) else None for index in array["instrument"]]
        assert symbols == values["symbol"]
    frame = replay(raw=raw).to_pandas(table)
    assert list(frame.columns) == arrow.schema.names and len(frame) == len(arrow)
    assert str(frame["time"].dtype) == "datetime64[ns, UTC]"
    assert pa.Table.from_pandas(frame, preserve_index=False)["time"].to_pylist() == arrow["time"].to_pylist()
    other = replay(raw=raw).to_polars(table)
    assert other["time"].dtype == polars.Datetime("ns", "UTC")
    for name in arrow.schema.names:
        if name not in ("time", "exchange_time"):
            assert other[name].to_list() == values[name], name
    # In small batches, and through a file.
    monkeypatch.setattr(frames, "LIMIT", 700)
    monkeypatch.setattr(frames, "GROUP", 1_000)
    path = tmp_path / "table.parquet"
    assert replay(raw=raw).to_parquet(path, table) == len(arrow)
    assert columns(parquet.read_table(path)) == values
    assert os.listdir(tmp_path) == ["table.parquet"]
    assert len(arrow) < 3_000 or parquet.ParquetFile(path).num_row_groups > 1


def test_a_tape_has_the_tables_of_its_session():
    """What the recorder has of the session: the rows behind its join, in the order of the bus."""
    for table in ("trades", "tbbo", "mbp10"):
        with touchline.Journal(TAPE, events=ALL) as journal:
            ours = columns(journal.to_arrow(table))
        theirs = columns(replay().to_arrow(table))
        # Numbers of messages are those of the bus; the last states say that its publisher has ended.
        names = [name for name in theirs if name not in ("sequence", "state", "end_of_batch")]
        rows = {row for row in zip(*(theirs[name] for name in names))}
        received = [row for row in zip(*(ours[name] for name in names)) if row[2] is not None]
        assert len(received) > 500 and rows.issuperset(received), table


class Ended(touchline.Journal):
    """Is ended by a call behind its third batch, or behind its last one."""

    def read(self, **options):
        batch, self.reads = super().read(**options), self.reads + 1
        if self.reads == 3 and self.call or self.stopped:
            getattr(self, self.call or "stop")()
        return batch


@pytest.mark.parametrize("options", [{}, {"every": 0.01}])
@pytest.mark.parametrize("call", ["stop", "close"])
def test_a_table_that_is_stopped_half_way_is_an_exception(tmp_path, monkeypatch, call, options):
    monkeypatch.setattr(frames, "LIMIT", 500)
    path = tmp_path / "table.parquet"
    for call in (None, call):
        with Ended(TAPE, events=ALL) as source:
            source.reads, source.call = 0, call
            if call is None:
                assert source.to_parquet(path, "mbp10", **options) > 100 and source.reads > 5
                whole = path.read_bytes()
                continue
            with pytest.raises((touchline.Error, ValueError), match="the table is incomplete; open the tape again|is closed"):
                source.to_parquet(path, "mbp10", **options)
            assert source.reads <= 4
    assert path.read_bytes() == whole and os.listdir(tmp_path) == ["table.parquet"]


@pytest.mark.parametrize("call", ["stop", "close"])
def test_a_handler_that_ends_a_wait_ends_no_table(tmp_path, call):
    """A tape that is recorded, one whose lock is held, may have more at its end."""
    tape = shutil.copytree(TAPE, tmp_path / "tape")
    with open(tape / "lock", "r+") as lock, touchline.Journal(tape, events=ALL) as source:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert len(source.to_arrow("tops")) > 1_000 and not source.stopped
        before = signal.signal(signal.SIGALRM, lambda *_: getattr(source, call)())
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(touchline.Error, match="the table is incomplete; open the tape again"):
            source.to_arrow("tops")
        signal.signal(signal.SIGALRM, before)


class Republished(touchline.Replay):
    """As a tape of a venue without ids whose publisher starts again behind each batch: the same symbols, other ids."""

    reads = 0

    def read(self, **options):
        self.reads += 1
        return super().read(**options)

    @property
    def security_ids(self):
        return [number + self.reads * 1_000_000 for number in super().security_ids]


@pytest.mark.parametrize("options", [{}, {"every": 0.01}])
def test_rows_have_the_ids_of_their_publication(monkeypatch, options):
    monkeypatch.setattr(frames, "LIMIT", 500)
    ours = columns(Republished(CONFIG, [CAPTURE], events=["books"]).to_arrow("mbp10", **options))
    source, lasts = replay(events=["books"]), []
    while batch := source.read(limit=500):
        rows = np.concatenate([array["sequence"] for array in (batch.levels, batch.states)])
        lasts.append(int(rows.max()))
    numbers = [bisect.bisect_left(lasts, sequence) + 1 for sequence in ours["sequence"]]
    known = source.security_ids
    expected = [known[index] + number * 1_000_000 for index, number in zip(ours["instrument"], numbers)]
    assert ours["security_id"] == expected and len(set(numbers)) > 5


def test_a_reader_has_one_batch_in_memory(monkeypatch):
    monkeypatch.setattr(frames, "LIMIT", 500)
    source = replay()
    reader = source.to_reader("tops")
    first = reader.read_next_batch()
    assert 0 < len(first) <= 1_000
    rest = source.read(limit=1_000_000)
    assert len(rest.tops) + len(first) == len(replay().to_arrow("tops"))


def test_mistakes_name_the_cure(tmp_path):
    with pytest.raises(ValueError, match=r'open it with events=\["books"\]'):
        replay(events=["tops"]).to_arrow("mbp10")
    with pytest.raises(ValueError, match="no table \"books\": give one of tops, trades"):
        replay().to_arrow("books")
    with pytest.raises(ValueError, match="give table \"mbp10\""):
        replay().to_arrow("tops", every=1)
    with pytest.raises(ValueError, match="above 0"):
        replay().to_arrow("mbp10", every=0)
    with pytest.raises(ValueError, match="exclude each other"):
        replay().to_arrow("mbp10", every=1, times=[1])
    with pytest.raises(ValueError, match="sort them"):
        replay().to_arrow("mbp10", times=[2, 1])
    for times in ([1_767_571_200.25], [True], [datetime.datetime(2026, 1, 5)], [[1], [2]], 5):
        with pytest.raises(ValueError, match="give one dimension of nanoseconds since 1970"):
            replay().to_arrow("mbp10", times=times)
    with pytest.raises(ValueError, match="NaT, which is no time"):
        replay().to_arrow("mbp10", times=np.array(["NaT", "2026-01-05"], "datetime64[s]"))
    assert len(replay().to_arrow("mbp10", times=[])) == 0
    source = replay()
    list(source)
    with pytest.raises(ValueError, match="open another one"):
        source.to_arrow()
    with pytest.raises(OSError):
        replay().to_parquet(tmp_path / "no" / "t.parquet")
    kept = tmp_path / "kept.parquet"
    kept.write_text("before")
    cut = tmp_path / "cut.pcap"
    with open(CAPTURE, "rb") as file:
        cut.write_bytes(file.read()[:100_000] + b"\xff" * 1_000)
    with pytest.raises(touchline.Error):
        touchline.replay(CONFIG, cut).to_parquet(kept)
    assert kept.read_text() == "before" and sorted(os.listdir(tmp_path)) == ["cut.pcap", "kept.parquet"]


@pytest.mark.parametrize(("module", "call"), [("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")])
def test_a_missing_package_is_named(module, call):
    extra = "arrow" if module == "pyarrow" else module
    program = f"""
import sys
sys.modules[{module!r}] = None
import touchline
try:
    touchline.replay({CONFIG!r}, {CAPTURE!r}).{call}()
except ImportError as error:
    assert str(error) == "this table needs {module}: pip install 'touchline[{extra}]'", error
else:
    raise AssertionError("it is not there")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_times_have_nanoseconds_and_utc():
    table = replay().to_arrow("tops")
    assert table["time"].type == pa.timestamp("ns", "UTC")
    ns = np.concatenate([batch.tops for batch in replay()])["receive_ns"]
    assert table["time"].cast(pa.int64()).to_pylist() == ns.tolist()
    assert any(time % 1_000 for time in ns.tolist())
    first = replay().to_polars("tops")["time"][0]
    assert first.tzinfo is not None and first.date() == datetime.date(2026, 1, 5)
