//! `touchline replay --journal`: tapes through the same outputs as captures.

mod clocks;
mod play;

use super::{Arguments, Writers};
use crate::format::counted;
use crate::output::{Failure, notice};
use crate::record::Prices;
use crate::series::Series;
use crate::source::{before_place, no_bus};
use crate::tops::Tops;
use clocks::{Clocks, HostTime};
use play::Play;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchline_gateway::replay::{Pace, Speed};
use touchline_instruments::KnownDefinitions;
use touchline_tape::{Error, Reader, Taped};

/// A tape, its player, and the time of its next item if others are played with it.
struct Source<'a> {
    path: &'a Path,
    reader: Reader,
    play: Play<'a>,
    next_ns: Option<u64>,
    has_ended: bool,
}

/// Runs the command on tapes.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    refuse_settings_of_captures(arguments)?;
    let mut outputs = super::Outputs::open(arguments)?;
    let known = super::known::for_tape(&arguments.definitions)?;
    let prices = Prices::displayed(arguments.display);
    let tops = outputs.tops.take().map(|output| Tops::new(output, prices));
    let first: Writers = (tops, outputs.series.take());
    let mut sources = Vec::new();
    for path in &arguments.journal {
        let beside = (
            first.0.as_ref().map(Tops::beside),
            first.1.as_ref().map(Series::beside),
        );
        sources.push(Source::open(arguments, &known, path, beside)?);
    }
    // The writers of the tapes are the last ones of the outputs.
    drop(first);
    let started = Instant::now();
    let mut pace = arguments.pace();
    let mut clocks = Clocks::default();
    let is_in_time = sources.len() > 1 || arguments.speed != Speed::Max;
    while let Some(number) = next(&mut sources, is_in_time)? {
        if let Some(next_ns) = sources[number].next_ns.filter(|ns| *ns > 0) {
            wait(&mut pace, next_ns, &mut sources)?;
        }
        clocks.note(number, sources.iter().map(Source::host_time));
        sources[number].step()?;
    }
    let elapsed = started.elapsed();
    for source in &sources {
        source.check(arguments)?;
    }
    let lateness = pace.into_lateness();
    if !arguments.quiet {
        let mut text: String = sources
            .iter()
            .map(|source| source.summary(elapsed))
            .collect();
        text += &clocks.summary(
            sources
                .iter()
                .map(|source| (source.path, source.host_time())),
        );
        if let Some(lateness) = &lateness {
            let _ = writeln!(text, "{lateness}");
        }
        arguments.summarise(&text)?;
    }
    finish(sources, outputs, prices)?;
    arguments.check_late(lateness.as_ref())
}

/// The tape with the next item: the earliest one, and of equal times the first on the command line.
fn next(sources: &mut [Source<'_>], is_in_time: bool) -> Result<Option<usize>, Failure> {
    if !is_in_time {
        return Ok(sources.iter().position(|source| !source.has_ended));
    }
    for source in sources.iter_mut().filter(|source| !source.has_ended) {
        if source.next_ns.is_none() {
            source.next_ns = source.reader.next_ns().map_err(failed)?;
            source.has_ended = source.next_ns.is_none();
        }
    }
    let open = (0..).zip(sources).filter(|(_, source)| !source.has_ended);
    Ok(open
        .min_by_key(|(number, source)| (source.next_ns, *number))
        .map(|(number, _)| number))
}

fn wait(pace: &mut Pace, next_ns: u64, sources: &mut [Source<'_>]) -> Result<(), Failure> {
    pace.wait_until(next_ns, || {
        sources
            .iter_mut()
            .try_for_each(|source| source.play.check())
    })
}

fn finish(
    sources: Vec<Source<'_>>,
    mut outputs: super::Outputs,
    prices: Prices,
) -> Result<(), Failure> {
    for Source { play, .. } in &sources {
        if let Some(output) = &mut outputs.books {
            play.write_books(prices, output)?;
        }
        if let Some(output) = &mut outputs.orders {
            play.write_orders(prices, output)?;
        }
    }
    outputs.finish(sources.into_iter().map(|source| source.play.writers))
}

/// Settings that a tape does not have.
fn refuse_settings_of_captures(arguments: &Arguments) -> Result<(), Failure> {
    let given = [
        ("--config", arguments.of_channel.config.is_some()),
        ("--config-xml", arguments.of_channel.config_xml.is_some()),
        ("--pcap", !arguments.pcap.is_empty()),
        ("--print", arguments.print),
        ("--join", arguments.join.is_some()),
        ("--wait-ms", arguments.wait_ms.is_some()),
        ("--compare-copies", arguments.compare_copies),
        ("--print-config", arguments.print_config),
    ];
    if let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!(
            "{name} is for captures; a tape has what its bus published: leave out {name}, or --journal"
        )));
    }
    let mut tapes = arguments.journal.iter().enumerate();
    if let Some((_, twice)) = tapes.find(|(at, tape)| arguments.journal[..*at].contains(tape)) {
        return Err(Failure::usage(format!(
            "{}: given twice with --journal; give each tape once",
            twice.display()
        )));
    }
    match arguments.bus.is_some() && arguments.journal.len() > 1 {
        true => Err(Failure::usage(
            "--bus names one bus, and several tapes are played: leave it out, each is published under its own name",
        )),
        false => Ok(()),
    }
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Journal(error) => Failure::run(error),
        other => Failure::run(other),
    }
}

