//! One step of reading shared memory.

use crate::reading::{Given, Reading, Took};
use crate::{Event, Stopper};
use touchline_transport::shm::{Polled, Subscriber};

/// Maximum number of messages without an event in one step, so that each of several buses gets its turn.
pub const ROUNDS_MAX: usize = 256;

/// Result of a step.
pub enum Step {
    Event(Event),
    /// A message without an event was read.
    Progress,
    Nothing,
}

/// One step of reading shared memory.
#[inline(always)]
pub fn live_step(subscriber: &mut Subscriber, reading: &mut Reading, stopper: &Stopper) -> Step {
    for round in 0..ROUNDS_MAX {
        match subscriber.poll(|item| reading.take(item)) {
            Polled::Given(took) => {
                if took == Took::Event {
                    let kept = &mut reading.kept;
                    kept.set_next_room(subscriber.instruments_max(), subscriber.orders_max());
                }
                if let Given::Event(event) = reading.after(took) {
                    return Step::Event(event);
                }
            }
            Polled::Passed(_) => return Step::Progress,
            Polled::Nothing => {
                if subscriber.forked_from().is_some() {
                    stopper.stop();
                }
                let has_unselected = || subscriber.has_unselected();
                if let Some(event) = reading.caught_up(has_unselected) {
                    return Step::Event(event);
                }
                return match round {
                    0 => Step::Nothing,
                    _ => Step::Progress,
                };
            }
        }
    }
    Step::Progress
}
