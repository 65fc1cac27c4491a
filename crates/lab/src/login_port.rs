//! A port that many may connect to, and the connections that have not logged on.

use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_net::Stream;
use touchline_net::stream::{Error, Listener};
use touchline_session::access_control::{LoginQueue, Rules, Unauthenticated};
use touchline_types::ReceiveTime;

/// A listener, with the login queue behind it.
#[derive(Debug)]
pub struct LoginPort {
    listener: Listener,
    /// Those who have not logged on.
    pub queue: LoginQueue<Stream>,
}

/// Connections taken in one turn.
const ACCEPTS: usize = 64;

impl LoginPort {
    /// Listens.
    ///
    /// # Errors
    /// The address is not ours, or taken.
    pub fn listen(address: SocketAddrV4, rules: Rules) -> Result<LoginPort, Error> {
        Ok(LoginPort {
            listener: Listener::bind(address)?,
            queue: LoginQueue::new(rules),
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// Takes new connections; answers whether there were any. For the rest see [`LoginQueue::offer`].
    pub fn accept(
        &mut self,
        served: usize,
        time: ReceiveTime,
        is_listed: impl Fn(Ipv4Addr) -> bool,
    ) -> bool {
        // mutant: door: a turn takes as many connections as come
        for taken in 0..ACCEPTS {
            // Out of sockets: it passes.
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            self.queue
                .offer(stream, *from.ip(), served, time, &is_listed);
        }
        true
    }

    /// The next one who waits no longer: see [`LoginQueue::next`].
    pub fn next(
        &mut self,
        place: &mut usize,
        time: ReceiveTime,
    ) -> Option<Unauthenticated<Stream>> {
        let read = |stream: &mut Stream, room: &mut [u8]| stream.receive(room).ok();
        self.queue.next(place, time, read)
    }
}
