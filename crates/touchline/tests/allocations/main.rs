//! Allocations of the paths. A separate program, because its allocator counts.

mod fix;
mod journal;
mod orders;
mod path;
mod tls;

use touchline_lab::frozen::Frozen;

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;
