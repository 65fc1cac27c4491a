//! Pinned loops: processors 2 and 3 of the test host are isolated.

use super::super::finding::Status;
use super::super::host::Host;
use super::super::pinned::check;
use super::super::rules::Check;
use super::{ISOLATED, MadeUp, NOHZ_FULL};

fn of(host: &MadeUp, config: &str) -> Option<Check> {
    host.write("config.toml", config);
    let checked = check(&Host::made_up(&host.0), &host.0.join("config.toml"));
    checked.unwrap_or_else(|_| panic!("the file can be read"))
}

/// Gateway and relay; a loop that is not pinned has nothing to check.
#[test]
fn a_pinned_loop_on_a_processor_that_is_not_isolated_is_found() {
    let host = MadeUp::new("pinned");
    let gateway = |cpu: usize| format!("bus = \"a\"\n[gateway]\nloop_cpu_affinity = {cpu}\n");
    let found = of(&host, &gateway(2)).expect("it is pinned");
    assert_eq!((found.status, &found.fix), (Status::Ok, &None));
    let said = "loop_cpu_affinity: 2 isolated, without the timer of the scheduler";
    assert!(found.seen.ends_with(said), "{found:?}");

    let found = of(&host, &gateway(1)).expect("it is pinned");
    assert_eq!(found.status, Status::Warn);
    let said = "loop_cpu_affinity: 1 not in isolated, 1 not in nohz_full";
    assert!(found.seen.ends_with(said), "{found:?}");
    let fix = "add isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1 to the kernel's command line and restart";
    assert_eq!(found.fix.as_deref(), Some(fix));

    let relay = "cpu_affinity = 3\ndriver_cpus = [0, 1, 2]\n";
    let found = of(&host, relay).expect("it is pinned");
    let said = "cpu_affinity, driver_cpus: 0-1 not in isolated, 0-1 not in nohz_full";
    assert!(found.seen.ends_with(said), "{found:?}");

    assert_eq!(of(&host, "bus = \"a\"\n[gateway]\nidle = \"spin\"\n"), None);
    assert_eq!(of(&host, "loop_cpu_affinity ="), None);
}

/// Each list of the kernel counts alone; without one of them the finding is unknown.
#[test]
fn a_timer_on_an_isolated_processor_is_found_and_a_hidden_list_is_unknown() {
    let host = MadeUp::new("pinned-timer");
    host.write(NOHZ_FULL, "(null)\n");
    let config = "[gateway]\nloop_cpu_affinity = 2\n";
    let found = of(&host, config).expect("it is pinned");
    assert_eq!(found.status, Status::Warn);
    let fix = "add nohz_full=2 rcu_nocbs=2 to the kernel's command line and restart";
    assert_eq!(found.fix.as_deref(), Some(fix));
    host.remove(ISOLATED);
    let found = of(&host, config).expect("it is pinned");
    assert_eq!((found.status, found.fix), (Status::Unknown, None));
}
