//! Guards of a live configuration: limits that a file must state, since a default would be a decision that no person made
//! (`docs/fx/trade.md`). They are read from the text, in which a default cannot hide that a key is missing.

use toml::{Table, Value};
use touchline_settings::{Mistake, Mistakes};

/// Values of a guard that turn it off.
#[derive(Debug, Clone, Copy)]
enum Off {
    /// No value turns it off: the guard is a list of at least two names.
    TwoNames,
    Zero,
    /// This value or a greater one.
    From(i64),
    Word(&'static str),
}

type Guard = (&'static str, Off);

const PAIR: [Guard; 5] = [
    ("collar_ticks", Off::From(1_000_000)),
    ("crossed_max_ticks", Off::From(1_000_000)),
    ("off_market_ticks", Off::From(1_000_000)),
    ("max_order", Off::From(1_000_000_000)),
    ("max_net", Off::From(1_000_000_000_000)),
];
const BANK: [Guard; 2] = [("stale_ms", Off::Zero), ("silence_ms", Off::Zero)];
const RISK: [Guard; 8] = [
    ("max_gross_usd", Off::From(1_000_000_000_000)),
    ("duplicate_ms", Off::Zero),
    ("kill_unknown", Off::From(1_000_000)),
    ("kill_rejects_per_s", Off::From(1_000_000)),
    ("kill_lifters", Off::TwoNames),
    ("bookers", Off::TwoNames),
    ("reference_ttl_ms", Off::Zero),
    ("without_reference", Off::Word("composite")),
];

/// Group of guards that a file must state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: a trading engine.
    Engine,
    /// Guards of quotes: a composer does not trade.
    Composer,
}

/// Scope of a file: the file of an engine has sessions. `None`: the text is not TOML.
pub fn scope_of(text: &str) -> Option<Scope> {
    let file = text.parse::<Table>().ok()?;
    Some(match file.contains_key("sessions") {
        true => Scope::Engine,
        false => Scope::Composer,
    })
}

/// A section of a file and its guards.
struct Section<'a> {
    /// Path of the section, such as `banks.0`.
    path: String,
    place: String,
    values: Option<&'a Table>,
    guards: &'static [Guard],
}

/// The mistake of a configuration that does not state its guards: one text that names all missing guards.
pub fn check(text: &str, scope: Scope) -> Mistakes {
    let mut wrong = Mistakes::default();
    let Ok(file) = text.parse::<Table>() else {
        // The reader of the configuration reports the mistake.
        return wrong;
    };
    let sections = sections(&file, scope);
    let missing = sections.iter().filter_map(|section| {
        let keys = section.guards.iter().filter_map(|(key, off)| {
            let value = section.values.and_then(|values| values.get(*key));
            match (off, value) {
                (Off::TwoNames, value) if names(value) < 2 => Some(format!("{key} (two names)")),
                (_, None) => Some((*key).to_owned()),
                _ => None,
            }
        });
        let keys: Vec<String> = keys.collect();
        let text = || format!("{}: {}", section.place, keys.join(", "));
        (!keys.is_empty()).then(|| (section.path.as_str(), text()))
    });
    let (paths, missing): (Vec<&str>, Vec<String>) = missing.unzip();
    if let Some(first) = paths.first() {
        wrong.add(Mistake {
            line: None,
            key: (*first).to_owned(),
            what: format!("guards are missing: {}", missing.join("; ")),
            fix: "a live run has no defaults for them: state each, `touchline fx preset` prints values for the usual pairs".to_owned(),
        });
    }
    wrong
}

/// Guards of a configuration that are turned off, as `place: key = value`. [`check`] reports missing ones.
pub fn off(text: &str) -> Vec<String> {
    let (Ok(file), Some(scope)) = (text.parse::<Table>(), scope_of(text)) else {
        return Vec::new();
    };
    let venue = file.get("venue").and_then(Value::as_table);
    let is_bank = |venue: &&Table| venue.get("kind").and_then(Value::as_str) == Some("fx-bank");
    let venue = venue.filter(is_bank).map(|venue| Section {
        path: "venue".to_owned(),
        place: "[venue]".to_owned(),
        values: Some(venue),
        guards: &BANK,
    });
    let mut found = Vec::new();
    if file.get("rehearsal").and_then(Value::as_bool) == Some(true) {
        found.push("value dates: rehearsal = true".to_owned());
    }
    for section in sections(&file, scope).into_iter().chain(venue) {
        for (key, off) in section.guards {
            let value = section.values.and_then(|values| values.get(*key));
            if let Some(value) = value.filter(|value| is_off(off, value)) {
                found.push(format!("{}: {key} = {value}", section.place));
            }
        }
    }
    found
}

