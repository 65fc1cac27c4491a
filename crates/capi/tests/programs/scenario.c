/* Says each event as a line, as the readers in the other languages do. */
#include <inttypes.h>
#include <stdio.h>
#include <touchline.h>

static void number(int64_t value) {
  if (value == TL_NONE) {
    printf(" -");
  } else {
    printf(" %" PRId64, value);
  }
}

static void kept(tl_bus *bus, uint32_t instrument) {
  tl_level bid = {.price = TL_NONE, .quantity = TL_NONE}, ask = bid;
  size_t count = 0;
  uint8_t state = 0;
  if (tl_book(bus, instrument, TL_SIDE_BID, &bid, 1, &count, &state) != TL_OK ||
      tl_book(bus, instrument, TL_SIDE_ASK, &ask, 1, &count, &state) != TL_OK) {
    printf(": error %s\n", tl_error());
    return;
  }
  printf(": kept %s %s", tl_symbol(bus, instrument), tl_state_name(state));
  number(bid.price);
  number(bid.quantity);
  number(ask.price);
  number(ask.quantity);
  printf("\n");
}

static void connection(tl_bus *bus, const tl_event *event) {
  printf(": connection %s\n", tl_connection_name(event->detail));
  if (event->detail != TL_CONNECTION_CAUGHT_UP) {
    return;
  }
  for (uint32_t instrument = 0; instrument < event->id; instrument++) {
    kept(bus, instrument);
  }
  uint32_t none;
  tl_status status = tl_find(bus, "ESU5", &none);
  printf(": error %s %s\n", tl_error_name(status), tl_error());
}

static void say(tl_bus *bus, const tl_event *event) {
  if (event->kind == TL_EVENT_CONNECTION) {
    connection(bus, event);
    return;
  }
  printf(": %s %s", tl_event_name(event->kind), tl_symbol(bus, event->instrument));
  switch (event->kind) {
  case TL_EVENT_TOP:
    printf(" %s", tl_state_name(event->state));
    number(event->bid);
    number(event->bid_size);
    number(event->ask);
    number(event->ask_size);
    break;
  case TL_EVENT_BOOK:
  case TL_EVENT_STATE:
    printf(" %s", tl_state_name(event->state));
    break;
  case TL_EVENT_TRADE:
    number(event->price);
    number(event->quantity);
    printf(" %s", tl_aggressor_name(event->detail));
    break;
  default:
    break;
  }
  printf("\n");
}

int main(int count, char **words) {
  if (count != 3) {
    return 2;
  }
  tl_options options = {.size = sizeof options};
  options.events = TL_JOIN_TOPS | TL_JOIN_TRADES | TL_JOIN_BOOKS;
  options.directory = words[2];
  tl_bus *bus = NULL;
  tl_status status = tl_join(words[1], &options, &bus);
  if (status < 0) {
    printf(": error %s %s\n", tl_error_name(status), tl_error());
    return 1;
  }
  tl_event event = {.size = sizeof event};
  while (tl_next(bus, TL_FOREVER, &event) == TL_OK) {
    say(bus, &event);
    fflush(stdout);
  }
  tl_close(bus);
  return 0;
}
