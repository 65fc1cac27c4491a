//! Start of the links of a configuration.

#[cfg(feature = "aeron")]
mod aeron;
#[cfg(not(feature = "aeron"))]
#[path = "start/no_aeron.rs"]
mod aeron;

#[cfg(feature = "aeron")]
pub use aeron::{receive_aeron, send_aeron};

use crate::config::{Address, Carrier, Config, ConfigError, ReceiveConfig, SendConfig};
use crate::head::Source;
use crate::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use crate::receiver::ReceiverSettings;
use crate::run::{ReceiveSettings, Receiving, RunError, SendSettings, Sending, Work};
use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use touchline_transport::market::EVENT_ORDERS_MAX;
use touchline_transport::shm::{Lock, Root, Settings};

/// A started link, with its name for the log.
pub struct Started {
    /// Name of its bus.
    pub bus: String,
    /// Listening address; for port 0 with the port that the system chose.
    pub address: String,
    /// Whether the link is a sending link.
    pub sends: bool,
    /// Opens the link, on the thread that steps it.
    pub begin: Begin,
}

/// Opener of a link.
pub type Begin = Box<dyn FnOnce(&mut Thread) -> Result<Box<dyn Work>, RunError> + Send>;

/// State that the links of one thread share: an Aeron client, with its driver.
#[derive(Debug, Default)]
pub struct Thread {
    #[cfg(feature = "aeron")]
    aeron: Option<std::rc::Rc<touchline_aeron::Client>>,
}

/// Reason why links cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting: a retry fails as well.
    #[error("{0}")]
    Setting(String),
    /// An address.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: Address,
        /// Reason.
        reason: String,
    },
    /// A bus or a counters file.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Longest batch of a stream: one write; it bounds the delay of receivers.
const STREAM_BATCH_BYTES_MAX: usize = 32 * 1024;
/// Most changes of one event, levels of a book, or orders of an order book.
const ENTRIES_MAX: usize = 65_536;

/// Starts every link of a configuration; `host` is the name of this host.
///
/// # Errors
/// The first link that cannot be started.
pub fn start(config: &Config, root: &Root, host: &str) -> Result<Vec<Started>, StartError> {
    let own = Source::of_host(host);
    let shared = root.clone().shared_with(config.group.as_deref());
    let root = &shared.map_err(|error| RunError::Bus(error.into()))?;
    let mut started = Vec::new();
    let origins = origins(config, own);
    for link in &config.receive {
        started.push(match link.from.carrier {
            Carrier::Aeron => aeron::receive(config, link, root, &origins)?,
            Carrier::Tcp | Carrier::Tls => receive(link, root, &origins)?,
        });
    }
    for link in &config.send {
        started.push(match link.to.carrier {
            Carrier::Aeron => aeron::send(config, link, root, own)?,
            Carrier::Tcp | Carrier::Tls => send(link, root, own)?,
        });
    }
    Ok(started)
}

/// Names of this host as an origin: its own, and each that a sending link of the configuration gives it.
fn origins(config: &Config, own: Source) -> Vec<Source> {
    // mutant: relay: data of a named origin may come back
    let named = config.send.iter().filter_map(|link| link.source);
    std::iter::once(own).chain(named).collect()
}

fn send(config: &SendConfig, root: &Root, own: Source) -> Result<Started, StartError> {
    let refused = |reason: String| StartError::Listen {
        address: config.to.clone(),
        reason,
    };
    let address = listen_address(&config.to).map_err(refused)?;
    let settings = TcpSendSettings {
        clients_max: config.clients_max,
        queue_bytes_max: config.queue_bytes_max,
        lag_ns_max: config.lag_ms_max * 1_000_000,
        ..TcpSendSettings::default()
    };
    let tls = match (config.to.carrier, &config.tls) {
        (Carrier::Tcp | Carrier::Aeron, None) => None,
        (Carrier::Tls, Some(tls)) => Some(tls.server().map_err(setting)?),
        (Carrier::Tls, None) => return Err(no_tls(&config.to, "send")),
        (Carrier::Tcp | Carrier::Aeron, Some(_)) => return Err(tls_unused(&config.to, "send")),
    };
    let scheme = if tls.is_some() { "tls" } else { "tcp" };
    let link = TcpSend::bind(address, tls, settings).map_err(|error| refused(error.to_string()))?;
    let bound = link.address();
    let settings = send_settings(config, root, own, bound.port().into());
    Ok(Started {
        bus: config.bus.clone(),
        address: format!("{scheme}://{bound}"),
        sends: true,
        begin: Box::new(move |_| send_tcp(settings, link)),
    })
}

