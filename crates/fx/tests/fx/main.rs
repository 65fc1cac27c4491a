//! Rules of the FX core one by one, and invariants under any behaviour of banks.

mod adopt;
mod bus;
mod cancels;
mod composites;
mod days;
mod desk_trades;
mod disputes;
mod earlier_runs;
mod encoding;
mod joins;
mod limits;
mod losses;
mod off_price;
mod orders;
mod plans;
mod quotes;
mod random;
mod recorded;
mod reference;
mod router;
mod seen;
mod unknown;
mod used;
mod voids;
mod world;
