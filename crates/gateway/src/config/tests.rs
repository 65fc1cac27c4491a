use super::*;
use crate::venues::VENUES;
use crate::venues::cme::{CmeVenue, Kind};
use std::path::Path;
use touchline_feed::cme::Join;
use touchline_testing::Folder;

const LEAST: &str =
    "bus = \"cme-340\"\n[venue]\nkind = \"cme\"\nchannel = 340\nconfig_xml = \"config.xml\"\n";

fn read(text: &str) -> Result<Config<CmeVenue>, Mistakes> {
    VENUES.from_text_as(Path::new("gateway.toml"), text)
}

fn least() -> Config<CmeVenue> {
    read(LEAST).expect("the least that works")
}

#[test]
fn a_minimal_configuration_has_the_documented_defaults() {
    let config = least();
    assert_eq!(config.bus, "cme-340");
    let expected = CmeVenue {
        kind: Kind::Cme,
        channel: 340,
        config_xml: "config.xml".into(),
        join: Join::Snapshot,
        wait_ms: 20,
        compare_copies: false,
        interface: None,
        interface_b: None,
        symbols: Symbols::default(),
        replay: None,
    };
    assert_eq!(config.venue, expected);
    assert_eq!(config.limits, Limits::default());
    assert_eq!(Config::of_cme_channel("config.xml", 340), config);
}

#[test]
fn every_setting_is_read_back_as_written() {
    let text = r#"bus = "b.1"

[venue]
kind = "cme"
channel = 310
config_xml = "/etc/touchline/config.xml"
join = "natural"
wait_ms = 0
compare_copies = true
interface = "eth0"
interface_b = "10.0.1.2"
symbols = ["ES*", "NQ*"]

[venue.replay]
enabled = false
user = "firm"
password_file = "/etc/touchline/password"
hosts = ["10.0.0.1:10000", "10.0.0.2:10001"]
attempts_max = 16
wait_ms = 250
packets_max = 100
requests_per_day_max = 1

[limits]
hold_packets_max = 1
packet_bytes_max = 65507
instruments_max = 2
queue_entries_max = 3
orders_max = 4
event_changes_max = 5

[network]
receive = "xdp-or-sockets"
sources = "any"
receive_buffer_bytes = 4096
busy_poll_us = 50
batch = 32
stamps = false

[gateway]
loop_cpu_affinity = 3
idle = "sleep"
loop_sleep = "500ns"
keep_warm = true
loop_timer_freq = "2500ns"
heartbeat_ms = 10
stale_after_ms = 0
channel_silence_ms = 250

[publication]
directory = "/dev/hugepages/touchline"
ring_bytes = 65536
image_levels_max = 10
tops = false
huge_pages = true
lock_memory = "required"

[publication.lossless]
readers_max = 2
wait_ms = 250
"#;
    assert_eq!(read(text).expect("all settings").to_toml(), text);
    let effective = least().to_toml();
    assert_eq!(
        read(&effective).expect("an effective configuration"),
        least()
    );
}

#[test]
fn a_missing_file_is_named() {
    let missing = VENUES
        .read_as::<CmeVenue>("/nowhere/gateway.toml")
        .expect_err("there is none");
    assert!(
        missing
            .to_string()
            .starts_with("/nowhere/gateway.toml: cannot read it")
    );
}

#[test]
fn a_configuration_that_contains_a_secret_is_refused_without_printing_it() {
    let table = "[venue.replay]\nuser = \"firm\"\npassword = \"sentinel\"\n";
    // Another error precedes it in the file, and would be shown with its place.
    for text in [
        format!("{LEAST}{table}"),
        format!("{LEAST}wait_sm = 20 # sentinel\n{table}"),
        format!("{LEAST}[venue\n{table}"),
    ] {
        let said = read(&text).expect_err(&text).to_string();
        assert!(
            said.contains("password_file") && said.contains("docs/configuration.md"),
            "{said}"
        );
        assert!(!said.contains("sentinel"), "{said}");
    }
}

#[test]
fn a_file_without_a_configuration_is_refused() {
    let folder = Folder::new("config");
    let path = folder.join("gateway.toml");
    let written = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a temporary file");
        VENUES.read_as::<CmeVenue>(&path)
    };
    let config = written(LEAST.as_bytes()).expect("the least that works");
    assert_eq!(config.venue.config_xml, folder.join("config.xml"));
    assert!(
        written(&[0xff, 0xfe, 0])
            .expect_err("no text")
            .to_string()
            .contains("UTF-8")
    );
    let long = vec![b'#'; 1_048_577];
    assert!(
        written(&long)
            .expect_err("too long")
            .to_string()
            .contains("more than 1048576")
    );
}

#[test]
fn patterns_select_the_matching_symbols() {
    assert!(Symbols::default().admit("ESU4"));
    for (pattern, symbol, admitted) in [
        ("ESU4", "ESU4", true),
        ("ESU4", "ESU", false),
        ("ESU4", "ESU44", false),
        ("ES*", "ES", true),
        ("ES*", "ESU4-ESZ4", true),
        ("ES*", "NESU4", false),
        ("*", "", true),
        ("*U4", "ESU4U4", true),
        ("E*U*4", "ESUU4", true),
        ("E*U*4", "ESU5", false),
        ("**a**", "bab", true),
    ] {
        let symbols = Symbols::new(vec!["no".to_owned(), pattern.to_owned()]).expect("patterns");
        assert_eq!(symbols.admit(symbol), admitted, "{pattern} {symbol}");
    }
}
