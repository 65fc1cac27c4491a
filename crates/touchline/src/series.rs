//! Series of quotes and trades: one row for each change of the best bid or offer of an instrument and one for each
//! trade, as CSV or JSON lines. Format of `replay --quotes --trades`.

mod row;

use crate::output::{Failure, Output};
use crate::record::{Form, Prices};
use row::{Quote, QuoteRow, TradeRow};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use touchline_book::PriceBook;
use touchline_transport::{Envelope, Mirror, Subscribe, SubscriptionEvent};
use touchline_types::{Depth, Instrument, InstrumentDefinition, Side, Timestamps, Trade, Update};

/// One output with its format.
#[derive(Debug)]
pub struct SeriesOutput {
    output: Output,
    form: Form,
    line: String,
}

/// The requested series, as a subscriber of one bus.
#[derive(Debug)]
pub struct Series {
    quotes: Option<Rc<RefCell<SeriesOutput>>>,
    trades: Option<Rc<RefCell<SeriesOutput>>>,
    prices: Prices,
    mirror: Mirror,
    /// By instrument; `None` for one that is not selected, or not defined yet.
    definitions: Vec<Option<InstrumentDefinition>>,
    /// Last row of each instrument.
    last: Vec<Option<Quote>>,
    /// Last known times. Their exchange time is that of the last event; 0 before the first one, and before the first one behind a
    /// loss: it writes the states in front of it. So every row has its times (an empty one makes readers of CSV round all others), and
    /// no book has a time before its own.
    times: Timestamps,
    failure: Option<Failure>,
}

impl SeriesOutput {
    /// Opens an output in the format of its file extension.
    ///
    /// # Errors
    /// The extension has no format, or the path cannot be written.
    pub fn open(path: &Path) -> Result<SeriesOutput, Failure> {
        let form = Form::of(path).map_err(Failure::usage)?;
        Ok(SeriesOutput {
            output: Output::open(path)?,
            form,
            line: String::new(),
        })
    }

    fn head(&mut self, columns: &str) -> Result<(), Failure> {
        match self.form {
            Form::Csv => self.output.line(columns),
            Form::JsonLines => Ok(()),
        }
    }

    fn row(&mut self, write: impl FnOnce(&mut String, Form)) -> Result<(), Failure> {
        self.line.clear();
        write(&mut self.line, self.form);
        self.output.line(&self.line)
    }
}

impl Series {
    /// Writes to the given outputs; a CSV header at once.
    ///
    /// # Errors
    /// An output cannot be written.
    pub fn new(
        mut quotes: Option<SeriesOutput>,
        mut trades: Option<SeriesOutput>,
        prices: Prices,
    ) -> Result<Series, Failure> {
        if let Some(quotes) = &mut quotes {
            quotes.head(QuoteRow::COLUMNS)?;
        }
        if let Some(trades) = &mut trades {
            trades.head(TradeRow::COLUMNS)?;
        }
        let shared = |output: Option<SeriesOutput>| output.map(RefCell::new).map(Rc::new);
        Ok(Series::over(shared(quotes), shared(trades), prices))
    }

    /// A series of another bus, which writes to the same outputs.
    pub fn beside(&self) -> Series {
        Series::over(self.quotes.clone(), self.trades.clone(), self.prices)
    }

    fn over(
        quotes: Option<Rc<RefCell<SeriesOutput>>>,
        trades: Option<Rc<RefCell<SeriesOutput>>>,
        prices: Prices,
    ) -> Series {
        Series {
            quotes,
            trades,
            prices,
            mirror: Mirror::new(0, 0),
            definitions: Vec::new(),
            last: Vec::new(),
            times: Timestamps::default(),
            failure: None,
        }
    }

