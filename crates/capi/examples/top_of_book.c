/* Best bid and ask of each instrument of a bus: top_of_book BUS. */
#include <signal.h>
#include <stdio.h>
#include <touchline.h>

static tl_bus *bus;

static void stop(int signal) {
  (void)signal;
  tl_stop(bus);
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
    if (event.kind == TL_EVENT_TOP && event.bid != TL_NONE && event.ask != TL_NONE) {
      printf("%s %s %.12g | %.12g\n", tl_symbol(bus, event.instrument), tl_state_name(event.state),
             (double)event.bid / 1e9, (double)event.ask / 1e9);
    } else if (event.kind == TL_EVENT_CONNECTION) {
      fprintf(stderr, "%s\n", tl_connection_name(event.detail));
    }
  }
  signal(SIGINT, SIG_DFL);
  tl_close(bus);
  return 0;
}
