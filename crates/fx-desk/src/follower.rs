//! Follows an engine without being noticed by it: its entries, none missed and none twice, from the journal and the drop
//! copy.

use crate::follow_error::FollowError;
use crate::records::Reader;
use std::path::{Path, PathBuf};
use touchline_fx_events::encoding::{Entry as Recorded, Malformed, Place};
use touchline_fx_events::lines::{LineKind, lines_of};
use touchline_fx_events::{Batch, Labels};
use touchline_journal::{Entry, Follow};
use touchline_transport::bus::{BusEvent, Polled, Root, Subscription};

/// A reader of the entries of all runs, in order.
pub struct Follower {
    journal: PathBuf,
    /// The journal, read once from its begin on.
    follow: Follow,
    /// The journal was there, and held to its end.
    is_verified: bool,
    root: Root,
    bus: String,
    drop_copy: Option<Subscription<0>>,
    batches: Batches,
    /// The drop copy does not continue the entries that were passed on: the journal is read until it does.
    is_behind: bool,
    /// Last event of the drop copy.
    event: Option<BusEvent>,
}

/// Batches that were passed on.
#[derive(Default)]
struct Batches {
    reader: Reader,
    /// Number of the first entry of the next batch.
    next: u64,
    /// Number of the first entry of the next part.
    continues: u64,
}

/// A message of an engine.
#[derive(Debug)]
pub struct PublishedEntry<'t> {
    /// Names of the run.
    pub labels: &'t Labels,
    /// Time.
    pub at_ns: u64,
    /// The entry.
    pub entry: Recorded<'t>,
    /// Lists of its batch.
    pub batch: &'t Batch,
    /// Whether the journal has the entry. Composites and alarms of the run are in no journal, and other changes by
    /// prices are not if they come too often
    /// ([`Event::is_beside_journal`](touchline_fx_events::event::Event::is_beside_journal)). If the journal lacks any
    /// other entry, the journal failed.
    pub is_journaled: bool,
}

impl PublishedEntry<'_> {
    /// Gives its lines to `each`, which are JSON objects; `line` is the memory for one.
    pub fn lines(&self, line: &mut String, each: impl FnMut(LineKind, &str)) {
        lines_of(
            (self.labels, self.batch),
            self.at_ns,
            &self.entry,
            line,
            each,
        );
    }
}

/// Messages of the drop copy in one poll.
const ROUND_MAX: usize = 65_536;

/// Receives the messages of an engine.
pub type Each<'e> = dyn FnMut(&PublishedEntry<'_>) + 'e;

impl Batches {
    /// Whether a part follows the entries already passed on. A part that is not in the journal (`first` 0) is always
    /// passed on.
    fn is_next(&self, part: &Place) -> bool {
        let expected = match part.is_first {
            true => self.next,
            false => self.continues,
        };
        part.first == 0 || part.first == expected
    }

    /// Passes on the entries of a message of the drop copy, if it continues those that were passed on. Returns the number of its entries.
    fn read_message(
        &mut self,
        bytes: &[u8],
        part: &Place,
        each: &mut Each<'_>,
    ) -> Result<Option<usize>, Malformed> {
        if !self.is_next(part) {
            return Ok(None);
        }
        self.reader.decoder.read(bytes, published(part, each))?;
        Ok(Some(self.passed_on(part)))
    }

    /// Passes on the entries of a journal record that did not come over the drop copy before. Returns their number.
    fn read_record(
        &mut self,
        journal: &Path,
        entry: &Entry<'_>,
        each: &mut Each<'_>,
    ) -> Result<usize, FollowError> {
        let Some(bytes) = self.reader.batch(journal, entry)? else {
            return Ok(0);
        };
        let part = Place::of(bytes).unwrap_or_default();
        if !self.is_next(&part) && part.first < self.next {
            return Ok(0);
        }
        let read = published(&part, each);
        self.reader.read(journal, entry, bytes, read)?;
        Ok(self.passed_on(&part))
    }

    fn passed_on(&mut self, part: &Place) -> usize {
        let before = self.next;
        if part.first > 0 {
            self.continues = part.end;
            self.next = if part.is_last { part.end } else { before };
        }
        (self.next - before) as usize
    }
}

