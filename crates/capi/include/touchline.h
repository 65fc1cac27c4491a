/* Client of a Touchline bus. Generated from the library: do not edit.
 *
 * A bus is used by one thread at a time; only tl_stop may be called by any. A function that returns
 * tl_status returns a negative number for an error, and tl_error() has the sentence. Prices are counts of
 * 1e-9, quantities have a power of ten beside them, absent numbers are TL_NONE. Structs begin with their size
 * as the caller knows it, so that they can grow at the end; rows of books and steps have none and do not grow. */

#ifndef TOUCHLINE_H
#define TOUCHLINE_H

#include <stddef.h>
#include <stdint.h>

/* Version of this header; tl_version() is that of the library. */
#define TL_VERSION "0.1.0"

/* Kinds of events to join a bus for; in C they are added. */
enum tl_join_names {
  TL_JOIN_TOPS = 1, /* Best bids and asks. */
  TL_JOIN_TRADES = 2, /* Trades. */
  TL_JOIN_BOOKS = 4, /* Changes of price books. */
  TL_JOIN_ORDERS = 8, /* Changes of order books, which are then kept, too. */
  TL_JOIN_STATISTICS = 16, /* Statistics of a session or a day. */
  TL_JOIN_STATUS = 32, /* Trading status. */
  TL_JOIN_QUOTES = 64, /* Quotes of providers, such as banks. */
};

/* Its word; "?" for another number. */
static inline const char *tl_join_name(int value) {
  switch (value) {
  case TL_JOIN_TOPS: return "tops";
  case TL_JOIN_TRADES: return "trades";
  case TL_JOIN_BOOKS: return "books";
  case TL_JOIN_ORDERS: return "orders";
  case TL_JOIN_STATISTICS: return "statistics";
  case TL_JOIN_STATUS: return "status";
  case TL_JOIN_QUOTES: return "quotes";
  default: return "?";
  }
}

/* Idle strategy of a reader. */
enum tl_idle_names {
  TL_IDLE_BACKOFF = 0, /* Spins, yields, then sleeps for up to 1 ms. */
  TL_IDLE_YIELD = 1, /* Yields the core to other threads. */
  TL_IDLE_SPIN = 2, /* Never yields the core. */
};

/* Its word; "?" for another number. */
static inline const char *tl_idle_name(int value) {
  switch (value) {
  case TL_IDLE_BACKOFF: return "backoff";
  case TL_IDLE_YIELD: return "yield";
  case TL_IDLE_SPIN: return "spin";
  default: return "?";
  }
}

/* Kind of an event. */
enum tl_event_names {
  TL_EVENT_TOP = 1, /* The best bid or ask of an instrument changed. */
  TL_EVENT_TRADE = 2, /* A trade. */
  TL_EVENT_BOOK = 3, /* A price book changed. */
  TL_EVENT_ORDERS = 4, /* An order book changed. */
  TL_EVENT_QUOTES = 5, /* Quotes of a provider changed. */
  TL_EVENT_STATISTIC = 6, /* A statistic of a session or a day. */
  TL_EVENT_STATUS = 7, /* Trading status of an instrument or a product group. */
  TL_EVENT_STATE = 8, /* The state of a book changed, not its contents. */
  TL_EVENT_CHANNEL = 9, /* All books of the channel changed. */
  TL_EVENT_DEFINED = 10, /* An instrument was defined. */
  TL_EVENT_CONNECTION = 11, /* An event of the connection to the bus. */
};

/* Its word; "?" for another number. */
static inline const char *tl_event_name(int value) {
  switch (value) {
  case TL_EVENT_TOP: return "top";
  case TL_EVENT_TRADE: return "trade";
  case TL_EVENT_BOOK: return "book";
  case TL_EVENT_ORDERS: return "orders";
  case TL_EVENT_QUOTES: return "quotes";
  case TL_EVENT_STATISTIC: return "statistic";
  case TL_EVENT_STATUS: return "status";
  case TL_EVENT_STATE: return "state";
  case TL_EVENT_CHANNEL: return "channel";
  case TL_EVENT_DEFINED: return "defined";
  case TL_EVENT_CONNECTION: return "connection";
  default: return "?";
  }
}

/* Event of the connection to a bus. */
enum tl_connection_names {
  TL_CONNECTION_CAUGHT_UP = 1, /* All books are consistent with one position of the stream. */
  TL_CONNECTION_OVERRUN = 2, /* Messages were lost; books follow from their snapshots. */
  TL_CONNECTION_PUBLISHER_GONE = 3, /* The publisher has ended; live books are stale. */
  TL_CONNECTION_PUBLISHER_STALLED = 4, /* The publisher shows no activity; live books are stale. */
  TL_CONNECTION_PUBLISHER_RESUMED = 5, /* A stalled publisher works again. */
  TL_CONNECTION_RESTARTED = 6, /* Another publisher has started; books follow, with the same handles. */
  TL_CONNECTION_CORRUPT = 7, /* The shared memory has an invalid message. */
  TL_CONNECTION_INCOMPATIBLE = 8, /* The publisher's format cannot be read; live books are stale. */
  TL_CONNECTION_DAMAGED = 9, /* A file of the bus was truncated. */
  TL_CONNECTION_FORKED = 10, /* The reader is that of the process that forked this one; in Python and C an error. */
  TL_CONNECTION_REFUSED = 11, /* The bus was created again, and cannot be joined; live books are stale. */
  TL_CONNECTION_NOT_WAITED_FOR = 12, /* The publisher does not wait for this lossless reader. */
};

