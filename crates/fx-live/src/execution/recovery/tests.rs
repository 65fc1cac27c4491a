//! State of a run, recovered from its journal.

use super::*;
use touchline_fx::config;
use touchline_fx_events::command::Command;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::desk::DeskTrade;
use touchline_fx_events::encoding::Encoder;
use touchline_fx_events::event::{Event, Message, OrderEvent, OrderLine};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::{Lifetime, ParentTerms};
use touchline_fx_events::plan::Style;
use touchline_journal::format::FrameHead;
use touchline_types::{Id, Price, Side};

const CONFIG: &str = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                      spot_date = \"20260107\"\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n";

fn setup() -> Setup {
    let config: config::Config = toml::from_str(CONFIG).expect("a configuration");
    Setup::new(config).expect("a setup")
}

/// A run with these names and this prefix begins.
fn run(epoch: u64, account: &str) -> (u16, Vec<u8>) {
    let mut labels = setup().labels;
    labels.prefix = Id::lossy(format!("Te{epoch}").as_bytes());
    labels.account = Id::lossy(account.as_bytes());
    batch(0, 1, |record| record.run(epoch, "20260105", &labels))
}

/// A batch whose first entry has this number.
fn batch(at_ns: u64, first: u64, put: impl FnOnce(&mut Encoder)) -> (u16, Vec<u8>) {
    let mut record = Encoder::default();
    record.begin(at_ns);
    put(&mut record);
    assert_eq!(record.finish(first), 1);
    (records::kind::BATCH, record.part(0).to_vec())
}

/// A report of a bank: the order is filled.
fn report() -> Vec<u8> {
    let mut message = [0; 512];
    let mut encoder = touchline_wire::fix::Encoder::new(&mut message, b"FIX.4.4", b"8");
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
    encoder.finish().expect("it fits").to_vec()
}

/// Journal of a run with a filled order.
fn journal() -> Vec<(u16, Vec<u8>)> {
    let labels = setup().labels;
    let parent = ParentTerms {
        id: Id::lossy(b"P1"),
        pair: 0,
        side: Side::Bid,
        quantity: 1_000,
        limit: None,
        lifetime: Lifetime::Deadline,
        deadline_ms: 1_000,
        urgency: 1,
        style: Style::Best,
        partial: true,
    };
    let order = Terms {
        id: Id::lossy(b"Te1-P1-1"),
        parent: 0,
        bank: 0,
        pair: 0,
        side: Side::Bid,
        quantity: 1_000,
        price: 110_000,
        quote_id: None,
        is_fok: false,
        value_date: 20_260_107,
        sent_ns: 20,
        mid2_sent: Some(220_000),
    };
    let accepted = Event::Accepted {
        number: 0,
        terms: parent,
    };
    let sent = Event::Order(OrderLine {
        id: Some(order.id),
        number: Some(0),
        bank: 0,
        what: OrderEvent::Sent,
        status: None,
        code: None,
        message: Some(Message::Order(order)),
    });
    let none = Batch::default();
    vec![
        run(1, "D"),
        batch(10, 2, |record| record.session(0, true)),
        batch(20, 3, |record| {
            record.event(&labels, &none, &(20, accepted), 0);
            record.event(&labels, &none, &(20, sent), 2);
        }),
        batch(30, 5, |record| record.received(0, &report())),
    ]
}

fn recovered(records: &[(u16, Vec<u8>)]) -> Recovered {
    read(records).expect("a journal")
}

