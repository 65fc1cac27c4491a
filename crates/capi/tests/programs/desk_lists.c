/* Prints the lists of a desk; what a list refuses. */
#include "desk_row.h"
#include <stdlib.h>
#include <string.h>

static void hold(int holds, const char *what) {
  if (!holds) {
    printf("does not hold: %s; %s\n", what, tl_error());
    exit(1);
  }
}

static void print_list(tl_desk *desk, uint8_t kind) {
  size_t room = 0, count = 0;
  hold(tl_desk_list(desk, kind, NULL, 0, &room) == TL_OK, "no room, only the number");
  /* One place more than rows: it stays as it is. */
  tl_desk_event *rows = calloc(room + 1, sizeof *rows);
  rows->size = sizeof *rows;
  rows[room].quantity = 77;
  hold(tl_desk_list(desk, kind, rows, room, &count) == TL_OK && count == room, "the rows of the number");
  hold(rows[room].quantity == 77, "nothing is written behind the room");
  for (size_t at = 0; at < room; at++) {
    hold(rows[at].size == sizeof *rows, "each row has its size");
    print_row(rows + at);
  }
  if (room > 1) {
    tl_desk_event first = {.size = sizeof first};
    hold(tl_desk_list(desk, kind, &first, 1, &count) == TL_OK && count == room, "the number beyond the room");
    hold(memcmp(&first, rows, sizeof first) == 0, "the first row");
  }
  free(rows);
}

static void mistakes_are_refused(tl_desk *desk) {
  size_t count = 0;
  tl_desk_event row = {.size = 8};
  hold(tl_desk_list(desk, TL_DESK_FILL, &row, 1, &count) == TL_ERROR_OPTION, "a size that is too small");
  hold(strstr(tl_error(), "tl_desk_event.size is 8") != NULL, "its sentence");
  hold(tl_desk_list(desk, TL_DESK_FILL, NULL, 1, &count) == TL_ERROR_OPTION, "no rows");
  hold(tl_desk_list(desk, TL_DESK_FILL, NULL, 0, NULL) == TL_ERROR_OPTION, "no count");
  hold(tl_desk_list(NULL, TL_DESK_FILL, NULL, 0, &count) == TL_ERROR_OPTION, "no desk");
  hold(tl_desk_list(desk, TL_DESK_KILLED, NULL, 0, &count) == TL_ERROR_OPTION, "a kind without a list");
  hold(strstr(tl_error(), "give TL_DESK_PARENT") != NULL, "its sentence");
}

int main(void) {
  tl_desk *desk = NULL;
  hold(tl_desk_join("fx-run", NULL, &desk) == TL_OK, "an engine");
  mistakes_are_refused(desk);
  const uint8_t kinds[] = {TL_DESK_PARENT, TL_DESK_ORDER, TL_DESK_FILL, TL_DESK_POSITION, TL_DESK_ALARM};
  for (size_t at = 0; at < sizeof kinds; at++) {
    print_list(desk, kinds[at]);
  }
  tl_desk_close(desk);
  return 0;
}
