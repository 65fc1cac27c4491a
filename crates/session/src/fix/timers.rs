//! What time alone makes necessary.

use super::core::{Core, State};
use super::{DisconnectReason, Store};

/// How often a gap is asked for before the session gives up.
const RESEND_REQUESTS_MAX: u32 = 3;

impl<S: Store> Core<S> {
    /// Time passed: signs of life, given and asked for; what should have come by now.
    pub fn on_time(&mut self) {
        let now_ns = self.clock.now_ns();
        let is_late = now_ns >= self.until_ns;
        match self.state {
            State::Awaiting | State::Asking | State::LoggingOn if is_late => {
                self.close(DisconnectReason::NoLogon);
            }
            State::LoggingOut if is_late => self.close(DisconnectReason::NoLogout),
            State::Up => {
                self.signs_of_life(now_ns);
                self.repeat_resend_request(now_ns);
            }
            _ => {}
        }
    }

    /// A silent counterparty is asked after 1.2 intervals, and given up after 2.4. Between, no heartbeat
    /// of ours goes: the question was one.
    fn signs_of_life(&mut self, now_ns: u64) {
        let interval_ns = u64::from(self.heartbeat_s) * 1_000_000_000;
        if interval_ns == 0 {
            return;
        }
        let silent_ns = now_ns.saturating_sub(self.received_ns);
        if silent_ns >= interval_ns * 12 / 5 {
            self.close(DisconnectReason::HeartbeatTimeout);
        } else if silent_ns >= interval_ns * 6 / 5 {
            if !self.test_request_sent {
                self.test_request();
            }
        } else if now_ns.saturating_sub(self.sent_ns) >= interval_ns && !self.test_request_sent {
            self.heartbeat(None);
        }
    }

    fn repeat_resend_request(&mut self, now_ns: u64) {
        let Some(awaited_resend) = self.awaited_resend else {
            return;
        };
        if now_ns.saturating_sub(awaited_resend.at_ns) < self.settings.limits.resend_wait_ns {
            return;
        }
        // What comes slowly is coming.
        let is_coming = awaited_resend.expected < self.store.next_in();
        if is_coming || awaited_resend.times < RESEND_REQUESTS_MAX {
            let times = if is_coming {
                1
            } else {
                awaited_resend.times + 1
            };
            self.send_resend_request(awaited_resend.last, times);
        } else {
            self.send_logout(b"what was asked for again did not come");
            self.close(DisconnectReason::NoResend);
        }
    }
}
