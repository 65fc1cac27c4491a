//! Statistics, trading states and definitions as records.

use super::definition::definition;
use super::ids::name;
use super::layout::{self, Stat, rtype};
use super::records::Dbn;
use super::schema::Schema;
use crate::error::Error;
use crate::message::Message;
use crate::state::State;
use touchline_types::{
    InstrumentDefinition, Statistic, StatisticKind, TradingStatus, UpdateAction,
};

impl Dbn {
    pub(super) fn statistic(&mut self, statistic: &Statistic, message: &Message<'_>) {
        if message.is_image {
            return;
        }
        let Some(kind) = statistic_kind(statistic.kind) else {
            return self.without_place("statistic of another kind");
        };
        let Some(head) = self.head(statistic.instrument) else {
            return;
        };
        let quantity = match statistic.quantity.is_null() {
            true => Some(i64::MAX),
            false => {
                let whole = self.ids.whole(statistic.instrument, statistic.quantity);
                whole.and_then(|whole| i64::try_from(whole).ok())
            }
        };
        let Some(quantity) = quantity else {
            return self.without_place("statistic whose quantity is not whole");
        };
        let is_delete = matches!(
            statistic.action,
            UpdateAction::Delete | UpdateAction::DeleteThru | UpdateAction::DeleteFrom
        );
        let stat = Stat {
            price: statistic.price,
            quantity,
            kind,
            action: if is_delete { 2 } else { 1 },
        };
        for file in self.of(Schema::Statistics) {
            file.record(rtype::STATISTICS, &head, |bytes| {
                layout::statistic(bytes, &head, &stat);
            });
        }
    }

    pub(super) fn status(&mut self, status: &TradingStatus, message: &Message<'_>, state: &State) {
        if message.is_image || !self.files.iter().any(|file| file.schema == Schema::Status) {
            return;
        }
        let group = crate::tabulate::group(&status.group);
        let is_of = |definition: &InstrumentDefinition| match status.instrument {
            Some(instrument) => definition.instrument == instrument,
            None => definition.group.as_str() == group,
        };
        let known = state.all_known().map(|known| &known.definition);
        let named: Vec<_> = known.filter(|definition| is_of(definition)).collect();
        if named.is_empty() {
            return self.without_place("status of an unknown instrument");
        }
        for definition in named {
            // Codes of other venues have other meanings.
            let is_cme = definition.reference.venue.as_str() == "cme";
            let (words, is_trading) = match is_cme {
                true => (status_words(status), is_trading(status.status)),
                false => ([0; 3], b'~'),
            };
            if !is_cme {
                self.without_place("code of a status");
            }
            let Some(head) = self.head(definition.instrument) else {
                continue;
            };
            for file in self.of(Schema::Status) {
                file.record(rtype::STATUS, &head, |bytes| {
                    layout::status(bytes, &head, words, is_trading);
                });
            }
        }
    }

    pub(super) fn definition(&mut self, of: &InstrumentDefinition) {
        let was_known = self.ids.of(of.instrument).is_some();
        let before = self.ids.defined(of.instrument);
        self.notices.extend(self.ids.define(of));
        if !self
            .files
            .iter()
            .any(|file| file.schema == Schema::Definition)
        {
            return;
        }
        let (action, of) = match (&before, of.defined) {
            // Each state of the books repeats the definitions.
            (Some(before), true) if before == of => return,
            (None, false) if was_known => return,
            (None, false) => return self.without_place("instrument without a definition"),
            (None, true) => (b'A', of),
            (Some(_), true) => (b'M', of),
            // The venue took it back: the present one does not state the kind of contract.
            (Some(before), false) => (b'D', before),
        };
        let Some(head) = self.head(of.instrument) else {
            return;
        };
        let mut record = Vec::new();
        if let Err(why) = definition(&mut record, &head, of, action) {
            let symbol = name(of);
            self.refuse(Error::Refused(format!(
                "definition of instrument {symbol}: {why}; leave out the schema definition, or export the table definitions"
            )));
            return;
        }
        for file in self.of(Schema::Definition) {
            file.record(rtype::DEFINITION, &head, |bytes| {
                bytes.extend_from_slice(&record);
            });
        }
    }
}

