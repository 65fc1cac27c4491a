use super::*;
use touchline_fx_events::encoding::Encoder;
use touchline_fx_events::event::{Answer, Batch, Event, Numbered};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::parents::{Lifetime, ParentTerms, WaitReason};
use touchline_fx_events::plan::Style;
use touchline_fx_events::{Labels, command};
use touchline_journal::{Journal, Options, Record, Root, WriterLock};
use touchline_testing::Folder;
use touchline_types::{Id, Side};

const AT_NS: u64 = 1_767_614_400_000_000_000;

fn id(text: &str) -> Id {
    Id::lossy(text.as_bytes())
}

/// A journal while it is written.
struct Written {
    folder: Folder,
    journal: Journal,
    labels: Labels,
    encoder: Encoder,
    next: u64,
}

impl Written {
    fn new() -> Written {
        let folder = Folder::new("explain");
        let root = Root::at(folder.join("bus"));
        let lock = WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock");
        let options = Options::orders("fx");
        let journal = Journal::open(&folder.join("journal"), &lock, &options, 1);
        let pair = PairLabel {
            symbol: "USD/JPY".to_owned(),
            base: id("USD"),
            precision: 3,
            sizes: vec![1_000_000],
        };
        let labels = Labels {
            prefix: id("T"),
            account: id("D1"),
            banks: vec!["A".to_owned()],
            pairs: vec![pair],
        };
        let mut written = Written {
            folder,
            journal: journal.expect("a journal"),
            labels: labels.clone(),
            encoder: Encoder::default(),
            next: 1,
        };
        written.batch(|encoder| encoder.run(1, "20260105", &labels, &[]));
        written
    }

    fn batch(&mut self, entries: impl FnOnce(&mut Encoder)) {
        let at_ns = AT_NS + self.next;
        self.encoder.begin(at_ns);
        entries(&mut self.encoder);
        assert_eq!(self.encoder.finish(self.next), 1);
        self.next += self.encoder.entries();
        let record = Record {
            stream: records::STREAM,
            kind: records::kind::BATCH,
            time_ns: at_ns,
            body: self.encoder.part(0),
        };
        self.journal.append(&record).expect("room");
    }

    /// A batch of events, and the command that it follows from with its answer.
    fn events(&mut self, command: Option<(u64, &str)>, events: Vec<Event>, lists: &Batch) {
        let (at_ns, labels) = (AT_NS + self.next, self.labels.clone());
        self.batch(|encoder| {
            if let Some((request, parent)) = command {
                let cancel = command::Command::Cancel { id: id(parent) };
                encoder.command(request, "desk", "ann", Ok(&cancel));
            }
            for event in events {
                encoder.event(&labels, lists, &(at_ns, event), 1);
            }
            if let Some((request, _)) = command {
                encoder.answer(&Answer {
                    client: "desk",
                    request,
                    answer: "done",
                    reason: None,
                    cause: None,
                });
            }
        });
    }

    /// The story of a parent as lines of JSON.
    fn story(self, parent: &str) -> String {
        self.journal.close(2).expect("it closes");
        let Ok(story) = read(&self.folder.join("journal"), parent) else {
            panic!("{parent} is in the journal");
        };
        let mut text = String::new();
        story.steps().iter().for_each(|step| step.json(&mut text));
        text
    }
}

fn terms(name: &str) -> ParentTerms {
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

fn accepted(number: u32, name: &str) -> Event {
    let terms = terms(name);
    Event::Accepted { number, terms }
}

fn waits(number: u32, name: &str) -> Event {
    let parent = Numbered {
        number,
        id: id(name),
    };
    let reason = WaitReason::NoPrice;
    Event::Waits { parent, reason }
}

/// What follows from a quote or from the time has no cause in the journal: neither the command of another parent nor a message of a bank
/// that came before it is shown as its cause. Nor is an answer to a repeated number shown as that to the command.
#[test]
fn an_input_is_the_cause_of_its_own_batch_alone() {
    let mut written = Written::new();
    let none = Batch::default();
    written.events(Some((1, "P17")), vec![accepted(0, "P17")], &none);
    written.events(Some((1, "other")), Vec::new(), &none);
    written.events(Some((2, "P18")), vec![accepted(1, "P18")], &none);
    written.events(None, vec![waits(0, "P17")], &none);
    written.batch(|encoder| encoder.received(0, b"35=8\x0111=T-P18-1\x01"));
    written.events(None, vec![waits(0, "P17")], &none);
    let story = written.story("P17");
    let count = |text: &str| story.matches(text).count();
    assert_eq!(count("\"step\":\"waits\""), 2, "{story}");
    assert_eq!(count("\"step\":\"command\""), 1, "{story}");
    assert_eq!(count("\"step\":\"answer\""), 1, "{story}");
    assert_eq!(count("P18"), 0, "{story}");
}
