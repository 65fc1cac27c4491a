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
        // An array: each value is computed, also behind one that is false.
        let checks = [
            theirs.is(names.sender),
            ours.is(names.target),
            self.addresses.have(from),
        ];
        checks.iter().fold(true, |all, each| all & each)
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

    /// Counts the compared peers.
    #[test]
    fn a_search_compares_every_peer() {
        let peers = peers();
        let cases = (10..26).map(|number| (number, Some(number - 10)));
        for (number, place) in cases.chain([(99, None)]) {
            let sender = format!("TW{number}");
            let names = Names {
                sender: sender.as_bytes(),
                target: b"ISLD",
            };
            let mut seen = 0;
            let all = peers.iter().inspect(|_| seen += 1);
            assert_eq!(place_of(all, &names, Ipv4Addr::LOCALHOST), place);
            assert_eq!(seen, peers.len(), "it stopped behind {sender}");
        }
    }
}
