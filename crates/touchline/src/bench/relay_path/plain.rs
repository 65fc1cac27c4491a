//! Plain Aeron: what the relay's link costs without the relay.

use super::aeron::{client, unicast};
use super::*;
use std::rc::Rc;
use touchline_aeron::{Client, ExclusivePublication, Refused, Subscription};

/// Stream of plain Aeron.
const STREAM: i32 = 341;
/// Fragments in one call.
const FRAGMENTS_MAX: usize = 64;

/// Time of each end, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub send_ns: u64,
    pub receive_ns: u64,
}

/// A publication and a subscription, each with a driver that its end steps.
pub struct Plain {
    near: Rc<Client>,
    far: Rc<Client>,
    publication: ExclusivePublication,
    subscription: Subscription,
    bytes: Vec<u8>,
}

impl Plain {
    /// Connects both ends.
    pub fn open(folder: &Path) -> Result<Plain, Failure> {
        fs::create_dir_all(folder).map_err(Failure::run)?;
        let channel = unicast()?;
        let near = client(&folder.join("driver-a")).map_err(Failure::run)?;
        let far = client(&folder.join("driver-b")).map_err(Failure::run)?;
        let publication = near
            .exclusive_publication(&channel, STREAM)
            .map_err(Failure::run)?;
        let subscription = far.subscription(&channel, STREAM).map_err(Failure::run)?;
        let bytes = vec![7; publication.payload_bytes_max()];
        let plain = Plain {
            near,
            far,
            publication,
            subscription,
            bytes,
        };
        for _ in 0..TURNS_MAX {
            plain.near.do_work().map_err(Failure::run)?;
            plain.far.do_work().map_err(Failure::run)?;
            if plain.publication.is_connected() && plain.subscription.is_connected() {
                return Ok(plain);
            }
        }
        Err(Failure::run("aeron-udp: the ends do not connect"))
    }

    /// Sends datagrams of these lengths until all have arrived.
    pub fn burst(&mut self, lengths: &[usize], clock: &Clock) -> Result<Spent, Failure> {
        let (mut sent, mut received) = (0, 0);
        let mut spent = Spent::default();
        for _ in 0..TURNS_MAX {
            let began = ticks();
            while let Some(length) = lengths.get(sent) {
                match self.publication.offer(&self.bytes[..*length]) {
                    Ok(_) => sent += 1,
                    Err(Refused::BackPressured | Refused::AdminAction) => break,
                    Err(refused) => return Err(Failure::run(refused)),
                }
            }
            self.near.do_work().map_err(Failure::run)?;
            let ended = ticks();
            self.far.do_work().map_err(Failure::run)?;
            let polled = self.subscription.poll(FRAGMENTS_MAX, |fragment| {
                std::hint::black_box(fragment.bytes());
            });
            received += polled.map_err(Failure::run)?;
            spent.send_ns += clock.between_ns(began, ended);
            spent.receive_ns += clock.between_ns(ended, ticks());
            if received == lengths.len() {
                return Ok(spent);
            }
        }
        Err(Failure::run("aeron-udp: a message was lost"))
    }

    /// The time of one datagram of this length.
    pub fn sample(&mut self, length: usize, clock: &Clock) -> Result<u64, Failure> {
        let spent = self.burst(&[length], clock)?;
        Ok(spent.send_ns + spent.receive_ns)
    }

    /// Longest datagram.
    pub fn payload_bytes_max(&self) -> usize {
        self.bytes.len()
    }
}
