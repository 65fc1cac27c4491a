//! Scenarios from files: ours, and public ones if available.

use super::tester;
use std::path::Path;
use touchline_lab::fix::scenario::{Scenario, Step};

#[test]
fn our_scenarios_hold_in_both_roles() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session/fix/scenarios");
    assert_eq!(hold(&folder), 13);
}

/// Scenarios with two connections need a complete acceptor; the tests of the command run them.
#[test]
fn public_scenarios_hold_in_both_roles() {
    let Some(captures) = touchline_testing::captures("public scenarios of FIX") else {
        return;
    };
    let folder = captures.join("quickfix-at/fix44");
    // The complete public set, if available.
    let folder = std::env::var_os("FIX_SCENARIOS").map_or(folder, Into::into);
    if !folder.is_dir() {
        touchline_testing::skip(&format!("{} does not exist", folder.display()));
        return;
    }
    let ran = hold(&folder);
    assert!(ran >= 19, "only {ran} scenarios");
}

/// Runs every scenario of a folder with one connection at a time, as acceptor and as initiator.
/// Returns their number.
fn hold(folder: &Path) -> usize {
    let version = match folder.ends_with("fix42") {
        true => "FIX.4.2",
        false => "FIX.4.4",
    };
    let (mut ran, mut failures) = (0, Vec::new());
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "def") {
            continue;
        }
        let text = std::fs::read(&path).expect("a file");
        let name = path.display().to_string();
        let scenario = Scenario::parse(&text).unwrap_or_else(|what| panic!("{name}: {what}"));
        let mut steps = scenario.steps.iter();
        if steps.any(|(_, step)| matches!(step, Step::Connect(2))) {
            continue;
        }
        ran += 1;
        let is_44 = text.windows(7).any(|text| text == b"49=TW44");
        let target = if is_44 { "TW44" } else { "TW" };
        failures.extend(tester::run(&name, &scenario, version, target));
    }
    assert!(
        failures.is_empty(),
        "{} of {ran}:\n{}",
        failures.len(),
        failures.join("\n")
    );
    ran
}
