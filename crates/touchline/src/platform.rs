//! The platform that the command runs on, before anything else: where it is not one of ours, one line says so.
//!
//! Another system than 64-bit Linux is refused by the compiler (`touchline-shm`), and a host without `/dev/shm` by the
//! first command that needs a bus.

use crate::output::Failure;
use std::io::Write;

/// The oldest kernel that is supported: that of RHEL 8, the oldest distribution in wide use.
const KERNEL_MIN: (u32, u32) = (4, 18);

/// Refuses a kernel that is too old, and warns where figures or the platform are not to be trusted.
pub fn check() -> Result<(), Failure> {
    // Where it cannot be read nobody knows better.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if let Some(refusal) = refusal(release.trim()) {
        return Err(Failure::run(refusal));
    }
    if cfg!(not(target_arch = "x86_64")) {
        warn(&format!(
            "{} is compiled in tests and was never run by them; x86-64 is the tested platform",
            std::env::consts::ARCH
        ));
    }
    Ok(())
}

/// Warns where latencies are measured with a time stamp counter that is not steady.
pub fn check_clock() {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if let Some(missing) = unsteady(&info) {
        warn(&format!(
            "the time stamp counter of this host is not steady ({missing} missing): latencies are wrong; \
             `touchline doctor` says what to do"
        ));
    }
}

fn warn(what: &str) {
    // Where nobody can be told any more, the command works all the same.
    let _ = writeln!(std::io::stderr(), "touchline: warning: {what}");
}

/// Why a kernel of this release is refused. One that cannot be read is not.
fn refusal(release: &str) -> Option<String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    let found: (u32, u32) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let (major, minor) = KERNEL_MIN;
    (found < KERNEL_MIN).then(|| {
        format!("kernel {release} is too old: Touchline needs Linux {major}.{minor} or later; see docs/install.md")
    })
}

/// What a steady counter has and the processors of this host do not state; none where they have no flags.
fn unsteady(cpuinfo: &str) -> Option<String> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    let has = |flag: &&str| flags.split_whitespace().any(|one| one == *flag);
    let missing: Vec<_> = ["tsc", "constant_tsc"]
        .into_iter()
        .filter(|flag| !has(flag))
        .collect();
    (!missing.is_empty()).then(|| missing.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_are_refused() {
        for release in ["3.10.0-1160.el7.x86_64", "4.17.19", "2.6.32"] {
            let said = refusal(release).expect(release);
            assert!(
                said.contains(release) && said.contains("Linux 4.18"),
                "{said}"
            );
        }
        for release in [
            "4.18.0-553.el8_10.x86_64",
            "5.4.0",
            "6.1-rc3",
            "10.0.1",
            "",
            "x",
        ] {
            assert_eq!(refusal(release), None, "{release}");
        }
    }

    #[test]
    fn a_counter_that_is_not_steady_is_named() {
        let missing = unsteady("processor : 0\nflags\t: fpu tsc nonstop_tsc\n");
        assert_eq!(missing.as_deref(), Some("constant_tsc"));
        assert_eq!(unsteady("flags : fpu tsc constant_tsc\n"), None);
        assert_eq!(unsteady("Features : fp asimd\n"), None);
    }
}
