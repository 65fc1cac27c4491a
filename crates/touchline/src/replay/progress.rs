//! Progress bar of a replay.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use touchline_net::{Error, PacketSource, PcapSource, Received};

/// A source of captures that shows its progress.
pub struct Watched {
    source: PcapSource<'static>,
    bar: ProgressBar,
    packets: u64,
}

/// Packets between two updates of the bar; rare enough to cost nothing.
const PACKETS_BETWEEN: u64 = 256;

impl Watched {
    /// Shows a bar on standard error if `visible` and standard error is a terminal.
    pub fn new(source: PcapSource<'static>, visible: bool) -> Watched {
        let target = match visible {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let total_bytes = source.progress().total_bytes;
        let bar = ProgressBar::with_draw_target(total_bytes, target);
        if total_bytes.is_some() {
            let template = "{bar:30} {percent:>3} %  {bytes} of {total_bytes}, {eta} left";
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.expect("the template is right"));
        }
        Watched {
            source,
            bar,
            packets: 0,
        }
    }

    /// Removes the bar.
    pub fn finish(self) -> PcapSource<'static> {
        self.bar.finish_and_clear();
        self.source
    }
}

impl PacketSource for Watched {
    fn receive(&mut self) -> Result<Received<'_>, Error> {
        self.packets += 1;
        if self.packets.is_multiple_of(PACKETS_BETWEEN) {
            self.bar.set_position(self.source.progress().consumed_bytes);
        }
        self.source.receive()
    }
}
