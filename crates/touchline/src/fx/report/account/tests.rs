//! The figures of one session in the engine, the report and the blotter.

use super::*;
use crate::fx::report::period::Period;
use crate::fx::report::quality::qualities;
use touchline_fx::Setup;
use touchline_fx::sessions::Replay;

/// 5 January 2026, 9:00 UTC.
const START_NS: u64 = 1_767_603_600_000_000_000;

const CONFIG: &str = r#"
date = "20260105"
prefix = "T"
account = "D"
[[pairs]]
symbol = "EUR/USD"
precision = 5
lot = 1000
spot_date = "20260107"
sizes = []
[[banks]]
name = "A"
pairs = ["EUR/USD"]
after_loss = "canceled"
answer_ms = 1000
"#;

/// What became of the orders of a bank: sent, fills, units of these, unknown, and rejects by code.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    orders: u64,
    fills: u64,
    filled: i64,
    unknown: u64,
    rejects: BTreeMap<&'static str, u64>,
}

/// An engine, and what follows its entries.
struct Session {
    replay: Replay,
    ledger: Ledger,
    account: Account,
}

impl Session {
    fn new() -> Session {
        let mut session = Session {
            replay: Replay::new(Setup::parse(CONFIG).expect("a configuration")),
            ledger: Ledger::of_all_orders(),
            account: Account::default(),
        };
        let run = Entry::Run {
            epoch: 1,
            date: "20260105",
            drops: &[1],
        };
        tell(
            &mut session.ledger,
            &mut session.account,
            &session.replay,
            0,
            run,
        );
        session
    }

    /// A line of the session, at a time in milliseconds.
    fn line(&mut self, at_ms: u64, text: &str) {
        let line = format!("{} {text}", START_NS + at_ms * 1_000_000);
        self.replay.line(&line).expect("a line");
        self.told();
    }

    fn wait(&mut self, at_ms: u64) {
        self.replay.wake(START_NS + at_ms * 1_000_000);
        self.told();
    }

    fn told(&mut self) {
        let Session {
            replay,
            ledger,
            account,
        } = self;
        for (at_ns, event) in &replay.batch().events {
            tell(ledger, account, replay, *at_ns, Entry::Event(event, 0));
        }
    }

    /// A message of the bank, with length and checksum.
    fn message(&mut self, at_ms: u64, session: &str, body: &str) {
        let text = format!("8=FIX.4.4|9={}|{body}|", body.len() + 1);
        let byte = |byte: u8| if byte == b'|' { 1 } else { byte };
        let sum = text
            .bytes()
            .fold(0_u8, |sum, next| sum.wrapping_add(byte(next)));
        self.line(at_ms, &format!("A.{session} {text}10={sum:03}|"));
    }

    /// The bank offers a million at 1.10002, and a parent takes it.
    fn buy(&mut self, at_ms: u64, parent: &str) {
        let quote = format!(
            "35=W|262=R|55=EUR/USD|268=2|269=0|278=B|270=1.09998|271=1000000|299=B{parent}|\
             269=1|278=A|270=1.10002|271=1000000|299=A{parent}"
        );
        self.message(at_ms, "q", &quote);
        let terms = "\"pair\":\"EUR/USD\",\"side\":\"buy\",\"qty\":1000000,\"deadline_ms\":60000";
        self.line(
            at_ms,
            &format!("- {{\"op\":\"parent\",\"id\":\"{parent}\",{terms}}}"),
        );
    }

