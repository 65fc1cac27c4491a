//! Output of order sessions: their state and their messages go into the core, the journal first, and incidents into the
//! log.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::Incident;
use super::budget::PER_MESSAGE;
use super::carry::Core;
use super::cause::Cause;
use crate::execution::edge::{Link, Output};
use crate::execution::order_session::{Gap, Said, Turn, names_of};
use touchline_fx::input::{Input, Session};
use touchline_fx_desk::records::Record;
use touchline_fx_events::event::SessionChange;
use touchline_fx_events::orders::OrderState;
use touchline_fx_events::setup::Bank;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Frame, frame};

impl<O: Output, L: Link> Core<O, L> {
    /// Handles an output of an order session.
    pub fn said(&mut self, bank: Bank, said: Said, time: ReceiveTime) {
        match said {
            Said::Message => return self.report(bank, time),
            Said::Garbled(count) => return self.garbled(bank, count, time),
            Said::Skipped(skipped) => return self.skipped(bank, &skipped, time),
            _ => {}
        }
        let change = match said {
            Said::Up(_) => Some(SessionChange::Up),
            Said::Settled => Some(SessionChange::Settled),
            Said::Doubted => Some(SessionChange::Doubted),
            // It may be a fill, and does not come again: no order is gone by a rule.
            // mutant: execution: a rule ends an order whose report was rejected
            Said::Invalid {
                is_report: true, ..
            } if self.may_doubt(bank) => Some(SessionChange::Doubted),
            Said::Down { .. } => Some(SessionChange::Down),
            _ => None,
        };
        let is_of_every_message = matches!(
            said,
            Said::Rejected(_) | Said::Invalid { .. } | Said::TooLong(_) | Said::Gap(_)
        );
        self.totals.too_long += u64::from(matches!(said, Said::TooLong(_)));
        let told = match is_of_every_message {
            true => self.banks[bank].faults.rejected.add(time.mono_ns),
            false => Ok(()),
        };
        let is_end = matches!(said, Said::Down { retry_ms: None, .. });
        let is_asked = is_end || self.banks[bank].session.is_stopping();
        self.totals.sessions_lost += u64::from(change == Some(SessionChange::Down) && !is_asked);
        let incident = incident(self.name(bank), said, is_asked);
        match (told, incident) {
            (Ok(()), Some(incident)) => self.incident(incident),
            (Err(Some(count)), Some(mut incident)) => {
                incident.stands_for(count);
                self.incident(incident);
            }
            (_, None) | (Err(None), _) => {}
        }
        if let Some(change) = change {
            self.session(bank, change, time);
        }
    }

    /// The hours of a session turn: its orders are asked for before the end, and at the end it is closed, not lost.
    #[cold]
    pub fn turned(&mut self, bank: Bank, turn: Turn, time: ReceiveTime) {
        let is_up = self.engine.trading().is_order_session_up(bank);
        match turn {
            Turn::Open => {
                self.begin_session_day(bank, time);
                // It is closing in the core, because the clock was fast. A session that logs out is closing until it is down.
                if is_up && !self.banks[bank].session.is_closing() {
                    self.begin_again(bank, time);
                    if self.banks[bank].session.drops_orders() {
                        // No connection was lost: no order is gone by a rule.
                        self.session(bank, SessionChange::Doubted, time);
                    }
                }
            }
            // A session that comes up near its end is closing from the beginning.
            Turn::Closing if is_up => self.session(bank, SessionChange::Closing, time),
            Turn::Closing => {}
            Turn::Closed(until_ns) => {
                if is_up {
                    self.session(bank, SessionChange::Closed, time);
                }
                let bank = self.name(bank);
                self.incident(Incident::SessionClosed { bank, until_ns });
            }
        }
    }

    fn session(&mut self, bank: Bank, change: SessionChange, time: ReceiveTime) {
        // mutant: execution: a session that comes up near its end gets orders
        if change == SessionChange::Up && self.banks[bank].session.is_closing() {
            // Before it is up: no order leaves in the last seconds before its numbers begin again.
            self.session(bank, SessionChange::Closing, time);
        }
        if change == SessionChange::Up {
            if let Some(day) = self.banks[bank].session.take_day() {
                let bank = bank as u16;
                // Without it a start would begin the numbers again, within the session: a refusal ends the journal.
                let _ = self
                    .recorder
                    .append(time.wall_ns, &Record::Day { bank, day });
            }
            let orders = self.engine.trading().orders().iter();
            let of_bank = orders.filter(|order| order.terms.bank == bank).count();
            self.banks[bank].faults.again = PER_MESSAGE * of_bank as u64;
        }
        let input = Input::Orders(bank, change.into());
        self.handle_for(time, &input, Cause::Session(bank, change));
    }