/* Its word; "?" for another number. */
static inline const char *tl_connection_name(int value) {
  switch (value) {
  case TL_CONNECTION_CAUGHT_UP: return "caught_up";
  case TL_CONNECTION_OVERRUN: return "overrun";
  case TL_CONNECTION_PUBLISHER_GONE: return "publisher_gone";
  case TL_CONNECTION_PUBLISHER_STALLED: return "publisher_stalled";
  case TL_CONNECTION_PUBLISHER_RESUMED: return "publisher_resumed";
  case TL_CONNECTION_RESTARTED: return "restarted";
  case TL_CONNECTION_CORRUPT: return "corrupt";
  case TL_CONNECTION_INCOMPATIBLE: return "incompatible";
  case TL_CONNECTION_DAMAGED: return "damaged";
  case TL_CONNECTION_FORKED: return "forked";
  case TL_CONNECTION_REFUSED: return "refused";
  case TL_CONNECTION_NOT_WAITED_FOR: return "not_waited_for";
  default: return "?";
  }
}

/* Error of a call. */
enum tl_error_names {
  TL_ERROR_NO_BUS = -1, /* No bus has this name. */
  TL_ERROR_NOT_YOURS = -2, /* The bus belongs to another user, or others may write to it. */
  TL_ERROR_INCOMPATIBLE = -3, /* This client cannot read the format of the bus. */
  TL_ERROR_HALF_STARTED = -4, /* The publisher ended or hung during its start. */
  TL_ERROR_DAMAGED = -5, /* A file of the bus is damaged. */
  TL_ERROR_NAME_TAKEN = -6, /* Another reader of the bus has this name. */
  TL_ERROR_TOO_MANY_READERS = -7, /* The bus has no free place for a reader. */
  TL_ERROR_NOT_LOSSLESS = -8, /* The bus does not wait for readers. */
  TL_ERROR_NO_INSTRUMENT = -9, /* The bus has no such instrument. */
  TL_ERROR_OTHER_BUS = -10, /* The handle belongs to another bus. */
  TL_ERROR_NOT_READY = -11, /* Some books did not arrive in time. */
  TL_ERROR_OPTION = -12, /* An option or an argument is invalid. */
  TL_ERROR_SYSTEM = -13, /* A system call failed. */
  TL_ERROR_INTERNAL = -14, /* The library has a fault. */
  TL_ERROR_NO_ENGINE = -15, /* No trading engine publishes on the bus. */
  TL_ERROR_REFUSED = -16, /* The trading engine refused the command. */
  TL_ERROR_NO_ANSWER = -17, /* The trading engine has not answered yet. */
  TL_ERROR_RECORD = -18, /* The journal of the trading engine, or a tape, cannot be read. */
  TL_ERROR_MEMORY = -19, /* Memory is exhausted. */
  TL_ERROR_FORKED = -20, /* The reader belongs to the process that forked this one. */
};

/* Its word; "?" for another number. */
static inline const char *tl_error_name(int value) {
  switch (value) {
  case TL_ERROR_NO_BUS: return "no_bus";
  case TL_ERROR_NOT_YOURS: return "not_yours";
  case TL_ERROR_INCOMPATIBLE: return "incompatible";
  case TL_ERROR_HALF_STARTED: return "half_started";
  case TL_ERROR_DAMAGED: return "damaged";
  case TL_ERROR_NAME_TAKEN: return "name_taken";
  case TL_ERROR_TOO_MANY_READERS: return "too_many_readers";
  case TL_ERROR_NOT_LOSSLESS: return "not_lossless";
  case TL_ERROR_NO_INSTRUMENT: return "no_instrument";
  case TL_ERROR_OTHER_BUS: return "other_bus";
  case TL_ERROR_NOT_READY: return "not_ready";
  case TL_ERROR_OPTION: return "option";
  case TL_ERROR_SYSTEM: return "system";
  case TL_ERROR_INTERNAL: return "internal";
  case TL_ERROR_NO_ENGINE: return "no_engine";
  case TL_ERROR_REFUSED: return "refused";
  case TL_ERROR_NO_ANSWER: return "no_answer";
  case TL_ERROR_RECORD: return "record";
  case TL_ERROR_MEMORY: return "memory";
  case TL_ERROR_FORKED: return "forked";
  default: return "?";
  }
}

/* Validity of a book. */
enum tl_state_names {
  TL_STATE_LIVE = 0, /* Complete, and confirmed after the last loss. */
  TL_STATE_GAPPED = 1, /* Packets were lost since the venue last confirmed it. */
  TL_STATE_RECOVERING = 2, /* Empty, waiting for a snapshot. */
  TL_STATE_NATURAL = 3, /* Refilled from increments only: correct, but incomplete. */
  TL_STATE_STALE = 4, /* The publisher or its venue has ended or timed out. */
  TL_STATE_CLOSED = 5, /* The venue reports the instrument as closed. */
};

/* Its word; "?" for another number. */
static inline const char *tl_state_name(int value) {
  switch (value) {
  case TL_STATE_LIVE: return "live";
  case TL_STATE_GAPPED: return "gapped";
  case TL_STATE_RECOVERING: return "recovering";
  case TL_STATE_NATURAL: return "natural";
  case TL_STATE_STALE: return "stale";
  case TL_STATE_CLOSED: return "closed";
  default: return "?";
  }
}

/* Side of a book. */
enum tl_side_names {
  TL_SIDE_BID = 0, /* Buyers. */
  TL_SIDE_ASK = 1, /* Sellers. */
};

