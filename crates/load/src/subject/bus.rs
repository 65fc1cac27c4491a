//! The bus in shared memory.

use super::{Place, Receiver, Sender, Sent};
use crate::Failed;
use crate::message::BYTES;
use touchline_transport::bus::{
    END_OF_BATCH, Layout, Lock, Polled, Publication, Root, Subscription,
};

const BUS: &str = "load";
const LAYOUT: Layout<0> = Layout {
    ring_bytes: 8 * 1024 * 1024,
    message_bytes_min: BYTES,
    schema: 0,
    tables: [],
    lossless: None,
    huge_pages: false,
    lock: Lock::IfAllowed,
};
/// Messages of one poll.
const TURN: usize = 256;

pub struct BusSender {
    publication: Publication,
}

impl BusSender {
    pub fn open(place: &Place) -> Result<BusSender, Failed> {
        let (publication, []) = Publication::open(&Root::at(&place.folder), BUS, &LAYOUT)?;
        Ok(BusSender { publication })
    }
}

impl Sender for BusSender {
    #[inline]
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed> {
        self.publication.stage(BYTES, |frame| {
            frame.put(message);
            frame.finish();
        });
        self.publication.release(END_OF_BATCH);
        Ok(Sent::Yes)
    }

    fn turn(&mut self) -> Result<(), Failed> {
        Ok(())
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}

pub struct BusReceiver {
    subscription: Subscription<0>,
}

impl BusReceiver {
    pub fn open(place: &Place) -> Result<BusReceiver, Failed> {
        let subscription = Subscription::join(&Root::at(&place.folder), BUS, [], false)?;
        Ok(BusReceiver { subscription })
    }
}

impl Receiver for BusReceiver {
    #[inline]
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
        let mut taken = 0;
        for _ in 0..TURN {
            match self.subscription.poll(|message| take(message.bytes)) {
                Ok(Polled::Given(())) => taken += 1,
                Ok(Polled::Nothing) => break,
                // Messages lost in an overrun are missing sequence numbers.
                Ok(Polled::Passed(_)) | Err(_) => {}
            }
        }
        Ok(taken)
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}
