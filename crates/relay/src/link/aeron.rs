//! Aeron: reliable UDP, unicast and multicast, and shared memory.
//!
//! A batch is one Aeron message, so it is one datagram. Refresh requests use a separate stream, if one is configured.
//! With Aeron's default flow control for groups, a receiver that fell behind receives no more data, and no call reports
//! this; so a subscription without data for the timeout is closed and added again. Subscriptions are not tethered: the
//! driver drops a subscription that stands still, so that it does not block others of the same driver.
//!
//! Aeron does not report slow receivers. So receivers report their positions, on the stream of requests.

mod receivers;

use super::{CarrierEvent, Kind, LinkEvent, ReceiveLink, SendEvent, SendLink};
use crate::batch::Batch;
use crate::head::{HEAD_BYTES, Head, HeadFlags};
use crate::{ReceiverCounters, SenderCounters};
use receivers::Receivers;
use std::rc::Rc;
use std::time::Duration;
use touchline_aeron::{
    Channel, Client, ClientSettings, Driver, DriverSettings, Error, ExclusivePublication, Refused,
    Subscription, SystemCounter, Threading,
};
use touchline_transport::clock::wall_ns;

/// Datagrams read in one round.
const DATAGRAMS_MAX: usize = 64;
/// Free window that live data must keep before a refresh is sent, bytes; at most half of the window.
const REFRESH_ROOM: i64 = 128 * 1024;

/// Media driver of the links of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverOptions {
    /// Process that runs the driver.
    pub place: DriverPlace,
    /// Streams, for the check of free memory.
    pub streams: u32,
    /// Longest wait before a loss in a group is reported; the default of [`DriverSettings`] if absent.
    pub nak_backoff_max: Option<Duration>,
    /// Receivers of a group; the default of [`DriverSettings`] if absent.
    pub group_size: Option<u32>,
}

/// Process that runs a media driver.
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

/// Verifies a channel before anything is opened: an Aeron URI, with an interface for a group, and a random session id.
///
/// # Errors
/// The channel is invalid.
pub fn check(channel: &str) -> Result<(), String> {
    let channel = Channel::new(channel).map_err(|error| error.to_string())?;
    match channel.parameter("session-id") {
        Some(_) => Err(format!(
            "{channel}: with a fixed session id a restarted sender collides with its own old stream; remove session-id, and set source to name the origin"
        )),
        None => Ok(()),
    }
}

/// Warning about a channel of a sender that works, with the fix.
fn warning(channel: &str) -> Option<String> {
    let channel = Channel::new(channel).ok()?;
    let flow_control = channel.parameter("fc")?;
    let is_min = flow_control.split(',').next() == Some("min");
    is_min.then(|| {
        format!(
            "fc={flow_control}: the slowest receiver holds all, and a stopped one for seconds; remove fc, or write fc=tagged,g:7 here and gtag=7 at the receivers to wait for"
        )
    })
}

/// The channel of a subscription that others do not wait for, also with a driver that runs elsewhere.
fn untethered(channel: &str) -> String {
    let is_given = |channel: Channel| channel.parameter("tether").is_some();
    let separator = match channel.split_once('?') {
        _ if Channel::new(channel).is_ok_and(is_given) => return channel.to_owned(),
        None => "?",
        Some((_, "")) => "",
        Some(_) => "|",
    };
    format!("{channel}{separator}tether=false")
}