/* Its word; "?" for another number. */
static inline const char *tl_side_name(int value) {
  switch (value) {
  case TL_SIDE_BID: return "bid";
  case TL_SIDE_ASK: return "ask";
  default: return "?";
  }
}

/* Side that took liquidity in a trade. */
enum tl_aggressor_names {
  TL_AGGRESSOR_BUY = 0, /* The buyer. */
  TL_AGGRESSOR_SELL = 1, /* The seller. */
  TL_AGGRESSOR_NONE = 2, /* Not stated. */
};

/* Its word; "?" for another number. */
static inline const char *tl_aggressor_name(int value) {
  switch (value) {
  case TL_AGGRESSOR_BUY: return "buy";
  case TL_AGGRESSOR_SELL: return "sell";
  case TL_AGGRESSOR_NONE: return "none";
  default: return "?";
  }
}

/* Book of a level or of a best price. */
enum tl_book_names {
  TL_BOOK_DIRECT = 0, /* Orders in this instrument. */
  TL_BOOK_IMPLIED = 1, /* Derived by the venue from other instruments. */
  TL_BOOK_MERGED = 2, /* Both together, by price. */
};

/* Its word; "?" for another number. */
static inline const char *tl_book_name(int value) {
  switch (value) {
  case TL_BOOK_DIRECT: return "direct";
  case TL_BOOK_IMPLIED: return "implied";
  case TL_BOOK_MERGED: return "merged";
  default: return "?";
  }
}

/* Step of a price book. */
enum tl_level_action_names {
  TL_LEVEL_INSERT = 0, /* A level was inserted at the index. */
  TL_LEVEL_REPLACE = 1, /* The level at the index has these values. */
  TL_LEVEL_REMOVE = 2, /* The level at the index was removed. */
  TL_LEVEL_CLEAR = 3, /* The list was emptied. */
};

/* Its word; "?" for another number. */
static inline const char *tl_level_action_name(int value) {
  switch (value) {
  case TL_LEVEL_INSERT: return "insert";
  case TL_LEVEL_REPLACE: return "replace";
  case TL_LEVEL_REMOVE: return "remove";
  case TL_LEVEL_CLEAR: return "clear";
  default: return "?";
  }
}

/* Step of an order book. */
enum tl_order_action_names {
  TL_ORDER_NEW = 0, /* A new order. */
  TL_ORDER_UPDATE = 1, /* New values of an order. */
  TL_ORDER_DELETE = 2, /* The order was removed. */
  TL_ORDER_CLEAR = 3, /* The side was emptied. */
};

/* Its word; "?" for another number. */
static inline const char *tl_order_action_name(int value) {
  switch (value) {
  case TL_ORDER_NEW: return "new";
  case TL_ORDER_UPDATE: return "update";
  case TL_ORDER_DELETE: return "delete";
  case TL_ORDER_CLEAR: return "clear";
  default: return "?";
  }
}

/* What a message of a trade or a statistic does. */
enum tl_trade_action_names {
  TL_TRADE_NEW = 0, /* A new trade; a statistic is set. */
  TL_TRADE_CHANGE = 1, /* Corrects an earlier trade; a statistic is set. */
  TL_TRADE_DELETE = 2, /* Busts an earlier trade; withdraws a statistic. */
  TL_TRADE_DELETE_THRU = 3, /* Of neither. */
  TL_TRADE_DELETE_FROM = 4, /* Of neither. */
  TL_TRADE_OVERLAY = 5, /* As change. */
};

/* Its word; "?" for another number. */
static inline const char *tl_trade_action_name(int value) {
  switch (value) {
  case TL_TRADE_NEW: return "new";
  case TL_TRADE_CHANGE: return "change";
  case TL_TRADE_DELETE: return "delete";
  case TL_TRADE_DELETE_THRU: return "delete_thru";
  case TL_TRADE_DELETE_FROM: return "delete_from";
  case TL_TRADE_OVERLAY: return "overlay";
  default: return "?";
  }
}

/* Kind of a statistic. */
enum tl_statistic_names {
  TL_STATISTIC_OPEN = 0, /* Opening price, traded or indicative. */
  TL_STATISTIC_HIGH = 1, /* Highest trade. */
  TL_STATISTIC_LOW = 2, /* Lowest trade. */
  TL_STATISTIC_VWAP = 3, /* Volume-weighted average price. */
  TL_STATISTIC_HIGHEST_BID = 4, /* Highest bid. */
  TL_STATISTIC_LOWEST_ASK = 5, /* Lowest offer. */
  TL_STATISTIC_SETTLEMENT = 6, /* Settlement price. */
  TL_STATISTIC_CLEARED_VOLUME = 7, /* Cleared volume. */
  TL_STATISTIC_OPEN_INTEREST = 8, /* Open interest. */
  TL_STATISTIC_FIXING = 9, /* Fixing price. */
  TL_STATISTIC_VOLUME = 10, /* Electronic volume traded so far. */
  TL_STATISTIC_HIGH_LIMIT = 11, /* Upper price limit. */
  TL_STATISTIC_LOW_LIMIT = 12, /* Lower price limit. */
  TL_STATISTIC_PRICE_BAND = 13, /* Largest price variation that the venue accepts. */
  TL_STATISTIC_OTHER = 14, /* A kind that the venue added after this version. */
};

