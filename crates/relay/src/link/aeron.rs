//! Aeron: reliable UDP, unicast and multicast, and shared memory.
//!
//! A batch is one Aeron message, so it is one datagram. Refresh requests use a stream of their own, if there is one.
//! With Aeron's default flow control for groups, a receiver that fell behind receives nothing more, and no call reports
//! it; so a subscription without data for the timeout is closed and added again.
//!
//! Aeron does not say which receiver is slow. So receivers report how far they are, on the stream of requests.

mod receivers;

use super::{Kind, LinkEvent, ReceiveLink, SendEvent, SendLink};
use crate::batch::Batch;
use crate::head::{Head, HeadFlags};
use crate::run::unix_ns;
use crate::{ReceiverCounters, SenderCounters};
use receivers::Receivers;
use std::rc::Rc;
use std::time::Duration;
use touchline_aeron::{
    Channel, Client, ClientSettings, Driver, DriverSettings, Error, ExclusivePublication, Refused,
    Subscription, SystemCounter, Threading,
};

/// Datagrams read in one round.
const DATAGRAMS_MAX: usize = 64;
/// Free window that live data must keep before a refresh is sent, bytes.
const REFRESH_ROOM: i64 = 128 * 1024;

/// Media driver of the links of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// Who runs it.
    pub place: DriverPlace,
    /// Streams, for the check of free memory.
    pub streams: u32,
    /// Longest wait before a loss in a group is reported; the default of [`DriverSettings`] if absent.
    pub nak_backoff_max: Option<Duration>,
    /// Receivers of a group; the default of [`DriverSettings`] if absent.
    pub group_size: Option<u32>,
}

/// Who runs a media driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DriverPlace {
    /// Run by the thread of the relay.
    #[default]
    Embedded,
    /// Three threads of this process.
    Threads {
        /// CPUs of conductor, sender and receiver; any if absent.
        cpus: Option<[u16; 3]>,
    },
    /// Run by another process, with this folder.
    Folder(std::path::PathBuf),
}

/// A client for all Aeron links of a thread, with an embedded or an external driver.
///
/// # Errors
/// The driver cannot be started, or does not answer.
pub fn client(options: &DriverOptions) -> Result<Rc<Client>, Error> {
    let threading = match &options.place {
        DriverPlace::Folder(folder) => {
            return Ok(Rc::new(Client::connect(&ClientSettings::at(
                folder.clone(),
            ))?));
        }
        DriverPlace::Embedded => Threading::Embedded,
        DriverPlace::Threads { cpus } => Threading::Dedicated { cpus: *cpus },
    };
    let settings = DriverSettings::named(&format!("relay-{}", std::process::id()));
    let settings = DriverSettings {
        threading,
        streams: options.streams,
        nak_backoff_max: options.nak_backoff_max.unwrap_or(settings.nak_backoff_max),
        group_size: options.group_size.unwrap_or(settings.group_size),
        ..settings
    };
    Ok(Rc::new(Client::embedded(Driver::start(&settings)?)?))
}

/// Verifies a channel before anything is opened: an Aeron URI, with an interface for a group.
///
/// # Errors
/// The channel is invalid.
pub fn check(channel: &str) -> Result<(), String> {
    let channel = Channel::new(channel).map_err(|error| error.to_string())?;
    match channel.is_multicast() && channel.parameter("interface").is_none() {
        true => Err(format!(
            "{channel}: a group needs an interface; append |interface=ADDRESS/BITS of the network that it is for"
        )),
        false => Ok(()),
    }
}

/// A counter of the driver.
fn driver(client: &Client, counter: SystemCounter) -> u64 {
    u64::try_from(client.system_counter(counter)).unwrap_or(0)
}

/// The sending end.
#[derive(Debug)]
pub struct AeronSend {
    publication: ExclusivePublication,
    requests: Option<Subscription>,
    receivers: Receivers,
    looked_ns: u64,
    client: Rc<Client>,
    was_connected: bool,
    asked: u32,
    failed: Option<String>,
}

