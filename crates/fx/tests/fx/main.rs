//! Rules of the FX core one by one, and invariants under any behaviour of banks.

mod adopt;
mod bus;
mod composites;
mod joins;
mod limits;
mod orders;
mod plans;
mod quotes;
mod random;
mod recorded;
mod router;
mod unknown;
mod voids;
mod world;
