//! Each rule on a test host that passes every check, and on one that fails this check.

use super::Asked;
use super::finding::Status;
use super::host::{Answers, Host, Space};
use super::rules::{Check, RULES, check};
use std::collections::BTreeMap;
use std::path::Path;
use touchline_lab::random::{Random, seeds};
use touchline_net::nic::Timestamps;
use touchline_testing::Folder;

mod pinned;
mod xdp;

/// Files of a host that passes: processors 0 to 3, with --cpus 2,3.
const WELL: &[(&str, &str)] = &[
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc\n",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/available_clocksource",
        "tsc hpet acpi_pm \n",
    ),
    (
        CPUINFO,
        "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n",
    ),
    (ONLINE, "0-3\n"),
    (ISOLATED, "2-3\n"),
    (NOHZ_FULL, "2-3\n"),
    (
        "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor",
        "performance\n",
    ),
    (
        "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
        "performance\n",
    ),
    (NO_TURBO, "1\n"),
    (
        "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
        "2\n",
    ),
    (
        "sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
        "3\n",
    ),
    ("proc/irq/24/smp_affinity_list", "0-3\n"),
    ("proc/irq/24/effective_affinity_list", "0\n"),
    ("proc/irq/24/eth0-rx-0/.keep", ""),
    ("proc/irq/25/smp_affinity_list", "0-3\n"),
    ("proc/irq/25/effective_affinity_list", "2\n"), // no handler
    (
        MEMINFO,
        "MemTotal: 1000 kB\nHugePages_Total:     0\nHugePages_Free:      0\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "always within_size [advise] never deny force\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    (
        LIMITS,
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max open files            4096                 4096                 files     \n\
         Max locked memory         unlimited            unlimited            bytes     \n",
    ),
    (
        STATUS,
        "Name:\ttouchline\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n",
    ),
    ("proc/swaps", "Filename\t\t\t\tType\n"),
    (
        MOUNTS,
        "none / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid 0 0\n",
    ),
    ("proc/sys/net/core/rmem_max", "134217728\n"),
    ("proc/sys/net/core/rmem_default", "212992\n"),
    ("proc/sys/net/core/netdev_max_backlog", "10000\n"),
    ("proc/sys/net/core/busy_read", "50\n"),
    (MAPS, "7f00 r-xp /usr/lib/libc.so.6\n"),
    (ENVIRON, "PATH=/usr/bin\0HOME=/root\0"),
    (FLAGS, "0x1003\n"),
    (
        PROTOCOLS,
        "protocol  size sockets\nXDP       1024      0\nUDP       1024      9\n",
    ),
    (MTU, "1500\n"),
    (RELEASE, "6.8.0-40-generic\n"),
    (
        ROUTE,
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
         eth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
         eth0\t000000E0\t00000000\t0001\t0\t0\t0\t000000F0\t0\t0\t0\n",
    ),
    ("proc/sys/net/ipv4/conf/all/rp_filter", "0\n"),
    ("proc/sys/net/ipv4/conf/eth0/rp_filter", "2\n"),
    ("proc/sys/net/ipv4/igmp_max_memberships", "20\n"),
    ("proc/sys/net/core/wmem_max", "4194304\n"),
    (
        "proc/71/status",
        "Name:\ttouchline\nCpus_allowed_list:\t0-4\n",
    ),
    ("proc/71/task/71/comm", "touchline\n"),
    ("proc/71/task/72/comm", "conductor\n"),
    ("proc/71/task/73/comm", "sender\n"),
    ("proc/71/task/74/comm", "receiver\n"),
    ("dev/shm/touchline-aeron-relay-71/cnc.dat", ""),
];

const CPUINFO: &str = "proc/cpuinfo";
const ONLINE: &str = "sys/devices/system/cpu/online";
const ISOLATED: &str = "sys/devices/system/cpu/isolated";
const NOHZ_FULL: &str = "sys/devices/system/cpu/nohz_full";
const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const MEMINFO: &str = "proc/meminfo";
const LIMITS: &str = "proc/self/limits";
const STATUS: &str = "proc/self/status";
const MAPS: &str = "proc/self/maps";
const ENVIRON: &str = "proc/self/environ";
const MOUNTS: &str = "proc/mounts";
const FLAGS: &str = "sys/class/net/eth0/flags";
const PROTOCOLS: &str = "proc/net/protocols";
const MTU: &str = "sys/class/net/eth0/mtu";
const RELEASE: &str = "proc/sys/kernel/osrelease";
const ROUTE: &str = "proc/net/route";

