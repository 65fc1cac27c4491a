//! Receivers of a stream without connections: their identities and positions, and the slow ones among them, from their
//! reports.

use crate::SenderCounters;
use crate::head::{Epoch, Head, HeadFlags, Source};
use crate::link::SendEvent;
use crate::link::tcp::number;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Delay, ns, above which a receiver is slow: it lacks data sent this long ago. A receiver without reports is slow,
/// too.
const BEHIND_NS: u64 = 1_000_000_000;
/// Time without a report: several intervals of reports.
const SILENT_NS: u64 = 2_000_000_000;
/// Most receivers that are distinguished.
const RECEIVERS_MAX: usize = 256;
/// Shortest time between two probes of a receiver: answers go to the whole group.
const PROBE_NS_MIN: u64 = 5_000_000;
/// Longest round trip that a report can state: beyond it the report is wrong, or a clock was set.
const ROUND_TRIP_NS_MAX: u64 = 60_000_000_000;
/// Looks within [`BEHIND_NS`], with room for late ones.
const LOOKS_MAX: usize = 64;
/// Events stored for the log; further ones are dropped.
const EVENTS_MAX: usize = 64;

/// The receivers of one stream.
#[derive(Debug)]
pub struct Receivers {
    known: Vec<Known>,
    /// Sender of the stream.
    stream: Option<(Source, Epoch)>,
    /// Number of the next message to send.
    next: u64,
    /// Next sequence number at earlier times, oldest first.
    sent: VecDeque<(u64, u64)>,
    /// Receivers that became slow.
    slow: u64,
    last_slow: Option<SocketAddrV4>,
    events: VecDeque<SendEvent>,
}

/// A receiver that can send reports.
#[derive(Debug)]
struct Known {
    session: i32,
    address: SocketAddrV4,
    /// Whether the last look found its publication.
    is_present: bool,
    /// Time of its last report, or of the look that found it.
    heard_ns: u64,
    has_reported: bool,
    /// Whether the receiver receives from another sender.
    is_of_another: bool,
    /// Number of the next message that it waits for.
    next: u64,
    round_trip_ns: u64,
    /// Time of its latest probe without an answer, by its clock.
    probe_ns: Option<u64>,
    /// Time of the latest probe that was accepted.
    probed_ns: u64,
    is_slow: bool,
}

impl Receivers {
    /// Makes an empty list. Allocates all memory.
    pub fn new() -> Receivers {
        Receivers {
            known: Vec::with_capacity(RECEIVERS_MAX),
            stream: None,
            next: 0,
            sent: VecDeque::with_capacity(LOOKS_MAX),
            slow: 0,
            last_slow: None,
            events: VecDeque::with_capacity(EVENTS_MAX),
        }
    }

    /// A batch with this header was sent.
    #[inline]
    pub fn sent(&mut self, head: &Head) {
        let stream = Some((head.source, head.epoch));
        if self.stream != stream {
            self.stream = stream;
            self.sent.clear();
        }
        let is_refresh = head.flags.has(HeadFlags::REFRESH);
        let numbered = if is_refresh { 0 } else { u64::from(head.count) };
        self.next = head.first_sequence + numbered;
    }

    /// A report arrived. Its time is that of the latest batch there, by this host's clock, plus the time since.
    pub fn report(&mut self, session: i32, head: &Head, now_ns: u64, wall_ns: u64) {
        // Receivers of another sender of the group report to that one, on the same stream.
        let is_ours = self.stream.is_some_and(|(source, epoch)| {
            source == head.source && epoch.is_of_same_run(head.epoch)
        });
        let known = self.known.iter_mut().find(|one| one.session == session);
        let Some(known) = known else { return };
        known.heard_ns = now_ns;
        known.has_reported = is_ours;
        known.is_of_another = !is_ours;
        if !is_ours {
            return;
        }
        let round_trip_ns = wall_ns.saturating_sub(head.sent_ns);
        if round_trip_ns <= ROUND_TRIP_NS_MAX {
            known.round_trip_ns = round_trip_ns;
        }
        // Numbers from before a restart of the bus prove nothing.
        let is_current = self.stream.is_some_and(|(_, epoch)| epoch == head.epoch);
        known.next = if is_current { head.first_sequence } else { 0 };
    }

    /// A probe arrived.
    pub fn probe(&mut self, session: i32, sent_ns: u64, now_ns: u64) {
        let known = self.known.iter_mut().find(|one| one.session == session);
        if let Some(known) = known
            && now_ns.saturating_sub(known.probed_ns) >= PROBE_NS_MIN
        {
            known.probed_ns = now_ns;
            known.probe_ns = Some(sent_ns);
        }
    }

