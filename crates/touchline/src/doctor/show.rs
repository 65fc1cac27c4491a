//! Output of the checks as text and as JSON.

use super::finding::Status;
use super::rules::Check;
use crate::paint::Paint;
use serde_json::json;
use std::fmt::Write;

/// One line for each check; reason and fix of a failed one below.
pub fn text(checks: &[Check]) -> String {
    let paint = Paint::for_stdout();
    let mut text = String::new();
    for check in checks {
        let status = format!("{:<8}", check.status.name());
        let status = match check.status {
            Status::Ok => paint.green(status),
            Status::Warn => paint.yellow(status),
            Status::Bad => paint.red(status),
            Status::Unknown => paint.dim(status),
        };
        let _ = writeln!(text, "{status} {:<23} {}", check.name, check.seen);
        if let Some(fix) = &check.fix {
            let _ = writeln!(text, "{:<9}{}", "", paint.dim(check.why));
            let _ = writeln!(text, "{:<9}fix: {fix}", "");
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let counts = [Status::Ok, Status::Warn, Status::Bad, Status::Unknown]
        .map(|status| format!("{} {}", count(status), status.name()));
    let _ = writeln!(text, "\n{} checks: {}", checks.len(), counts.join(", "));
    text
}

/// One JSON object a line.
pub fn json(checks: &[Check]) -> String {
    let line = |check: &Check| {
        let object = json!({
            "check": check.name,
            "status": check.status.name(),
            "seen": check.seen,
            "why": check.why,
            "fix": check.fix,
        });
        format!("{object}\n")
    };
    checks.iter().map(line).collect()
}
