// Client of a Touchline bus for C++17: touchline.h with owners, exceptions, enumerations and numbers that may be absent.
#ifndef TOUCHLINE_HPP
#define TOUCHLINE_HPP

#if !(__cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L))
#error "touchline.hpp needs C++17: compile with -std=c++17 or later"
#endif

#include "touchline.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace touchline {

// Generated from the names of all languages: do not edit.
// Kind of an event.
enum class EventKind : std::uint8_t {
  Top = TL_EVENT_TOP, // The best bid or ask of an instrument changed.
  Trade = TL_EVENT_TRADE, // A trade.
  Book = TL_EVENT_BOOK, // A price book changed.
  Orders = TL_EVENT_ORDERS, // An order book changed.
  Quotes = TL_EVENT_QUOTES, // Quotes of a provider changed.
  Statistic = TL_EVENT_STATISTIC, // A statistic of a session or a day.
  Status = TL_EVENT_STATUS, // Trading status of an instrument or a product group.
  State = TL_EVENT_STATE, // The state of a book changed, not its contents.
  Channel = TL_EVENT_CHANNEL, // All books of the channel changed.
  Defined = TL_EVENT_DEFINED, // An instrument was defined.
  Connection = TL_EVENT_CONNECTION, // An event of the connection to the bus.
};
// Its word.
inline const char *name(EventKind value) noexcept { return tl_event_name(static_cast<int>(value)); }

// Event of the connection to a bus.
enum class Connection : std::uint8_t {
  CaughtUp = TL_CONNECTION_CAUGHT_UP, // All books are consistent with one position of the stream.
  Overrun = TL_CONNECTION_OVERRUN, // Messages were lost; books follow from their snapshots.
  PublisherGone = TL_CONNECTION_PUBLISHER_GONE, // The publisher has ended; live books are stale.
  PublisherStalled = TL_CONNECTION_PUBLISHER_STALLED, // The publisher shows no activity; live books are stale.
  PublisherResumed = TL_CONNECTION_PUBLISHER_RESUMED, // A stalled publisher works again.
  Restarted = TL_CONNECTION_RESTARTED, // Another publisher has started; books follow, with the same handles.
  Corrupt = TL_CONNECTION_CORRUPT, // The shared memory has an invalid message.
  Incompatible = TL_CONNECTION_INCOMPATIBLE, // The publisher's format cannot be read; live books are stale.
  Damaged = TL_CONNECTION_DAMAGED, // A file of the bus was truncated.
  Forked = TL_CONNECTION_FORKED, // The reader is that of the process that forked this one; in Python and C an error.
  Refused = TL_CONNECTION_REFUSED, // The bus was created again, and cannot be joined; live books are stale.
  NotWaitedFor = TL_CONNECTION_NOT_WAITED_FOR, // The publisher does not wait for this lossless reader.
};
// Its word.
inline const char *name(Connection value) noexcept { return tl_connection_name(static_cast<int>(value)); }

// Validity of a book.
enum class State : std::uint8_t {
  Live = TL_STATE_LIVE, // Complete, and confirmed after the last loss.
  Gapped = TL_STATE_GAPPED, // Packets were lost since the venue last confirmed it.
  Recovering = TL_STATE_RECOVERING, // Empty, waiting for a snapshot.
  Natural = TL_STATE_NATURAL, // Refilled from increments only: correct, but incomplete.
  Stale = TL_STATE_STALE, // The publisher or its venue has ended or timed out.
  Closed = TL_STATE_CLOSED, // The venue reports the instrument as closed.
};
// Its word.
inline const char *name(State value) noexcept { return tl_state_name(static_cast<int>(value)); }

// Side of a book.
enum class Side : std::uint8_t {
  Bid = TL_SIDE_BID, // Buyers.
  Ask = TL_SIDE_ASK, // Sellers.
};
// Its word.
inline const char *name(Side value) noexcept { return tl_side_name(static_cast<int>(value)); }

