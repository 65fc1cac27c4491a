//! Packets with the time at which they were sent in place of the one at which they arrived, the same for each way of
//! receiving.

use super::places::Places;
use hdrhistogram::Histogram;
use std::cell::RefCell;
use std::rc::Rc;
use touchline_lab::cme::header::sending_time;
use touchline_net::udp::Totals;
use touchline_net::{Error, LiveSource, PacketSource, Received, TimestampSource};

/// A source whose packets carry the sender's reading of the clock, if requested.
pub struct Sent {
    source: LiveSource,
    is_from_sender: bool,
    /// From the sender's reading of the clock to the timestamp of card or kernel.
    stamped_ns: Stamped,
    /// Updates of the packet before, which is done.
    places: Places,
}

/// Times to the timestamp, nanoseconds: empty if there is none or the receive time was kept.
pub type Stamped = Rc<RefCell<Histogram<u64>>>;

impl Sent {
    pub fn new(
        source: LiveSource,
        is_from_sender: bool,
        stamped_ns: Stamped,
        places: Places,
    ) -> Sent {
        Sent {
            source,
            is_from_sender,
            stamped_ns,
            places,
        }
    }
}

impl PacketSource for Sent {
    #[inline]
    fn receive(&mut self) -> Result<Received<'_>, Error> {
        self.places.settle();
        let received = self.source.receive()?;
        let Received::Packet(mut packet) = received else {
            return Ok(received);
        };
        if self.is_from_sender {
            let sent_ns = sending_time(packet.payload);
            if packet.timestamp != TimestampSource::Poll {
                let since_ns = packet.receive_ns.saturating_sub(sent_ns);
                self.stamped_ns.borrow_mut().saturating_record(since_ns);
            }
            packet.receive_ns = sent_ns;
            packet.timestamp = TimestampSource::Kernel;
        }
        Ok(Received::Packet(packet))
    }

    fn look_after(&mut self) {
        self.source.look_after();
    }

    fn tally(&mut self) -> Totals {
        self.source.tally()
    }
}
