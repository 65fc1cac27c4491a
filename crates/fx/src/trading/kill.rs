//! The kill switch: any user may set it, two different users must lift it.

use touchline_types::Id;

/// State of the kill switch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KillSwitch {
    is_killed: bool,
    /// The user who first requested to lift the switch.
    first: Option<Id>,
}

impl KillSwitch {
    /// Whether the kill switch is set.
    pub fn is_killed(&self) -> bool {
        self.is_killed
    }

    /// The user who requested first to lift the kill switch, which a second user must confirm.
    pub fn first_lifter(&self) -> Option<Id> {
        self.first
    }

    /// Sets the kill switch. Requests to lift it are dropped, also if it was set already.
    pub fn kill(&mut self) {
        *self = KillSwitch {
            is_killed: true,
            first: None,
        };
    }

    /// Handles a request to lift it: two different users of the list must request it.
    pub fn lift(&mut self, by: &Id, lifters: &[String]) {
        if !self.is_killed || !lifters.iter().any(|lifter| lifter == by.as_str()) {
            return;
        }
        match self.first {
            // mutant: fx: one user alone may lift a kill
            Some(first) if first != *by => {
                // mutant: fx: a confirmation of one lift counts for the next kill
                *self = KillSwitch::default();
            }
            _ => self.first = Some(*by),
        }
        self.check();
    }

    /// Restores the state behind a request that an earlier run handled. The switch is as that run left it, not as the present list allows; the
    /// first of two requests counts if its user still may.
    pub fn restore_lift(&mut self, by: Option<Id>, is_killed: bool, lifters: &[String]) {
        if !is_killed {
            *self = KillSwitch::default();
        }
        // Journals of earlier releases have requests of others, too, which did nothing.
        let is_lifter = |by: &Id| lifters.iter().any(|lifter| lifter == by.as_str());
        if self.is_killed && self.first.is_none() {
            self.first = by.filter(is_lifter);
        }
        self.check();
    }

    fn check(&self) {
        assert!(
            self.is_killed || self.first.is_none(),
            "only a kill has a first lifter"
        );
    }
}
