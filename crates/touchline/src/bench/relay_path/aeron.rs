//! Links over Aeron: the relay's, and plain Aeron with datagrams of the same lengths. Each end steps a driver of its own.

use super::super::relay::{Gateway, payload_bytes};
use super::ends::{
    Link, MS, ReceiveSide, RelayReceive, RelaySend, SendSide, create_parent, send_settings,
};
use crate::output::Failure;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use touchline_aeron::{
    Client, Driver, DriverSettings, Error, ExclusivePublication, Refused, Subscription,
};
use touchline_lab::free_port;
use touchline_relay::HEAD_BYTES;
use touchline_relay::batch::MESSAGE_LENGTH_BYTES;
use touchline_relay::link::aeron::{AeronReceive, AeronSend};
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::run::{Sending, Work};
use touchline_relay::start::{receive_aeron, send_aeron};

/// Stream of the relay, and of plain Aeron.
const STREAMS: [i32; 2] = [340, 341];
/// Datagrams in one call of a driver with Aeron's own settings.
const DATAGRAMS_PER_CALL_OF_AERON: u32 = 4;
/// Fragments in one call.
const FRAGMENTS_MAX: usize = 64;

/// Relay over unicast.
pub fn relay(folder: &Path) -> Result<Link, Failure> {
    over("relay-aeron-udp", folder, unicast())
}

/// Relay over a group.
pub fn relay_group(folder: &Path) -> Result<Link, Failure> {
    let channel = format!(
        "aeron:udp?endpoint=239.255.40.47:{}|interface=127.0.0.1",
        free_port()
    );
    over("relay-aeron-multicast", folder, channel)
}

fn over(name: &'static str, folder: &Path, channel: String) -> Result<Link, Failure> {
    let folders = ["near", "far", "driver-a", "driver-b"].map(|part| folder.join(name).join(part));
    let [near, far, near_driver, far_driver] = folders;
    let far_channel = channel.clone();
    Ok(Link {
        name,
        payload_bytes: payload_bytes(),
        send: Box::new(move || {
            let link = AeronSend::open(client(&near_driver, None)?, &channel, STREAMS[0], None);
            let link = link.map_err(Failure::run)?;
            let batch_bytes_max = link.batch_bytes_max();
            RelaySend::open(&near, batch_bytes_max, |settings| {
                send_aeron(settings, link)
            })
        }),
        receive: Box::new(move || {
            let client = client(&far_driver, None)?;
            let timeout_ns = 10_000 * MS;
            let link = AeronReceive::open(
                client,
                &far_channel,
                STREAMS[0],
                None,
                timeout_ns,
                Vec::new(),
            );
            let link = link.map_err(Failure::run)?;
            RelayReceive::open(&far, |settings| receive_aeron(settings, link))
        }),
    })
}

/// Plain Aeron with datagrams of these lengths in turn. Drivers have the relay's settings, or this many datagrams in a call.
pub fn plain(
    name: &'static str,
    folder: &Path,
    lengths: Vec<usize>,
    per_call: Option<u32>,
) -> Result<Link, Failure> {
    let [near, far] = ["driver-a", "driver-b"].map(|part| folder.join(name).join(part));
    let channel = unicast();
    let far_channel = channel.clone();
    let sum: usize = lengths.iter().sum();
    let average = sum / lengths.len().max(1);
    Ok(Link {
        name,
        payload_bytes: average as u64,
        send: Box::new(move || {
            Ok(Box::new(PlainSend::open(
                client(&near, per_call)?,
                &channel,
                lengths,
            )?))
        }),
        receive: Box::new(move || {
            Ok(Box::new(PlainReceive::open(
                client(&far, per_call)?,
                &far_channel,
            )?))
        }),
    })
}

/// The relay, and plain Aeron with both settings of its drivers; with each the number of messages that carry a burst of trades.
pub fn burst_links(folder: &Path, trades: u64) -> Result<Vec<(Link, u64)>, Failure> {
    let longest = datagram_bytes_max(folder)?;
    let lengths = datagrams_of_a_burst(&folder.join("lengths"), longest, trades)?;
    let datagrams = lengths.len() as u64;
    let own = Some(DATAGRAMS_PER_CALL_OF_AERON);
    let same = plain("aeron-udp", folder, lengths.clone(), None)?;
    let own = plain("aeron-udp-own-settings", folder, lengths, own)?;
    Ok(vec![
        (relay(folder)?, trades),
        (same, datagrams),
        (own, datagrams),
    ])
}

