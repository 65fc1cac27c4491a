// Sends an order that the library names to an engine that does not answer, and prints the name that the error has.
#include <cstring>
#include <iostream>
#include <touchline.hpp>

namespace {

// The error of an order that is not accepted.
touchline::Error failed(touchline::Desk &desk, const tl_parent &order) {
  try {
    desk.send(order);
  } catch (const touchline::Error &error) {
    return error;
  }
  throw std::logic_error("the order is accepted");
}

} // namespace

int main() {
  touchline::Desk desk("fx-run");
  tl_parent order{};
  order.side = TL_SIDE_BID;
  order.quantity = 1000;
  order.pair = "EUR/USD";
  const auto unanswered = failed(desk, order);
  const std::string said = unanswered.what();
  const std::string end = std::string("; the order is ") + unanswered.parent();
  if (unanswered.status() != TL_ERROR_NO_ANSWER || std::strlen(unanswered.parent()) == 0 || said.find(end) == std::string::npos) {
    std::cerr << unanswered.kind() << ": " << said << std::endl;
    return 1;
  }
  std::cout << unanswered.parent() << std::endl;
  // Nothing was sent, so there is no name.
  order.tif = "whenever";
  const auto wrong = failed(desk, order);
  return wrong.status() == TL_ERROR_OPTION && std::strlen(wrong.parent()) == 0 ? 0 : 1;
}
