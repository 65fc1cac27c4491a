//! Silence of any subset of gateway, sender and link, at random moments, in virtual time: no book of the receiver is live beyond the
//! bounds of `docs/concepts.md`, and every book recovers.

use crate::buses::{Buses, INSTRUMENTS, MS, Market, receiver, seen};
use crate::core::Stand;
use touchline_lab::random::{Random, seeds};
use touchline_relay::link::ReceiveLink;
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::{Cyclic, Epoch, HEAD_BYTES, Head, Sender, SenderSettings, Source};
use touchline_transport::shm::{Activity, Join, Kinds, Publisher, Subscriber};
use touchline_transport::{Local, Mirror, Publish, boot_ns};
use touchline_types::{ChannelState, Instrument, Update, Validity};

/// Longest time without activity of the gateway.
const GATEWAY_NS: u64 = 200 * MS;
/// `link_timeout_ms` and `lag_ms_max` of the receiver.
const LINK_NS: u64 = 350 * MS;
const LAG_NS: u64 = 500 * MS;
const STEP_NS: u64 = MS / 2;
/// Steps of a run.
const STEPS: u64 = 20_000;

const PARTS: usize = 5;
/// The gateway is frozen.
const GATEWAY: usize = 0;
/// The sender is frozen.
const SENDER: usize = 1;
/// The link loses everything, of both directions.
const LINK: usize = 2;
/// The link delivers late, by up to a second, and later all that waits at once.
const QUEUE: usize = 3;
/// The link loses the receiver's messages.
const BACK: usize = 4;

#[derive(Debug, Default)]
struct Found {
    /// Checks with a live book, and those behind each bound.
    live: u64,
    gateway: u64,
    link: u64,
    lag: u64,
}

#[test]
fn no_book_is_live_beyond_the_bound_of_a_silence() {
    let mut found = Found::default();
    for seed in seeds(8) {
        println!("SEED={seed}");
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.fall_silent();
            world.step();
            world
                .check(&mut found)
                .unwrap_or_else(|wrong| panic!("SEED={seed} step {step}: {wrong}"));
        }
        world.recover(seed);
    }
    println!("{found:?}");
    // A run without live books, or without these silences, finds nothing.
    assert!(found.live > 100 && found.gateway > 100 && found.link > 100 && found.lag > 100);
}

