// Says each event as a line, as the readers in the other languages do.
#include <iostream>
#include <touchline.hpp>

namespace {

struct Number {
  std::int64_t value;
};

std::ostream &operator<<(std::ostream &out, Number number) {
  return number.value == TL_NONE ? out << '-' : out << number.value;
}

std::ostream &operator<<(std::ostream &out, const tl_event &top) {
  return out << tl_state_name(top.state) << ' ' << Number{top.bid} << ' ' << Number{top.bid_size} << ' '
             << Number{top.ask} << ' ' << Number{top.ask_size};
}

void caught_up(touchline::Bus &bus, std::uint64_t instruments) {
  for (std::uint32_t instrument = 0; instrument < instruments; instrument++) {
    std::cout << ": kept " << bus.symbol(instrument) << ' ' << bus.top(instrument) << '\n';
  }
  try {
    bus.find("ESU5");
  } catch (const touchline::Error &error) {
    std::cout << ": error " << error.kind() << ' ' << error.what() << std::endl;
  }
}

void say(touchline::Bus &bus, const tl_event &event) {
  std::cout << ": " << tl_event_name(event.kind) << ' ';
  if (event.kind == TL_EVENT_CONNECTION) {
    std::cout << tl_connection_name(event.detail) << std::endl;
    if (event.detail == TL_CONNECTION_CAUGHT_UP) {
      caught_up(bus, event.id);
    }
    return;
  }
  std::cout << bus.symbol(event.instrument);
  switch (event.kind) {
  case TL_EVENT_TOP:
    std::cout << ' ' << event;
    break;
  case TL_EVENT_BOOK:
  case TL_EVENT_STATE:
    std::cout << ' ' << tl_state_name(event.state);
    break;
  case TL_EVENT_TRADE:
    std::cout << ' ' << Number{event.price} << ' ' << Number{event.quantity} << ' '
              << tl_aggressor_name(event.detail);
    break;
  default:
    break;
  }
  std::cout << std::endl;
}

} // namespace

int main(int count, char **words) {
  if (count != 3) {
    return 2;
  }
  try {
    touchline::Options options;
    options.directory = words[2];
    options.events = TL_JOIN_TOPS | TL_JOIN_TRADES | TL_JOIN_BOOKS;
    touchline::Bus bus(words[1], options);
    while (const auto event = bus.next()) {
      say(bus, *event);
    }
  } catch (const touchline::Error &error) {
    std::cout << ": error " << error.kind() << ' ' << error.what() << std::endl;
    return 1;
  }
}
