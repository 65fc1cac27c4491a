//! One scenario for all languages: a file of steps, and of the lines that a reader says after them.

use crate::compile::folder;
use crate::publisher::{BUS, Kind, Process};
use crate::reader::{Reader, Running, readers};
use crate::recorder::{self, Recorder, tape_of};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const SCENARIO: &str = include_str!("scenario.txt");
/// Another user, for a reader that must be refused.
const STRANGER: u32 = 64_999;

#[test]
fn every_language_says_the_same() {
    let folder = folder();
    let languages = readers(&folder);
    std::thread::scope(|scope| {
        for (number, reader) in languages.iter().enumerate() {
            let scenario = Scenario::new(reader, folder.join(number.to_string()));
            scope.spawn(|| scenario.play());
        }
    });
}

/// The scenario in one language.
struct Scenario<'a> {
    reader: &'a Reader,
    directory: PathBuf,
    publisher: Option<Process>,
    recorder: Option<Recorder>,
    running: Option<Running>,
}

impl<'a> Scenario<'a> {
    fn new(reader: &'a Reader, directory: PathBuf) -> Scenario<'a> {
        Scenario {
            reader,
            directory,
            publisher: None,
            recorder: None,
            running: None,
        }
    }

    fn play(mut self) {
        for (at, line) in SCENARIO.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] | ["#", ..] => {}
                [">", ..] => self.expect(at + 1, &line[2..], false),
                [">*", ..] => self.expect(at + 1, &line[3..], true),
                [">#", from, to, words @ ..] => {
                    for number in number(from)..=number(to) {
                        let line = words.join(" ").replace('#', &number.to_string());
                        self.expect(at + 1, &line, false);
                    }
                }
                step => self.step(step),
            }
        }
        self.end_reader();
    }

    fn step(&mut self, words: &[&str]) {
        match words {
            ["publisher"] => self.publisher = Some(Process::start(&self.directory)),
            ["publisher", "lossless"] => {
                self.publisher = Some(Process::start_as(&self.directory, Kind::Lossless));
            }
            ["publisher", signal] => self.publisher().signal(signal),
            ["reader"] => self.start_reader("", None),
            ["stranger", mode @ ..] => self.stranger(mode.first().unwrap_or(&"")),
            ["record"] => self.recorder = Some(Recorder::start(&self.directory, true)),
            ["record", "nothing"] => {
                self.recorder = Some(Recorder::without_bus(&self.directory));
            }
            ["record", "end"] => self.recorder.take().expect("it runs").end(),
            ["tape", word] => recorder::change(&tape_of(&self.directory), word),
            ["reader", signal] if signal.starts_with('-') => self.running().signal(signal),
            ["reader", mode] => self.start_reader(mode, None),
            ["ended"] => {
                let status = self.running.take().expect("it runs").end();
                assert!(status.success(), "{}: {status}", self.reader.language);
            }
            ["format", layout] => self.format(number(layout)),
            words => self.publisher().step(words),
        }
    }

    /// A reader as another user, whom the directory of the buses, or the tape, is closed to.
    fn stranger(&mut self, mode: &str) {
        if self.is_silent("error not_yours") {
            return;
        }
        if !is_root() {
            touchline_testing::skip("a reader that is another user: not root");
            return;
        }
        self.start_reader(mode, Some(STRANGER));
    }

    fn start_reader(&mut self, mode: &str, user: Option<u32>) {
        self.end_reader();
        self.running = Some(self.reader.start(&self.directory, mode, user));
    }

    fn end_reader(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
    }

    fn publisher(&mut self) -> &mut Process {
        self.publisher
            .as_mut()
            .expect("a step before has started it")
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("a step before has started it")
    }

    fn expect(&self, number: usize, expected: &str, is_later: bool) {
        if self.is_silent(expected) {
            return;
        }
        let expected = expected.replace("DIRECTORY", &self.directory.display().to_string());
        let mut before = Vec::new();
        loop {
            let Some(line) = self.running().line() else {
                panic!(
                    "{}, line {number} of the scenario: {expected} did not come, but {before:#?}",
                    self.reader.language
                );
            };
            // Sentences of errors that name a user or a version are compared up to the kind.
            if line == expected || (is_later && line.starts_with(&expected)) {
                return;
            }
            assert!(
                is_later,
                "{}, line {number} of the scenario: {expected}, but the reader says {line}",
                self.reader.language
            );
            before.push(line);
        }
    }

    fn is_silent(&self, line: &str) -> bool {
        let mut silent = self.reader.silent.iter();
        silent.any(|start| line.starts_with(start))
    }

    /// The second word of a ring is the number of its layout.
    fn format(&self, number: u64) {
        let ring = self.directory.join(BUS).join("ring");
        let file = File::options().write(true).open(ring).expect("ours");
        file.write_all_at(&number.to_le_bytes(), 8).expect("a file");
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self")
        .metadata()
        .is_ok_and(|me| me.uid() == 0)
}
