//! Address of a host. A name server may take seconds to answer, and the thread of a link has other links: names are looked up on a thread of
//! their own.

use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

type Found = Result<SocketAddrV4, String>;

/// Looks up one host, again and again.
#[derive(Debug)]
pub struct Lookup {
    /// Host and port as configured.
    host: String,
    resolve: fn(&str) -> Found,
    /// The address last found.
    last: Option<SocketAddrV4>,
    /// The lookup that is still running.
    running: Option<Receiver<Found>>,
}

impl Lookup {
    /// A lookup of `host`, a name or an address with a port.
    pub fn new(host: &str) -> Lookup {
        Lookup::with(host, resolve)
    }

    fn with(host: &str, resolve: fn(&str) -> Found) -> Lookup {
        Lookup {
            host: host.to_owned(),
            resolve,
            last: None,
            running: None,
        }
    }

    /// The address for an attempt to connect; `None` while the first one is looked up. Each attempt also begins a lookup, for the next
    /// one: the host may have moved, and a name server that does not answer keeps no link from the address that was found before.
    pub fn address(&mut self) -> Option<Found> {
        if let Ok(address) = self.host.parse() {
            return Some(Ok(address));
        }
        let mut failed = None;
        match self.answer() {
            Some(Ok(address)) => self.last = Some(address),
            Some(Err(reason)) => failed = Some(Err(reason)),
            None => {}
        }
        // Without an address a failure is that of this attempt, and the next attempt begins the next lookup.
        if self.running.is_none()
            && (self.last.is_some() || failed.is_none())
            && let Err(reason) = self.begin()
        {
            failed = Some(Err(reason));
        }
        self.last.map(Ok).or(failed)
    }

    /// Answer of the running lookup, if it has ended.
    fn answer(&mut self) -> Option<Found> {
        let answer = match self.running.as_ref()?.try_recv() {
            Ok(found) => found,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err("the lookup of the host ended".to_owned()),
        };
        self.running = None;
        Some(answer)
    }

    fn begin(&mut self) -> Result<(), String> {
        let (answers, running) = sync_channel(1);
        let (host, resolve) = (self.host.clone(), self.resolve);
        std::thread::Builder::new()
            .name("relay-lookup".to_owned())
            // A link that has ended waits for no answer.
            .spawn(move || drop(answers.send(resolve(&host))))
            .map_err(|error| format!("cannot start a thread for a lookup: {error}"))?;
        self.running = Some(running);
        Ok(())
    }
}

fn resolve(host: &str) -> Found {
    let found = host.to_socket_addrs();
    let mut found = found.map_err(|error| format!("cannot look up the host's address: {error}"))?;
    let v4 = found.find_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    v4.ok_or_else(|| "the host has no IPv4 address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU16, Ordering};
    use std::time::{Duration, Instant};
    use touchline_testing::{PATIENCE, until};

    fn port(lookup: &mut Lookup) -> Option<u16> {
        let found = lookup.address()?;
        found.ok().map(|address| address.port())
    }

    #[test]
    fn a_name_server_that_does_not_answer_holds_no_attempt() {
        /// Next answer; 0: none.
        static PORT: AtomicU16 = AtomicU16::new(1);
        let mut lookup = Lookup::with("host:1", |_| {
            while PORT.load(Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(SocketAddrV4::new(
                [127, 0, 0, 1].into(),
                PORT.load(Ordering::Relaxed),
            ))
        });
        let found = |lookup: &mut Lookup, wanted: u16| {
            until("the address", PATIENCE, || match port(lookup) {
                Some(port) if port == wanted => Ok(()),
                other => Err(other),
            });
        };
        found(&mut lookup, 1);
        PORT.store(0, Ordering::Relaxed);
        let start = Instant::now();
        for _ in 0..20 {
            assert_eq!(port(&mut lookup), Some(1), "that found before");
        }
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        PORT.store(2, Ordering::Relaxed);
        found(&mut lookup, 2);
    }

    #[test]
    fn without_an_address_a_failed_lookup_is_a_failed_attempt() {
        let mut lookup = Lookup::with("host:1", |_| Err("no such host".to_owned()));
        assert_eq!(lookup.address(), None, "being looked up");
        for _ in 0..2 {
            until("a failure", PATIENCE, || match lookup.address() {
                Some(Err(reason)) if reason == "no such host" => Ok(()),
                other => Err(other),
            });
        }
    }

    #[test]
    fn an_address_is_not_looked_up() {
        let mut lookup = Lookup::with("127.0.0.1:7", |_| Err("looked up".to_owned()));
        assert_eq!(port(&mut lookup), Some(7));
    }
}
