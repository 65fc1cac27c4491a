//! Requests for the quotes of the pairs.

use super::FxBankFeed;
use crate::fx_bank::requests::Requests;

impl FxBankFeed {
    /// Sends as many requests as the output buffer takes.
    pub(super) fn ask(&mut self) {
        while self.is_up && self.next_request < self.requests.count() {
            let (number, settings) = (self.next_request, &self.settings);
            let requests = self.requests;
            let sent = self
                .session
                .send(Requests::msg_type(settings), self.time, |body| {
                    requests.write(number, settings, body);
                });
            if sent.is_err() {
                return;
            }
            self.next_request += 1;
            self.counters.requests += 1;
        }
    }
}
