//! `touchline metrics`: what the buses of this host count, for Prometheus.

mod format;
mod ladder;
mod names;
mod page;
mod readers;
mod request;
mod server;
#[cfg(test)]
mod tests;

use crate::interrupt::Interrupt;
use crate::output::{Failure, Output, say};
use crate::place::Place;
use server::Server;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// Serve what the buses of this host count, in Prometheus' text format.
///
/// A process of its own that only reads shared memory: it slows no gateway and no reader. Every bus of the directory is shown, as it is when it is asked for.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    #[command(flatten)]
    place: Place,
    /// Print the page once and exit.
    #[arg(long, conflicts_with = "listen")]
    print: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline metrics
  touchline metrics --print | promtool check metrics
  curl http://127.0.0.1:9464/metrics

Two paths are served: /metrics, and /healthz, which answers `ok` while the directory of the buses can be
read. There is no password and no encryption: use a loopback address, or a proxy with both. Dashboard, alerts and units for systemd are in ops/; docs/metrics.md lists the metrics.

Exit status:
  0  done, or stopped by Ctrl-C or SIGTERM
  1  cannot listen on the address
  2  bad arguments";

/// How soon an interrupt is followed.
const NAP: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let monitor = arguments.place.monitor();
    if arguments.print {
        return say(&page::of(&monitor));
    }
    let interrupt = Interrupt::catch()?;
    let listener = listen(arguments.listen)?;
    let address = listener.local_addr().map_err(Failure::run)?;
    if !address.ip().is_loopback() {
        let warning = format!(
            "touchline: {address} can be reached from other hosts, without a password; \
             127.0.0.1 cannot"
        );
        // Where nobody can be told any more, nobody is.
        let _ = writeln!(std::io::stderr(), "{warning}");
    }
    let mut output = Output::stdout()?;
    output.line(&format!(
        "{} on http://{address}/metrics",
        monitor.path().display()
    ))?;
    output.flush()?;
    Server::new(listener, monitor)
        .start()
        .map_err(Failure::run)?;
    while !interrupt.is_asked() {
        std::thread::sleep(NAP);
    }
    Ok(())
}

fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::AddrInUse => {
                "somebody listens there already; `ss -ltnp` says who, or give another --listen"
                    .to_owned()
            }
            ErrorKind::AddrNotAvailable => {
                "this host has no such address; `ip address` shows those it has".to_owned()
            }
            ErrorKind::PermissionDenied => {
                "not allowed; ports below 1024 are for root, give another --listen".to_owned()
            }
            _ => error.to_string(),
        };
        Failure::run(format!("cannot listen on {address}: {why}"))
    })
}
