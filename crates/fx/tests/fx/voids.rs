//! Banks that quote, freeze, disconnect and come back, in virtual time: a void quote is in no composite, at no instant.
//!
//! `SEEDS=500 cargo test -p touchline-fx voids` runs 500 seeds.

use crate::random::banks::Random;
use crate::random::seeds;
use std::collections::BTreeMap;
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx::{Engine, Setup};
use touchline_fx_events::Batch;
use touchline_types::{Price, Quantity, Quote, QuoteAction, QuoteChange, Side};

const BANKS: usize = 4;
const PAIRS: usize = 2;
const STEPS: usize = 400;
const MS: u64 = 1_000_000;
/// A tick of five decimals.
const TICK: i64 = 10_000;
/// Silence, staleness and life of each bank's quotes, milliseconds; 0: unlimited.
const TIMES: [[u64; 3]; BANKS] = [[50, 0, 0], [0, 40, 0], [0, 0, 30], [60, 50, 40]];

/// Expected state of a bank, by plain bookkeeping.
#[derive(Default, Clone)]
struct Bank {
    is_up: bool,
    heard_ns: u64,
    quoted_ns: [Option<u64>; PAIRS],
    /// Quotes with the time of their end.
    quotes: [BTreeMap<u32, (Quote, u64)>; PAIRS],
}

struct World {
    engine: Engine,
    batch: Batch,
    banks: [Bank; BANKS],
    random: Random,
    now_ns: u64,
}

fn setup() -> Setup {
    let mut text = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n".to_owned();
    for symbol in ["EUR/USD", "GBP/USD"] {
        text += &format!(
            "[[pairs]]\nsymbol = \"{symbol}\"\nprecision = 5\nlot = 1\nspot_date = \"20260107\"\n"
        );
    }
    for (bank, [silence, stale, ttl]) in TIMES.iter().enumerate() {
        text += &format!(
            "[[banks]]\nname = \"B{bank}\"\npairs = [\"EUR/USD\", \"GBP/USD\"]\nsilence_ms = {silence}\nstale_ms = {stale}\nttl_ms = {ttl}\n"
        );
    }
    Setup::parse(&text).expect("a configuration")
}

fn after(from_ns: u64, ms: u64) -> u64 {
    if ms == 0 { u64::MAX } else { from_ns + ms * MS }
}

