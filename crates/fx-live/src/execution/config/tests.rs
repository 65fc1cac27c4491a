//! Required and forbidden contents of a configuration.

use super::*;
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF, RISK_OFF};

/// A configuration of EUR/USD, and bank A without a connection. It ends in the section of the session, to append settings.
pub(in crate::execution) fn text() -> String {
    text_of(&[SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1)], "")
}

/// A configuration with banks A, B, and so on at these addresses, with these settings of each session.
pub(in crate::execution) fn text_of(banks: &[SocketAddrV4], session: &str) -> String {
    let mut text = format!(
        "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[run]\njournal = \"journal\"\n[risk]\n{RISK_OFF}[[pairs]]\n\
         symbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n{PAIR_OFF}"
    );
    for (bank, name) in banks.iter().zip('A'..) {
        text.push_str(&format!(
            "[[banks]]\nname = \"{name}\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n{BANK_OFF}[[sessions]]\n\
             bank = \"{name}\"\nhost = \"{bank}\"\nsender = \"T\"\n{session}"
        ));
    }
    text
}

/// A control character in a name would be one of a FIX message, and of the log.
#[test]
fn names_with_control_characters_are_refused() {
    assert!(Config::parse(&text()).is_ok());
    let client = "[[clients]]\nname = \"desk\"\nmay = []\nperson = \"a\\u0001b\"\n";
    for (sender, more) in [
        ("T\\u0001", ""),
        ("T\\n", ""),
        ("", ""),
        ("T", "target = \"A\\u0001\"\n"),
        ("T", client),
    ] {
        let sender = format!("sender = \"{sender}\"");
        let text = text().replace("sender = \"T\"", &sender) + more;
        let refused = Config::parse(&text).expect_err(more);
        let refused = refused.to_string();
        assert!(refused.contains("printable"), "{refused}");
        assert!(!refused.contains(['\u{1}', '\n']), "{refused}");
    }
}

/// A kill that is written into another directory than that of the engine is never executed: both are those of the file.
#[test]
fn directories_begin_at_the_folder_of_the_file() {
    let client = "[[clients]]\nname = \"desk\"\nmay = []\ndirectory = \"rings\"\n";
    let text = text().replace("[run]\n", "[run]\ndirectory = \"buses\"\n") + client;
    let mut config = Config::parse(&text).expect("valid");
    config.starts_at(Path::new("/etc/fx"));
    let directories = [&config.run.directory, &config.clients[0].directory];
    let directories = directories.map(|directory| directory.as_deref());
    assert_eq!(
        directories,
        ["/etc/fx/buses", "/etc/fx/rings"].map(|path| Some(Path::new(path)))
    );
}

/// A live run has no default for a guard.
#[test]
fn a_configuration_without_its_guards_is_refused() {
    let bare = text()
        .replace("max_order = 1000000000\n", "")
        .replace("stale_ms = 0\n", "");
    let refused = Config::parse(&bare).expect_err("guards are missing");
    let said = "guards are missing: pair EUR/USD: max_order; bank A: stale_ms; a live run";
    assert!(refused.to_string().contains(said), "{refused}");
}

/// A rehearsal, whose orders may leave with a passed value date, is permitted with banks of this host only.
#[test]
fn a_rehearsal_with_banks_of_other_hosts_is_refused() {
    let stated = text().replace("prefix", "rehearsal = true\nprefix");
    let config = Config::parse(&stated).expect("a rehearsal on this host");
    assert!(config.rehearsal && !Config::parse(&text()).expect("none").rehearsal);
    let other = stated.replace("127.0.0.1:1", "10.1.2.3:1");
    let refused = Config::parse(&other).expect_err("banks of another host");
    let said = "line 2: rehearsal: value dates";
    assert!(refused.to_string().starts_with(said), "{refused}");
}