/// Gives each entry of a batch to `each`.
pub(crate) fn published<'e>(
    part: &Place,
    each: &'e mut Each<'_>,
) -> impl FnMut(&Labels, u64, Recorded<'_>, &Batch) + 'e {
    let is_journaled = part.first > 0;
    move |labels, at_ns, entry, batch| {
        each(&PublishedEntry {
            labels,
            at_ns,
            entry,
            batch,
            is_journaled,
        });
    }
}

impl Follower {
    /// A follower of the engine with this journal and bus; neither must exist yet.
    pub fn new(journal: &Path, root: &Root, bus: &str) -> Follower {
        Follower {
            journal: journal.to_owned(),
            follow: Follow::new(journal),
            is_verified: false,
            root: root.clone(),
            bus: bus.to_owned(),
            drop_copy: None,
            batches: Batches {
                next: 1,
                ..Batches::default()
            },
            is_behind: true,
            event: None,
        }
    }

    /// Event of the drop copy in the last poll; entries that it lost come from the journal.
    pub fn take_event(&mut self) -> Option<BusEvent> {
        self.event.take()
    }

    /// Id of the journal; `None` before its first segment was read.
    pub fn journal(&self) -> Option<[u8; 16]> {
        self.follow.journal()
    }

    /// Whether an engine publishes.
    pub fn has_engine(&self) -> bool {
        let publisher = self.drop_copy.as_ref().map(Subscription::publisher);
        matches!(publisher, Some(Ok(Some(_))))
    }

    /// Passes on the new entries of the journal; only these may be added up. Returns their number.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn poll(&mut self, each: &mut Each<'_>) -> Result<usize, FollowError> {
        // mutant: execution: a fill that the journal refused is counted, and once more when the next run tells it
        self.poll_live(&mut |published| {
            if published.is_journaled {
                each(published);
            }
        })
    }

    /// [`Follower::poll`], as lines.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn poll_lines(
        &mut self,
        mut each: impl FnMut(LineKind, &str),
    ) -> Result<usize, FollowError> {
        let mut line = String::new();
        self.poll(&mut |published| published.lines(&mut line, &mut each))
    }

    /// Passes on the new entries of the journal, as well as composites and the entries that an engine publishes after
    /// its journal failed, as they are published. Returns the number of journaled entries.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn poll_live(&mut self, each: &mut Each<'_>) -> Result<usize, FollowError> {
        if self.drop_copy.is_none() {
            self.drop_copy = Subscription::join(&self.root, &self.bus, [], false).ok();
            self.is_behind = true;
        }
        // Older entries come first: a screen that joins after the journal failed shows the unjournaled entries on top
        // of them.
        let mut count = match self.is_behind || self.follow.journal().is_none() {
            true => self.read_journal(each)?,
            false => 0,
        };
        count += self.read_drop_copy(each);
        match self.is_behind {
            true => Ok(count + self.read_journal(each)?),
            false => Ok(count),
        }
    }

    fn read_drop_copy(&mut self, each: &mut Each<'_>) -> usize {
        let mut count = 0;
        let Some(drop_copy) = &mut self.drop_copy else {
            return count;
        };
        let batches = &mut self.batches;
        // Later messages are left to the next poll, so that a poll ends while entries arrive.
        for _ in 0..ROUND_MAX {
            let polled = drop_copy.poll(|message| {
                let part = Place::of(message.bytes)?;
                let read = batches.read_message(message.bytes, &part, each);
                Some((part, read))
            });
            match polled {
                // An entry that the journal does not have may use a name that was not read.
                Ok(Polled::Given(Some((part, _)))) if part.first == 0 => {}
                Ok(Polled::Given(Some((part, read)))) => {
                    let is_read = matches!(read, Ok(Some(_)));
                    count += read.ok().flatten().unwrap_or(0);
                    // Lost: the journal has it, in its files a moment later.
                    self.is_behind = match part.end {
                        end if is_read || end == batches.next => false,
                        end => self.is_behind || end > batches.next,
                    };
                }
                Ok(Polled::Given(None) | Polled::Passed(_)) => {}
                Ok(Polled::Nothing) => return count,
                Err(event) => {
                    self.event = Some(event);
                    self.is_behind = true;
                    return count;
                }
            }
        }
        count
    }

    fn read_journal(&mut self, each: &mut Each<'_>) -> Result<usize, FollowError> {
        if !self.journal.exists() {
            return Ok(0);
        }
        if !self.is_verified {
            // A follower waits behind damage at the end; only the walk of a reader knows it.
            touchline_journal::read(&self.journal, false, |_| {})?;
            self.is_verified = true;
        }
        let mut outcome = Ok(0);
        let (journal, batches) = (&self.journal, &mut self.batches);
        self.follow.poll(u64::MAX, usize::MAX, |entry| {
            let Ok(count) = &mut outcome else { return };
            match batches.read_record(journal, entry, each) {
                Ok(entries) => *count += entries,
                Err(error) => outcome = Err(error),
            }
        })?;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drop_copy::DropCopy;
    use crate::records;
    use std::os::unix::fs::FileExt;
    use touchline_fx_events::encoding::Encoder;
    use touchline_fx_events::event::Answer;
    use touchline_journal::format::segment_name;
    use touchline_journal::{Error, Journal, Options};
    use touchline_testing::{Folder, PATIENCE, until};

    /// An engine's journal and drop copy.
    struct Engine {
        folder: Folder,
        journal: Option<Journal>,
        drop_copy: DropCopy,
    }

    impl Engine {
        fn open(name: &str) -> Engine {
            Engine::with_ring(name, 1 << 20)
        }

        fn with_ring(name: &str, ring_bytes: u64) -> Engine {
            let folder = Folder::new(name);
            let root = Root::at(folder.join("bus"));
            let drop_copy = DropCopy::open(&root, "engine", ring_bytes).expect("a bus");
            let options = Options {
                segment_bytes: 64 << 10,
                ring_bytes: 64 << 10,
                write_zeros: false,
                ..Options::orders("test")
            };
            let directory = folder.join("journal");
            let journal = Journal::open(&directory, drop_copy.lock(), &options, 1);
            Engine {
                journal: Some(journal.expect("a journal")),
                folder,
                drop_copy,
            }
        }

        fn follower(&self) -> Follower {
            let root = Root::at(self.folder.join("bus"));
            Follower::new(&self.folder.join("journal"), &root, "engine")
        }

        fn append(&mut self, number: u64) {
            let record = touchline_journal::Record {
                stream: records::STREAM,
                kind: records::kind::BATCH,
                time_ns: number,
                body: &answer(number, number),
            };
            let journal = self.journal.as_mut().expect("it is open");
            journal.append(&record).expect("room");
        }

        fn publish(&mut self, number: u64) {
            self.drop_copy.publish(&answer(number, number));
        }
    }

    /// A batch with the answer to a request, under this number.
    fn answer(request: u64, number: u64) -> Vec<u8> {
        let mut batch = Encoder::default();
        batch.begin(request);
        batch.answer(&Answer {
            client: "desk",
            request,
            answer: "done",
            reason: None,
            cause: None,
        });
        assert_eq!(batch.finish(number), 1);
        batch.part(0).to_vec()
    }

    /// The request of an answer.
    fn request(published: &PublishedEntry<'_>) -> u64 {
        let Recorded::Answer(answer) = &published.entry else {
            panic!("{published:?}");
        };
        answer.request
    }

    fn poll(follower: &mut Follower, found: &mut Vec<u64>) {
        let mut each = |published: &PublishedEntry<'_>| found.push(request(published));
        follower.poll(&mut each).expect("a journal");
    }

    /// Polls until the entry of this number was passed on.
    fn read_until(follower: &mut Follower, found: &mut Vec<u64>, last: u64) {
        until(&format!("entry {last}"), PATIENCE, || {
            poll(follower, found);
            match found.last() {
                Some(found) if *found == last => Ok(()),
                _ => Err(found.clone()),
            }
        });
    }

    /// Each entry comes once and in order: entries from before the follower joined, entries of the drop copy, and
    /// entries that the drop copy lost, also if the files of the journal get them later than the drop copy reports
    /// them, and no further entry follows.
    #[test]
    fn a_line_that_the_drop_copy_lost_comes_from_the_journal() {
        let mut engine = Engine::open("lost");
        let (mut follower, mut found) = (engine.follower(), Vec::new());
        for number in 1..=2 {
            engine.append(number);
            engine.publish(number);
        }
        read_until(&mut follower, &mut found, 2);
        engine.append(3);
        engine.publish(3);
        read_until(&mut follower, &mut found, 3);
        // The drop copy lacks entry 4, and the files have neither entry when entry 5 is noticed.
        engine.publish(5);
        poll(&mut follower, &mut found);
        poll(&mut follower, &mut found);
        assert_eq!(found, [1, 2, 3]);
        engine.append(4);
        engine.append(5);
        read_until(&mut follower, &mut found, 5);
        // The drop copy continues the entries: the journal is not needed.
        engine.publish(6);
        poll(&mut follower, &mut found);
        engine.publish(7);
        poll(&mut follower, &mut found);
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7]);
        assert!(!follower.is_behind);
        engine.append(6);
        engine.append(7);
        engine.append(8);
        engine.publish(9);
        engine.append(9);
        read_until(&mut follower, &mut found, 9);
        assert_eq!(found, (1..=9).collect::<Vec<_>>());
        let mut late = Vec::new();
        read_until(&mut engine.follower(), &mut late, 9);
        assert_eq!(late, found);
    }

    /// A poll ends although lines keep arriving: lines beyond its bound are left to the next poll, and none is lost.
    #[test]
    fn a_poll_reads_at_most_so_many_messages() {
        const MORE: usize = 10;
        let mut engine = Engine::with_ring("bound", 16 << 20);
        let mut follower = engine.follower();
        let mut shown: Vec<u64> = Vec::new();
        let mut poll = |follower: &mut Follower| {
            let before = shown.len();
            let mut each = |published: &PublishedEntry<'_>| shown.push(request(published));
            follower.poll_live(&mut each).expect("a journal");
            shown.len() - before
        };
        assert_eq!(poll(&mut follower), 0, "it has joined");
        let all = (ROUND_MAX + MORE) as u64;
        for number in 0..all {
            engine.drop_copy.publish(&answer(number, 0));
        }
        assert_eq!(poll(&mut follower), ROUND_MAX);
        assert_eq!(poll(&mut follower), MORE);
        assert_eq!(shown, (0..all).collect::<Vec<_>>());
    }

    /// An entry that an engine publishes after its journal failed is passed on for a screen, but not with the lines
    /// that are added up: the next run publishes it again.
    #[test]
    fn a_line_that_the_journal_refused_is_not_counted() {
        let mut engine = Engine::open("refused");
        let (mut follower, mut screen, mut found) =
            (engine.follower(), engine.follower(), Vec::new());
        engine.append(1);
        engine.publish(1);
        read_until(&mut follower, &mut found, 1);
        let refused = |engine: &mut Engine| {
            engine.drop_copy.publish(&answer(2, 0));
        };
        refused(&mut engine);
        poll(&mut follower, &mut found);
        assert_eq!(found, [1]);
        let mut shown = Vec::new();
        let mut show = |published: &PublishedEntry<'_>| {
            shown.push((request(published), published.is_journaled))
        };
        until("a line in the files of the journal", PATIENCE, || {
            screen.poll_live(&mut show).expect("a journal") > 0
        });
        assert_eq!(shown, [(1, true), (2, false)]);
        // The next run has the same number for it.
        engine.append(2);
        engine.publish(2);
        read_until(&mut follower, &mut found, 2);
        assert_eq!(found, [1, 2]);
    }

    /// A journal that is damaged before its end is an error, and no line of it is passed on.
    #[test]
    fn a_damaged_journal_is_an_error() {
        let mut engine = Engine::open("damaged");
        // The last one states that the disk had those before.
        for number in 1..=9 {
            engine.append(number);
            let journal = engine.journal.as_ref().expect("it is open");
            until("the disk", PATIENCE, || {
                journal.durable() >= journal.position()
            });
        }
        engine.journal = None;
        let directory = engine.folder.join("journal");
        let mut position = 0;
        touchline_journal::read(&directory, false, |entry| {
            if entry.head.time_ns == 4 && entry.head.stream == records::STREAM {
                position = entry.position.unwrap_or(0);
            }
        })
        .expect("a journal");
        assert!(position > 0, "the fourth line has a place");
        let file = directory.join(segment_name(1));
        let file = std::fs::OpenOptions::new().write(true).open(file);
        let file = file.expect("the segment");
        file.write_all_at(&[0xff; 8], position + 40).expect("room");
        let mut lines = 0;
        let polled = engine.follower().poll(&mut |_| lines += 1);
        assert!(
            matches!(polled, Err(FollowError::Journal(Error::Damaged { .. }))),
            "{polled:?}"
        );
        assert_eq!(lines, 0);
    }
}