// Side that took liquidity in a trade.
enum class Aggressor : std::uint8_t {
  Buy = TL_AGGRESSOR_BUY, // The buyer.
  Sell = TL_AGGRESSOR_SELL, // The seller.
  None = TL_AGGRESSOR_NONE, // Not stated.
};
// Its word.
inline const char *name(Aggressor value) noexcept { return tl_aggressor_name(static_cast<int>(value)); }

// Book of a level or of a best price.
enum class BookKind : std::uint8_t {
  Direct = TL_BOOK_DIRECT, // Orders in this instrument.
  Implied = TL_BOOK_IMPLIED, // Derived by the venue from other instruments.
  Merged = TL_BOOK_MERGED, // Both together, by price.
};
// Its word.
inline const char *name(BookKind value) noexcept { return tl_book_name(static_cast<int>(value)); }

// Step of a price book.
enum class LevelAction : std::uint8_t {
  Insert = TL_LEVEL_INSERT, // A level was inserted at the index.
  Replace = TL_LEVEL_REPLACE, // The level at the index has these values.
  Remove = TL_LEVEL_REMOVE, // The level at the index was removed.
  Clear = TL_LEVEL_CLEAR, // The list was emptied.
};
// Its word.
inline const char *name(LevelAction value) noexcept { return tl_level_action_name(static_cast<int>(value)); }

// Step of an order book.
enum class OrderAction : std::uint8_t {
  New = TL_ORDER_NEW, // A new order.
  Update = TL_ORDER_UPDATE, // New values of an order.
  Delete = TL_ORDER_DELETE, // The order was removed.
  Clear = TL_ORDER_CLEAR, // The side was emptied.
};
// Its word.
inline const char *name(OrderAction value) noexcept { return tl_order_action_name(static_cast<int>(value)); }

// What a message of a trade or a statistic does.
enum class TradeAction : std::uint8_t {
  New = TL_TRADE_NEW, // A new trade; a statistic is set.
  Change = TL_TRADE_CHANGE, // Corrects an earlier trade; a statistic is set.
  Delete = TL_TRADE_DELETE, // Busts an earlier trade; withdraws a statistic.
  DeleteThru = TL_TRADE_DELETE_THRU, // Of neither.
  DeleteFrom = TL_TRADE_DELETE_FROM, // Of neither.
  Overlay = TL_TRADE_OVERLAY, // As change.
};
// Its word.
inline const char *name(TradeAction value) noexcept { return tl_trade_action_name(static_cast<int>(value)); }

// Kind of a statistic.
enum class Statistic : std::uint8_t {
  Open = TL_STATISTIC_OPEN, // Opening price, traded or indicative.
  High = TL_STATISTIC_HIGH, // Highest trade.
  Low = TL_STATISTIC_LOW, // Lowest trade.
  Vwap = TL_STATISTIC_VWAP, // Volume-weighted average price.
  HighestBid = TL_STATISTIC_HIGHEST_BID, // Highest bid.
  LowestAsk = TL_STATISTIC_LOWEST_ASK, // Lowest offer.
  Settlement = TL_STATISTIC_SETTLEMENT, // Settlement price.
  ClearedVolume = TL_STATISTIC_CLEARED_VOLUME, // Cleared volume.
  OpenInterest = TL_STATISTIC_OPEN_INTEREST, // Open interest.
  Fixing = TL_STATISTIC_FIXING, // Fixing price.
  Volume = TL_STATISTIC_VOLUME, // Electronic volume traded so far.
  HighLimit = TL_STATISTIC_HIGH_LIMIT, // Upper price limit.
  LowLimit = TL_STATISTIC_LOW_LIMIT, // Lower price limit.
  PriceBand = TL_STATISTIC_PRICE_BAND, // Largest price variation that the venue accepts.
  Other = TL_STATISTIC_OTHER, // A kind that the venue added after this version.
};
// Its word.
inline const char *name(Statistic value) noexcept { return tl_statistic_name(static_cast<int>(value)); }