/* Its word; "?" for another number. */
static inline const char *tl_statistic_name(int value) {
  switch (value) {
  case TL_STATISTIC_OPEN: return "open";
  case TL_STATISTIC_HIGH: return "high";
  case TL_STATISTIC_LOW: return "low";
  case TL_STATISTIC_VWAP: return "vwap";
  case TL_STATISTIC_HIGHEST_BID: return "highest_bid";
  case TL_STATISTIC_LOWEST_ASK: return "lowest_ask";
  case TL_STATISTIC_SETTLEMENT: return "settlement";
  case TL_STATISTIC_CLEARED_VOLUME: return "cleared_volume";
  case TL_STATISTIC_OPEN_INTEREST: return "open_interest";
  case TL_STATISTIC_FIXING: return "fixing";
  case TL_STATISTIC_VOLUME: return "volume";
  case TL_STATISTIC_HIGH_LIMIT: return "high_limit";
  case TL_STATISTIC_LOW_LIMIT: return "low_limit";
  case TL_STATISTIC_PRICE_BAND: return "price_band";
  case TL_STATISTIC_OTHER: return "other";
  default: return "?";
  }
}

/* Kind of an event of a desk. */
enum tl_desk_event_names {
  TL_DESK_PARENT = 1, /* A parent was accepted, waits, works again, has ended or is settled. */
  TL_DESK_ORDER = 2, /* An order at a bank. */
  TL_DESK_FILL = 3, /* A fill, a bust or a correction. */
  TL_DESK_POSITION = 4, /* The position of a pair. */
  TL_DESK_ALARM = 5, /* An alarm for the desk. */
  TL_DESK_KILLED = 6, /* The kill switch was set. */
  TL_DESK_LIFTED = 7, /* The kill switch is not set any more. */
  TL_DESK_BUS = 8, /* The bus was overrun, ended or started again; what it lost follows from the journal. */
  TL_DESK_SKIPPED = 9, /* Events that were not read in time; the state has them. */
};

/* Its word; "?" for another number. */
static inline const char *tl_desk_event_name(int value) {
  switch (value) {
  case TL_DESK_PARENT: return "parent";
  case TL_DESK_ORDER: return "order";
  case TL_DESK_FILL: return "fill";
  case TL_DESK_POSITION: return "position";
  case TL_DESK_ALARM: return "alarm";
  case TL_DESK_KILLED: return "killed";
  case TL_DESK_LIFTED: return "lifted";
  case TL_DESK_BUS: return "bus";
  case TL_DESK_SKIPPED: return "skipped";
  default: return "?";
  }
}


// Bytes of a text in a struct, with the zero behind it. Every text of a struct fits: none is cut.
#define TL_TEXT 80

// No price and no size.
#define TL_NONE INT64_MAX

// No time: the venue, or the publisher, states none.
#define TL_NO_TIME 0

// No date.
#define TL_NO_DATE 0

// No state: the event concerns no book.
#define TL_NO_STATE UINT8_MAX

// No book: there is no best price.
#define TL_NO_BOOK UINT8_MAX

// Wait without end.
#define TL_FOREVER UINT64_MAX

// A joined bus. One thread at a time; `tl_stop` may be called by any.
typedef struct tl_bus tl_bus;

// A joined trading engine, for one thread at a time.
typedef struct tl_desk tl_desk;

// Result of a call: `TL_OK`, `TL_TIMED_OUT`, `TL_STOPPED`, or an error, which is negative: `TL_ERROR_NO_BUS` and others.
typedef int32_t tl_status;

// How to join a bus, or to open its tape. All zero but `size` is the default.
typedef struct tl_options {
  // The caller's `sizeof(tl_options)`.
  uint32_t size;
  // `TL_JOIN_TOPS` and others, added; 0: tops and trades.
  uint32_t events;
  // Directory of the buses; NULL: `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
  const char *directory;
  // Name of this reader, as `touchline top` shows it; NULL: none.
  const char *name;
  // Symbols or patterns, such as `ES*`; NULL: all.
  const char *const *symbols;
  // Number of `symbols`.
  uint32_t symbol_count;
  // Room for instruments; 0: the limit of the bus.
  uint32_t instruments_max;
  // Wait for a bus that is not there, nanoseconds.
  uint64_t wait_ns;
  // `TL_IDLE_BACKOFF` and others.
  uint8_t idle;
  // 1: books are not kept.
  uint8_t no_books;
  // 1: books that are not live are withheld; one that stops being live gives only its state, and returns as a whole book.
  uint8_t live_only;
  // 1: the publisher waits for this reader, which needs a name.
  uint8_t lossless;
  // 0.
  uint8_t reserved[4];
  // Of `tl_open_journal`, and of `tl_join` with `tape`: first receive time, nanoseconds since 1970; 0: the begin of the tape. The books there come first, as after a join.
  uint64_t from_ns;
  // Of `tl_open_journal`: receive time at which it ends; 0: the end of the tape.
  uint64_t to_ns;
  // As `from_ns`, by the `sequence` of messages.
  uint64_t from_sequence;
  // As `to_ns`, likewise.
  uint64_t to_sequence;
  // Of `tl_join`: directory of a tape that `touchline record` writes of the bus. A reader that was overrun reads the lost messages from it; with
  // `from_ns` or `from_sequence` it begins with the tape. NULL: none.
  const char *tape;
  // Wait for records of a tape that is behind the bus, and, also of `tl_open_journal`, for a recorder that starts again, nanoseconds; 0: one second.
  uint64_t tape_wait_ns;
} tl_options;

