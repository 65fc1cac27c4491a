//! Answer to an injection, in one line.

use touchline_lab::capture::Feed;
use touchline_lab::cme::header::{number, sending_time};
use touchline_lab::fault::forger::{Injected, reach_of};

/// The injected packets of each feed, or why there are none.
pub fn describe(what: Injected, packets: &[(Feed, Vec<Vec<u8>>)]) -> String {
    let sent = packets.iter().filter_map(|(feed, packets)| {
        let (first, last) = (packets.first()?, packets.last()?);
        let code = feed.code().to_ascii_lowercase();
        Some(match what {
            Injected::Heartbeat(_) => format!(
                "heartbeat {} of {code}, sending time {}",
                number(first),
                sending_time(first)
            ),
            Injected::Snapshot(_) => format!(
                "packet {} of {code}, LastMsgSeqNumProcessed {}, sending time {}",
                number(first),
                reach_of(first).unwrap_or_default(),
                sending_time(first)
            ),
            Injected::Old { .. } => format!(
                "{} of {code}, {} to {}, sending times {} to {}",
                packets.len(),
                number(first),
                number(last),
                sending_time(first),
                sending_time(last)
            ),
        })
    });
    match sent.collect::<Vec<_>>().join("; ") {
        sent if sent.is_empty() => {
            "refused: no packet was sent there yet; try again in a second".to_owned()
        }
        sent => format!("ok: {sent}"),
    }
}
