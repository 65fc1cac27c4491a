//! `touchline metrics`: the Prometheus exporter for the buses of this host.

pub mod format;
mod ladder;
pub mod names;
mod page;
mod readers;
mod request;
pub mod server;
#[cfg(test)]
mod tests;

use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments, LogThread, events};
use crate::output::{Failure, StateLines, ended, log_thread, say};
use crate::place::Place;
use server::{Content, Server};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use touchline_client::monitor::Monitor;

/// Serve the counters of all buses of this host to Prometheus.
///
/// The exporter only reads shared memory: a scrape slows no gateway and no reader. Each scrape reports every bus of the
/// directory at the moment of the scrape.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Address and port to listen on; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9464")]
    listen: SocketAddr,
    #[command(flatten)]
    place: Place,
    /// Print the page once, and exit.
    #[arg(long, conflicts_with = "listen")]
    print: bool,
    #[command(flatten)]
    log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline metrics
  touchline metrics --print | promtool check metrics
  curl http://127.0.0.1:9464/metrics

Two paths are served: /metrics, and /healthz, which answers `ok` while the directory of the buses
can be read. There is no password and no encryption: listen on a loopback address, or behind a
proxy that has both. Dashboard, alerts and units for systemd are in ops/; docs/metrics.md says
what to watch.

Exit status:
  0  done, or stopped by Ctrl-C or SIGTERM
  1  cannot listen on the address
  2  bad arguments";

/// Interval of checks for an interrupt.
const NAP: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let monitor = arguments.place.monitor();
    if arguments.print {
        return say(&page::of(&monitor));
    }
    let interrupt = Interrupt::catch()?;
    let listener = listen(arguments.listen)?;
    let mut log = log_thread(Log::to_stderr(arguments.log, Vec::new()))?;
    let outcome = serve(listener, monitor, &interrupt, &mut log);
    ended(outcome.map(|()| String::new()), log)
}

fn serve(
    listener: TcpListener,
    monitor: Monitor,
    interrupt: &Interrupt,
    log: &mut LogThread,
) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(Failure::run)?;
    let directory = monitor.path().display().to_string();
    let said = [
        ("address", address.to_string().into()),
        ("directory", directory.into()),
    ];
    log.write(&events::SERVING, said);
    if !address.ip().is_loopback() {
        let address = ("address", address.to_string().into());
        log.write(&events::ADDRESS_EXPOSED, [address]);
    }
    StateLines::start()?.write(format!(
        "{} on http://{address}/metrics\n",
        monitor.path().display()
    ));
    let monitor = Arc::new(monitor);
    let page = Arc::clone(&monitor);
    let content = Content {
        page: Box::new(move || page::of(&page)),
        health: Box::new(move || page::health(&monitor).map_err(|error| error.to_string())),
    };
    Server::new(listener, content)
        .start()
        .map_err(Failure::run)?;
    while !interrupt.is_asked() {
        std::thread::sleep(NAP);
    }
    log.write(&events::STOPPED, []);
    Ok(())
}

/// Listens for scrapes.
///
/// # Errors
/// One line with the fix.
pub fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::AddrInUse => {
                "the address is in use; `ss -ltnp` names the process; stop it, or give another --listen"
                    .to_owned()
            }
            ErrorKind::AddrNotAvailable => {
                "this host has no such address; `ip address` lists its addresses".to_owned()
            }
            ErrorKind::PermissionDenied => {
                "permission denied: ports below 1024 are for root; give another --listen".to_owned()
            }
            _ => error.to_string(),
        };
        Failure::run(format!("cannot listen on {address}: {why}"))
    })
}
