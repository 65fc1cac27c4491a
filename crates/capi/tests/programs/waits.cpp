// Checks what waits and values are in C++, on a bus with one live book and a trade of 3: waits BUS DIRECTORY.
#include <cmath>
#include <iostream>
#include <thread>
#include <touchline.hpp>

namespace {

void require(bool holds, const char *what) {
  if (!holds) {
    throw std::logic_error(what);
  }
}

void check_values(touchline::Bus &bus) {
  const auto top = bus.top(0);
  require(top.kind() == touchline::EventKind::Top && top.state() == touchline::State::Live, "a live top");
  require(top.bid() == 4500.25 && top.bid_size() == 12.0, "the bid");
  require(top.ask() == 4500.5 && top.ask_size() == 7.0, "the ask");
  require(top.bid_book() == touchline::BookKind::Direct, "the book of the bid");
  require(!top.price() && !top.quantity(), "a top has no price of a trade");
  const auto trade = bus.last_trade(0);
  require(trade && trade->price() == 4500.5 && trade->quantity() == 3.0, "the trade");
  require(!trade->bid() && !trade->state() && trade->aggressor() == touchline::Aggressor::Sell, "no top");
  const auto bids = bus.book(0, touchline::Side::Bid, 10);
  require(bids.state == touchline::State::Live && bids.rows.size() == 1, "a book of one bid");
  require(bids.rows[0].price() == 4500.25 && bids.rows[0].orders() == 1u && bids.rows[0].known(), "the level");
  const auto of = bus.definition(0);
  require(of.multiplier() == 50.0 && of.tick() == 0.25 && of.quantity_max() == 3000.0, "the definition");
  require(std::string(name(touchline::State::Live)) == "live", "a word");
  // The nearest numbers, as in the other languages.
  tl_order tenths{};
  tenths.quantity = 3;
  tenths.exponent = -1;
  require(touchline::Order{tenths}.quantity() == 0.3, "three tenths");
  tenths.quantity = 57;
  tenths.exponent = -2;
  require(touchline::Order{tenths}.quantity() == 0.57, "57 hundredths");
}

} // namespace

int main(int count, char **words) {
  require(count == 3, "two arguments");
  touchline::Options options;
  options.directory = words[2];
  touchline::Bus bus(words[1], options);
  bus.ready(std::chrono::seconds(10));
  check_values(bus);
  // Nothing comes: the time passes, and that is no end.
  auto next = bus.next(std::chrono::milliseconds(1));
  while (next) {
    next = bus.next(std::chrono::milliseconds(1));
  }
  require(next.timed_out() && !next.stopped(), "the time has passed");
  require(!bus.poll() && bus.poll().timed_out(), "nothing is there");
  std::thread other([&bus] { bus.stop(); });
  next = bus.next(std::chrono::minutes(1));
  other.join();
  require(!next && next.stopped() && !next.timed_out(), "it was stopped");
  // A loop with a timer, which reads on, is told each time.
  require(bus.next(std::chrono::nanoseconds(0)).stopped() && bus.poll().stopped() && !bus.next(), "it stays stopped");
  std::cout << "all of it holds\n";
}