fn read(records: &[(u16, Vec<u8>)]) -> Result<Recovered, RecoveryError> {
    recover_from(&setup(), |each| {
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
    for (version, is_read) in [(2, false), (records::VERSION, true), (5, false)] {
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

/// Each batch has its input with all effects: after a death at any point the state is that of the last complete batch.
#[test]
fn a_journal_is_restored_up_to_its_last_batch() {
    let journal = journal();
    let whole = recovered(&journal);
    assert_eq!(whole.engine.trading().positions().of(0).units, 1_000);
    assert_eq!((whole.orders, whole.next_event), (1, 6));
    assert_eq!(whole.numbers[0].both(), (3, 3));
    let sent = recovered(&journal[..3]);
    assert_eq!(sent.engine.trading().positions().of(0).units, 0);
    assert_eq!((sent.orders, sent.next_event), (1, 5));
    assert_eq!(sent.numbers[0].both(), (3, 1));
    assert_eq!(recovered(&journal[..2]).orders, 0);
}

/// A batch of several parts happened if its last part is there. The next run uses the numbers of the others again.
#[test]
fn a_batch_without_its_last_part_did_not_happen() {
    let mut record = Encoder::default();
    record.begin(40);
    let text = "x".repeat(8_000);
    for request in 1..=20 {
        record.command(request, "desk", "ann", Err(text.as_bytes()));
    }
    let count = record.finish(6);
    assert!(count > 2, "{count} parts");
    let mut all = journal();
    for place in 0..count {
        assert_eq!(recovered(&all).next_event, 6);
        assert!(recovered(&all).requests.is_empty());
        all.push((records::kind::BATCH, record.part(place).to_vec()));
    }
    let whole = recovered(&all);
    assert_eq!((whole.next_event, whole.requests["desk"].last), (26, 20));
    // The next run begins behind a part without the last.
    all.pop();
    all.push(run(2, "D"));
    all.push(batch(50, 7, |record| {
        record.command(3, "desk", "ann", Err(b"{}"))
    }));
    let next = recovered(&all);
    assert_eq!((next.next_event, next.requests["desk"].last), (8, 3));
}

/// An order of a pair with another tick would have another price.
#[test]
fn a_pair_with_other_ticks_is_another_pair() {
    let mut labels = setup().labels;
    labels.prefix = Id::lossy(b"Te1");
    labels.pairs[0].precision = 4;
    let mut all = journal();
    all[0] = batch(0, 1, |record| record.run(1, "20260105", &labels));
    let error = read(&all).expect_err("other ticks");
    assert!(error.to_string().contains("EUR/USD"), "{error}");
}

/// A booking of two persons is in the position after a restart, also if they may not book any more; a proposal waits for its second
/// person.
#[test]
fn bookings_are_restored_whoever_may_book_now() {
    let book = |id: &str, by: &str, bank: Option<usize>| {
        let id = Id::lossy(id.as_bytes());
        let trade = DeskTrade {
            id,
            pair: 0,
            side: Side::Ask,
            quantity: 7,
            price: Price(1_100_000_001),
            bank,
            value_date: Id::lossy(b"20260107"),
        };
        let desk = Desk::Book {
            id: Some(id),
            by: Some(Id::lossy(by.as_bytes())),
            trade: Some(trade),
        };
        batch(40, 6, |record| record.decision(&desk))
    };
    let mut all = journal();
    all.push(book("open", "ann", None));
    all.push(book("open", "bob", None));
    all.push(book("waits", "ann", None));
    let found = recovered(&all);
    assert_eq!(found.engine.trading().positions().of(0).units, 993);
    all.push(book("waits", "ann", None));
    assert_eq!(
        recovered(&all).engine.trading().positions().of(0).units,
        993
    );
    all.push(book("waits", "bob", None));
    assert_eq!(
        recovered(&all).engine.trading().positions().of(0).units,
        986
    );
    // The bank is no longer configured.
    let mut labels = setup().labels;
    labels.prefix = Id::lossy(b"Te2");
    labels.banks.push("B".to_owned());
    all.push(batch(40, 6, |record| record.run(2, "20260105", &labels)));
    all.push(book("other", "ann", Some(1)));
    let error = read(&all).expect_err("a bank that is not configured");
    assert!(error.to_string().contains("booking other"), "{error}");
}

/// Numbers of commands are of the boot clock: after a boot of the host they begin again, also for the second start in it, which would
/// refuse every command otherwise, a kill included.
#[test]
fn numbers_of_commands_begin_again_with_a_boot() {
    let boot = |id: u8| {
        let mut body = Vec::new();
        let record = Record::Boot {
            at_ns: 30,
            id: [id; 16],
            lacks_before: 0,
        };
        (record.encode(&mut body), body)
    };
    let command = |request| {
        batch(30, 6, |record| {
            record.command(request, "desk", "desk", Ok(&Command::Kill));
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
    let refused = read(&[run(1, "E")]);
    assert!(
        matches!(refused, Err(RecoveryError::Other { .. })),
        "{refused:?}"
    );
    // The account of a later run is that of a configuration that was changed since.
    assert_eq!(recovered(&[run(1, "D"), run(2, "E")]).epoch, 2);
}
