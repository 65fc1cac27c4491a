//! Silence of any subset of banks and of their pairs: no quote is used beyond the bounds of `docs/concepts.md`.

use super::super::banks::Priced;
use super::{Engine, MS, Process, World, watch};
use crate::execution::config::Config;
use touchline_fx::input::Session;
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_lab::random::Random;
use touchline_types::{ReceiveTime, Side};

/// Separates these random numbers from those of the seed: a seed without limits is the same run as without this file.
const STREAM: u64 = 0x7369_6c65_6e63_6521;

/// Silences of a run, and whether its banks have limits.
pub(super) struct Silences {
    random: Random,
    has_limits: bool,
    next_ns: u64,
}

impl Silences {
    /// Every second run has limits, as a desk sets them for each bank.
    pub(super) fn new(seed: u64, engine: &mut Config) -> Silences {
        let mut random = Random::from_seed(seed ^ STREAM);
        let has_limits = random.chance(0.5);
        for bank in engine.banks.iter_mut().filter(|_| has_limits) {
            // One of the two may be off.
            let off = random.below(6);
            bank.silence_ms = u64::from(off != 0) * (80 + random.below(250));
            bank.stale_ms = u64::from(off != 1) * (100 + random.below(400));
        }
        Silences {
            random,
            has_limits,
            next_ns: 50 * MS,
        }
    }
}

/// Quotes of the banks that a process received, by plain bookkeeping.
pub(super) struct Given {
    /// `None`: the session is down.
    banks: Vec<Option<Heard>>,
    /// Pairs of the process before those of the banks.
    pairs_before: usize,
    /// Orders that were checked.
    orders: usize,
}

/// A session that is up.
struct Heard {
    at_ns: u64,
    /// Last quotes of each pair.
    quoted_ns: Vec<Option<u64>>,
    /// Bounds that were passed since: of the bank, and of each pair.
    passed: Vec<bool>,
}

impl Given {
    /// A process with these orders from its journal.
    pub(super) fn new(banks: usize, pairs_before: usize, core: &Engine) -> Given {
        Given {
            banks: (0..banks).map(|_| None).collect(),
            pairs_before,
            orders: core.engine.trading().orders().count(),
        }
    }

    fn note(&mut self, bank: usize, pairs: usize, priced: &Priced, now_ns: u64) {
        let heard = &mut self.banks[bank];
        match (priced, &mut *heard) {
            (Priced::Up, _) => {
                *heard = Some(Heard {
                    at_ns: now_ns,
                    quoted_ns: vec![None; pairs],
                    passed: vec![false; 1 + pairs],
                });
            }
            (Priced::Down, _) => *heard = None,
            (Priced::Heard, Some(heard)) => heard.hear(now_ns),
            (Priced::Quotes(pair, _), Some(heard)) => {
                heard.hear(now_ns);
                heard.quoted_ns[*pair] = Some(now_ns);
                heard.passed[1 + *pair] = false;
            }
            (_, None) => {}
        }
    }

    /// Time at which the bounds of a bank and of its pair end the use of its quotes; 0 if there are no quotes.
    fn ends_ns(&self, engine: &Config, bank: usize, pair: usize) -> [u64; 2] {
        let limits = &engine.banks[bank];
        let after = |from_ns: Option<u64>, ms: u64| match (from_ns, ms) {
            (None, _) => 0,
            (Some(_), 0) => u64::MAX,
            (Some(from_ns), ms) => from_ns + ms * MS,
        };
        let heard = self.banks[bank].as_ref();
        let quoted_ns = heard.and_then(|heard| heard.quoted_ns[pair]);
        let heard_ns = heard.map(|heard| heard.at_ns);
        [
            after(heard_ns, limits.silence_ms),
            after(quoted_ns, limits.stale_ms),
        ]
    }

    /// Checks that no order made since the last check uses quotes beyond their bound at its decision: the engine carries out a decision
    /// that is at most `pause_max_ms` late.
    fn check_orders(
        &mut self,
        engine: &Config,
        core: &Engine,
        time: ReceiveTime,
    ) -> Result<(), String> {
        let orders = core.engine.trading().orders();
        for at in self.orders..orders.count() {
            let order = orders.get(at);
            let (bank, pair) = (order.terms.bank, order.terms.pair - self.pairs_before);
            let ends_ns = self.ends_ns(engine, bank, pair);
            let late_ns = time.wall_ns.saturating_sub(order.terms.sent_ns);
            let decided_ns = time.mono_ns - late_ns.min(core.pause_max_ns);
            if !order.is_adopted() && ends_ns.iter().any(|end_ns| *end_ns <= decided_ns) {
                let id = order.terms.id.as_str();
                return Err(format!(
                    "order {id} uses quotes of bank {bank} that ended at {ends_ns:?} ns"
                ));
            }
        }
        self.orders = orders.count();
        Ok(())
    }

