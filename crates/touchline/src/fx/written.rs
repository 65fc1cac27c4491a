//! A journal of an engine while a test writes it.

use std::path::PathBuf;
use touchline_fx_desk::records;
use touchline_fx_events::Labels;
use touchline_fx_events::encoding::Encoder;
use touchline_fx_events::event::{Batch, Event, FillLine, Numbered};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::orders::FillKind;
use touchline_fx_events::parents::{Lifetime, ParentTerms};
use touchline_fx_events::plan::Style;
use touchline_journal::{Journal, Options, Record, Root, WriterLock};
use touchline_testing::Folder;
use touchline_types::{Id, Price, Side};

/// 5 January 2026, 12:00 UTC.
pub const MONDAY_NS: u64 = 1_767_614_400_000_000_000;
/// Name of the bus.
pub const BUS: &str = "engine";

/// Time between two batches.
const STEP_NS: u64 = 1_000_000;

/// A journal, and its folder.
pub struct Written {
    pub folder: Folder,
    pub labels: Labels,
    /// Time of the last batch.
    pub at_ns: u64,
    lock: WriterLock,
    journal: Option<Journal>,
    runs: u64,
    encoder: Encoder,
    next: u64,
}

pub fn id(text: &str) -> Id {
    Id::lossy(text.as_bytes())
}

/// A parent of USD/JPY that buys a million.
pub fn terms(name: &str) -> ParentTerms {
    ParentTerms {
        id: id(name),
        pair: 0,
        side: Side::Bid,
        quantity: 1_000_000,
        limit: None,
        lifetime: Lifetime::Deadline,
        deadline_ms: 1_000,
        urgency: 1,
        style: Style::Best,
        partial: true,
    }
}

/// The arrival of such a parent.
pub fn accepted(number: u32, name: &str) -> Event {
    let terms = terms(name);
    Event::Accepted { number, terms }
}

/// A fill of its whole quantity at 150.02.
pub fn filled(number: u32, order: &str, parent: &str) -> Event {
    Event::Fill(FillLine {
        order: Some(Numbered {
            number,
            id: id(order),
        }),
        parent: Some(id(parent)),
        bank: Some(0),
        exec_id: id("X1"),
        kind: FillKind::Fill,
        pair: 0,
        side: Side::Bid,
        quantity: 1_000_000,
        price: Price(150_020_000_000),
        improve: Some(0),
        hold_ns: Some(1),
        is_late: false,
        settl_date: None,
        currency: None,
        part_of: None,
    })
}

impl Written {
    /// Before the first run: there is no journal.
    pub fn new(name: &str) -> Written {
        let folder = Folder::new(name);
        let root = Root::at(folder.join("bus"));
        let lock = WriterLock::acquire(root.create(BUS).expect("a bus")).expect("its lock");
        let pair = PairLabel {
            symbol: "USD/JPY".to_owned(),
            base: id("USD"),
            precision: 3,
            sizes: vec![1_000_000],
        };
        Written {
            labels: Labels {
                prefix: id("T"),
                account: id("D1"),
                banks: vec!["A".to_owned()],
                pairs: vec![pair],
            },
            at_ns: MONDAY_NS,
            folder,
            lock,
            journal: None,
            runs: 0,
            encoder: Encoder::default(),
            next: 1,
        }
    }

    /// Directory of the journal.
    pub fn directory(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// A run begins.
    pub fn begin(&mut self) {
        self.runs += 1;
        let options = Options::orders("fx");
        let journal = Journal::open(&self.directory(), &self.lock, &options, self.runs);
        self.journal = Some(journal.expect("a journal"));
        let (epoch, labels) = (self.runs, self.labels.clone());
        self.batch(|encoder| encoder.run(epoch, "20260105", &labels, &[]));
    }

    /// The run ends; its segment is closed.
    pub fn end(&mut self) {
        let journal = self.journal.take().expect("a run");
        journal.close(self.at_ns).expect("it closes");
    }

    /// Appends a batch.
    pub fn batch(&mut self, entries: impl FnOnce(&mut Encoder)) {
        self.at_ns += STEP_NS;
        self.encoder.begin(self.at_ns);
        entries(&mut self.encoder);
        assert_eq!(self.encoder.finish(self.next), 1);
        self.next += self.encoder.entries();
        let record = Record {
            stream: records::STREAM,
            kind: records::kind::BATCH,
            time_ns: self.at_ns,
            body: self.encoder.part(0),
        };
        let journal = self.journal.as_mut().expect("a run");
        journal.append(&record).expect("room");
    }

    /// Appends a batch of events without a cause.
    pub fn events(&mut self, events: Vec<Event>, lists: &Batch) {
        let (labels, at_ns) = (self.labels.clone(), self.at_ns + STEP_NS);
        self.batch(|encoder| {
            for event in events {
                encoder.event(&labels, lists, &(at_ns, event), 0);
            }
        });
    }
}
