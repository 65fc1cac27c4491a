//! Clients of the desk: the rings that are read, and the commands that a client may send.

use crate::rig::{Rig, SMALL, name, order, value};
use std::fs;
use std::os::unix::fs::MetadataExt;
use touchline_fx_desk::records;
use touchline_fx_desk::{DeskClient, ring_name};
use touchline_fx_events::command::Command;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::lines::lines_of;
use touchline_fx_live::execution::{Incident, Trader};
use touchline_transport::bus::{END_OF_BATCH, Layout, Lock, Publication};

/// Ends the engine. Commands of a client in its journal, with their numbers, and the answers that it has.
fn journaled(rig: &mut Rig, of: &str) -> (Vec<(u64, Vec<u8>)>, Vec<String>) {
    let trader: Trader = rig.trader.take().expect("an engine that runs");
    trader.finish().expect("a journal that is written");
    let (mut commands, mut answers) = (Vec::new(), Vec::new());
    let mut line = String::new();
    let read = records::read(
        &rig.folder.join("journal"),
        |_, labels, at_ns, entry, batch| {
            if let Entry::Command {
                request,
                client,
                bytes,
                ..
            } = entry
                && client == of
            {
                commands.push((request, bytes.to_owned()));
            }
            if matches!(entry, Entry::Answer(answer) if answer.client == of) {
                lines_of((labels, batch), at_ns, &entry, &mut line, |_, text| {
                    answers.push(text.to_owned());
                });
            }
        },
    );
    read.expect("a journal");
    (commands, answers)
}

/// The ring of the client `small`, for any bytes.
fn raw(rig: &Rig) -> Publication {
    let layout = Layout {
        ring_bytes: 65_536,
        message_bytes_min: 64,
        schema: 901,
        tables: [],
        lossless: None,
        huge_pages: false,
        lock: Lock::No,
    };
    let ring = ring_name("fx-run", "small");
    let ring = Publication::open(&rig.root(), &ring, &layout);
    let (ring, []) = ring.expect("a ring of ours");
    ring
}

fn put(ring: &mut Publication, bytes: &[u8]) {
    ring.stage(bytes.len(), |frame| {
        frame.put(bytes);
        frame.finish();
    });
    ring.release(END_OF_BATCH);
}

/// A ring whose files belong to another user than the configured one is not read. The log reports this once, with the
/// owner, and the journal has an answer; the other clients continue.
#[test]
fn a_ring_of_another_user_is_refused_once_and_not_read() {
    let mut rig = Rig::open(SMALL, "");
    rig.kill_as_guest();
    assert_eq!(rig.trader().totals().commands, 0);
    assert!(!rig.trader().engine().trading().is_killed());
    rig.command(Command::Kill);
    rig.until("a kill", |rig| rig.trader().engine().trading().is_killed());
    assert_eq!(rig.trader().totals().commands, 1);
    let owner = fs::metadata(&rig.folder).expect("our folder").uid();
    let refused = rig.incidents.iter().filter(|incident| {
        let is_urgent = incident.is_urgent() && incident.by() == Some("guest");
        is_urgent && incident.reason() == "ring_refused"
    });
    let refused: Vec<String> = refused.map(Incident::to_string).collect();
    assert_eq!(refused.len(), 1, "{:?}", rig.incidents);
    let owners = format!("belongs to user {owner}, not to user 4242");
    assert!(refused[0].contains(&owners), "{refused:?}");
    let (commands, answers) = journaled(&mut rig, "guest");
    assert_eq!((commands.len(), answers.len()), (0, 1), "{answers:?}");
    assert!(answers[0].contains("\"reason\":\"ring_refused\""));
}

/// A message without room for a number is answered as malformed, in the journal like any other command, and the next one is read.
#[test]
fn a_message_that_is_too_short_for_a_number_is_malformed() {
    let mut rig = Rig::open(SMALL, "");
    let mut ring = raw(&rig);
    for bytes in [&b"1234567"[..], b""] {
        put(&mut ring, bytes);
    }
    rig.until("refused commands", |rig| rig.trader().totals().refused == 2);
    let refused = Incident::Refused {
        client: "small".to_owned(),
        reason: "malformed".to_owned(),
    };
    let told = rig
        .incidents
        .iter()
        .filter(|incident| **incident == refused);
    assert_eq!(told.count(), 2, "{:?}", rig.incidents);
    let (commands, answers) = journaled(&mut rig, "small");
    assert_eq!(commands, [(0, b"1234567".to_vec()), (0, Vec::new())]);
    assert_eq!(answers.len(), 2, "{answers:?}");
}