const ANSWERS: Answers = Answers {
    shm: Some(Space {
        total_bytes: 2 << 30,
        free_bytes: 1 << 30,
    }),
    timestamps: Some(Timestamps {
        hardware: true,
        software: true,
        clock: Some(0),
    }),
};

/// Changed file, and the resulting finding of its rule. Other rules are unaffected.
const BROKEN: &[(&str, Status, &str, &str, &str)] = &[
    (
        "clock_source",
        Status::Bad,
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "hpet\n",
        "echo tsc > ",
    ),
    (
        "clock_source",
        Status::Warn,
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "kvm-clock\n",
        "echo tsc > ",
    ),
    (
        "tsc",
        Status::Bad,
        CPUINFO,
        "flags : tsc constant_tsc\n",
        "invtsc",
    ),
    (
        "cpus_usable",
        Status::Bad,
        STATUS,
        "CapEff:\t0000000000000000\nCpus_allowed_list:\t0,1,3\n",
        "AllowedCPUs=2-3",
    ),
    ("cpus_usable", Status::Bad, ONLINE, "0-2\n", "chcpu -e 3"),
    (
        "governor",
        Status::Warn,
        "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
        "powersave\n",
        "frequency-set -g performance",
    ),
    ("turbo", Status::Warn, NO_TURBO, "0\n", "echo 1 > "),
    (
        "isolated",
        Status::Warn,
        ISOLATED,
        "1-2\n",
        "isolcpus=managed_irq,domain,1-3 ",
    ),
    (
        "nohz_full",
        Status::Warn,
        NOHZ_FULL,
        "  (null)\n",
        "nohz_full=2-3 ",
    ),
    (
        "smt_siblings",
        Status::Warn,
        "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
        "0,2\n",
        "chcpu -d 0",
    ),
    (
        "smt_siblings",
        Status::Warn,
        "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
        "2-3\n",
        "different cores",
    ),
    (
        "irq_affinity",
        Status::Warn,
        "proc/irq/24/effective_affinity_list",
        "3\n",
        "for i in 24; do echo 0-1 > /proc/irq/$i/smp_affinity_list",
    ),
    (
        "huge_pages",
        Status::Warn,
        "sys/kernel/mm/transparent_hugepage/shmem_enabled",
        "always within_size advise [never] deny force\n",
        "echo advise > ",
    ),
    (
        "transparent_huge_pages",
        Status::Warn,
        "sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never\n",
        "echo madvise > ",
    ),
    (
        "memlock",
        Status::Warn,
        LIMITS,
        "Max open files            4096                 4096                 files     \n\
         Max locked memory         8388608              8388608              bytes     \n",
        "LimitMEMLOCK=infinity",
    ),
    (
        "open_files",
        Status::Warn,
        LIMITS,
        "Max open files            256                  4096                 files     \n\
         Max locked memory         unlimited            unlimited            bytes     \n",
        "LimitNOFILE=4096",
    ),
    (
        "swap",
        Status::Warn,
        "proc/swaps",
        "Filename\t\t\t\tType\n/dev/sda2  partition 100 0 -2\n",
        "swapoff -a",
    ),
    (
        "shm",
        Status::Bad,
        MOUNTS,
        "none / ext4 rw 0 0\n",
        "mount -t tmpfs",
    ),
    (
        "shm",
        Status::Bad,
        MOUNTS,
        "tmpfs /dev/shm tmpfs rw 0 0\nnone /dev/shm ext4 rw 0 0\n",
        "mount -t tmpfs",
    ),
    (
        "receive_buffer",
        Status::Warn,
        "proc/sys/net/core/rmem_max",
        "4194304\n",
        "sysctl -w net.core.rmem_max=8388608",
    ),
    (
        "backlog",
        Status::Warn,
        "proc/sys/net/core/netdev_max_backlog",
        "1000\n",
        "netdev_max_backlog=10000",
    ),
    (
        "busy_poll",
        Status::Warn,
        "proc/sys/net/core/busy_read",
        "0\n",
        "busy_read=50",
    ),
    (
        "interface",
        Status::Bad,
        FLAGS,
        "0x1002\n",
        "ip link set eth0 up",
    ),
    ("interface", Status::Bad, FLAGS, "0x3\n", "multicast on"),
    (
        "socket_library",
        Status::Warn,
        MAPS,
        "7f00 r-xp /usr/lib64/libonload.so\n",
        "EF_RX_TIMESTAMPING=1",
    ),
    (
        "socket_library",
        Status::Bad,
        ENVIRON,
        "PATH=/usr/bin\0LD_PRELOAD=libvma.so\0",
        "Debian package",
    ),
    (
        "socket_library",
        Status::Warn,
        "dev/onload",
        "",
        "onload --profile=latency",
    ),
    ("xdp", Status::Warn, PROTOCOLS, "protocol  size\n", "5.9"),
    ("xdp", Status::Warn, MTU, "9000\n", "mtu 1500"),
    ("xdp", Status::Warn, RELEASE, "5.4.0-216-generic\n", "5.9"),
    (
        "reverse_path",
        Status::Warn,
        "proc/sys/net/ipv4/conf/eth0/rp_filter",
        "1\n",
        "conf.eth0.rp_filter=2",
    ),
    (
        "igmp_memberships",
        Status::Warn,
        "proc/sys/net/ipv4/igmp_max_memberships",
        "2\n",
        "igmp_max_memberships=20",
    ),
    (
        "send_buffer",
        Status::Warn,
        "proc/sys/net/core/wmem_max",
        "212992\n",
        "wmem_max=2097152",
    ),
    (
        "aeron_drivers",
        Status::Warn,
        "dev/shm/touchline-aeron-relay-72/cnc.dat",
        "",
        "rm -r /dev/shm/touchline-aeron-relay-72",
    ),
    (
        "aeron_threads",
        Status::Warn,
        "proc/71/status",
        "Name:\ttouchline\nCpus_allowed_list:\t0-3\n",
        "remove driver = \"threads\"",
    ),
];

