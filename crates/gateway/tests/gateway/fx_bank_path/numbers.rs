//! Sequence numbers of a pricing session with hours: when they begin again, and quotes that were missed in between.

use super::*;

/// Sessions from 07:00 to 06:00 UTC.
const SCHEDULE: &str = "[venue.schedule]\nzone = \"UTC\"\nstart = \"07:00\"\nend = \"06:00\"\n\
                        days = [\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]\n";
const DAY_NS: u64 = 86_400_000_000_000;

/// The Logon of a new connection, with `|` between fields.
fn connect(stage: &mut Stage) -> String {
    stage.path.disconnected(stage.now);
    stage.bank.disconnected(stage.now);
    stage.bank.connected(stage.now);
    stage.path.connected(stage.now);
    let logon = stage.path.feed().outgoing().to_vec();
    stage.exchange(|bytes| bytes);
    String::from_utf8_lossy(&logon).replace('\u{1}', "|")
}

/// Within a session, or a run, the numbers go on; the next session begins them again. A quote that was missed and is sent again is not
/// the present one: the pair waits for the next quote.
#[test]
fn numbers_begin_again_as_configured_and_missed_quotes_do_not_count() {
    for (reset, again, next_day) in [
        ("logon", true, true),
        ("session", false, true),
        ("run", false, false),
    ] {
        let mut stage = Stage::of(&format!("{CONFIG}{SCHEDULE}reset = \"{reset}\"\n"), false);
        let is_reset = |logon: &str| logon.contains("|34=1|") && logon.contains("|141=Y|");
        let logon = connect(&mut stage);
        assert!(is_reset(&logon), "{reset}: {logon}");
        stage.quote_both();
        assert_eq!(stage.shown(0).len(), 2, "{reset}");
        // Its bytes are lost with the connection.
        stage.send(b"W", &snapshot("EUR/USD", &GOOD));
        let lost = stage.bank.poll_transmit().len();
        stage.bank.transmitted(lost);
        let logon = connect(&mut stage);
        assert_eq!(is_reset(&logon), again, "{reset}: {logon}");
        assert_eq!(stage.reader().channel, Some(Validity::Live), "{reset}");
        assert!(stage.shown(0).is_empty(), "{reset}");
        stage.quote_both();
        assert_eq!(stage.shown(0).len(), 2, "{reset}");
        stage.now.wall_ns += DAY_NS;
        stage.now.mono_ns += DAY_NS;
        let logon = connect(&mut stage);
        assert_eq!(is_reset(&logon), next_day, "{reset}: {logon}");
        assert_eq!(stage.reader().channel, Some(Validity::Live), "{reset}");
    }
}
