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

    # A batch that was read for a task that had ended meanwhile.
    _unread = None

    async def batches(self, timeout=1.0, limit=65_536):
        """Batches of `read` for asyncio, made in a thread; empty ones are left out."""
        import asyncio
        import time

        while True:
            until = float("inf") if timeout is None else time.monotonic() + timeout
            batch = self._unread
            while not batch:
                # In slices: the thread of a wait sees neither Ctrl-C nor the end of its task.
                read = asyncio.ensure_future(asyncio.to_thread(self.read, 0.04, limit))
                try:
                    batch = await asyncio.shield(read)
                except asyncio.CancelledError:
                    self._unread = await read
                    raise
                if time.monotonic() >= until:
                    break
            self._unread = None
            if batch:
                yield batch


def replay(config, captures, *, channel=None, events=None, symbols=None, raw=False):
    """A capture, or several, through the path of a gateway in this process: an iterator over batches.

    `config` is a gateway's configuration, or with `channel` CME's config.xml. Prices are as traders quote them.
    """
    if isinstance(captures, (str, os.PathLike)):
        captures = [captures]
    return _replay(config, captures, channel=channel, events=events, symbols=symbols, raw=raw)