impl World {
    fn new(seed: u64) -> World {
        World {
            engine: Engine::new(setup()),
            batch: Batch::default(),
            banks: Default::default(),
            random: Random::new(seed),
            now_ns: 1_000 * MS,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// Time passes: a little, or as long as something that is frozen.
    fn pass(&mut self) {
        let ms = match self.below(10) {
            0 => 20 + self.below(80),
            _ => self.below(6),
        };
        self.now_ns += ms * MS;
        self.batch.clear();
        self.engine.handle_timeout(self.now_ns, &mut self.batch);
    }

    fn act(&mut self) {
        let bank = self.below(BANKS as u64) as usize;
        match self.below(20) {
            0 => self.session(bank, false),
            1 | 2 => self.session(bank, true),
            3 => {
                if self.banks[bank].is_up {
                    self.banks[bank].heard_ns = self.now_ns;
                }
                self.tell(bank, Session::Heard);
            }
            // The bank is frozen, or sends nothing.
            4..=6 => {}
            _ => self.quote(bank),
        }
    }

    fn session(&mut self, bank: usize, is_up: bool) {
        self.banks[bank] = Bank {
            is_up,
            heard_ns: self.now_ns,
            ..Bank::default()
        };
        self.tell(bank, if is_up { Session::Up } else { Session::Down });
    }

    fn quote(&mut self, bank: usize) {
        let pair = self.below(PAIRS as u64) as usize;
        let entry = self.below(6) as u32;
        let side = Side::BOTH[entry as usize % 2];
        let away = self.below(5) as i64;
        let ticks = match side {
            Side::Bid => 110_002 - away,
            Side::Ask => 110_000 + away,
        };
        let expiry_ns = match self.below(3) {
            0 => self.now_ns + self.below(40) * MS,
            _ => 0,
        };
        let quote = Quote {
            entry,
            side,
            price: Price(ticks * TICK),
            quantity: Quantity(1 + self.below(5) as i64),
            is_indicative: self.below(8) == 0,
            expiry_ns,
            ..Quote::NULL
        };
        let action = match self.below(8) {
            0 => QuoteAction::Clear,
            1 => QuoteAction::Remove,
            _ => QuoteAction::Set,
        };
        let known = &mut self.banks[bank];
        if known.is_up {
            known.heard_ns = self.now_ns;
            // The removal of all quotes of a pair does not count as a quote message of it.
            if action != QuoteAction::Clear {
                known.quoted_ns[pair] = Some(self.now_ns);
            }
            let own_ns = if expiry_ns == 0 { u64::MAX } else { expiry_ns };
            let ends_ns = own_ns.min(after(self.now_ns, TIMES[bank][2]));
            match action {
                QuoteAction::Set => drop(known.quotes[pair].insert(entry, (quote, ends_ns))),
                QuoteAction::Remove => drop(known.quotes[pair].remove(&entry)),
                QuoteAction::Clear => known.quotes[pair].clear(),
            }
        }
        let changes = [QuoteChange { action, quote }];
        self.tell(
            bank,
            Session::Quotes(BusQuotes {
                pair,
                receive_ns: self.now_ns,
                bank_ns: [0; 2],
                is_unquoted: false,
                quoted: Quoted::Changes(&changes),
            }),
        );
    }

    fn tell(&mut self, bank: usize, session: Session<'_>) {
        self.batch.clear();
        let input = Input::Pricing(bank, session);
        self.engine.handle(self.now_ns, &input, &mut self.batch);
    }

    /// Whether a bank's quotes of a pair may count.
    fn is_live(&self, bank: usize, pair: usize) -> bool {
        let known = &self.banks[bank];
        let [silence, stale, _] = TIMES[bank];
        known.is_up
            && self.now_ns < after(known.heard_ns, silence)
            && known.quoted_ns[pair].is_some_and(|quoted_ns| self.now_ns < after(quoted_ns, stale))
    }

    /// Best price and amount of a side among the quotes that are usable now; by search.
    fn best(&self, pair: usize, side: Side) -> Option<(i64, i64)> {
        let price_of = |quote: &Quote| quote.price.0 / TICK;
        let of_bank = |bank: usize| -> Vec<Quote> {
            if !self.is_live(bank, pair) {
                return Vec::new();
            }
            let quotes = self.banks[bank].quotes[pair].values();
            let firm =
                quotes.filter(|(quote, ends_ns)| !quote.is_indicative && self.now_ns < *ends_ns);
            let firm: Vec<Quote> = firm.map(|(quote, _)| *quote).collect();
            let of = |side| firm.iter().filter(move |quote| quote.side == side);
            let bid = of(Side::Bid).map(price_of).max();
            let ask = of(Side::Ask).map(price_of).min();
            match bid.zip(ask).is_some_and(|(bid, ask)| bid > ask) {
                // The bank is inverted.
                true => Vec::new(),
                false => of(side).copied().collect(),
            }
        };
        let all: Vec<Quote> = (0..BANKS).flat_map(of_bank).collect();
        let best = match side {
            Side::Bid => all.iter().map(price_of).max(),
            Side::Ask => all.iter().map(price_of).min(),
        }?;
        let at_best = all.iter().filter(|quote| price_of(quote) == best);
        Some((best, at_best.map(|quote| quote.quantity.0).sum()))
    }
}

#[test]
fn void_quotes_are_in_no_composite() {
    let (mut shown, mut dead) = (0, 0);
    for seed in seeds() {
        println!("SEED={seed}");
        let mut world = World::new(seed);
        for step in 0..STEPS {
            if world.below(2) == 0 {
                world.pass();
            } else {
                world.act();
            }
            for pair in 0..PAIRS {
                let tops = world.engine.pricing().composites().of(pair).tops;
                for side in Side::BOTH {
                    let found = tops[side.index()].map(|top| (top.price, top.quantity));
                    assert_eq!(
                        found,
                        world.best(pair, side),
                        "SEED={seed} step {step} {side:?}"
                    );
                    shown += usize::from(found.is_some());
                }
                let is_live = (0..BANKS).any(|bank| world.is_live(bank, pair));
                assert_eq!(
                    world.engine.pricing().is_live(pair),
                    is_live,
                    "SEED={seed} step {step}"
                );
                dead += usize::from(!is_live);
            }
        }
    }
    // A run without published tops, or without dead banks, would test nothing.
    let seeds = seeds().len();
    assert!(shown > 50 * seeds && dead > 10 * seeds, "{shown} {dead}");
}