    /// Counts of the engine, the report and the blotter.
    fn counts(&self) -> [Counts; 3] {
        let score = self.replay.engine().clone().score(0, 0);
        let codes = touchline_fx_events::orders::RejectCode::ALL;
        let rejects = codes.map(|code| (code.name(), score.rejects[code as usize]));
        let quality = &qualities(&self.account, Period::ALL)[0];
        let bank = &self.ledger.banks["A"];
        [
            Counts {
                orders: score.orders,
                fills: score.fills,
                filled: score.filled,
                unknown: score.unknown,
                rejects: rejects
                    .into_iter()
                    .filter(|(_, count)| *count > 0)
                    .collect(),
            },
            Counts {
                orders: quality.orders,
                fills: quality.fills,
                filled: quality.filled,
                unknown: quality.unknown,
                rejects: quality.codes.clone(),
            },
            Counts {
                orders: bank.orders,
                fills: bank.fills,
                filled: bank.filled,
                unknown: bank.unknown,
                rejects: bank.rejects.clone(),
            },
        ]
    }
}

fn tell(ledger: &mut Ledger, account: &mut Account, replay: &Replay, at_ns: u64, entry: Entry<'_>) {
    let told = PublishedEntry {
        labels: &replay.engine().setup().labels,
        at_ns,
        entry,
        batch: replay.batch(),
        is_journaled: true,
    };
    ledger.take(&told);
    account.take(ledger, &told);
}

/// Of two orders whose cancel is out, and that are lost with the connection, the bank's rule ends both: the one whose cancel the bank has
/// refused is its reject. A fill that is busted stays one of the bank. Orders that the journal lost are in no figure.
#[test]
fn a_reject_counts_in_the_engine_the_report_and_the_blotter_alike() {
    let mut session = Session::new();
    session.line(0, "A.q !up");
    session.line(10, "- {\"op\":\"reboot\",\"epoch\":3}");
    session.line(10, "A.q !up");
    session.line(20, "A.o !up");
    let lost = "55=EUR/USD|54=1|38=1000000|44=1.10002|6=1.10001";
    for report in [
        "11=Te2-P8-1|17=X1|150=F|39=1|14=400000|32=400000|31=1.10001|151=600000",
        "11=Te2-P9-1|17=X2|150=8|39=8|14=0|151=0|103=99",
    ] {
        session.message(30, "o", &format!("35=8|{report}|{lost}"));
    }
    session.line(40, "A.o !settled");
    session.wait(1_500);
    let canceled = "35=8|11=Te2-P8-1|17=0|150=4|39=4|14=400000|151=0";
    session.message(1_600, "o", canceled);
    for parent in ["P1", "P2", "P3"] {
        session.buy(9_000, parent);
    }
    let fill = "35=8|11=T-P3-1|17=X3|150=F|39=2|14=1000000|32=1000000|31=1.10002|151=0";
    session.message(9_010, "o", fill);
    session.message(
        9_020,
        "o",
        "35=8|11=T-P3-1|17=X4|19=X3|150=H|39=1|14=0|151=0",
    );
    for parent in ["P1", "P2"] {
        session.line(
            9_030,
            &format!("- {{\"op\":\"cancel\",\"id\":\"{parent}\"}}"),
        );
    }
    session.line(9_040, "A.o !down");
    // The engine asks for both cancels again.
    session.line(9_050, "A.o !up");
    session.message(9_060, "o", "35=9|11=T-P1-3|41=T-P1-1|39=0|434=1|102=0");
    session.line(9_070, "A.o !settled");
    session.wait(12_000);
    let [engine, report, blotter] = session.counts();
    let expected = Counts {
        orders: 3,
        fills: 1,
        filled: 1_000_000,
        unknown: 2,
        rejects: BTreeMap::from([("N", 1)]),
    };
    assert_eq!(engine, expected);
    assert_eq!(report, expected);
    assert_eq!(blotter, expected);
    let parents = filled(&session);
    assert_eq!(parents, [0, 0, 0], "of each parent, net of busts");
    let adopted = session.account.parents.iter().filter_map(|parent| {
        let end = parent.end.as_ref()?;
        parent.is_adopted.then_some(end.reason)
    });
    assert_eq!(adopted.collect::<Vec<_>>(), ["adopted"; 2]);
}

/// Units filled of the parents that the blotter shows.
fn filled(session: &Session) -> Vec<i64> {
    let parents = session.ledger.parents.iter();
    parents.map(|parent| parent.filled).collect()
}