fn is_off(off: &Off, value: &Value) -> bool {
    match off {
        Off::TwoNames => false,
        Off::Zero => value.as_integer() == Some(0),
        Off::From(least) => value.as_integer().is_some_and(|value| value >= *least),
        Off::Word(word) => value.as_str() == Some(*word),
    }
}

/// The number of different names of a list.
fn names(value: Option<&Value>) -> usize {
    let list = value.and_then(Value::as_array);
    let mut names: Vec<&str> = list.map_or_else(Vec::new, |list| {
        list.iter().filter_map(Value::as_str).collect()
    });
    names.sort_unstable();
    names.dedup();
    names.len()
}

fn sections(file: &Table, scope: Scope) -> Vec<Section<'_>> {
    let each = |list: &'static str, name: &'static str, word: &'static str, guards| {
        let tables = file.get(list).and_then(Value::as_array);
        let tables = tables.into_iter().flatten().filter_map(Value::as_table);
        let sections = tables.enumerate().map(move |(at, values)| Section {
            path: format!("{list}.{at}"),
            place: format!(
                "{word} {}",
                values.get(name).and_then(Value::as_str).unwrap_or("?")
            ),
            values: Some(values),
            guards,
        });
        sections.collect::<Vec<_>>()
    };
    let banks = each("banks", "name", "bank", &BANK);
    if scope == Scope::Composer {
        return banks;
    }
    let mut all = each("pairs", "symbol", "pair", &PAIR);
    all.extend(banks);
    all.push(Section {
        path: "risk".to_owned(),
        place: "[risk]".to_owned(),
        values: file.get("risk").and_then(Value::as_table),
        guards: &RISK,
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = "[[pairs]]\nsymbol = \"EUR/USD\"\ncollar_ticks = 500\n[[pairs]]\nsymbol = \"USD/JPY\"\n\
                        [[banks]]\nname = \"LP01\"\nstale_ms = 0\n[[sessions]]\nbank = \"LP01\"\n";

    /// One message names every place.
    #[test]
    fn all_missing_guards_are_named_at_once() {
        let said = check(BARE, Scope::Engine).to_string();
        let start = "guards are missing: pair EUR/USD: crossed_max_ticks, off_market_ticks, max_order, max_net; \
                     pair USD/JPY: collar_ticks, crossed_max_ticks, off_market_ticks, max_order, max_net; \
                     bank LP01: silence_ms; [risk]: max_gross_usd, duplicate_ms, kill_unknown, kill_rejects_per_s, \
                     kill_lifters (two names), bookers (two names), reference_ttl_ms, without_reference; ";
        assert!(said.starts_with(start), "{said}");
        let said = check(BARE, Scope::Composer).to_string();
        assert!(
            said.starts_with("guards are missing: bank LP01: silence_ms; a"),
            "{said}"
        );
    }

    /// Values that mean off may be stated, and are listed; one name twice is not two.
    #[test]
    fn values_that_mean_off_are_accepted_and_listed() {
        let limits = "collar_ticks = 1000000\ncrossed_max_ticks = 50\noff_market_ticks = 999999\nmax_order = 1000000000\nmax_net = 5\n";
        let text = |lifters: &str| {
            format!(
                "[risk]\nmax_gross_usd = 5\nduplicate_ms = 0\nkill_unknown = 9\nkill_rejects_per_s = 2000000\n\
                 kill_lifters = {lifters}\nbookers = [\"a\", \"b\"]\nreference_ttl_ms = 1\nwithout_reference = \"composite\"\n\
                 [[pairs]]\nsymbol = \"EUR/USD\"\n{limits}[[banks]]\nname = \"LP01\"\nstale_ms = 0\nsilence_ms = 3\n\
                 [[sessions]]\nbank = \"LP01\"\n"
            )
        };
        let stated = check(&text("[\"a\", \"b\"]"), Scope::Engine);
        assert_eq!(stated, Mistakes::default());
        let said = check(&text("[\"a\", \"a\"]"), Scope::Engine).to_string();
        assert!(said.contains("[risk]: kill_lifters (two names);"), "{said}");
        assert_eq!(
            off(&text("[\"a\", \"b\"]")),
            [
                "pair EUR/USD: collar_ticks = 1000000",
                "pair EUR/USD: max_order = 1000000000",
                "bank LP01: stale_ms = 0",
                "[risk]: duplicate_ms = 0",
                "[risk]: kill_rejects_per_s = 2000000",
                "[risk]: without_reference = \"composite\"",
            ]
        );
        let gateway = "[venue]\nkind = \"fx-bank\"\nsilence_ms = 0\nstale_ms = 5\n";
        let rehearsal = format!("rehearsal = true\n{}", text("[\"a\", \"b\"]"));
        assert_eq!(off(&rehearsal)[0], "value dates: rehearsal = true");
        assert_eq!(off(gateway), ["[venue]: silence_ms = 0"]);
        assert!(off(&gateway.replace("fx-bank", "cme")).is_empty());
    }
}
