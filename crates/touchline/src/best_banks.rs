//! Banks at the best prices of a composite, as its quotes name them.

use std::collections::BTreeMap;
use touchline_client::{Bus, Connection, Event, QuoteAction, Side, State};

/// Venue of the instruments of a composite, and provider of its quotes.
pub const COMPOSITE: &str = "composite";
/// Names that are printed of a side.
const NAMES_MAX: usize = 8;

/// Names by security id, of composites that are live.
#[derive(Debug, Default)]
pub struct BestBanks(BTreeMap<i64, [Vec<String>; 2]>);

impl BestBanks {
    /// Takes an event of the bus, which has its quotes at hand.
    pub fn take(&mut self, bus: &Bus, event: &Event) {
        match event {
            Event::Quotes(change) if change.is_whole && change.provider.as_str() == COMPOSITE => {
                let Ok(definition) = bus.definition(change.instrument) else {
                    return;
                };
                let id = definition.security_id;
                if change.state != State::Live {
                    self.0.remove(&id);
                    return;
                }
                let names = [Side::Bid, Side::Ask].map(|side| {
                    let quotes = bus.quote_changes().iter();
                    let best = quotes.filter(|quote| {
                        quote.action == QuoteAction::Set
                            && quote.side == side
                            && quote.tier.is_none()
                    });
                    best.map(|quote| quote.quote_id.as_str().to_owned())
                        .collect()
                });
                self.0.insert(id, names);
            }
            Event::State(change) if change.state != State::Live => {
                if let Ok(definition) = bus.definition(change.instrument) {
                    self.0.remove(&definition.security_id);
                }
            }
            Event::Connection(Connection::CaughtUp { .. }) => {}
            // After any event of the connection the names come again with the next quotes.
            Event::Connection(_) => self.0.clear(),
            _ => {}
        }
    }

    /// Whether names of an instrument are known.
    pub fn has(&self, security_id: i64) -> bool {
        self.0.contains_key(&security_id)
    }

    /// The names of an instrument as text, each side with its title.
    pub fn lines(&self, security_id: i64) -> Vec<(&'static str, String)> {
        let sides = self.0.get(&security_id).into_iter().flatten();
        let titled = ["best bid of", "best ask of"].into_iter().zip(sides);
        titled
            .filter(|(_, names)| !names.is_empty())
            .map(|(title, names)| (title, listed(names)))
            .collect()
    }
}

/// Names with commas; how many more there are, if there are many.
fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len() - names.len().min(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_room_are_counted() {
        let names: Vec<String> = (1..=10).map(|bank| format!("LP{bank:02}")).collect();
        assert_eq!(listed(&names[..2]), "LP01, LP02");
        assert_eq!(
            listed(&names),
            "LP01, LP02, LP03, LP04, LP05, LP06, LP07, LP08 and 2 more"
        );
    }
}