    /// The message that a session handed out: in the journal with everything that follows from it.
    fn report(&mut self, bank: Bank, time: ReceiveTime) {
        self.totals.reports += 1;
        self.banks[bank].counts.reports += 1;
        let message = std::mem::take(self.banks[bank].session.message_mut());
        let repeated = self.engine.trading().executions().repeated();
        let foreign = self.banks[bank].faults.foreign_count();
        let booked = self.booked(bank);
        let input = Input::Orders(bank, Session::Message(&message));
        self.handle_for(time, &input, Cause::Received(bank, &message));
        let is_repeated = self.engine.trading().executions().repeated() > repeated;
        // A bank that marks a repeated message follows FIX.
        if is_repeated && !self.banks[bank].session.is_marked() {
            self.repeated(bank, &message, time);
        }
        *self.banks[bank].session.message_mut() = message;
        if self.booked(bank) == booked {
            let is_foreign = self.banks[bank].faults.foreign_count() > foreign;
            self.take_from_budget(bank, is_foreign, time);
        }
    }

    /// Fills so far, without those of a bank that were taken back or corrected.
    fn booked(&self, bank: Bank) -> u64 {
        self.totals.fills - self.banks[bank].faults.reversals
    }

    /// A report that booked nothing. A bank that sends more of them than our messages explain is disconnected: those before are in the
    /// journal.
    fn take_from_budget(&mut self, bank: Bank, is_foreign: bool, time: ReceiveTime) {
        let session = &self.banks[bank].session;
        // Reports of our orders that we requested again after a reconnect, or that the bank repeats after a Logon.
        let is_again = session.is_marked() && !is_foreign;
        let is_asked = is_again && (session.is_catching_up() || self.banks[bank].faults.again > 0);
        if is_asked {
            self.banks[bank].faults.again = self.banks[bank].faults.again.saturating_sub(1);
        }
        let open = self.open(bank);
        if !is_asked && !self.banks[bank].faults.budget.take(open, time.mono_ns) {
            self.flood(
                bank,
                "it sends reports that no message of ours explains",
                time,
            );
        }
    }

    /// Number of open orders of a bank.
    fn open(&self, bank: Bank) -> usize {
        let orders = self.engine.trading().orders();
        let open = orders.live().iter().map(|at| orders.get(*at));
        open.filter(|order| order.terms.bank == bank).count()
    }

    /// Answers of the session itself: a bank that asks for them without end is disconnected.
    pub fn own_messages(&mut self, bank: Bank, time: ReceiveTime) {
        let of_bank = &mut self.banks[bank];
        let budget = &mut of_bank.faults.own_messages;
        let count = of_bank.session.take_own_messages();
        // mutant: execution: a flood of test requests does not end the session
        let is_explained = (0..count).all(|_| budget.take(0, time.mono_ns));
        // The end of the session is a message, too.
        if !is_explained && self.banks[bank].session.is_up() {
            self.flood(bank, "it sends messages of the session without end", time);
        }
    }

    #[cold]
    fn flood(&mut self, bank: Bank, why: &'static str, time: ReceiveTime) {
        self.banks[bank].session.cut(why, time);
        self.flush(bank, time);
        self.totals.floods += 1;
        let bank = self.name(bank);
        self.incident(Incident::Flood { bank });
    }

    /// The bank skipped messages: a report may be among them. Orders of this session are unknown, and asked for, like those of a
    /// session that was lost; those of the time before it are asked for already, or by a rule of the bank are now. It may also be of an
    /// order that the journal lost.
    fn skipped(&mut self, bank: Bank, skipped: &Gap, time: ReceiveTime) {
        let (has_orders, is_doubted) = (self.has_orders(bank), self.may_doubt(bank));
        let is_asked = skipped.is_catching_up;
        if is_asked && !has_orders && !is_doubted {
            return;
        }
        self.incident(Incident::Skipped {
            bank: self.name(bank),
            first: skipped.first,
            last: skipped.last,
        });
        // mutant: execution: orders are not asked for when the bank skips messages
        if !self.banks[bank].session.is_up() {
            return;
        }
        if has_orders && !is_asked {
            self.begin_again(bank, time);
        }
        // mutant: execution: messages are skipped, and a rule answers for the orders that the journal lost
        if is_doubted {
            // A report may be among the messages: no order is gone by a rule.
            self.session(bank, SessionChange::Doubted, time);
        }
    }

    /// Whether a report of a bank that is lost may be of an order whose outcome is not known.
    fn has_orders(&self, bank: Bank) -> bool {
        let orders = self.engine.trading().orders();
        let mut live = orders.live().iter().map(|at| orders.get(*at));
        live.any(|order| order.terms.bank == bank && order.state() != OrderState::Disputed)
    }

    /// Whether a rule of the bank may end an order, perhaps one that the journal lost, whose report is lost.
    fn may_doubt(&self, bank: Bank) -> bool {
        self.banks[bank].session.drops_orders()
            && (self.has_orders(bank) || !self.engine.trading().has_said_all(bank))
    }

    /// The session is as one that has come up: its orders are unknown, and asked for.
    fn begin_again(&mut self, bank: Bank, time: ReceiveTime) {
        self.session(bank, SessionChange::Down, time);
        self.session(bank, SessionChange::Up, time);
    }

