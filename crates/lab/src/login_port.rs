//! Listening port with the connections whose logon is pending.

use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_net::Connection;
use touchline_net::stream::{Error, Listener, Watch};
use touchline_net::tls::Server;
use touchline_session::access_control::{LoginQueue, Rules, Unauthenticated};
use touchline_types::ReceiveTime;

/// Listener with a login queue, with or without TLS.
#[derive(Debug)]
pub struct LoginPort {
    listener: Listener,
    tls: Option<Server>,
    /// Wakes the thread for connections and their bytes.
    watch: Option<Watch>,
    /// Connections whose logon is pending.
    pub queue: LoginQueue<Connection>,
}

/// Connections accepted in one turn.
const ACCEPTS: usize = 64;

impl LoginPort {
    /// Listens on an address.
    ///
    /// # Errors
    /// The address does not belong to the host, or is in use.
    pub fn listen(address: SocketAddrV4, rules: Rules) -> Result<LoginPort, Error> {
        Ok(LoginPort {
            listener: Listener::bind(address)?,
            tls: None,
            watch: None,
            queue: LoginQueue::new(rules),
        })
    }

    /// Speaks TLS with its clients, if a server is given.
    pub fn with_tls(self, tls: Option<Server>) -> LoginPort {
        LoginPort { tls, ..self }
    }

    /// Wakes a thread that sleeps in [`Readiness::wait`](touchline_net::stream::Readiness::wait), for connections and their bytes.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn watched(self, watch: Watch) -> Result<LoginPort, Error> {
        watch.begin_port(&self.listener)?;
        Ok(LoginPort {
            watch: Some(watch),
            ..self
        })
    }

    /// Listening address, with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// Accepts new connections; returns whether there were any. See [`LoginQueue::offer`].
    pub fn accept(
        &mut self,
        served: usize,
        time: ReceiveTime,
        is_listed: impl Fn(Ipv4Addr) -> bool,
    ) -> bool {
        for taken in 0..ACCEPTS {
            // Out of file descriptors, for a time.
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            if self
                .watch
                .as_ref()
                .is_some_and(|watch| watch.begin(&stream).is_err())
            {
                continue;
            }
            // The handshake is part of the wait for the first message, which the queue limits.
            let Ok(connection) = Connection::accept(stream, self.tls.as_ref(), u64::MAX) else {
                continue;
            };
            self.queue
                .offer(connection, *from.ip(), served, time, &is_listed);
        }
        true
    }

    /// Next connection that leaves the queue: see [`LoginQueue::next`].
    pub fn next(
        &mut self,
        place: &mut usize,
        time: ReceiveTime,
    ) -> Option<Unauthenticated<Connection>> {
        let read = |stream: &mut Connection, room: &mut [u8]| stream.receive(room).ok();
        self.queue.next(place, time, read)
    }
}
