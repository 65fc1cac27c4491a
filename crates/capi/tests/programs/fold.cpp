// Keeps books of its own from the steps of its events alone, and compares them with the library's at each end of a packet.
#include <csignal>
#include <iostream>
#include <map>
#include <touchline.hpp>
#include <tuple>

namespace {

using touchline::BookKind;
using touchline::Side;

const touchline::Bus *stopped = nullptr;

void stop(int) { stopped->stop(); }

// Books of one instrument.
struct Books {
  std::map<std::pair<BookKind, Side>, std::vector<touchline::Change>> levels;
  std::map<std::uint64_t, touchline::OrderChange> orders;
};

struct Fold {
  touchline::Bus &bus;
  std::map<std::uint32_t, Books> all = {};
  unsigned long checked = 0, cleared = 0;

  void hold(bool holds, const char *what, std::uint32_t instrument) {
    if (!holds) {
      throw std::logic_error(std::string(what) + " of " + bus.symbol(instrument));
    }
  }

  void levels(std::uint32_t instrument) {
    for (const auto &step : bus.changes()) {
      auto &list = all[instrument].levels[{step.book(), step.side()}];
      const auto at = list.begin() + step.index;
      switch (step.action()) {
      case touchline::LevelAction::Insert:
        hold(step.index <= list.size(), "an inserted level", instrument);
        list.insert(at, step);
        break;
      case touchline::LevelAction::Replace:
        hold(step.index < list.size(), "a replaced level", instrument);
        *at = step;
        break;
      case touchline::LevelAction::Remove:
        hold(step.index < list.size(), "a removed level", instrument);
        list.erase(at);
        break;
      case touchline::LevelAction::Clear:
        cleared += list.empty() ? 0 : 1;
        list.clear();
      }
    }
  }

  void orders(std::uint32_t instrument) {
    auto &own = all[instrument].orders;
    for (const auto &step : bus.order_changes()) {
      switch (step.action()) {
      case touchline::OrderAction::New:
      case touchline::OrderAction::Update:
        own[step.order_id] = step;
        break;
      case touchline::OrderAction::Delete:
        hold(own.erase(step.order_id) == 1, "a deleted order", instrument);
        break;
      case touchline::OrderAction::Clear:
        for (auto at = own.begin(); at != own.end();) {
          at = at->second.side() == step.side() ? own.erase(at) : std::next(at);
        }
        cleared++;
      }
    }
  }

  // The best price is the first level of the merged book, unless a level that must exist is not known.
  void check_best(std::uint32_t instrument, Side side) {
    const auto top = bus.top(instrument);
    const auto merged = bus.book(instrument, side, 1).rows;
    bool is_known = !merged.empty();
    for (const auto book : {BookKind::Direct, BookKind::Implied}) {
      const auto first = bus.book(instrument, side, 1, book).rows;
      is_known = is_known && (first.empty() || first[0].known());
    }
    const auto price = side == Side::Bid ? top.bid() : top.ask();
    const auto size = side == Side::Bid ? top.bid_size() : top.ask_size();
    hold(price.has_value() == is_known, "whether there is a best price", instrument);
    hold(!is_known || (price == merged[0].price() && size == merged[0].quantity()), "the best price", instrument);
  }

  void check(std::uint32_t instrument) {
    auto &own = all[instrument];
    std::size_t orders = 0;
    for (const auto side : {Side::Bid, Side::Ask}) {
      for (const auto book : {BookKind::Direct, BookKind::Implied}) {
        const auto kept = bus.book(instrument, side, 256, book).rows;
        const auto &list = own.levels[{book, side}];
        hold(kept.size() == list.size(), "the number of levels", instrument);
        for (std::size_t at = 0; at < kept.size(); at++) {
          const auto &ours = list[at];
          const auto &theirs = kept[at];
          hold(std::tuple(ours.price(), ours.quantity(), ours.orders(), ours.known()) ==
                   std::tuple(theirs.price(), theirs.quantity(), theirs.orders(), theirs.known()),
               "a level", instrument);
        }
      }
      for (const auto &kept : bus.orders(instrument, side).rows) {
        const auto found = own.orders.find(kept.order_id);
        hold(found != own.orders.end() && found->second.side() == side, "an order", instrument);
        const auto &ours = found->second;
        hold(std::tuple(ours.price(), ours.quantity(), ours.priority) ==
                 std::tuple(kept.price(), kept.quantity(), kept.priority),
             "an order's price", instrument);
        orders++;
      }
      check_best(instrument, side);
    }
    hold(orders == own.orders.size(), "the number of orders", instrument);
    checked++;
  }

  void check_all() {
    for (std::uint32_t at = 0; tl_symbol(bus.get(), at) != nullptr; at++) {
      check(at);
    }
  }

  void take(const touchline::Event &event) {
    if (event.kind() == touchline::EventKind::Book) {
      levels(event.instrument);
    } else if (event.kind() == touchline::EventKind::Orders) {
      orders(event.instrument);
    }
    if (event.end_of_batch()) {
      check_all();
    }
    if (event.kind() == touchline::EventKind::Connection) {
      check_all();
      std::cout << name(event.connection()) << std::endl;
    }
  }
};

} // namespace

int main(int count, char **words) {
  if (count < 3) {
    return 2;
  }
  try {
    touchline::Options options;
    options.directory = words[2];
    options.events = TL_JOIN_TOPS | TL_JOIN_BOOKS | TL_JOIN_ORDERS;
    options.symbols.assign(words + 3, words + count);
    touchline::Bus bus(words[1], options);
    stopped = &bus;
    std::signal(SIGINT, stop);
    Fold fold{bus};
    while (const auto event = bus.next()) {
      fold.take(*event);
    }
    std::cout << "end checked " << fold.checked << " cleared " << fold.cleared << " overruns " << bus.stats().overruns
              << std::endl;
    std::signal(SIGINT, SIG_DFL);
  } catch (const std::exception &error) {
    std::cout << "wrong: " << error.what() << std::endl;
    return 1;
  }
}