    /// Answers the latest probe of each receiver with `send`, which returns whether the answer was sent.
    pub fn answer(&mut self, mut send: impl FnMut(u64) -> bool) {
        for known in &mut self.known {
            if known.probe_ns.is_some_and(&mut send) {
                known.probe_ns = None;
            }
        }
    }

    /// Starts a look at all receivers.
    pub fn look(&mut self) {
        self.known
            .iter_mut()
            .for_each(|known| known.is_present = false);
    }

    /// During a look: a publication of reports exists.
    pub fn present(&mut self, session: i32, address: &str, now_ns: u64) {
        if let Some(known) = self.known.iter_mut().find(|one| one.session == session) {
            known.is_present = true;
            return;
        }
        if self.known.len() == RECEIVERS_MAX {
            return;
        }
        // Shared memory has no addresses.
        let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        self.known.push(Known {
            session,
            address: address.parse().unwrap_or(here),
            is_present: true,
            heard_ns: now_ns,
            has_reported: false,
            is_of_another: false,
            next: 0,
            round_trip_ns: 0,
            probe_ns: None,
            probed_ns: 0,
            is_slow: false,
        });
    }

    /// Ends a look: removes receivers that are gone, and finds slow ones.
    pub fn looked(&mut self, now_ns: u64) {
        self.known.retain(|known| known.is_present);
        if self.sent.len() == LOOKS_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back((now_ns, self.next));
        let until_ns = now_ns.saturating_sub(BEHIND_NS);
        while self
            .sent
            .get(1)
            .is_some_and(|(at_ns, _)| *at_ns <= until_ns)
        {
            self.sent.pop_front();
        }
        let due = self.sent.front().filter(|(at_ns, _)| *at_ns <= until_ns);
        let due = due.map_or(0, |(_, next)| *next);
        for known in &mut self.known {
            let is_silent = now_ns.saturating_sub(known.heard_ns) > SILENT_NS;
            let is_behind = known.has_reported && known.next < due;
            let is_slow = !known.is_of_another && (is_silent || is_behind);
            if is_slow && !known.is_slow {
                self.slow += 1;
                self.last_slow = Some(known.address);
                if self.events.len() < EVENTS_MAX {
                    self.events.push_back(SendEvent::Behind {
                        address: known.address,
                        messages: self.next.saturating_sub(known.next),
                    });
                }
            }
            known.is_slow = is_slow;
        }
    }

    /// Sets the counters of receivers.
    pub fn count(&self, counters: &mut SenderCounters) {
        let heard = || self.known.iter().filter(|known| known.has_reported);
        counters.relay_receivers = counters.relay_receivers.max(heard().count() as u64);
        counters.relay_receivers_slow = self.slow;
        counters.relay_round_trip_ns = heard().map(|known| known.round_trip_ns).max().unwrap_or(0);
        let slowest = self.known.iter().filter(|known| known.is_slow);
        let slowest = slowest.min_by_key(|known| known.next);
        let slow = slowest.map(|known| known.address).or(self.last_slow);
        counters.relay_slow_receiver = slow.map_or(0, number);
    }

    /// Next event for the log.
    pub fn event(&mut self) -> Option<SendEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn head(first_sequence: u64, count: u16, epoch: u64) -> Head {
        Head {
            source: Source::named("gw1").expect("a name"),
            epoch: Epoch(epoch),
            first_sequence,
            count,
            hops: 0,
            flags: HeadFlags::NONE,
            sent_ns: 5_000,
        }
    }

    /// A stream of 10 messages each 100 ms; receivers report what `next` gives for them.
    fn run(
        receivers: &mut Receivers,
        ms: std::ops::Range<u64>,
        next: impl Fn(i32, u64) -> Option<u64>,
    ) {
        for step in ms.start / 100..ms.end / 100 {
            let now_ns = step * 100 * MS;
            receivers.sent(&head(1 + step * 10, 10, 1 << 12));
            for session in [7, 8] {
                if let Some(next) = next(session, step) {
                    receivers.report(session, &head(next, 0, 1 << 12), now_ns, 7_000);
                }
            }
            receivers.look();
            receivers.present(7, "10.0.0.7:1001", now_ns);
            receivers.present(8, "10.0.0.8:1002", now_ns);
            receivers.looked(now_ns);
        }
    }

