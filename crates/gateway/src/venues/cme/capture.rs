//! A capture of a channel through the path, packet by packet, for a program that takes the updates in its own process.

use super::definitions::{CaptureError, Definitions};
use super::{ChannelConfig, CmeConfig, CmePipeline, CmeReport, channels_with, pipeline};
use std::fmt::Write;
use std::net::SocketAddrV4;
use std::path::Path;
use touchline_net::frame::tunnel_of_port;
use touchline_net::{Error, PacketSource, PcapSource, Received, Skipped};
use touchline_transport::Publish;
use touchline_transport::clock::ticks;

/// An open capture and its path.
pub struct Capture<P: Publish> {
    source: PcapSource<'static>,
    /// What the captures may lack; given to the path before the first packet.
    definitions: Option<Definitions>,
    is_defined: bool,
    config: CmeConfig,
    channel: ChannelConfig,
    pipeline: CmePipeline<P>,
    report: CmeReport,
    has_ended: bool,
}

impl<P: Publish> Capture<P> {
    /// Opens captures of the configured channel, which are merged by capture time.
    ///
    /// # Errors
    /// The channel's file or a capture cannot be read.
    pub fn open(
        config: CmeConfig,
        captures: impl IntoIterator<Item = impl AsRef<Path>>,
        publisher: P,
    ) -> Result<Capture<P>, CaptureError> {
        Ok(Capture {
            channel: ChannelConfig::read(&config.venue.config_xml, config.venue.channel)?,
            source: PcapSource::open(captures)?,
            definitions: None,
            is_defined: true,
            pipeline: pipeline(&config, publisher),
            config,
            report: CmeReport::new(),
            has_ended: false,
        })
    }

    /// Takes these definitions first, for captures that begin after the definitions were sent: of captures, of which the other feeds are
    /// ignored, and of files.
    ///
    /// # Errors
    /// As [`Definitions::open`].
    pub fn with_definitions(
        mut self,
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
    ) -> Result<Capture<P>, CaptureError> {
        self.definitions = Some(Definitions::open(paths, &self.config)?);
        self.is_defined = false;
        Ok(self)
    }

    /// Processes the next packet; false at the end, when waiting packets are released.
    ///
    /// # Errors
    /// A damaged capture, or one of another channel. A capture that ends in the middle of a record is not an error:
    /// [`truncations`](Capture::truncations) has it.
    #[inline]
    pub fn step(&mut self) -> Result<bool, CaptureError> {
        if !self.is_defined {
            let truncations = &mut self.report.truncations;
            let more = match &mut self.definitions {
                Some(definitions) => {
                    definitions.step(&self.channel, &mut self.pipeline, truncations)?
                }
                None => false,
            };
            self.is_defined = !more;
            return Ok(true);
        }
        let packet = match self.source.receive() {
            Ok(Received::Packet(packet)) => packet,
            Ok(Received::Nothing | Received::Refused) => return Ok(true),
            Ok(Received::End) => return self.end(),
            Err(error) if error.is_truncation() => {
                self.report.truncations.push(error);
                return Ok(true);
            }
            Err(error) => return Err(CaptureError::Capture(error)),
        };
        let route = self.channel.routes().find(packet.destination);
        self.report.note(&packet, route);
        if let Some(route) = route {
            (self.pipeline).packet(route, packet.payload, packet.receive_ns, ticks());
        }
        Ok(true)
    }

    #[cold]
    fn end(&mut self) -> Result<bool, CaptureError> {
        if !self.has_ended {
            self.has_ended = true;
            self.pipeline.finish();
            if self.report.routed() == 0 {
                let skipped = self.source.skipped();
                let sentence = other_channel(&self.config, &self.report, &skipped);
                return Err(CaptureError::OtherChannel(sentence));
            }
        }
        Ok(false)
    }

    /// The publisher.
    pub fn publisher_mut(&mut self) -> &mut P {
        self.pipeline.publisher_mut().inner_mut()
    }

    /// The instruments that the captures have defined otherwise than the files of [`with_definitions`](Self::with_definitions), as a
    /// sentence; once.
    pub fn take_conflicts(&mut self) -> Option<String> {
        let definitions = self.definitions.take()?;
        definitions.conflicts(self.pipeline.instruments())
    }

    /// Captures that ended in the middle of a record.
    pub fn truncations(&self) -> &[Error] {
        &self.report.truncations
    }
}

const NAMED_MAX: usize = 4;

/// Why no packet of the captures belongs to the channel: names their channels, their tunnels, and the skipped frames.
pub fn other_channel(config: &CmeConfig, report: &CmeReport, skipped: &Skipped) -> String {
    let channel = config.venue.channel;
    let mut what = format!("no packet is for channel {channel}");
    let mut destinations: Vec<_> = report.unrouted.iter().collect();
    destinations.sort_by_key(|(destination, packets)| (u64::MAX - **packets, **destination));
    let Some((most, _)) = destinations.first() else {
        what += ": the captures hold no UDP packet over IPv4";
        return what + &skipped.to_string() + "; give captures of its groups";
    };
    let named = &destinations[..destinations.len().min(NAMED_MAX)];
    for (at, (destination, packets)) in named.iter().enumerate() {
        let separator = if at == 0 { ": the captures hold" } else { "," };
        let packets = counted(**packets, "packet");
        let _ = write!(what, "{separator} {packets} to {destination}");
    }
    if destinations.len() > NAMED_MAX {
        let others = (destinations.len() - NAMED_MAX) as u64;
        let _ = write!(what, " and more to {}", counted(others, "other"));
    }
    let inside = |(destination, _): &(&SocketAddrV4, &u64)| tunnel_of_port(destination.port());
    if let Some(tunnel) = destinations.iter().find_map(inside) {
        let _ = write!(
            what,
            "; these packets are {tunnel}: capture behind the end of the tunnel"
        );
        return what + &skipped.to_string();
    }
    what += &match channels_with(&config.venue.config_xml, **most).first() {
        Some(other) => format!("; {most} is channel {other}'s: set the channel to {other}"),
        None => format!(
            "; {} has none of these groups: is it the config.xml of that time and environment?",
            config.venue.config_xml.display()
        ),
    };
    what + &skipped.to_string()
}

/// A count with thousands separators: `1,234,567`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 packet`, `1,234 packets`.
fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}
