/* Arguments that are wrong, sizes of other versions, other threads: each is refused or works, and nothing leaks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <touchline.h>
#include <unistd.h>

static void hold(int holds, const char *what) {
  if (!holds) {
    printf("does not hold: %s; %s\n", what, tl_error());
    exit(1);
  }
}

static void refused(tl_status status, tl_status expected, const char *sentence) {
  hold(status == expected, sentence);
  hold(strstr(tl_error(), sentence) != NULL, sentence);
}

/* A later version of the struct, as a program would know it that is newer than the library. */
struct later {
  tl_event event;
  uint64_t added;
};

static tl_options options_for(const char *directory) {
  tl_options options = {.size = sizeof options, .directory = directory, .idle = TL_IDLE_YIELD};
  options.events = TL_JOIN_TOPS | TL_JOIN_BOOKS | TL_JOIN_ORDERS;
  return options;
}

static void options_are_checked(const char *name, const char *directory) {
  tl_bus *bus = NULL;
  tl_options options = options_for(directory);
  refused(tl_join(NULL, &options, &bus), TL_ERROR_OPTION, "tl_join: name is NULL");
  refused(tl_join(name, &options, NULL), TL_ERROR_OPTION, "tl_join: bus is NULL");
  refused(tl_join("\xff", &options, &bus), TL_ERROR_OPTION, "is not UTF-8");
  refused(tl_join("nope", &options, &bus), TL_ERROR_NO_BUS, "no bus is called nope; buses here: ");
  options.size = 8;
  refused(tl_join(name, &options, &bus), TL_ERROR_OPTION, "tl_options.size is 8: set it to sizeof(tl_options)");
  options = options_for(directory);
  options.events = 4096;
  refused(tl_join(name, &options, &bus), TL_ERROR_OPTION, "tl_options.events is 0x1000");
  options = options_for(directory);
  options.reserved[3] = 1;
  refused(tl_join(name, &options, &bus), TL_ERROR_OPTION, "tl_options.reserved is not 0");
  options = options_for(directory);
  options.idle = 9;
  refused(tl_join(name, &options, &bus), TL_ERROR_OPTION, "tl_options.idle is 9");
  options = options_for(directory);
  options.symbol_count = 1;
  refused(tl_join(name, &options, &bus), TL_ERROR_OPTION, "tl_options.symbols is NULL");
  options = options_for(directory);
  options.lossless = 1;
  options.name = "recorder";
  refused(tl_join(name, &options, &bus), TL_ERROR_NOT_LOSSLESS, "is not lossless");
  options = options_for(directory);
  options.from_sequence = 5;
  refused(tl_join(name, &options, &bus), TL_ERROR_OPTION, "give the tape of the bus, too");
  hold(bus == NULL, "a refused call gives no bus");
  tl_close(NULL);
}

static tl_bus *joined(const char *name, const char *directory) {
  tl_bus *bus = NULL;
  tl_options options = options_for(directory);
  hold(tl_join(name, &options, &bus) == TL_OK, "it joins");
  return bus;
}

static void sizes_of_other_versions(tl_bus *bus) {
  struct later later;
  memset(&later, 0x5a, sizeof later);
  later.event.size = 12;
  refused(tl_next(bus, 0, &later.event), TL_ERROR_OPTION, "tl_event.size is 12: set it to sizeof(tl_event)");
  /* Sizes that no version has, as an event that was not set to zero has one. */
  later.event.size = sizeof later + 4;
  refused(tl_next(bus, 0, &later.event), TL_ERROR_OPTION, "tl_event.size is");
  later.event.size = 0x5a5a5a58;
  refused(tl_next(bus, 0, &later.event), TL_ERROR_OPTION, "tl_event.size is 1515870808: set it to sizeof(tl_event)");
  tl_stats stats = {.size = UINT32_MAX - 7};
  refused(tl_stats_of(bus, &stats), TL_ERROR_OPTION, "tl_stats.size is 4294967288");
  refused(tl_next(bus, 0, NULL), TL_ERROR_OPTION, "the tl_event is NULL");
  later.event.size = sizeof later;
  refused(tl_next(NULL, 0, &later.event), TL_ERROR_OPTION, "the bus is NULL");
  hold(tl_next(bus, 0, &later.event) == TL_OK, "a refused call takes no event");
  hold(later.event.kind == TL_EVENT_DEFINED, "it is the first event");
  hold(later.event.size == sizeof later, "the size stays the caller's");
  hold(later.added == 0, "a field that the library does not know is 0");
}

