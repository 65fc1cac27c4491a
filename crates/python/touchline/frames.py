"""Tables of a replay or a tape: Arrow, pandas, Polars, Parquet. pyarrow is imported with the first call."""

import os

from . import names
from .errors import Error

# Events of a batch, and rows of a row group of Parquet.
LIMIT = GROUP = 65_536
# Absent values: a book or a code; a number of orders or an instrument; a price of `raw`; a time.
NO_BYTE, NO_WORD, NO_NUMBER, NO_TIME = 255, 2**32 - 1, 2**63 - 1, -(2**63)
# Receive time of a row whose time is known with a later one.
LATER = 2**63 - 1
NO_AGGRESSOR = next(code for code, word in names.AGGRESSOR.items() if word == "none")
TRADES = {"aggressor": names.AGGRESSOR, "action": names.TRADE_ACTION}
# Words of the columns with small integers, where they are those of one table.
WORDS = {
    "trades": TRADES,
    "tbbo": TRADES,
    "levels": {"action": names.LEVEL_ACTION},
    "orders": {"action": names.ORDER_ACTION},
    "statistics": {"action": names.TRADE_ACTION, "kind": names.STATISTIC},
}
EVERYWHERE = {
    "state": names.STATE,
    "side": names.SIDE,
    "book": names.BOOK,
    "bid_book": names.BOOK,
    "ask_book": names.BOOK,
}
HEAD = ("symbol", "security_id", "time", "exchange_time")


