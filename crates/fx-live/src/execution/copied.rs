//! Status of a copied journal, for the person who decides whether to promote its standby: the position of its source at
//! the last status, and the number of bytes that the copy lacks.

use std::fmt;
use std::path::Path;
use touchline_journal::StartReport;
use touchline_journal::replica::SourceStatus;
use touchline_wire::sbe::UtcTime;

/// A copied journal. Its text is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    source: SourceStatus,
    /// Position behind the last record of the copy.
    position: u64,
}

impl Copied {
    /// Reads the copy status of the journal in a directory, of which `position` bytes were read; `None`: the journal is
    /// not a copy.
    pub fn read(journal: &Path, position: u64) -> Option<Copied> {
        let source = SourceStatus::read(journal)?;
        Some(Copied { source, position })
    }

    /// Copy status of the journal that a start continued; `None`: the journal was not a copy.
    pub fn of_start(start: &StartReport) -> Option<Copied> {
        let source = start.copied.clone()?;
        let position = start.found_position;
        Some(Copied { source, position })
    }

    /// Bytes that the source had at its last status and that the copy lacks.
    pub fn missing(&self) -> u64 {
        self.source.missing(self.position)
    }

    /// Whether the copy has every byte that its source had at its last status.
    pub fn is_complete(&self) -> bool {
        self.source.is_heard() && self.missing() == 0
    }

    /// Time since the last status of the source, by the clocks of both hosts; `None`: no status was received.
    pub(crate) fn age_ns(&self, wall_ns: u64) -> Option<u64> {
        let is_heard = self.source.is_heard();
        is_heard.then(|| wall_ns.saturating_sub(self.source.said_ns))
    }
}

impl fmt::Display for Copied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Copied { source, position } = self;
        let (name, had, said) = (&source.source, source.position, UtcTime(source.said_ns));
        if !source.is_heard() {
            return write!(
                out,
                "the journal is a copy up to position {position} whose source was never heard: what it lacks is unknown"
            );
        }
        // mutant: fx: a copy that lacks records is called complete
        match self.missing() {
            0 => write!(
                out,
                "the journal is a copy that has everything that {name} had at {said} (position {had}); what was written there \
                 later is unknown"
            ),
            missing => write!(
                out,
                "INCOMPLETE COPY: {missing} bytes are missing: {name} had position {had} at {said}, the copy has {position}; \
                 orders in them are known to the banks only, which a promoted engine asks for all their orders"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(position: u64, said_ns: u64) -> Copied {
        let source = SourceStatus {
            source: "10.0.0.1:7800".to_owned(),
            position: 9_000,
            said_ns,
        };
        Copied { source, position }
    }

    /// The missing part is stated as a number with its time; a copy whose source sent no status is not called complete.
    #[test]
    fn a_copy_says_what_it_lacks_and_as_of_when() {
        const SAID_NS: u64 = 1_767_225_600_000_000_001;
        let lacking = copied(8_000, SAID_NS);
        let text = lacking.to_string();
        assert!(
            text.starts_with("INCOMPLETE COPY: 1000 bytes are missing: 10.0.0.1:7800 had position 9000 at 2026-01-01T00:00:00.000000001Z, the copy has 8000; "),
            "{text}"
        );
        assert_eq!((lacking.missing(), lacking.is_complete()), (1_000, false));
        assert_eq!(lacking.age_ns(SAID_NS + 5), Some(5));
        // A clock of this host that is behind.
        assert_eq!(lacking.age_ns(SAID_NS - 5), Some(0));
        for position in [9_000, 9_001] {
            let complete = copied(position, SAID_NS);
            let text = complete.to_string();
            assert!(complete.is_complete(), "{text}");
            assert!(
                text.contains(
                    "everything that 10.0.0.1:7800 had at 2026-01-01T00:00:00.000000001Z"
                ),
                "{text}"
            );
        }
        let unheard = copied(9_000, 0);
        assert!(unheard.to_string().contains("never heard"), "{unheard}");
        assert!(!unheard.is_complete());
        assert_eq!(unheard.age_ns(SAID_NS), None);
    }
}
