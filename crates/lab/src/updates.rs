//! Random updates of every kind, with extreme values in every field, for tests of a publication.

use crate::random::Random;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, ChannelState, Depth, DisplayFactor, FixedText, Gap,
    Instrument, InstrumentDefinition, LEGS_MAX, Leg, Legs, Level, LevelAction, LevelChange,
    OptionRight, OrderAction, OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate, PacketInfo,
    Phase, Price, PriceFraction, Quantity, ReferenceData, SecurityType, Side, State, Statistic,
    StatisticKind, Symbol, Timestamps, Trade, TradingStatus, Update, UpdateAction, Validity,
};

/// Memory that updates borrow, refilled for each of them.
#[derive(Debug)]
pub struct RandomUpdates {
    random: Random,
    entries_max: usize,
    levels: [Vec<Level>; 4],
    changes: Vec<LevelChange>,
    orders: Vec<OrderChange>,
    trade: Trade,
    statistic: Statistic,
    status: TradingStatus,
    definition: InstrumentDefinition,
    channel: ChannelState,
}

/// Number of kinds of update: [`RandomUpdates::of_kind`] takes 0 up to this.
pub const KINDS: usize = 13;

impl RandomUpdates {
    /// Updates of a seed, with at most `entries_max` changes, levels or orders a list.
    pub fn from_seed(seed: u64, entries_max: usize) -> RandomUpdates {
        let mut random = Random::from_seed(seed);
        RandomUpdates {
            entries_max,
            levels: Default::default(),
            changes: Vec::new(),
            orders: Vec::new(),
            trade: trade(&mut random),
            statistic: statistic(&mut random),
            status: status(&mut random),
            definition: definition(&mut random),
            channel: channel(&mut random),
            random,
        }
    }

    /// Next update, of any kind.
    pub fn any(&mut self) -> Update<'_> {
        let kind = self.random.index(KINDS);
        self.of_kind(kind)
    }

    /// Next timestamps.
    pub fn timestamps(&mut self) -> Timestamps {
        let random = &mut self.random;
        Timestamps {
            exchange_ns: word(random),
            packet: PacketInfo {
                sequence: word(random),
                sending_ns: word(random),
                receive_ns: word(random),
            },
            polled: word(random),
            decoded: word(random),
            applied: word(random),
            published: word(random),
        }
    }

    /// Next update of a kind.
    ///
    /// # Panics
    /// The kind does not exist.
    pub fn of_kind(&mut self, kind: usize) -> Update<'_> {
        match kind {
            0 => self.book(),
            1 => self.orders(),
            2 => self.book_snapshot(),
            3 => self.orders_snapshot(),
            4 => {
                self.trade = trade(&mut self.random);
                Update::Trade(&self.trade)
            }
            5 => {
                self.statistic = statistic(&mut self.random);
                Update::Statistic(&self.statistic)
            }
            6 => {
                self.status = status(&mut self.random);
                Update::Status(&self.status)
            }
            7 => {
                self.definition = definition(&mut self.random);
                Update::Definition(&self.definition)
            }
            8 => Update::State(State {
                instrument: instrument(&mut self.random),
                validity: validity(&mut self.random),
            }),
            9 => {
                let ends = [word(&mut self.random), word(&mut self.random)];
                Update::Gap(Gap {
                    first: ends[0].min(ends[1]),
                    last: ends[0].max(ends[1]),
                    orders: validity(&mut self.random),
                })
            }
            10 => Update::Reset,
            11 => Update::Download(*self.random.pick(Phase::ALL)),
            12 => {
                self.channel = channel(&mut self.random);
                Update::Channel(&self.channel)
            }
            _ => panic!("there is no kind of update {kind}"),
        }
    }

    fn book(&mut self) -> Update<'_> {
        let count = self.count();
        let random = &mut self.random;
        self.changes.clear();
        for _ in 0..count {
            self.changes.push(level_change(random));
        }
        Update::Book(BookUpdate {
            instrument: instrument(random),
            security_id: number(random),
            validity: validity(random),
            direct: random.chance(0.5),
            whole: random.chance(0.5),
            changes: &self.changes,
            best_bid: random.chance(0.7).then(|| level(random)),
            best_ask: random.chance(0.7).then(|| level(random)),
        })
    }

    fn orders(&mut self) -> Update<'_> {
        self.fill_orders(|random| *random.pick(OrderAction::ALL));
        Update::Orders(OrdersUpdate {
            instrument: instrument(&mut self.random),
            validity: validity(&mut self.random),
            changes: &self.orders,
        })
    }

    fn orders_snapshot(&mut self) -> Update<'_> {
        self.fill_orders(|_| OrderAction::New);
        Update::OrdersSnapshot(OrdersSnapshot {
            instrument: instrument(&mut self.random),
            validity: validity(&mut self.random),
            orders: &self.orders,
        })
    }

    fn book_snapshot(&mut self) -> Update<'_> {
        for list in 0..4 {
            let count = self.count();
            self.levels[list].clear();
            for _ in 0..count {
                self.levels[list].push(level(&mut self.random));
            }
        }
        let [bids, asks, implied_bids, implied_asks] = &self.levels;
        Update::BookSnapshot(BookSnapshot {
            instrument: instrument(&mut self.random),
            validity: validity(&mut self.random),
            bids,
            asks,
            implied_bids,
            implied_asks,
        })
    }

    fn fill_orders(&mut self, action: impl Fn(&mut Random) -> OrderAction) {
        let count = self.count();
        let random = &mut self.random;
        self.orders.clear();
        for _ in 0..count {
            self.orders.push(OrderChange {
                order_id: word(random),
                priority: word(random),
                price: Price(number(random)),
                quantity: Quantity(number(random)),
                side: *random.pick(&Side::BOTH),
                action: action(random),
                row: OrderRow::NONE,
            });
        }
    }

    /// Mostly few, sometimes the maximum.
    fn count(&mut self) -> usize {
        let most = match self.random.index(10) {
            0 => 0,
            1 => self.entries_max,
            2..5 => self.entries_max.min(3),
            _ => return self.random.index(self.entries_max.min(20) + 1),
        };
        self.random.index(most + 1)
    }
}