// An event. `size` is the caller's `sizeof(tl_event)`: later versions add fields at the end, and write no more than that.
typedef struct tl_event {
  // The caller's `sizeof(tl_event)`.
  uint32_t size;
  // `TL_EVENT_TOP` and others.
  uint8_t kind;
  // State of the book after the event: `TL_STATE_LIVE` and others, `TL_NO_STATE` for other kinds.
  uint8_t state;
  // `TL_CONNECTION_…` of a connection event, `TL_AGGRESSOR_…` of a trade, `TL_STATISTIC_…` of a statistic, the venue's
  // code of a trading status.
  uint8_t detail;
  // Power of ten of sizes.
  int8_t exponent;
  // Index of the instrument; `UINT32_MAX` if there is none.
  uint32_t instrument;
  // 1 if it is the last event of its venue packet that this reader is given.
  uint8_t end_of_batch;
  // Action of a trade: `TL_TRADE_NEW`, or a correction or bust of an earlier one; of a statistic: `TL_TRADE_DELETE` if it is withdrawn,
  // else it is set.
  uint8_t action;
  // 1 if the steps of a change are the whole book: they begin with those that empty it.
  uint8_t whole;
  // 0.
  uint8_t reserved;
  // Number of the message on its bus.
  uint64_t sequence;
  // Time of the venue, nanoseconds since 1970; `TL_NO_TIME` if it states none.
  uint64_t exchange_ns;
  // Time of reception, nanoseconds since 1970; `TL_NO_TIME` if unknown.
  uint64_t receive_ns;
  // Best bid, in 1e-9: the better of the direct and the implied book.
  int64_t bid;
  // Its size; direct and implied together if both have the price.
  int64_t bid_size;
  // Best ask, in 1e-9.
  int64_t ask;
  // Its size.
  int64_t ask_size;
  // Price of a trade or a statistic, in 1e-9.
  int64_t price;
  // Size of a trade or a statistic.
  int64_t quantity;
  // Id of a trade, messages lost in an overrun, generation of a publisher, number of defined instruments.
  uint64_t id;
  // Book of the best bid: `TL_BOOK_DIRECT`, `TL_BOOK_IMPLIED`, `TL_BOOK_MERGED` if both have the price; `TL_NO_BOOK` without a bid.
  uint8_t bid_book;
  // Book of the best ask, likewise.
  uint8_t ask_book;
  // 0.
  uint8_t reserved_books[6];
} tl_event;

// A level of a price book.
typedef struct tl_level {
  // Price, in 1e-9.
  int64_t price;
  // Quantity, direct and implied together.
  int64_t quantity;
  // Quantity in the direct book; 0 if there is none.
  int64_t direct;
  // Quantity in the implied book; 0 if there is none.
  int64_t implied;
  // Number of orders in the direct book; `UINT32_MAX` if the venue does not state it.
  uint32_t orders;
  // Power of ten of the quantities.
  int8_t exponent;
  // 0 for a level that must exist and was never published.
  uint8_t known;
  // 0.
  uint8_t reserved[2];
} tl_level;

// An order of an order book.
typedef struct tl_order {
  // The venue's id.
  uint64_t order_id;
  // Rank within its price, lowest first.
  uint64_t priority;
  // Price, in 1e-9.
  int64_t price;
  // Visible quantity.
  int64_t quantity;
  // Power of ten of the quantity.
  int8_t exponent;
  // 0.
  uint8_t reserved[7];
} tl_order;

// Definition of an instrument. Numbers that the venue does not state are `TL_NONE` or 0, times `TL_NO_TIME`, dates `TL_NO_DATE`, texts
// empty.
typedef struct tl_definition {
  // The caller's `sizeof(tl_definition)`.
  uint32_t size;
  // 0 before the venue has defined it: only venue and security id are known.
  uint8_t defined;
  // Trading status: the venue's code (FIX tag 326); 255 if not stated.
  uint8_t status;
  // Power of ten of quantities.
  int8_t quantity_exponent;
  // Levels a side of the implied book.
  uint8_t implied_depth;
  // Levels a side of the book; `UINT16_MAX` if the venue keeps every level.
  uint16_t depth;
  // Traders quote this part of a point, as 32 for 1/32; 0 for decimals. Prices here are always decimals.
  uint8_t fraction;
  // And this part of it, as 4; 0 or 1: no part.
  uint8_t sub_fraction;
  // Maturity as `YYYYMMDD`, with day 00 if the venue states only the month; `TL_NO_DATE` if there is none.
  uint32_t maturity;
  // The venue's identifier (CME: SecurityID).
  int64_t security_id;
  // The venue's identifier of the underlying instrument.
  int64_t underlying;
  // End of trading, nanoseconds since 1970; `TL_NO_TIME` if there is none.
  uint64_t expiry_ns;
  // Smallest price step, in 1e-9.
  int64_t tick;
  // Strike of an option, in 1e-9.
  int64_t strike;
  // Highest accepted price, in 1e-9.
  int64_t high_limit;
  // Lowest accepted price, in 1e-9.
  int64_t low_limit;
  // Unit of one contract, in 1e-9.
  int64_t multiplier;
  // Step of quantities.
  int64_t lot;
  // Smallest quantity of an order.
  int64_t quantity_min;
  // Largest quantity of an order.
  int64_t quantity_max;
  // Prices are those of the venue times this, divided by the next.
  uint64_t display_numerator;
  // Above 0.
  uint64_t display_denominator;
  // Symbol.
  char symbol[TL_TEXT];
  // Venue, as its publisher names it.
  char venue[TL_TEXT];
  // Product group (CME: SecurityGroup).
  char group[TL_TEXT];
  // Product (CME: Asset).
  char asset[TL_TEXT];
  // Kind of contract: `future`, `option` and others.
  char security_type[TL_TEXT];
  // Right of an option: `put`, `call`.
  char right[TL_TEXT];
  // Currency of prices.
  char currency[TL_TEXT];
  // Currency of settlement.
  char settlement_currency[TL_TEXT];
} tl_definition;