// Kind of an event of a desk.
enum class DeskKind : std::uint8_t {
  Parent = TL_DESK_PARENT, // A parent was accepted, waits, works again, has ended or is settled.
  Order = TL_DESK_ORDER, // An order at a bank.
  Fill = TL_DESK_FILL, // A fill, a bust or a correction.
  Position = TL_DESK_POSITION, // The position of a pair.
  Alarm = TL_DESK_ALARM, // An alarm for the desk.
  Killed = TL_DESK_KILLED, // The kill switch was set.
  Lifted = TL_DESK_LIFTED, // The kill switch is not set any more.
  Bus = TL_DESK_BUS, // The bus was overrun, ended or started again; what it lost follows from the journal.
  Skipped = TL_DESK_SKIPPED, // Events that were not read in time; the state has them.
};
// Its word.
inline const char *name(DeskKind value) noexcept { return tl_desk_event_name(static_cast<int>(value)); }

// Idle strategy of a reader.
enum class Idle : std::uint8_t {
  Backoff = TL_IDLE_BACKOFF, // Spins, yields, then sleeps for up to 1 ms.
  Yield = TL_IDLE_YIELD, // Yields the core to other threads.
  Spin = TL_IDLE_SPIN, // Never yields the core.
};
// Its word.
inline const char *name(Idle value) noexcept { return tl_idle_name(static_cast<int>(value)); }

// End of the generated part.

// A call has failed; what() is the sentence that says what to do.
class Error : public std::runtime_error {
public:
  explicit Error(tl_status status) : std::runtime_error(tl_error()), status_(status) {}
  // Of a parent order.
  Error(tl_status status, const char *parent) : Error(status) {
    // A copy of an exception must not throw: the name has a place of its own.
    for (std::size_t at = 0; at + 1 < TL_TEXT && parent[at] != 0; at++) {
      parent_[at] = parent[at];
    }
  }

  // TL_ERROR_NO_BUS and others.
  tl_status status() const noexcept { return status_; }
  // Its word: "no_bus".
  const char *kind() const noexcept { return tl_error_name(status_); }
  // Of Desk::send: the name of the order. After TL_ERROR_NO_ANSWER sent again with it as `id`, the order is not executed twice. Empty
  // of other calls, and if the order has no name yet: nothing was sent.
  const char *parent() const noexcept { return parent_; }

private:
  tl_status status_;
  char parent_[TL_TEXT] = {};
};

namespace detail {
inline tl_status checked(tl_status status) {
  if (status < 0) {
    throw Error(status);
  }
  return status;
}

// A time that has passed is no wait.
inline std::uint64_t nanoseconds(std::chrono::nanoseconds time) noexcept {
  return time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count());
}

// A struct that begins with its size.
template <typename Flat> Flat sized() noexcept {
  Flat flat{};
  flat.size = sizeof flat;
  return flat;
}

inline std::optional<double> number(std::int64_t count, int exponent) noexcept {
  if (count == TL_NONE) {
    return std::nullopt;
  }
  // A double holds these powers of ten exactly.
  double power = 1;
  for (int at = exponent < 0 ? -exponent : exponent; at > 0; at--) {
    power *= 10;
  }
  return exponent < 0 ? static_cast<double>(count) / power : static_cast<double>(count) * power;
}

inline std::optional<double> price(std::int64_t count) noexcept { return number(count, -9); }

inline std::optional<BookKind> book(std::uint8_t book) noexcept {
  return book == TL_NO_BOOK ? std::nullopt : std::optional<BookKind>(static_cast<BookKind>(book));
}
} // namespace detail

// An event. Prices, sizes and names are functions; the fields of touchline.h that they are made of are those of tl_event:
// event.tl_event::bid.
struct Event : tl_event {
  EventKind kind() const noexcept { return static_cast<EventKind>(tl_event::kind); }
  // Of the book after the event; nothing of other kinds.
  std::optional<State> state() const noexcept {
    return tl_event::state == TL_NO_STATE ? std::nullopt : std::optional<State>(static_cast<State>(tl_event::state));
  }
  // Whether it is the last event of its venue packet that this reader is given: act here.
  bool end_of_batch() const noexcept { return tl_event::end_of_batch != 0; }
  // Whether the steps of a change are the whole book: they begin with those that empty it.
  bool whole() const noexcept { return tl_event::whole != 0; }

