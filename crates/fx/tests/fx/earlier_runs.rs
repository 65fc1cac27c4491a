//! Lines about orders and parents of an earlier run, in which banks and pairs had other numbers.

use touchline_fx_events::encoding::{Decoder, Encoder, Malformed};
use touchline_fx_events::event::{
    Asked, Event, FillLine, Message, Numbered, OrderEvent, OrderLine, OrderStatus, ParentEnd,
};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::lines::lines_of;
use touchline_fx_events::orders::{FillKind, OrderState, Terms};
use touchline_fx_events::parents::{EndReason, Lifetime, ParentTerms};
use touchline_fx_events::plan::Style;
use touchline_fx_events::{Batch, Labels};
use touchline_types::{Id, Price, Side};

const ORDER: &str = "Te1-P1-1";
const PARENT: &str = "P1";

fn id(text: &str) -> Id {
    Id::lossy(text.as_bytes())
}

/// Labels of a run with these banks, and with pairs of these decimals.
fn labels(banks: &[&str], pairs: &[(&str, u8)]) -> Labels {
    let pair = |(symbol, precision): &(&str, u8)| PairLabel {
        symbol: (*symbol).to_owned(),
        base: id(&symbol[..3]),
        precision: *precision,
        sizes: Vec::new(),
    };
    Labels {
        prefix: id("T"),
        account: id("D"),
        banks: banks.iter().map(|name| (*name).to_owned()).collect(),
        pairs: pairs.iter().map(pair).collect(),
    }
}

/// An order of this bank and pair, at 1.10001.
fn terms(bank: usize, pair: usize) -> Terms {
    Terms {
        id: id(ORDER),
        bank,
        pair,
        quantity: 1_000,
        price: 110_001,
        mid2_sent: Some(220_001),
        ..Terms::SAMPLE
    }
}

/// A parent of this pair and an order of it are new.
fn made(bank: usize, pair: usize) -> Vec<Event> {
    let terms = terms(bank, pair);
    let parent = ParentTerms {
        id: id(PARENT),
        pair,
        side: Side::Bid,
        quantity: 1_000,
        limit: Some(110_001),
        lifetime: Lifetime::Deadline,
        deadline_ms: 1_000,
        urgency: 1,
        style: Style::Best,
        partial: true,
    };
    let sent = OrderLine {
        id: Some(terms.id),
        number: Some(0),
        bank,
        what: OrderEvent::Sent,
        status: None,
        code: None,
        message: Some(Message::Order(terms)),
    };
    vec![
        Event::Accepted {
            number: 0,
            terms: parent,
        },
        Event::Order(sent),
    ]
}

/// Events of a later run about both: the restart, a question, its answer, a late fill, the bust of it.
fn later(bank: usize, pair: usize) -> Vec<Event> {
    let line = |what, message| {
        Event::Order(OrderLine {
            id: Some(id(ORDER)),
            number: Some(0),
            bank,
            what,
            status: Some(OrderStatus {
                state: OrderState::Unknown,
                cum: 0,
                leaves: 1_000,
            }),
            code: None,
            message,
        })
    };
    let order = Asked::from(&terms(bank, pair));
    let end = ParentEnd {
        parent: Numbered {
            number: 0,
            id: id(PARENT),
        },
        pair,
        reason: Some(EndReason::Restart),
        filled: 0,
        average: Some(11_000_100),
        out: 1_000,
    };
    let fill = |kind| {
        Event::Fill(FillLine {
            order: Some(Numbered {
                number: 0,
                id: id(ORDER),
            }),
            parent: Some(id(PARENT)),
            bank: Some(bank),
            exec_id: id("X1"),
            kind,
            pair,
            side: Side::Bid,
            quantity: 1_000,
            price: Price(1_100_010_000),
            improve: Some(0),
            hold_ns: Some(7),
            is_late: false,
            settl_date: None,
            currency: None,
            part_of: None,
        })
    };
    let (request, at_ns) = (1, 5);
    let cancel = Message::Cancel {
        id: id("Te2-C1"),
        order,
        at_ns,
    };
    vec![
        line(OrderEvent::Down, None),
        Event::Ended(end),
        line(
            OrderEvent::Timeout,
            Some(Message::Status { request, order }),
        ),
        line(OrderEvent::Sent, Some(cancel)),
        line(OrderEvent::Report, None),
        fill(FillKind::Fill),
        fill(FillKind::Bust),
        Event::Settled(end),
    ]
}

