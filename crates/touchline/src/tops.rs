//! Top of book after each end of event, as JSON lines. The format is an interface.

use crate::output::{Failure, Output};
use crate::record::{Prices, Record};
use std::cell::RefCell;
use std::rc::Rc;
use touchline_transport::{Envelope, Subscribe, SubscriptionEvent};
use touchline_types::{BookUpdate, InstrumentDefinition, Level, Update};

/// Subscriber that writes one line for each complete event and each instrument whose direct book changed.
#[derive(Debug)]
pub struct Tops {
    output: Rc<RefCell<Output>>,
    line: String,
    prices: Prices,
    /// By instrument; `None` until it is defined.
    definitions: Vec<Option<InstrumentDefinition>>,
    failure: Option<Failure>,
}

impl Tops {
    /// Writes to `output`.
    pub fn new(output: Output, prices: Prices) -> Tops {
        Tops::over(Rc::new(RefCell::new(output)), prices)
    }

    /// The tops of another bus, written to the same output.
    pub fn beside(&self) -> Tops {
        Tops::over(self.output.clone(), self.prices)
    }

    fn over(output: Rc<RefCell<Output>>, prices: Prices) -> Tops {
        Tops {
            output,
            line: String::new(),
            prices,
            definitions: Vec::new(),
            failure: None,
        }
    }

    /// The complete output, if no other writes to it; or the first write error.
    pub fn into_output(self) -> Result<Option<Output>, Failure> {
        let output = Rc::into_inner(self.output).map(RefCell::into_inner);
        self.failure.map_or(Ok(output), Err)
    }

    fn define(&mut self, definition: &InstrumentDefinition) {
        let index = definition.instrument.index();
        let rows = self.definitions.len().max(index + 1);
        self.definitions.resize(rows, None);
        self.definitions[index] = Some(*definition);
    }

    fn write(&mut self, update: &BookUpdate<'_>, sequence: u64) {
        let definition = self.definitions.get(update.instrument.index());
        let definition = definition.and_then(Option::as_ref);
        let exponent = definition.map_or(0, |definition| definition.quantity_exponent);
        let prices = self.prices;
        let shown = |level: Option<Level>| {
            level.filter(|level| level.known).map(|level| Level {
                price: definition
                    .map_or(level.price, |definition| prices.of(definition, level.price)),
                ..level
            })
        };
        self.line.clear();
        let mut row = Record::json(&mut self.line);
        row.number("seq", sequence);
        row.number("security_id", update.security_id);
        row.best("bid", shown(update.best_bid), exponent);
        row.best("ask", shown(update.best_ask), exponent);
        row.end();
        if self.failure.is_none() {
            self.failure = self.output.borrow_mut().line(&self.line).err();
        }
    }
}

impl Subscribe for Tops {
    fn update(&mut self, envelope: &Envelope<'_>) {
        match envelope.update {
            Update::Book(update) if update.whole && update.direct => {
                self.write(update, envelope.timestamps.packet.sequence);
            }
            Update::Definition(definition) => self.define(definition),
            _ => {}
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        if let SubscriptionEvent::Restarted { .. } = event {
            self.definitions.clear();
        }
    }
}