/// Next warning or error of the client and its driver; each is returned once, to one of the links.
fn client_event(client: &Client) -> Option<CarrierEvent> {
    let warning = client.take_warning().map(CarrierEvent::Warning);
    warning.or_else(|| client.take_error().map(CarrierEvent::Error))
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
    refresh_room: i64,
    was_connected: bool,
    asked: u32,
    /// Requests and reports that were rejected.
    refused: u64,
    warning: Option<String>,
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
        let requests =
            requests.map(|(channel, stream)| client.subscription(&untethered(channel), stream));
        let publication = client.exclusive_publication(channel, stream)?;
        // The longest message is an eighth of a term, the window half of one.
        let half_window = 2 * publication.message_bytes_max() as i64;
        Ok(AeronSend {
            publication,
            requests: requests.transpose()?,
            receivers: Receivers::new(),
            looked_ns: 0,
            client,
            refresh_room: REFRESH_ROOM.min(half_window),
            was_connected: false,
            asked: 0,
            refused: 0,
            warning: warning(channel),
            failed: None,
        })
    }

    /// Updates the list of receivers, and marks the slow ones.
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
                // No receiver is connected: a new receiver gets a refresh.
                Ok(_) | Err(Refused::NotConnected) => {
                    if let Some(head) = batch.head() {
                        self.receivers.sent(head);
                    }
                    true
                }
                Err(Refused::AdminAction) => continue,
                Err(Refused::BackPressured) => false,
                Err(refused) => {
                    // If the client is closed, it has already stated the reason.
                    self.failed.get_or_insert_with(|| refused.to_string());
                    true
                }
            };
        }
    }

    fn answer(&mut self, head: &Head) {
        let AeronSend {
            publication,
            receivers,
            ..
        } = self;
        receivers.answer(|sent_ns| {
            let mut bytes = [0; HEAD_BYTES];
            Head { sent_ns, ..*head }.write(&mut bytes);
            // A probe without an answer in this round is answered later.
            loop {
                match publication.offer(&bytes) {
                    Err(Refused::AdminAction) => {}
                    offered => return offered.is_ok(),
                }
            }
        });
    }

    fn has_room(&self) -> bool {
        self.publication.position_limit() - self.publication.position() > self.refresh_room
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
        let refused = &mut self.refused;
        if let Some(requests) = &mut self.requests {
            let polled = requests.poll(DATAGRAMS_MAX, |fragment| {
                match Head::read(fragment.bytes()) {
                    Ok(head) if head.flags.has(HeadFlags::REQUEST) => *asked += 1,
                    Ok(head) if head.flags.has(HeadFlags::REPORT) => {
                        receivers.report(fragment.session_id(), &head, now_ns, wall_ns());
                    }
                    Ok(head) if head.flags == HeadFlags::PROBE => {
                        receivers.probe(fragment.session_id(), head.sent_ns, now_ns);
                    }
                    Ok(_) | Err(_) => *refused += 1,
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
        counters.relay_packets_invalid = driver(&self.client, SystemCounter::InvalidPackets);
        counters.relay_requests_invalid = self.refused;
        self.receivers.count(counters);
    }

    fn event(&mut self) -> Option<SendEvent> {
        self.receivers.event()
    }

    fn carrier_event(&mut self) -> Option<CarrierEvent> {
        let warning = self.warning.take().map(CarrierEvent::Warning);
        warning.or_else(|| client_event(&self.client))
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
    /// Whether this subscription had a sender.
    had_sender: bool,
    looked_ns: u64,
    /// Time of the last call.
    called_ns: u64,
    /// Time of the last batch, or of the subscription.
    heard_ns: u64,
    refused: u64,
    failed: Option<String>,
}

/// Grace time of a new sender: Aeron's receiver reports its position up to 200 ms later, and only then is data sent to a group. With less,
/// the subscription would be closed again and again.
const JOIN_NS: u64 = 2_000_000_000;
/// Time after which a subscription that never had a sender is added again.
const ABSENT_NS: u64 = 10_000_000_000;
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
        let channel = untethered(channel);
        Ok(AeronReceive {
            subscription: Some(client.subscription(&channel, stream)?),
            requests: requests.transpose()?,
            client,
            channel,
            stream,
            timeout_ns,
            from_hosts,
            senders: Vec::with_capacity(8),
            had_sender: false,
            looked_ns: 0,
            called_ns: 0,
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
        self.had_sender |= !self.senders.is_empty();
    }

    /// Closes the subscription and adds it again; if the driver still has to close the old one, the next round tries
    /// again.
    fn subscribe_again(&mut self, now_ns: u64) {
        self.subscription = None;
        self.had_sender = false;
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
                    // A malformed batch is counted, and is not a sign of life of the sender; the next datagram is
                    // independent of it.
                    batches += usize::from(take(fragment.bytes()));
                } else {
                    *refused += 1;
                }
            });
            if let Err(error) = polled {
                self.failed = Some(error.to_string());
            }
        }
        let paused_ns = now_ns.saturating_sub(std::mem::replace(&mut self.called_ns, now_ns));
        if batches > 0 || self.heard_ns == 0 || paused_ns > self.timeout_ns {
            // After a pause of this process its datagrams still wait in the socket.
            self.heard_ns = now_ns;
            return (batches, None);
        }
        // Without a sender, adding the subscription again gains little, and with a short timeout a slow host would
        // never see the first sender. If the sender is gone, the driver may have dropped the subscription because this
        // receiver stood still.
        let limit_ns = match self.had_sender || self.subscription.is_none() {
            true => self.timeout_ns,
            false => self.timeout_ns.max(ABSENT_NS),
        };
        if now_ns.saturating_sub(self.heard_ns) > limit_ns {
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
        // A request that cannot be sent now is followed by another.
        self.request(head);
    }

    fn count(&self, counters: &mut ReceiverCounters) {
        counters.relay_naks_sent = driver(&self.client, SystemCounter::NaksSent);
        counters.relay_window_overruns = driver(&self.client, SystemCounter::FlowControlOverRuns);
        counters.relay_packets_invalid = driver(&self.client, SystemCounter::InvalidPackets);
    }

    fn carrier_event(&mut self) -> Option<CarrierEvent> {
        client_event(&self.client)
    }

    fn refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn failed(&mut self) -> Option<String> {
        self.failed.take()
    }
}
