/* Says each event as a line, as the readers in the other languages do. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <touchline.h>

static tl_bus *bus;

static void stop(int signal) {
  (void)signal;
  tl_stop(bus);
}

static void number(int64_t value) {
  if (value == TL_NONE) {
    printf(" -");
  } else {
    printf(" %" PRId64, value);
  }
}

static void book(uint8_t book) { printf(" %s", book == TL_NO_BOOK ? "-" : tl_book_name(book)); }

static void level(const tl_level *level) {
  number(level->price);
  number(level->quantity);
  if (level->price == TL_NONE) {
    book(TL_NO_BOOK);
  } else {
    book(level->implied == 0 ? TL_BOOK_DIRECT : level->direct == 0 ? TL_BOOK_IMPLIED : TL_BOOK_MERGED);
  }
}

static void kept(uint32_t instrument) {
  tl_level bid = {.price = TL_NONE, .quantity = TL_NONE}, ask = bid;
  size_t count = 0;
  uint8_t state = 0;
  if (tl_book(bus, instrument, TL_SIDE_BID, TL_BOOK_MERGED, &bid, 1, &count, &state) != TL_OK ||
      tl_book(bus, instrument, TL_SIDE_ASK, TL_BOOK_MERGED, &ask, 1, &count, &state) != TL_OK) {
    printf(": error %s\n", tl_error());
    return;
  }
  printf(": kept %s %s", tl_symbol(bus, instrument), tl_state_name(state));
  level(&bid);
  level(&ask);
  printf("\n");
}

static void connection(const tl_event *event) {
  printf(": connection %s\n", tl_connection_name(event->detail));
  if (event->detail != TL_CONNECTION_CAUGHT_UP) {
    return;
  }
  for (uint32_t instrument = 0; instrument < event->id; instrument++) {
    kept(instrument);
  }
  uint32_t none;
  tl_status status = tl_find(bus, "ESU5", &none);
  printf(": error %s %s\n", tl_error_name(status), tl_error());
}

static void defined(uint32_t instrument) {
  tl_definition of = {.size = sizeof of};
  if (tl_definition_of(bus, instrument, &of) != TL_OK) {
    printf(": error %s\n", tl_error());
    return;
  }
  printf(" %" PRId64 " %s %s %" PRIu32 " %" PRId64, of.security_id, of.venue, of.currency, of.maturity, of.tick);
}

static void say_lag(void) {
  uint64_t messages = 0, bytes = 0;
  tl_lag(bus, &messages, &bytes);
  printf(": lag %s\n", bytes > messages ? "behind" : "none");
}

static void say_stopped(void) {
  tl_stats stats = {.size = sizeof stats};
  tl_stats_of(bus, &stats);
  printf(": stopped overruns %" PRIu64 " lost %s restarts %" PRIu64, stats.overruns, stats.lost > 0 ? "yes" : "no",
         stats.restarts);
  printf(" unknown %" PRIu64 " undefined %" PRIu64 " inconsistent %" PRIu64 "\n", stats.unknown, stats.undefined,
         stats.inconsistent);
}

/* The steps of a whole book begin with those that empty it. */
static void steps(const tl_event *event) {
  tl_change levels[16];
  tl_order_change orders[16];
  size_t count = 0, cleared = 0;
  if (event->kind == TL_EVENT_BOOK) {
    tl_changes(bus, levels, 16, &count);
    for (size_t at = 0; at < count; at++) {
      cleared += levels[at].action == TL_LEVEL_CLEAR;
    }
  } else {
    tl_order_changes(bus, orders, 16, &count);
    for (size_t at = 0; at < count; at++) {
      cleared += orders[at].action == TL_ORDER_CLEAR;
    }
  }
  size_t lists = event->kind == TL_EVENT_BOOK ? 4 : 2;
  if (cleared != (event->whole ? lists : 0)) {
    printf(" with %zu steps that empty it", cleared);
  }
}