def imported(name, extra):
    """The module, or an error that names what to install."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this table needs {name}: pip install 'touchline[{extra}]'") from error


class Frames:
    """Tables of an object that is read to its end once. One table a call; what was read before is not in it.

    `stop()` or `close()` before the end is an exception: a table is whole, and a file that was there stays.

    `table` is "tops", "trades", "levels", "orders", "statistics", "status", "states" or "order_states", for the arrays of a batch; "mbp10"
    for ten levels a side after each event that changes them or the state, of the merged book, or with direct=True or implied=True of one
    list; "tbbo" for trades with the best bid and ask before them. Except for trades and tops a table needs its kind in `events`.

    Columns `symbol`, `security_id`, `time` (receive time, UTC) and `exchange_time` come first; words in place of small integers, and null
    for whatever is absent. "mbp10" has a row for each instrument at each of `times` (nanoseconds since 1970, or datetime64), or `every` so
    many seconds of UTC, if one of them is given: the book as of the packets up to then.
    """

    # A replay cannot be stopped.
    _is_cut_off = False

    def _batches(self):
        while batch := self.read(limit=LIMIT):
            yield batch
        if self._is_cut_off:
            raise Error(
                f"bus {self.name}: stop() or close() came before the end of the tape, so the table is incomplete; open the tape again, with"
                " end= for a part of it"
            )

    def to_reader(self, table="tops", *, direct=False, implied=False, every=None, times=None):
        """A `pyarrow.RecordBatchReader`, for DuckDB and others: one batch at a time is in memory."""
        pa = imported("pyarrow", "arrow")
        self._want(table, direct=direct, implied=implied)
        maker = _Maker(pa, self, table)
        rows = (getattr(batch, maker.array) for batch in self._batches())
        if every is not None or times is not None:
            rows = _at(map(maker.with_ids, rows), _grid(table, every, times))
        return pa.RecordBatchReader.from_batches(maker.schema, map(maker.batch, rows))

    def to_arrow(self, table="tops", **options):
        """A `pyarrow.Table`."""
        return self.to_reader(table, **options).read_all().unify_dictionaries()

    def to_pandas(self, table="tops", **options):
        """A `pandas.DataFrame`: words as categories, times with nanoseconds and UTC, integers that may be absent as `UInt64` and the like."""
        pandas = imported("pandas", "pandas")
        pa = imported("pyarrow", "pandas")
        kinds = {
            pa.uint64(): pandas.UInt64Dtype(),
            pa.uint32(): pandas.UInt32Dtype(),
            pa.uint8(): pandas.UInt8Dtype(),
            pa.int64(): pandas.Int64Dtype(),
        }
        return self.to_arrow(table, **options).to_pandas(types_mapper=kinds.get)

    def to_polars(self, table="tops", **options):
        """A `polars.DataFrame`."""
        polars = imported("polars", "polars")
        imported("pyarrow", "polars")
        return polars.from_arrow(self.to_arrow(table, **options))

    def to_parquet(self, path, table="tops", **options):
        """Writes a file, which is there when it is complete; returns the number of rows. A row group is in memory."""
        pa = imported("pyarrow", "arrow")
        parquet = imported("pyarrow.parquet", "arrow")
        reader = self.to_reader(table, **options)
        part, count, group, waiting = f"{os.fspath(path)}.{os.getpid()}.partial", 0, [], 0
        try:
            with parquet.ParquetWriter(part, reader.schema, version="2.6", compression="zstd") as writer:
                for batch in reader:
                    group.append(batch)
                    waiting += len(batch)
                    if waiting >= GROUP:
                        writer.write_table(pa.Table.from_batches(group).unify_dictionaries(), GROUP)
                        count, group, waiting = count + waiting, [], 0
                if waiting:
                    writer.write_table(pa.Table.from_batches(group).unify_dictionaries(), GROUP)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise
        return count + waiting


class _Maker:
    """Record batches of the arrays of one table."""

    def __init__(self, pa, source, table):
        import numpy

        self.pa, self.np, self.source, self.table = pa, numpy, source, table
        self.array = f"_{table}" if table in ("mbp10", "tbbo") else table
        self.words = {**EVERYWHERE, **WORDS.get(table, {})}
        self.symbols = self.security_ids = self.codes = self.texts = self.ids = None
        empty = getattr(source._empty(), self.array)
        self.schema = self.batch(empty).schema

    def batch(self, rows):
        """A record batch of rows; symbols are those that are known now."""
        self._take_symbols()
        columns = dict(zip(HEAD, self._head(rows)))
        for name in rows.dtype.names:
            if name in ("receive_ns", "exchange_ns", "security_id"):
                continue
            if rows.dtype[name].shape:
                for level in range(rows.dtype[name].shape[0]):
                    columns[f"{name}_{level}"] = self._column(name, rows[name][:, level])
            else:
                columns[name] = self._column(name, rows[name])
        return self.pa.RecordBatch.from_pydict(columns)

    def _take_symbols(self):
        symbols, ids = self.source.symbols, self.source.security_ids
        # Another publication may have the same symbols and other ids.
        if symbols == self.symbols and ids == self.security_ids:
            return
        known = {symbol: code for code, symbol in enumerate(dict.fromkeys(s for s in symbols if s != "?"))}
        # The last one is that of a row without an instrument.
        self.symbols, self.security_ids = symbols, ids
        self.texts = self.pa.array(list(known), self.pa.utf8())
        self.codes = self.np.array([known.get(symbol, -1) for symbol in symbols] + [-1], self.np.int32)
        self.ids = self.np.array([*ids, 0], self.np.int64)

    def with_ids(self, rows):
        """Rows with the ids that hold now: at a grid of times a row is given when later ones are read, maybe of another publication."""
        np = self.np
        self._take_symbols()
        wide = np.empty(len(rows), [*((name, rows.dtype[name]) for name in rows.dtype.names), ("security_id", np.int64)])
        for name in rows.dtype.names:
            wide[name] = rows[name]
        wide["security_id"] = self.ids[np.minimum(rows["instrument"], len(self.ids) - 1)]
        return wide

    def _head(self, rows):
        pa, np = self.pa, self.np
        places = np.minimum(rows["instrument"], len(self.codes) - 1)
        codes, is_none = self.codes[places], rows["instrument"] == NO_WORD
        yield pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), self.texts)
        ids = rows["security_id"] if "security_id" in rows.dtype.names else self.ids[places]
        yield pa.array(np.ascontiguousarray(ids), mask=is_none)
        for name in ("receive_ns", "exchange_ns"):
            ns = np.ascontiguousarray(rows[name])
            times = pa.array(ns, mask=ns == NO_TIME)
            yield times.cast(pa.timestamp("ns", "UTC"))

    def _column(self, name, values):
        pa, np = self.pa, self.np
        values = np.ascontiguousarray(values)
        if name in self.words:
            words = self.words[name]
            absent = (values == NO_AGGRESSOR) if name == "aggressor" else (values == NO_BYTE)
            codes = pa.array(values.astype(np.int8), mask=absent)
            return pa.DictionaryArray.from_arrays(codes, pa.array([words[code] for code in range(len(words))]))
        if values.dtype.kind == "f":
            return pa.array(values, mask=np.isnan(values))
        if name in ("instrument", "orders", "bid_orders", "ask_orders"):
            return pa.array(values, mask=values == NO_WORD)
        if name in ("status", "reason", "event"):
            return pa.array(values, mask=values == NO_BYTE)
        if name == "trade_id":
            return pa.array(values, mask=values == 0)
        if values.dtype == np.int64:
            return pa.array(values, mask=values == NO_NUMBER)
        return pa.array(values)


def _grid(table, every, times):
    """Times in nanoseconds: a step, or an array in ascending order."""
    import numpy as np

    if table != "mbp10":
        raise ValueError(f"every= and times= are of books: table {table!r} has a row for each event; give table \"mbp10\"")
    if times is None:
        step = round(every * 1_000_000_000)
        if step <= 0:
            raise ValueError(f"every={every}: give a number of seconds above 0")
        return step
    if every is not None:
        raise ValueError("every= and times= exclude each other")
    times = np.asarray(times)
    if times.ndim != 1 or times.size and times.dtype.kind not in "iuM":
        raise ValueError(
            f"times= is an array of {times.dtype} with {times.ndim} dimensions: give one dimension of nanoseconds since 1970, as integers, or of"
            " datetime64"
        )
    times = times.astype("datetime64[ns]") if times.dtype.kind == "M" else times
    if times.dtype.kind == "M" and np.isnat(times).any():
        raise ValueError("times= has NaT, which is no time: leave it out")
    times = times.astype(np.int64)
    if (np.diff(times) < 0).any():
        raise ValueError("times= are not in ascending order: sort them")
    return times


def _at(parts, grid):
    """The books of all instruments at each time, of the rows of `mbp10`: each is the last one received up to then.

    Books of a state, as behind a gap, have no time: they were received with what follows them.
    """
    import numpy as np

    books = has = None
    newest, due = NO_TIME, 0

    def at(time):
        rows = books[has].copy()
        rows["receive_ns"] = time
        return rows

    def times_before(end):
        nonlocal due, grid
        if not isinstance(grid, np.ndarray):
            # The first multiple of the step from the first row on.
            first = -(-newest // grid) * grid if due == 0 else due
            due = max(first, -(-end // grid) * grid)
            return range(first, due, grid)
        stop = int(np.searchsorted(grid, end, "left"))
        due, before = max(due, stop), due
        return grid[before:stop].tolist()

    def take(rows):
        nonlocal books, has
        if books is None:
            books, has = np.zeros(0, rows.dtype), np.zeros(0, bool)
        size = int(rows["instrument"].max()) + 1 if len(rows) else 0
        if size > len(books):
            books = np.concatenate([books, np.zeros(size - len(books), rows.dtype)])
            has = np.concatenate([has, np.zeros(size - len(has), bool)])
        places = rows["instrument"]
        books[places], has[places] = rows, True

    waiting = None
    for rows in parts:
        rows = rows if waiting is None else np.concatenate([waiting, rows])
        received = np.maximum.accumulate(np.maximum(_received(rows), newest))
        # The time of the last ones is that of a row of a later part.
        known = int(np.searchsorted(received, LATER))
        rows, received, waiting = rows[:known], received[:known], rows[known:]
        if not known:
            continue
        done = 0
        if newest == NO_TIME:
            first = int(np.searchsorted(received, NO_TIME, "right"))
            newest = int(received[min(first, known - 1)])
        for time in times_before(int(received[-1])) if newest != NO_TIME else ():
            end = int(np.searchsorted(received, time, "right"))
            take(rows[done:end])
            done = end
            yield at(time)
        take(rows[done:])
        newest = int(received[-1])
    if waiting is not None and len(waiting):
        take(waiting)
    if books is None or newest == NO_TIME:
        return
    last = newest + 1 if not isinstance(grid, np.ndarray) else np.iinfo(np.int64).max
    for time in times_before(last):
        yield at(time)


def _received(rows):
    """Receive times of rows; NO_TIME: that of the row before; LATER: that of a row behind these."""
    import numpy as np

    times = rows["receive_ns"]
    # What a reader says of its connection has no number: it is of the books before it.
    is_of_state = (times == NO_TIME) & (rows["sequence"] != 0)
    known = np.flatnonzero(times != NO_TIME)
    following = np.append(times[known], LATER)
    return np.where(is_of_state, following[np.searchsorted(known, np.arange(len(times)))], times)
