//! Kills, freezes and thaws the processes of the demo at random, and looks at what the composite shows meanwhile.

use super::{BUS, Cast, PATIENCE};
use crate::demo::children::Process;
use crate::output::{Failure, say};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::Random;
use touchline_transport::SubscriptionEvent;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Item, Join, Kinds, Root, Subscriber};
use touchline_types::{ChannelState, Instrument, Update, Validity};

/// A composite may show a bank for so long after its gateway was killed or frozen, and a reader the composite after its composer
/// was: the liveness timeout of a gateway (1 s) or of the composer (500 ms), and what a busy host adds.
const BOUND: Duration = Duration::from_millis(4_000);
/// How long a bank may take to come back.
const RECOVERY: Duration = Duration::from_secs(20);

/// What a reader of the composite's bus sees.
struct Reader {
    subscriber: Subscriber,
    /// Validity and banks at the best, by pair.
    pairs: BTreeMap<Instrument, (Validity, Vec<String>)>,
    channel: ChannelState,
    is_trusted: bool,
}

impl Reader {
    fn join(root: &Root) -> Result<Reader, Failure> {
        let join = Join {
            kinds: Kinds::QUOTES | Kinds::BOOKS,
            ..Join::default()
        };
        Ok(Reader {
            subscriber: Subscriber::join(root, BUS, join).map_err(Failure::run)?,
            pairs: BTreeMap::new(),
            channel: ChannelState::LIVE,
            is_trusted: true,
        })
    }

    /// Reads everything that is there.
    fn read(&mut self) {
        let Reader {
            subscriber,
            pairs,
            channel,
            is_trusted,
        } = self;
        loop {
            let polled = subscriber.poll(|item| match item {
                Item::Update(received) => match received.update {
                    Update::QuoteSnapshot(snapshot) => {
                        let best = snapshot.quotes.iter().filter(|quote| quote.tier.is_none());
                        let banks = best.map(|quote| quote.quote_id.to_string()).collect();
                        let row = (snapshot.stream.validity, banks);
                        pairs.insert(snapshot.stream.instrument, row);
                    }
                    Update::State(state) => {
                        if let Some(row) = pairs.get_mut(&state.instrument) {
                            row.0 = state.validity;
                        }
                    }
                    Update::Channel(state) => *channel = *state,
                    _ => {}
                },
                Item::SubscriptionEvent(event) => match event {
                    SubscriptionEvent::PublisherGone
                    | SubscriptionEvent::PublisherStalled
                    | SubscriptionEvent::Damaged => *is_trusted = false,
                    SubscriptionEvent::PublisherResumed => *is_trusted = true,
                    SubscriptionEvent::Restarted { .. } => {
                        pairs.clear();
                        *is_trusted = true;
                    }
                    _ => {}
                },
                Item::Top { .. } | Item::BatchEnd | Item::Undecoded(_) => {}
            });
            if matches!(polled, Polled::Nothing) {
                return;
            }
        }
    }

    /// Whether a bank is shown as one that may be dealt with.
    fn shows(&self, bank: &str) -> bool {
        let live = self.pairs.values().filter(|row| row.0 == Validity::Live);
        let mut banks = live.flat_map(|row| &row.1);
        self.is_live() && banks.any(|name| name == bank)
    }

    /// Whether anything is shown as live.
    fn is_live(&self) -> bool {
        self.is_trusted && self.channel.price == Validity::Live
    }

