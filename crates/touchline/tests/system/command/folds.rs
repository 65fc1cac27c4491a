//! Programs in every language that keep books of their own from the steps of live events: these books equal those of the library.
//!
//! Goal: no program misses or repeats a step, in any session and with any selection of symbols. Method: sessions with every
//! fault and resets, whole and cut, then those of another generator and a recording, are published one after another on one bus;
//! each reader compares at each end of a packet, also its best bid and offer with the first levels of the merged book.

use super::Desk;
use super::best_prices::program_of;
use super::examples::Running;
use crate::sessions::fold::program::Fold;
use crate::sessions::recovery::everything_at_once;
use crate::sessions::seeds;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use touchline_client::{Bus, Connection, Event, Events, Instrument, Next, Quote, Side};
use touchline_lab::capture::write_pcap;
use touchline_lab::cme::{Options, generate};
use touchline_testing::{built, captures, schemas};

/// Symbols of the generated instruments that some readers select.
const SELECTED: [&str; 2] = ["ZQB*", "/ZQ[D-H][0-9]/"];
const BUS: &str = "folds";

/// A reader in this process.
struct Rust {
    bus: Bus,
    fold: Fold,
}

impl Rust {
    fn new(desk: &Desk, symbols: &[&str]) -> Rust {
        let options = Bus::options().directory(desk.path("buses"));
        let options = options.events(Events::TOPS | Events::BOOKS | Events::ORDERS);
        let bus = options.symbols(symbols.iter().copied()).join(BUS);
        Rust {
            bus: bus.expect("the bus is there"),
            fold: Fold::default(),
        }
    }

    /// Reads until the publisher has ended.
    fn read(&mut self, session: &str) {
        loop {
            let Next::Event(event) = self.bus.next_within(Duration::from_secs(60)) else {
                panic!("{session}: its publisher does not end");
            };
            self.fold.event(&self.bus, &event);
            if event.end_of_batch() {
                self.check(session);
            }
            match event {
                Event::Connection(Connection::PublisherGone) => break,
                Event::Connection(Connection::Overrun { .. }) => panic!("{session}: an overrun"),
                _ => {}
            }
        }
        self.check(session);
    }

    /// Within a packet the best prices of an instrument come before its book.
    fn check(&mut self, session: &str) {
        self.fold.check(&self.bus, session);
        for instrument in self.bus.instruments() {
            self.check_best(instrument, session);
        }
    }

    /// The best price is the best of the book, and the first level of the merged one.
    fn check_best(&self, instrument: Instrument, session: &str) {
        let top = self.bus.top(instrument).expect("ours");
        let book = self.bus.book(instrument).expect("ours");
        for (side, best) in [(Side::Bid, top.bid), (Side::Ask, top.ask)] {
            assert_eq!(best, book.best(side), "{session}: {}", book.symbol());
            let Some(Quote {
                price, quantity, ..
            }) = best
            else {
                continue;
            };
            let first = book
                .levels(side)
                .next()
                .map(|level| (level.price, level.quantity));
            assert_eq!(
                first,
                Some((price, quantity)),
                "{session}: {}",
                book.symbol()
            );
        }
    }
}

/// A session to publish: its `config.xml`, channel and capture.
struct Published {
    name: String,
    arguments: String,
}

/// Generated sessions in folders of the desk; some end early, within an event or before the first snapshot.
fn generated(desk: &Desk) -> Vec<Published> {
    let published = seeds(10).map(|seed| {
        let options = Options {
            events: 150,
            channel_resets: 1 + seed as usize % 3,
            ..Options::varied(seed)
        };
        let arrivals = everything_at_once(&generate(&options, seed), seed).arrivals;
        let end = match seed % 3 {
            0 => 20 + seed as usize,
            _ => arrivals.len(),
        };
        let capture = format!("{seed}.pcap");
        write_pcap(&arrivals[..end], &desk.path(&capture)).expect("our folder");
        let join = ["snapshot", "natural"][seed as usize % 2];
        Published {
            name: format!("seed {seed}"),
            arguments: format!(
                "--config-xml config.xml --channel 998 --pcap {capture} --join {join}"
            ),
        }
    });
    published.collect()
}

