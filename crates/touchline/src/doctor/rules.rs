//! Table of the checks and their reasons.

use super::finding::{Asked, Finding, Status};
use super::host::{Host, Unknown};
use super::{aeron, memory, network, preload, processors};
use touchline_types::text::Visible;

/// A finding with its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Name of the rule.
    pub name: &'static str,
    /// Result.
    pub status: Status,
    /// The finding, in one line.
    pub seen: String,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// The fix, as a command if there is one; present unless the result is ok or unknown.
    pub fix: Option<String>,
}

/// A rule. A failed check is unknown.
pub struct Rule {
    /// Name, as in the documentation.
    pub name: &'static str,
    why: &'static str,
    look: fn(&Host, &Asked) -> Result<Finding, Unknown>,
}

const fn rule(
    name: &'static str,
    look: fn(&Host, &Asked) -> Result<Finding, Unknown>,
    why: &'static str,
) -> Rule {
    Rule { name, why, look }
}

/// All rules, in output order.
pub const RULES: &[Rule] = &[
    rule(
        "clock_source",
        processors::clock_source,
        "reading the time costs 20 ns with the processor's counter and a microsecond or more with another clock",
    ),
    rule(
        "tsc",
        processors::tsc,
        "latencies are differences of the processor's counter: it must run evenly at any frequency and in sleep",
    ),
    rule(
        "cpus_usable",
        processors::usable,
        "a thread is bound to its processor when it starts, or does not start",
    ),
    rule(
        "governor",
        processors::governor,
        "a processor at a low frequency takes tens of microseconds to speed up when a packet wakes it",
    ),
    rule(
        "turbo",
        processors::turbo,
        "with turbo the frequency depends on the load of other cores, and so do latencies; without it they are steady",
    ),
    rule(
        "isolated",
        processors::isolated,
        "the system puts other work on a processor that is not isolated, milliseconds at a time",
    ),
    rule(
        "nohz_full",
        processors::nohz_full,
        "the timer interrupts a busy processor 100 to 1,000 times a second, some microseconds each",
    ),
    rule(
        "smt_siblings",
        processors::siblings,
        "two hardware threads of a core share its caches and execution units: each is slower while the other runs",
    ),
    rule(
        "irq_affinity",
        processors::interrupts,
        "an interrupt on the processor of the loop stops it for microseconds, and its handler evicts its caches",
    ),
    rule(
        "huge_pages",
        memory::huge_pages,
        "with `huge_pages` a ring takes a few TLB entries instead of thousands; with this setting the kernel does not provide them",
    ),
    rule(
        "transparent_huge_pages",
        memory::transparent_huge_pages,
        "set to always, the kernel moves and merges pages of every process in the background, and pauses them for it",
    ),
    rule(
        "memlock",
        memory::memlock,
        "memory of a bus that is not locked may be swapped out, and reading it then waits for a disk",
    ),
    rule(
        "swap",
        memory::swap,
        "a page that was swapped out costs a hundred microseconds to milliseconds when it is touched",
    ),
    rule(
        "shm",
        memory::shm,
        "buses live in /dev/shm: a ring, and tables that grow with the instruments",
    ),
    rule(
        "open_files",
        memory::open_files,
        "each feed and line is a socket, each bus a few files",
    ),
    rule(
        "receive_buffer",
        network::receive_buffer,
        "a burst waits in the socket's buffer while the loop is busy; the kernel silently grants less than requested",
    ),
    rule(
        "backlog",
        network::backlog,
        "packets of virtual and loopback interfaces queue here before any socket sees them; packets beyond the limit are dropped",
    ),
    rule(
        "busy_poll",
        network::busy_poll,
        "`busy_poll_us` lets a receive call poll the card; without privileges this setting is its limit",
    ),
    rule(
        "interface",
        network::interface,
        "an interface that is down, or has no multicast, receives nothing",
    ),
    rule(
        "multicast_route",
        network::multicast_route,
        "groups are joined on the interface of the route to them, unless `interface` names one",
    ),
    rule(
        "reverse_path",
        network::reverse_path,
        "a strict filter drops every packet whose sender is routed by another interface, without a log line",
    ),
    rule(
        "igmp_memberships",
        network::memberships,
        "a socket that may join no more groups misses whole feeds",
    ),
    rule(
        "aeron_receive_buffer",
        network::aeron_receive_buffer,
        "a relay over Aeron loses what a burst has beyond the socket's buffer, and its receive window is no larger",
    ),
    rule(
        "send_buffer",
        network::send_buffer,
        "a relay over Aeron sends bursts of datagrams; datagrams beyond the socket's buffer are sent late",
    ),
    rule(
        "aeron_drivers",
        aeron::drivers,
        "a media driver that was killed leaves its folder of some 40 MiB in /dev/shm until the next relay starts",
    ),
    rule(
        "aeron_threads",
        aeron::threads,
        "driver threads that share a CPU with the relay or with readers delay every message by time slices of the scheduler",
    ),
    rule(
        "nic_stamps",
        network::timestamps,
        "a hardware timestamp is the time on the wire; the kernel's timestamp is later by the interrupt latency",
    ),
    rule(
        "socket_library",
        preload::socket_library,
        "a preloaded library reads the card without the kernel; one that is not loaded, or without the card's time, costs what it should save",
    ),
    rule(
        "xdp",
        network::xdp,
        "a gateway with receive = \"xdp\" reads packets from the driver, without the kernel's network stack",
    ),
];

/// Checks a host by every rule.
pub fn check(host: &Host, asked: &Asked) -> Vec<Check> {
    let check = |rule: &Rule| {
        let looked = (rule.look)(host, asked);
        let found = looked.unwrap_or_else(|Unknown(seen)| Finding {
            status: Status::Unknown,
            seen,
            fix: None,
        });
        Check {
            name: rule.name,
            status: found.status,
            seen: Visible(&found.seen).to_string(),
            why: rule.why,
            fix: found.fix,
        }
    };
    RULES.iter().map(check).collect()
}
