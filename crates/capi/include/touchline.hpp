// Client of a Touchline bus for C++17: touchline.h with owners and exceptions.
#ifndef TOUCHLINE_HPP
#define TOUCHLINE_HPP

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

// A call has failed; what() is the sentence that says what to do.
class Error : public std::runtime_error {
public:
  explicit Error(tl_status status) : std::runtime_error(tl_error()), status_(status) {}

  // TL_ERROR_NO_BUS and others.
  tl_status status() const noexcept { return status_; }
  // Its word: "no_bus".
  const char *kind() const noexcept { return tl_error_name(status_); }

private:
  tl_status status_;
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

inline tl_event event() noexcept {
  tl_event event{};
  event.size = sizeof event;
  return event;
}
} // namespace detail

// How to join a bus; as it is, for tops and trades of every instrument.
struct Options {
  std::string directory;             // empty: $TOUCHLINE_DIR, else /dev/shm/touchline-<uid>
  std::string name;                  // of this reader, as `touchline top` shows it
  std::vector<std::string> symbols;  // or patterns, such as "ES*"; empty: all
  std::uint32_t events = 0;          // TL_JOIN_TOPS and others, added; 0: tops and trades
  std::uint32_t instruments_max = 0; // 0: the limit of the bus
  std::chrono::nanoseconds wait{0};  // for a bus that is not there
  std::uint8_t idle = TL_IDLE_BACKOFF;
  bool keep_books = true;
  bool live_only = false;
  bool lossless = false;
};

// A kept book of one instrument, copied.
template <typename Row> struct Side {
  std::uint8_t state = 0; // TL_STATE_LIVE and others
  std::vector<Row> rows;
};

// What this reader has not read, exact to some tens of KiB.
struct Lag {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

// A joined bus, for one thread at a time; only stop() may be called by any.
class Bus {
public:
  explicit Bus(const std::string &name, const Options &options = {}) {
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
    flat.idle = options.idle;
    flat.no_books = options.keep_books ? 0 : 1;
    flat.live_only = options.live_only ? 1 : 0;
    flat.lossless = options.lossless ? 1 : 0;
    tl_bus *bus = nullptr;
    detail::checked(tl_join(name.c_str(), &flat, &bus));
    bus_.reset(bus);
  }

  // The next event; waits for it. Nothing once stop() was called.
  std::optional<tl_event> next() { return take(TL_FOREVER); }
  // The next event, if there is one; never waits.
  std::optional<tl_event> poll() { return take(0); }
  // The next event; waits for so long. Nothing also if the time has passed.
  std::optional<tl_event> next(std::chrono::nanoseconds timeout) {
    return take(detail::nanoseconds(timeout));
  }
  // Reads until every defined book is live.
  void ready(std::chrono::nanoseconds timeout) {
    detail::checked(tl_ready(bus_.get(), detail::nanoseconds(timeout)));
  }

  std::uint32_t find(const std::string &symbol) {
    std::uint32_t instrument = 0;
    detail::checked(tl_find(bus_.get(), symbol.c_str(), &instrument));
    return instrument;
  }
  // "?" before it is known, and for an index that is none.
  const char *symbol(std::uint32_t instrument) {
    const char *symbol = tl_symbol(bus_.get(), instrument);
    return symbol == nullptr ? "?" : symbol;
  }
  tl_event top(std::uint32_t instrument) {
    tl_event event = detail::event();
    detail::checked(tl_top(bus_.get(), instrument, &event));
    return event;
  }
  std::optional<tl_event> last_trade(std::uint32_t instrument) {
    tl_event event = detail::event();
    const auto status = detail::checked(tl_last_trade(bus_.get(), instrument, &event));
    return status == TL_OK ? std::optional<tl_event>(event) : std::nullopt;
  }
  // The best levels of a side, TL_SIDE_BID or TL_SIDE_ASK: direct and implied by price, or one of them alone.
  Side<tl_level> book(std::uint32_t instrument, std::uint8_t side, std::size_t levels,
                      std::uint8_t book = TL_BOOK_MERGED) {
    const auto copy = [book](tl_bus *bus, std::uint32_t of, std::uint8_t from, tl_level *rows, std::size_t room,
                             std::size_t *count, std::uint8_t *state) {
      return tl_book(bus, of, from, book, rows, room, count, state);
    };
    return copied<tl_level>(copy, instrument, side, levels);
  }
  // The orders of a side, in priority.
  Side<tl_order> orders(std::uint32_t instrument, std::uint8_t side) {
    std::size_t count = 0;
    std::uint8_t state = 0;
    detail::checked(tl_orders(bus_.get(), instrument, side, nullptr, 0, &count, &state));
    return copied<tl_order>(tl_orders, instrument, side, count);
  }