    /// The complete outputs, if no other series writes to them.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn into_outputs(self) -> Result<impl Iterator<Item = Output>, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => {
                let outputs = [self.quotes, self.trades].into_iter().flatten();
                let last = outputs.filter_map(Rc::into_inner);
                Ok(last.map(|series| series.into_inner().output))
            }
        }
    }

    /// Writes a row of an instrument if its best bid, best offer or state differs from the last row.
    fn quote(&mut self, instrument: Instrument, timestamps: &Timestamps) {
        let Some(quotes) = self.quotes.as_ref().filter(|_| self.times.exchange_ns != 0) else {
            return;
        };
        let book = self.mirror.book(instrument);
        let touch = |side| book.and_then(|book: &PriceBook| book.touch(side));
        let quote = Quote {
            state: self.mirror.validity(instrument),
            bid: touch(Side::Bid),
            ask: touch(Side::Ask),
        };
        if self.last.len() <= instrument.index() {
            self.last.resize(instrument.index() + 1, None);
        }
        let last = &mut self.last[instrument.index()];
        if *last == Some(quote) {
            return;
        }
        *last = Some(quote);
        let definition = definition_of(&self.definitions, instrument);
        let row = QuoteRow {
            timestamps,
            definition: &definition,
            quote,
            prices: self.prices,
        };
        let written = quotes.borrow_mut().row(|line, form| row.write(line, form));
        self.failure = self.failure.take().or(written.err());
    }

    /// Writes the rows of every instrument with a changed state that is defined or has a row, by ascending security id.
    fn quote_all(&mut self, timestamps: &Timestamps) {
        let defined = self.definitions.iter().flatten();
        let mut all: Vec<_> = defined
            .map(|definition| (definition.security_id, definition.instrument))
            .collect();
        let has_row = |instrument: &Instrument| {
            self.last
                .get(instrument.index())
                .is_some_and(Option::is_some)
        };
        let undefined = (0..self.last.len() as u32).map(Instrument).filter(has_row);
        let undefined = undefined.filter(|instrument| {
            let definition = self.definitions.get(instrument.index());
            definition.is_none_or(Option::is_none)
        });
        all.extend(undefined.map(|instrument| (0, instrument)));
        all.sort_unstable();
        for (_, instrument) in all {
            self.quote(instrument, timestamps);
        }
    }

    fn trade(&mut self, trade: &Trade, timestamps: &Timestamps) {
        let Some(trades) = &self.trades else {
            return;
        };
        let definition = definition_of(&self.definitions, trade.instrument);
        let row = TradeRow {
            timestamps,
            definition: &definition,
            state: self.mirror.validity(trade.instrument),
            trade,
            prices: self.prices,
        };
        let written = trades.borrow_mut().row(|line, form| row.write(line, form));
        self.failure = self.failure.take().or(written.err());
    }

    /// Notes the times of an update, and returns them with the last known ones in place of those that it does not have.
    fn note_times(&mut self, timestamps: &Timestamps) -> Timestamps {
        let last = self.times;
        self.times = *timestamps;
        if timestamps.exchange_ns == 0 {
            self.times.exchange_ns = last.exchange_ns;
        }
        // Of the recorder of a tape, and not of a packet.
        if timestamps.packet.receive_ns == 0 {
            self.times.packet = last.packet;
        }
        self.times
    }

    fn define(&mut self, definition: &InstrumentDefinition) {
        let index = definition.instrument.index();
        if self.definitions.len() <= index {
            self.definitions.resize(index + 1, None);
        }
        self.definitions[index] = Some(*definition);
    }
}

impl Subscribe for Series {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let is_first = self.times.exchange_ns == 0;
        let timestamps = &self.note_times(envelope.timestamps);
        if is_first {
            self.quote_all(timestamps);
        }
        match envelope.update {
            Update::Trade(trade) => return self.trade(trade, timestamps),
            // Orders are not part of the series.
            Update::Orders(_) | Update::OrdersSnapshot(_) => return,
            Update::Definition(definition) => self.define(definition),
            _ => {}
        }
        self.mirror.update(envelope);
        match envelope.update {
            // The rest of a truncated event is lost; the state reports it.
            Update::Book(book) => self.quote(book.instrument, timestamps),
            Update::BookSnapshot(book) => self.quote(book.instrument, timestamps),
            Update::State(state) => self.quote(state.instrument, timestamps),
            Update::Gap(_) | Update::Reset | Update::Channel(_) => self.quote_all(timestamps),
            _ => {}
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.mirror.event(event);
        // Rows of books that are not live any more.
        let times = self.times;
        self.quote_all(&times);
        let is_new = matches!(event, SubscriptionEvent::Restarted { .. });
        if is_new {
            // mutant: tape: a series keeps the definitions of the run before
            self.definitions.clear();
            self.last.clear();
        }
        let is_lost = matches!(
            event,
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. }
        );
        // The states that follow are of a later time, which the next event has.
        if is_new || is_lost {
            // mutant: tape: a series writes the books behind a loss with the time before it
            self.times.exchange_ns = 0;
        }
    }
}

fn definition_of(
    definitions: &[Option<InstrumentDefinition>],
    instrument: Instrument,
) -> InstrumentDefinition {
    let known = definitions.get(instrument.index());
    known.copied().flatten().unwrap_or(unknown(instrument))
}

fn unknown(instrument: Instrument) -> InstrumentDefinition {
    const DEPTH: Depth = Depth {
        direct: 0,
        implied: 0,
    };
    InstrumentDefinition::unknown(instrument, 0, DEPTH)
}
