//! A tape as the source.

use super::{Arguments, failed, say_notices, say_written};
use crate::interrupt::Interrupt;
use crate::output::{Failure, notice};
use crate::replay::known;
use crate::source::{before_place, no_bus};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;
use touchline_export::Error;
use touchline_export::tape::{Step, export};
use touchline_journal::cut_below;
use touchline_tape::{Holder, Reader, TapePlace};

/// Longest wait of `--follow` for a recorder that starts again, as systemd starts it.
const RECORDER_WAIT: Duration = Duration::from_secs(5);
/// Records between two looks at the progress.
const RECORDS_BETWEEN: u64 = 64;

/// Exports a tape.
pub fn run(arguments: &Arguments, directory: &Path) -> Result<(), Failure> {
    let part = &arguments.of_tape;
    let holder = arguments.follow.then(|| holder(arguments, directory));
    let holder = holder.transpose()?;
    let exported = holder
        .as_ref()
        .map_or(Ok(None), |holder| exported(holder, directory))?;
    let mut kept = exported.unwrap_or(0);
    let mut options = part.options(known::for_tape(&arguments.definitions)?)?;
    options.from = options.from.or(exported.map(TapePlace::Position));
    options.recorder_wait = RECORDER_WAIT;
    let mut reader = Reader::open_with(directory, options).map_err(Failure::run)?;
    if reader.begin().map_err(Failure::run)?.is_none() {
        return Err(no_bus(part.tape_bus.as_deref(), directory));
    }
    if let Some(holder) = holder.as_ref().filter(|_| exported.is_none()) {
        keep(holder, reader.segment_position()).map_err(failed)?;
    }
    let interrupt = Interrupt::catch()?;
    let mut exporter = arguments.exporter()?;
    let bar = bar(!arguments.quiet);
    let (mut records, mut is_ended) = (0_u64, false);
    let outcome = export(
        &mut reader,
        &mut exporter,
        arguments.follow,
        |step| match step {
            Step::Record(position, exporter) => {
                records += 1;
                if records.is_multiple_of(RECORDS_BETWEEN) || arguments.follow {
                    bar.set_position(position);
                    say_notices(exporter);
                }
                is_ended = interrupt.is_asked();
                Ok(match is_ended {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            }
            Step::Unit(written, position) => {
                bar.suspend(|| say_written(arguments, &written));
                // The state before the first new record is of an earlier position.
                if let Some(holder) = &holder
                    && position > kept
                {
                    kept = position;
                    keep(holder, position)?;
                }
                Ok(ControlFlow::Continue(()))
            }
        },
    );
    bar.finish_and_clear();
    say_notices(&mut exporter);
    let origin = outcome.map_err(failed)?;
    if is_ended {
        return stopped(arguments);
    }
    if reader.is_before_place() && !arguments.follow {
        return Err(before_place(directory));
    }
    arguments.finish(exporter, &origin)?;
    // A recorder that was killed goes on in the last segment: the next run writes the file of that segment again, as a whole.
    let end = reader.segment_position();
    match &holder {
        Some(holder) if end > kept => keep(holder, end).map_err(failed),
        _ => Ok(()),
    }
}

/// An export that was asked to end: the files of complete segments are there, and no others.
fn stopped(arguments: &Arguments) -> Result<(), Failure> {
    match arguments.follow {
        true => Ok(()),
        false => Err(Failure::run(
            "interrupted: files that were not complete are removed; run the command again",
        )),
    }
}

/// The position up to which a bus of the tape is exported: segments behind it are kept.
fn holder(arguments: &Arguments, directory: &Path) -> Result<Holder, Failure> {
    if let Some(name) = &arguments.holder {
        return Ok(Holder::new(directory, name));
    }
    let bus = arguments.of_tape.tape_bus.as_deref();
    let mut reader = Reader::open(directory, bus).map_err(Failure::run)?;
    match reader.begin().map_err(Failure::run)? {
        Some(publication) => {
            let name = format!("export-{}", publication.bus);
            Ok(Holder::new(directory, &name))
        }
        None => Err(no_bus(bus, directory)),
    }
}

/// The position in a holder; `None` if there is none so far. A crash of the host may have cut the tape below it: then the holder goes back to the
/// begin of that segment.
fn exported(holder: &Holder, directory: &Path) -> Result<Option<u64>, Failure> {
    let Some(position) = position(holder)? else {
        return Ok(None);
    };
    let Some(begin) = cut_below(directory, position).map_err(Failure::run)? else {
        return Ok(Some(position));
    };
    notice(format_args!(
        "warning: {}: the tape lost records below position {position} since they were exported; files are written again from position {begin} on",
        holder.path().display()
    ));
    keep(holder, begin).map_err(failed)?;
    Ok(Some(begin))
}

/// The position that a holder has.
fn position(holder: &Holder) -> Result<Option<u64>, Failure> {
    let path = holder.path().display();
    holder.position().map_err(|error| {
        Failure::run(match error.kind() {
            ErrorKind::InvalidData => format!(
                "{path}: is not a position of 8 bytes; remove it to export the whole tape again"
            ),
            _ => {
                format!("{path}: cannot be read ({error}); export as a user that may read the tape")
            }
        })
    })
}

fn keep(holder: &Holder, position: u64) -> Result<(), Error> {
    holder.keep(position).map_err(Error::file(holder.path()))
}

/// Bytes of the tape so far. Its length is not shown: a tape may grow, and a compressed one is shorter than its positions.
fn bar(is_visible: bool) -> ProgressBar {
    let target = match is_visible {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(None, target);
    let style = ProgressStyle::with_template("{spinner} {bytes} of the tape, {bytes_per_sec}");
    bar.set_style(style.expect("the template is right"));
    bar
}
