//! The bus: published messages reach the other side at any time of its join, and after restarts and crashes of
//! either side.

mod channel;
mod deep;
mod full;
mod guests;
mod joining;
mod last_values;
mod live_only;
mod losing;
mod lossless;
mod members;
mod names;
mod order_images;
mod orders;
mod processes;
mod raw;
mod restarting;
mod scribbled;
mod seen;
mod selecting;
mod shared;
mod stalling;
mod torn;
mod world;
