//! State of a run, recovered from its journal.

mod settings;

use super::*;
use touchline_fx::config;
use touchline_fx::input::Input;
use touchline_fx_events::command::Command;
use touchline_fx_events::desk::{Day, Desk, DeskTrade};
use touchline_fx_events::encoding::Encoder;
use touchline_fx_events::event::{
    Event, Message, OrderEvent, OrderLine, OrderStatus, SessionChange,
};
use touchline_fx_events::orders::{OrderState, RejectCode, Terms};
use touchline_fx_events::parents::{Lifetime, ParentTerms};
use touchline_fx_events::plan::Style;
use touchline_journal::format::FrameHead;
use touchline_types::{Id, Price, Side};

const CONFIG: &str = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                      spot_date = \"20260107\"\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n";

fn setup() -> Setup {
    setup_with("")
}

/// The settings, with more of the bank.
fn setup_with(more: &str) -> Setup {
    let config: config::Config =
        toml::from_str(&format!("{CONFIG}{more}")).expect("a configuration");
    Setup::new(config).expect("a setup")
}

/// A run with these names and this prefix begins.
fn run(epoch: u64, account: &str) -> (u16, Vec<u8>) {
    run_with(epoch, account, &[])
}

/// A run whose banks have these rules.
fn run_with(epoch: u64, account: &str, drops: &[bool]) -> (u16, Vec<u8>) {
    let mut labels = setup().labels;
    labels.prefix = Id::lossy(format!("Te{epoch}").as_bytes());
    labels.account = Id::lossy(account.as_bytes());
    batch(0, 1, |record| record.run(epoch, "20260105", &labels, drops))
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

/// An order of 1,000 with this number leaves.
fn sent(number: u32, at_ns: u64) -> Event {
    let order = Terms {
        id: Id::lossy(format!("Te1-P1-{}", number + 1).as_bytes()),
        parent: 0,
        bank: 0,
        pair: 0,
        side: Side::Bid,
        quantity: 1_000,
        price: 110_001,
        quote_id: None,
        is_fok: false,
        value_date: 20_260_107,
        sent_ns: at_ns,
        mid2_sent: Some(220_001),
    };
    Event::Order(OrderLine {
        id: Some(order.id),
        number: Some(number),
        bank: 0,
        what: OrderEvent::Sent,
        status: None,
        code: None,
        message: Some(Message::Order(order)),
    })
}

/// Journal of a run with a filled order.
fn journal() -> Vec<(u16, Vec<u8>)> {
    journal_of(1_000)
}

/// Journal of a run whose parent of this quantity has a filled order of 1,000.
fn journal_of(quantity: i64) -> Vec<(u16, Vec<u8>)> {
    let labels = setup().labels;
    let parent = ParentTerms {
        id: Id::lossy(b"P1"),
        pair: 0,
        side: Side::Bid,
        quantity,
        limit: None,
        lifetime: Lifetime::Deadline,
        deadline_ms: 1_000,
        urgency: 1,
        style: Style::Best,
        partial: true,
    };
    let accepted = Event::Accepted {
        number: 0,
        terms: parent,
    };
    let sent = sent(0, 20);
    let none = Batch::default();
    vec![
        run(1, "D"),
        batch(10, 2, |record| record.session(0, SessionChange::Up)),
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
    read_by(&setup(), records)
}

fn read_by(setup: &Setup, records: &[(u16, Vec<u8>)]) -> Result<Recovered, RecoveryError> {
    recover_from(setup, |each| {
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
    all[0] = batch(0, 1, |record| record.run(1, "20260105", &labels, &[]));
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
    all.push(batch(40, 6, |record| {
        record.run(2, "20260105", &labels, &[])
    }));
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

/// A journal in which the session with an order is lost, comes up again, and everything has come, in a run whose bank drops orders, or
/// keeps them, or one that did not record which; then the order ends by the rule, or does not.
fn lost(drops: &[bool], is_ended: bool) -> Vec<(u16, Vec<u8>)> {
    let labels = setup().labels;
    let mut all = journal();
    all[0] = run_with(1, "D", drops);
    all.truncate(3);
    let mut next = 5;
    for (at_ns, change) in [(30, SessionChange::Down), (40, SessionChange::Up)] {
        all.push(batch(at_ns, next, |record| record.session(0, change)));
        next += 1;
    }
    if drops.first() != Some(&false) {
        let change = SessionChange::Settled;
        all.push(batch(50, next, |record| record.session(0, change)));
        next += 1;
    }
    if is_ended {
        let end = Event::Order(OrderLine {
            id: Some(Id::lossy(b"Te1-P1-1")),
            number: Some(0),
            bank: 0,
            what: OrderEvent::Down,
            status: Some(OrderStatus {
                state: OrderState::Canceled,
                cum: 0,
                leaves: 0,
            }),
            code: Some(RejectCode::NeverArrived),
            message: None,
        });
        let at_ns = 600_000_000;
        let none = Batch::default();
        all.push(batch(at_ns, next, |record| {
            record.event(&labels, &none, &(at_ns, end), 0);
        }));
    }
    all
}

/// The rules of the configuration do not change the past: an order has ended if its record has the end, and a parent at a roll
/// likewise, with any `after_loss` and `at_roll` of today.
#[test]
fn rules_of_the_configuration_do_not_change_the_past() {
    let rules = ["ask", "canceled", "ask_then_canceled"];
    for (rule, at_roll) in rules
        .iter()
        .flat_map(|rule| [(rule, "go_on"), (rule, "end")])
    {
        let more = format!(
            "answer_ms = 1\nstatus_ms = 1\nafter_loss = \"{rule}\"\n[risk]\nat_roll = \"{at_roll}\"\n"
        );
        let now = setup_with(&more);
        for drops in [&[][..], &[true], &[false]] {
            for is_ended in [false, true] {
                let mut records = lost(drops, is_ended);
                let case = format!("{rule} {at_roll} {drops:?} {is_ended}");
                let day = Event::Day(Day {
                    pair: 0,
                    trade: 20_260_106,
                    spot: 20_260_108,
                });
                // Long after each timer.
                records.push(batch(900_000_000, 9, |record| {
                    record.event(&setup().labels, &Batch::default(), &(900_000_000, day), 0);
                }));
                let engine = read_by(&now, &records).expect(&case).engine;
                let state = engine.trading().orders().get(0).state();
                let expected = match is_ended {
                    true => OrderState::Canceled,
                    false => OrderState::Unknown,
                };
                assert_eq!(state, expected, "{case}");
                let parent = engine.trading().parents().get(0);
                assert!(parent.is_working(), "{case}");
                let open = if is_ended { 1_000 } else { 0 };
                assert_eq!(parent.open(), open, "{case}");
            }
        }
    }
}

/// An order that was lost in a run whose bank kept orders is not dropped by a rule that is set later; one of a run with the rule is,
/// and one of a run that did not record its rule is judged by the present one.
#[test]
fn a_rule_that_is_set_later_ends_no_order_of_before() {
    for (drops, state) in [
        (&[][..], OrderState::Canceled),
        (&[true], OrderState::Canceled),
        (&[false], OrderState::Unknown),
    ] {
        let now = setup_with("answer_ms = 1\nafter_loss = \"canceled\"\n");
        let mut engine = read_by(&now, &lost(drops, false))
            .expect("a journal")
            .engine;
        engine.set_restoring(false);
        let mut batch = Batch::default();
        let times = [
            SessionChange::Down,
            SessionChange::Up,
            SessionChange::Settled,
        ];
        for (at_ns, change) in (1_000_000_000..).step_by(1_000).zip(times) {
            let input = Input::Orders(0, change.into());
            engine.handle(at_ns, &input, &mut batch);
        }
        engine.handle_timeout(1_100_000_000, &mut batch);
        let found = engine.trading().orders().get(0).state();
        assert_eq!(found, state, "{drops:?}");
    }
}

/// A start knows when the credit of a bank was free last, of any release that wrote the day.
#[test]
fn the_time_of_a_bank_s_day_is_restored() {
    let mut records = journal();
    let (at_ns, trade) = (900_000_000, 20_260_106);
    let day = Event::BankDay { bank: 0, trade };
    records.push(batch(at_ns, 9, |record| {
        record.event(&setup().labels, &Batch::default(), &(at_ns, day), 0);
    }));
    let recovered = recovered(&records);
    assert_eq!(recovered.bank_days_ns, [at_ns]);
    assert_eq!(recovered.engine.trading().bank_day(0), trade);
}

/// A run that died lost its orders by its own rule, not by that of the run that came behind it.
#[test]
fn an_order_that_a_crash_lost_is_judged_by_the_run_that_died() {
    for (rules, expected) in [
        ([false, true], OrderState::Unknown),
        ([true, true], OrderState::Canceled),
    ] {
        let mut records = journal();
        records.truncate(3);
        records[0] = run_with(1, "D", &rules[..1]);
        records.push(run_with(2, "D", &rules[1..]));
        let now = setup_with("answer_ms = 1\nafter_loss = \"canceled\"\n");
        let mut engine = read_by(&now, &records).expect("a journal").engine;
        engine.set_restoring(false);
        let mut batch = Batch::default();
        for change in [SessionChange::Up, SessionChange::Settled] {
            let input = Input::Orders(0, change.into());
            engine.handle(1_000_000_000, &input, &mut batch);
        }
        engine.handle_timeout(1_100_000_000, &mut batch);
        let found = engine.trading().orders().get(0).state();
        assert_eq!(found, expected, "{rules:?}");
    }
}

/// The answer of a bank by its rule is restored, so that later starts do not wait for it again: by the rule of its run, and not if the run
/// died before a last look was over, or messages were missing.
#[test]
fn an_answer_by_a_rule_is_restored() {
    let now = setup_with("answer_ms = 1\nafter_loss = \"canceled\"\n");
    for (drops, is_doubted, end_ns, is_asking) in [
        (true, false, 900_000_000, false),
        (true, false, 1_000_000, true),
        (true, true, 900_000_000, true),
        (false, false, 900_000_000, true),
    ] {
        let mut boot = Vec::new();
        let record = Record::Boot {
            at_ns: 10,
            id: [1; 16],
            lacks_before: 1,
        };
        let kind = record.encode(&mut boot);
        let mut all = vec![run_with(1, "D", &[drops]), (kind, boot)];
        let mut changes = vec![SessionChange::Up, SessionChange::Settled];
        if is_doubted {
            changes.insert(1, SessionChange::Doubted);
        }
        for (at_ns, change) in (20..).zip(changes) {
            let first = at_ns;
            all.push(batch(at_ns, first, |record| record.session(0, change)));
        }
        let trade = 20_260_106;
        let day = Event::BankDay { bank: 0, trade };
        all.push(batch(end_ns, 30, |record| {
            record.event(&setup().labels, &Batch::default(), &(end_ns, day), 0);
        }));
        all.push(run_with(2, "D", &[true]));
        let engine = read_by(&now, &all).expect("a journal").engine;
        let found = engine.trading().is_asking();
        assert_eq!(found, is_asking, "{drops} {is_doubted} {end_ns}");
    }
}

/// An answer "unknown order" has ended an order if its record has the end, whether such answers are final now or not.
#[test]
fn an_unknown_order_has_ended_as_recorded() {
    let mut room = [0; 512];
    let mut answer = touchline_wire::fix::Encoder::new(&mut room, b"FIX.4.4", b"8");
    for (tag, value) in [
        (34, "3"),
        (11, "Te1-P1-1"),
        (17, "0"),
        (150, "I"),
        (39, "8"),
        (103, "5"),
    ] {
        answer.bytes(tag, value.as_bytes());
    }
    let answer = answer.finish().expect("it fits").to_vec();
    for (is_final, state) in [true, false].into_iter().flat_map(|is_final| {
        [OrderState::Rejected, OrderState::Unknown].map(|state| (is_final, state))
    }) {
        let open = if state.is_end() { 1_000 } else { 0 };
        let mut records = lost(&[false], false);
        records.push(batch(60, 8, |record| {
            record.received(0, &answer);
            let end = Event::Order(OrderLine {
                id: Some(Id::lossy(b"Te1-P1-1")),
                number: Some(0),
                bank: 0,
                what: OrderEvent::Report,
                status: Some(OrderStatus {
                    state,
                    cum: 0,
                    leaves: 1_000 - open,
                }),
                code: state.is_end().then_some(RejectCode::NeverArrived),
                message: None,
            });
            record.event(&setup().labels, &Batch::default(), &(60, end), 0);
        }));
        let now = CONFIG.replace("status_final = true", &format!("status_final = {is_final}"));
        let config: config::Config = toml::from_str(&now).expect("a configuration");
        let now = Setup::new(config).expect("a setup");
        let engine = read_by(&now, &records).expect("a journal").engine;
        let found = engine.trading().orders().get(0).state();
        assert_eq!(found, state, "{is_final}");
        let parent = engine.trading().parents().get(0);
        assert_eq!(parent.open(), open, "{is_final} {state:?}");
    }
}
