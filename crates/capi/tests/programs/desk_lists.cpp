// Prints the lists of a desk.
#include "desk_row.h"
#include <touchline.hpp>

int main() {
  touchline::Desk desk("fx-run");
  for (const auto &rows : {desk.parents(), desk.orders(), desk.fills(), desk.positions(), desk.alarms()}) {
    for (const auto &row : rows) {
      print_row(&row);
    }
  }
  // Stopped is not the end of a time.
  desk.stop();
  const auto next = desk.next(std::chrono::minutes(1));
  return next.stopped() && !next.timed_out() ? 0 : 1;
}
