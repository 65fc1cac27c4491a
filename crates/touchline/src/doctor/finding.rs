//! Checks of a host: the checked parts, and the result of a check.

use super::cpu_list::CpuList;

/// Scope of the checks.
#[derive(Debug, Default)]
pub struct Asked {
    pub(super) cpus: Option<CpuList>,
    pub(super) interface: Option<String>,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing to do.
    Ok,
    /// Works, but slower or with more jitter than necessary.
    Warn,
    /// Does not work, or figures will be wrong.
    Bad,
    /// Not visible from here.
    Unknown,
}

impl Status {
    /// Name in output and documentation.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Bad => "bad",
            Status::Unknown => "unknown",
        }
    }
}

/// Finding of a check.
#[derive(Debug)]
pub struct Finding {
    pub(super) status: Status,
    pub(super) seen: String,
    pub(super) fix: Option<String>,
}

impl Finding {
    /// Nothing to do.
    pub fn ok(seen: impl Into<String>) -> Finding {
        Finding {
            status: Status::Ok,
            seen: seen.into(),
            fix: None,
        }
    }

    /// Works, with a fix.
    pub fn warn(seen: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding {
            status: Status::Warn,
            seen: seen.into(),
            fix: Some(fix.into()),
        }
    }

    /// Does not work.
    pub fn bad(seen: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding {
            status: Status::Bad,
            seen: seen.into(),
            fix: Some(fix.into()),
        }
    }
}
