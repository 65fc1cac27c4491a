//! Messages before the place at which a reader begins: they give the state of the books there.

use super::{Next, PASSED_MAX, Reader, TapePlace};
use crate::publication::Publication;
use crate::state_bodies::Bodies;
use crate::{Error, Settings};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::{EVENT_ORDERS_MAX, Item, StreamState};

/// State that is built on the way to a place.
pub(super) struct Lead {
    from: TapePlace,
    state: StreamState,
    /// Publication that the state is of.
    of: Option<Publication>,
    /// Publication of before the place that the receiver was given.
    given: Option<Publication>,
}

impl Lead {
    pub fn new(from: TapePlace) -> Lead {
        Lead {
            from,
            state: StreamState::new(0, 0),
            of: None,
            given: None,
        }
    }

    /// Begins with the publication that is read now.
    fn follow(&mut self, publication: Option<&Publication>) {
        if let Some(publication) = publication.filter(|now| self.of.as_ref() != Some(now)) {
            let orders_max = publication.orders_max + EVENT_ORDERS_MAX;
            self.state.restart(publication.instruments_max, orders_max);
            self.of = Some(publication.clone());
        }
    }

    fn take(&mut self, item: &Item<'_>) {
        if let Item::Update(received) = item {
            let (update, timestamps) = (&received.update, &received.timestamps);
            self.state
                .update(received.sequence, update, timestamps, received.is_image);
        }
    }
}

impl Reader {
    /// Reads on to the place, as far as the tape has it: the receiver is given the publication there.
    pub(super) fn begin_lead(&mut self) -> Result<(), Error> {
        let mut is_read = self.publication().is_some();
        while is_read && let Some(lead) = self.lead.take() {
            is_read = self.read_lead(lead)?;
        }
        let given = self.publication().cloned();
        if let Some(lead) = &mut self.lead {
            lead.given = given;
        }
        Ok(())
    }

    /// Takes what the place at which it begins has: false if all of it was taken.
    pub(super) fn take_of_place(&mut self) -> bool {
        if let Some(loss) = self.late.take() {
            self.place.event = Some(loss);
        } else if let Some(body) = self.states.pop_front() {
            self.place.take_state(&body);
        } else if let Some((body, from)) = self.rest.take() {
            (self.place.body, self.from, self.place.is_state) = (body, from, false);
        } else {
            return false;
        }
        true
    }

    /// Reads on towards the place: false if there is no further record, so far.
    pub(super) fn read_lead(&mut self, mut lead: Lead) -> Result<bool, Error> {
        lead.follow(self.publication());
        for _ in 0..PASSED_MAX {
            let from = Some(lead.from);
            let next = self.message(from, &mut |item| lead.take(&item))?;
            match next {
                Next::Given(()) => continue,
                Next::Reached => {
                    self.end_lead(&lead);
                    return Ok(true);
                }
                Next::Nothing => {}
            }
            // A loss at the place is behind it.
            // mutant: tape: a loss at the place of a reader is not handed out
            if let Some(SubscriptionEvent::Overrun { messages, .. }) = self.place.event
                && let TapePlace::Position(from) = lead.from
                && self.place.passed.position >= from
            {
                self.end_lead(&lead);
                (self.place.gaps, self.place.lost) = (1, messages);
                return Ok(true);
            }
            if let Some(event) = self.place.event.take() {
                lead.state.event(&event);
                continue;
            }
            let is_read = self.record()? || self.looked_again()?;
            lead.follow(self.publication());
            if !is_read {
                self.lead = Some(lead);
                return Ok(false);
            }
        }
        self.lead = Some(lead);
        Ok(true)
    }

    /// The place is reached: its state is handed out before the messages that follow. Without a state they wait for the next one.
    fn end_lead(&mut self, lead: &Lead) {
        (self.place.gaps, self.place.lost) = (0, 0);
        (self.place.without_state, self.place.unknown) = (0, 0);
        let is_other = lead.given.is_some() && lead.given.as_ref() != self.publication();
        // mutant: tape: a restart before the place of a reader is not handed out
        if let Some((_, publication)) = self.place.open.as_ref().filter(|_| is_other) {
            let generation = publication.generation;
            self.late = self.place.event.take();
            self.place.event = Some(SubscriptionEvent::Restarted { generation });
        }
        if self.place.needs_state {
            return;
        }
        let states = &mut self.states;
        let channel = *lead.state.books().channel();
        let bytes_max = Settings::default().body_bytes_max;
        Bodies::write(
            &lead.state,
            &channel,
            self.place.passed.sequence,
            bytes_max,
            &mut |body| states.push_back(body),
        );
        self.rest = Some((std::mem::take(&mut self.place.body), self.from));
        self.from = 0;
    }
}
