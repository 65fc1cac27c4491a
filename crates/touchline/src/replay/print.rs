//! `--print`: packets as text.

use crate::output::{Failure, Output};
use std::fmt::Write;
use std::ops::ControlFlow;
use touchline_feed::cme::{FeedType, Line};
use touchline_net::Packet;
use touchline_wire::mdp3;
use touchline_wire::sbe::UtcTime;

/// Prints packets to standard output.
#[derive(Debug)]
pub struct Printer {
    output: Output,
    text: String,
    /// No other output: the run may end when the reader has closed it.
    may_leave: bool,
    failure: Option<Failure>,
}

impl Printer {
    /// Prints to standard output.
    pub fn new(may_leave: bool) -> Result<Printer, Failure> {
        Ok(Printer {
            output: Output::stdout()?,
            text: String::new(),
            may_leave,
            failure: None,
        })
    }

    /// Prints one packet. Breaks when the reader has closed the output and there is no other one.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        route: Option<(FeedType, Line)>,
    ) -> ControlFlow<()> {
        self.text.clear();
        write_packet(&mut self.text, packet, route);
        if let Err(failure) = self.output.line(&self.text) {
            self.failure = Some(failure);
            return ControlFlow::Break(());
        }
        if self.may_leave && !self.output.has_reader() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Flushes. `true` if the replay ended early because the reader closed the output.
    pub fn finish(mut self) -> Result<bool, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.output.flush()?;
        Ok(self.may_leave && !self.output.has_reader())
    }
}

/// Label of a feed.
pub fn feed_name(feed: FeedType) -> &'static str {
    match feed {
        FeedType::Incremental => "incremental",
        FeedType::Snapshot => "snapshot",
        FeedType::SnapshotOrders => "order snapshot",
        FeedType::Replay => "replay",
        FeedType::Definition => "definition",
    }
}

/// Label of a line.
pub fn line_name(line: Line) -> &'static str {
    match line {
        Line::A => "A",
        Line::B => "B",
    }
}

fn write_packet(text: &mut String, packet: &Packet<'_>, route: Option<(FeedType, Line)>) {
    let (time, source) = (UtcTime(packet.receive_ns), packet.source);
    let bytes = packet.payload.len();
    let _ = match route {
        None => write!(
            text,
            "{time} unrouted, from {source} to {}, {bytes} bytes: the channel has no such group",
            packet.destination
        ),
        Some((feed, line)) => {
            let (feed, line) = (feed_name(feed), line_name(line));
            let _ = write!(text, "{time} {feed} {line}, from {source}, {bytes} bytes: ");
            match mdp3::Packet::parse(packet.payload) {
                Ok(packet) => write!(text, "{packet}"),
                Err(malformed) => write_invalid(text, packet.payload, malformed),
            }
        }
    };
}

fn write_invalid(
    text: &mut String,
    payload: &[u8],
    malformed: touchline_wire::sbe::Malformed,
) -> std::fmt::Result {
    match mdp3::PacketHeader::peek(payload) {
        Some(header) => write!(text, "packet {} is invalid: {malformed}", header.sequence),
        None => write!(text, "an invalid packet: {malformed}"),
    }
}
