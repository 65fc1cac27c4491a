//! Events of the connection. That the reader has caught up is reported once the instruments are known.

use super::Reading;
use crate::{Connection, Event, Trace};
use touchline_transport::SubscriptionEvent;
use touchline_types::Phase;

impl Reading {
    /// Reports that the reader has caught up, once the instruments are known; called when there is no message.
    /// `has_unselected`: instruments are defined, and perhaps none was selected.
    #[inline]
    pub fn caught_up(&mut self, has_unselected: impl FnOnce() -> bool) -> Option<Event> {
        let waits = self.current.is_some() || self.stored.is_some();
        if !self.caught_up || waits || !self.knows_instruments(has_unselected) {
            return None;
        }
        self.caught_up = false;
        self.has_caught_up = true;
        self.stats.events += 1;
        self.trace = Trace::default();
        Some(Event::Connection(self.caught_up_event()))
    }

    /// Whether the reader has caught up with the present publisher, and was not overrun since.
    pub fn has_caught_up(&self) -> bool {
        self.has_caught_up
    }

    fn knows_instruments(&self, has_unselected: impl FnOnce() -> bool) -> bool {
        self.download != Some(Phase::Begun)
            && (self.kept.registry.defined() > 0 || has_unselected())
    }

    fn caught_up_event(&self) -> Connection {
        Connection::CaughtUp {
            instruments: self.kept.registry.defined() as u32,
        }
    }

    /// Applies an event of the subscription; `None` if it is reported later.
    pub(super) fn subscription_event(&mut self, event: &SubscriptionEvent) -> Option<Event> {
        self.kept.happened(event);
        let what = match *event {
            SubscriptionEvent::CaughtUp => {
                self.caught_up = !self.knows_instruments(|| false);
                if self.caught_up {
                    return None;
                }
                self.has_caught_up = true;
                self.caught_up_event()
            }
            SubscriptionEvent::Overrun { messages, bytes } => {
                self.has_caught_up = false;
                self.stats.overruns += 1;
                self.stats.lost += messages;
                Connection::Overrun { messages, bytes }
            }
            SubscriptionEvent::Restarted { generation } => {
                self.stats.restarts += 1;
                self.download = None;
                self.caught_up = false;
                self.has_caught_up = false;
                Connection::Restarted { generation }
            }
            SubscriptionEvent::PublisherGone => {
                // A download that it began does not end any more.
                self.download = None;
                Connection::PublisherGone
            }
            SubscriptionEvent::PublisherStalled => Connection::PublisherStalled,
            SubscriptionEvent::PublisherResumed => Connection::PublisherResumed,
            SubscriptionEvent::Corrupt { sequence } => {
                self.has_caught_up = false;
                Connection::Corrupt { sequence }
            }
            SubscriptionEvent::Damaged => Connection::Damaged,
            SubscriptionEvent::Forked => Connection::Forked,
            SubscriptionEvent::Incompatible { layout } => Connection::Incompatible { layout },
            SubscriptionEvent::Refused => Connection::Refused,
            SubscriptionEvent::NotWaitedFor => Connection::NotWaitedFor,
        };
        Some(Event::Connection(what))
    }
}
