//! Two buses in a folder of their own, a generated market on the first, and the comparison of both.

pub use touchline_lab::market::values::{INSTRUMENTS, Market, seen};
use touchline_relay::link::{ReceiveLink, Refusal, SendEvent, SendLink};
use touchline_relay::run::{ReceiveSettings, Receiving, RunEvent, SendSettings, Sending, Work};
use touchline_relay::{ReceiverSettings, Source};
use touchline_testing::{Folder, PATIENCE};
use touchline_transport::shm::{
    Activity, CountersFile, CountersView, Images, Join, Lock, ProcessView, Publisher, Root,
    Settings, Subscriber, Value,
};
use touchline_transport::{Mirror, Publish, boot_ns};
use touchline_types::Instrument;

pub const MS: u64 = 1_000_000;

/// A folder with its buses.
pub struct Buses(Folder);

impl Buses {
    pub fn new() -> Buses {
        Buses(Folder::new("relay"))
    }

    pub fn root(&self) -> Root {
        Root::at(&self.0)
    }

    /// A publisher with counters, which say that its data is of this host.
    pub fn publisher(&self, bus: &str) -> Publisher {
        let publisher = self.publisher_without_counters(bus);
        CountersFile::create(publisher.lock(), 1.0, [], []).expect("a file");
        publisher
    }

    pub fn publisher_without_counters(&self, bus: &str) -> Publisher {
        let mut publisher =
            Publisher::open(&self.root(), bus, &small()).expect("no other process writes it");
        is_alive(&mut publisher);
        publisher
    }

    /// State of a reader that joins a bus now.
    pub fn joined(&self, bus: &str) -> Mirror {
        let mut reader =
            Subscriber::join(&self.root(), bus, Join::default()).expect("the bus is there");
        let mut mirror = Mirror::new(64, 1_024);
        while reader.drain(usize::MAX, &mut mirror) > 0 {}
        mirror
    }

    pub fn counter(&self, bus: &str, name: &str) -> u64 {
        let view = CountersView::open(&self.root(), bus).expect("the bus is there");
        view.and_then(|view| view.counter(name)).unwrap_or(0)
    }

    /// A counter of a sender; it writes them ten times a second.
    pub fn sender_counter(&self, bus: &str, source: &str, name: &str) -> u64 {
        let all = ProcessView::all(&self.root()).expect("our folder");
        let sender = format!("relay-{bus}-{source}");
        let view = all.into_iter().find(|view| view.name == sender);
        let file = view.and_then(|view| view.counters_file.ok().flatten());
        file.and_then(|file| file.counter(name)).unwrap_or(0)
    }

    /// Whether readers of both buses have the same state.
    pub fn is_same(&self, a: &str, b: &str) -> bool {
        let (a, b) = (self.joined(a), self.joined(b));
        (0..INSTRUMENTS)
            .map(Instrument)
            .all(|instrument| seen(&a, instrument) == seen(&b, instrument))
    }

    /// Steps links until readers of buses `a` and `b` have the same state.
    #[track_caller]
    pub fn until_same(&self, links: &mut [&mut dyn Work]) -> Vec<RunEvent> {
        until(links, "bus b has the state of bus a", || {
            self.is_same("a", "b")
        })
    }

    pub fn sending<L: SendLink>(&self, bus: &str, source: &str, link: L) -> Sending<L> {
        let settings = self.send_settings(bus, source);
        Sending::new(settings, link).expect("the name is free")
    }

    pub fn send_settings(&self, bus: &str, source: &str) -> SendSettings {
        SendSettings {
            root: self.root(),
            bus: bus.to_owned(),
            source: Source::named(source).expect("a name"),
            forward: false,
            batch_bytes_max: 1_344,
            heartbeat_ns: 100 * MS,
            cyclic: None,
            name: format!("relay-{bus}-{source}"),
        }
    }

    pub fn receive_settings(&self, bus: &str) -> ReceiveSettings {
        ReceiveSettings {
            root: self.root(),
            bus: bus.to_owned(),
            publication: small(),
            receiver: receiver(),
        }
    }

    pub fn receiving<L: ReceiveLink>(&self, bus: &str, link: L) -> Receiving<L> {
        let settings = self.receive_settings(bus);
        Receiving::open(settings, link).expect("no other process writes the bus")
    }
}

pub fn receiver() -> ReceiverSettings {
    ReceiverSettings {
        sources: Vec::new(),
        own: vec![Source::named("here").expect("a name")],
        instruments_max: 64,
        orders_max: 1_024,
        entries_max: 1_024,
        link_timeout_ns: 350 * MS,
        lag_ns_max: 500 * MS,
        request_delay_ns_max: 0,
    }
}

pub fn small() -> Settings {
    Settings {
        ring_bytes: 256 * 1024,
        instruments_max: 64,
        image_levels_max: 12,
        orders_max: 1_024,
        lock: Lock::No,
        ..Settings::default()
    }
}

/// The publisher states activity, valid for an hour.
pub fn is_alive(publisher: &mut Publisher) {
    publisher.state_activity(Activity {
        at_ns: boot_ns(),
        timeout_ns: 3_600_000 * MS,
    });
}

/// Steps links until a condition holds.
#[track_caller]
pub fn until(
    links: &mut [&mut dyn Work],
    what: &str,
    mut holds: impl FnMut() -> bool,
) -> Vec<RunEvent> {
    let mut events = Vec::new();
    touchline_testing::until(what, PATIENCE, || {
        if holds() {
            return Ok(());
        }
        for _ in 0..50 {
            events.extend(step(links));
        }
        Err(format!("{events:?}"))
    });
    events
}

/// Steps links until `find` finds something in an event, and returns it; before each step `before` is called.
#[track_caller]
pub fn until_event<T>(
    links: &mut [&mut dyn Work],
    what: &str,
    mut before: impl FnMut(),
    find: impl Fn(&RunEvent) -> Option<T>,
) -> T {
    touchline_testing::until(what, PATIENCE, || {
        before();
        let events = step(links);
        events.iter().find_map(&find).ok_or(events)
    })
}

/// Steps links until the sender refuses a receiver, and returns the reason.
#[track_caller]
pub fn until_refused(links: &mut [&mut dyn Work]) -> Refusal {
    let refusal = |event: &RunEvent| match event {
        RunEvent::Receiver(SendEvent::Refused { reason, .. }) => Some(*reason),
        _ => None,
    };
    until_event(links, "a refusal", || {}, refusal)
}

/// One round of each link.
pub fn step(links: &mut [&mut dyn Work]) -> Vec<RunEvent> {
    let mut events = Vec::new();
    for link in links.iter_mut() {
        link.work().expect("the link works");
        while let Some(event) = link.event() {
            events.push(event);
        }
    }
    events
}

/// Last values of an instrument, with their venue times.
pub fn values(images: &mut Images, instrument: Instrument) -> Vec<(Value, u64)> {
    let values = images.last_values(instrument);
    values
        .map(|last| (last.value, last.timestamps.exchange_ns))
        .collect()
}
