//! Orders whose outcome was unknown, and how each was resolved.

use serde_json::Value;
use std::collections::BTreeMap;
use touchline_fx_events::lines::LineKind;

/// Counts, and the orders that are unknown now.
#[derive(Default)]
pub struct Outcomes {
    /// ClOrdID, and the kind of its last fill since it became unknown.
    now: BTreeMap<String, Option<String>>,
    unknown: u64,
    resolved: BTreeMap<String, u64>,
}

impl Outcomes {
    /// Takes a line of the engine.
    pub fn take(&mut self, kind: LineKind, text: &str) {
        // Orders and fills.
        if !matches!(kind, LineKind::Order | LineKind::Fill) {
            return;
        }
        let line: Value = serde_json::from_str(text).expect("a line is JSON");
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let id = word("clordid");
        if kind == LineKind::Fill {
            if let Some(fill) = self.now.get_mut(&id) {
                *fill = Some(word("kind"));
            }
            return;
        }
        let state = word("state");
        match state.as_str() {
            "unknown" if !self.now.contains_key(&id) => {
                self.unknown += 1;
                self.now.insert(id, None);
            }
            "filled" | "rejected" | "canceled" | "expired" => {
                if let Some(fill) = self.now.remove(&id) {
                    let how = match (fill.as_deref(), word("code").as_str()) {
                        (Some("status"), _) => "filled, as a status answer says".to_owned(),
                        (Some(_), _) => "filled, by its report".to_owned(),
                        (None, "N") => "never arrived".to_owned(),
                        (None, _) => state,
                    };
                    *self.resolved.entry(how).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    /// Number of orders that are unknown now.
    pub fn open(&self) -> usize {
        self.now.len()
    }

    pub fn ids(&self) -> Vec<&String> {
        self.now.keys().collect()
    }

    pub fn add(&mut self, other: &Outcomes) {
        self.unknown += other.unknown;
        for (how, count) in &other.resolved {
            *self.resolved.entry(how.clone()).or_default() += count;
        }
    }
}

impl std::fmt::Debug for Outcomes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut map = f.debug_map();
        map.entry(&"unknown", &self.unknown);
        map.entries(&self.resolved).finish()
    }
}