  // Best prices of a top or of a change of a price book.
  std::optional<double> bid() const noexcept { return detail::price(tl_event::bid); }
  std::optional<double> bid_size() const noexcept { return detail::number(tl_event::bid_size, exponent); }
  std::optional<double> ask() const noexcept { return detail::price(tl_event::ask); }
  std::optional<double> ask_size() const noexcept { return detail::number(tl_event::ask_size, exponent); }
  std::optional<BookKind> bid_book() const noexcept { return detail::book(tl_event::bid_book); }
  std::optional<BookKind> ask_book() const noexcept { return detail::book(tl_event::ask_book); }

  // Of a trade or a statistic.
  std::optional<double> price() const noexcept { return detail::price(tl_event::price); }
  std::optional<double> quantity() const noexcept { return detail::number(tl_event::quantity, exponent); }
  // TradeAction::Delete withdraws a statistic; another one sets it.
  TradeAction action() const noexcept { return static_cast<TradeAction>(tl_event::action); }
  // Of a trade.
  Aggressor aggressor() const noexcept { return static_cast<Aggressor>(detail); }
  // Of a statistic.
  Statistic statistic() const noexcept { return static_cast<Statistic>(detail); }
  // Of an event of the connection.
  Connection connection() const noexcept { return static_cast<Connection>(detail); }
};

// A level of a kept price book, with the fields of tl_level as functions.
struct Level : tl_level {
  std::optional<double> price() const noexcept { return detail::price(tl_level::price); }
  std::optional<double> quantity() const noexcept { return detail::number(tl_level::quantity, exponent); }
  std::optional<double> direct() const noexcept { return detail::number(tl_level::direct, exponent); }
  std::optional<double> implied() const noexcept { return detail::number(tl_level::implied, exponent); }
  // Number of direct orders; nothing if the venue does not state it.
  std::optional<std::uint32_t> orders() const noexcept {
    return tl_level::orders == UINT32_MAX ? std::nullopt : std::optional<std::uint32_t>(tl_level::orders);
  }
  // Whether the level was published; a level that must exist may not have been.
  bool known() const noexcept { return tl_level::known != 0; }
};

// An order of a kept order book.
struct Order : tl_order {
  std::optional<double> price() const noexcept { return detail::price(tl_order::price); }
  std::optional<double> quantity() const noexcept { return detail::number(tl_order::quantity, exponent); }
};

// A step in a price book.
struct Change : tl_change {
  LevelAction action() const noexcept { return static_cast<LevelAction>(tl_change::action); }
  Side side() const noexcept { return static_cast<Side>(tl_change::side); }
  BookKind book() const noexcept { return static_cast<BookKind>(tl_change::book); }
  std::optional<double> price() const noexcept { return detail::price(tl_change::price); }
  std::optional<double> quantity() const noexcept { return detail::number(tl_change::quantity, exponent); }
  std::optional<std::uint32_t> orders() const noexcept {
    return tl_change::orders == UINT32_MAX ? std::nullopt : std::optional<std::uint32_t>(tl_change::orders);
  }
  bool known() const noexcept { return tl_change::known != 0; }
};

// A step in an order book.
struct OrderChange : tl_order_change {
  OrderAction action() const noexcept { return static_cast<OrderAction>(tl_order_change::action); }
  Side side() const noexcept { return static_cast<Side>(tl_order_change::side); }
  std::optional<double> price() const noexcept { return detail::price(tl_order_change::price); }
  std::optional<double> quantity() const noexcept {
    return detail::number(tl_order_change::quantity, exponent);
  }
};

// Reference data of an instrument.
struct Definition : tl_definition {
  // Whether the venue has defined it; before, only venue and security id are known.
  bool defined() const noexcept { return tl_definition::defined != 0; }
  std::optional<double> tick() const noexcept { return detail::price(tl_definition::tick); }
  std::optional<double> strike() const noexcept { return detail::price(tl_definition::strike); }
  std::optional<double> high_limit() const noexcept { return detail::price(tl_definition::high_limit); }
  std::optional<double> low_limit() const noexcept { return detail::price(tl_definition::low_limit); }
  std::optional<double> multiplier() const noexcept { return detail::price(tl_definition::multiplier); }
  std::optional<double> lot() const noexcept { return detail::number(tl_definition::lot, quantity_exponent); }
  std::optional<double> quantity_min() const noexcept {
    return detail::number(tl_definition::quantity_min, quantity_exponent);
  }
  std::optional<double> quantity_max() const noexcept {
    return detail::number(tl_definition::quantity_max, quantity_exponent);
  }
};