/// Rules that fail by an answer or an argument instead of a file.
const BROKEN_OTHERWISE: &[&str] = &[
    "nic_stamps",
    "multicast_route",
    "shm",
    "interface",
    "aeron_receive_buffer",
];

/// A directory with the files of a test host.
struct MadeUp(Folder);

impl MadeUp {
    fn new(name: &str) -> MadeUp {
        let host = MadeUp(Folder::new(name));
        WELL.iter().for_each(|(path, text)| host.write(path, text));
        host
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).expect("a temporary folder");
        std::fs::write(path, text).expect("a temporary folder");
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.0.join(path)).expect("it was written");
    }

    fn check(&self) -> Vec<Check> {
        self.check_with(ANSWERS, None)
    }

    fn check_with(&self, answers: Answers, interface: Option<&str>) -> Vec<Check> {
        let asked = Asked {
            cpus: Some([2, 3].into_iter().collect()),
            interface: interface.map(str::to_owned),
        };
        check(&Host::answering(&self.0, answers), &asked)
    }
}

/// The check of this name, after checking its status and that all others are ok.
#[track_caller]
fn only(checks: &[Check], name: &str, status: Status) -> Check {
    for check in checks.iter().filter(|check| check.name != name) {
        assert_eq!(check.status, Status::Ok, "broken was {name}: {check:?}");
    }
    let found = checks.iter().find(|check| check.name == name);
    let found = found.unwrap_or_else(|| panic!("no rule is called {name}"));
    assert_eq!(found.status, status, "{found:?}");
    found.clone()
}

#[test]
fn a_well_configured_host_has_no_finding() {
    for check in MadeUp::new("well").check() {
        assert_eq!((check.status, &check.fix), (Status::Ok, &None), "{check:?}");
    }
}

#[test]
fn each_fault_is_found_without_other_findings() {
    for (number, (name, status, path, text, fix)) in BROKEN.iter().enumerate() {
        let host = MadeUp::new(&format!("broken-{number}"));
        host.write(path, text);
        let found = only(&host.check(), name, *status);
        let said = found.fix.unwrap_or_default();
        assert!(said.contains(fix), "{name}: {fix:?} is not in {said:?}");
    }
}

#[test]
fn every_rule_is_broken_once() {
    for rule in RULES {
        let by_file = BROKEN.iter().any(|(name, ..)| *name == rule.name);
        assert!(
            by_file || BROKEN_OTHERWISE.contains(&rule.name),
            "{}",
            rule.name
        );
    }
}

#[test]
fn a_network_card_without_timestamps_is_found() {
    let host = MadeUp::new("stamps");
    let timestamps = |hardware, software| Answers {
        timestamps: Some(Timestamps {
            hardware,
            software,
            clock: None,
        }),
        ..ANSWERS
    };
    let kernel = host.check_with(timestamps(false, true), None);
    assert!(only(&kernel, "nic_stamps", Status::Warn).fix.is_some());
    let nobody = host.check_with(timestamps(false, false), None);
    assert!(only(&nobody, "nic_stamps", Status::Bad).fix.is_some());
}

