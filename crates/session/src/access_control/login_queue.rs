//! Queue of unauthenticated connections.

use super::{LoginThrottle, ThrottleLimits};
use crate::fix::{DisconnectReason, Names, first_message};
use std::net::Ipv4Addr;
use touchline_types::ReceiveTime;

/// Limits of unauthenticated connections.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Maximum number of unauthenticated connections from one address.
    pub unauthenticated_per_address: usize,
    /// Maximum number of unauthenticated connections.
    pub unauthenticated_max: usize,
    /// Maximum size of the first message, bytes.
    pub logon_bytes_max: usize,
    /// Maximum wait for the first message.
    pub logon_wait_ns: u64,
    /// Limits of failed Logons.
    pub throttle_limits: ThrottleLimits,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            unauthenticated_per_address: 256,
            unauthenticated_max: 1_024,
            logon_bytes_max: 4 * 1_024,
            logon_wait_ns: 10_000_000_000,
            throttle_limits: ThrottleLimits::default(),
        }
    }
}

/// Login queue: the unauthenticated connections of a port, within the limits of its rules. The owner defines the type
/// of a connection and reads from it.
#[derive(Debug)]
pub struct LoginQueue<C> {
    rules: Rules,
    all: Vec<Unauthenticated<C>>,
    login_throttle: LoginThrottle,
    connections: u64,
    turned_away: u64,
}

/// An unauthenticated connection.
#[derive(Debug)]
pub struct Unauthenticated<C> {
    /// The connection.
    pub stream: C,
    /// Source address.
    pub from: Ipv4Addr,
    /// Received bytes.
    pub bytes: Vec<u8>,
    bytes_max: usize,
    until_ns: u64,
}

/// Maximum size of one read from an unauthenticated connection, bytes.
const READ: usize = 1_024;

impl<C> LoginQueue<C> {
    /// An empty queue.
    pub fn new(rules: Rules) -> LoginQueue<C> {
        LoginQueue {
            login_throttle: LoginThrottle::new(rules.throttle_limits),
            rules,
            all: Vec::new(),
            connections: 0,
            turned_away: 0,
        }
    }

    /// Number of connections in the queue.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Number of connections that were closed without a session.
    pub fn turned_away(&self) -> u64 {
        self.turned_away
    }

    /// Counts a connection that left the queue and was closed without a session.
    pub fn turn_away(&mut self) {
        self.turned_away += 1;
    }

    /// Whether an address is throttled; its bytes are not read.
    pub fn is_waiting(&self, from: Ipv4Addr, time: ReceiveTime) -> bool {
        self.login_throttle.is_waiting(from, time.mono_ns)
    }

    /// Records a failed Logon of this address.
    pub fn failed(&mut self, from: Ipv4Addr, time: ReceiveTime) {
        self.login_throttle.failed(from, time.mono_ns);
    }

    /// Adds a connection. The limits also count `served` other connections. A connection from an allowed address enters
    /// the queue; any other is dropped.
    pub fn offer(
        &mut self,
        stream: C,
        from: Ipv4Addr,
        served: usize,
        time: ReceiveTime,
        is_listed: impl Fn(Ipv4Addr) -> bool,
    ) {
        self.connections += 1;
        let is_full = self.is_full(from, served);
        // Otherwise addresses that are not allowed would use up the slots of allowed ones.
        if !is_listed(from) || is_full || self.is_waiting(from, time) {
            self.turned_away += 1;
            return;
        }
        self.all.push(Unauthenticated {
            stream,
            from,
            bytes: Vec::new(),
            bytes_max: self.rules.logon_bytes_max,
            until_ns: time.mono_ns + self.rules.logon_wait_ns,
        });
        let max = self.rules.unauthenticated_max;
        assert!(
            self.all.len() <= max,
            "no more unauthenticated connections than allowed"
        );
    }

    fn is_full(&self, from: Ipv4Addr, served: usize) -> bool {
        let of_address = self.all.iter().filter(|other| other.from == from);
        self.all.len() + served >= self.rules.unauthenticated_max
            || of_address.count() >= self.rules.unauthenticated_per_address
    }

