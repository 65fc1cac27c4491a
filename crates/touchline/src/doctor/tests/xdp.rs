//! AF_XDP: capabilities by version of the kernel.

use super::{MadeUp, RELEASE, STATUS, only};
use crate::doctor::finding::Status;

/// Capabilities that this process lacks are named, and are not faults of the host: only the gateway needs them.
#[test]
fn capabilities_that_af_xdp_needs_are_named() {
    let host = MadeUp::new("xdp-rights");
    let three = 1 << 12 | 1 << 13 | 1_u64 << 39;
    let can = "eth0 can be read by AF_XDP";
    for (release, held, missing) in [
        ("6.7.0", 0, " with CAP_NET_ADMIN, CAP_BPF, CAP_NET_RAW"),
        ("6.7.0", three & !(1 << 13), " with CAP_NET_RAW"),
        ("6.7.0", three, ""),
        ("10.0-rc1", three, ""),
        ("6.6.99", three, " with CAP_PERFMON"),
        ("6.6.99", three | 1 << 38, ""),
        (
            "5.9.0",
            0,
            " with CAP_NET_ADMIN, CAP_BPF, CAP_NET_RAW, CAP_PERFMON",
        ),
    ] {
        host.write(RELEASE, release);
        host.write(
            STATUS,
            format!("CapEff:\t{held:016x}\nCpus_allowed_list:\t0-3\n"),
        );
        let found = only(&host.check(), "xdp", Status::Ok);
        assert_eq!(found.seen, format!("{can}{missing}"), "{release}");
    }
    host.write("sys/class/net/eth0/bonding/mode", "active-backup 1");
    let found = only(&host.check(), "xdp", Status::Warn);
    assert!(found.seen.starts_with("eth0 is a bond"), "{found:?}");
    host.write(RELEASE, "5.8.18");
    let found = only(&host.check(), "xdp", Status::Warn);
    assert_eq!(found.seen, "kernel 5.8.18 is too old for AF_XDP");
}
