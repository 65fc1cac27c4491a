// Counts the trades of a tape with calls that never wait, in C and in C++: polls TAPE.
#include <iostream>
#include <touchline.hpp>

int main(int count, char **words) {
  if (count != 2) {
    return 2;
  }
  touchline::Options options;
  options.events = TL_JOIN_TRADES;
  auto tape = touchline::Bus::open_journal(words[1], {}, options);
  int trades = 0;
  tl_event event = touchline::detail::sized<tl_event>();
  while (tl_next(tape.get(), 0, &event) == TL_OK) {
    trades += event.kind == TL_EVENT_TRADE;
  }
  auto again = touchline::Bus::open_journal(words[1], {}, options);
  auto next = again.poll();
  for (; next; next = again.poll()) {
    trades += next->kind() == touchline::EventKind::Trade;
  }
  // It may be one that is recorded again, for as long as tape_wait.
  next = again.next(std::chrono::minutes(1));
  std::cout << trades << " trades, " << (next.stopped() ? "to the end" : "not to the end") << std::endl;
}