// A step in a price book.
typedef struct tl_change {
  // Price of the level after the step, in 1e-9; `TL_NONE` if it was removed.
  int64_t price;
  // Quantity of the level.
  int64_t quantity;
  // Number of orders; `UINT32_MAX` if the venue does not state it.
  uint32_t orders;
  // Index of the level, from 0, the best.
  uint16_t index;
  // `TL_LEVEL_INSERT` and others.
  uint8_t action;
  // `TL_SIDE_BID` or `TL_SIDE_ASK`.
  uint8_t side;
  // `TL_BOOK_DIRECT` or `TL_BOOK_IMPLIED`.
  uint8_t book;
  // 0 for a level that must exist and was never published.
  uint8_t known;
  // Power of ten of the quantity.
  int8_t exponent;
  // 0.
  uint8_t reserved[5];
} tl_change;

// A step in an order book.
typedef struct tl_order_change {
  // The venue's id of the order.
  uint64_t order_id;
  // Rank within its price, lowest first.
  uint64_t priority;
  // Price, in 1e-9.
  int64_t price;
  // Visible quantity.
  int64_t quantity;
  // `TL_ORDER_NEW` and others.
  uint8_t action;
  // `TL_SIDE_BID` or `TL_SIDE_ASK`.
  uint8_t side;
  // Power of ten of the quantity.
  int8_t exponent;
  // 0.
  uint8_t reserved[5];
} tl_order_change;

// Counts since a bus was joined.
typedef struct tl_stats {
  // The caller's `sizeof(tl_stats)`.
  uint32_t size;
  // 0.
  uint32_t reserved;
  // Returned events.
  uint64_t events;
  // Overruns of this reader.
  uint64_t overruns;
  // Messages lost in overruns.
  uint64_t lost;
  // Publishers after the first.
  uint64_t restarts;
  // Skipped messages of a newer schema.
  uint64_t unknown;
  // Skipped messages of instruments without a definition.
  uint64_t undefined;
  // Steps that did not fit their book: 0, unless library or publisher has a fault.
  uint64_t inconsistent;
  // Messages read from the tape of the bus.
  uint64_t tape_messages;
  // Overruns after which the reader continued with the tape.
  uint64_t tape_fall_backs;
  // Readings of the tape that ended with a loss, which is an overrun.
  uint64_t tape_losses;
  // 1: the next message comes from the tape, and the reader is behind the bus; else 0.
  uint64_t on_tape;
} tl_stats;

// How to join a trading engine. All NULL but `size` is the default.
typedef struct tl_desk_options {
  // The caller's `sizeof(tl_desk_options)`.
  uint32_t size;
  // 0.
  uint32_t reserved;
  // The client, as the engine's configuration names it; NULL: `desk`.
  const char *client;
  // Directory of the buses; NULL: `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
  const char *directory;
  // Directory of the client's ring, if the engine's configuration names one.
  const char *ring_directory;
  // Directory of the engine's journal; NULL: that of its last start.
  const char *journal;
  // Group of the client's ring, if the engine's configuration names one.
  const char *group;
} tl_desk_options;

// A parent order. Zero and NULL are the defaults of `touchline fx send`.
typedef struct tl_parent {
  // The caller's `sizeof(tl_parent)`.
  uint32_t size;
  // `TL_SIDE_BID` buys, `TL_SIDE_ASK` sells.
  uint8_t side;
  // 1: the whole quantity at once, or nothing.
  uint8_t whole;
  // 1 more than the urgency, so 1 to 3; 0: the default.
  uint8_t urgency;
  // 0.
  uint8_t reserved;
  // Base units.
  int64_t quantity;
  // Lifetime of a gtd order, milliseconds; 0: a minute.
  uint64_t deadline_ms;
  // Symbol, such as `EUR/USD`.
  const char *pair;
  // Name of the order; NULL: the time.
  const char *id;
  // Worst price, a decimal; NULL: none.
  const char *limit;
  // `gtd`, `ioc` or `fok`; NULL: `gtd`.
  const char *tif;
  // `best`, `full` or `sweep`; NULL: `best`.
  const char *style;
} tl_parent;

// An event of a desk, or a row of a list, flat: numbers that its kind does not have are `TL_NONE`, texts empty.
typedef struct tl_desk_event {
  // The caller's `sizeof(tl_desk_event)`.
  uint32_t size;
  // `TL_DESK_PARENT` and others.
  uint8_t kind;
  // Side of a parent, an order or a fill.
  uint8_t side;
  // 1 if a parent has ended.
  uint8_t ended;
  // 1 if it has ended and has no open order.
  uint8_t settled;
  // Base units of a parent, an order or a fill; the position of a pair; skipped events.
  int64_t quantity;
  // Base units filled: of a parent net of busts, of an order before them.
  int64_t filled;
  // Base units of an order that may still be filled.
  int64_t leaves;
  // Price of an order or a fill, limit of a parent, in 1e-9.
  int64_t price;
  // Worst case of a position, long, base units.
  int64_t worst_long;
  // Worst case of a position, short, base units.
  int64_t worst_short;
  // Time of a fill or an alarm, nanoseconds since 1970; `TL_NO_TIME` of other kinds.
  uint64_t at_ns;
  // Name of the parent.
  char parent[TL_TEXT];
  // ClOrdID of the order.
  char order[TL_TEXT];
  // ExecID of a fill.
  char exec[TL_TEXT];
  // Bank.
  char bank[TL_TEXT];
  // Pair.
  char pair[TL_TEXT];
  // State of a parent or an order, kind of a fill or an alarm, a sentence of the bus, the user of a kill.
  char state[TL_TEXT];
  // Cash of a position in the term currency, an exact decimal.
  char cash[TL_TEXT];
  // Profit of a position at the mid, an exact decimal; empty if there is no mid.
  char pnl[TL_TEXT];
} tl_desk_event;

