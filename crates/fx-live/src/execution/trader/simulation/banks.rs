//! The banks: their quotes, and their dealing desks, which are those of `touchline sim bank`.

use super::network::Line;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use touchline_lab::bank::{Config, Desk, Kind, Ladder};
use touchline_lab::random::Random;
use touchline_types::{Id, Price, Quantity, Quote, ReceiveTime, Side};

const MS: u64 = 1_000_000;

/// Update from a pricing session to the engine.
pub enum Priced {
    Up,
    Down,
    /// A Heartbeat.
    Heard,
    Quotes(usize, Vec<Quote>),
}

/// A bank.
pub struct Bank {
    pub desk: Desk,
    pub line: Rc<RefCell<Line>>,
    pub place: usize,
    random: Random,
    shown: Vec<Option<Ladder>>,
    quote_ns: u64,
    /// Updates in transit to the engine: time of arrival, time of their making, update.
    priced: VecDeque<(u64, u64, Priced)>,
    is_streaming: bool,
    number: u64,
    /// The wall clock of its host was set by this much in all, nanoseconds.
    pub set_ns: i64,
    /// Time at which the engine's wall clock was set: earlier quotes do not count.
    doubted_ns: Option<u64>,
    /// Time until which the bank sends nothing.
    pub quiet_ns: u64,
    /// Time until which the bank sends Heartbeats and no quotes, by pair.
    pub unquoted_ns: Vec<u64>,
}

impl Bank {
    pub fn new(
        place: usize,
        config: &Config,
        line: Rc<RefCell<Line>>,
        last_look_ns: Option<u64>,
        random: &mut Random,
    ) -> Bank {
        let about = &config.banks[place];
        let orders = about.orders.as_ref().expect("a bank with a desk");
        let mut desk = Desk::new(&about.name, orders, config.pairs.len(), random.split());
        if let Some(last_look_ns) = last_look_ns {
            desk = desk.with_last_look(last_look_ns);
        }
        Bank {
            desk: desk.with_kept(1_024, 256 << 10),
            line,
            place,
            random: random.split(),
            shown: vec![None; config.pairs.len()],
            quote_ns: 0,
            priced: VecDeque::new(),
            is_streaming: false,
            number: 0,
            set_ns: 0,
            doubted_ns: None,
            quiet_ns: 0,
            unquoted_ns: vec![0; config.pairs.len()],
        }
    }

    /// Begins to stream to an engine that has started, or ends.
    pub fn stream(&mut self, now_ns: u64, is_up: bool) {
        self.is_streaming = is_up;
        self.priced.clear();
        self.doubted_ns = None;
        let priced = if is_up { Priced::Up } else { Priced::Down };
        self.arrives(now_ns, priced);
    }

    fn arrives(&mut self, now_ns: u64, priced: Priced) {
        let last_ns = self.priced.back().map_or(0, |(at_ns, ..)| *at_ns);
        let at_ns = last_ns.max(now_ns + self.random.below(2 * MS));
        self.priced.push_back((at_ns, now_ns, priced));
    }

    /// Notes that the engine's wall clock was set: quotes made before it no longer count, as on a bus.
    pub fn doubt(&mut self, now_ns: u64) {
        self.doubted_ns = Some(now_ns);
    }

    /// Next update of the bank that has arrived at the engine.
    pub fn priced(&mut self, now_ns: u64) -> Option<Priced> {
        loop {
            let (at_ns, made_ns, _) = self.priced.front()?;
            if *at_ns > now_ns {
                return None;
            }
            let is_old = self.doubted_ns.map(|doubted_ns| *made_ns < doubted_ns);
            match (is_old, &self.priced.front()?.2) {
                (Some(true), Priced::Quotes(..)) | (Some(_), Priced::Up) => {
                    self.priced.pop_front();
                }
                (Some(false), Priced::Quotes(..)) => {
                    self.doubted_ns = None;
                    return Some(Priced::Up);
                }
                _ => return self.priced.pop_front().map(|(.., priced)| priced),
            }
        }
    }

    /// Ends all faults of the bank.
    pub fn heal(&mut self) {
        (self.set_ns, self.quiet_ns) = (0, 0);
        self.unquoted_ns.fill(0);
    }

    /// Lets the bank work once.
    pub fn work(&mut self, config: &Config, mids: &[i64], is_sound: bool, at: ReceiveTime) {
        if self.quote_ns <= at.mono_ns {
            self.quote(config, mids, at.mono_ns);
        }
        // Time by the bank's own wall clock.
        let at = ReceiveTime {
            wall_ns: at.wall_ns.saturating_add_signed(self.set_ns),
            ..at
        };
        if is_sound {
            self.desk.open();
        }
        let line = &mut *self.line.borrow_mut();
        line.serve(&mut self.desk, at);
        self.desk.work(config, &self.shown, is_sound, at);
        line.answer(&mut self.desk, at);
    }

    pub fn due_ns(&self) -> u64 {
        let priced_ns = self.priced.front().map_or(u64::MAX, |(at_ns, ..)| *at_ns);
        let line_ns = self.line.borrow().due_ns();
        priced_ns
            .min(line_ns)
            .min(self.desk.due_ns())
            .min(self.quote_ns)
    }

    fn quote(&mut self, config: &Config, mids: &[i64], now_ns: u64) {
        self.quote_ns = now_ns + 5 * MS + self.random.below(60 * MS);
        let about = &config.banks[self.place];
        let pair = self.random.index(mids.len());
        let mid = mids[pair] + self.random.between(-2, 2);
        let ladder = Ladder::around(mid, about);
        if self.is_streaming && self.quiet_ns <= now_ns && self.unquoted_ns[pair] > now_ns {
            self.arrives(now_ns, Priced::Heard);
        } else if self.is_streaming && self.quiet_ns <= now_ns {
            self.number += 1;
            let quotes = quotes(
                &ladder,
                about.kind,
                config.pairs[pair].precision,
                self.number,
            );
            self.arrives(now_ns, Priced::Quotes(pair, quotes));
        }
        self.shown[pair] = Some(ladder);
    }
}

/// The quotes of a ladder, as a gateway publishes them.
fn quotes(ladder: &Ladder, kind: Kind, precision: u8, number: u64) -> Vec<Quote> {
    let scale = 10_i64.pow(9 - u32::from(precision));
    let mut quotes = Vec::with_capacity(2 * ladder.bands.len());
    for (tier, band) in ladder.bands.iter().enumerate() {
        for (side, price) in [(Side::Bid, band.bid), (Side::Ask, band.ask)] {
            let place = quotes.len() as u64;
            quotes.push(Quote {
                entry: place as u32,
                side,
                price: Price(price * scale),
                quantity: Quantity(band.size),
                priority: number * 8 + place,
                is_full_amount: kind == Kind::Full,
                quote_id: Id::lossy(format!("{number}.{tier}").as_bytes()),
                ..Quote::NULL
            });
        }
    }
    quotes
}
