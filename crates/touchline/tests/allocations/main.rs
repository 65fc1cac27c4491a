//! What the paths allocate. A program of its own, since its allocator counts.

mod fix;
mod path;

use touchline_lab::frozen::Frozen;

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;
