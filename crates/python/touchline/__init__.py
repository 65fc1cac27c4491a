"""Market data of Touchline buses, read from shared memory: events, numpy arrays and books."""

import datetime
import os

from ._native import Batch, Book, Desk, Event, __version__, buses
from ._native import Bus as _Bus
from ._native import Journal as _Journal
from ._native import Replay as _Replay
from . import names
from .errors import (
    BusNotFound,
    EngineNotFound,
    Error,
    Forked,
    Incompatible,
    InstrumentNotFound,
    NoAnswer,
    NotReady,
    NotYours,
    Refused,
)
from .frames import Frames as _Frames

__all__ = [
    "Batch",
    "Book",
    "Bus",
    "BusNotFound",
    "Desk",
    "EngineNotFound",
    "Error",
    "Event",
    "Forked",
    "Incompatible",
    "InstrumentNotFound",
    "Journal",
    "NoAnswer",
    "NotReady",
    "NotYours",
    "Refused",
    "Replay",
    "__version__",
    "buses",
    "names",
    "replay",
]


class Bus(_Bus):
    """A joined bus: a context manager, and an iterator over its events.

    `tape` is the directory of a tape of the bus: after an overrun the lost messages come from it. With `start`, as of a `Journal`, or
    `start_sequence` the tape comes first.

    With `raw=True` numbers are integers: prices counts of 1e-9, sizes counts of 10**`quantity_exponent` of `definitions()`.
    """

    def __new__(cls, bus, *, start=None, **options):
        return super().__new__(cls, bus, start=_ns("start", start), **options)

    async def batches(self, timeout=1.0, limit=65_536):
        """Batches of `read` for asyncio; empty ones are left out. A thread waits for each, and no thread reads: a task that is canceled
        leaves everything to the next call."""
        import asyncio

        # In slices: the thread of a wait sees neither Ctrl-C nor the end of its task.
        time = 0.04 if timeout is None else min(timeout, 0.04)
        while not self.stopped:
            try:
                if not self._wait(0.0) and not await asyncio.to_thread(self._wait, time):
                    continue
                batch = self.read(0.0, limit)
            except ValueError:
                # Another thread, or a handler, has closed it since the loop looked.
                if self.stopped:
                    return
                raise
            if batch:
                yield batch
            # Other tasks have their turn on a bus that never pauses.
            await asyncio.sleep(0)


class Journal(_Journal, Bus, _Frames):
    """A tape of `touchline record`, read as the bus that it is of: the same calls, events, arrays and books.

    `journal` is its directory, `bus` the name of a bus, by default the first one that it has. At the end of a tape iteration ends, `next`
    returns None, `read` an empty batch, and `stopped` is True; at the end of one that is recorded they wait, as on a bus.
    `to_pandas` and others end there after a second without an event.

    `start` and `end` are receive times: nanoseconds since 1970, or times of datetime with a zone, numpy or pandas. `start_sequence` and
    `end_sequence` are those of messages. The books at the start come first, as after a join; a packet is not divided. `definitions`, for a
    tape without them, are tables of `touchline definitions` or CME's secdef.dat. `raw` is that of a `Bus`.
    """

    def __new__(cls, journal, bus=None, *, start=None, end=None, definitions=None, **options):
        if definitions is not None:
            options["definitions"] = _paths(definitions)
        return super().__new__(cls, journal, bus, start=_ns("start", start), end=_ns("end", end), **options)


class Replay(_Replay, _Frames):
    """Captures through the path of a gateway in this process; `replay` opens them."""


def replay(
    config, captures, *, channel=None, definitions=None, join=None, events=None, symbols=None, raw=False
):
    """A capture, or several, through the path of a gateway in this process: an iterator over batches.

    `config` is a gateway's configuration, or with `channel` CME's config.xml. `definitions`, for captures without them, are tables of
    `touchline definitions`, CME's secdef.dat, or captures of which only the feed of definitions is taken. `join` is what a book shows until
    its snapshot: "snapshot", nothing, or "natural", what updates bring back; by default as the configuration has it. Prices are as traders
    quote them; with `raw=True` they are integers, counts of 1e-9, and sizes are counts of 10**`quantity_exponent` of `definitions()`.
    """
    return Replay(
        config,
        _paths(captures),
        channel=channel,
        definitions=None if definitions is None else _paths(definitions),
        join=join,
        events=events,
        symbols=symbols,
        raw=raw,
    )


def _ns(option, time):
    """Nanoseconds since 1970."""
    if time is None or isinstance(time, int):
        return time
    if isinstance(time, datetime.datetime):
        if time.tzinfo is None:
            raise ValueError(f"{option} has no time zone: give one, such as tzinfo=datetime.timezone.utc")
        since = time - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return microseconds * 1_000 + getattr(time, "nanosecond", 0)
    return int(time.astype("datetime64[ns]").astype("int64"))


def _paths(paths):
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