  // Steps of the last TL_EVENT_BOOK.
  std::vector<tl_change> changes() { return steps<tl_change>(tl_changes); }
  // Steps of the last TL_EVENT_ORDERS.
  std::vector<tl_order_change> order_changes() { return steps<tl_order_change>(tl_order_changes); }
  tl_definition definition(std::uint32_t instrument) {
    tl_definition definition{};
    definition.size = sizeof definition;
    detail::checked(tl_definition_of(bus_.get(), instrument, &definition));
    return definition;
  }
  // Of every instrument, by index.
  std::vector<tl_definition> definitions() {
    std::vector<tl_definition> all;
    while (tl_symbol(bus_.get(), static_cast<std::uint32_t>(all.size())) != nullptr) {
      all.push_back(definition(static_cast<std::uint32_t>(all.size())));
    }
    return all;
  }
  // Counts since the bus was joined.
  tl_stats stats() {
    tl_stats stats{};
    stats.size = sizeof stats;
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
  std::optional<tl_event> take(std::uint64_t timeout_ns) {
    tl_event event = detail::event();
    const auto status = detail::checked(tl_next(bus_.get(), timeout_ns, &event));
    return status == TL_OK ? std::optional<tl_event>(event) : std::nullopt;
  }

  template <typename Row, typename Copy>
  Side<Row> copied(Copy copy, std::uint32_t instrument, std::uint8_t side, std::size_t room) {
    Side<Row> made;
    made.rows.resize(room);
    std::size_t count = 0;
    detail::checked(copy(bus_.get(), instrument, side, made.rows.data(), room, &count, &made.state));
    made.rows.resize(count < room ? count : room);
    return made;
  }

  template <typename Row, typename Copy> std::vector<Row> steps(Copy copy) {
    std::size_t count = 0;
    detail::checked(copy(bus_.get(), nullptr, 0, &count));
    std::vector<Row> rows(count);
    detail::checked(copy(bus_.get(), rows.data(), count, &count));
    return rows;
  }

  struct Close {
    void operator()(tl_bus *bus) const noexcept { tl_close(bus); }
  };
  std::unique_ptr<tl_bus, Close> bus_;
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
  // TL_ERROR_REFUSED. The size is set here.
  std::string send(tl_parent parent) {
    char id[TL_TEXT] = {};
    parent.size = sizeof parent;
    detail::checked(tl_desk_send(desk_.get(), &parent, &id));
    return id;
  }
  // Ends the loop of another thread; may be called from a signal handler.
  void stop() const noexcept { tl_desk_stop(desk_.get()); }
  // Ends a parent and cancels its open orders.
  void cancel(const std::string &parent) { detail::checked(tl_desk_cancel(desk_.get(), parent.c_str())); }
  // Sets the kill switch, if need be without the ring.
  void kill() { detail::checked(tl_desk_kill(desk_.get())); }

  // The next event; waits for it.
  std::optional<tl_desk_event> next() { return take(TL_FOREVER); }
  // The next event; waits for so long.
  std::optional<tl_desk_event> next(std::chrono::nanoseconds timeout) {
    return take(detail::nanoseconds(timeout));
  }
  // The state of a parent, as an event; nothing if it is not known, or not any more.
  std::optional<tl_desk_event> parent(const std::string &name) {
    tl_desk_event event{};
    event.size = sizeof event;
    const auto status = detail::checked(tl_desk_parent(desk_.get(), name.c_str(), &event));
    return status == TL_OK ? std::optional<tl_desk_event>(event) : std::nullopt;
  }
  // The position of a pair in base units; nothing if the engine has none of it.
  std::optional<std::int64_t> position(const std::string &pair) {
    std::int64_t units = 0;
    const auto status = detail::checked(tl_desk_position(desk_.get(), pair.c_str(), &units));
    return status == TL_OK ? std::optional<std::int64_t>(units) : std::nullopt;
  }

  // Parents that work, and the last 50 that have ended, in order of arrival.
  std::vector<tl_desk_event> parents() { return list(TL_DESK_PARENT); }
  // Orders at banks that may still be filled.
  std::vector<tl_desk_event> orders() { return list(TL_DESK_ORDER); }
  // The last 50 fills, busts and corrections.
  std::vector<tl_desk_event> fills() { return list(TL_DESK_FILL); }
  // Positions by pair.
  std::vector<tl_desk_event> positions() { return list(TL_DESK_POSITION); }
  // The last 50 alarms.
  std::vector<tl_desk_event> alarms() { return list(TL_DESK_ALARM); }

private:
  static const char *text(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

  std::optional<tl_desk_event> take(std::uint64_t timeout_ns) {
    tl_desk_event event{};
    event.size = sizeof event;
    const auto status = detail::checked(tl_desk_next(desk_.get(), timeout_ns, &event));
    return status == TL_OK ? std::optional<tl_desk_event>(event) : std::nullopt;
  }

  std::vector<tl_desk_event> list(std::uint8_t kind) {
    std::size_t count = 0;
    detail::checked(tl_desk_list(desk_.get(), kind, nullptr, 0, &count));
    std::vector<tl_desk_event> rows(count);
    if (count > 0) {
      rows.front().size = sizeof(tl_desk_event);
      detail::checked(tl_desk_list(desk_.get(), kind, rows.data(), count, &count));
    }
    return rows;
  }

  struct Close {
    void operator()(tl_desk *desk) const noexcept { tl_desk_close(desk); }
  };
  std::unique_ptr<tl_desk, Close> desk_;
};

} // namespace touchline

#endif