    fn counted(receivers: &Receivers) -> SenderCounters {
        let mut counters = SenderCounters::default();
        receivers.count(&mut counters);
        counters
    }

    #[test]
    fn a_receiver_that_is_behind_or_silent_is_named_once() {
        let mut receivers = Receivers::new();
        let all = |_: i32, step: u64| Some(1 + step * 10);
        run(&mut receivers, 0..3_000, all);
        let counters = counted(&receivers);
        assert_eq!(
            (counters.relay_receivers, counters.relay_receivers_slow),
            (2, 0)
        );
        assert_eq!(
            (counters.relay_slow_receiver, counters.relay_round_trip_ns),
            (0, 2_000)
        );
        assert_eq!(receivers.event(), None);

        // One receiver still reports, but receives no more data.
        run(
            &mut receivers,
            3_000..6_000,
            |session, step| match session {
                7 => Some(1 + step * 10),
                _ => Some(300),
            },
        );
        let slow = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 8), 1002);
        let counters = counted(&receivers);
        assert_eq!(counters.relay_receivers_slow, 1);
        assert_eq!(counters.relay_slow_receiver, number(slow));
        assert!(
            matches!(receivers.event(), Some(SendEvent::Behind { address, messages }) if address == slow && messages > 90)
        );
        assert_eq!(receivers.event(), None);

        // That receiver works again, and the other is silent.
        run(&mut receivers, 6_000..9_000, |session, step| {
            (session == 8).then_some(1 + step * 10)
        });
        let silent = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 7), 1001);
        let counters = counted(&receivers);
        assert_eq!(counters.relay_receivers_slow, 2);
        assert_eq!(counters.relay_slow_receiver, number(silent));
    }

    #[test]
    fn receivers_of_another_sender_and_those_that_are_gone_do_not_count() {
        let mut other = head(1, 0, 1 << 12);
        other.source = Source::named("gw2").expect("a name");
        for report in [head(1, 0, 2 << 12), other] {
            let mut receivers = Receivers::new();
            run(&mut receivers, 0..1_000, |session, step| {
                (session == 7).then_some(1 + step * 10)
            });
            receivers.report(8, &report, 1_000 * MS, 7_000);
            run(&mut receivers, 1_000..9_000, |session, step| {
                (session == 7).then_some(1 + step * 10)
            });
            let counters = counted(&receivers);
            assert_eq!(
                (counters.relay_receivers, counters.relay_receivers_slow),
                (1, 0)
            );
            receivers.look();
            receivers.looked(9_100 * MS);
            assert_eq!(counted(&receivers).relay_receivers, 0);
        }
    }

    /// A receiver without reports is stopped, or its reports are lost.
    #[test]
    fn a_receiver_without_any_report_is_slow() {
        let mut receivers = Receivers::new();
        run(&mut receivers, 0..3_000, |session, step| {
            (session == 7).then_some(1 + step * 10)
        });
        assert_eq!(counted(&receivers).relay_receivers_slow, 1);
    }

    /// Reports and probes of a broken or hostile program: no absurd counter, and no answer for each of a thousand probes.
    #[test]
    fn absurd_reports_are_ignored_and_probes_are_answered_at_a_limited_rate() {
        let mut receivers = Receivers::new();
        run(&mut receivers, 0..1_000, |_, step| Some(1 + step * 10));
        let mut absurd = head(u64::MAX, 0, 1 << 12);
        absurd.sent_ns = 0;
        receivers.report(7, &absurd, 1_000 * MS, 1_700_000_000_000_000_000);
        assert_eq!(counted(&receivers).relay_round_trip_ns, 2_000);
        let mut answers = 0;
        for step in 0..1_000 {
            let now_ns = 1_000 * MS + step * MS / 100;
            receivers.probe(8, step, now_ns);
            receivers.answer(|_| {
                answers += 1;
                true
            });
        }
        assert_eq!(answers, 2, "in 10 ms");
    }

    /// A restart of the bus begins the numbers again.
    #[test]
    fn numbers_before_a_restart_of_the_bus_are_not_compared() {
        let mut receivers = Receivers::new();
        run(&mut receivers, 0..3_000, |_, step| Some(1 + step * 10));
        receivers.sent(&head(1, 5, (1 << 12) + 1));
        receivers.report(7, &head(300, 0, 1 << 12), 3_000 * MS, 7_000);
        receivers.report(8, &head(6, 0, (1 << 12) + 1), 3_000 * MS, 7_000);
        receivers.looked(3_000 * MS);
        assert_eq!(counted(&receivers).relay_receivers_slow, 0);
    }
}
