//! Captures as the source.

use super::{Arguments, failed, say_notices};
use crate::output::{Failure, notice};
use crate::replay::known;
use crate::replay::progress::Watched;
use crate::replay::stopped;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use touchline_export::{Exporter, Origin};
use touchline_gateway::replay::{Interrupted, Pace, Speed, replay};
use touchline_gateway::venues::cme::{self, ChannelConfig, CmePipeline};
use touchline_net::PcapSource;
use touchline_tape::raw::Capture;
use touchline_transport::Local;

/// Packets of the captures.
pub fn source(arguments: &Arguments) -> Result<PcapSource<'static>, Failure> {
    if arguments.pcap.is_empty() {
        return Err(Failure::usage(
            "no source is given; give --journal DIR, or --pcap FILE... with --config FILE",
        ));
    }
    PcapSource::open(&arguments.pcap).map_err(Failure::run)
}

/// Packets of a raw recording.
pub fn raw(directory: &Path) -> Result<PcapSource<'static>, Failure> {
    let capture = Capture::open(directory).map_err(Failure::run)?;
    let reader = capture.reader().map_err(Failure::run)?;
    Ok(PcapSource::new([reader]))
}

/// Paths of the captures, which name the same file in each folder.
fn captures_of(arguments: &Arguments) -> Vec<String> {
    let captures = arguments.pcap.iter().chain(&arguments.journal);
    let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    captures
        .map(|path| whole(path).display().to_string())
        .collect()
}

/// Exports captures or a raw recording, by way of the path.
pub fn run(arguments: &Arguments, source: PcapSource<'static>) -> Result<(), Failure> {
    let config = arguments.of_channel.read()?;
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(|error| Failure::configuration(&error))?;
    let mut source = Watched::new(source, !arguments.quiet);
    let mut exporter = arguments.exporter()?;
    // Captures of other names have other files; those of other folders with the same name are refused.
    let names = arguments.pcap.iter().chain(&arguments.journal);
    let name = names.filter_map(|path| path.file_stem()?.to_str()).next();
    let name = format!("{}-{}", config.bus, name.unwrap_or("captures"));
    let captures = captures_of(arguments);
    exporter.begin_unit(&name, &captures);
    exporter.begin(config.limits.instruments_max, config.limits.orders_max);
    let has_failed = exporter.has_failed();
    let mut pipeline: CmePipeline<Local<&mut Exporter>> =
        cme::pipeline(&config, Local::new(&mut exporter));
    let definitions = known::define(&arguments.definitions, &config, &channel, &mut pipeline)?;
    let outcome = replay(
        &mut source,
        channel.routes(),
        &mut pipeline,
        Pace::new(Speed::Max),
        &mut None,
        |_, _| match has_failed.get() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        },
    );
    if let Some(sentence) = definitions.and_then(|given| given.conflicts(pipeline.instruments())) {
        notice(format_args!("warning: {sentence}"));
    }
    drop(pipeline);
    let skipped = source.finish().skipped();
    say_notices(&mut exporter);
    exporter.check().map_err(failed)?;
    let report = match outcome {
        Ok(report) => report,
        Err(Interrupted { report, error }) => return Err(stopped(&error, &report)),
    };
    if report.routed() == 0 {
        return Err(Failure::run(cme::other_channel(&config, &report, &skipped)));
    }
    for truncation in &report.truncations {
        notice(format_args!(
            "warning: {truncation}; all packets before are exported, and without --allow-truncated the exit status is 1"
        ));
    }
    let origin = Origin {
        bus: config.bus.clone(),
        captures,
        ..Origin::default()
    };
    arguments.finish(exporter, &origin)?;
    match report.truncations.is_empty() || arguments.allow_truncated {
        true => Ok(()),
        false => Err(Failure::Logged(1)),
    }
}