    /// Reports a repeated report without a mark: the core ignored it, and the bank must explain it.
    #[cold]
    fn repeated(&mut self, bank: Bank, message: &[u8], time: ReceiveTime) {
        self.totals.reports_repeated += 1;
        let told = self.banks[bank].faults.repeated.add(1, time.mono_ns);
        if let (Some(count), Ok(Frame::Whole(message))) = (told, frame(message, message.len())) {
            self.incident(Incident::Repeated {
                bank: self.name(bank),
                message: names_of(&message),
                count,
            });
        }
    }

    #[cold]
    fn garbled(&mut self, bank: Bank, count: u64, time: ReceiveTime) {
        self.totals.garbled += count;
        if let Some(count) = self.banks[bank].faults.garbled.add(count, time.mono_ns) {
            let bank = self.name(bank);
            self.incident(Incident::Garbled { bank, count });
        }
    }

    fn name(&self, bank: Bank) -> String {
        self.engine.setup().banks[bank].config.name.clone()
    }
}

/// The incident of a session's output, if there is one.
fn incident(bank: String, said: Said, is_asked: bool) -> Option<Incident> {
    let rejected = |bank, is_ours, text| Incident::Rejected {
        bank,
        is_ours,
        text,
    };
    Some(match said {
        Said::Nothing
        | Said::Settled
        | Said::Doubted
        | Said::Message
        | Said::Garbled(_)
        | Said::Skipped(_) => return None,
        Said::Up(is_restarted) => Incident::SessionUp { bank, is_restarted },
        Said::Down {
            why,
            numbers,
            retry_ms,
        } => Incident::SessionDown {
            bank,
            why,
            numbers,
            retry_ms: retry_ms.filter(|_| !is_asked),
        },
        Said::NotConnected(why, retry_ms) => Incident::NotConnected {
            bank,
            why,
            retry_ms,
        },
        Said::Rejected(text) => rejected(bank, false, text),
        Said::Invalid { text, .. } => rejected(bank, true, text),
        Said::TooLong(message) => Incident::TooLong {
            bank,
            text: message.to_string(),
        },
        Said::Gap(Gap {
            first,
            last,
            is_catching_up,
        }) => Incident::Gap {
            bank,
            first,
            last,
            is_reconnect: is_catching_up,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::rig::{Host, Nothing, show, with_a_parent};
    use super::*;
    use touchline_wire::fix::Encoder;

    /// A report of the bank.
    fn report(core: &mut Core<Host, Nothing>, time: ReceiveTime, fields: &[(u32, &str)]) {
        let mut room = [0; 512];
        let mut message = Encoder::new(&mut room, b"FIX.4.4", b"8");
        for (tag, value) in fields {
            message.bytes(*tag, value.as_bytes());
        }
        let bytes = message.finish().expect("a short message");
        *core.banks[0].session.message_mut() = bytes.to_vec();
        core.said(0, Said::Message, time);
    }

    /// Corrections of corrections have an effect each, and end the session all the same: they would fill the journal.
    #[test]
    fn a_flood_of_corrections_ends_the_session() {
        let (mut core, time) = with_a_parent();
        show(&mut core, time, 1_099_500_000);
        let orders = core.engine.trading().orders();
        let id = orders.get(0).terms.id;
        let same = [(11, id.as_str()), (31, "1.0995"), (32, "1000")];
        let fill = [(17, "E0"), (150, "F"), (39, "2"), (14, "1000")];
        report(&mut core, time, &[&same[..], &fill].concat());
        assert_eq!(core.totals.fills, 1);
        let mut count = 0;
        while core.totals.floods == 0 {
            let (before, name) = (format!("E{count}"), format!("E{}", count + 1));
            let correction = [(19, before.as_str()), (17, &name), (150, "G"), (39, "2")];
            report(&mut core, time, &[&same[..], &correction].concat());
            count += 1;
            assert!(count < 1_000, "no end");
        }
        assert_eq!(core.totals.fills, 1 + 2 * count);
        assert_eq!(count, 201);
    }

    /// The reason why a parent waits may change with every quote: the journal has a part of these changes, and the drop
    /// copy all.
    #[test]
    fn prices_that_flap_do_not_fill_the_journal() {
        let (mut core, time) = with_a_parent();
        let records = core.recorder.out().records.len();
        let waits = core.recorder.out().waits;
        for _ in 0..500 {
            // Below the bank's own bid: it does not count.
            show(&mut core, time, 1_098_000_000);
            show(&mut core, time, 1_100_000_000);
        }
        assert_eq!(core.recorder.out().records.len() - records, 200);
        assert_eq!(core.recorder.out().waits - waits, 1_000);
        let later = ReceiveTime {
            wall_ns: time.wall_ns + 10_000_000_000,
            mono_ns: time.mono_ns + 10_000_000_000,
        };
        for _ in 0..500 {
            show(&mut core, later, 1_098_000_000);
            show(&mut core, later, 1_100_000_000);
        }
        assert_eq!(core.recorder.out().records.len() - records, 210);
    }
}