#[test]
fn a_full_dev_shm_is_found() {
    let host = MadeUp::new("shm");
    for (free_bytes, status) in [(32 << 20, Status::Bad), (128 << 20, Status::Warn)] {
        let shm = Some(Space {
            total_bytes: 1 << 30,
            free_bytes,
        });
        let checks = host.check_with(Answers { shm, ..ANSWERS }, None);
        let found = only(&checks, "shm", status);
        assert!(found.fix.is_some_and(|fix| fix.contains("remount")));
    }
}

#[test]
fn a_group_that_is_routed_elsewhere_is_found() {
    let host = MadeUp::new("route");
    host.write("sys/class/net/eth9/flags", "0x1003\n");
    host.write("proc/sys/net/ipv4/conf/eth9/rp_filter", "0\n");
    host.write("sys/class/net/eth9/mtu", "1500\n");
    let found = only(
        &host.check_with(ANSWERS, Some("eth9")),
        "multicast_route",
        Status::Warn,
    );
    assert!(
        found.seen.contains("through eth0")
            && found.fix.is_some_and(|fix| fix.contains("dev eth9"))
    );
    host.write(ROUTE, "Iface\tDestination\n");
    only(
        &host.check_with(ANSWERS, Some("eth0")),
        "multicast_route",
        Status::Warn,
    );
}

#[test]
fn a_missing_interface_is_found_and_existing_ones_are_listed() {
    let checks = MadeUp::new("interface").check_with(ANSWERS, Some("eth7"));
    let found = checks
        .iter()
        .find(|check| check.name == "interface")
        .expect("a rule");
    assert_eq!(found.status, Status::Bad);
    assert!(
        found.fix.as_ref().is_some_and(|fix| fix.contains("eth0")),
        "{found:?}"
    );
}

/// Capabilities replace limits, except for the sockets of Aeron.
#[test]
fn resource_limits_are_not_checked_for_privileged_users() {
    let host = MadeUp::new("rights");
    host.write(
        STATUS,
        "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-3\n",
    );
    host.write("proc/sys/net/core/rmem_max", "2097152\n");
    host.write("proc/sys/net/core/busy_read", "0\n");
    host.write(
        LIMITS,
        "Max open files 4096 4096 files\nMax locked memory 0 0 bytes\n",
    );
    for check in host.check() {
        assert_eq!(check.status, Status::Ok, "{check:?}");
    }
    host.write("proc/sys/net/core/rmem_max", "2097151\n");
    let found = only(&host.check(), "aeron_receive_buffer", Status::Warn);
    let fix = found.fix.unwrap_or_default();
    assert!(fix.contains("sysctl -w net.core.rmem_max="), "{fix}");
}

/// Unreadable facts are unknown, in one line, and not failures.
#[test]
fn unreadable_values_are_unknown() {
    let mut seen_unknown = BTreeMap::new();
    for (number, (path, _)) in WELL.iter().enumerate() {
        let host = MadeUp::new(&format!("unseen-{number}"));
        host.remove(path);
        for check in host.check() {
            assert_eq!(check.seen.lines().count(), 1, "{check:?}");
            *seen_unknown.entry(check.name).or_insert(0) +=
                u32::from(check.status == Status::Unknown);
            let fix = [Status::Warn, Status::Bad].contains(&check.status);
            assert_eq!(check.fix.is_some(), fix, "{check:?}");
        }
    }
    for rule in RULES {
        assert!(
            seen_unknown[rule.name] > 0,
            "{} is never unknown",
            rule.name
        );
    }
    let nowhere = Host::made_up(Path::new("/nonexistent"));
    for check in check(&nowhere, &Asked::default()) {
        assert_eq!(
            (check.status, check.fix),
            (Status::Unknown, None),
            "{}",
            check.name
        );
    }
}

/// Random file content: every check ends with one-line results.
#[test]
fn invalid_input_causes_no_panic() {
    let host = MadeUp::new("nonsense");
    for seed in seeds(40) {
        let mut random = Random::from_seed(seed);
        for (path, text) in WELL {
            let mut bytes = text.as_bytes().to_vec();
            match random.below(3) {
                0 => bytes.truncate(random.index(bytes.len() + 1)),
                1 => bytes
                    .iter_mut()
                    .for_each(|byte| *byte = random.below(256) as u8),
                _ => {}
            }
            host.write(path, bytes);
        }
        for check in host.check() {
            assert_eq!(check.seen.lines().count().max(1), 1, "{seed}: {check:?}");
        }
    }
}