/// Number of a kind of statistic.
fn statistic_kind(kind: StatisticKind) -> Option<u16> {
    Some(match kind {
        StatisticKind::Open => 1,
        StatisticKind::High => 5,
        StatisticKind::Low => 4,
        StatisticKind::Vwap => 13,
        StatisticKind::HighestBid => 8,
        StatisticKind::LowestAsk => 7,
        StatisticKind::Settlement => 3,
        StatisticKind::ClearedVolume => 6,
        StatisticKind::OpenInterest => 9,
        StatisticKind::Fixing => 10,
        StatisticKind::HighLimit => 17,
        StatisticKind::LowLimit => 18,
        // Numbers of their own: above those of exchanges.
        StatisticKind::Volume => 10_001,
        StatisticKind::PriceBand => 10_002,
        StatisticKind::Other => return None,
    })
}

/// Action, reason and event of a status of CME.
fn status_words(status: &TradingStatus) -> [u16; 3] {
    let action = match status.status {
        2 => 8,
        4 => 12,
        15 => 6,
        17 => 7,
        18 => 15,
        21 => 1,
        24 => 2,
        25 => 4,
        26 => 13,
        _ => 0,
    };
    let reason = match status.reason {
        0..=4 => u16::from(status.reason) + 1,
        6 => 6,
        _ => 0,
    };
    let event = match status.event {
        1 => 1,
        4 => 2,
        5 => 3,
        6 => 4,
        _ => 0,
    };
    [action, reason, event]
}

/// Whether CME trades in this state.
fn is_trading(status: u8) -> u8 {
    match status {
        17 => b'Y',
        2 | 4 | 18 => b'N',
        _ => b'~',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::{Counts, Origin};
    use crate::dbn::{Dataset, Options};
    use crate::message::Stamp;
    use touchline_testing::Folder;
    use touchline_types::{Depth, Instrument, SecurityType, Symbol, Timestamps, Update};

    /// Bytes of a record, and the place of its action.
    const RECORD_BYTES: usize = 520;
    const ACTION_AT: usize = 493;

    /// Class and action of each record after these definitions.
    fn records(definitions: &[InstrumentDefinition]) -> String {
        let folder = Folder::in_memory("dbn-definition");
        let options = Options {
            dataset: Dataset::new("TEST").expect("a name"),
            publisher_id: 0,
            is_zstd: false,
        };
        let dbn = Dbn::create(&folder, &[Schema::Definition], options);
        let mut dbn = dbn.expect("our folder");
        let timestamps = Timestamps::default();
        for definition in definitions {
            let message = Message {
                sequence: 1,
                timestamps: &timestamps,
                update: &Update::Definition(definition),
                stamp: Stamp::Poll,
                is_image: true,
            };
            dbn.begin(&message);
            dbn.message(&message, &State::new());
            dbn.check().expect("each record has a class");
        }
        dbn.batch_end().expect("room");
        let count = dbn.files[0].count() as usize;
        let files = dbn.finish(&Counts::default(), &Origin::default());
        for file in files.expect("room") {
            file.publish().expect("our folder");
        }
        let bytes = std::fs::read(folder.join("definition.dbn")).expect("the file");
        let records = bytes[bytes.len() - count * RECORD_BYTES..].chunks(RECORD_BYTES);
        records
            .map(|record| char::from(record[ACTION_AT]))
            .collect()
    }

    /// An instrument is added once, changed when its definition changes, and deleted with the class that it had. States repeat definitions, and
    /// name instruments that have none so far.
    #[test]
    fn a_definition_that_is_repeated_is_no_record() {
        let depth = Depth {
            direct: 10,
            implied: 0,
        };
        let undefined = InstrumentDefinition::unknown(Instrument(0), 5, depth);
        let mut defined = InstrumentDefinition {
            defined: true,
            symbol: Symbol::new(b"ESU4"),
            ..undefined
        };
        defined.reference.security_type = Some(SecurityType::Future);
        let mut changed = defined;
        changed.tick = touchline_types::Price(1);
        for (definitions, actions) in [
            (vec![undefined, undefined], ""),
            (vec![undefined, undefined, defined, defined], "A"),
            (vec![defined, changed, changed, defined], "AMM"),
            (vec![defined, undefined, undefined, defined], "ADA"),
        ] {
            assert_eq!(records(&definitions), actions, "{definitions:?}");
        }
    }
}
