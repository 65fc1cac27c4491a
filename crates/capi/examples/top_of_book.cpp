// Best bid and ask of each instrument of a bus, after each venue packet: top_of_book BUS.
#include <csignal>
#include <iomanip>
#include <iostream>
#include <touchline.hpp>

namespace {

const touchline::Bus *joined = nullptr;

void stop(int) { joined->stop(); }

void act(touchline::Bus &bus, std::vector<touchline::Event> &tops) {
  for (const auto &top : tops) {
    if (top.state() && top.bid() && top.ask()) {
      std::cout << bus.symbol(top.instrument) << ' ' << name(*top.state()) << ' ' << *top.bid() << " | " << *top.ask()
                << '\n';
    }
  }
  tops.clear();
}

} // namespace

int main(int count, char **words) {
  try {
    touchline::Options options;
    options.events = TL_JOIN_TOPS;
    touchline::Bus bus(count > 1 ? words[1] : "demo", options);
    joined = &bus;
    std::signal(SIGINT, stop);
    std::cout << std::setprecision(12);
    std::vector<touchline::Event> tops;
    while (const auto event = bus.next()) {
      if (event->kind() == touchline::EventKind::Top) {
        tops.push_back(*event);
      }
      // What the bus has kept belongs to no packet: it ends with an event of the connection.
      if (event->end_of_batch() || event->kind() == touchline::EventKind::Connection) {
        act(bus, tops);
      }
    }
    std::signal(SIGINT, SIG_DFL);
  } catch (const touchline::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
