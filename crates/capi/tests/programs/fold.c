/* Keeps books of its own from the steps of its events alone, and compares them with the library's at each event and at each end of a packet. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <touchline.h>

enum { INSTRUMENTS = 512, LEVELS = 256, ORDERS = 4096 };

/* Books of one instrument; a state is NO_STATE before the first event of the book. */
typedef struct {
  tl_change levels[2][2][LEVELS];
  size_t counts[2][2];
  tl_order_change orders[ORDERS];
  size_t order_count;
  uint8_t state, orders_state;
} books;

enum { NO_STATE = 255 };

static books *all[INSTRUMENTS];
static tl_bus *bus;
static unsigned long checked, cleared, tops;

static void stop(int number) {
  (void)number;
  tl_stop(bus);
}

static void hold(int holds, const char *what, uint32_t instrument) {
  if (!holds) {
    printf("wrong: %s of instrument %" PRIu32 " %s; %s\n", what, instrument, tl_symbol(bus, instrument), tl_error());
    exit(1);
  }
}

static books *of(uint32_t instrument) {
  hold(instrument < INSTRUMENTS, "an index", instrument);
  if (all[instrument] == NULL) {
    all[instrument] = calloc(1, sizeof(books));
    hold(all[instrument] != NULL, "memory", instrument);
    all[instrument]->state = all[instrument]->orders_state = NO_STATE;
  }
  return all[instrument];
}

static void fold_levels(uint32_t instrument) {
  static tl_change steps[1 << 15];
  size_t steps_count = 0;
  tl_changes(bus, steps, 1 << 15, &steps_count);
  for (tl_change *step = steps; step < steps + steps_count; step++) {
    tl_change *list = of(instrument)->levels[step->book][step->side];
    size_t *count = &of(instrument)->counts[step->book][step->side], at = step->index;
    switch (step->action) {
    case TL_LEVEL_INSERT:
      hold(at <= *count && *count < LEVELS, "an inserted level", instrument);
      memmove(list + at + 1, list + at, (*count - at) * sizeof *list);
      *count += 1;
      list[at] = *step;
      break;
    case TL_LEVEL_REPLACE:
      hold(at < *count, "a replaced level", instrument);
      list[at] = *step;
      break;
    case TL_LEVEL_REMOVE:
      hold(at < *count, "a removed level", instrument);
      *count -= 1;
      memmove(list + at, list + at + 1, (*count - at) * sizeof *list);
      break;
    default:
      cleared += *count > 0;
      *count = 0;
    }
  }
}

static tl_order_change *find(books *own, uint64_t order_id) {
  for (size_t at = 0; at < own->order_count; at++) {
    if (own->orders[at].order_id == order_id) {
      return own->orders + at;
    }
  }
  return NULL;
}

static void fold_orders(uint32_t instrument) {
  static tl_order_change steps[1 << 15];
  books *own = of(instrument);
  size_t steps_count = 0;
  tl_order_changes(bus, steps, 1 << 15, &steps_count);
  for (tl_order_change *step = steps; step < steps + steps_count; step++) {
    tl_order_change *known = find(own, step->order_id);
    size_t left = 0;
    switch (step->action) {
    case TL_ORDER_CLEAR:
      for (size_t at = 0; at < own->order_count; at++) {
        if (own->orders[at].side != step->side) {
          own->orders[left++] = own->orders[at];
        }
      }
      cleared += left < own->order_count;
      own->order_count = left;
      break;
    case TL_ORDER_DELETE:
      hold(known != NULL, "a deleted order", instrument);
      *known = own->orders[--own->order_count];
      break;
    default:
      hold(known != NULL || own->order_count < ORDERS, "a new order", instrument);
      *(known == NULL ? own->orders + own->order_count++ : known) = *step;
    }
  }
}

static void check_levels(uint32_t instrument) {
  static tl_level kept[LEVELS];
  books *own = of(instrument);
  uint8_t state = 0;
  for (uint8_t book = TL_BOOK_DIRECT; book <= TL_BOOK_IMPLIED; book++) {
    for (uint8_t side = TL_SIDE_BID; side <= TL_SIDE_ASK; side++) {
      size_t count = 0;
      hold(tl_book(bus, instrument, side, book, kept, LEVELS, &count, &state) == TL_OK, "a copy", instrument);
      hold(count == own->counts[book][side], "the number of levels", instrument);
      for (size_t at = 0; at < count; at++) {
        const tl_change *level = own->levels[book][side] + at;
        hold(level->price == kept[at].price && level->quantity == kept[at].quantity, "a level", instrument);
        hold(level->orders == kept[at].orders && level->known == kept[at].known, "orders of a level", instrument);
      }
    }
  }
  hold(own->state == NO_STATE || own->state == state, "the state", instrument);
}

