/* Buys 1,000 EUR/USD through the trading engine, and prints what becomes of the order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <touchline.h>

static int failed(tl_desk *desk) {
  fprintf(stderr, "%s\n", tl_error());
  tl_desk_close(desk);
  return 1;
}

int main(void) {
  tl_desk *desk = NULL;
  char id[TL_TEXT];
  tl_parent parent = {.size = sizeof parent, .side = TL_SIDE_BID, .quantity = 1000, .pair = "EUR/USD"};
  if (tl_desk_join("fx-run", NULL, &desk) != TL_OK || tl_desk_send(desk, &parent, &id) != TL_OK) {
    return failed(desk);
  }
  tl_desk_event event = {.size = sizeof event};
  while (event.settled == 0 || strcmp(event.parent, id) != 0) {
    if (tl_desk_next(desk, TL_FOREVER, &event) != TL_OK) {
      return failed(desk);
    }
    if (event.kind == TL_DESK_FILL && strcmp(event.parent, id) == 0) {
      printf("fill %" PRId64 " at %.5f\n", event.quantity, (double)event.price / 1e9);
    } else if (event.kind == TL_DESK_PARENT && strcmp(event.parent, id) == 0) {
      printf("parent %s\n", event.state);
    }
  }
  const char *pairs[] = {"EUR/USD", "USD/JPY"};
  for (size_t at = 0; at < sizeof pairs / sizeof *pairs; at++) {
    int64_t units = 0;
    if (tl_desk_position(desk, pairs[at], &units) == TL_OK) {
      printf("position %s %" PRId64 "\n", pairs[at], units);
    }
  }
  /* A refusal has the sentence of `touchline fx`. */
  parent.quantity = 1001;
  if (tl_desk_send(desk, &parent, NULL) == TL_ERROR_REFUSED) {
    fprintf(stderr, "%s\n", tl_error());
  }
  tl_desk_close(desk);
  return 0;
}
