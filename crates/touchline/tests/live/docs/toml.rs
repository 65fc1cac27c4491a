//! TOML blocks of the pages: a parser of the commands accepts each.

use super::{markdown, pages};
use std::collections::BTreeMap;
use std::path::Path;
use touchline_credentials::SecretSource;
use touchline_fx_live::execution::config::ScheduleConfig;
use touchline_gateway::venues::VENUES;
use touchline_settings::{Manual, read};

/// Kind of a file, and its parser.
type Parser = (&'static str, fn(&str) -> Result<(), String>);

const PARSERS: [Parser; 7] = [
    ("gateway", |text| {
        let config = VENUES.from_text(Path::new("gateway.toml"), text);
        config.map(drop).map_err(|error| error.to_string())
    }),
    ("relay", |text| {
        let config = touchline_relay::config::Config::from_text(Path::new("relay.toml"), text);
        config.map(drop).map_err(|error| error.to_string())
    }),
    ("simulated banks", |text| {
        let config = touchline_lab::bank::Config::parse(text);
        config.map(drop).map_err(|error| error.to_string())
    }),
    ("secret of a configuration", |text| {
        toml_of::<BTreeMap<String, SecretSource>>(text).map(drop)
    }),
    ("package", |text| toml_of::<Manifest>(text).map(drop)),
    ("calendars", |text| toml_of::<WithCalendars>(text).map(drop)),
    ("hours", |text| toml_of::<WithHours>(text).map(drop)),
];

fn toml_of<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    read(text, &Manual::page("the page"), Ok).map_err(|error| error.to_string())
}

/// Manifest of a Rust package.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    #[expect(dead_code, reason = "only its type is checked")]
    package: BTreeMap<String, String>,
    #[expect(dead_code, reason = "only its type is checked")]
    dependencies: BTreeMap<String, BTreeMap<String, String>>,
}

/// The part of a configuration that `fx spot --config` reads.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WithCalendars {
    #[expect(dead_code, reason = "only its type is checked")]
    calendars: touchline_fx_days::CalendarsConfig,
}

/// The part of a session that has its hours.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WithHours {
    #[expect(dead_code, reason = "only its type is checked")]
    sessions: OfSession,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSession {
    #[expect(dead_code, reason = "only its type is checked")]
    schedule: ScheduleConfig,
}

/// Whether a parser accepts a block, alone or at the end of an earlier block of its page.
///
/// # Errors
/// Why each parser refuses it.
fn accepted(block: &str, earlier: &[String]) -> Result<(), String> {
    let mut reasons = String::new();
    for (kind, parse) in PARSERS {
        let Err(reason) = parse(block) else {
            return Ok(());
        };
        if earlier
            .iter()
            .any(|start| parse(&format!("{start}{block}")).is_ok())
        {
            return Ok(());
        }
        reasons += &format!("\n  {kind}: {reason}");
    }
    Err(reasons)
}

#[test]
fn a_parser_accepts_every_toml_block_of_the_documents() {
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let mut earlier = Vec::new();
        for (line, block) in markdown::toml(&text) {
            if let Err(reasons) = accepted(&block, &earlier) {
                panic!("{}:{line}:{reasons}", page.display());
            }
            earlier.push(block);
            count += 1;
        }
    }
    assert!(count >= 10, "the documents have {count} TOML blocks");
}

#[test]
fn a_toml_block_with_a_wrong_setting_is_refused() {
    let gateway = "bus = \"a\"\n[venue]\nkind = \"cme\"\nchannel = 3\nconfig_xml = \"c\"\n";
    assert_eq!(accepted(gateway, &[]), Ok(()));
    let limits = "[limits]\ninstruments_max = 3\n";
    assert!(accepted(limits, &[]).is_err(), "a part alone");
    assert_eq!(accepted(limits, &[gateway.to_owned()]), Ok(()));
    for (right, wrong) in [("channel", "chanel"), ("= 3", "= \"3\"")] {
        assert!(accepted(&gateway.replace(right, wrong), &[]).is_err());
    }
    assert!(accepted("[limits]\ninstrument = 3\n", &[gateway.to_owned()]).is_err());
}