// Done; of `tl_next`: there is an event.
#define TL_OK 0

// The time has passed without an event.
#define TL_TIMED_OUT 1

// The loop was ended by `tl_stop`, or with its tape.
#define TL_STOPPED 2

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The sentence of the last error of this thread; valid until its next call of this library.
const char *tl_error(void);

// Version of this library, such as `0.1.0`.
const char *tl_version(void);

// Joins the bus of this name. On success `*bus` must be given to `tl_close`.
//
// Valid:
// `name` is a string; `options` is NULL or valid for its size; `bus` is valid.
tl_status tl_join(const char *name, const struct tl_options *options, struct tl_bus **bus);

// Opens a tape of `touchline record` as the bus that it is of: `directory` is that of the tape, `name` that of a bus, or NULL for the first one that
// the tape has. On success `*bus` must be given to `tl_close`. Its functions are those of a joined bus. At the end of the tape `tl_next` returns
// `TL_STOPPED`; if it cannot be read to its end, an error. At the end of a tape that is recorded it waits. A tape has no readers with names and no
// publisher that waits: of `options`, `directory`, `name`, `live_only` and `lossless` are not used.
//
// Valid:
// `directory` is a string, `name` NULL or a string; `options` is NULL or valid for its size; `bus` is valid.
tl_status tl_open_journal(const char *directory,
                          const char *name,
                          const struct tl_options *options,
                          struct tl_bus **bus);

// The next event; waits up to `timeout_ns` (0: never, `TL_FOREVER`: without end). On a tape the time counts at its end: what it has is
// read first, and `TL_TIMED_OUT` says that it has no more yet. On a bus it also comes behind 65,536 messages in a row
// without an event. `event->size` must be set. In a forked child of the process that joined with a name or `lossless`: `TL_ERROR_FORKED`.
//
// Valid:
// `bus` is of `tl_join`; `event` is valid for its size.
tl_status tl_next(struct tl_bus *bus,
                  uint64_t timeout_ns,
                  struct tl_event *event);

// Reads until every defined book is live, for at most `timeout_ns`; events are applied and not returned.
//
// Valid:
// `bus` is of `tl_join`.
tl_status tl_ready(struct tl_bus *bus, uint64_t timeout_ns);

// Index of the instrument of this symbol.
//
// Valid:
// `bus` is of `tl_join`, `symbol` a string, `instrument` valid.
tl_status tl_find(struct tl_bus *bus, const char *symbol, uint32_t *instrument);

// Index of the instrument with this id of the venue, which may have no symbol; of several venues' instruments the one defined last.
// Of a venue without ids the number holds until the publisher restarts: keep symbols, or indexes.
//
// Valid:
// `bus` is of `tl_join`, `instrument` valid.
tl_status tl_find_id(struct tl_bus *bus,
                     int64_t security_id,
                     uint32_t *instrument);

// Symbol of an instrument, valid until `tl_close`; `?` before it is known, NULL if there is no such instrument.
//
// Valid:
// `bus` is of `tl_join`.
const char *tl_symbol(struct tl_bus *bus, uint32_t instrument);

// The best bid and ask of an instrument, as an event.
//
// Valid:
// `bus` is of `tl_join`; `event` is valid for its size.
tl_status tl_top(struct tl_bus *bus, uint32_t instrument, struct tl_event *event);

// The last trade of an instrument, as an event; `TL_TIMED_OUT` before the first.
//
// Valid:
// `bus` is of `tl_join`; `event` is valid for its size.
tl_status tl_last_trade(struct tl_bus *bus, uint32_t instrument, struct tl_event *event);

// Copies the best levels of a side (`TL_SIDE_BID`, `TL_SIDE_ASK`), at most `room`; `*count` is how many, `*state` the state of the book.
// `book` is `TL_BOOK_MERGED` for direct and implied levels by price, or one of them alone: `TL_BOOK_DIRECT`, `TL_BOOK_IMPLIED`.
// The merged list leaves out levels that must exist and were never published; the lists of one book have them with `known` 0. So the
// first level is the best price only if no better one is unknown: the best price is that of `tl_top`.
//
// Valid:
// `bus` is of `tl_join`, `levels` has `room` places, `count` and `state` are valid.
tl_status tl_book(struct tl_bus *bus,
                  uint32_t instrument,
                  uint8_t side,
                  uint8_t book,
                  struct tl_level *levels,
                  size_t room,
                  size_t *count,
                  uint8_t *state);

// Copies the orders of a side (`TL_SIDE_BID`, `TL_SIDE_ASK`) in order of priority, at most `room`; `*count` is how many there are.
//
// Valid:
// `bus` is of `tl_join`, `orders` has `room` places, `count` and `state` are valid.
tl_status tl_orders(struct tl_bus *bus,
                    uint32_t instrument,
                    uint8_t side,
                    struct tl_order *orders,
                    size_t room,
                    size_t *count,
                    uint8_t *state);