/* The whole book: each of four lists is cleared, those of the direct book get a level. */
static void steps_of_a_book(tl_bus *bus, const tl_event *event) {
  tl_change steps[7];
  size_t count = 0;
  hold(event->whole == 1, "it is the whole book");
  refused(tl_changes(bus, NULL, 1, &count), TL_ERROR_OPTION, "tl_changes: changes or count is NULL");
  refused(tl_changes(bus, steps, 7, NULL), TL_ERROR_OPTION, "tl_changes: changes or count is NULL");
  hold(tl_changes(bus, NULL, 0, &count) == TL_OK && count == 6, "the number of steps");
  memset(steps, 0x5a, sizeof steps);
  hold(tl_changes(bus, steps, 2, &count) == TL_OK && count == 6, "two of six steps");
  hold(steps[2].price == 0x5a5a5a5a5a5a5a5a, "nothing is written behind the room");
  hold(tl_changes(bus, steps, 7, &count) == TL_OK && count == 6, "every step");
  hold(steps[0].action == TL_LEVEL_CLEAR && steps[0].side == TL_SIDE_BID && steps[0].price == TL_NONE, "bids");
  hold(steps[3].action == TL_LEVEL_INSERT && steps[3].side == TL_SIDE_ASK && steps[3].index == 0, "an ask");
  hold(steps[3].price == 4500500000000 && steps[3].quantity == 7 && steps[3].orders == 1, "its level");
  hold(steps[3].book == TL_BOOK_DIRECT && steps[3].known == 1 && steps[3].exponent == 0, "of the direct book");
  hold(steps[5].action == TL_LEVEL_CLEAR && steps[5].book == TL_BOOK_IMPLIED, "the implied book is empty");
}

static void steps_of_orders(tl_bus *bus, const tl_event *event) {
  tl_order_change steps[4];
  size_t count = 0;
  hold(event->whole == 1, "every order");
  refused(tl_order_changes(bus, NULL, 1, &count), TL_ERROR_OPTION, "tl_order_changes: changes or count is NULL");
  hold(tl_order_changes(bus, steps, 4, &count) == TL_OK && count == 4, "two orders behind two steps");
  hold(steps[0].action == TL_ORDER_CLEAR && steps[0].side == TL_SIDE_BID && steps[0].price == TL_NONE, "the bids");
  hold(steps[3].order_id == 901 && steps[3].priority == 31 && steps[3].side == TL_SIDE_ASK, "the ask");
  hold(steps[3].price == 4500500000000 && steps[3].quantity == 7 && steps[3].exponent == 0, "its price");
  hold(steps[3].action == TL_ORDER_NEW, "it is new");
}

static void definitions_are_whole(tl_bus *bus) {
  tl_definition d = {.size = 8};
  refused(tl_definition_of(bus, 0, &d), TL_ERROR_OPTION, "tl_definition.size is 8");
  d.size = sizeof d;
  refused(tl_definition_of(bus, 99, &d), TL_ERROR_OPTION, "instrument 99");
  hold(tl_definition_of(bus, 0, &d) == TL_OK && d.size == sizeof d && d.defined == 1, "a definition");
  hold(strcmp(d.symbol, "ESU4") == 0 && strcmp(d.venue, "test") == 0 && d.security_id == 100, "its key");
  hold(strcmp(d.group, "ES") == 0 && strcmp(d.asset, "EQ") == 0, "its product");
  hold(strcmp(d.security_type, "option_spread") == 0 && strcmp(d.right, "call") == 0, "its kind");
  hold(strcmp(d.currency, "USD") == 0 && strcmp(d.settlement_currency, "EUR") == 0, "its currencies");
  hold(d.display_numerator == 1 && d.display_denominator == 100, "its display factor");
  hold(d.tick == 250000000 && d.strike == 4500000000000 && d.multiplier == 50000000000, "its prices");
  hold(d.high_limit == 5000000000000 && d.low_limit == 4000000000000, "its limits");
  hold(d.lot == 2 && d.quantity_min == 4 && d.quantity_max == 3000 && d.quantity_exponent == 0, "its quantities");
  hold(d.expiry_ns == 1734705000000000000 && d.maturity == 20241220 && d.underlying == 77, "its dates");
  hold(d.fraction == 32 && d.sub_fraction == 4 && d.status == 17, "its fraction and status");
  hold(d.depth == 10 && d.implied_depth == 2, "its depth");
}

