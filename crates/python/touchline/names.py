"""Words of the columns with small integers, and of kinds. Generated from the client: do not edit."""

from typing import Literal

# Kinds of events to join a bus for; in C they are added.
JoinName = Literal[
    "tops",
    "trades",
    "books",
    "orders",
    "statistics",
    "status",
    "quotes",
]
JOIN = {
    1: "tops",  # Best bids and asks.
    2: "trades",  # Trades.
    4: "books",  # Changes of price books.
    8: "orders",  # Changes of order books, which are then kept, too.
    16: "statistics",  # Statistics of a session or a day.
    32: "status",  # Trading status.
    64: "quotes",  # Quotes of providers, such as banks.
}

# Idle strategy of a reader.
IdleName = Literal[
    "backoff",
    "yield",
    "spin",
]
IDLE = {
    0: "backoff",  # Spins, yields, then sleeps for up to 1 ms.
    1: "yield",  # Yields the core to other threads.
    2: "spin",  # Never yields the core.
}

# Kind of an event.
EventName = Literal[
    "top",
    "trade",
    "book",
    "orders",
    "quotes",
    "statistic",
    "status",
    "state",
    "channel",
    "defined",
    "connection",
]
EVENT = {
    1: "top",  # The best bid or ask of an instrument changed.
    2: "trade",  # A trade.
    3: "book",  # A price book changed.
    4: "orders",  # An order book changed.
    5: "quotes",  # Quotes of a provider changed.
    6: "statistic",  # A statistic of a session or a day.
    7: "status",  # Trading status of an instrument or a product group.
    8: "state",  # The state of a book changed, not its contents.
    9: "channel",  # All books of the channel changed.
    10: "defined",  # An instrument was defined.
    11: "connection",  # An event of the connection to the bus.
}

# Event of the connection to a bus.
ConnectionName = Literal[
    "caught_up",
    "overrun",
    "publisher_gone",
    "publisher_stalled",
    "publisher_resumed",
    "restarted",
    "corrupt",
    "incompatible",
    "damaged",
    "forked",
    "refused",
    "not_waited_for",
]
CONNECTION = {
    1: "caught_up",  # All books are consistent with one position of the stream.
    2: "overrun",  # Messages were lost; books follow from their snapshots.
    3: "publisher_gone",  # The publisher has ended; live books are stale.
    4: "publisher_stalled",  # The publisher shows no activity; live books are stale.
    5: "publisher_resumed",  # A stalled publisher works again.
    6: "restarted",  # Another publisher has started; books follow, with the same handles.
    7: "corrupt",  # The shared memory has an invalid message.
    8: "incompatible",  # The publisher's format cannot be read; live books are stale.
    9: "damaged",  # A file of the bus was truncated.
    10: "forked",  # The reader is that of the process that forked this one; in Python and C an error.
    11: "refused",  # The bus was created again, and cannot be joined; live books are stale.
    12: "not_waited_for",  # The publisher does not wait for this lossless reader.
}

# Error of a call.
ErrorName = Literal[
    "no_bus",
    "not_yours",
    "incompatible",
    "half_started",
    "damaged",
    "name_taken",
    "too_many_readers",
    "not_lossless",
    "no_instrument",
    "other_bus",
    "not_ready",
    "option",
    "system",
    "internal",
    "no_engine",
    "refused",
    "no_answer",
    "record",
    "memory",
    "forked",
]
ERROR = {
    -1: "no_bus",  # No bus has this name.
    -2: "not_yours",  # The bus belongs to another user, or others may write to it.
    -3: "incompatible",  # This client cannot read the format of the bus.
    -4: "half_started",  # The publisher ended or hung during its start.
    -5: "damaged",  # A file of the bus is damaged.
    -6: "name_taken",  # Another reader of the bus has this name.
    -7: "too_many_readers",  # The bus has no free place for a reader.
    -8: "not_lossless",  # The bus does not wait for readers.
    -9: "no_instrument",  # The bus has no such instrument.
    -10: "other_bus",  # The handle belongs to another bus.
    -11: "not_ready",  # Some books did not arrive in time.
    -12: "option",  # An option or an argument is invalid.
    -13: "system",  # A system call failed.
    -14: "internal",  # The library has a fault.
    -15: "no_engine",  # No trading engine publishes on the bus.
    -16: "refused",  # The trading engine refused the command.
    -17: "no_answer",  # The trading engine has not answered yet.
    -18: "record",  # The journal of the trading engine, or a tape, cannot be read.
    -19: "memory",  # Memory is exhausted.
    -20: "forked",  # The reader belongs to the process that forked this one.
}

