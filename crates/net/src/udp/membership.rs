//! Rejoining of groups whose interface was removed and came back.
//!
//! The kernel ends a membership with its interface and does not notify the socket: after a driver reset, a recreated
//! bridge or tunnel, or an address that moves to another card, the socket receives nothing until it joins again. A link
//! that goes down and up keeps its memberships.

use super::Settings;
use super::changes::{Changed, Changes};
use super::socket::Socket;
use std::time::{Duration, Instant};

/// State for keeping the groups of a source joined.
#[derive(Debug)]
pub(super) struct Membership {
    /// `None` if the system does not report interface changes.
    changes: Option<Changes>,
    settings: Settings,
    look: Instant,
    retry: Instant,
    rejoined: u64,
}

/// Interval of checks for changes: one system call each.
const LOOK_EACH: Duration = Duration::from_millis(100);

/// Interval of retries of a failed join.
const RETRY_EACH: Duration = Duration::from_secs(1);

impl Membership {
    /// Watches from now on, before the first join.
    pub fn watch(settings: &Settings) -> Membership {
        let now = Instant::now();
        Membership {
            changes: Changes::watch().ok(),
            settings: settings.clone(),
            look: now,
            retry: now,
            rejoined: 0,
        }
    }

    /// Number of rejoined groups.
    pub fn rejoined(&self) -> u64 {
        self.rejoined
    }

    /// Checks for interface changes and rejoins lost groups. Never waits.
    pub fn look(&mut self, sockets: &mut [Socket]) {
        let now = Instant::now();
        if now < self.look {
            return;
        }
        self.look = now + LOOK_EACH;
        let changed = self.changes.as_mut().map(Changes::take);
        let changed = changed.unwrap_or_default();
        if changed.any {
            Self::lose(&changed, sockets);
        }
        let is_lost = sockets.iter().any(Socket::is_lost);
        if is_lost && (changed.any || now >= self.retry) {
            self.retry = now + RETRY_EACH;
            self.join_again(sockets);
        }
    }

    /// Leaves groups that are not received any more: the kernel limits the memberships of a socket.
    fn lose(changed: &Changed, sockets: &mut [Socket]) {
        for index in &changed.gone {
            sockets.iter_mut().for_each(|socket| socket.lose(*index));
        }
        sockets.iter_mut().for_each(Socket::lose_if_moved);
    }

    fn join_again(&mut self, sockets: &mut [Socket]) {
        for socket in sockets.iter_mut().filter(|socket| socket.is_lost()) {
            self.rejoined += u64::from(socket.join_again(&self.settings).is_ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::{Endpoint, Sender, SenderSettings, interface, kernel::Slots};
    use std::net::{Ipv4Addr, SocketAddrV4};

    /// The kernel reported the removal of the loopback interface: its group is left, receives nothing, and is rejoined
    /// at the next check; that of another interface stays joined.
    #[test]
    fn a_lost_group_is_rejoined_at_the_next_check() {
        let settings = Settings {
            interface: Some("lo".to_owned()),
            ..Settings::default()
        };
        let sent = SenderSettings {
            interface: Some("lo".to_owned()),
            ttl: 0,
            ..SenderSettings::default()
        };
        let sender = Sender::open(&sent).expect("the loopback interface sends");
        for sources in [vec![], vec![Ipv4Addr::LOCALHOST]] {
            let endpoint = Endpoint {
                address: SocketAddrV4::new(Ipv4Addr::new(239, 255, 77, 91), 0),
                sources,
                interface: None,
                urgent: true,
            };
            let mut membership = Membership::watch(&settings);
            let index = interface::index_of(Some("lo")).expect("every host has it");
            let socket = Socket::open(&endpoint, &settings, &mut Vec::new());
            let mut sockets = [socket.expect("the loopback interface takes groups")];
            let heard = |socket: &Socket| {
                sender.send(socket.address, b"x").expect("it is sent");
                std::thread::sleep(Duration::from_millis(30));
                Slots::new(1, 64).receive(socket.fd()).is_ok()
            };
            let gone = |index, sockets: &mut [Socket]| {
                let gone = vec![index];
                Membership::lose(&Changed { any: true, gone }, sockets);
            };
            gone(index + 1, &mut sockets);
            assert!(!sockets[0].is_lost() && heard(&sockets[0]));
            gone(index, &mut sockets);
            assert!(sockets[0].is_lost() && !heard(&sockets[0]));
            membership.look(&mut sockets);
            assert!(!sockets[0].is_lost() && heard(&sockets[0]));
            assert_eq!(membership.rejoined(), 1);
        }
    }
}
