/* Best bid and ask of each instrument of a bus, after each venue packet: top_of_book BUS. */
#include <signal.h>
#include <stdio.h>
#include <touchline.h>

static tl_bus *bus;

static void stop(int signal) {
  (void)signal;
  tl_stop(bus);
}

static tl_event tops[64];
static size_t top_count;

static void act(void) {
  for (size_t at = 0; at < top_count; at++) {
    const tl_event *top = &tops[at];
    if (top->bid != TL_NONE && top->ask != TL_NONE) {
      printf("%s %s %.12g | %.12g\n", tl_symbol(bus, top->instrument), tl_state_name(top->state), (double)top->bid / 1e9,
             (double)top->ask / 1e9);
    }
  }
  top_count = 0;
}

int main(int count, char **words) {
  tl_options options = {.size = sizeof options, .events = TL_JOIN_TOPS};
  if (tl_join(count > 1 ? words[1] : "demo", &options, &bus) != TL_OK) {
    fprintf(stderr, "%s\n", tl_error());
    return 1;
  }
  signal(SIGINT, stop);
  tl_event event = {.size = sizeof event};
  while (tl_next(bus, TL_FOREVER, &event) == TL_OK) {
    if (event.kind == TL_EVENT_TOP) {
      tops[top_count++] = event;
    } else if (event.kind == TL_EVENT_CONNECTION) {
      fprintf(stderr, "%s\n", tl_connection_name(event.detail));
    }
    /* What the bus has kept belongs to no packet: it ends with an event of the connection. */
    if (event.end_of_batch || event.kind == TL_EVENT_CONNECTION || top_count == sizeof tops / sizeof *tops) {
      act();
    }
  }
  signal(SIGINT, SIG_DFL);
  tl_close(bus);
  return 0;
}
