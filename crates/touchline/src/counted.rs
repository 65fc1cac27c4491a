//! What a bus counts, as it holds at this moment.

use touchline_gateway::live::OF_A_LIVE_GATEWAY;
use touchline_transport::shm::{CountersView, Description, Overview};

/// Each counter of a bus with its value. A gateway that is gone or stalled is not ready and has no live book, though
/// its last figures say so.
pub fn of_bus<'a>(
    counters_file: &'a CountersView,
    overview: &Overview,
) -> impl Iterator<Item = (&'a Description, u64)> + use<'a> {
    let is_live = overview.is_live();
    counters_file.counters().map(move |(what, value)| {
        let holds = is_live || !OF_A_LIVE_GATEWAY.contains(&what.name.as_str());
        (what, if holds { value } else { 0 })
    })
}