static void say(const tl_event *event) {
  if (event->kind == TL_EVENT_CONNECTION) {
    connection(event);
    return;
  }
  const char *symbol = tl_symbol(bus, event->instrument);
  printf(": %s %s", tl_event_name(event->kind), symbol == NULL ? "-" : symbol);
  switch (event->kind) {
  case TL_EVENT_TOP:
    printf(" %s", tl_state_name(event->state));
    number(event->bid);
    number(event->bid_size);
    book(event->bid_book);
    number(event->ask);
    number(event->ask_size);
    book(event->ask_book);
    break;
  case TL_EVENT_BOOK:
  case TL_EVENT_ORDERS:
    printf(" %s", tl_state_name(event->state));
    steps(event);
    break;
  case TL_EVENT_STATE:
    printf(" %s", tl_state_name(event->state));
    break;
  case TL_EVENT_TRADE:
    number(event->price);
    number(event->quantity);
    printf(" %s %s", tl_aggressor_name(event->detail), tl_trade_action_name(event->action));
    break;
  case TL_EVENT_STATISTIC:
    printf(" %s", tl_statistic_name(event->detail));
    number(event->price);
    number(event->quantity);
    printf(" %s", tl_trade_action_name(event->action));
    break;
  case TL_EVENT_DEFINED:
    defined(event->instrument);
    break;
  default:
    break;
  }
  printf("\n");
  if (event->kind == TL_EVENT_TRADE && event->quantity == 1) {
    say_lag();
  }
}

static tl_options options_of(const char *mode, const char *directory) {
  tl_options options = {.size = sizeof options, .directory = directory};
  options.events = TL_JOIN_TOPS | TL_JOIN_TRADES | TL_JOIN_BOOKS | TL_JOIN_STATISTICS;
  if (strcmp(mode, "wait") == 0) {
    options.wait_ns = 60000000000;
    printf(": waiting\n");
    fflush(stdout);
  } else if (strcmp(mode, "books") == 0 || strcmp(mode, "tape-books") == 0) {
    options.events = TL_JOIN_BOOKS | TL_JOIN_ORDERS;
  } else if (strcmp(mode, "lossless") == 0) {
    options.name = "recorder";
    options.lossless = 1;
  } else if (strcmp(mode, "from-tape") == 0) {
    static char tape[4096];
    snprintf(tape, sizeof tape, "%s.tape", directory);
    options.tape = tape;
    options.tape_wait_ns = 60000000000;
    options.from_sequence = 1;
  }
  return options;
}

static tl_status joined(const char *mode, const char *name, const char *directory) {
  tl_options options = options_of(mode, directory);
  char tape[4096];
  snprintf(tape, sizeof tape, "%s.tape", directory);
  if (strcmp(mode, "with-tape") == 0) {
    options.tape = tape;
    options.tape_wait_ns = 60000000000;
  } else if (strncmp(mode, "tape", 4) == 0) {
    return tl_open_journal(tape, strcmp(mode, "tape-other") == 0 ? "other" : name, &options, &bus);
  }
  tl_status status = tl_join(name, &options, &bus);
  if (status == TL_OK && strcmp(mode, "ready") == 0) {
    status = tl_ready(bus, 2000000000);
    if (status == TL_OK) {
      printf(": ready\n");
      fflush(stdout);
    }
  }
  return status;
}

int main(int count, char **words) {
  if (count != 3) {
    return 2;
  }
  const char *mode = getenv("TOUCHLINE_TEST_MODE");
  tl_status status = joined(mode == NULL ? "" : mode, words[1], words[2]);
  if (status < 0) {
    printf(": error %s %s\n", tl_error_name(status), tl_error());
    tl_close(bus);
    return 1;
  }
  signal(SIGINT, stop);
  tl_event event = {.size = sizeof event};
  while ((status = tl_next(bus, TL_FOREVER, &event)) == TL_OK) {
    say(&event);
    fflush(stdout);
  }
  if (status < 0) {
    printf(": error %s %s\n", tl_error_name(status), tl_error());
  } else {
    say_stopped();
  }
  tl_close(bus);
  /* The sanitizer sees only what no pointer leads to. */
  bus = NULL;
  return 0;
}
