//! The rules of the FX core, one by one, and what must hold whatever banks do.

mod limits;
mod orders;
mod plans;
mod quotes;
mod random;
mod recorded;
mod router;
mod unknown;
mod world;
