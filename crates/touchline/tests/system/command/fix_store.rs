//! `touchline gateway` of a FIX session with a store: killed, restarted, and refused without a usable store.

use crate::command::Desk;
use crate::command::fix::Running;
use crate::command::until;
use touchline_session::file_store::{FileStore, Limits, Sync, file_name};
use touchline_session::fix::Store;

/// Configuration of a gateway for a venue at this address.
fn gateway_toml(address: &str) -> String {
    format!(
        "bus = \"f\"\n[venue]\nkind = \"fix\"\nhosts = [\"{address}\"]\nsender = \"FIRM\"\ntarget = \"BANK\"\n\
         symbols = [\"EUR/USD\"]\nstore = \"numbers\"\nreconnect_ms = 10\nreconnect_ms_max = 50\n"
    )
}

fn name() -> String {
    file_name("FIX.4.4", "FIRM", "BANK").expect("short names")
}

/// Next number out and in, of a gateway that has ended.
fn numbers(desk: &Desk) -> (u64, u64) {
    let folder = desk.path("numbers");
    let store = FileStore::open(&folder, &name(), Limits::default(), Sync::Later);
    let store = store.expect("nobody has it open");
    (store.next_out(), store.next_in())
}

/// Number of logons of the running gateway.
fn logons(desk: &Desk, bus: &str) -> u64 {
    let said = desk.run(&format!("stat {bus} --json")).stdout;
    let number = said.split_once("\"logons\":").map_or("", |(_, rest)| rest);
    let digits = number.trim_start().split(|c: char| !c.is_ascii_digit());
    digits.into_iter().next().unwrap_or("").parse().unwrap_or(0)
}

/// The simulator takes no requests for market data, so the gateway logs on again and again: no number begins at 1, neither
/// then nor behind a kill.
#[test]
fn numbers_survive_a_gateway_that_is_killed() {
    let desk = Desk::bare("fix-store");
    let arguments =
        "sim fix-acceptor --listen 127.0.0.1:0 --sender BANK --target FIRM --store theirs";
    let venue = Running::start(&desk, arguments);
    desk.write("gateway.toml", gateway_toml(venue.address()));
    let mut before = (1, 1);
    for life in 0..3 {
        // Each on its own bus: the counters of an ended gateway stay readable.
        let bus = format!("f{life}");
        let mut gateway = desk.start(&format!("gateway --config gateway.toml --bus {bus}"));
        until("some logons", || logons(&desk, &bus) >= 3);
        if life == 0 {
            let other = desk.run("gateway --config gateway.toml --bus g");
            other.refused(1, &[&name(), "in use by another process"]);
        }
        gateway.kill();
        let after = numbers(&desk);
        // Each time a Logon, a request, and possibly a Logout.
        assert!(
            after.0 >= before.0 + 6 && after.1 > before.1,
            "{before:?} {after:?}"
        );
        before = after;
    }
    let (status, _) = venue.end();
    assert_eq!(status, Some(0));
}

/// A damaged store is refused before the bus is changed, with its path and the fix.
#[test]
fn a_damaged_store_is_refused() {
    let desk = Desk::bare("fix-store-damaged");
    desk.write("gateway.toml", gateway_toml("127.0.0.1:1"));
    assert_eq!(numbers(&desk), (1, 1), "it is made");
    let path = desk.path("numbers").join(name());
    let mut bytes = std::fs::read(&path).expect("our file");
    bytes[0] ^= 0xff;
    std::fs::write(&path, bytes).expect("our file");
    let refused = desk.run("gateway --config gateway.toml");
    refused.refused(1, &[&name(), "is damaged", "move the file away"]);
    assert_ne!(desk.run("stat f").status, 0, "there is no bus");
}

/// Deribit resets its numbers with each Logon, so a store has no use.
#[test]
fn a_venue_that_resets_numbers_refuses_a_store() {
    let desk = Desk::bare("fix-store-deribit");
    let toml = gateway_toml("127.0.0.1:1").replace("\"fix\"", "\"deribit\"");
    desk.write("gateway.toml", toml);
    let refused = desk.run("gateway --config gateway.toml");
    refused.refused(2, &["`store` is for kind \"fix\""]);
}