/// Sessions of another generator and a recorded channel, if they are there.
fn recorded() -> Vec<Published> {
    let mut published = Vec::new();
    let Some(captures) = captures("folded books of captures in every language") else {
        return published;
    };
    for name in [
        "v9-clean", "v9-lossy", "v9-gaps", "v9-late", "v9-all", "v13-gaps",
    ] {
        let folder = captures.join("cme-generated").join(name);
        let [config, capture] = ["config.xml", "session.pcap.gz"].map(|file| folder.join(file));
        published.push(of_captures(name, &config, 999, &capture, "snapshot"));
    }
    if let Some(schemas) = schemas("folded books of a recorded channel in every language") {
        let config = schemas.join("cme/config_PROD_2023-08-14.xml");
        let capture =
            captures.join("cme-mdp3/mdp3-v6_ch340-feedAB_2016-11-12_part1_6000frames.pcap");
        published.push(of_captures(
            "channel 340",
            &config,
            340,
            &capture,
            "natural",
        ));
    }
    published
}

fn of_captures(name: &str, config: &Path, channel: u32, capture: &Path, join: &str) -> Published {
    Published {
        name: name.to_owned(),
        arguments: format!(
            "--config-xml {} --channel {channel} --pcap {} --join {join}",
            config.display(),
            capture.display()
        ),
    }
}

/// The programs in other languages, each with every symbol and with some.
fn programs(desk: &Desk) -> Vec<(String, Command)> {
    let mut programs = Vec::new();
    let compilers = [("C", "cc", "fold.c"), ("C++", "c++", "fold.cpp")];
    for (language, compiler, source) in compilers {
        if let Some(program) = program_of(desk, compiler, source) {
            programs.push((language, vec![program]));
        }
    }
    if let Some(python) = built::python("python-tests", &["numpy", "pytest"]) {
        let program = built::root().join("crates/capi/tests/programs/fold.py");
        programs.push(("Python", vec![python, program]));
    }
    let packages = match programs.iter().any(|(language, _)| *language == "Python") {
        true => built::python_package(&desk.path("packages")),
        false => desk.path("packages"),
    };
    let tests = built::root().join("crates/python/tests");
    let path = std::env::join_paths([packages, tests]).expect("plain names");
    let mut commands = Vec::new();
    for (language, words) in programs {
        for symbols in [&[][..], &SELECTED[..]] {
            let mut command = Command::new(&words[0]);
            command
                .args(&words[1..])
                .arg(BUS)
                .arg(desk.path("buses"))
                .args(symbols)
                .env("PYTHONPATH", &path)
                .env("PYTHONDONTWRITEBYTECODE", "1");
            commands.push((
                format!("{language} with {} symbols", symbols.len()),
                command,
            ));
        }
    }
    commands
}

/// `end checked 3 cleared 2 overruns 0`: the numbers.
fn counts(out: &[String]) -> Option<[u64; 3]> {
    let words: Vec<&str> = out.last()?.strip_prefix("end ")?.split(' ').collect();
    let number = |at: usize| words.get(at)?.parse().ok();
    Some([number(1)?, number(3)?, number(5)?])
}

#[test]
fn folded_books_of_every_language_are_the_products() {
    let desk = Desk::bare("folds");
    let mut sessions = generated(&desk);
    sessions.extend(recorded());
    let publish = |session: &Published| {
        let arguments = &session.arguments;
        desk.run(&format!("replay {arguments} --publish --bus {BUS} --quiet"))
    };
    // The readers join an old bus, whose books are the first ones.
    publish(&sessions[0]).done();
    let mut readers = [Rust::new(&desk, &[]), Rust::new(&desk, &SELECTED)];
    let mut programs = programs(&desk);
    let running: Vec<(&str, Running)> = programs
        .iter_mut()
        .map(|(name, command)| (name.as_str(), Running::of(&desk, command)))
        .collect();
    let gone = |out: &[String]| out.iter().filter(|line| *line == "publisher_gone").count();
    for (number, session) in sessions.iter().enumerate() {
        if number > 0 {
            publish(session);
        }
        readers
            .iter_mut()
            .for_each(|reader| reader.read(&session.name));
        for (name, reader) in &running {
            let what = format!("{name}, {}", session.name);
            reader.wait(&what, |out, err| {
                assert!(err.is_empty(), "{what}: {err:?}");
                let wrong = out.iter().find(|line| line.starts_with("wrong"));
                assert_eq!(wrong, None, "{what}");
                gone(out) > number
            });
        }
    }
    for (reader, least) in readers.iter().zip([1_000, 100]) {
        assert!(reader.fold.checked > least && reader.fold.cleared > least / 10);
    }
    for (name, reader) in running {
        let (out, err) = reader.end("INT");
        let Some([checked, cleared, 0]) = counts(&out) else {
            panic!("{name}: {out:?} {err:?}");
        };
        assert!(checked > 100 && cleared > 20, "{name}: {out:?}");
    }
}