// An event of a desk, or a row of one of its lists.
struct DeskEvent : tl_desk_event {
  DeskKind kind() const noexcept { return static_cast<DeskKind>(tl_desk_event::kind); }
  Side side() const noexcept { return static_cast<Side>(tl_desk_event::side); }
  bool ended() const noexcept { return tl_desk_event::ended != 0; }
  bool settled() const noexcept { return tl_desk_event::settled != 0; }
  std::optional<double> price() const noexcept { return detail::price(tl_desk_event::price); }
  // Base units.
  std::optional<double> quantity() const noexcept { return detail::number(tl_desk_event::quantity, 0); }
  std::optional<double> filled() const noexcept { return detail::number(tl_desk_event::filled, 0); }
  std::optional<double> leaves() const noexcept { return detail::number(tl_desk_event::leaves, 0); }
  std::optional<double> worst_long() const noexcept { return detail::number(tl_desk_event::worst_long, 0); }
  std::optional<double> worst_short() const noexcept { return detail::number(tl_desk_event::worst_short, 0); }
};

namespace detail {
template <typename Row, typename Flat> std::vector<Row> rows(const std::vector<Flat> &flat) {
  std::vector<Row> rows;
  rows.reserve(flat.size());
  for (const auto &row : flat) {
    rows.push_back(Row{row});
  }
  return rows;
}
} // namespace detail

// What a wait with a limit gives: an event, or why there is none.
template <typename Row> class Next {
public:
  explicit Next(tl_status status, const Row &row) noexcept : status_(status), row_(row) {}

  // Whether there is an event.
  explicit operator bool() const noexcept { return status_ == TL_OK; }
  const Row &operator*() const noexcept { return row_; }
  const Row *operator->() const noexcept { return &row_; }
  // The time has passed.
  bool timed_out() const noexcept { return status_ == TL_TIMED_OUT; }
  // stop() was called, or the tape has ended: no event comes any more, and a loop ends here.
  bool stopped() const noexcept { return status_ == TL_STOPPED; }

private:
  tl_status status_;
  Row row_;
};

// How to join a bus, or to open its tape; as it is, for tops and trades of every instrument.
struct Options {
  std::string directory;             // empty: $TOUCHLINE_DIR, else /dev/shm/touchline-<uid>
  std::string name;                  // of this reader, as `touchline top` shows it
  std::vector<std::string> symbols;  // or patterns, such as "ES*"; empty: all
  std::uint32_t events = 0;          // TL_JOIN_TOPS and others, added; 0: tops and trades
  std::uint32_t instruments_max = 0; // 0: the limit of the bus
  std::chrono::nanoseconds wait{0};  // for a bus that is not there
  Idle idle = Idle::Backoff;
  bool keep_books = true;
  bool live_only = false; // books that are not live are withheld
  bool lossless = false;
  std::string tape;                        // directory of a tape of the bus: after an overrun the reader continues with it
  std::chrono::nanoseconds tape_wait{0};   // for records of a tape that is behind the bus; 0: one second
  // Of a tape: receive times in nanoseconds since 1970, or sequences, at which it begins and ends; 0: its own begin and end.
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
  std::uint64_t from_sequence = 0;
  std::uint64_t to_sequence = 0;
};

// A side of a kept book of one instrument, copied.
template <typename Row> struct Rows {
  State state = State::Live;
  std::vector<Row> rows;
};

// What this reader has not read, exact to some tens of KiB.
struct Lag {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// A joined bus or a tape, for one thread at a time; only stop() may be called by any.
class Bus {
public:
  explicit Bus(const std::string &name, const Options &options = {})
      : bus_(opened(options, [&name](const tl_options *flat, tl_bus **bus) { return tl_join(name.c_str(), flat, bus); })) {}

