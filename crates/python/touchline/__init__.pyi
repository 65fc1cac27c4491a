from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
# Part of every type checker; `typing` has it from Python 3.11 on.
from typing_extensions import Self

from .errors import BusNotFound as BusNotFound
from .errors import EngineNotFound as EngineNotFound
from .errors import Error as Error
from .errors import Forked as Forked
from .errors import Incompatible as Incompatible
from .errors import InstrumentNotFound as InstrumentNotFound
from .errors import NoAnswer as NoAnswer
from .errors import NotReady as NotReady
from .errors import NotYours as NotYours
from .errors import Refused as Refused
from .names import AggressorName, BookName, ConnectionName, EventName, IdleName, JoinName, StateName, TradeActionName

__version__: str

Array = npt.NDArray[np.void]
def buses(
    directory: str | PathLike[str] | None = None, *, journal: str | PathLike[str] | None = None
) -> list[str]: ...

def replay(
    config: str | PathLike[str],
    captures: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    channel: int | None = None,
    definitions: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    join: Literal["snapshot", "natural"] | None = None,
    events: Sequence[JoinName] | None = None,
    symbols: Sequence[str] | None = None,
    raw: bool = False,
) -> Replay: ...

class Bus:
    def __init__(
        self,
        bus: str,
        *,
        directory: str | PathLike[str] | None = None,
        wait: float = 0.0,
        events: Sequence[JoinName] | None = None,
        symbols: Sequence[str] | None = None,
        keep_books: bool = True,
        live_only: bool = False,
        name: str | None = None,
        lossless: bool = False,
        idle: IdleName = "backoff",
        instruments_max: int | None = None,
        raw: bool = False,
        tape: str | PathLike[str] | None = None,
        tape_wait: float = 1.0,
        start: int | datetime | np.datetime64 | None = None,
        start_sequence: int | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def symbols(self) -> list[str]: ...
    @property
    def security_ids(self) -> list[int]: ...
    @property
    def stats(self) -> dict[str, int]: ...
    @property
    def on_tape(self) -> bool: ...
    @property
    def lag(self) -> tuple[int, int]: ...
    @property
    def stopped(self) -> bool: ...
    def stop(self) -> None: ...
    def poll(self) -> Event | None: ...
    def next(self, timeout: float | None = None) -> Event | None: ...
    def read(self, timeout: float | None = 1.0, limit: int = 65_536) -> Batch: ...
    def ready(self, timeout: float | None = 5.0) -> None: ...
    def top(self, symbol: str | int | None = None, *, security_id: int | None = None) -> Event: ...
    def last_trade(self, symbol: str | int | None = None, *, security_id: int | None = None) -> Event | None: ...
    def book(
        self,
        symbol: str | int | None = None,
        levels: int | None = None,
        *,
        security_id: int | None = None,
        direct: bool = False,
        implied: bool = False,
    ) -> Book: ...
    def orders(self, symbol: str | int | None = None, *, security_id: int | None = None) -> Book: ...
    def definitions(self) -> dict[str, list[Any]]: ...
    def batches(self, timeout: float | None = 1.0, limit: int = 65_536) -> AsyncIterator[Batch]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Event: ...

TableName = Literal[
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

class _Frames:
    def to_reader(
        self,
        table: TableName = "tops",
        *,
        direct: bool = False,
        implied: bool = False,
        every: float | None = None,
        times: Any = None,
    ) -> pa.RecordBatchReader: ...
    def to_arrow(
        self,
        table: TableName = "tops",
        *,
        direct: bool = False,
        implied: bool = False,
        every: float | None = None,
        times: Any = None,
    ) -> pa.Table: ...
    def to_pandas(
        self,
        table: TableName = "tops",
        *,
        direct: bool = False,
        implied: bool = False,
        every: float | None = None,
        times: Any = None,
    ) -> pd.DataFrame: ...
    def to_polars(
        self,
        table: TableName = "tops",
        *,
        direct: bool = False,
        implied: bool = False,
        every: float | None = None,
        times: Any = None,
    ) -> pl.DataFrame: ...
    def to_parquet(
        self,
        path: str | PathLike[str],
        table: TableName = "tops",
        *,
        direct: bool = False,
        implied: bool = False,
        every: float | None = None,
        times: Any = None,
    ) -> int: ...

class Journal(Bus, _Frames):
    def __init__(
        self,
        journal: str | PathLike[str],
        bus: str | None = None,
        *,
        start: int | datetime | np.datetime64 | None = None,
        end: int | datetime | np.datetime64 | None = None,
        start_sequence: int | None = None,
        end_sequence: int | None = None,
        wait: float = 0.0,
        events: Sequence[JoinName] | None = None,
        symbols: Sequence[str] | None = None,
        keep_books: bool = True,
        idle: IdleName = "backoff",
        instruments_max: int | None = None,
        definitions: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        raw: bool = False,
        tape_wait: float = 1.0,
    ) -> None: ...
    @property
    def path(self) -> Path: ...

Row = dict[str, Any]

class Desk:
    def __init__(
        self,
        bus: str = "fx-run",
        *,
        client: str = "desk",
        directory: str | PathLike[str] | None = None,
        ring_directory: str | PathLike[str] | None = None,
        journal: str | PathLike[str] | None = None,
        group: str | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def parents(self) -> list[Row]: ...
    @property
    def orders(self) -> list[Row]: ...
    @property
    def fills(self) -> list[Row]: ...
    @property
    def alarms(self) -> list[Row]: ...
    @property
    def positions(self) -> dict[str, Row]: ...
    def send(
        self,
        pair: str,
        side: Literal["buy", "sell"],
        quantity: int,
        *,
        limit: str | Decimal | float | None = None,
        id: str | None = None,
        tif: Literal["gtd", "ioc", "fok"] = "gtd",
        deadline_ms: int = 60_000,
        urgency: int = 1,
        style: Literal["best", "full", "sweep"] = "best",
        whole: bool = False,
    ) -> str: ...
    def cancel(self, parent: str) -> str: ...
    def kill(self) -> str: ...
    @property
    def stopped(self) -> bool: ...
    def stop(self) -> None: ...
    def poll(self) -> Row | None: ...
    def next(self, timeout: float | None = None) -> Row | None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Row: ...

class Replay(_Frames):
    @property
    def symbols(self) -> list[str]: ...
    @property
    def security_ids(self) -> list[int]: ...
    @property
    def truncations(self) -> list[str]: ...
    def read(self, limit: int = 65_536) -> Batch: ...
    def top(self, symbol: str | int | None = None, *, security_id: int | None = None) -> Event: ...
    def last_trade(self, symbol: str | int | None = None, *, security_id: int | None = None) -> Event | None: ...
    def book(
        self,
        symbol: str | int | None = None,
        levels: int | None = None,
        *,
        security_id: int | None = None,
        direct: bool = False,
        implied: bool = False,
    ) -> Book: ...
    def orders(self, symbol: str | int | None = None, *, security_id: int | None = None) -> Book: ...
    def definitions(self) -> dict[str, list[Any]]: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...

@final
class Batch:
    @property
    def tops(self) -> Array: ...
    @property
    def trades(self) -> Array: ...
    @property
    def levels(self) -> Array: ...
    @property
    def orders(self) -> Array: ...
    @property
    def statistics(self) -> Array: ...
    @property
    def status(self) -> Array: ...
    @property
    def states(self) -> Array: ...
    @property
    def order_states(self) -> Array: ...
    @property
    def connection(self) -> Event | None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __iter__(self) -> Iterator[Array]: ...

@final
class Book:
    @property
    def symbol(self) -> str: ...
    @property
    def state(self) -> StateName: ...
    @property
    def sequence(self) -> int | None: ...
    @property
    def bids(self) -> Array: ...
    @property
    def asks(self) -> Array: ...

@final
class Event:
    @property
    def kind(self) -> EventName: ...
    @property
    def instrument(self) -> int | None: ...
    @property
    def symbol(self) -> str | None: ...
    @property
    def state(self) -> StateName | None: ...
    @property
    def bid(self) -> float | int | None: ...
    @property
    def bid_size(self) -> float | int | None: ...
    @property
    def ask(self) -> float | int | None: ...
    @property
    def ask_size(self) -> float | int | None: ...
    @property
    def bid_book(self) -> BookName | None: ...
    @property
    def ask_book(self) -> BookName | None: ...
    @property
    def price(self) -> float | int | None: ...
    @property
    def size(self) -> float | int | None: ...
    @property
    def action(self) -> TradeActionName | None: ...
    @property
    def trade_id(self) -> int | None: ...
    @property
    def detail(self) -> str | None: ...
    @property
    def aggressor(self) -> AggressorName | None: ...
    @property
    def sequence(self) -> int | None: ...
    @property
    def exchange_ns(self) -> int | None: ...
    @property
    def receive_ns(self) -> int | None: ...
    @property
    def end_of_batch(self) -> bool: ...
    @property
    def connection(self) -> ConnectionName | None: ...
    @property
    def lost(self) -> int | None: ...
