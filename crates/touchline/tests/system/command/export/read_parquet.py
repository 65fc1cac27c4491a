"""Compares the Parquet files of an export, read by pyarrow, DuckDB and Polars, with its CSV files, value for value:
read_parquet.py FOLDER, which has TABLE.csv and TABLE/venue=V/date=D/*.parquet."""

import csv
import json
import pathlib
import sys

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path(sys.argv[1])


def text(value, kind):
    """A value as CSV has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == "price":
        sign, value = "-" if value < 0 else "", abs(value)
        whole, part = divmod(value, 10**9)
        return f"{sign}{whole}" + (f".{part:09}".rstrip("0") if part else "")
    return str(value)


PRICES = {"price", "bid_price", "ask_price", "tick", "multiplier", "strike", "high_limit", "low_limit"}


def integers(column):
    """Times as numbers: a datetime has no nanoseconds."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


total = 0
for path in sorted(folder.glob("*.csv")):
    name = path.stem
    with open(path, newline="") as lines:
        expected = list(csv.reader(lines))
    names, expected = expected[0], expected[1:]
    files = sorted(folder.glob(f"{name}/venue=*/date=*/*.parquet"))
    if not expected:
        assert not files, files
        continue
    found = []
    for file in files:
        about = json.loads(pathlib.Path(f"{file}.json").read_text())
        # A file alone, without columns of its path.
        table = pq.ParquetFile(file).read()
        assert table.num_rows == about["rows"] and table.column_names == names, file
        for column in names:
            kind = table.schema.field(column).type
            assert not pa.types.is_timestamp(kind) or str(kind) == "timestamp[ns, tz=UTC]", kind
        columns = [integers(table.column(column)).to_pylist() for column in names]
        kinds = ["price" if column in PRICES else "" for column in names]
        rows = zip(*columns)
        found += [[text(value, kind) for value, kind in zip(row, kinds)] for row in rows]
        for group in range(pq.ParquetFile(file).metadata.num_row_groups):
            assert pq.ParquetFile(file).metadata.row_group(group).column(0).is_stats_set
    # Partitions are by day and venue, and the files of each one are in order.
    assert sorted(found) == sorted(expected), name
    pattern = str(folder / name / "**" / "*.parquet")
    query = f"select count(*), sum(sequence), min(epoch_ns(ts_recv)) from read_parquet('{pattern}')"
    count, numbers, first = duckdb.sql(query).fetchall()[0]
    assert count == len(expected), (name, count)
    assert int(numbers) == sum(int(row[0]) for row in expected), name
    times = [int(row[1]) for row in expected if row[1]]
    assert first == min(times, default=None), name
    frame = polars.read_parquet(pattern)
    assert frame.height == len(expected) and frame["sequence"].sum() == int(numbers), name
    if times:
        assert frame["ts_recv"].cast(polars.Int64).min() == first, name
    total += len(expected)
assert total > 0, "no rows prove nothing"
print(f"{total} rows are equal")