fn level_change(random: &mut Random) -> LevelChange {
    LevelChange {
        level: level(random),
        book: *random.pick(&[BookKind::Direct, BookKind::Implied]),
        side: *random.pick(&Side::BOTH),
        action: *random.pick(LevelAction::ALL),
        index: place(random),
    }
}

/// A position in a list, or a number of levels: mostly small, sometimes thousands, sometimes at the
/// limit of one byte.
fn place(random: &mut Random) -> u16 {
    match random.index(6) {
        0 => random.next_u64() as u16,
        1 => random.between(253, 257) as u16,
        2 => u16::MAX,
        _ => random.next_u64() as u16 & 15,
    }
}

fn level(random: &mut Random) -> Level {
    Level {
        price: Price(number(random)),
        quantity: Quantity(number(random)),
        orders: order_count(random),
        known: random.chance(0.8),
    }
}

fn trade(random: &mut Random) -> Trade {
    Trade {
        instrument: instrument(random),
        orders: order_count(random),
        price: Price(number(random)),
        quantity: Quantity(number(random)),
        aggressor: *random.pick(&[None, Some(Side::Bid), Some(Side::Ask)]),
        action: action(random),
        trade_id: word(random),
    }
}

fn statistic(random: &mut Random) -> Statistic {
    Statistic {
        instrument: instrument(random),
        kind: *random.pick(StatisticKind::ALL),
        action: action(random),
        price: Price(number(random)),
        quantity: Quantity(number(random)),
    }
}

fn status(random: &mut Random) -> TradingStatus {
    TradingStatus {
        instrument: random.chance(0.5).then(|| instrument(random)),
        group: *random.pick(&[*b"ES\0\0\0\0", *b"LONGER", [0; 6]]),
        status: random.next_u64() as u8,
        reason: random.next_u64() as u8,
        event: random.next_u64() as u8,
    }
}

