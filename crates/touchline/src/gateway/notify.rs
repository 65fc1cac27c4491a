//! Tells the service manager how the gateway stands (systemd's `sd_notify` protocol).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The service manager's socket, if one started us.
#[derive(Debug)]
pub struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl Notify {
    /// As the environment says; without it, nobody is told.
    pub fn from_environment() -> Notify {
        let address = std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            // A name that begins with @ is in the kernel's own space.
            match name.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name).ok(),
                None => SocketAddr::from_pathname(&name).ok(),
            }
        });
        Notify {
            socket: UnixDatagram::unbound().ok().zip(address),
        }
    }

    /// Says it; a manager that does not listen misses it.
    pub fn say(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}
