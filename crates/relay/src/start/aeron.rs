//! Aeron links.

use super::{StartError, Started, Thread, receive_settings, send_settings};
use crate::config::{Address, Config, ReceiveConfig, SendConfig};
use crate::head::Source;
use crate::link::aeron::{AeronReceive, AeronSend, DriverOptions, DriverPlace, check, client};
use crate::run::{ReceiveSettings, Receiving, RunError, SendSettings, Sending, Work};
use crate::sender::Cyclic;
use std::rc::Rc;
use std::time::Duration;
use touchline_aeron::{Channel, Client};
use touchline_transport::shm::Root;

/// Longest random delay of a request: receivers of a group lose messages at the same time.
const REQUEST_DELAY_NS_MAX: u64 = 20_000_000;

/// A sending link.
pub fn send(
    config: &Config,
    link: &SendConfig,
    root: &Root,
    own: Source,
) -> Result<Started, StartError> {
    let mut settings = send_settings(link, root, own, link.stream.unsigned_abs());
    settings.cyclic = Some(Cyclic {
        share: link.refresh_share,
        round_ns_max: link.refresh_round_ms_max * 1_000_000,
    });
    let requests = requests(&link.to, link.stream, link.control.as_deref())?;
    let (channel, stream) = (link.to.host.clone(), link.stream);
    let driver = driver(config)?;
    Ok(Started {
        bus: link.bus.clone(),
        address: format!("{}#{stream}", link.to),
        sends: true,
        begin: Box::new(move |thread| {
            let requests = Some((requests.0.as_str(), requests.1));
            let client = thread.client(&driver)?;
            let link = AeronSend::open(client, &channel, stream, requests).map_err(failed)?;
            settings.batch_bytes_max = link.batch_bytes_max();
            send_aeron(settings, link)
        }),
    })
}

/// A receiving link.
pub fn receive(
    config: &Config,
    link: &ReceiveConfig,
    root: &Root,
    own: &[Source],
) -> Result<Started, StartError> {
    let mut settings = receive_settings(link, root, own);
    settings.receiver.request_delay_ns_max = REQUEST_DELAY_NS_MAX;
    let requests = requests(&link.from, link.stream, link.control.as_deref())?;
    let (channel, stream) = (link.from.host.clone(), link.stream);
    let from_hosts = link.from_hosts.clone();
    let driver = driver(config)?;
    Ok(Started {
        bus: link.bus.clone(),
        address: format!("{}#{stream}", link.from),
        sends: false,
        begin: Box::new(move |thread| {
            let requests = Some((requests.0.as_str(), requests.1));
            let client = thread.client(&driver)?;
            let timeout_ns = settings.receiver.link_timeout_ns;
            let link =
                AeronReceive::open(client, &channel, stream, requests, timeout_ns, from_hosts);
            receive_aeron(settings, link.map_err(failed)?)
        }),
    })
}

/// Runs a sending link over Aeron; compiled with the optimization of this crate, as [`send_tcp`](super::send_tcp).
///
/// # Errors
/// As for [`Sending::new`].
pub fn send_aeron(settings: SendSettings, link: AeronSend) -> Result<Box<dyn Work>, RunError> {
    Ok(Box::new(Sending::new(settings, link)?))
}

/// Runs a receiving link over Aeron.
///
/// # Errors
/// As for [`Receiving::open`].
pub fn receive_aeron(
    settings: ReceiveSettings,
    link: AeronReceive,
) -> Result<Box<dyn Work>, RunError> {
    Ok(Box::new(Receiving::open(settings, link)?))
}

impl Thread {
    /// The client of this thread.
    fn client(&mut self, driver: &DriverOptions) -> Result<Rc<Client>, RunError> {
        if let Some(client) = &self.aeron {
            return Ok(Rc::clone(client));
        }
        let client = client(driver).map_err(failed)?;
        Ok(Rc::clone(self.aeron.insert(client)))
    }
}

/// Name of a driver with threads in a configuration; folders are absolute, or contain a slash.
const THREADS: &str = "threads";

fn driver(config: &Config) -> Result<DriverOptions, StartError> {
    let place = match &config.driver {
        None => DriverPlace::Embedded,
        Some(name) if name.as_os_str() == THREADS => DriverPlace::Threads {
            cpus: config.driver_cpus,
        },
        Some(folder) => DriverPlace::Folder(folder.clone()),
    };
    if config.driver_cpus.is_some() && !matches!(place, DriverPlace::Threads { .. }) {
        let why = "driver_cpus is for a driver with threads of its own; set driver = \"threads\"";
        return Err(StartError::Setting(why.to_owned()));
    }
    Ok(DriverOptions {
        place,
        // Data and requests.
        streams: 2 * (config.send.len() + config.receive.len()) as u32,
        nak_backoff_max: config.nak_backoff_us_max.map(Duration::from_micros),
        group_size: config.group_size,
    })
}

/// Channel and stream of requests and probes: as configured, or those of the data if both sides can send there.
fn requests(
    data: &Address,
    stream: i32,
    control: Option<&str>,
) -> Result<(String, i32), StartError> {
    check(&data.host).map_err(StartError::Setting)?;
    if let Some(control) = control {
        check(control).map_err(StartError::Setting)?;
        return Ok((control.to_owned(), stream + 1));
    }
    let channel =
        Channel::new(&data.host).map_err(|error| StartError::Setting(error.to_string()))?;
    if channel.is_multicast() || channel.is_ipc() {
        return Ok((data.host.clone(), stream + 1));
    }
    Err(StartError::Setting(format!(
        "{data} has no way back: a receiver measures the age of its books with probes to the sender; set control (--control) to an Aeron channel of the sending host, such as aeron:udp?endpoint=HOST:PORT, on both sides"
    )))
}

fn failed(error: touchline_aeron::Error) -> RunError {
    RunError::Link(error.to_string())
}