  // A tape of `touchline record`, read as the bus of this name, or as the first one that it has. next() returns nothing at its end; at the end of one
  // that is recorded it waits. directory, name, live_only and lossless of the options are not used.
  static Bus open_journal(const std::string &directory, const std::string &name = {}, const Options &options = {}) {
    return Bus(opened(options, [&](const tl_options *flat, tl_bus **bus) {
      return tl_open_journal(directory.c_str(), name.empty() ? nullptr : name.c_str(), flat, bus);
    }));
  }

  // The next event; waits for it. Nothing once stop() was called or the tape has ended.
  std::optional<Event> next() {
    const auto next = take(TL_FOREVER);
    return next ? std::optional<Event>(*next) : std::nullopt;
  }
  // The next event, if there is one; never waits. On a tape it reads up to the next event or the end.
  Next<Event> poll() { return take(0); }
  // The next event; waits for so long. A loop that does something else between ends when next.stopped().
  Next<Event> next(std::chrono::nanoseconds timeout) { return take(detail::nanoseconds(timeout)); }
  // Reads until every defined book is live.
  void ready(std::chrono::nanoseconds timeout) {
    detail::checked(tl_ready(bus_.get(), detail::nanoseconds(timeout)));
  }

  std::uint32_t find(const std::string &symbol) {
    std::uint32_t instrument = 0;
    detail::checked(tl_find(bus_.get(), symbol.c_str(), &instrument));
    return instrument;
  }
  // By the venue's id: an instrument may have no symbol. Of a venue without ids the number holds until the publisher restarts: keep symbols, or indexes.
  std::uint32_t find_id(std::int64_t security_id) {
    std::uint32_t instrument = 0;
    detail::checked(tl_find_id(bus_.get(), security_id, &instrument));
    return instrument;
  }
  // "?" before it is known, and for an index that is none.
  const char *symbol(std::uint32_t instrument) {
    const char *symbol = tl_symbol(bus_.get(), instrument);
    return symbol == nullptr ? "?" : symbol;
  }
  Event top(std::uint32_t instrument) {
    Event event = detail::sized<Event>();
    detail::checked(tl_top(bus_.get(), instrument, &event));
    return event;
  }
  std::optional<Event> last_trade(std::uint32_t instrument) {
    Event event = detail::sized<Event>();
    const auto status = detail::checked(tl_last_trade(bus_.get(), instrument, &event));
    return status == TL_OK ? std::optional<Event>(event) : std::nullopt;
  }
  // The best levels of a side: direct and implied by price, or one of them alone.
  Rows<Level> book(std::uint32_t instrument, Side side, std::size_t levels, BookKind book = BookKind::Merged) {
    const auto copy = [book](tl_bus *bus, std::uint32_t of, std::uint8_t from, tl_level *rows, std::size_t room,
                             std::size_t *count, std::uint8_t *state) {
      return tl_book(bus, of, from, static_cast<std::uint8_t>(book), rows, room, count, state);
    };
    return copied<Level, tl_level>(copy, instrument, side, levels);
  }
  // The orders of a side, in priority.
  Rows<Order> orders(std::uint32_t instrument, Side side) {
    std::size_t count = 0;
    std::uint8_t state = 0;
    detail::checked(
        tl_orders(bus_.get(), instrument, static_cast<std::uint8_t>(side), nullptr, 0, &count, &state));
    return copied<Order, tl_order>(tl_orders, instrument, side, count);
  }

  // Steps of the last event of a price book.
  std::vector<Change> changes() { return steps<Change, tl_change>(tl_changes); }
  // Steps of the last event of an order book.
  std::vector<OrderChange> order_changes() { return steps<OrderChange, tl_order_change>(tl_order_changes); }
  Definition definition(std::uint32_t instrument) {
    Definition definition = detail::sized<Definition>();
    detail::checked(tl_definition_of(bus_.get(), instrument, &definition));
    return definition;
  }
  // Of every instrument, by index.
  std::vector<Definition> definitions() {
    std::vector<Definition> all;
    while (tl_symbol(bus_.get(), static_cast<std::uint32_t>(all.size())) != nullptr) {
      all.push_back(definition(static_cast<std::uint32_t>(all.size())));
    }
    return all;
  }
  // Counts since the bus was joined.
  tl_stats stats() {
    tl_stats stats = detail::sized<tl_stats>();
    detail::checked(tl_stats_of(bus_.get(), &stats));
    return stats;
  }
  Lag lag() {
    Lag lag;
    detail::checked(tl_lag(bus_.get(), &lag.messages, &lag.bytes));
    return lag;
  }