/// Writes and reads runs.
#[derive(Default)]
struct Journal {
    encoder: Encoder,
    decoder: Decoder,
    runs: u64,
}

impl Journal {
    fn begin(&mut self, labels: &Labels) {
        self.runs += 1;
        self.encoder.begin(0);
        self.encoder.run(self.runs, "20260105", labels, &[]);
        self.read(&mut Vec::new()).expect("a run");
    }

    /// The lines of events, as they are read.
    fn lines(&mut self, labels: &Labels, events: Vec<Event>) -> Result<Vec<String>, Malformed> {
        let (none, mut lines) = (Batch::default(), Vec::new());
        for event in events {
            self.encoder.begin(9);
            self.encoder.event(labels, &none, &(9, event), 3);
            self.read(&mut lines)?;
        }
        Ok(lines)
    }

    fn read(&mut self, lines: &mut Vec<String>) -> Result<(), Malformed> {
        assert_eq!(self.encoder.finish(1), 1);
        self.decoder
            .read(self.encoder.part(0), |labels, at_ns, entry, batch| {
                let labels = (labels, batch);
                lines_of(labels, at_ns, &entry, &mut String::new(), |_, line| {
                    lines.push(line.to_owned());
                });
            })
    }
}

/// Lines of a later run name the bank and the pair of an order after others were added before them, removed or moved: in ticks of
/// another pair the price of the order cannot be read.
#[test]
fn old_orders_keep_their_bank_and_pair_when_the_lists_change() {
    let first = labels(&["Z", "A"], &[("EUR/USD", 5)]);
    let mut journal = Journal::default();
    journal.begin(&first);
    journal.lines(&first, made(1, 0)).expect("new orders");
    let expected = journal.lines(&first, later(1, 0)).expect("its own run");
    assert_eq!(expected.len(), 8);
    let runs = [
        (labels(&["Z", "A"], &[("USD/JPY", 3), ("EUR/USD", 5)]), 1, 1),
        (labels(&["A"], &[("USD/JPY", 3), ("EUR/USD", 5)]), 0, 1),
        (
            labels(
                &["N", "M", "A"],
                &[("EUR/JPY", 3), ("EUR/GBP", 5), ("EUR/USD", 5)],
            ),
            2,
            2,
        ),
        (labels(&["A", "Z"], &[("EUR/USD", 5)]), 0, 0),
        (labels(&["A", "Z"], &[("EUR/USD", 5)]), 0, 0),
    ];
    for (labels, bank, pair) in &runs {
        journal.begin(labels);
        let found = journal.lines(labels, later(*bank, *pair));
        assert_eq!(found.as_ref(), Ok(&expected), "{labels:?}");
    }
    // A number that is used again is of the run that used it last.
    let (last, ..) = &runs[1];
    journal.begin(last);
    let made = journal.lines(last, made(0, 1)).expect("new orders");
    assert!(made.iter().any(|line| line.contains("EUR/USD")), "{made:?}");
    assert_eq!(journal.lines(last, later(0, 1)), Ok(expected));
}

/// A line that repeats the terms of an order is refused in a run without its bank or its pair, or with other ticks of the pair, as the start
/// of such a run is; a line that names the order alone is read.
#[test]
fn terms_of_a_pair_that_the_run_does_not_have_are_refused() {
    let first = labels(&["A"], &[("EUR/USD", 5)]);
    let others = [
        labels(&["A"], &[("USD/JPY", 3)]),
        labels(&["A"], &[("EUR/USD", 4)]),
        labels(&["B"], &[("EUR/USD", 5)]),
    ];
    for other in &others {
        let mut journal = Journal::default();
        journal.begin(&first);
        journal.lines(&first, made(0, 0)).expect("new orders");
        journal.begin(other);
        let mut events = later(0, 0);
        let question = events.remove(2);
        assert_eq!(journal.lines(other, vec![question]), Err(Malformed));
        let state = events.remove(0);
        let named = journal.lines(other, vec![state]).expect("a name");
        assert!(named[0].contains(ORDER), "{named:?}");
    }
}
