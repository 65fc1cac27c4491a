//! Orders and the journal: an order that is not in it is not sent.

use crate::rig::{Rig, SMALL, value};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use touchline_fx_desk::records;
use touchline_fx_events::encoding::{kind, kinds};
use touchline_fx_live::execution::Incident;
use touchline_journal::format::HEAD_BYTES;
use touchline_lab::bank::guards::BANK_OFF;
use touchline_lab::bank::scripted::acknowledged;

fn is_failure(incident: &Incident) -> bool {
    matches!(incident, Incident::JournalFailed { .. })
}

/// With `sync = "disk"` an order is sent when the disk has it; if the disk takes longer than `sync_wait_ms`, the order is not
/// sent and the kill switch is set.
#[test]
fn an_order_waits_for_the_disk_or_is_not_sent() {
    let mut rig = Rig::open(
        "sync = \"disk\"\nsync_wait_ms = 10000\nsegment_bytes = 1048576\ntail_bytes = 1048576",
        "",
    );
    let order = rig.order("P1");
    rig.bank.fill(&order, "X1");
    rig.until("a fill", |rig| rig.trader().totals().fills == 1);
    assert!(!rig.trader().engine().trading().is_killed());
    let mut rig = Rig::open(
        "sync = \"disk\"\nsync_wait_ms = 0\nsegment_bytes = 1048576\ntail_bytes = 1048576",
        "",
    );
    rig.show(110_000);
    rig.buy("P1", 110_000);
    rig.until("a kill", |rig| rig.trader().engine().trading().is_killed());
    rig.rounds(50);
    assert_eq!(rig.bank.count("D"), 0, "{:?}", rig.bank.received);
    assert_eq!(rig.trader().totals().unsent, 1);
    assert!(rig.incidents.iter().any(is_failure), "{:?}", rig.incidents);
}

/// A parent with one order that is acknowledged and filled: the command, the order, both reports as evidence, and their
/// effects take few records and bytes.
#[test]
fn a_filled_order_takes_few_records_and_bytes() {
    const ORDERS: usize = 10;
    let mut rig = Rig::open(SMALL, "");
    for number in 0..ORDERS {
        let order = rig.order(&format!("P{number}"));
        rig.bank
            .report(&acknowledged(&order, &format!("N{number}"), "0"));
        rig.bank.fill(&order, &format!("X{number}"));
        let fills = number as u64 + 1;
        rig.until("a fill", |rig| rig.trader().totals().fills == fills);
    }
    rig.trader
        .take()
        .expect("it runs")
        .finish()
        .expect("it ends");
    let (mut records, mut bytes, mut bodies, mut aligned) = (0, 0, 0, [0; 3]);
    let journal = rig.folder.join("journal");
    touchline_journal::read(&journal, false, |entry| {
        let is_batch = entry.head.kind == records::kind::BATCH;
        let mut kinds = kinds(entry.body);
        // Sessions, scores and waits are of no order.
        let is_of_order = kinds.any(|of| {
            matches!(
                of,
                kind::COMMAND | kind::ORDER | kind::RECEIVED | kind::ENDED
            )
        });
        if is_batch && is_of_order {
            records += 1;
            bytes += HEAD_BYTES + entry.body.len();
            bodies += entry.body.len();
            for (sum, alignment) in aligned.iter_mut().zip([8, 512, 4_096]) {
                *sum += (HEAD_BYTES + entry.body.len()).next_multiple_of(alignment);
            }
        }
    })
    .expect("a journal");
    println!(
        "{} records and {} bytes an order, {} of bodies, {:?} at alignments of 8, 512 and 4096",
        records as f64 / ORDERS as f64,
        bytes / ORDERS,
        bodies / ORDERS,
        aligned.map(|sum| sum / ORDERS),
    );
    assert!(
        records <= 5 * ORDERS,
        "{records} records of {ORDERS} orders"
    );
    assert!(bytes <= 1_300 * ORDERS, "{bytes} bytes of {ORDERS} orders");
    assert!(bodies < 1_500 * ORDERS, "{bodies} bytes of bodies");
}

