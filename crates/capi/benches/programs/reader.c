/* Reader of the bench: obeys words on standard input. */
#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <touchline.h>

static uint64_t now_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void drain(tl_bus *bus) {
  tl_event event = {.size = sizeof event};
  uint64_t events = 0, start = now_ns(CLOCK_MONOTONIC);
  while (tl_next(bus, 0, &event) == TL_OK) {
    events++;
  }
  printf("%" PRIu64 " %" PRIu64 "\n", events, now_ns(CLOCK_MONOTONIC) - start);
}

static void latency(tl_bus *bus, size_t packets) {
  uint64_t *times = calloc(packets, sizeof *times);
  tl_event event = {.size = sizeof event};
  for (size_t at = 0; times != NULL && at < packets && tl_next(bus, TL_FOREVER, &event) == TL_OK;) {
    if (event.kind == TL_EVENT_TOP) {
      times[at++] = now_ns(CLOCK_REALTIME) - event.receive_ns;
    }
  }
  for (size_t at = 0; times != NULL && at < packets; at++) {
    printf("%s%" PRIu64, at > 0 ? " " : "", times[at]);
  }
  printf("\n");
  free(times);
}

int main(int count, char **words) {
  if (count != 3) {
    return 2;
  }
  tl_options options = {.size = sizeof options, .directory = words[2], .idle = TL_IDLE_YIELD};
  tl_bus *bus;
  if (tl_join(words[1], &options, &bus) != TL_OK) {
    fprintf(stderr, "%s\n", tl_error());
    return 1;
  }
  printf("ready\n");
  fflush(stdout);
  char word[64];
  while (fgets(word, sizeof word, stdin) != NULL) {
    if (strncmp(word, "latency ", 8) == 0) {
      latency(bus, strtoul(word + 8, NULL, 10));
    } else {
      drain(bus);
    }
    fflush(stdout);
  }
  tl_close(bus);
  return 0;
}
