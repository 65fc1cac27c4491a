//! Access to a session: its names and addresses.

use super::Addresses;
use crate::Secret;
use crate::fix::{Names, Settings};
use std::net::Ipv4Addr;

/// Counterparty of a session, as an acceptor identifies it.
#[derive(Debug)]
pub struct Peer {
    /// CompIDs of the counterparty and ours, compared in constant time: they are part of the credentials.
    names: [Secret; 2],
    addresses: Addresses,
}

impl Peer {
    /// The counterparty of a session, from any address.
    pub fn of(settings: &Settings) -> Peer {
        Peer {
            names: [&settings.target, &settings.sender].map(|name| name.as_str().into()),
            addresses: Addresses::default(),
        }
    }

    /// Restricts the counterparty to these addresses.
    pub fn only_from(self, addresses: Addresses) -> Peer {
        Peer { addresses, ..self }
    }

    /// Whether a connection from this address is allowed.
    pub fn takes(&self, from: Ipv4Addr) -> bool {
        self.addresses.have(from)
    }

    /// Whether these names and this address are the peer's. The time does not depend on which of them is wrong.
    pub fn is(&self, names: &Names<'_>, from: Ipv4Addr) -> bool {
        let [theirs, ours] = &self.names;
        theirs.is(names.sender) & ours.is(names.target) & self.addresses.have(from)
    }
}

/// Index of the peer with these names and this address; the last one if there are several. All are compared, so that
/// the time does not reveal the mismatch.
pub fn place_of<'a>(
    peers: impl Iterator<Item = &'a Peer>,
    names: &Names<'_>,
    from: Ipv4Addr,
) -> Option<usize> {
    let mut found = None;
    for (place, peer) in peers.enumerate() {
        if peer.is(names, from) {
            found = Some(place);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::Role;
    use std::time::Instant;

    fn peers() -> Vec<Peer> {
        let blocks = ["127.0.0.0/31", "127.0.0.2"].map(|block| block.parse().expect("a block"));
        let peer = |number| {
            let settings = Settings::new(Role::Acceptor, "ISLD", &format!("TW{number}"));
            Peer::of(&settings).only_from(Addresses::of(blocks.into()))
        };
        (10..26).map(peer).collect()
    }

    #[test]
    fn a_logon_matches_a_peer_only_with_its_comp_ids_and_address() {
        let peers = peers();
        let place = |sender: &[u8], target: &[u8], last| {
            let from = Ipv4Addr::new(127, 0, 0, last);
            place_of(peers.iter(), &Names { sender, target }, from)
        };
        assert_eq!(place(b"TW10", b"ISLD", 0), Some(0));
        assert_eq!(place(b"TW25", b"ISLD", 2), Some(15));
        for (sender, target, last) in [
            (&b"TW26"[..], &b"ISLD"[..], 0),
            (b"TW10", b"ISLE", 0),
            (b"TW10", b"ISLD", 3),
            (b"ISLD", b"TW10", 0),
        ] {
            assert_eq!(place(sender, target, last), None);
        }
    }

    /// Measures both cases alternately and compares their medians. Load of the host disturbs some rounds; a real
    /// difference shows in every round.
    #[test]
    fn the_search_takes_the_same_time_whatever_is_wrong() {
        let peers = peers();
        let cases: [(&[u8], &[u8], u8); 4] = [
            (b"TW99", b"ISLD", 1),
            (b"TW10", b"ISLD", 3),
            (b"TW25", b"ISLD", 3),
            (b"TW10", b"ISLE", 1),
        ];
        let round = || {
            let mut took_ns = [const { Vec::new() }; 4];
            for _ in 0..10_000 {
                for ((sender, target, last), took_ns) in cases.iter().zip(&mut took_ns) {
                    let (names, from) = (Names { sender, target }, Ipv4Addr::new(127, 0, 0, *last));
                    let start = Instant::now();
                    let found = place_of(peers.iter(), &names, from);
                    took_ns.push(start.elapsed().as_nanos());
                    assert_eq!(found, None);
                }
            }
            took_ns.map(|mut all| *all.select_nth_unstable(5_000).1)
        };
        let rounds: Vec<_> = (0..5).map(|_| round()).collect();
        let is_alike = |middles: &[u128; 4]| {
            let (least, most) = (middles.iter().min(), middles.iter().max());
            most.zip(least)
                .is_some_and(|(most, least)| 10 * most < 11 * least)
        };
        assert!(rounds.iter().any(is_alike), "{rounds:?} ns");
    }
}