impl<'a> Source<'a> {
    fn open(
        arguments: &'a Arguments,
        known: &Arc<KnownDefinitions>,
        path: &'a Path,
        writers: Writers,
    ) -> Result<Source<'a>, Failure> {
        let options = arguments.of_tape.options(known.clone())?;
        let mut reader = Reader::open_with(path, options).map_err(failed)?;
        if reader.unindexed() > 0 {
            notice(format_args!(
                "warning: {}: {} without an index, or with a wrong one, read as a whole: `touchline journal index` writes it",
                path.display(),
                counted(reader.unindexed(), "segment")
            ));
        }
        let begun = reader.begin().map_err(failed)?.cloned();
        let mut play = Play::new(arguments, writers);
        play.begin(&begun.ok_or_else(|| no_bus(arguments.of_tape.tape_bus.as_deref(), path))?)?;
        Ok(Source {
            path,
            reader,
            play,
            next_ns: None,
            has_ended: false,
        })
    }

    /// Plays the next item.
    fn step(&mut self) -> Result<(), Failure> {
        let Source { reader, play, .. } = self;
        self.next_ns = None;
        let polled = reader.poll(|item| play.item(&item));
        if std::mem::take(&mut play.is_restarted)
            && let Some(publication) = reader.publication()
        {
            play.begin(publication)?;
        }
        match polled.map_err(failed)? {
            Taped::Given(()) => {}
            // Once a record, and not with each message: it asks the system.
            Taped::Passed => play.check()?,
            Taped::Nothing | Taped::End => self.has_ended = true,
        }
        match play.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Refuses a place that the tape does not have, and instruments that it does not have.
    fn check(&self, arguments: &Arguments) -> Result<(), Failure> {
        let path = self.path.display();
        if self.reader.is_before_place() {
            return Err(before_place(self.path));
        }
        match !arguments.of_tape.instrument.is_empty() && self.play.instruments() == 0 {
            true => Err(Failure::run(format!(
                "{path}: no instrument of the tape is {}: give a symbol, a pattern with *, or a security id",
                arguments.of_tape.instrument.join(" or ")
            ))),
            false => Ok(()),
        }
    }

    /// Time of the next item, by the clock of a host.
    fn host_time(&self) -> HostTime {
        let publication = self.reader.publication();
        HostTime {
            next_ns: self.next_ns,
            boot: publication.map_or(0, |publication| publication.boot),
            clock: self.reader.clock().copied(),
        }
    }

    fn summary(&self, elapsed: Duration) -> String {
        let mut text = String::new();
        let (gaps, lost) = self.reader.gaps();
        let publication = self.reader.publication();
        let bus = publication.map_or("", |publication| &publication.bus);
        let _ = writeln!(
            text,
            "tape of bus {bus}: {} of {}, {:.3} s",
            counted(self.play.messages, "update"),
            counted(self.play.instruments(), "instrument"),
            elapsed.as_secs_f64()
        );
        let _ = writeln!(
            text,
            "{}, {} lost, {} without a state before them",
            counted(gaps, "gap"),
            counted(lost, "message"),
            counted(self.reader.without_state(), "message")
        );
        text
    }
}