/// Runs a sending link over TCP or TLS.
///
/// This and [`receive_tcp`] are not generic, so they are compiled with the optimization of this crate, for every
/// caller.
///
/// # Errors
/// As for [`Sending::new`].
pub fn send_tcp(settings: SendSettings, link: TcpSend) -> Result<Box<dyn Work>, RunError> {
    Ok(Box::new(Sending::new(settings, link)?))
}

/// Runs a receiving link over TCP or TLS.
///
/// # Errors
/// As for [`Receiving::open`].
pub fn receive_tcp(settings: ReceiveSettings, link: TcpReceive) -> Result<Box<dyn Work>, RunError> {
    Ok(Box::new(Receiving::open(settings, link)?))
}

fn send_settings(config: &SendConfig, root: &Root, own: Source, number: u32) -> SendSettings {
    SendSettings {
        root: root.clone(),
        bus: config.bus.clone(),
        source: config.source.unwrap_or(own),
        forward: config.forward,
        batch_bytes_max: STREAM_BATCH_BYTES_MAX,
        heartbeat_ns: config.heartbeat_ms * 1_000_000,
        cyclic: None,
        name: config.counters_name(number),
    }
}

fn receive(config: &ReceiveConfig, root: &Root, own: &[Source]) -> Result<Started, StartError> {
    let tls = match (config.from.carrier, &config.tls) {
        (Carrier::Tcp | Carrier::Aeron, None) => None,
        (Carrier::Tls, Some(tls)) => Some(tls.client(config.from.name()).map_err(setting)?),
        (Carrier::Tls, None) => return Err(no_tls(&config.from, "receive")),
        (Carrier::Tcp | Carrier::Aeron, Some(_)) => {
            return Err(tls_unused(&config.from, "receive"));
        }
    };
    let settings = receive_settings(config, root, own);
    let link = TcpReceive::new(&config.from.host, tls);
    Ok(Started {
        bus: config.bus.clone(),
        address: config.from.to_string(),
        sends: false,
        begin: Box::new(move |_| receive_tcp(settings, link)),
    })
}

fn receive_settings(config: &ReceiveConfig, root: &Root, own: &[Source]) -> ReceiveSettings {
    ReceiveSettings {
        root: root.clone(),
        bus: config.bus.clone(),
        publication: Settings {
            ring_bytes: config.ring_bytes,
            instruments_max: config.instruments_max,
            image_levels_max: config.image_levels_max,
            orders_max: config.orders_max,
            tops: config.tops,
            lossless: None,
            huge_pages: false,
            lock: Lock::IfAllowed,
        },
        receiver: ReceiverSettings {
            sources: config.source.into_iter().collect(),
            own: own.to_vec(),
            instruments_max: config.instruments_max,
            orders_max: orders_max(config.orders_max),
            entries_max: ENTRIES_MAX,
            link_timeout_ns: config.link_timeout_ms * 1_000_000,
            lag_ns_max: config.lag_ms_max * 1_000_000,
            // Only the sender receives from its clients.
            request_delay_ns_max: 0,
        },
    }
}

/// Room for the orders of a bus; 0: no order books.
fn orders_max(of_bus: usize) -> usize {
    match of_bus {
        0 => 0,
        of_bus => of_bus + EVENT_ORDERS_MAX,
    }
}

fn listen_address(address: &Address) -> Result<SocketAddrV4, String> {
    let found = address.host.to_socket_addrs();
    let mut found = found.map_err(|error| error.to_string())?;
    let v4 = found.find_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    v4.ok_or_else(|| "the host has no IPv4 address".to_owned())
}

fn setting(error: ConfigError) -> StartError {
    StartError::Setting(error.to_string())
}

fn no_tls(address: &Address, table: &str) -> StartError {
    StartError::Setting(format!(
        "{address} needs certificates; name their files in [{table}.tls] of a configuration (--config)"
    ))
}

fn tls_unused(address: &Address, table: &str) -> StartError {
    StartError::Setting(format!(
        "{address} has a table [{table}.tls]; write tls:// or remove the table"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this process sends under a name of the configuration is its own data when it comes back.
    #[test]
    fn a_host_has_its_own_name_and_those_of_its_sending_links() {
        let address: Address = "tcp://127.0.0.1:0".parse().expect("an address");
        let named = |name| Source::named(name).expect("a name");
        let mut config = Config::default();
        for source in [None, Some(named("gw1")), Some(named("gw2"))] {
            config.send.push(SendConfig {
                source,
                ..SendConfig::new("a", address.clone())
            });
        }
        let own = origins(&config, named("host"));
        assert_eq!(own, ["host", "gw1", "gw2"].map(named));
        let root = Root::at(std::path::Path::new("/nowhere"));
        let settings = receive_settings(&ReceiveConfig::new(address, "b"), &root, &own);
        assert_eq!(settings.receiver.own, own);
    }
}