/// A journal whose directory is removed while the engine trades is a kill: the order of another run could have the same id.
#[test]
fn a_journal_that_is_removed_is_a_kill() {
    let mut rig = Rig::open(SMALL, "");
    let order = rig.order("P1");
    rig.bank.fill(&order, "X1");
    rig.until("a fill", |rig| rig.trader().totals().fills == 1);
    fs::remove_dir_all(rig.folder.join("journal")).expect("our folder");
    rig.until("a kill", |rig| rig.trader().engine().trading().is_killed());
    assert!(rig.incidents.iter().any(is_failure), "{:?}", rig.incidents);
    rig.buy("P2", 110_000);
    rig.until("an answer", |rig| rig.trader().totals().refused == 1);
    rig.rounds(50);
    assert_eq!(rig.bank.count("D"), 0, "{:?}", rig.bank.received);
}

/// The removal or truncation of the present segment is a kill as well: its records would be lost with the process.
#[test]
fn a_segment_that_is_removed_or_truncated_is_a_kill() {
    let name = touchline_journal::format::segment_name(1);
    let remove = |path: &Path| fs::remove_file(path).expect("our file");
    let truncate = |path: &Path| {
        let file = fs::OpenOptions::new().write(true).open(path);
        file.expect("our file").set_len(8_192).expect("our file");
    };
    let harms: [fn(&Path); 2] = [remove, truncate];
    for harm in harms {
        let mut rig = Rig::open(SMALL, "");
        rig.order("P1");
        // The engine has looked at it.
        std::thread::sleep(Duration::from_millis(1_200));
        rig.rounds(10);
        harm(&rig.folder.join("journal").join(&name));
        rig.until("a kill", |rig| rig.trader().engine().trading().is_killed());
        let told = rig.incidents.iter().find(|incident| is_failure(incident));
        let told = told.expect("an incident").to_string();
        assert!(
            told.contains(&format!("its segment {name} was removed")),
            "{told}"
        );
    }
}

/// The files of a journal.
fn files_of(journal: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let files = fs::read_dir(journal).expect("the journal");
    let files = files.map(|file| file.expect("a file"));
    let mut files: Vec<_> = files
        .map(|file| (file.file_name(), fs::read(file.path()).expect("a file")))
        .collect();
    files.sort();
    files
}

/// The journal of another engine has orders that this engine must not request, and names that it must not use. None of
/// its files is changed: its own engine would take a start record without a run for a lost end.
#[test]
fn the_journal_of_another_engine_is_refused() {
    let mut rig = Rig::open(SMALL, "");
    rig.order("P1");
    rig.trader = None;
    let journal = rig.folder.join("journal");
    let files = files_of(&journal);
    for (own, other, said) in [
        (
            "account = \"D\"",
            "account = \"E\"",
            "account \"D\", this engine \"E\"",
        ),
        (
            "prefix = \"T\"",
            "prefix = \"U\"",
            "prefix \"Te1\", this engine \"Ue1\"",
        ),
        ("\"LP01\"", "\"LP02\"", "banks LP01, none of which"),
    ] {
        let refused = rig.refused_with(own, other);
        assert!(
            refused.contains("the journal of another engine") && refused.contains(said),
            "{refused}"
        );
        assert!(
            files_of(&journal) == files,
            "{other}: the journal was changed"
        );
    }
    rig.start();
}

