//! What broken variants of the engine do beside the rules.

use super::carry::Core;
use super::cause::{Cause, Commanded};
use crate::edge::{Link, Output};
use crate::variant::Variant;
use touchline_fx::event::{Answer, Message};
use touchline_fx::input::{Desk, Input};
use touchline_fx::orders::OrderState;
use touchline_fx::setup::Bank;
use touchline_types::ReceiveTime;

impl<O: Output, L: Link> Core<O, L> {
    /// Takes every order without an outcome as rejected, or every disputed one as ended.
    pub fn reject_unknown(&mut self, time: ReceiveTime) {
        let ends = if Variant::UnknownIsRejected.is_on() {
            OrderState::Unknown
        } else if Variant::DisputedIsEnded.is_on() {
            OrderState::Disputed
        } else {
            return;
        };
        let orders = self.engine.trading().orders();
        let live = orders.live().iter().map(|at| orders.get(*at));
        let unknown = live.filter(|order| order.state() == ends);
        let unknown: Vec<_> = unknown.map(|order| (order.terms.id, order.cum())).collect();
        for (id, cum) in unknown {
            let resolve = Desk::Resolve {
                id: Some(id),
                cum: Some(cum),
                price: None,
            };
            let command = Commanded {
                person: "",
                received: Err(&[]),
                request: 0,
                decision: Some(&resolve),
                answer: Answer {
                    client: "",
                    request: 0,
                    answer: "done",
                    reason: None,
                    cause: None,
                },
                needs_record: true,
            };
            self.handle_for(time, &Input::Desk(resolve), Cause::Command(command));
        }
    }

    /// Sends every order without an outcome again.
    pub fn send_unknown_again(&mut self, bank: Bank, time: ReceiveTime) {
        if !Variant::OrdersSentAgain.is_on() {
            return;
        }
        let orders = self.engine.trading().orders();
        let live = orders.live().iter().map(|at| orders.get(*at));
        let unknown = live.filter(|order| order.state() == OrderState::Unknown);
        let unknown = unknown.filter(|order| order.terms.bank == bank);
        let unknown: Vec<_> = unknown.map(|order| order.terms).collect();
        for terms in unknown {
            self.send_order(&terms, &Message::Order(terms), true, time);
        }
    }
}