static void counts_are_whole(tl_bus *bus) {
  uint64_t messages = 7, bytes = 7;
  tl_stats stats = {.size = 8};
  refused(tl_stats_of(bus, &stats), TL_ERROR_OPTION, "tl_stats.size is 8");
  refused(tl_lag(bus, &messages, NULL), TL_ERROR_OPTION, "tl_lag: messages or bytes is NULL");
  memset(&stats, 0x5a, sizeof stats);
  stats.size = sizeof stats;
  hold(tl_stats_of(bus, &stats) == TL_OK && stats.events == 5, "definition, top, book, orders, caught up");
  hold(stats.reserved == 0 && stats.overruns + stats.lost + stats.restarts + stats.unknown == 0, "no other count");
  hold(stats.undefined + stats.inconsistent == 0, "no fault");
  hold(tl_lag(bus, &messages, &bytes) == TL_OK && messages == 0 && bytes == 0, "it has read everything");
}

static void read_up_to_now(tl_bus *bus) {
  tl_event event = {.size = sizeof event};
  while (tl_next(bus, 5000000000, &event) == TL_OK) {
    if (event.kind == TL_EVENT_BOOK) {
      steps_of_a_book(bus, &event);
    } else if (event.kind == TL_EVENT_ORDERS) {
      steps_of_orders(bus, &event);
    }
    if (event.kind == TL_EVENT_CONNECTION && event.detail == TL_CONNECTION_CAUGHT_UP) {
      return;
    }
  }
  hold(0, "it catches up");
}

static void look_ups_are_checked(tl_bus *bus) {
  uint32_t instrument = 7;
  tl_level level;
  size_t count = 0;
  uint8_t state = 0;
  refused(tl_find(bus, NULL, &instrument), TL_ERROR_OPTION, "tl_find: symbol is NULL");
  refused(tl_find(bus, "ESU4", NULL), TL_ERROR_OPTION, "tl_find: instrument is NULL");
  refused(tl_find(bus, "XXXX", &instrument), TL_ERROR_NO_INSTRUMENT, "has no instrument \"XXXX\"");
  hold(tl_find(bus, "ESU4", &instrument) == TL_OK && instrument == 0, "it is the first");
  hold(strcmp(tl_symbol(bus, instrument), "ESU4") == 0, "its symbol");
  refused(tl_find_id(bus, 100, NULL), TL_ERROR_OPTION, "tl_find_id: instrument is NULL");
  refused(tl_find_id(bus, 7, &instrument), TL_ERROR_NO_INSTRUMENT, "has no instrument \"7\"");
  instrument = 7;
  hold(tl_find_id(bus, 100, &instrument) == TL_OK && instrument == 0, "its id");
  hold(tl_symbol(bus, 99) == NULL, "there is no 99");
  refused(tl_book(bus, 99, TL_SIDE_BID, TL_BOOK_MERGED, &level, 1, &count, &state), TL_ERROR_OPTION, "instrument 99");
  refused(tl_book(bus, instrument, 2, TL_BOOK_MERGED, &level, 1, &count, &state), TL_ERROR_OPTION, "side 2");
  refused(tl_book(bus, instrument, 0, TL_BOOK_MERGED, NULL, 1, &count, &state), TL_ERROR_OPTION, "is NULL");
  refused(tl_book(bus, instrument, 0, 3, &level, 1, &count, &state), TL_ERROR_OPTION, "TL_BOOK_MERGED");
  hold(tl_book(bus, instrument, 0, TL_BOOK_MERGED, NULL, 0, &count, &state) == TL_OK && count == 0, "no room, no level");
  hold(tl_book(bus, instrument, 0, TL_BOOK_MERGED, &level, 1, &count, &state) == TL_OK && count == 1, "one level");
  hold(level.price == 4500250000000 && level.quantity == 12 && level.known == 1, "the best bid");
  tl_order order;
  hold(tl_orders(bus, instrument, 0, NULL, 0, &count, &state) == TL_OK && count == 1, "the number of orders");
  hold(tl_orders(bus, instrument, 0, &order, 1, &count, &state) == TL_OK && count == 1, "an order");
  hold(order.order_id == 900 && order.priority == 30 && order.price == 4500250000000 && order.quantity == 12, "the bid");
  tl_event trade = {.size = sizeof trade};
  hold(tl_last_trade(bus, instrument, &trade) == TL_TIMED_OUT, "no trade yet");
}