static void check_orders(uint32_t instrument) {
  static tl_order kept[ORDERS];
  books *own = of(instrument);
  size_t all_of_both = 0;
  uint8_t state = 0;
  for (uint8_t side = TL_SIDE_BID; side <= TL_SIDE_ASK; side++) {
    size_t count = 0;
    hold(tl_orders(bus, instrument, side, kept, ORDERS, &count, &state) == TL_OK, "a copy of orders", instrument);
    all_of_both += count;
    for (size_t at = 0; at < count; at++) {
      const tl_order_change *order = find(own, kept[at].order_id);
      hold(order != NULL && order->side == side && order->priority == kept[at].priority, "an order", instrument);
      hold(order->price == kept[at].price && order->quantity == kept[at].quantity, "an order's price", instrument);
    }
  }
  hold(all_of_both == own->order_count, "the number of orders", instrument);
  hold(own->orders_state == NO_STATE || own->orders_state == state, "the state of the orders", instrument);
}

/* The best bid and ask are the first levels of the merged book, unless a level that must exist is not known. */
static void check_top(uint32_t instrument) {
  const books *own = of(instrument);
  tl_event top = {.size = sizeof top};
  hold(tl_top(bus, instrument, &top) == TL_OK, "the best bid and ask", instrument);
  for (uint8_t side = TL_SIDE_BID; side <= TL_SIDE_ASK; side++) {
    tl_level best;
    size_t count = 0;
    uint8_t state = 0;
    hold(tl_book(bus, instrument, side, TL_BOOK_MERGED, &best, 1, &count, &state) == TL_OK, "a copy", instrument);
    int64_t price = side == TL_SIDE_BID ? top.bid : top.ask, size = side == TL_SIDE_BID ? top.bid_size : top.ask_size;
    uint8_t book = side == TL_SIDE_BID ? top.bid_book : top.ask_book;
    int is_unknown = 0;
    for (uint8_t list = TL_BOOK_DIRECT; list <= TL_BOOK_IMPLIED; list++) {
      is_unknown |= own->counts[list][side] > 0 && !own->levels[list][side][0].known;
    }
    if (count == 0 || is_unknown) {
      hold(price == TL_NONE && book == TL_NO_BOOK, "an absent best price", instrument);
      continue;
    }
    uint8_t expected = best.implied == 0 ? TL_BOOK_DIRECT : best.direct == 0 ? TL_BOOK_IMPLIED : TL_BOOK_MERGED;
    hold(price == best.price && size == best.quantity && book == expected, "the best price", instrument);
  }
  hold(top.state == own->state || own->state == NO_STATE, "the state of the best bid and ask", instrument);
  tops++;
}

static void check_all(void) {
  for (uint32_t instrument = 0; tl_symbol(bus, instrument) != NULL; instrument++) {
    check_levels(instrument);
    check_orders(instrument);
    check_top(instrument);
    checked++;
  }
}

static void take(const tl_event *event) {
  switch (event->kind) {
  case TL_EVENT_BOOK:
    of(event->instrument)->state = event->state;
    fold_levels(event->instrument);
    check_levels(event->instrument);
    break;
  case TL_EVENT_ORDERS:
    of(event->instrument)->orders_state = event->state;
    fold_orders(event->instrument);
    check_orders(event->instrument);
    break;
  case TL_EVENT_STATE:
    of(event->instrument)->state = event->state;
    break;
  case TL_EVENT_CONNECTION:
    check_all();
    printf("%s\n", tl_connection_name(event->detail));
    fflush(stdout);
    break;
  default:
    break;
  }
  if (event->end_of_batch) {
    check_all();
  }
}

int main(int count, char **words) {
  if (count < 3) {
    return 2;
  }
  tl_options options = {.size = sizeof options, .directory = words[2]};
  options.events = TL_JOIN_TOPS | TL_JOIN_BOOKS | TL_JOIN_ORDERS;
  options.symbols = (const char *const *)(words + 3);
  options.symbol_count = (uint32_t)(count - 3);
  if (tl_join(words[1], &options, &bus) != TL_OK) {
    printf("wrong: %s\n", tl_error());
    return 1;
  }
  signal(SIGINT, stop);
  tl_event event = {.size = sizeof event};
  while (tl_next(bus, TL_FOREVER, &event) == TL_OK) {
    take(&event);
  }
  tl_stats stats = {.size = sizeof stats};
  tl_stats_of(bus, &stats);
  printf("end checked %lu cleared %lu overruns %" PRIu64 "\n", checked, cleared, stats.overruns);
  tl_close(bus);
  return tops == 0;
}
