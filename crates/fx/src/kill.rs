//! The kill switch: anybody may throw it, two different people must lift it.

use touchline_types::Id;

/// Whether anything may be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KillSwitch {
    is_killed: bool,
    /// Who has asked to lift it.
    first: Option<Id>,
}

impl KillSwitch {
    /// Whether nothing may be sent.
    pub fn is_killed(&self) -> bool {
        self.is_killed
    }

    /// Throws it. False if it was thrown already, which changes nothing.
    pub fn kill(&mut self) -> bool {
        if self.is_killed {
            return false;
        }
        *self = KillSwitch {
            is_killed: true,
            first: None,
        };
        true
    }

    /// Somebody asks to lift it: it is lifted when two different people of the list have.
    pub fn lift(&mut self, by: &Id, lifters: &[String]) {
        // mutant: fx: anybody lifts a kill
        if !self.is_killed || !lifters.iter().any(|lifter| lifter == by.as_str()) {
            return;
        }
        match self.first {
            // mutant: fx: one lifts a kill alone
            Some(first) if first != *by => {
                // mutant: fx: who lifted a kill has half lifted the next
                *self = KillSwitch::default();
            }
            _ => self.first = Some(*by),
        }
        assert!(self.is_killed || self.first.is_none(), "lifters-of-a-kill");
    }
}