static void *stop_soon(void *bus) {
  tl_stop(bus);
  return NULL;
}

static void another_thread_ends_the_loop(tl_bus *bus) {
  pthread_t thread;
  hold(pthread_create(&thread, NULL, stop_soon, bus) == 0, "a thread");
  tl_event event = {.size = sizeof event};
  while (tl_next(bus, TL_FOREVER, &event) == TL_OK) {
  }
  hold(tl_next(bus, TL_FOREVER, &event) == TL_STOPPED, "it stays stopped");
  hold(tl_next(bus, 0, &event) == TL_STOPPED, "also for who does not wait");
  pthread_join(thread, NULL);
}

static const char *tape_of(const char *directory) {
  static char tape[4096];
  snprintf(tape, sizeof tape, "%s.tape", directory);
  return tape;
}

static int events_left(tl_bus *tape) {
  tl_event event = {.size = sizeof event};
  int events = 0;
  while (tl_next(tape, TL_FOREVER, &event) == TL_OK) {
    events++;
  }
  hold(tl_next(tape, TL_FOREVER, &event) == TL_STOPPED && tl_next(tape, 0, &event) == TL_STOPPED, "it has ended");
  return events;
}

static tl_bus *opened(const char *directory, const tl_options *options) {
  tl_bus *tape = NULL;
  hold(tl_open_journal(tape_of(directory), NULL, options, &tape) == TL_OK, "a tape");
  return tape;
}

static void a_tape_is_read(const char *name, const char *directory) {
  tl_bus *tape = NULL;
  tl_options options = options_for(directory);
  refused(tl_open_journal(NULL, name, &options, &tape), TL_ERROR_OPTION, "tl_open_journal: directory is NULL");
  refused(tl_open_journal(directory, name, &options, NULL), TL_ERROR_OPTION, "tl_open_journal: bus is NULL");
  refused(tl_open_journal(directory, "\xff", &options, &tape), TL_ERROR_OPTION, "name is not UTF-8");
  refused(tl_open_journal(directory, name, NULL, &tape), TL_ERROR_RECORD, "no segment of a tape");
  refused(tl_open_journal(tape_of(directory), "nope", NULL, &tape), TL_ERROR_NO_BUS, "no bus is called nope; buses here: ");
  options.to_ns = options.to_sequence = 5;
  refused(tl_open_journal(tape_of(directory), name, &options, &tape), TL_ERROR_OPTION, "to_ns and to_sequence are both set");
  /* A program of the first version has no such fields. */
  options.size = 56;
  tape = opened(directory, &options);
  hold(events_left(tape) > 5, "definition, top, book, orders, caught up");
  definitions_are_whole(tape);
  look_ups_are_checked(tape);
  hold(tl_ready(tape, 0) == TL_OK, "its books were live at its end");
  tl_close(tape);
  options = options_for(directory);
  options.from_ns = UINT64_MAX - 1;
  tape = opened(directory, &options);
  hold(events_left(tape) == 0, "nothing was received so late");
  refused(tl_ready(tape, 0), TL_ERROR_NOT_READY, "its tape has ended, and 0 books of 0 are not live");
  tl_close(tape);
  tape = opened(directory, NULL);
  tl_event event = {.size = sizeof event};
  hold(tl_next(tape, 0, &event) == TL_OK, "the first event");
  pid_t child = fork();
  if (child == 0) {
    int left = events_left(tape);
    tl_close(tape);
    _exit(left);
  }
  int status = 1;
  hold(waitpid(child, &status, 0) == child && WIFEXITED(status), "the child");
  hold(events_left(tape) == WEXITSTATUS(status) && WEXITSTATUS(status) > 2, "a child reads on where its parent was");
  tl_close(tape);
}