    /// Checks that no side of a composite counts quotes beyond their bound. The engine's timers have run.
    fn check_composites(&self, engine: &Config, core: &Engine, now_ns: u64) -> Result<(), String> {
        let composites = core.engine.pricing().composites();
        for pair in 0..engine.pairs.len() - self.pairs_before {
            let sides = Side::BOTH.map(|side| composites.offers(self.pairs_before + pair, side));
            for offer in sides.into_iter().flatten() {
                let bank = usize::from(offer.bank);
                let ends_ns = self.ends_ns(engine, bank, pair);
                if ends_ns.iter().any(|end_ns| *end_ns <= now_ns) {
                    return Err(format!(
                        "the composite of pair {pair} counts quotes of bank {bank} that ended at {ends_ns:?} ns"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Bounds that were passed for the first time: of banks, and of pairs.
    fn passed(&mut self, engine: &Config, now_ns: u64) -> [u64; 2] {
        let mut counts = [0; 2];
        for bank in 0..self.banks.len() {
            for pair in 0..engine.pairs.len() - self.pairs_before {
                let [silent_ns, stale_ns] = self.ends_ns(engine, bank, pair);
                let Some(heard) = &mut self.banks[bank] else {
                    continue;
                };
                let is_quoted = heard.quoted_ns[pair].is_some();
                let is_silent = silent_ns <= now_ns;
                let is_stale = is_quoted && !is_silent && stale_ns <= now_ns;
                for (place, is_passed, count) in [(0, is_silent, 0), (1 + pair, is_stale, 1)] {
                    counts[count] += u64::from(is_passed && !heard.passed[place]);
                    heard.passed[place] |= is_passed;
                }
            }
        }
        counts
    }
}

impl Heard {
    fn hear(&mut self, now_ns: u64) {
        self.at_ns = now_ns;
        self.passed[0] = false;
    }
}

impl World {
    /// Now and then each bank sends nothing for a while, or no quotes of a pair.
    pub(super) fn fall_silent(&mut self) {
        let silences = &mut self.silences;
        if !silences.has_limits || silences.next_ns > self.now_ns {
            return;
        }
        let random = &mut silences.random;
        silences.next_ns = self.now_ns + random.below(300 * MS);
        for bank in &mut self.banks {
            let mut until_ns = |chance: f64| match random.chance(chance) {
                true => self.now_ns + random.below(700 * MS),
                false => 0,
            };
            bank.quiet_ns = bank.quiet_ns.max(until_ns(0.3));
            for unquoted_ns in &mut bank.unquoted_ns {
                *unquoted_ns = until_ns(0.3).max(*unquoted_ns);
            }
        }
    }

    /// Gives the process the arrived updates of the banks' pricing sessions.
    pub(super) fn price(&mut self, process: &mut Process, wall_ns: u64) {
        let (mono_ns, pairs) = (self.now_ns, self.mids.len());
        let Process { core, given, .. } = process;
        let engine = &self.scenario.engine;
        for (place, bank) in self.banks.iter_mut().enumerate() {
            while let Some(priced) = bank.priced(mono_ns) {
                let time = core.time(mono_ns, wall_ns);
                // Due timers run first, and the banks' buses are read by the present days.
                core.wake(time);
                self.counts.days += std::mem::take(&mut core.begun).len() as u64;
                let checked = given.check_orders(engine, core, time);
                given.note(place, pairs, &priced, mono_ns);
                match priced {
                    Priced::Up => core.quotes(time, place, Session::Up),
                    Priced::Down => core.quotes(time, place, Session::Down),
                    Priced::Heard => core.quotes(time, place, Session::Heard),
                    Priced::Quotes(pair, quotes) => {
                        let setup = core.engine.setup();
                        let is_usable = (self.weeks.as_ref())
                            .is_none_or(|weeks| weeks.is_usable(setup, place, pair, time.wall_ns));
                        let quotes = BusQuotes {
                            pair: given.pairs_before + pair,
                            receive_ns: time.wall_ns,
                            bank_ns: [0; 2],
                            is_unquoted: !is_usable,
                            quoted: Quoted::All(if is_usable { &quotes } else { &[] }),
                        };
                        core.quotes(time, place, Session::Quotes(quotes));
                    }
                }
                watch(&self.machine, core);
                if let Err(what) = checked {
                    self.machine.borrow_mut().watch.fail(what);
                }
            }
        }
    }

    /// Marks all pricing sessions of the process as down. Due timers ran before.
    pub(super) fn all_down(&mut self, process: &mut Process, time: ReceiveTime) {
        let Process { core, given, .. } = process;
        let checked = given.check_orders(&self.scenario.engine, core, time);
        if let Err(what) = checked {
            self.machine.borrow_mut().watch.fail(what);
        }
        given.banks.fill_with(|| None);
    }

    /// At the end of a round, after the engine's timers.
    pub(super) fn check_silence(&mut self, process: &mut Process, time: ReceiveTime) {
        let now_ns = time.mono_ns;
        let Process { core, given, .. } = process;
        let engine = &self.scenario.engine;
        let checked = given.check_orders(engine, core, time);
        let checked = checked.and_then(|()| given.check_composites(engine, core, now_ns));
        if let Err(what) = checked {
            self.machine.borrow_mut().watch.fail(what);
        }
        let [silences, stale_pairs] = given.passed(engine, now_ns);
        self.counts.silences += silences;
        self.counts.stale_pairs += stale_pairs;
    }
}
