//! Aeron links.

use super::{StartError, Started, Thread, receive_settings, send_settings};
use crate::config::{Address, Config, ReceiveConfig, SendConfig};
use crate::head::Source;
use crate::link::aeron::{AeronReceive, AeronSend, DriverPlace, check, client};
use crate::run::{Receiving, RunError, Sending};
use crate::sender::Cyclic;
use std::rc::Rc;
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
    let mut settings = send_settings(link, root, own, link.stream.into());
    settings.cyclic = Some(Cyclic {
        share: link.refresh_share,
        round_ns_max: link.refresh_round_ms_max * 1_000_000,
    });
    let requests = requests(&link.to, link.stream, link.control.as_deref())?;
    let (channel, stream) = (link.to.host.clone(), link.stream);
    let driver = driver(config);
    let streams = streams(config);
    Ok(Started {
        bus: link.bus.clone(),
        address: format!("{}#{stream}", link.to),
        sends: true,
        begin: Box::new(move |thread| {
            let requests = requests
                .as_ref()
                .map(|(channel, stream)| (channel.as_str(), *stream));
            let client = thread.client(&driver, streams)?;
            let link = AeronSend::open(client, &channel, stream, requests).map_err(failed)?;
            settings.batch_bytes_max = link.batch_bytes_max();
            Ok(Box::new(Sending::new(settings, link)?))
        }),
    })
}

/// A receiving link.
pub fn receive(
    config: &Config,
    link: &ReceiveConfig,
    root: &Root,
    own: Source,
) -> Result<Started, StartError> {
    let mut settings = receive_settings(link, root, own);
    settings.receiver.request_delay_ns_max = REQUEST_DELAY_NS_MAX;
    let requests = requests(&link.from, link.stream, link.control.as_deref())?;
    let (channel, stream) = (link.from.host.clone(), link.stream);
    let from_hosts = link.from_hosts.clone();
    let driver = driver(config);
    let streams = streams(config);
    Ok(Started {
        bus: link.bus.clone(),
        address: format!("{}#{stream}", link.from),
        sends: false,
        begin: Box::new(move |thread| {
            let requests = requests
                .as_ref()
                .map(|(channel, stream)| (channel.as_str(), *stream));
            let client = thread.client(&driver, streams)?;
            let timeout_ns = settings.receiver.link_timeout_ns;
            let link =
                AeronReceive::open(client, &channel, stream, requests, timeout_ns, from_hosts);
            Ok(Box::new(Receiving::open(settings, link.map_err(failed)?)?))
        }),
    })
}

impl Thread {
    /// The client of this thread.
    fn client(&mut self, driver: &DriverPlace, streams: u32) -> Result<Rc<Client>, RunError> {
        if let Some(client) = &self.aeron {
            return Ok(Rc::clone(client));
        }
        let client = client(driver, streams).map_err(failed)?;
        Ok(Rc::clone(self.aeron.insert(client)))
    }
}

fn driver(config: &Config) -> DriverPlace {
    match &config.driver {
        Some(folder) => DriverPlace::Folder(folder.clone()),
        None => DriverPlace::Embedded,
    }
}

/// Streams of data and of requests.
fn streams(config: &Config) -> u32 {
    2 * (config.send.len() + config.receive.len()) as u32
}

/// Channel and stream of requests: as configured, or those of the data if both sides can send there.
fn requests(
    data: &Address,
    stream: i32,
    control: Option<&str>,
) -> Result<Option<(String, i32)>, StartError> {
    check(&data.host).map_err(StartError::Setting)?;
    if let Some(control) = control {
        check(control).map_err(StartError::Setting)?;
        return Ok(Some((control.to_owned(), stream + 1)));
    }
    let channel =
        Channel::new(&data.host).map_err(|error| StartError::Setting(error.to_string()))?;
    let is_both_ways = channel.is_multicast() || channel.is_ipc();
    Ok(is_both_ways.then(|| (data.host.clone(), stream + 1)))
}

fn failed(error: touchline_aeron::Error) -> RunError {
    RunError::Link(error.to_string())
}
