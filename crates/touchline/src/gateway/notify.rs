//! Reports the state of the gateway to the service manager (systemd's `sd_notify` protocol).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Socket of the service manager, if one started the gateway.
#[derive(Debug)]
pub struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl Notify {
    /// The socket named by the environment; without one, later calls send no report.
    pub fn from_environment() -> Notify {
        let address = std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            // A name that starts with @ is in the abstract namespace.
            match name.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name).ok(),
                None => SocketAddr::from_pathname(&name).ok(),
            }
        });
        Notify {
            socket: UnixDatagram::unbound().ok().zip(address),
        }
    }

    /// Sends a state; failures to send are ignored.
    pub fn say(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}