  // Ends the loop of another thread; may be called from a signal handler.
  void stop() const noexcept { tl_stop(bus_.get()); }
  // For functions of touchline.h.
  tl_bus *get() const noexcept { return bus_.get(); }

private:
  struct Close {
    void operator()(tl_bus *bus) const noexcept { tl_close(bus); }
  };
  using Owner = std::unique_ptr<tl_bus, Close>;

  explicit Bus(Owner bus) noexcept : bus_(std::move(bus)) {}

  template <typename Open> static Owner opened(const Options &options, Open open) {
    tl_options flat{};
    flat.size = sizeof flat;
    flat.events = options.events;
    flat.directory = options.directory.empty() ? nullptr : options.directory.c_str();
    flat.name = options.name.empty() ? nullptr : options.name.c_str();
    std::vector<const char *> symbols;
    for (const auto &symbol : options.symbols) {
      symbols.push_back(symbol.c_str());
    }
    flat.symbols = symbols.data();
    flat.symbol_count = static_cast<std::uint32_t>(symbols.size());
    flat.instruments_max = options.instruments_max;
    flat.wait_ns = detail::nanoseconds(options.wait);
    flat.idle = static_cast<std::uint8_t>(options.idle);
    flat.no_books = options.keep_books ? 0 : 1;
    flat.live_only = options.live_only ? 1 : 0;
    flat.lossless = options.lossless ? 1 : 0;
    flat.from_ns = options.from_ns;
    flat.to_ns = options.to_ns;
    flat.from_sequence = options.from_sequence;
    flat.to_sequence = options.to_sequence;
    flat.tape = options.tape.empty() ? nullptr : options.tape.c_str();
    flat.tape_wait_ns = detail::nanoseconds(options.tape_wait);
    tl_bus *bus = nullptr;
    detail::checked(open(&flat, &bus));
    return Owner(bus);
  }

  Next<Event> take(std::uint64_t timeout_ns) {
    Event event = detail::sized<Event>();
    const auto status = detail::checked(tl_next(bus_.get(), timeout_ns, &event));
    return Next<Event>(status, event);
  }

  template <typename Row, typename Flat, typename Copy>
  Rows<Row> copied(Copy copy, std::uint32_t instrument, Side side, std::size_t room) {
    std::vector<Flat> rows(room);
    std::size_t count = 0;
    std::uint8_t state = 0;
    detail::checked(
        copy(bus_.get(), instrument, static_cast<std::uint8_t>(side), rows.data(), room, &count, &state));
    rows.resize(count < room ? count : room);
    return {static_cast<State>(state), detail::rows<Row>(rows)};
  }

  template <typename Row, typename Flat, typename Copy> std::vector<Row> steps(Copy copy) {
    std::size_t count = 0;
    detail::checked(copy(bus_.get(), nullptr, 0, &count));
    std::vector<Flat> rows(count);
    detail::checked(copy(bus_.get(), rows.data(), count, &count));
    return detail::rows<Row>(rows);
  }

  Owner bus_;
};

// How to join a trading engine.
struct DeskOptions {
  std::string client;         // as the engine's configuration names it; empty: "desk"
  std::string directory;      // of the buses; empty: $TOUCHLINE_DIR, else /dev/shm/touchline-<uid>
  std::string ring_directory; // of the client's ring, if the engine's configuration names one
  std::string journal;        // empty: that of the engine's last start
  std::string group;          // of the client's ring, if the engine's configuration names one
};

// A joined trading engine, for one thread at a time.
class Desk {
public:
  explicit Desk(const std::string &bus, const DeskOptions &options = {}) {
    tl_desk_options flat{};
    flat.size = sizeof flat;
    flat.client = text(options.client);
    flat.directory = text(options.directory);
    flat.ring_directory = text(options.ring_directory);
    flat.journal = text(options.journal);
    flat.group = text(options.group);
    tl_desk *desk = nullptr;
    detail::checked(tl_desk_join(bus.c_str(), &flat, &desk));
    desk_.reset(desk);
  }

