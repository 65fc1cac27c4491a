// Buys 1,000 EUR/USD through the trading engine, and prints what becomes of the order.
#include <cstring>
#include <iostream>
#include <touchline.hpp>

int main() {
  try {
    touchline::Desk desk("fx-run");
    tl_parent order{};
    order.side = TL_SIDE_BID;
    order.quantity = 1000;
    order.pair = "EUR/USD";
    const std::string id = desk.send(order);
    while (const auto event = desk.next()) {
      if (id != event->parent) {
        continue;
      }
      if (event->kind() == touchline::DeskKind::Fill) {
        std::cout << "fill " << event->quantity().value() << " at " << event->price().value() << std::endl;
      } else if (event->kind() == touchline::DeskKind::Parent) {
        std::cout << "parent " << event->state << std::endl;
      }
      if (event->settled()) {
        break;
      }
    }
    for (const char *pair : {"EUR/USD", "USD/JPY"}) {
      if (const auto units = desk.position(pair)) {
        std::cout << "position " << pair << ' ' << *units << std::endl;
      }
    }
  } catch (const touchline::Error &error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
