//! Definitions that a capture lacks: of other captures, or of files.

use super::inputs::check_captures;
use super::{ChannelConfig, CmeConfig, CmePipeline};
use crate::config::ConfigError;
use crate::venues::definitions::{is_of_definitions, read_definitions};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use touchline_feed::cme::{FeedType, venue};
use touchline_instruments::{Instruments, KnownDefinition, KnownDefinitions};
use touchline_net::{Error, PacketSource, PcapSource, Received};
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_types::{Instrument, InstrumentDefinition};

/// Definitions of files that one step gives.
const STEP: usize = 1_024;
/// Instruments that a conflict names.
const NAMED_MAX: usize = 3;

/// Error of opening a capture, or of reading it.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The configuration or the channel's file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A capture that is missing or damaged.
    #[error(transparent)]
    Capture(#[from] Error),
    /// A file of definitions.
    #[error("{0}")]
    Definitions(String),
    /// No packet is for the channel; the sentence names the channels of the packets.
    #[error("{0}")]
    OtherChannel(String),
}

/// Definitions that go through the path before the first packet of a capture.
pub struct Definitions {
    /// Captures of which only the definitions are taken.
    captures: Option<PcapSource<'static>>,
    known: KnownDefinitions,
    /// Instruments that have their definition from a file, in the order of the files.
    given: Vec<Instrument>,
}

impl Definitions {
    /// Opens captures and files of definitions, in any mixture.
    ///
    /// # Errors
    /// A file is neither, cannot be read, or has malformed lines; or they define more instruments than the configuration has room for.
    pub fn open(
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
        config: &CmeConfig,
    ) -> Result<Definitions, CaptureError> {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned());
        let (files, captures): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.partition(|path| is_of_definitions(path));
        let wrong = CaptureError::Definitions;
        if files.is_empty() || !captures.is_empty() {
            let or = "; or a file of definitions: a table of `touchline definitions`, or CME's secdef.dat";
            check_captures(&captures).map_err(|why| wrong(why + or))?;
        }
        let known = read_definitions(&files, Some(config.venue.channel))
            .map_err(|mistakes| wrong(mistakes.to_string()))?;
        let (count, max) = (
            known.of_venue(venue()).count(),
            config.limits.instruments_max,
        );
        if count > max {
            return Err(wrong(format!(
                "the files of definitions have {count} instruments of channel {}, and instruments_max is {max}: set it to {count} or more in [limits]",
                config.venue.channel
            )));
        }
        Ok(Definitions {
            captures: match captures.is_empty() {
                true => None,
                false => Some(PcapSource::open(captures)?),
            },
            known,
            given: Vec::new(),
        })
    }

    /// Gives some definitions to the path; false if there is no further one.
    ///
    /// # Errors
    /// A damaged capture.
    #[cold]
    pub fn step<P: Publish>(
        &mut self,
        channel: &ChannelConfig,
        pipeline: &mut CmePipeline<P>,
        truncations: &mut Vec<Error>,
    ) -> Result<bool, CaptureError> {
        if let Some(source) = &mut self.captures {
            match source.receive() {
                Ok(Received::Packet(packet)) => {
                    let route = channel.routes().find(packet.destination);
                    if let Some(route @ (FeedType::Definition, _)) = route {
                        pipeline.packet(route, packet.payload, packet.receive_ns, ticks());
                    }
                }
                Ok(Received::Nothing | Received::Refused) => {}
                Ok(Received::End) => self.captures = None,
                Err(error) if error.is_truncation() => truncations.push(error),
                Err(error) => return Err(CaptureError::Capture(error)),
            }
            return Ok(true);
        }
        let before = self.given.len();
        for known in self.known.of_venue(venue()).skip(before).take(STEP) {
            let defined = pipeline
                .without_packet(|feed, instruments, batch| feed.define(known, instruments, batch));
            // Captures of definitions may have taken the room of the table.
            let Some(instrument) = defined else {
                return Err(CaptureError::Definitions(format!(
                    "no room for the definition of {}, security id {}: raise instruments_max in [limits]",
                    known.definition.symbol, known.definition.security_id
                )));
            };
            self.given.push(instrument);
        }
        Ok(self.given.len() > before)
    }

    /// The instruments that the capture has defined otherwise than the files, as a sentence.
    pub fn conflicts(&self, instruments: &Instruments) -> Option<String> {
        let given = self.known.of_venue(venue()).zip(&self.given);
        let differing = given.filter_map(|(known, instrument)| {
            let of_capture = instruments.definition(*instrument);
            let field = difference(known, of_capture)?;
            Some((of_capture, field))
        });
        let differing: Vec<_> = differing.collect();
        let count = match differing.len() {
            0 => return None,
            1 => "1 instrument".to_owned(),
            count => format!("{count} instruments"),
        };
        let mut sentence =
            format!("definitions: the capture defines {count} otherwise than the files:");
        for (at, (definition, field)) in differing.iter().take(NAMED_MAX).enumerate() {
            let separator = if at == 0 { "" } else { "," };
            let _ = write!(sentence, "{separator} {} ({field})", definition.symbol);
        }
        if differing.len() > NAMED_MAX {
            sentence += " and others";
        }
        sentence += "; the capture's definition applies from its packet on, since it is the venue's word of that time: take a file of the same day";
        Some(sentence)
    }
}

/// The first field of those that change an output in which the two differ.
fn difference(known: &KnownDefinition, of_capture: &InstrumentDefinition) -> Option<&'static str> {
    let of_file = known.of(of_capture);
    let fields = [
        ("symbol", of_file.symbol != of_capture.symbol),
        ("depth", of_file.depth != of_capture.depth),
        ("tick", of_file.tick != of_capture.tick),
        (
            "display factor",
            of_file.reference.display_factor != of_capture.reference.display_factor,
        ),
        (
            "quantity exponent",
            of_file.quantity_exponent != of_capture.quantity_exponent,
        ),
    ];
    let differing = fields.into_iter().find(|(_, differs)| *differs);
    differing.map(|(name, _)| name)
}
