//! Replay of captures with concrete types.
//!
//! rustc compiles a generic function in the crate that uses it. The command is not optimised in the profile `release`; this crate
//! is.

use super::{CmePipeline, CmeReport};
use crate::replay::{Interrupted, Speed, replay};
use crate::{CountersFile, Routes};
use std::ops::ControlFlow;
use touchline_feed::cme::{FeedType, Line};
use touchline_net::{Packet, PacketSource};
use touchline_transport::shm::Publisher;
use touchline_transport::{Local, Subscribe};

/// Publication of a replay: listeners in this process, and a bus if there is one.
pub type CapturePublication<'a> = (Local<&'a mut dyn Subscribe>, Option<Publisher>);

/// Observer of the packets of a replay: see [`replay`].
pub type PacketObserver<'a> =
    dyn FnMut(&Packet<'_>, Option<(FeedType, Line)>) -> ControlFlow<()> + 'a;

/// [`replay`] of the captures of one channel.
///
/// # Errors
/// As [`replay`].
pub fn replay_captures(
    source: &mut dyn PacketSource,
    routes: &Routes<(FeedType, Line)>,
    pipeline: &mut CmePipeline<CapturePublication<'_>>,
    speed: Speed,
    counters_file: &mut Option<CountersFile>,
    observe: &mut PacketObserver<'_>,
) -> Result<CmeReport, Interrupted<(FeedType, Line)>> {
    replay(source, routes, pipeline, speed, counters_file, observe)
}
