/* Arguments that are wrong, sizes of other versions, other threads: each is refused or works, and nothing leaks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <touchline.h>

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
  refused(tl_next(bus, 0, NULL), TL_ERROR_OPTION, "the tl_event is NULL");
  later.event.size = sizeof later;
  refused(tl_next(NULL, 0, &later.event), TL_ERROR_OPTION, "the bus is NULL");
  hold(tl_next(bus, 0, &later.event) == TL_OK, "a refused call takes no event");
  hold(later.event.kind == TL_EVENT_DEFINED, "it is the first event");
  hold(later.event.size == sizeof later, "the size stays the caller's");
  hold(later.added == 0, "a field that the library does not know is 0");
}

static void read_up_to_now(tl_bus *bus) {
  tl_event event = {.size = sizeof event};
  while (tl_next(bus, 5000000000, &event) == TL_OK) {
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
  hold(tl_symbol(bus, 99) == NULL, "there is no 99");
  refused(tl_book(bus, 99, TL_SIDE_BID, &level, 1, &count, &state), TL_ERROR_OPTION, "instrument 99");
  refused(tl_book(bus, instrument, 2, &level, 1, &count, &state), TL_ERROR_OPTION, "side 2");
  refused(tl_book(bus, instrument, 0, NULL, 1, &count, &state), TL_ERROR_OPTION, "is NULL");
  hold(tl_book(bus, instrument, 0, NULL, 0, &count, &state) == TL_OK && count == 0, "no room, no level");
  hold(tl_book(bus, instrument, 0, &level, 1, &count, &state) == TL_OK && count == 1, "one level");
  hold(level.price == 4500250000000 && level.quantity == 12 && level.known == 1, "the best bid");
  hold(tl_orders(bus, instrument, 0, NULL, 0, &count, &state) == TL_OK && count == 0, "no orders");
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
    hold(tl_ready(bus, 2000000000) == TL_OK, "it is ready, having caught up before");
    hold(tl_ready(bus, 0) == TL_OK, "it stays ready");
    look_ups_are_checked(bus);
    another_thread_ends_the_loop(bus);
    tl_close(bus);
  }
  printf("all of it holds\n");
  return 0;
}
