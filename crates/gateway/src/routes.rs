//! Routes: the stream of a venue for each destination address.

use std::net::SocketAddrV4;

/// Routes of a channel: the feed's source for each group and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes<S>(Box<[(u64, S)]>);

/// An address as one number, for fast comparison.
#[inline]
fn key(address: SocketAddrV4) -> u64 {
    u64::from(address.ip().to_bits()) << 16 | u64::from(address.port())
}

/// An address with two sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is used by two streams of the channel")]
pub struct Doubled(pub SocketAddrV4);

impl<S: Copy> Routes<S> {
    /// Routes in any order.
    ///
    /// # Errors
    /// An address that occurs twice.
    pub fn new(mut routes: Vec<(SocketAddrV4, S)>) -> Result<Routes<S>, Doubled> {
        routes.sort_unstable_by_key(|(address, _)| *address);
        let doubled = routes.windows(2).find(|two| two[0].0 == two[1].0);
        match doubled {
            Some(two) => Err(Doubled(two[0].0)),
            None => {
                let keyed = routes
                    .into_iter()
                    .map(|(address, source)| (key(address), source));
                Ok(Routes(keyed.collect()))
            }
        }
    }

    /// Source of packets to this group and port; `None` if the channel does not have it.
    #[inline]
    #[must_use]
    pub fn find(&self, destination: SocketAddrV4) -> Option<S> {
        let destination = key(destination);
        let found = self.0.binary_search_by_key(&destination, |(key, _)| *key);
        found.ok().map(|at| self.0[at].1)
    }

    /// Number of routes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_source() {
        let address = |text: &str| -> SocketAddrV4 { text.parse().expect("an address") };
        let (one, two) = (address("239.1.1.1:9000"), address("239.1.1.1:9001"));
        let routes = Routes::new(vec![(two, 'b'), (one, 'a')]).expect("two addresses");
        assert_eq!((routes.find(one), routes.find(two)), (Some('a'), Some('b')));
        assert_eq!(routes.find(address("239.1.1.2:9000")), None);
        assert_eq!(routes.len(), 2);
        let doubled = Routes::new(vec![(one, 'a'), (two, 'b'), (one, 'c')]);
        assert_eq!(doubled, Err(Doubled(one)));
    }
}