// Ends the loop of another thread, within a millisecond; may be called from a signal handler.
//
// Valid:
// `bus` is of `tl_join`, and `tl_close` was not called.
void tl_stop(const struct tl_bus *bus);

// Leaves a bus; NULL is allowed.
//
// Valid:
// `bus` is of `tl_join`, and is not used again.
void tl_close(struct tl_bus *bus);

// Definition of an instrument. `definition->size` must be set.
//
// Valid:
// `bus` is of `tl_join`; `definition` is valid for its size.
tl_status tl_definition_of(struct tl_bus *bus, uint32_t instrument, struct tl_definition *definition);

// Copies the steps of the last `TL_EVENT_BOOK`, at most `room`, until the next call of `tl_next`; `*count` is how many there are.
//
// Valid:
// `bus` is of `tl_join`, `changes` has `room` places, `count` is valid.
tl_status tl_changes(struct tl_bus *bus,
                     struct tl_change *changes,
                     size_t room,
                     size_t *count);

// Copies the steps of the last `TL_EVENT_ORDERS`, as `tl_changes` does.
//
// Valid:
// `bus` is of `tl_join`, `changes` has `room` places, `count` is valid.
tl_status tl_order_changes(struct tl_bus *bus, struct tl_order_change *changes, size_t room, size_t *count);

// Counts since the bus was joined. `stats->size` must be set.
//
// Valid:
// `bus` is of `tl_join`; `stats` is valid for its size.
tl_status tl_stats_of(struct tl_bus *bus, struct tl_stats *stats);

// Lag of this reader: unread messages and bytes, exact to some tens of KiB.
//
// Valid:
// `bus` is of `tl_join`; `messages` and `bytes` are valid.
tl_status tl_lag(struct tl_bus *bus, uint64_t *messages, uint64_t *bytes);

// Joins the engine on the bus of this name, and reads its journal. On success `*desk` must be given to `tl_desk_close`.
//
// Valid:
// `bus` is a string; `options` is NULL or valid for its size; `desk` is valid.
tl_status tl_desk_join(const char *bus, const struct tl_desk_options *options, struct tl_desk **desk);

// Sends a parent order; waits until the engine has accepted it. Its name is written to `id`, which has `TL_TEXT` bytes or is NULL,
// before it is sent: after `TL_ERROR_NO_ANSWER` give it as `parent->id` to send the same order again.
// `TL_ERROR_REFUSED`: `tl_error` has the engine's sentence.
//
// Valid:
// `desk` is of `tl_desk_join`; `parent` is valid, with strings; `id` is NULL or has `TL_TEXT` bytes.
tl_status tl_desk_send(struct tl_desk *desk,
                       const struct tl_parent *parent,
                       char (*id)[TL_TEXT]);

// Ends the loop of another thread, within a millisecond; may be called from a signal handler.
//
// Valid:
// `desk` is of `tl_desk_join`, and `tl_desk_close` was not called.
void tl_desk_stop(const struct tl_desk *desk);

// Ends a parent and cancels its open orders.
//
// Valid:
// `desk` is of `tl_desk_join`, `parent` a string.
tl_status tl_desk_cancel(struct tl_desk *desk, const char *parent);

// Sets the kill switch, if need be without the ring.
//
// Valid:
// `desk` is of `tl_desk_join`.
tl_status tl_desk_kill(struct tl_desk *desk);

// The next event; waits up to `timeout_ns` (0: never, `TL_FOREVER`: without end). `TL_TIMED_OUT` if none came, `TL_STOPPED` after
// `tl_desk_stop`. `event->size` must be set.
//
// Valid:
// `desk` is of `tl_desk_join`; `event` is valid for its size.
tl_status tl_desk_next(struct tl_desk *desk,
                       uint64_t timeout_ns,
                       struct tl_desk_event *event);

// The state of a parent, as an event; `TL_TIMED_OUT` if it is not known, or not any more.
//
// Valid:
// `desk` is of `tl_desk_join`, `parent` a string; `event` is valid for its size.
tl_status tl_desk_parent(struct tl_desk *desk, const char *parent, struct tl_desk_event *event);

// Copies the rows of a kind, at most `room`; `*count` is how many there are. `TL_DESK_PARENT`: parents that work, and the last 50 that
// have ended; `TL_DESK_ORDER`: orders that may still be filled; `TL_DESK_FILL`, `TL_DESK_ALARM`: the last 50; `TL_DESK_POSITION`:
// positions, by pair. `rows->size`, of the first, must be set; the others get it.
//
// Valid:
// `desk` is of `tl_desk_join`; `rows` has `room` places of `rows->size` bytes; `count` is valid.
tl_status tl_desk_list(struct tl_desk *desk,
                       uint8_t kind,
                       struct tl_desk_event *rows,
                       size_t room,
                       size_t *count);

// The position of a pair, base units; `TL_TIMED_OUT` if the engine has none of it.
//
// Valid:
// `desk` is of `tl_desk_join`, `pair` a string, `units` valid.
tl_status tl_desk_position(struct tl_desk *desk, const char *pair, int64_t *units);

// Leaves an engine; NULL is allowed.
//
// Valid:
// `desk` is of `tl_desk_join`, and is not used again.
void tl_desk_close(struct tl_desk *desk);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TOUCHLINE_H */
