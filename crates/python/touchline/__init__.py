"""Market data of Touchline buses, read from shared memory: events, numpy arrays and books."""

from ._native import Batch, Book, Event, __version__, buses
from ._native import Bus as _Bus
from . import names
from .errors import BusNotFound, Error, Incompatible, InstrumentNotFound, NotReady, NotYours

__all__ = [
    "Batch",
    "Book",
    "Bus",
    "BusNotFound",
    "Error",
    "Event",
    "Incompatible",
    "InstrumentNotFound",
    "NotReady",
    "NotYours",
    "__version__",
    "buses",
    "names",
]


class Bus(_Bus):
    """A joined bus: a context manager, and an iterator over its events."""

    async def batches(self, timeout=1.0, limit=65_536):
        """Batches of `read` for asyncio, made in a thread; empty ones are left out."""
        import asyncio

        while True:
            batch = await asyncio.to_thread(self.read, timeout, limit)
            if batch:
                yield batch
