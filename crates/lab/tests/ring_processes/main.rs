//! The broadcast ring between real processes over mapped files, some of which are killed.
//!
//! `KILLS` says how many die at random instants, `SEED` which instants. Every process holds what it
//! reads against what must have been sent.

mod bus;
mod kills;
mod named;
mod player;
mod roles;

/// The number in an environment variable, or the usual one.
fn number(variable: &str, usual: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(usual, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is not a number"))
    })
}