# Validity of a book.
StateName = Literal[
    "live",
    "gapped",
    "recovering",
    "natural",
    "stale",
    "closed",
]
STATE = {
    0: "live",  # Complete, and confirmed after the last loss.
    1: "gapped",  # Packets were lost since the venue last confirmed it.
    2: "recovering",  # Empty, waiting for a snapshot.
    3: "natural",  # Refilled from increments only: correct, but incomplete.
    4: "stale",  # The publisher or its venue has ended or timed out.
    5: "closed",  # The venue reports the instrument as closed.
}

# Side of a book.
SideName = Literal[
    "bid",
    "ask",
]
SIDE = {
    0: "bid",  # Buyers.
    1: "ask",  # Sellers.
}

# Side that took liquidity in a trade.
AggressorName = Literal[
    "buy",
    "sell",
    "none",
]
AGGRESSOR = {
    0: "buy",  # The buyer.
    1: "sell",  # The seller.
    2: "none",  # Not stated.
}

# Book of a level or of a best price.
BookName = Literal[
    "direct",
    "implied",
    "merged",
]
BOOK = {
    0: "direct",  # Orders in this instrument.
    1: "implied",  # Derived by the venue from other instruments.
    2: "merged",  # Both together, by price.
}

# Step of a price book.
LevelActionName = Literal[
    "insert",
    "replace",
    "remove",
    "clear",
]
LEVEL_ACTION = {
    0: "insert",  # A level was inserted at the index.
    1: "replace",  # The level at the index has these values.
    2: "remove",  # The level at the index was removed.
    3: "clear",  # The list was emptied.
}

# Step of an order book.
OrderActionName = Literal[
    "new",
    "update",
    "delete",
    "clear",
]
ORDER_ACTION = {
    0: "new",  # A new order.
    1: "update",  # New values of an order.
    2: "delete",  # The order was removed.
    3: "clear",  # The side was emptied.
}

# What a message of a trade or a statistic does.
TradeActionName = Literal[
    "new",
    "change",
    "delete",
    "delete_thru",
    "delete_from",
    "overlay",
]
TRADE_ACTION = {
    0: "new",  # A new trade; a statistic is set.
    1: "change",  # Corrects an earlier trade; a statistic is set.
    2: "delete",  # Busts an earlier trade; withdraws a statistic.
    3: "delete_thru",  # Of neither.
    4: "delete_from",  # Of neither.
    5: "overlay",  # As change.
}

# Kind of a statistic.
StatisticName = Literal[
    "open",
    "high",
    "low",
    "vwap",
    "highest_bid",
    "lowest_ask",
    "settlement",
    "cleared_volume",
    "open_interest",
    "fixing",
    "volume",
    "high_limit",
    "low_limit",
    "price_band",
    "other",
]
STATISTIC = {
    0: "open",  # Opening price, traded or indicative.
    1: "high",  # Highest trade.
    2: "low",  # Lowest trade.
    3: "vwap",  # Volume-weighted average price.
    4: "highest_bid",  # Highest bid.
    5: "lowest_ask",  # Lowest offer.
    6: "settlement",  # Settlement price.
    7: "cleared_volume",  # Cleared volume.
    8: "open_interest",  # Open interest.
    9: "fixing",  # Fixing price.
    10: "volume",  # Electronic volume traded so far.
    11: "high_limit",  # Upper price limit.
    12: "low_limit",  # Lower price limit.
    13: "price_band",  # Largest price variation that the venue accepts.
    14: "other",  # A kind that the venue added after this version.
}

# Kind of an event of a desk.
DeskEventName = Literal[
    "parent",
    "order",
    "fill",
    "position",
    "alarm",
    "killed",
    "lifted",
    "bus",
    "skipped",
]
DESK_EVENT = {
    1: "parent",  # A parent was accepted, waits, works again, has ended or is settled.
    2: "order",  # An order at a bank.
    3: "fill",  # A fill, a bust or a correction.
    4: "position",  # The position of a pair.
    5: "alarm",  # An alarm for the desk.
    6: "killed",  # The kill switch was set.
    7: "lifted",  # The kill switch is not set any more.
    8: "bus",  # The bus was overrun, ended or started again; what it lost follows from the journal.
    9: "skipped",  # Events that were not read in time; the state has them.
}