    /// The next connection from `place` on that sent its first message, disconnected, or timed out; it leaves the
    /// queue. `read` fills a buffer from a connection and returns the number of bytes, `None` after a disconnect.
    pub fn next(
        &mut self,
        place: &mut usize,
        time: ReceiveTime,
        mut read: impl FnMut(&mut C, &mut [u8]) -> Option<usize>,
    ) -> Option<Unauthenticated<C>> {
        while let Some(unauthenticated) = self.all.get_mut(*place) {
            let is_there =
                unauthenticated.read(&mut read) && time.mono_ns < unauthenticated.until_ns;
            if !is_there || !unauthenticated.may_go_on() {
                // In order of arrival, since times of Logons must not decrease.
                return Some(self.all.remove(*place));
            }
            *place += 1;
        }
        None
    }
}

impl<C> Unauthenticated<C> {
    /// The claimed identity; `None` before it is complete.
    ///
    /// # Errors
    /// The first message is not a Logon or has no CompIDs.
    pub fn names(&self) -> Result<Option<Names<'_>>, DisconnectReason> {
        first_message(&self.bytes, self.bytes_max)
    }

    fn may_go_on(&self) -> bool {
        self.bytes.len() < self.bytes_max && matches!(self.names(), Ok(None))
    }

    /// Reads pending bytes. `false`: the other side has disconnected.
    fn read(&mut self, read: &mut impl FnMut(&mut C, &mut [u8]) -> Option<usize>) -> bool {
        let mut room = [0; READ];
        while self.bytes.len() < self.bytes_max {
            let most = READ.min(self.bytes_max - self.bytes.len());
            match read(&mut self.stream, &mut room[..most]) {
                Some(0) => return true,
                Some(bytes) => self.bytes.extend_from_slice(&room[..bytes]),
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    /// Bytes that a connection sends, one part per read.
    type Said = Vec<&'static [u8]>;

    fn read(said: &mut Said, room: &mut [u8]) -> Option<usize> {
        if said.is_empty() {
            return Some(0);
        }
        let part = said.remove(0);
        room[..part.len()].copy_from_slice(part);
        (!part.is_empty()).then_some(part.len())
    }

    fn queue(rules: Rules) -> LoginQueue<Said> {
        LoginQueue::new(rules)
    }

    #[test]
    fn a_connection_is_handed_over_with_its_first_message_and_the_others_keep_their_order() {
        let mut queue = queue(Rules::default());
        let now = ReceiveTime::at(1);
        let says: [Said; 4] = [
            vec![b"8=FIX.4.4\x019=2"],
            vec![b"GET / HTTP/1.1"],
            vec![],
            vec![b""],
        ];
        for said in says {
            queue.offer(said, FROM, 0, now, |_| true);
        }
        let mut place = 0;
        let noise = queue.next(&mut place, now, read).expect("the noise");
        assert!(noise.names().is_err());
        let gone = queue.next(&mut place, now, read).expect("who has gone");
        assert!(gone.bytes.is_empty());
        assert!(queue.next(&mut place, now, read).is_none());
        assert_eq!((queue.count(), queue.connections()), (2, 4));
        // They timed out.
        let late = ReceiveTime::at(1 + Rules::default().logon_wait_ns);
        let mut place = 0;
        while let Some(late) = queue.next(&mut place, late, read) {
            assert_eq!(late.names(), Ok(None));
        }
        assert_eq!(queue.count(), 0);
    }

    #[test]
    fn the_number_of_connections_is_limited_and_other_addresses_are_refused() {
        let rules = Rules {
            unauthenticated_per_address: 2,
            unauthenticated_max: 3,
            ..Rules::default()
        };
        let mut queue = queue(rules);
        let other = Ipv4Addr::new(127, 0, 0, 3);
        for from in [FROM, FROM, FROM, other, other] {
            queue.offer(vec![], from, 0, ReceiveTime::at(1), |_| true);
        }
        assert_eq!((queue.count(), queue.turned_away()), (3, 2));
        let mut queue = self::queue(rules);
        queue.offer(vec![], FROM, 3, ReceiveTime::at(1), |_| true);
        queue.offer(vec![], FROM, 0, ReceiveTime::at(1), |from| from != FROM);
        assert_eq!((queue.count(), queue.turned_away()), (0, 2));
    }
}