/* A child of a reader with a name gets a sentence, and leaves the name to its parent; one of a reader without reads on. */
static void children_free_nothing(const char *name, const char *directory) {
  tl_options options = options_for(directory);
  options.name = "forks";
  tl_bus *named = NULL, *again = NULL, *unnamed = joined(name, directory);
  hold(tl_join(name, &options, &named) == TL_OK, "it joins with a name");
  pid_t child = fork();
  if (child == 0) {
    tl_event event = {.size = sizeof event};
    refused(tl_next(named, TL_FOREVER, &event), TL_ERROR_FORKED, "was joined by process");
    refused(tl_ready(named, TL_FOREVER), TL_ERROR_FORKED, "join the bus again in this process");
    tl_close(named);
    hold(tl_next(unnamed, 0, &event) == TL_OK, "a child reads on without a name");
    fflush(stdout);
    _exit(0);
  }
  int status = 1;
  hold(waitpid(child, &status, 0) == child && status == 0, "the child is refused and reads on");
  refused(tl_join(name, &options, &again), TL_ERROR_NAME_TAKEN, "has a reader called forks already");
  tl_event event = {.size = sizeof event};
  hold(tl_next(named, 0, &event) == TL_OK, "the parent reads");
  tl_close(named);
  tl_close(unnamed);
  hold(tl_join(name, &options, &again) == TL_OK, "the name is free when the parent has left");
  tl_close(again);
}

/* Without memory a join is refused, and the program goes on. */
static void memory_is_missed(const char *name, const char *directory) {
#ifdef __SANITIZE_ADDRESS__
  /* The sanitizer itself needs the address space. */
  (void)name;
  (void)directory;
#else
  unsigned long pages = 0;
  FILE *used = fopen("/proc/self/statm", "r");
  hold(used != NULL && fscanf(used, "%lu", &pages) == 1, "the size of this process");
  fclose(used);
  struct rlimit before, small;
  hold(getrlimit(RLIMIT_AS, &before) == 0, "its limit");
  small = before;
  small.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + 256 * 1024;
  hold(setrlimit(RLIMIT_AS, &small) == 0, "a lower limit");
  tl_bus *bus = NULL;
  tl_options options = options_for(directory);
  refused(tl_join(name, &options, &bus), TL_ERROR_MEMORY, "this process");
  /* Room for a reader, and none for copies of so many symbols. */
  options.symbol_count = 400 * 1000;
  hold(setrlimit(RLIMIT_AS, &before) == 0, "the limit before");
  const char **symbols = malloc(options.symbol_count * sizeof *symbols);
  hold(symbols != NULL, "names");
  for (uint32_t at = 0; at < options.symbol_count; at++) {
    symbols[at] = "ESU4";
  }
  options.symbols = symbols;
  small.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (24 << 20);
  hold(setrlimit(RLIMIT_AS, &small) == 0, "a limit with room");
  refused(tl_join(name, &options, &bus), TL_ERROR_MEMORY, "no memory for 400000 symbols");
  free(symbols);
  hold(setrlimit(RLIMIT_AS, &before) == 0, "the limit before");
  tl_close(joined(name, directory));
#endif
}

int main(int count, char **words) {
  if (count != 3) {
    return 2;
  }
  hold(strcmp(tl_version(), TL_VERSION) == 0, "header and library are of one version");
  options_are_checked(words[1], words[2]);
  for (int round = 0; round < 20; round++) {
    tl_bus *bus = joined(words[1], words[2]);
    sizes_of_other_versions(bus);
    read_up_to_now(bus);
    counts_are_whole(bus);
    definitions_are_whole(bus);
    hold(tl_ready(bus, 2000000000) == TL_OK, "it is ready, having caught up before");
    hold(tl_ready(bus, 0) == TL_OK, "it stays ready");
    look_ups_are_checked(bus);
    another_thread_ends_the_loop(bus);
    tl_close(bus);
  }
  a_tape_is_read(words[1], words[2]);
  children_free_nothing(words[1], words[2]);
  memory_is_missed(words[1], words[2]);
  printf("all of it holds\n");
  return 0;
}
