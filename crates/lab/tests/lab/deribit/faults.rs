//! Each fault, proved to have happened, and its effect on a client.

use super::{MS, Stage, proof};

#[test]
fn skipped_and_garbled_messages_are_requested_again() {
    for fault in ["skip 0.02", "malform checksum 0.02", "malform length 0.02"] {
        let mut stage = Stage::new(1, &[]);
        stage.download();
        stage.venue.faults.add(fault.parse().expect("a fault"));
        stage.steps(1_000);
        stage.venue.faults.clear();
        // A gap shows when something comes behind it.
        stage.steps(50);
        let happened = stage.venue.faults.happened;
        assert!(happened.skipped + happened.malformed > 5, "{happened:?}");
        let counters = stage.customer.session.counters();
        let is_noticed = counters.resends_requested > 0
            && (fault.starts_with("skip") || counters.messages_garbled > 0);
        assert!(is_noticed, "{fault}: {counters:?}");
        stage.settle();
    }
}

#[test]
fn damage_inside_a_valid_frame_reaches_the_decoder() {
    for (fault, part) in [
        ("malform tag 0.1", &b"\x01x5=1\x01"[..]),
        ("malform header 0.1", b"\x0149=TWICE\x01"),
    ] {
        let mut stage = Stage::new(1, &[]);
        stage.download();
        stage.venue.faults.add(fault.parse().expect("a fault"));
        stage.steps(500);
        let happened = stage.venue.faults.happened.malformed as usize;
        assert!(happened > 5, "{fault}: {happened}");
        let found = stage
            .sent
            .windows(part.len())
            .filter(|bytes| *bytes == part);
        assert_eq!(found.count(), happened, "{fault}");
    }
    let mut stage = Stage::new(1, &[]);
    stage.download();
    stage
        .venue
        .faults
        .add("malform count 0.1".parse().expect("a fault"));
    stage.steps(500);
    let happened = stage.venue.faults.happened.malformed;
    assert!(
        happened > 5 && u64::from(stage.customer.miscounted) == happened,
        "{happened}"
    );
}

#[test]
fn a_connection_is_closed_without_a_logout() {
    let mut stage = Stage::new(1, &[]);
    stage.download();
    stage
        .venue
        .faults
        .add("disconnect 1".parse().expect("a fault"));
    while !stage.client.is_over() {
        stage.step();
    }
    assert_eq!(stage.venue.faults.happened.disconnected, 1);
    assert!(stage.customer.is_up(), "no message was sent");
}

#[test]
fn messages_are_sent_after_an_injected_silence() {
    let mut stage = Stage::new(1, &[]);
    stage.download();
    stage
        .venue
        .faults
        .add("silence 1 2".parse().expect("a fault"));
    while stage.venue.faults.happened.silences == 0 {
        stage.step();
    }
    stage.venue.faults.clear();
    let until_now = stage.sent.len();
    stage.steps(1_990);
    assert_eq!(stage.sent.len(), until_now, "not a byte");
    assert!(!stage.client.is_over(), "the connection stands");
    stage.steps(50);
    assert!(stage.sent.len() > until_now + 10_000);
    stage.settle();
}

#[test]
fn a_slow_exchange_reads_nothing_and_sends_byte_by_byte() {
    let mut stage = Stage::new(1, &[]);
    stage.download();
    stage.venue.faults.add("slow 1 1".parse().expect("a fault"));
    while stage.venue.faults.happened.slow == 0 {
        stage.step();
    }
    stage.venue.faults.clear();
    let until_now = stage.sent.len();
    stage.customer.ask_for_list(stage.time);
    stage.steps(500);
    let bytes = stage.sent.len() - until_now;
    assert!((400..=501).contains(&bytes), "{bytes} bytes in 500 ms");
    assert!(stage.customer.gives(), "what it asks is not read");
    stage.steps(600);
    assert!(!stage.customer.gives());
    stage.settle();
}

#[test]
fn snapshots_are_delayed_or_omitted() {
    let mut stage = Stage::new(1, &["snapshot-late 1 300"]);
    stage.download();
    stage.steps(200);
    assert_eq!(stage.venue.faults.happened.snapshots_late, 5);
    assert_eq!(stage.customer.snapshots, 0);
    assert!(stage.customer.early > 10, "changes come before it");
    stage.steps(150);
    assert_eq!(stage.customer.snapshots, 5);
    stage.steps(300);
    stage.settle();

    let mut stage = Stage::new(1, &["snapshot-never 1"]);
    stage.download();
    stage.steps(2_000);
    assert_eq!(stage.venue.faults.happened.snapshots_never, 5);
    assert_eq!(stage.customer.snapshots, 0);
    assert!(stage.customer.early > 100);
}

#[test]
fn valid_logons_and_requests_are_refused_by_a_fault() {
    let mut stage = Stage::new(1, &["refuse-logon 1"]);
    stage
        .customer
        .connect(&proof("user", "secret", stage.time), stage.time);
    stage.steps(5);
    assert!(!stage.customer.is_up() && stage.client.is_over());
    assert_eq!(stage.venue.faults.happened.logons_refused, 1);

    let mut stage = Stage::new(1, &["refuse-request 1"]);
    stage.download();
    assert_eq!(stage.customer.refusals, ["3"]);
    assert_eq!(stage.venue.faults.happened.requests_refused, 1);
    assert_eq!(stage.client.subscriptions(), 0);
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let mut stage = Stage::new(1, &[]);
    stage.download();
    stage
        .venue
        .faults
        .add("silence 1 3600".parse().expect("a fault"));
    let mut milliseconds = 0;
    while !stage.client.is_given_up() {
        stage.time.wall_ns += MS;
        stage.time.mono_ns += MS;
        while let Some(occurrence) = stage.venue.next(stage.time.mono_ns) {
            stage.client.hear(&occurrence, &mut stage.venue, stage.time);
        }
        stage.client.advance(&mut stage.venue, stage.time);
        milliseconds += 1;
        assert!(milliseconds < 100_000, "it keeps everything for ever");
    }
    assert!(milliseconds > 100 && stage.client.is_over());
}