fn channel(random: &mut Random) -> ChannelState {
    ChannelState {
        price: validity(random),
        orders: validity(random),
        sequence: word(random),
    }
}

fn definition(random: &mut Random) -> InstrumentDefinition {
    InstrumentDefinition {
        instrument: instrument(random),
        security_id: number(random),
        symbol: symbol(random),
        group: symbol(random),
        asset: symbol(random),
        depth: Depth {
            direct: place(random),
            implied: random.next_u64() as u8,
        },
        tick: Price(number(random)),
        quantity_exponent: random.next_u64() as i8,
        defined: random.chance(0.5),
        reference: reference(random),
    }
}

fn reference(random: &mut Random) -> ReferenceData {
    let mut legs = Legs::NONE;
    for _ in 0..[0, 2, 4, LEGS_MAX, LEGS_MAX + 3][random.index(5)] {
        legs.push(Leg {
            security_id: number(random),
            ratio: order_count(random),
            side: *random.pick(&Side::BOTH),
        });
    }
    ReferenceData {
        venue: fixed_text(random),
        security_type: random.chance(0.8).then(|| *random.pick(SecurityType::ALL)),
        currency: fixed_text(random),
        settlement_currency: fixed_text(random),
        display_factor: DisplayFactor::new(word(random) >> 1, word(random) >> 1),
        multiplier: Price(number(random)),
        lot: Quantity(number(random)),
        quantity_min: Quantity(number(random)),
        quantity_max: Quantity(number(random)),
        expiry_ns: word(random),
        maturity: word(random) as u32,
        strike: Price(number(random)),
        right: *random.pick(&[None, Some(OptionRight::Put), Some(OptionRight::Call)]),
        underlying: Some(number(random)).filter(|id| *id != i64::MAX),
        high_limit: Price(number(random)),
        low_limit: Price(number(random)),
        status: random.next_u64() as u8,
        price_fraction: Some(PriceFraction {
            main: random.next_u64() as u8,
            sub: random.next_u64() as u8,
        })
        .filter(|fraction| fraction.main != 0),
        legs,
    }
}

/// Printable text of 0 to 32 characters, including leading and trailing spaces.
fn symbol(random: &mut Random) -> Symbol {
    let length = random.index(33);
    let text: Vec<u8> = (0..length)
        .map(|_| random.between(0x20, 0x7e) as u8)
        .collect();
    Symbol::new(&text)
}

/// Printable text of 0 to `N` characters, sometimes with a leading space.
pub(crate) fn fixed_text<const N: usize>(random: &mut Random) -> FixedText<N> {
    let length = random.index(N + 1);
    let text: Vec<u8> = (0..length)
        .map(|_| random.between(0x20, 0x7e) as u8)
        .collect();
    FixedText::lossy(&text)
}

fn action(random: &mut Random) -> UpdateAction {
    *random.pick(UpdateAction::ALL)
}

pub(crate) fn validity(random: &mut Random) -> Validity {
    *random.pick(Validity::ALL)
}

/// Any instrument except the null value.
pub(crate) fn instrument(random: &mut Random) -> Instrument {
    Instrument(match random.index(8) {
        0 => u32::MAX - 1,
        1 => 0,
        _ => random.below(5_000) as u32,
    })
}

fn order_count(random: &mut Random) -> i32 {
    match random.index(6) {
        0 => -1,
        1 => i32::MAX,
        2 => i32::MIN,
        _ => random.between(0, 1_000) as i32,
    }
}

pub(crate) fn number(random: &mut Random) -> i64 {
    match random.index(8) {
        0 => i64::MAX,
        1 => i64::MIN,
        2 => 0,
        3 => -1,
        4 => random.next_u64() as i64,
        _ => random.between(-1_000_000_000_000, 1_000_000_000_000),
    }
}

pub(crate) fn word(random: &mut Random) -> u64 {
    match random.index(5) {
        0 => 0,
        1 => u64::MAX,
        _ => random.next_u64(),
    }
}
