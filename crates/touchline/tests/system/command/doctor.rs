//! `doctor`: its output on this host and on a simulated one, and its exit status. Its rules have separate tests.

use super::Desk;
use serde_json::Value;

#[test]
fn doctor_checks_this_host() {
    let desk = Desk::bare("doctor-this");
    let run = desk.run("doctor --json");
    let checks: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"))
        .collect();
    assert!(checks.len() > 20);
    let is = |check: &Value, status: &str| check["status"] == status;
    for check in &checks {
        let has_fix = is(check, "warn") || is(check, "bad");
        assert!(
            has_fix || is(check, "ok") || is(check, "unknown"),
            "{check}"
        );
        assert_eq!(check["fix"].is_string(), has_fix, "{check}");
        assert!(
            check["seen"].is_string() && check["why"].is_string(),
            "{check}"
        );
    }
    // Every Linux has these.
    for name in ["open_files", "shm", "igmp_memberships"] {
        let found = checks
            .iter()
            .find(|check| check["check"] == name)
            .expect(name);
        assert!(!is(found, "unknown"), "{found}");
    }
    let bad: Vec<_> = checks.iter().filter(|check| is(check, "bad")).collect();
    assert_eq!(run.status, i32::from(!bad.is_empty()), "{bad:?}");

    let text = desk.run("doctor");
    assert_eq!(text.status, run.status);
    assert!(
        text.stdout.contains(&format!("{} checks: ", checks.len())),
        "{}",
        text.stdout
    );
    for check in &checks {
        assert!(
            text.stdout
                .contains(check["check"].as_str().expect("a name")),
            "{check}"
        );
    }
}

#[test]
fn an_unfit_host_is_reported() {
    let desk = Desk::bare("doctor-bad");
    let clock = "host/sys/devices/system/clocksource/clocksource0";
    std::fs::create_dir_all(desk.path(clock)).expect("our folder");
    desk.write(&format!("{clock}/current_clocksource"), "hpet\n");
    let run = desk.run("doctor --root host");
    assert_eq!(run.status, 1);
    assert_eq!(
        run.stderr,
        "touchline: checks failed: clock_source; each names its fix\n"
    );
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("bad      clock_source"), "{run:?}");
    assert!(lines[2].trim_start().starts_with("fix: "), "{run:?}");
    desk.write(&format!("{clock}/current_clocksource"), "tsc\n");
    desk.run("doctor --root host").done();
}

#[test]
fn unknown_processors_and_interfaces_are_refused() {
    let desk = Desk::bare("doctor-refused");
    desk.run("doctor --cpus x")
        .refused(2, &["not a list of processors", "2,3"]);
    desk.run("doctor --cpus 3-1")
        .refused(2, &["not a list of processors"]);
    for name in ["../x", "..", "a/b", "a-name-too-long-", "a:1"] {
        desk.run(&format!("doctor --interface {name}"))
            .refused(2, &["cannot be an interface"]);
    }
}
