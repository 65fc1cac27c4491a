"""Market data of Touchline buses, read from shared memory: events, numpy arrays and books."""

import os

from ._native import Batch, Book, Desk, Event, Replay, __version__, buses
from ._native import Bus as _Bus
from ._native import replay as _replay
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
    """A joined bus: a context manager, and an iterator over its events."""

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


def replay(
    config, captures, *, channel=None, definitions=None, join=None, events=None, symbols=None, raw=False
):
    """A capture, or several, through the path of a gateway in this process: an iterator over batches.

    `config` is a gateway's configuration, or with `channel` CME's config.xml. `definitions` are captures of which only the feed of
    definitions is taken, first. `join` is what a book shows until its snapshot: "snapshot", nothing, or "natural", what updates bring
    back; by default as the configuration has it. Prices are as traders quote them.
    """
    return _replay(
        config,
        _paths(captures),
        channel=channel,
        definitions=None if definitions is None else _paths(definitions),
        join=join,
        events=events,
        symbols=symbols,
        raw=raw,
    )


def _paths(paths):
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