struct World {
    random: Random,
    buses: Buses,
    market: Market,
    bus: Publisher,
    reader: Subscriber,
    sender: Sender,
    link: MemoryLink,
    /// Batches on their way, with the time when they were sent.
    queue: Vec<(u64, Vec<u8>)>,
    stand: Stand,
    /// Delay of a link that is late.
    delay_ns: u64,
    /// End of each part's silence.
    until_ns: [u64; PARTS],
    /// Last activity of the gateway, arrival of a batch, and sending time of the latest batch that arrived.
    active_ns: u64,
    heard_ns: u64,
    sent_ns: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let buses = Buses::new();
        let mut bus = buses.publisher("a");
        let mut market = Market::new(seed);
        market.define(&mut bus);
        bus.publish(
            &Update::Channel(&ChannelState::LIVE),
            &touchline_lab::market::values::times(),
        );
        bus.commit();
        let join = Join {
            last_values: true,
            undecoded: true,
            kinds: Kinds::BOOKS | Kinds::ORDERS,
            ..Join::default()
        };
        let reader = Subscriber::join(&buses.root(), "a", join).expect("the bus is there");
        let settings = SenderSettings {
            source: Source::named("gw1").expect("a name"),
            hops: 0,
            instruments_max: 64,
            orders_max: 1_024,
            batch_bytes_max: 1_344,
            heartbeat_ns: 100 * MS,
            cyclic: Some(Cyclic {
                share: 0.05,
                round_ns_max: 2_000 * MS,
            }),
        };
        let stand = Stand::with(receiver(), Local::new(Mirror::new(64, 1_024)));
        World {
            random: Random::from_seed(seed),
            buses,
            market,
            bus,
            reader,
            sender: Sender::new(settings, Epoch(5 << 12)),
            link: MemoryLink::default(),
            queue: Vec::new(),
            delay_ns: 0,
            until_ns: [0; PARTS],
            active_ns: stand.now.mono_ns,
            heard_ns: stand.now.mono_ns,
            sent_ns: stand.now.mono_ns,
            stand,
        }
    }

    /// Now and then each part, with a chance of its own.
    fn fall_silent(&mut self) {
        if !self.random.chance(0.001) {
            return;
        }
        self.delay_ns = self.random.below(1_000) * MS;
        for part in 0..PARTS {
            if self.random.chance(0.4) {
                let ns = self.random.below(2_000) * MS;
                self.until_ns[part] = self.stand.now.mono_ns + ns;
            }
        }
    }

    fn is_silent(&self, part: usize) -> bool {
        self.stand.now.mono_ns < self.until_ns[part]
    }

    fn step(&mut self) {
        self.stand.now.mono_ns += STEP_NS;
        self.stand.now.wall_ns += STEP_NS;
        self.publish();
        if !self.is_silent(SENDER) {
            self.send();
        }
        self.carry();
        self.receive();
    }

    /// Publishes, or marks the gateway's activity as too old.
    fn publish(&mut self) {
        let now_ns = self.stand.now.mono_ns;
        if !self.is_silent(GATEWAY) {
            self.active_ns = now_ns;
            if self.random.chance(0.1) {
                self.market.events(2, &mut self.bus);
            }
        }
        // Readers check by the clock of the host, which the test does not control: a timeout of a minute means active,
        // one of a nanosecond inactive.
        let is_active = now_ns - self.active_ns <= GATEWAY_NS;
        self.bus.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: if is_active { 60_000 * MS } else { 1 },
        });
    }

    fn send(&mut self) {
        let (now, sender, link) = (self.stand.now, &mut self.sender, &mut self.link);
        self.reader.look_again();
        while self
            .reader
            .poll(|item| sender.item(&item, now, link))
            .given()
            .is_some()
        {}
        sender.tick(now, link);
        sender.answer(now, link);
    }

    fn carry(&mut self) {
        let now_ns = self.stand.now.mono_ns;
        let is_lost = self.is_silent(LINK);
        let sent = self.link.batches.drain(..).filter(|_| !is_lost);
        self.queue.extend(sent.map(|batch| (now_ns, batch)));
    }

    fn receive(&mut self) {
        let now = self.stand.now;
        let late_ns = if self.is_silent(QUEUE) {
            self.delay_ns
        } else {
            0
        };
        let sent = |(sent_ns, _): &(u64, Vec<u8>)| sent_ns + late_ns <= now.mono_ns;
        let due = self.queue.partition_point(sent);
        let (receiver, out) = (&mut self.stand.receiver, &mut self.stand.out);
        receiver.judge(now, out);
        for (sent_ns, batch) in self.queue.drain(..due) {
            (self.heard_ns, self.sent_ns) = (now.mono_ns, sent_ns);
            receiver.take(&batch, now, 1, out);
        }
        let heads = [receiver.tick(now, out), receiver.probe(now)];
        let is_lost = self.is_silent(LINK) || self.is_silent(BACK);
        for head in heads.into_iter().flatten().filter(|_| !is_lost) {
            back(&mut self.link, &head);
        }
    }

    fn live(&self) -> usize {
        let books = (0..INSTRUMENTS).map(Instrument);
        let mirror = &self.stand.out.subscriber;
        books
            .filter(|book| mirror.validity(*book) == Validity::Live)
            .count()
    }

    fn check(&self, found: &mut Found) -> Result<(), String> {
        let now_ns = self.stand.now.mono_ns;
        let live = self.live();
        found.live += u64::from(live > 0);
        let passed = |since_ns: u64, bound_ns: u64| now_ns > since_ns + bound_ns + STEP_NS;
        for (what, is_passed, count) in [
            // Bounds of parts in a row add up.
            (
                "the gateway is frozen",
                passed(self.active_ns, GATEWAY_NS + LAG_NS),
                &mut found.gateway,
            ),
            (
                "no batch arrived",
                passed(self.heard_ns, LINK_NS),
                &mut found.link,
            ),
            (
                "batches are late",
                passed(self.sent_ns, LAG_NS),
                &mut found.lag,
            ),
        ] {
            *count += u64::from(is_passed);
            if is_passed && live > 0 {
                return Err(format!(
                    "{what}, and {live} books are live at {now_ns}; silent until {:?}",
                    self.until_ns
                ));
            }
        }
        Ok(())
    }

    /// All silences end: every book returns, and is that of the source.
    fn recover(&mut self, seed: u64) {
        self.until_ns = [0; PARTS];
        for _ in 0..20_000 {
            self.step();
        }
        assert_eq!(self.live(), INSTRUMENTS as usize, "SEED={seed}");
        let source = self.buses.joined("a");
        for book in (0..INSTRUMENTS).map(Instrument) {
            let both = [&source, &self.stand.out.subscriber].map(|mirror| seen(mirror, book));
            assert_eq!(both[0], both[1], "SEED={seed}: {book:?}");
        }
    }
}

fn back(link: &mut MemoryLink, head: &Head) {
    let mut bytes = [0; HEAD_BYTES];
    head.write(&mut bytes);
    match head.flags.has(touchline_relay::HeadFlags::PROBE) {
        true => link.probe(&bytes),
        false => link.request(&bytes),
    }
}
