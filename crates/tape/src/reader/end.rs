//! The end of a tape: of one that is recorded more records follow.

use super::rest::{check_overtaken, check_passed, check_rest};
use super::{Error, Reader};
use std::time::{Duration, Instant};
use touchline_journal::writer;

/// Polls without a record after which the tape's directory is looked at.
const LOOKS: u64 = 256;
/// Time between two looks while the recorder is away: readers that poll seldom see it come back, too.
const LOOKS_AWAY: Duration = Duration::from_millis(100);

/// The recorder of a tape, as its reader has seen it.
#[derive(Debug, Default)]
pub(super) struct SeenRecorder {
    /// Longest time in which a recorder that has ended may come back.
    wait: Duration,
    /// It wrote the tape while this reader read it.
    was_there: bool,
    /// Since when it is away, and the last look.
    away: Option<(Instant, Instant)>,
}

impl SeenRecorder {
    pub fn new(wait: Duration, is_there: bool) -> SeenRecorder {
        SeenRecorder {
            wait,
            was_there: is_there,
            away: None,
        }
    }

    /// Notes a record of the tape: a recorder wrote it.
    #[inline]
    pub fn note_record(&mut self) {
        self.away = None;
    }

    /// Whether the tape is looked at now, after this number of polls without a record.
    fn is_due(&self, polls: u64) -> bool {
        match self.away {
            Some((_, looked)) => looked.elapsed() >= LOOKS_AWAY,
            None => polls.is_multiple_of(LOOKS),
        }
    }

    /// Notes a look at the tape; whether the tape may go on.
    fn note(&mut self, is_there: bool) -> bool {
        if is_there {
            (self.was_there, self.away) = (true, None);
            return true;
        }
        let now = Instant::now();
        let since = self.away.map_or(now, |(since, _)| since);
        self.away = Some((since, now));
        // mutant: tape: a recorder that starts again is not waited for
        self.was_there && now.duration_since(since) < self.wait
    }
}

impl Reader {
    /// Looks at the directory of a tape without a further record, now and then: whether a recorder writes it, and whether the next segment
    /// was removed before this reader was there. True if a record came meanwhile.
    ///
    /// Bytes behind the last record may not be written yet; without a recorder they are the end that a crash left, or damage.
    pub(super) fn looked_again(&mut self) -> Result<bool, Error> {
        let is_due = self.recorder.is_due(self.polls_without);
        self.polls_without += 1;
        if !is_due {
            return Ok(false);
        }
        check_overtaken(&mut self.follow, &self.path)?;
        // A recorder that recovers its tape has it locked.
        let may_go_on = self.recorder.note(writer(&self.path).is_some());
        self.is_ended &= !may_go_on;
        if may_go_on {
            check_passed(&mut self.follow, &self.path)?;
        }
        if may_go_on || self.is_ended {
            return Ok(false);
        }
        // The recorder may have written its last records just before it ended.
        if self.record()? {
            self.polls_without = 0;
            return Ok(true);
        }
        match check_rest(&self.follow, &self.path) {
            Ok(()) => self.is_ended = true,
            // A recorder recovers the tape since then.
            Err(_) if self.is_recorded() => {}
            Err(error) => return Err(error),
        }
        Ok(false)
    }
}
