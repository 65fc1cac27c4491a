//! What a journal tells of a run.

use super::*;
use touchline_fx::config;
use touchline_journal::format::FrameHead;
use touchline_wire::fix::Encoder;

const CONFIG: &str = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                      spot_date = \"20260107\"\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n";

/// What a run left of an order that was filled, each line record with as many lines as it had.
fn journal() -> Vec<(u16, Vec<u8>)> {
    let mut line = Vec::new();
    records::put_line(&mut line, 2, "{}");
    let mut message = [0; 512];
    let mut encoder = Encoder::new(&mut message, b"FIX.4.4", b"8");
    for (tag, value) in [
        (49, "A"),
        (56, "T"),
        (34, "2"),
        (52, "20260105-09:00:01"),
        (37, "1"),
        (11, "Te1-P1-1"),
        (17, "X1"),
        (150, "F"),
        (39, "2"),
        (55, "EUR/USD"),
        (54, "1"),
        (38, "1000"),
        (32, "1000"),
        (31, "1.1"),
        (151, "0"),
        (14, "1000"),
        (6, "1.1"),
    ] {
        encoder.bytes(tag, value.as_bytes());
    }
    let bytes = encoder.finish().expect("it fits");
    let parent =
        r#"{"op":"parent","id":"P1","pair":"EUR/USD","side":"buy","qty":1000,"deadline_ms":1000}"#;
    let order = records::Order {
        sent_ns: 20,
        quantity: 1_000,
        price: 110_000,
        mid2: Some(220_000),
        sequence: 2,
        bank: 0,
        pair: 0,
        is_buy: true,
        is_fok: false,
        value_date: 20_260_107,
        id: Id::lossy(b"Te1-P1-1"),
        parent: Id::lossy(b"P1"),
        quote_id: None,
    };
    let run = Run {
        epoch: 1,
        prefix: "Te1",
        date: "20260105",
        account: "D",
        banks: vec!["A"],
        pairs: vec!["EUR/USD"],
    };
    let lines = |at_ns, first| Record::Lines {
        at_ns,
        first,
        lines: &line,
    };
    let session = Record::Session {
        at_ns: 10,
        bank: 0,
        is_up: true,
    };
    let report = Record::Report {
        at_ns: 30,
        bank: 0,
        bytes,
    };
    let decided = Record::Decided {
        at_ns: 20,
        text: parent,
    };
    let all = [
        Record::Run(run),
        session,
        decided,
        Record::Order(order),
        lines(20, 1),
        report,
        lines(30, 2),
    ];
    let encoded = all.iter().map(|record| {
        let mut body = Vec::new();
        (record.encode(&mut body), body)
    });
    encoded.collect()
}

fn recovered(records: &[(u16, Vec<u8>)]) -> Recovered {
    read(records).expect("a journal")
}

fn read(records: &[(u16, Vec<u8>)]) -> Result<Recovered, RecoveryError> {
    let config: config::Config = config::read_toml(CONFIG).expect("a configuration");
    let setup = Setup::new(config).expect("a setup");
    recover_from(&setup, |each| {
        for (kind, body) in records {
            let head = FrameHead {
                length: 0,
                body_crc: 0,
                number: 0,
                time_ns: 0,
                unsynced: 0,
                stream: records::STREAM,
                kind: *kind,
            };
            each(&Entry {
                segment: 0,
                position: None,
                sequence: None,
                head,
                body,
            });
        }
        Ok(())
    })
}

/// Records that other rules wrote are refused with their cure, and so are those of a later version.
#[test]
fn records_of_another_version_are_refused() {
    for (version, is_read) in [(1, false), (records::VERSION, true), (3, false)] {
        let stream = Stream {
            content: records::CONTENT,
            schema: 0,
            version,
            name: "fx".to_owned(),
        };
        let mut all = vec![(STREAM_KIND, stream.encode())];
        all.extend(journal());
        match read(&all) {
            Ok(_) => assert!(is_read, "version {version}"),
            Err(error) => assert!(
                !is_read && error.to_string().contains("touchline fx book"),
                "version {version}: {error}"
            ),
        }
    }
}