    /// Reads until a condition holds; how long that took, if it did.
    fn until(&mut self, limit: Duration, holds: impl Fn(&Reader) -> bool) -> Option<Duration> {
        let start = Instant::now();
        while start.elapsed() < limit {
            self.subscriber.look_again();
            self.read();
            if holds(self) {
                return Some(start.elapsed());
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    KillGateway,
    FreezeGateway,
    KillComposer,
    FreezeComposer,
    FreezeBanks,
}

/// Does so many deeds. The longest time that something void was shown.
pub fn run(
    cast: &mut Cast,
    banks: &[String],
    buses: &Path,
    seed: u64,
    kills: u64,
) -> Result<(), Failure> {
    let root = Root::at(buses);
    let mut random = Random::from_seed(seed ^ 0x4B11);
    let mut reader = Reader::join(&root)?;
    let mut longest = Duration::ZERO;
    say(&format!("{kills} kills and freezes, seed {seed}\n"))?;
    for number in 1..=kills {
        let deed = *random.pick(&[
            Deed::KillGateway,
            Deed::KillGateway,
            Deed::FreezeGateway,
            Deed::KillComposer,
            Deed::FreezeComposer,
            Deed::FreezeBanks,
        ]);
        let bank = random.index(banks.len());
        thread::sleep(Duration::from_millis(random.below(300)));
        let failed = |what: &str| {
            Failure::run(format!(
                "deed {number} ({deed:?}, bank {}): {what}; seed {seed}",
                banks[bank]
            ))
        };
        let void = match deed {
            Deed::KillGateway | Deed::FreezeGateway => {
                let is_kill = deed == Deed::KillGateway;
                let process = cast.gateways[bank].id();
                signal(process, if is_kill { Signal::KILL } else { Signal::STOP })?;
                let void = reader.until(BOUND, |reader| !reader.shows(&banks[bank]));
                let shown = void.ok_or_else(|| failed("its quotes are still shown as live"))?;
                // What was withdrawn does not come back by itself.
                if reader
                    .until(Duration::from_millis(200), |reader| {
                        reader.shows(&banks[bank])
                    })
                    .is_some()
                {
                    return Err(failed("its quotes were shown again"));
                }
                match is_kill {
                    true => cast.restart_gateway(bank)?,
                    false => signal(process, Signal::CONT)?,
                }
                shown
            }
            Deed::KillComposer | Deed::FreezeComposer => {
                let is_kill = deed == Deed::KillComposer;
                let process = cast.composer.id();
                signal(process, if is_kill { Signal::KILL } else { Signal::STOP })?;
                let void = reader.until(BOUND, |reader| !reader.is_live());
                let shown = void.ok_or_else(|| failed("the composite is still shown as live"))?;
                match is_kill {
                    true => cast.restart_composer()?,
                    false => signal(process, Signal::CONT)?,
                }
                shown
            }
            Deed::FreezeBanks => {
                // Longer than silence_ms of no bank: sessions stand, and nothing is void.
                signal(cast.banks.id(), Signal::STOP)?;
                thread::sleep(Duration::from_millis(random.below(500)));
                signal(cast.banks.id(), Signal::CONT)?;
                Duration::ZERO
            }
        };
        longest = longest.max(void);
        let is_back = |reader: &Reader| {
            let live = reader.pairs.values().filter(|row| row.0 == Validity::Live);
            reader.is_live() && live.count() > 0
        };
        reader
            .until(RECOVERY, is_back)
            .ok_or_else(|| failed("the composite does not come back"))?;
    }
    say(&format!(
        "{kills} kills and freezes: nothing void was shown as live for longer than {} ms\n",
        longest.as_millis()
    ))
}

fn signal(process: u32, signal: Signal) -> Result<(), Failure> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| Failure::run("a process without a number"))?;
    kill_process(process, signal).map_err(|error| Failure::run(format!("cannot signal: {error}")))
}

impl Cast {
    fn restart_gateway(&mut self, bank: usize) -> Result<(), Failure> {
        let again = Process::start("gateway", &self.commands[bank])?;
        // The killed one is collected with its place.
        self.gateways[bank] = again;
        self.gateways[bank].wait_for("connect", PATIENCE)
    }

    fn restart_composer(&mut self) -> Result<(), Failure> {
        self.composer = Process::start("composer", &self.compose)?;
        self.composer.wait_for("composing", PATIENCE)
    }
}