/// A command of another release is refused with one answer that states so, and is in the journal as received; the next
/// command is read.
#[test]
fn a_command_of_another_release_is_refused_as_such() {
    let mut rig = Rig::open(SMALL, "");
    let mut small = raw(&rig);
    let request = Rig::now_ns();
    let sent = [&br#"{"op":"parent","id":"P1"}"#[..], &[2, 3], &[1, 99]];
    for (number, bytes) in sent.iter().enumerate() {
        let request = request + number as u64;
        put(&mut small, &[&request.to_le_bytes(), *bytes].concat());
    }
    let mut last = (request + 3).to_le_bytes().to_vec();
    Command::Parent(order("P2", 500_000)).encode(&mut last);
    put(&mut small, &last);
    rig.until("commands", |rig| rig.trader().totals().commands == 4);
    assert_eq!(rig.trader().totals().refused, 3);
    let (commands, answers) = journaled(&mut rig, "small");
    let evidence: Vec<&[u8]> = commands.iter().map(|(_, bytes)| &bytes[..]).collect();
    assert_eq!(evidence, [sent[0], sent[1], sent[2], &last[8..]]);
    for (answer, expected) in answers.iter().zip([
        "begins with byte 123; send it with the touchline",
        "begins with byte 2; send it with the touchline",
        "\"reason\":\"malformed\"",
        "\"answer\":\"accepted\"",
    ]) {
        assert!(answer.contains(expected), "{answer}");
        let is_other = expected.starts_with("begins");
        assert_eq!(answer.contains("\"reason\":\"other_version\""), is_other);
    }
}

/// A parent beyond the client's limit makes no order; one within it does.
#[test]
fn a_client_has_a_largest_order() {
    let mut rig = Rig::open(SMALL, "");
    let mut small = DeskClient::open(&rig.root(), "fx-run", "small").expect("a ring of ours");
    let parent = |id, quantity| Command::Parent(order(id, quantity));
    rig.show(110_000);
    let request = Rig::now_ns();
    small.send(request, &parent("P1", 501_000));
    small.send(request + 1, &parent("P2", 500_000));
    rig.until("commands", |rig| rig.trader().totals().commands == 2);
    let refused = Incident::Refused {
        client: "small".to_owned(),
        reason: "client_order_qty: max_order of client small is 500000".to_owned(),
    };
    assert_eq!(rig.incidents.last(), Some(&refused), "{:?}", rig.incidents);
    rig.show(110_000);
    rig.until("an order", |rig| rig.bank.count("D") > 0);
    let order = rig.bank.take("D");
    assert!(value(&order, 11).contains("-P2-"), "{order:?}");
    assert_eq!(rig.bank.count("D"), 0);
}

/// A command whose number was used before is always refused. The refusal is in the journal, and the next run knows the
/// numbers of this run.
#[test]
fn a_replayed_command_is_answered_and_in_the_journal() {
    let mut rig = Rig::open(SMALL, "");
    let mut small = DeskClient::open(&rig.root(), "fx-run", "small").expect("a ring of ours");
    let enable = |bank| Command::Enable {
        bank: name(bank),
        pair: name("EUR/USD"),
    };
    let request = Rig::now_ns();
    small.send(request, &enable("first"));
    small.send(request, &enable("second"));
    small.send(request - 1, &enable("third"));
    rig.until("commands", |rig| rig.trader().totals().refused == 3);
    let (commands, answers) = journaled(&mut rig, "small");
    let expected = [
        (request, "first"),
        (request, "second"),
        (request - 1, "third"),
    ];
    let expected = expected.map(|(request, bank)| {
        let mut bytes = Vec::new();
        enable(bank).encode(&mut bytes);
        (request, bytes)
    });
    assert_eq!(commands, expected);
    let replayed = answers
        .iter()
        .filter(|answer| answer.contains("\"replayed\""));
    assert_eq!((replayed.count(), answers.len()), (2, 3), "{answers:?}");
    // The next run reads the ring of a living client from its last join point: commands that the journal has are not
    // refused again.
    rig.bank.is_on = false;
    rig.start();
    rig.rounds(50);
    assert_eq!(rig.trader().totals().refused, 0, "{:?}", rig.incidents);
    small.send(request, &enable("fourth"));
    rig.until("the last one", |rig| rig.trader().totals().refused == 1);
    let (commands, answers) = journaled(&mut rig, "small");
    assert_eq!((commands.len(), answers.len()), (4, 4), "{answers:?}");
    assert!(answers[3].contains("\"replayed\""), "{answers:?}");
}

/// Commands that were sent while no engine ran are answered and in the journal. The log reports them as one incident
/// that is not urgent, and they do not count as refused; a kill among them is executed.
#[test]
fn commands_that_found_no_engine_are_one_incident() {
    let mut rig = Rig::open(SMALL, "");
    rig.trader = None;
    rig.bank.is_on = false;
    for id in ["P1", "P2"] {
        rig.buy(id, 110_000);
    }
    rig.incidents.clear();
    rig.start();
    let missed = Incident::Missed {
        client: "desk".to_owned(),
        count: 2,
    };
    rig.until("an incident", |rig| rig.incidents.contains(&missed));
    assert!(!missed.is_urgent());
    let about = |incident: &&Incident| incident.by() == Some("desk") || **incident == missed;
    assert_eq!(rig.incidents.iter().filter(about).count(), 1);
    assert_eq!(rig.trader().totals().refused, 0);
    let (commands, answers) = journaled(&mut rig, "desk");
    assert_eq!(commands.len(), 2, "{commands:?}");
    let reasons = answers.iter().filter(|text| text.contains("too_old"));
    assert_eq!(reasons.count(), 2, "{answers:?}");
    // The next start finds them in its journal, and a new kill.
    rig.command(Command::Kill);
    rig.bank.is_on = false;
    rig.incidents.clear();
    rig.start();
    rig.until("a kill", |rig| rig.trader().engine().trading().is_killed());
    let is_missed = |incident: &Incident| matches!(incident, Incident::Missed { .. });
    assert!(!rig.incidents.iter().any(is_missed), "{:?}", rig.incidents);
}