/// A booking of two persons is in the position after a restart, also if they may not book any more; a proposal waits for its second
/// person.
#[test]
fn bookings_are_restored_whoever_may_book_now() {
    let book = |id: &str, by: &str, pair: &str| {
        let text = format!(
            r#"{{"op":"book","id":"{id}","pair":"{pair}","side":"sell","qty":7,"price":"1.100000001","bank":null,"value_date":"20260107","by":"{by}"}}"#
        );
        let mut body = Vec::new();
        let record = Record::Decided {
            at_ns: 40,
            text: &text,
        };
        (record.encode(&mut body), body)
    };
    let mut all = journal();
    all.push(book("open", "ann", "EUR/USD"));
    all.push(book("open", "bob", "EUR/USD"));
    all.push(book("waits", "ann", "EUR/USD"));
    let found = recovered(&all);
    assert_eq!(found.engine.positions().of(0).units, 993);
    all.push(book("waits", "ann", "EUR/USD"));
    assert_eq!(recovered(&all).engine.positions().of(0).units, 993);
    all.push(book("waits", "bob", "EUR/USD"));
    assert_eq!(recovered(&all).engine.positions().of(0).units, 986);
    all.push(book("other", "ann", "GBP/USD"));
    let error = read(&all).expect_err("a pair that is not configured");
    assert!(error.to_string().contains("booking other"), "{error}");
}

fn fills(recovered: &Recovered) -> usize {
    let events = recovered.untold.iter().flat_map(|batch| &batch.events);
    events
        .filter(|(_, event)| matches!(event, Event::Fill(_)))
        .count()
}

/// Wherever the run died: a fill whose lines the journal has is not told again, and one without lines is; an order
/// without lines, too.
#[test]
fn what_a_run_could_not_tell_is_told_by_the_next() {
    let journal = journal();
    let whole = recovered(&journal);
    assert_eq!((whole.untold.len(), whole.next_line), (0, 3));
    assert_eq!(whole.engine.positions().of(0).units, 1_000);
    let cut = recovered(&journal[..6]);
    assert_eq!((fills(&cut), cut.next_line), (1, 2));
    let mut events = cut.untold.iter().flat_map(|batch| &batch.events);
    assert!(events.any(|(_, event)| matches!(event, Event::Ended(_))));
    assert_eq!(cut.engine.positions().of(0).units, 1_000);
    let order = recovered(&journal[..4]);
    let is_order =
        |event: &Event| matches!(event, Event::Order(line) if line.what == OrderEvent::Sent);
    let events: Vec<_> = order
        .untold
        .iter()
        .flat_map(|batch| &batch.events)
        .collect();
    assert!(events.len() == 1 && is_order(&events[0].1), "{events:?}");
}

/// Numbers of commands are of the boot clock: after a boot of the host they begin again, also for the second start in it, which would
/// refuse every command otherwise, a kill included.
#[test]
fn numbers_of_commands_begin_again_with_a_boot() {
    let encode = |record: Record<'_>| {
        let mut body = Vec::new();
        (record.encode(&mut body), body)
    };
    let boot = |id: u8| {
        encode(Record::Boot {
            at_ns: 30,
            id: [id; 16],
            lacks_before: 0,
        })
    };
    let command = |request| {
        encode(Record::Command {
            at_ns: 30,
            request,
            client: "desk",
            person: "desk",
            text: crate::desk::KILL,
        })
    };
    let known = |records: &[(u16, Vec<u8>)]| {
        let mut all = journal();
        all.extend_from_slice(records);
        let mut recovered = recovered(&all);
        recovered.note_start(&StartReport {
            boot: [2; 16],
            ..StartReport::default()
        });
        let Known { last, kill } = recovered.known("desk");
        (last, kill)
    };
    assert_eq!(known(&[boot(1), command(900)]), (0, 0), "of another boot");
    assert_eq!(known(&[boot(1), command(900), boot(2)]), (0, 0));
    let both = [boot(1), command(900), boot(2), command(5), boot(2)];
    assert_eq!(known(&both), (5, 5));
}

/// A standby reads the journal from its first record on, and does not open it before.
#[test]
fn the_first_run_says_whose_the_journal_is() {
    let run = |epoch, account| {
        let run = Run {
            epoch,
            prefix: if epoch == 1 { "Te1" } else { "Te2" },
            date: "20260105",
            account,
            banks: vec!["A"],
            pairs: vec!["EUR/USD"],
        };
        let mut body = Vec::new();
        (Record::Run(run).encode(&mut body), body)
    };
    let refused = read(&[run(1, "E")]);
    assert!(
        matches!(refused, Err(RecoveryError::Other { .. })),
        "{refused:?}"
    );
    // The account of a later run is that of a configuration that was changed since.
    assert_eq!(recovered(&[run(1, "D"), run(2, "E")]).epoch, 2);
}