/// Lengths of the relay's datagrams: a sender packs a burst into batches for a link in memory.
fn datagrams_of_a_burst(
    folder: &Path,
    batch_bytes_max: usize,
    trades: u64,
) -> Result<Vec<usize>, Failure> {
    let mut gateway = Gateway::start(folder)?;
    let settings = send_settings(folder, batch_bytes_max)?;
    let mut send = Sending::new(settings, MemoryLink::default()).map_err(Failure::run)?;
    // The definition, and a heartbeat.
    while send.work().map_err(Failure::run)? > 0 {}
    let before = send.link().batches.len();
    for _ in 0..trades {
        gateway.publish();
    }
    while send.work().map_err(Failure::run)? > 0 {}
    let batches = send.link().batches.iter().skip(before);
    Ok(batches.map(Vec::len).collect())
}

/// Bytes of the relay's datagram of one trade.
pub fn datagram_bytes() -> usize {
    HEAD_BYTES + MESSAGE_LENGTH_BYTES + payload_bytes() as usize
}

/// Longest datagram.
fn datagram_bytes_max(folder: &Path) -> Result<usize, Failure> {
    let client = client(&folder.join("longest"), None)?;
    let publication = client.exclusive_publication(&unicast(), STREAMS[1]);
    Ok(publication.map_err(Failure::run)?.payload_bytes_max())
}

/// A channel of the loopback that no other process uses now.
fn unicast() -> String {
    format!("aeron:udp?endpoint=127.0.0.1:{}", free_port())
}

/// A client with a driver in this folder.
fn client(folder: &Path, datagrams_per_call: Option<u32>) -> Result<Rc<Client>, Failure> {
    let open = || -> Result<Client, Error> {
        let settings = DriverSettings::at(folder.to_owned());
        let settings = DriverSettings {
            term_bytes: 1024 * 1024,
            datagrams_per_call: datagrams_per_call.unwrap_or(settings.datagrams_per_call),
            ..settings
        };
        Client::embedded(Driver::start(&settings)?)
    };
    create_parent(folder)?;
    Ok(Rc::new(open().map_err(Failure::run)?))
}

/// A publication, and the driver that its end steps.
struct PlainSend {
    publication: ExclusivePublication,
    client: Rc<Client>,
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    published: u64,
    /// Lengths of datagrams that are not sent.
    waiting: VecDeque<usize>,
}

impl PlainSend {
    fn open(client: Rc<Client>, channel: &str, lengths: Vec<usize>) -> Result<PlainSend, Failure> {
        let publication = client.exclusive_publication(channel, STREAMS[1]);
        let publication = publication.map_err(Failure::run)?;
        Ok(PlainSend {
            bytes: vec![7; publication.payload_bytes_max()],
            publication,
            client,
            lengths,
            published: 0,
            waiting: VecDeque::new(),
        })
    }
}

impl SendSide for PlainSend {
    fn publish(&mut self) -> Result<u64, Failure> {
        let length = self.lengths[self.published as usize % self.lengths.len()];
        self.waiting.push_back(length);
        self.published += 1;
        Ok(self.published)
    }

    fn turn(&mut self) -> Result<(), Failure> {
        while let Some(length) = self.waiting.front() {
            match self.publication.offer(&self.bytes[..*length]) {
                Ok(_) => self.waiting.pop_front(),
                Err(Refused::NotConnected | Refused::BackPressured | Refused::AdminAction) => break,
                Err(refused) => return Err(Failure::run(refused)),
            };
        }
        self.client.do_work().map_err(Failure::run)?;
        Ok(())
    }
}

/// A subscription, and the driver that its end steps.
struct PlainReceive {
    subscription: Subscription,
    client: Rc<Client>,
    arrived: u64,
}

impl PlainReceive {
    fn open(client: Rc<Client>, channel: &str) -> Result<PlainReceive, Failure> {
        let subscription = client.subscription(channel, STREAMS[1]);
        Ok(PlainReceive {
            subscription: subscription.map_err(Failure::run)?,
            client,
            arrived: 0,
        })
    }
}

impl ReceiveSide for PlainReceive {
    fn turn(&mut self) -> Result<Option<u64>, Failure> {
        self.client.do_work().map_err(Failure::run)?;
        let polled = self.subscription.poll(FRAGMENTS_MAX, |fragment| {
            std::hint::black_box(fragment.bytes());
        });
        let polled = polled.map_err(Failure::run)?;
        self.arrived += polled as u64;
        Ok((polled > 0).then_some(self.arrived))
    }
}
