// Best bid and ask of each instrument of a bus: top_of_book BUS.
#include <iomanip>
#include <iostream>
#include <touchline.hpp>

int main(int count, char **words) {
  try {
    touchline::Options options;
    options.events = TL_JOIN_TOPS;
    touchline::Bus bus(count > 1 ? words[1] : "demo", options);
    std::cout << std::setprecision(12);
    while (const auto event = bus.next()) {
      if (event->kind == TL_EVENT_TOP && event->bid != TL_NONE && event->ask != TL_NONE) {
        std::cout << bus.symbol(event->instrument) << ' ' << tl_state_name(event->state) << ' '
                  << static_cast<double>(event->bid) / 1e9 << " | " << static_cast<double>(event->ask) / 1e9 << '\n';
      }
    }
  } catch (const touchline::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
