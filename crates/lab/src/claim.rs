//! Exclusive use of multicast addresses by one simulator of a host.
//!
//! Packets of two exchanges on one multicast group have the same numbers, so no receiver can separate them. Each
//! simulator claims its addresses, and a second simulator is refused. A claim is the name of an abstract socket: the name
//! leaves no file, is visible to all users, belongs to one network namespace (as groups do), and ends with its process.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddrV4;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Claimed addresses of a simulator; released when this value is dropped.
#[derive(Debug, Default)]
pub struct Claim {
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    address: SocketAddrV4,
    /// The claim, and a second name with the process id.
    _names: [UnixDatagram; 2],
}

/// Reason why an address cannot be claimed.
#[derive(Debug)]
pub enum Refused {
    /// Another simulator sends to the address.
    Taken {
        /// The address.
        address: SocketAddrV4,
        /// Process of the simulator, if known.
        process: Option<u32>,
    },
    /// The system refuses abstract sockets.
    System(io::Error),
}

/// Prefix of the names of claims.
const CLAIM: &str = "touchline-sim/";

impl Claim {
    /// Claims further addresses; skips those that this value has claimed already.
    ///
    /// # Errors
    /// Another process has claimed one of them. The addresses before it stay claimed.
    pub fn add(
        &mut self,
        addresses: impl IntoIterator<Item = SocketAddrV4>,
    ) -> Result<(), Refused> {
        for address in addresses {
            if self.held.iter().all(|held| held.address != address) {
                self.held.push(hold(address)?);
            }
        }
        Ok(())
    }
}

fn hold(address: SocketAddrV4) -> Result<Held, Refused> {
    // Bound before the claim, so that a refused simulator also finds the process id.
    let whose = bind(&format!("{CLAIM}{address} {}", std::process::id()));
    let claim = bind(&format!("{CLAIM}{address}"));
    match (claim, whose) {
        (Ok(claim), Ok(whose)) => Ok(Held {
            address,
            _names: [claim, whose],
        }),
        (Err(error), whose) if error.kind() == ErrorKind::AddrInUse => {
            drop(whose);
            Err(Refused::Taken {
                address,
                process: holder(address),
            })
        }
        (Err(error), _) | (_, Err(error)) => Err(Refused::System(error)),
    }
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Process that has claimed an address: the kernel lists the names of all sockets of the network
/// namespace.
fn holder(address: SocketAddrV4) -> Option<u32> {
    let names = std::fs::read_to_string("/proc/net/unix").ok()?;
    let start = format!("@{CLAIM}{address} ");
    let mut processes = names
        .lines()
        .filter_map(|line| line.split_once(&start)?.1.parse().ok());
    processes.next()
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Taken { address, process } => {
                write!(out, "{address} is in use by another simulator")?;
                match process {
                    Some(process) => write!(out, ", process {process}"),
                    None => Ok(()),
                }
            }
            Refused::System(error) => write!(
                out,
                "cannot claim the simulator's addresses: a socket of family AF_UNIX is refused ({error}); allow AF_UNIX"
            ),
        }
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn an_address_is_claimed_once_and_is_free_again() {
        // No host sends to 0.0.0.0; the port separates concurrent runs of this test.
        let port = std::process::id() as u16;
        let [one, two, other] =
            [1, 2, 3].map(|last| SocketAddrV4::new(Ipv4Addr::new(0, 0, 0, last), port));
        let mut first = Claim::default();
        first.add([one, two, one]).expect("nobody has them");
        let mut second = Claim::default();
        let refused = second.add([other, two]).expect_err("it is taken");
        assert_eq!(
            refused.to_string(),
            format!(
                "0.0.0.2:{port} is in use by another simulator, process {}",
                std::process::id()
            )
        );
        drop(first);
        second.add([one, two]).expect("they are free again");
    }
}
