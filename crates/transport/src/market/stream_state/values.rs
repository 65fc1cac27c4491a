//! Last values of each instrument beside its books: definition, last trade, status, statistics.

use touchline_types::{
    Instrument, InstrumentDefinition, PacketInfo, Statistic, StatisticKind, Timestamps, Trade,
    TradingStatus, Update, UpdateAction,
};

/// Most product groups with a status, as on a bus.
const GROUPS_MAX: usize = 64;

/// A value with the two times that are stored with it.
#[derive(Clone, Copy, Debug)]
pub struct Timed<T> {
    /// The value.
    pub value: T,
    exchange_ns: u64,
    receive_ns: u64,
}

impl<T> Timed<T> {
    fn new(value: T, timestamps: &Timestamps) -> Timed<T> {
        Timed {
            value,
            exchange_ns: timestamps.exchange_ns,
            receive_ns: timestamps.packet.receive_ns,
        }
    }

    /// Venue time and receive time.
    pub fn timestamps(&self) -> Timestamps {
        Timestamps {
            exchange_ns: self.exchange_ns,
            packet: PacketInfo {
                receive_ns: self.receive_ns,
                ..PacketInfo::default()
            },
            ..Timestamps::default()
        }
    }
}

/// State of one instrument.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Definition.
    pub definition: Option<Timed<InstrumentDefinition>>,
    /// Last trade; deleted if it was busted, or by a loss behind which it did not arrive again.
    pub trade: Option<Timed<Trade>>,
    /// Trading status.
    pub status: Option<Timed<TradingStatus>>,
    /// Statistics, by kind; deleted ones as well, since a receiver may have missed that.
    pub statistics: [Option<Timed<Statistic>>; StatisticKind::ALL.len()],
    /// Whether its price book was published.
    pub has_book: bool,
    /// Whether its order book was published.
    pub has_orders: bool,
}

/// State of every instrument and group.
#[derive(Debug)]
pub struct StoredValues {
    values: Vec<Values>,
    groups: Vec<Timed<TradingStatus>>,
    instruments_max: usize,
}

impl StoredValues {
    /// Empty, with room for this number of instruments.
    pub fn new(instruments_max: usize) -> StoredValues {
        StoredValues {
            values: Vec::with_capacity(instruments_max),
            groups: Vec::with_capacity(GROUPS_MAX),
            instruments_max,
        }
    }

    /// Number of instruments of the bus since its restart.
    pub fn set_instruments_max(&mut self, instruments_max: usize) {
        self.instruments_max = instruments_max;
    }

    /// Clears all values.
    pub fn clear(&mut self) {
        self.values.clear();
        self.groups.clear();
    }

    /// Deletes trades and statistics: messages were lost, a bust among them, perhaps. Those that hold arrive again with the tables.
    pub fn lose(&mut self) {
        // mutant: stream state: trades and statistics outlive a loss of messages
        self.values.iter_mut().for_each(Values::delete);
    }

    /// Range of instruments that has all known ones.
    pub fn instruments(&self) -> u32 {
        self.values.len() as u32
    }

    /// Values of an instrument.
    pub fn of(&self, instrument: Instrument) -> Option<&Values> {
        self.values.get(instrument.index())
    }

    /// Statuses of product groups.
    pub fn groups(&self) -> &[Timed<TradingStatus>] {
        &self.groups
    }

    /// Stores the values of an update; `is_image` if it is of a table.
    pub fn update(&mut self, update: &Update<'_>, timestamps: &Timestamps, is_image: bool) {
        match update {
            Update::Book(book) => self.with(book.instrument, |values| values.has_book = true),
            Update::BookSnapshot(book) => {
                self.with(book.instrument, |values| values.has_book = true);
            }
            Update::State(state) => self.with(state.instrument, |values| values.has_book = true),
            Update::Orders(orders) => {
                self.with(orders.instrument, |values| values.has_orders = true);
            }
            Update::OrdersSnapshot(orders) => {
                self.with(orders.instrument, |values| values.has_orders = true);
            }
            Update::Definition(definition) => self.with(definition.instrument, |values| {
                values.definition = Some(Timed::new(**definition, timestamps));
            }),
            Update::Trade(trade) => {
                self.with(trade.instrument, |values| {
                    values.take_trade(trade, timestamps, is_image)
                });
            }
            Update::Statistic(statistic) => self.with(statistic.instrument, |values| {
                values.statistics[statistic.kind as usize] =
                    Some(Timed::new(**statistic, timestamps));
            }),
            Update::Status(status) => self.status(status, timestamps),
            Update::Gap(_) | Update::Reset | Update::Download(_) | Update::Channel(_) => {}
            // Publishers of quotes repeat complete snapshots.
            Update::Quotes(_) | Update::QuoteSnapshot(_) => {}
        }
    }

    fn status(&mut self, status: &TradingStatus, timestamps: &Timestamps) {
        let timed = Timed::new(*status, timestamps);
        let Some(instrument) = status.instrument else {
            let group = status.group;
            let known = self
                .groups
                .iter()
                .position(|known| known.value.group == group);
            match known {
                Some(place) => self.groups[place] = timed,
                None if self.groups.len() < GROUPS_MAX => self.groups.push(timed),
                None => {}
            }
            return;
        };
        self.with(instrument, |values| values.status = Some(timed));
    }

    #[inline]
    fn with(&mut self, instrument: Instrument, change: impl FnOnce(&mut Values)) {
        let index = instrument.index();
        if index >= self.values.len() {
            // The bus is full as well.
            if index >= self.instruments_max {
                return;
            }
            self.values.resize(index + 1, Values::default());
        }
        change(&mut self.values[index]);
    }
}

impl Values {
    /// Deletes trade and statistics, which a receiver may still have.
    fn delete(&mut self) {
        let statistics = self.statistics.iter_mut().flatten();
        statistics.for_each(|statistic| statistic.value.action = UpdateAction::Delete);
        if let Some(trade) = &mut self.trade {
            trade.value.action = UpdateAction::Delete;
        }
    }

    /// Stores a trade. A correction or a bust refers to the last trade, or to an older trade; a trade
    /// of a table is the last trade.
    fn take_trade(&mut self, trade: &Trade, timestamps: &Timestamps, is_image: bool) {
        let is_of_last = self.trade.is_some_and(|last| {
            let last = last.value;
            last.action != UpdateAction::Delete
                && last.trade_id != 0
                && last.trade_id == trade.trade_id
        });
        if is_image || is_of_last || trade.action == UpdateAction::New {
            self.trade = Some(Timed::new(*trade, timestamps));
        }
    }
}
