/* Prints a row of a desk with every field: for the programs in C and C++. */
#include <inttypes.h>
#include <stdio.h>
#include <touchline.h>

static void print_number(int64_t value) {
  if (value == TL_NONE) {
    printf("|-");
  } else {
    printf("|%" PRId64, value);
  }
}

static void print_row(const tl_desk_event *row) {
  printf("%s|%d|%d|%d", tl_desk_event_name(row->kind), row->side, row->ended, row->settled);
  print_number(row->quantity);
  print_number(row->filled);
  print_number(row->leaves);
  print_number(row->price);
  print_number(row->worst_long);
  print_number(row->worst_short);
  printf("|%" PRIu64 "|%s|%s|%s|%s|%s|%s|%s|%s\n", row->at_ns, row->parent, row->order, row->exec, row->bank, row->pair,
         row->state, row->cash, row->pnl);
}
