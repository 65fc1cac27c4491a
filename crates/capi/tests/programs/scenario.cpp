// Says each event as a line, as the readers in the other languages do.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <touchline.hpp>

namespace {

const touchline::Bus *stopped = nullptr;

void stop(int) { stopped->stop(); }

struct Number {
  std::int64_t value;
};

std::ostream &operator<<(std::ostream &out, Number number) {
  return number.value == TL_NONE ? out << '-' : out << number.value;
}

std::ostream &operator<<(std::ostream &out, const touchline::Event &event) {
  const tl_event &top = event;
  const auto book = [](std::uint8_t book) { return book == TL_NO_BOOK ? "-" : tl_book_name(book); };
  return out << tl_state_name(top.state) << ' ' << Number{top.bid} << ' ' << Number{top.bid_size} << ' '
             << book(top.bid_book) << ' ' << Number{top.ask} << ' ' << Number{top.ask_size} << ' '
             << book(top.ask_book);
}

void caught_up(touchline::Bus &bus) {
  for (const auto &of : bus.definitions()) {
    std::cout << ": kept " << of.symbol << ' ' << bus.top(bus.find_id(of.security_id)) << '\n';
  }
  try {
    bus.find("ESU5");
  } catch (const touchline::Error &error) {
    std::cout << ": error " << error.kind() << ' ' << error.what() << std::endl;
  }
}

void say_lag(touchline::Bus &bus) {
  const auto lag = bus.lag();
  std::cout << ": lag " << (lag.bytes > lag.messages ? "behind" : "none") << std::endl;
}

void say_stopped(touchline::Bus &bus) {
  const auto stats = bus.stats();
  std::cout << ": stopped overruns " << stats.overruns << " lost " << (stats.lost > 0 ? "yes" : "no") << " restarts "
            << stats.restarts << " unknown " << stats.unknown << " undefined " << stats.undefined << " inconsistent "
            << stats.inconsistent << std::endl;
}

// The steps of a whole book begin with those that empty it.
template <typename Step, typename Action>
void check_steps(const std::vector<Step> &steps, Action clear, std::ptrdiff_t lists) {
  const auto clears = [clear](const Step &step) { return step.action() == clear; };
  if (std::count_if(steps.begin(), steps.end(), clears) != lists) {
    throw std::logic_error("a book without the steps that empty it");
  }
}

void say(touchline::Bus &bus, const touchline::Event &said) {
  const tl_event &event = said;
  std::cout << ": " << tl_event_name(event.kind) << ' ';
  if (event.kind == TL_EVENT_CONNECTION) {
    std::cout << tl_connection_name(event.detail) << std::endl;
    if (event.detail == TL_CONNECTION_CAUGHT_UP) {
      caught_up(bus);
    }
    return;
  }
  std::cout << (event.kind == TL_EVENT_CHANNEL ? "-" : bus.symbol(event.instrument));
  switch (event.kind) {
  case TL_EVENT_TOP:
    std::cout << ' ' << said;
    break;
  case TL_EVENT_BOOK:
    check_steps(bus.changes(), touchline::LevelAction::Clear, event.whole ? 4 : 0);
    // The merged book is both lists.
    for (const auto side : {touchline::Side::Bid, touchline::Side::Ask}) {
      double all = 0, parts = 0;
      for (const auto &level : bus.book(event.instrument, side, 10).rows) {
        all += level.quantity().value();
        parts += level.direct().value() + level.implied().value();
      }
      for (const auto of : {touchline::BookKind::Direct, touchline::BookKind::Implied}) {
        for (const auto &level : bus.book(event.instrument, side, 10, of).rows) {
          all -= level.quantity().value();
          parts -= (of == touchline::BookKind::Direct ? level.direct() : level.implied()).value();
        }
      }
      if (all != 0 || parts != 0) {
        throw std::logic_error("a merged book that is not both");
      }
    }
    std::cout << ' ' << tl_state_name(event.state);
    break;
  case TL_EVENT_ORDERS:
    check_steps(bus.order_changes(), touchline::OrderAction::Clear, event.whole ? 2 : 0);
    std::cout << ' ' << tl_state_name(event.state);
    break;
  case TL_EVENT_STATE:
    std::cout << ' ' << tl_state_name(event.state);
    break;
  case TL_EVENT_TRADE:
    std::cout << ' ' << Number{event.price} << ' ' << Number{event.quantity} << ' '
              << name(said.aggressor()) << ' ' << name(said.action());
    break;
  case TL_EVENT_STATISTIC:
    std::cout << ' ' << name(said.statistic()) << ' ' << Number{event.price} << ' ' << Number{event.quantity} << ' '
              << name(said.action());
    break;
  case TL_EVENT_DEFINED: {
    const auto of = bus.definition(event.instrument);
    std::cout << ' ' << of.security_id << ' ' << of.venue << ' ' << of.currency << ' ' << of.maturity << ' ' << of.tl_definition::tick;
    break;
  }
  default:
    break;
  }
  std::cout << std::endl;
  if (event.kind == TL_EVENT_TRADE && event.quantity == 1) {
    say_lag(bus);
  }
}

touchline::Bus joined(const std::string &mode, const std::string &name, const std::string &directory) {
  touchline::Options options;
  options.directory = directory;
  options.events = TL_JOIN_TOPS | TL_JOIN_TRADES | TL_JOIN_BOOKS | TL_JOIN_STATISTICS;
  if (mode == "wait") {
    options.wait = std::chrono::minutes(1);
    std::cout << ": waiting" << std::endl;
  } else if (mode == "books" || mode == "tape-books") {
    options.events = TL_JOIN_BOOKS | TL_JOIN_ORDERS;
  } else if (mode == "lossless") {
    options.name = "recorder";
    options.lossless = true;
  } else if (mode == "with-tape") {
    options.tape = directory + ".tape";
    options.tape_wait = std::chrono::minutes(1);
  } else if (mode == "from-tape") {
    options.tape = directory + ".tape";
    options.tape_wait = std::chrono::minutes(1);
    options.from_sequence = 1;
  }
  if (mode.rfind("tape", 0) == 0) {
    return touchline::Bus::open_journal(directory + ".tape", mode == "tape-other" ? "other" : name, options);
  }
  return touchline::Bus(name, options);
}

} // namespace

int main(int count, char **words) {
  if (count != 3) {
    return 2;
  }
  const char *given = std::getenv("TOUCHLINE_TEST_MODE");
  const std::string mode = given == nullptr ? "" : given;
  try {
    touchline::Bus bus = joined(mode, words[1], words[2]);
    if (mode == "ready") {
      bus.ready(std::chrono::seconds(2));
      std::cout << ": ready" << std::endl;
    }
    stopped = &bus;
    std::signal(SIGINT, stop);
    while (const auto event = bus.next()) {
      say(bus, *event);
    }
    say_stopped(bus);
    std::signal(SIGINT, SIG_DFL);
  } catch (const touchline::Error &error) {
    std::cout << ": error " << error.kind() << ' ' << error.what() << std::endl;
    return 1;
  }
}
