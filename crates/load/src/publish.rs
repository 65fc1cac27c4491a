//! The publishing side: an open loop. Due messages are sent; one that cannot be sent waits, and its latency includes
//! the wait.

use crate::Failed;
use crate::clock::Timebase;
use crate::message::Message;
use crate::schedule::{Schedule, Walk};
use crate::subject::{Sender, Sent};
use crate::wait::Wait;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most messages of one turn, so that a long turn shows that the process was stopped.
const TURN: usize = 256;
/// Messages not sent this long after the end of the schedule are dropped.
pub const GRACE_NS: u64 = 1_000_000_000;

/// Results of a publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Messages sent, warm-up included.
    pub sent: u64,
    /// Dropped messages.
    pub unsent: u64,
    /// Turns in which the transport was full.
    pub blocked_turns: u64,
    /// Longest time between two reads of the clock: upper bound of a pause of the process.
    pub pause_ns_max: u64,
    /// Time of the last message sent, by the shared clock.
    pub last_ns: u64,
    /// Counters of the transport, by name.
    pub counts: BTreeMap<String, u64>,
}

/// Publishes a schedule that starts at this time.
///
/// # Errors
/// The transport fails.
pub fn publish(
    sender: &mut dyn Sender,
    schedule: Schedule,
    begin_ns: u64,
    clock: &Timebase,
    wait: Wait,
) -> Result<Published, Failed> {
    let mut walk = Walk::new(schedule, begin_ns);
    let mut message = Message::default();
    let mut published = Published::default();
    let end_ns = begin_ns + schedule.end_ns() + GRACE_NS;
    let mut before_ns = clock.now_ns();
    while let Some((_, next_due_ns)) = walk.next() {
        let now_ns = clock.now_ns();
        // Before the start no message is due.
        if before_ns >= begin_ns {
            published.pause_ns_max = published.pause_ns_max.max(now_ns - before_ns);
        }
        before_ns = now_ns;
        if now_ns > end_ns {
            break;
        }
        let mut is_blocked = false;
        for _ in 0..TURN {
            let Some((number, due_ns)) = walk.next().filter(|(_, due_ns)| *due_ns <= now_ns) else {
                break;
            };
            message.set(number, due_ns);
            if sender.send(message.bytes())? == Sent::NoRoom {
                is_blocked = true;
                break;
            }
            published.last_ns = now_ns;
            walk.advance();
        }
        published.blocked_turns += u64::from(is_blocked);
        sender.turn()?;
        if next_due_ns > now_ns {
            wait.idle();
        }
    }
    published.sent = walk.next().map_or(schedule.total(), |(number, _)| number);
    published.unsent = schedule.total() - published.sent;
    let counts = sender.counts().into_iter();
    published.counts = counts
        .map(|(name, count)| (name.to_owned(), count))
        .collect();
    Ok(published)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{self, BYTES};
    use crate::schedule::Profile;

    /// Rejects every message at its scheduled refusal; records the others.
    struct Scripted {
        refuse: fn(usize) -> bool,
        calls: usize,
        sequences: Vec<u64>,
    }

    impl Sender for Scripted {
        fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed> {
            self.calls += 1;
            if (self.refuse)(self.calls) {
                return Ok(Sent::NoRoom);
            }
            let (sequence, _) = message::read(message).expect("a message");
            self.sequences.push(sequence);
            Ok(Sent::Yes)
        }

        fn turn(&mut self) -> Result<(), Failed> {
            Ok(())
        }

        fn is_ready(&mut self) -> Result<bool, Failed> {
            Ok(true)
        }
    }

    fn published(refuse: fn(usize) -> bool) -> (Published, Vec<u64>) {
        let schedule = Schedule::new(Profile::Steady, 10_000, 0.0, 0.02);
        let clock = Timebase::new();
        let mut sender = Scripted {
            refuse,
            calls: 0,
            sequences: Vec::new(),
        };
        let begin_ns = clock.now_ns();
        let done = publish(&mut sender, schedule, begin_ns, &clock, Wait::Spin);
        (done.expect("nothing fails"), sender.sequences)
    }

    #[test]
    fn every_message_is_sent_once_and_in_order_after_a_full_transport() {
        for refuse in [|_| false, |call| call % 3 != 0] as [fn(usize) -> bool; 2] {
            let (published, sequences) = published(refuse);
            assert_eq!((published.sent, published.unsent), (200, 0));
            assert_eq!(sequences, (0..200).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_message_that_is_never_accepted_is_dropped_and_counted() {
        let (published, sequences) = published(|call| call > 50);
        assert_eq!((published.sent, published.unsent), (50, 150));
        assert_eq!(sequences.len(), 50);
        assert!(published.blocked_turns > 0);
    }
}
