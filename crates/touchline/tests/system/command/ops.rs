//! Files of `ops/`, checked by their tools. A missing tool is reported.

use super::metrics::promtool;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

fn ops() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops")
}

#[test]
fn alerts_fire_as_their_tests_specify() {
    let folder = ops().join("prometheus");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    for arguments in [
        ["check", "rules", &path("alerts.yml")],
        ["check", "config", &path("prometheus.yml")],
        ["test", "rules", &path("alerts_test.yml")],
    ] {
        let Some((is_content, said)) = promtool(&arguments, "") else {
            return;
        };
        assert!(
            is_content && said.contains("SUCCESS"),
            "{arguments:?}: {said}"
        );
    }
    // The tests of the alerts detect a rule that never fires.
    let broken = std::env::temp_dir().join(format!("touchline-alerts-{}", std::process::id()));
    std::fs::create_dir_all(&broken).expect("a temporary folder");
    let rules = std::fs::read_to_string(folder.join("alerts.yml")).expect("our file");
    let deaf = rules.replace(
        "touchline_gaps_total[5m]) > 3",
        "touchline_gaps_total[5m]) > 9999",
    );
    assert_ne!(rules, deaf);
    std::fs::write(broken.join("alerts.yml"), deaf).expect("our folder");
    let test = broken.join("alerts_test.yml");
    std::fs::copy(folder.join("alerts_test.yml"), &test).expect("our folder");
    let arguments = ["test", "rules", test.to_str().expect("a plain path")];
    let (is_content, said) = promtool(&arguments, "").expect("it was there");
    assert!(!is_content && said.contains("TouchlineGaps"), "{said}");
    std::fs::remove_dir_all(&broken).expect("our folder");
}

/// `systemd-analyze verify` reports no problem in the units, and reports one in a wrong unit.
#[test]
fn systemd_units_are_valid() {
    let folder = std::env::temp_dir().join(format!("touchline-units-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let unit = |name: &str| {
        let unit = std::fs::read_to_string(ops().join("systemd").join(name)).expect("our file");
        assert!(unit.contains("ExecStart=/usr/bin/touchline "));
        // At the path in the unit.
        unit.replace("/usr/bin/touchline", env!("CARGO_BIN_EXE_touchline"))
    };
    let metrics = unit("touchline-metrics.service");
    let units = [
        (
            "touchline-gateway@cme-340.service",
            unit("touchline-gateway@.service"),
        ),
        (
            "touchline-relay@links.service",
            unit("touchline-relay@.service"),
        ),
        (
            "wrong.service",
            metrics.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes"),
        ),
        ("touchline-metrics.service", metrics),
    ];
    for (name, text) in units {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("our folder");
        let output = match Command::new("systemd-analyze")
            .arg("verify")
            .arg(&path)
            .output()
        {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no systemd-analyze here");
                break;
            }
            output => output.expect("systemd-analyze starts"),
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Reports about other units, and about the host, are ignored.
        let of_ours: Vec<_> = said.lines().filter(|line| line.contains(name)).collect();
        match name {
            "wrong.service" => assert!(said.contains("NoNewPrivilege"), "{said}"),
            _ => assert!(of_ours.is_empty(), "{said}"),
        }
    }
    std::fs::remove_dir_all(&folder).expect("our folder");
}
