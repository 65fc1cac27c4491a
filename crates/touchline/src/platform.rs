//! Check of the platform at start: one line on an unsupported host.
//!
//! The compiler refuses systems other than 64-bit Linux (`touchline-shm`); the first command that needs a bus refuses a
//! host without `/dev/shm`.

use crate::output::{Failure, notice};

/// Oldest supported kernel: that of RHEL 8, the oldest distribution in wide use.
const KERNEL_MIN: (u32, u32) = (4, 18);

/// Refuses a kernel that is too old, and warns if the platform is untested.
pub fn check() -> Result<(), Failure> {
    // An unreadable release is accepted.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if let Some(refusal) = refusal(release.trim()) {
        return Err(Failure::run(refusal));
    }
    if cfg!(not(target_arch = "x86_64")) {
        warn(&format!(
            "Touchline was compiled for {}, never tested on it; x86-64 is the tested processor",
            std::env::consts::ARCH
        ));
    }
    Ok(())
}

/// Warns if the time stamp counter, which measures latencies, is not steady.
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
    // A closed standard error does not stop the command.
    notice(format_args!("warning: {what}"));
}

/// Reason to refuse a kernel of this release; `None` for an unreadable one.
fn refusal(release: &str) -> Option<String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    let found: (u32, u32) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let (major, minor) = KERNEL_MIN;
    (found < KERNEL_MIN).then(|| {
        format!("kernel {release} is too old: Touchline needs Linux {major}.{minor} or later; see docs/install.md")
    })
}

/// Flags of a steady counter that the processors of this host lack; `None` if the host states no flags.
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
    fn an_unstable_time_stamp_counter_is_reported() {
        let missing = unsteady("processor : 0\nflags\t: fpu tsc nonstop_tsc\n");
        assert_eq!(missing.as_deref(), Some("constant_tsc"));
        assert_eq!(unsteady("flags : fpu tsc constant_tsc\n"), None);
        assert_eq!(unsteady("Features : fp asimd\n"), None);
    }
}