  // Sends a parent order, and returns its name when the engine has accepted it; status() of the error of a refusal is
  // TL_ERROR_REFUSED. Without an answer it is TL_ERROR_NO_ANSWER: the order may be executed, and parent() of the error is its name, also
  // if the library has made it. The size is set here.
  std::string send(tl_parent parent) {
    char id[TL_TEXT] = {};
    parent.size = sizeof parent;
    const auto status = tl_desk_send(desk_.get(), &parent, &id);
    if (status < 0) {
      throw Error(status, id);
    }
    return id;
  }
  // Ends the loop of another thread; may be called from a signal handler.
  void stop() const noexcept { tl_desk_stop(desk_.get()); }
  // Ends a parent and cancels its open orders.
  void cancel(const std::string &parent) { detail::checked(tl_desk_cancel(desk_.get(), parent.c_str())); }
  // Sets the kill switch, if need be without the ring.
  void kill() { detail::checked(tl_desk_kill(desk_.get())); }

  // The next event; waits for it. Nothing once stop() was called.
  std::optional<DeskEvent> next() {
    const auto next = take(TL_FOREVER);
    return next ? std::optional<DeskEvent>(*next) : std::nullopt;
  }
  // The next event, if there is one; never waits.
  Next<DeskEvent> poll() { return take(0); }
  // The next event; waits for so long. A loop that does something else between ends when next.stopped().
  Next<DeskEvent> next(std::chrono::nanoseconds timeout) { return take(detail::nanoseconds(timeout)); }
  // The state of a parent, as an event; nothing if it is not known, or not any more.
  std::optional<DeskEvent> parent(const std::string &name) {
    DeskEvent event = detail::sized<DeskEvent>();
    const auto status = detail::checked(tl_desk_parent(desk_.get(), name.c_str(), &event));
    return status == TL_OK ? std::optional<DeskEvent>(event) : std::nullopt;
  }
  // The position of a pair in base units; nothing if the engine has none of it.
  std::optional<std::int64_t> position(const std::string &pair) {
    std::int64_t units = 0;
    const auto status = detail::checked(tl_desk_position(desk_.get(), pair.c_str(), &units));
    return status == TL_OK ? std::optional<std::int64_t>(units) : std::nullopt;
  }

  // Parents that work, and the last 50 that have ended, in order of arrival.
  std::vector<DeskEvent> parents() { return list(TL_DESK_PARENT); }
  // Orders at banks that may still be filled.
  std::vector<DeskEvent> orders() { return list(TL_DESK_ORDER); }
  // The last 50 fills, busts and corrections.
  std::vector<DeskEvent> fills() { return list(TL_DESK_FILL); }
  // Positions by pair.
  std::vector<DeskEvent> positions() { return list(TL_DESK_POSITION); }
  // The last 50 alarms.
  std::vector<DeskEvent> alarms() { return list(TL_DESK_ALARM); }

private:
  static const char *text(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

  Next<DeskEvent> take(std::uint64_t timeout_ns) {
    DeskEvent event = detail::sized<DeskEvent>();
    const auto status = detail::checked(tl_desk_next(desk_.get(), timeout_ns, &event));
    return Next<DeskEvent>(status, event);
  }

  std::vector<DeskEvent> list(std::uint8_t kind) {
    std::size_t count = 0;
    detail::checked(tl_desk_list(desk_.get(), kind, nullptr, 0, &count));
    std::vector<tl_desk_event> rows(count);
    if (count > 0) {
      rows.front().size = sizeof(tl_desk_event);
      detail::checked(tl_desk_list(desk_.get(), kind, rows.data(), count, &count));
    }
    return detail::rows<DeskEvent>(rows);
  }

  struct Close {
    void operator()(tl_desk *desk) const noexcept { tl_desk_close(desk); }
  };
  std::unique_ptr<tl_desk, Close> desk_;
};

} // namespace touchline

#endif