impl AeronSend {
    /// Opens the data stream and the request stream.
    ///
    /// # Errors
    /// Aeron rejects a channel or does not answer.
    pub fn open(
        client: Rc<Client>,
        channel: &str,
        stream: i32,
        requests: Option<(&str, i32)>,
    ) -> Result<AeronSend, Error> {
        let requests = requests.map(|(channel, stream)| client.subscription(channel, stream));
        Ok(AeronSend {
            publication: client.exclusive_publication(channel, stream)?,
            requests: requests.transpose()?,
            receivers: Receivers::new(),
            looked_ns: 0,
            client,
            was_connected: false,
            asked: 0,
            failed: None,
        })
    }

    /// Updates who the receivers are, and which of them are slow.
    fn look(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        let Some(requests) = &self.requests else {
            return;
        };
        let receivers = &mut self.receivers;
        receivers.look();
        requests.each_image(|image| {
            receivers.present(image.session_id(), image.source_address(), now_ns)
        });
        receivers.looked(now_ns);
    }

    /// Longest batch in one datagram.
    pub fn batch_bytes_max(&self) -> usize {
        self.publication.payload_bytes_max()
    }
}

impl SendLink for AeronSend {
    fn send(&mut self, batch: &Batch, _kind: Kind) -> bool {
        loop {
            return match self.publication.offer(batch.datagram()) {
                // No receiver is connected: new ones get a refresh.
                Ok(_) | Err(Refused::NotConnected) => {
                    if let Some(head) = batch.head() {
                        self.receivers.sent(head);
                    }
                    true
                }
                Err(Refused::AdminAction) => continue,
                Err(Refused::BackPressured) => false,
                Err(refused) => {
                    self.failed = Some(refused.to_string());
                    true
                }
            };
        }
    }

    fn has_room(&self) -> bool {
        self.publication.position_limit() - self.publication.position() > REFRESH_ROOM
    }

    fn asked(&mut self) -> u32 {
        std::mem::take(&mut self.asked)
    }

