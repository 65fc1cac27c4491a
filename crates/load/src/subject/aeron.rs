//! Aeron over shared memory, unicast and multicast.

use super::{Kind, Place, Receiver, Sender, Sent};
use crate::Failed;
use crate::message::BYTES;
use std::thread::sleep;
use std::time::Duration;
use touchline_aeron::{
    Client, ClientSettings, Driver, DriverSettings, ExclusivePublication, Refused, Subscription,
    SystemCounter, Threading,
};

/// Sleep of the idle driver process.
const DRIVER_SLEEP: Duration = Duration::from_micros(50);
/// Fragments of one poll.
const TURN: usize = 256;
const DRIVER: &str = "driver";

/// The driver process of `aeron-ipc`.
pub fn drive(place: &Place, ready: impl FnOnce(), stop: impl Fn() -> bool) -> Result<(), Failed> {
    let settings = DriverSettings {
        threading: Threading::Shared {
            sleep: DRIVER_SLEEP,
        },
        ..DriverSettings::at(place.folder_of(DRIVER))
    };
    let _driver = Driver::start(&settings)?;
    ready();
    while !stop() {
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn client(kind: Kind, place: &Place, process: &str) -> Result<Client, Failed> {
    if kind == Kind::AeronIpc {
        return Ok(Client::connect(&ClientSettings::at(
            place.folder_of(DRIVER),
        ))?);
    }
    let driver = Driver::start(&DriverSettings::at(place.folder_of(process)))?;
    Ok(Client::embedded(driver)?)
}

/// Channel of one side. For unicast with several readers, the publisher adds each as a destination when it reports.
fn channel(kind: Kind, place: &Place, is_sender: bool) -> String {
    let (port, [near, far]) = (place.port, place.hosts);
    let host = if is_sender { near } else { far };
    match kind {
        Kind::AeronIpc => "aeron:ipc".to_owned(),
        Kind::AeronMulticast => format!(
            "aeron:udp?endpoint=239.255.34.{}:{port}|interface={host}",
            place.stream % 100 * 2 + 1
        ),
        _ if place.readers == 1 => format!("aeron:udp?endpoint={far}:{port}"),
        _ if is_sender => format!("aeron:udp?control={near}:{port}|control-mode=dynamic"),
        _ => {
            format!("aeron:udp?endpoint={far}:0|control={near}:{port}|control-mode=dynamic")
        }
    }
}

/// Counters of a client's driver.
fn counts(client: &Client) -> Vec<(&'static str, u64)> {
    let counters = [
        ("naks_sent", SystemCounter::NaksSent),
        ("naks_received", SystemCounter::NaksReceived),
        ("retransmits", SystemCounter::Retransmits),
        ("flow_control_over_runs", SystemCounter::FlowControlOverRuns),
        ("aeron_errors", SystemCounter::Errors),
    ];
    let read = |(name, counter)| {
        (
            name,
            u64::try_from(client.system_counter(counter)).unwrap_or(0),
        )
    };
    counters.map(read).to_vec()
}

pub struct AeronSender {
    // Before the client: its resources are dropped first.
    publication: ExclusivePublication,
    client: Client,
}

impl AeronSender {
    pub fn open(kind: Kind, place: &Place) -> Result<AeronSender, Failed> {
        let client = client(kind, place, "publisher")?;
        let channel = channel(kind, place, true);
        let publication = client.exclusive_publication(&channel, place.stream)?;
        Ok(AeronSender {
            publication,
            client,
        })
    }
}

impl Sender for AeronSender {
    #[inline]
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed> {
        loop {
            match self.publication.try_claim(BYTES) {
                Ok(mut claim) => {
                    claim.copy_from_slice(message);
                    claim.commit();
                    return Ok(Sent::Yes);
                }
                // The log rotated: the next attempt succeeds.
                Err(Refused::AdminAction) => {}
                Err(refused) if refused.is_passing() => return Ok(Sent::NoRoom),
                Err(refused) => return Err(refused.into()),
            }
        }
    }

    #[inline]
    fn turn(&mut self) -> Result<(), Failed> {
        self.client.do_work()?;
        Ok(())
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        self.client.do_work()?;
        Ok(self.publication.is_connected())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        counts(&self.client)
    }
}

pub struct AeronReceiver {
    subscription: Subscription,
    client: Client,
}

impl AeronReceiver {
    pub fn open(kind: Kind, place: &Place, reader: usize) -> Result<AeronReceiver, Failed> {
        let client = client(kind, place, &format!("reader-{reader}"))?;
        let channel = channel(kind, place, false);
        let subscription = client.subscription(&channel, place.stream)?;
        Ok(AeronReceiver {
            subscription,
            client,
        })
    }
}

impl Receiver for AeronReceiver {
    #[inline]
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
        self.client.do_work()?;
        Ok(self
            .subscription
            .poll_fragments(TURN, |fragment| take(fragment.bytes()))?)
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        self.client.do_work()?;
        Ok(self.subscription.is_connected())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        counts(&self.client)
    }
}