/// Damage anywhere is refused before anything is written: the error names the segment and the position that
/// `journal verify` names, and does not name this process.
#[test]
fn a_damaged_journal_is_refused_before_anything_is_written() {
    let mut rig = Rig::open(SMALL, "");
    rig.order("P1");
    for _ in 0..3 {
        rig.trader
            .take()
            .expect("it runs")
            .finish()
            .expect("it ends");
        rig.bank.is_on = false;
        rig.start();
    }
    rig.crash();
    let journal = rig.folder.join("journal");
    let path = |number| journal.join(touchline_journal::format::segment_name(number));
    let good = files_of(&journal);
    let own = format!("process {}", std::process::id());
    let is_refused = |said: &[&str]| {
        let bad = files_of(&journal);
        for attempt in 0..2 {
            let refused = rig.refused_with("", "");
            let is_said = said.iter().all(|said| refused.contains(said));
            assert!(is_said && !refused.contains(&own), "{refused}");
            assert!(files_of(&journal) == bad, "attempt {attempt} wrote");
        }
        let verified = touchline_journal::verify(&journal).expect("a journal");
        assert!(
            said.iter().all(|said| verified.damage.contains(said)),
            "{verified:?}"
        );
    };
    let restore = || {
        for (name, bytes) in &good {
            let path = journal.join(name);
            fs::write(&path, bytes).expect("our file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("our file");
        }
    };
    // A flipped bit in the body of a record of each closed segment.
    for number in 1..=3 {
        let mut bytes = fs::read(path(number)).expect("a segment");
        let at = touchline_journal::format::HEADER_BYTES + 512 + HEAD_BYTES + 8;
        bytes[at] ^= 1;
        fs::write(path(number), &bytes).expect("our file");
        let name = touchline_journal::format::segment_name(number);
        let frame = format!("{name}: the frame at offset ");
        is_refused(&[
            &frame,
            "the records end at position ",
            "bytes are missing or wrong",
        ]);
        restore();
    }
    // The first segment under another's name: alone, and in the place of the second one.
    let renamed = "it is segment 1, under another name; rename the file to 0000000001.tlj";
    for (of, to) in [(1, 1_000), (1, 2)] {
        fs::rename(path(of), path(to)).expect("our file");
        is_refused(&[renamed]);
        fs::remove_file(path(to)).expect("our file");
        restore();
    }
    // A segment of another journal.
    let mut other = Rig::open(SMALL, "");
    other.crash();
    let foreign = other
        .folder
        .join("journal")
        .join(touchline_journal::format::segment_name(1));
    fs::copy(foreign, path(1)).expect("our file");
    is_refused(&["0000000002.tlj: it belongs to another journal than 0000000001.tlj"]);
    restore();
    rig.start();
}

/// A tail without bytes is explained, with the cure; after that the banks are asked for their orders.
#[test]
fn a_tail_without_bytes_is_refused_with_its_cure() {
    let mut rig = Rig::open(SMALL, "");
    rig.order("P1");
    rig.crash();
    let tail = rig.folder.join("buses").join("fx-run").join("tail");
    let file = fs::OpenOptions::new().write(true).open(&tail);
    file.expect("the tail").set_len(0).expect("the tail");
    let refused = rig.refused_with("", "");
    assert!(
        refused.contains("has no bytes") && refused.contains("remove the file"),
        "{refused}"
    );
    fs::remove_file(&tail).expect("the tail");
    rig.start();
}

/// A journal of runs with other banks is continued, and the start names the banks added or removed since the last run.
#[test]
fn a_start_names_the_banks_that_were_added_or_removed() {
    let none: [&[String]; 2] = [&[]; 2];
    let mut rig = Rig::open(SMALL, "");
    assert_eq!(rig.trader().banks_changed(), none);
    let session = "[[sessions]]\nbank = \"LP01\"";
    let both = format!(
        "[[banks]]\nname = \"LP02\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n{BANK_OFF}\n\
         [[sessions]]\nbank = \"LP02\"\nhost = \"127.0.0.1:1\"\nsender = \"T\"\n{session}"
    );
    let other = ["LP02".to_owned()];
    rig.start_with(session, &both);
    assert_eq!(rig.trader().banks_changed(), [&other[..], &[]]);
    rig.start();
    assert_eq!(rig.trader().banks_changed(), none);
    rig.start_with(&both, session);
    assert_eq!(rig.trader().banks_changed(), [&[], &other[..]]);
}

/// As for a bus, a directory that others can change, or a link, is not trusted with orders.
#[test]
fn a_directory_of_the_journal_that_others_can_change_is_refused() {
    let mut rig = Rig::open(SMALL, "");
    rig.crash();
    let journal = rig.folder.join("journal");
    let mode = |mode| fs::set_permissions(&journal, fs::Permissions::from_mode(mode));
    mode(0o777).expect("our folder");
    let refused = rig.refused_with("", "");
    assert!(
        refused.contains("mode 0777") && refused.contains("chmod 700"),
        "{refused}"
    );
    mode(0o700).expect("our folder");
    // A file that the group can read is refused, too.
    let segment = journal.join(touchline_journal::format::segment_name(1));
    let mode = |mode| fs::set_permissions(&segment, fs::Permissions::from_mode(mode));
    mode(0o640).expect("our file");
    let refused = rig.refused_with("", "");
    assert!(
        refused.contains("0000000001.tlj: cannot examine: it has mode 0640")
            && refused.contains("chmod 600"),
        "{refused}"
    );
    mode(0o600).expect("our file");
    let moved = rig.folder.join("moved");
    fs::rename(&journal, &moved).expect("our folder");
    std::os::unix::fs::symlink(&moved, &journal).expect("our folder");
    let refused = rig.refused_with("", "");
    assert!(refused.contains("it is a symlink"), "{refused}");
}

/// When the segment is full and the next cannot be made, the order that the journal lacks is not sent, and its parent
/// ends with the kill. Orders sent before are still requested and canceled.
#[test]
fn an_order_that_the_journal_refuses_is_not_sent() {
    let mut rig = Rig::open("segment_bytes = 65536\ntail_bytes = 65536", "");
    let first = rig.order("P0");
    // A name that the next segments need.
    for number in 3..9 {
        let name = touchline_journal::format::segment_name(number);
        let _ = fs::create_dir(rig.folder.join("journal").join(name));
    }
    let mut number = 0;
    while !rig.trader().engine().trading().is_killed() {
        number += 1;
        assert!(number < 2_000, "the journal is never full");
        rig.quote(110_000);
        rig.buy(&format!("P{number}"), 110_000);
        let sent = rig.trader().totals().commands;
        rig.until("a command", |rig| rig.trader().totals().commands > sent);
    }
    assert!(rig.incidents.iter().any(is_failure), "{:?}", rig.incidents);
    rig.until("a cancel", |rig| rig.bank.count("F") > 0);
    let canceled = rig.bank.take("F");
    assert_eq!(value(&canceled, 41), value(&first, 11));
    // After a restart from the journal, each order of the bank is known.
    let sent: Vec<String> = std::iter::once(&first)
        .chain(
            rig.bank
                .received
                .iter()
                .filter(|(kind, _)| kind == "D")
                .map(|(_, fields)| fields),
        )
        .map(|fields| value(fields, 11).to_owned())
        .collect();
    rig.crash();
    for number in 3..9 {
        let name = touchline_journal::format::segment_name(number);
        let _ = fs::remove_dir(rig.folder.join("journal").join(name));
    }
    rig.start();
    for id in sent {
        let id = touchline_types::Id::lossy(id.as_bytes());
        assert!(
            rig.trader()
                .engine()
                .trading()
                .orders()
                .of_id(&id)
                .is_some(),
            "{id:?}"
        );
    }
}

/// The journal of an engine with the same account, prefix and banks would add its position, and its numbers are of
/// other sessions. It is recognized by its sessions on any host, and by its bus if the bus is still there. An engine
/// with one renamed session is still the same engine.
#[test]
fn the_journal_of_an_engine_like_this_one_is_refused() {
    let mut rig = Rig::open(SMALL, "");
    let order = rig.order("P1");
    rig.bank.fill(&order, "X1");
    rig.until("a fill", |rig| rig.trader().totals().fills == 1);
    rig.trader
        .take()
        .expect("it runs")
        .finish()
        .expect("it ends");
    let theirs = rig.folder.join("journal");
    let files = files_of(&theirs);
    for (own, other, said) in [
        (
            "sender = \"TOUCHLINE\"",
            "sender = \"TOUCHLINE2\"",
            "the session \"TOUCHLINE to LP01\" with LP01, this engine \"TOUCHLINE2 to LP01\"",
        ),
        (
            "sender = \"TOUCHLINE\"",
            "sender = \"TOUCHLINE\"\ntarget_sub = \"FX\"",
            "this engine \"TOUCHLINE to LP01/FX\"",
        ),
    ] {
        let refused = rig.refused_with(own, other);
        assert!(
            refused.contains("the journal of another engine") && refused.contains(said),
            "{refused}"
        );
        assert!(
            files_of(&theirs) == files,
            "{other}: the journal was changed"
        );
    }
    // An engine with the same sessions, on the bus of another journal.
    let refused = Rig::open(SMALL, "").refused_with_journal_of(&rig);
    assert!(
        refused.contains("another journal than the last run on this bus"),
        "{refused}"
    );
    assert!(files_of(&theirs) == files, "the journal was changed");
    rig.start();
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        1_000_000
    );
}