    fn work(&mut self, now_ns: u64) -> usize {
        let worked = match self.client.do_work() {
            Ok(worked) => worked,
            Err(error) => {
                self.failed = Some(error.to_string());
                return 0;
            }
        };
        let is_connected = self.publication.is_connected();
        if !std::mem::replace(&mut self.was_connected, is_connected) && is_connected {
            self.asked += 1;
        }
        let (asked, receivers) = (&mut self.asked, &mut self.receivers);
        if let Some(requests) = &mut self.requests {
            let polled = requests.poll(DATAGRAMS_MAX, |fragment| {
                let Ok(head) = Head::read(fragment.bytes()) else {
                    return;
                };
                *asked += u32::from(head.flags.has(HeadFlags::REQUEST));
                if head.flags.has(HeadFlags::REPORT) {
                    receivers.report(fragment.session_id(), &head, now_ns, unix_ns());
                }
            });
            if let Err(error) = polled {
                self.failed = Some(error.to_string());
            }
        }
        if now_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
            self.look(now_ns);
        }
        // Turns of an idle driver count as work in Aeron.
        usize::from(worked > 0)
    }

    fn count(&self, counters: &mut SenderCounters) {
        counters.relay_receivers = u64::from(self.was_connected);
        counters.relay_naks = driver(&self.client, SystemCounter::NaksReceived);
        counters.relay_retransmits = driver(&self.client, SystemCounter::Retransmits);
        counters.relay_flow_control_waits =
            driver(&self.client, SystemCounter::SenderFlowControlLimits);
        self.receivers.count(counters);
    }

    fn event(&mut self) -> Option<SendEvent> {
        self.receivers.event()
    }

    fn failed(&mut self) -> Option<String> {
        self.failed.take()
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct AeronReceive {
    subscription: Option<Subscription>,
    requests: Option<ExclusivePublication>,
    client: Rc<Client>,
    channel: String,
    stream: i32,
    timeout_ns: u64,
    /// Addresses of accepted hosts; empty for any.
    from_hosts: Vec<String>,
    /// Connected senders, and whether they are accepted.
    senders: Vec<(i32, bool)>,
    looked_ns: u64,
    /// Time of the last batch, or of the subscription.
    heard_ns: u64,
    refused: u64,
    failed: Option<String>,
}

/// Grace time of a new sender: Aeron's receiver reports its position up to 200 ms later, and only then is data sent to a group. With less,
/// the subscription would be closed again and again.
const JOIN_NS: u64 = 2_000_000_000;
/// Interval of the checks for senders and receivers.
const LOOK_NS: u64 = 100_000_000;

impl AeronReceive {
    /// Opens the data stream and the request stream. A subscription without data for `timeout_ns` is added again.
    ///
    /// # Errors
    /// Aeron rejects a channel or does not answer.
    pub fn open(
        client: Rc<Client>,
        channel: &str,
        stream: i32,
        requests: Option<(&str, i32)>,
        timeout_ns: u64,
        from_hosts: Vec<String>,
    ) -> Result<AeronReceive, Error> {
        let requests =
            requests.map(|(channel, stream)| client.exclusive_publication(channel, stream));
        Ok(AeronReceive {
            subscription: Some(client.subscription(channel, stream)?),
            requests: requests.transpose()?,
            client,
            channel: channel.to_owned(),
            stream,
            timeout_ns,
            from_hosts,
            senders: Vec::with_capacity(8),
            looked_ns: 0,
            heard_ns: 0,
            refused: 0,
            failed: None,
        })
    }

    /// Updates the connected senders, and which of them are accepted.
    fn look(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.senders.clear();
        let (senders, hosts) = (&mut self.senders, &self.from_hosts);
        if let Some(subscription) = &self.subscription {
            subscription.each_image(|image| {
                let address = image.source_address();
                let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
                let is_accepted = hosts.is_empty() || hosts.iter().any(|known| known == host);
                senders.push((image.session_id(), is_accepted));
            });
        }
    }

    /// Closes the subscription and adds it again; where the driver has not done the first, it is tried again in the next round.
    fn subscribe_again(&mut self, now_ns: u64) {
        self.subscription = None;
        match self.client.subscription(&self.channel, self.stream) {
            Ok(subscription) => {
                self.heard_ns = now_ns;
                self.subscription = Some(subscription);
            }
            Err(error) if error.is_passing() => {}
            Err(error) => self.failed = Some(error.to_string()),
        }
        self.look(now_ns);
    }
}

impl ReceiveLink for AeronReceive {
    fn receive(
        &mut self,
        now_ns: u64,
        take: &mut impl FnMut(&[u8]) -> bool,
    ) -> (usize, Option<LinkEvent>) {
        if let Err(error) = self.client.do_work() {
            self.failed = Some(error.to_string());
            return (0, None);
        }
        let images = self
            .subscription
            .as_ref()
            .map_or(0, Subscription::image_count);
        if images != self.senders.len() || now_ns.saturating_sub(self.looked_ns) >= LOOK_NS {
            if images > self.senders.len() {
                self.heard_ns = now_ns + JOIN_NS;
            }
            self.look(now_ns);
        }
        let mut batches = 0;
        let (senders, refused) = (&self.senders, &mut self.refused);
        let is_any = self.from_hosts.is_empty();
        if let Some(subscription) = &mut self.subscription {
            let polled = subscription.poll(DATAGRAMS_MAX, |fragment| {
                let known = senders.iter().find(|(id, _)| *id == fragment.session_id());
                if is_any || known.is_some_and(|(_, is_accepted)| *is_accepted) {
                    // A malformed batch is counted; the next datagram is independent of it.
                    take(fragment.bytes());
                    batches += 1;
                } else {
                    *refused += 1;
                }
            });
            if let Err(error) = polled {
                self.failed = Some(error.to_string());
            }
        }
        if batches > 0 || self.heard_ns == 0 {
            self.heard_ns = now_ns;
        } else if now_ns.saturating_sub(self.heard_ns) > self.timeout_ns
            && (images > 0 || self.subscription.is_none())
        {
            // Without a sender there is nothing to begin again, and a slow host would never see the first one.
            self.subscribe_again(now_ns);
        }
        (batches, None)
    }

    fn request(&mut self, head: &[u8]) {
        if let Some(requests) = &mut self.requests {
            // A request that cannot be sent now is repeated later.
            let _ = requests.offer(head);
        }
    }

    fn report(&mut self, head: &[u8]) {
        // One that cannot be sent now is followed by another.
        self.request(head);
    }

    fn count(&self, counters: &mut ReceiverCounters) {
        counters.relay_naks_sent = driver(&self.client, SystemCounter::NaksSent);
        counters.relay_window_overruns = driver(&self.client, SystemCounter::FlowControlOverRuns);
        counters.relay_packets_invalid = driver(&self.client, SystemCounter::InvalidPackets);
    }

    fn refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn failed(&mut self) -> Option<String> {
        self.failed.take()
    }
}
