//! What is checked, and why.

use super::host::{Host, Unknown};
use super::{Asked, memory, network, processors};

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing to do.
    Ok,
    /// It works, and will be slower or less steady than it could be.
    Warn,
    /// It will not work, or its figures will be wrong.
    Bad,
    /// It cannot be seen from here.
    Unknown,
}

/// What a look at the host found.
#[derive(Debug)]
pub struct Finding {
    status: Status,
    seen: String,
    fix: Option<String>,
}

/// A finding with the rule that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Name of the rule.
    pub name: &'static str,
    /// How it is.
    pub status: Status,
    /// What was seen, in one line.
    pub seen: String,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// What to do, as a command where there is one; something that is not well has one.
    pub fix: Option<String>,
}

/// A rule. A look that fails has found nothing out.
pub struct Rule {
    /// Its name, as in documents.
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

/// All of them, in the order in which they are shown.
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
        "a processor that was slowed down takes tens of microseconds to come back when a packet wakes it",
    ),
    rule(
        "turbo",
        processors::turbo,
        "with turbo the frequency depends on what the neighbours do, and so do all figures; without it they are steady",
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
        "two threads of one core share its caches and units: each is slower while the other runs",
    ),
    rule(
        "irq_affinity",
        processors::interrupts,
        "an interrupt on the processor of the loop stops it for microseconds, and its handler evicts its caches",
    ),
    rule(
        "huge_pages",
        memory::huge_pages,
        "with `huge_pages` a ring takes a few entries of the address cache instead of thousands; without they are not given",
    ),
    rule(
        "transparent_huge_pages",
        memory::transparent_huge_pages,
        "set to always, the kernel moves and merges pages of every process in the background, and stops them for it",
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
        "each feed and line is a socket, each bus a handful of files",
    ),
    rule(
        "receive_buffer",
        network::receive_buffer,
        "a burst waits in the socket's buffer while the loop is busy; the kernel silently gives less than was asked for",
    ),
    rule(
        "backlog",
        network::backlog,
        "packets of virtual and loopback interfaces queue here before any socket sees them; what does not fit is dropped",
    ),
    rule(
        "busy_poll",
        network::busy_poll,
        "`busy_poll_us` lets a receive call poll the card; without rights it gets no more than this setting",
    ),
    rule(
        "interface",
        network::interface,
        "an interface that is down, or knows no multicast, receives nothing",
    ),
    rule(
        "multicast_route",
        network::multicast_route,
        "groups are joined on the interface that the route to them leads to, unless `interface` names one",
    ),
    rule(
        "reverse_path",
        network::reverse_path,
        "a strict filter drops every packet whose sender is routed by another interface, without a word",
    ),
    rule(
        "igmp_memberships",
        network::memberships,
        "a socket that may join no more groups misses whole feeds",
    ),
    rule(
        "nic_stamps",
        network::timestamps,
        "a stamp of the card says when a packet was on the wire; that of the kernel is late by the interrupt",
    ),
];

/// Looks at a host by every rule.
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
            seen: one_line(&found.seen),
            why: rule.why,
            fix: found.fix,
        }
    };
    RULES.iter().map(check).collect()
}

/// Files of the kernel are not ours to trust with a terminal.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

impl Status {
    /// As in output and documents.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Bad => "bad",
            Status::Unknown => "unknown",
        }
    }
}

impl Finding {
    /// Nothing to do.
    pub fn ok(seen: impl Into<String>) -> Finding {
        Finding {
            status: Status::Ok,
            seen: seen.into(),
            fix: None,
        }
    }

    /// It could be better.
    pub fn warn(seen: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding {
            status: Status::Warn,
            seen: seen.into(),
            fix: Some(fix.into()),
        }
    }

    /// It will not do.
    pub fn bad(seen: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding {
            status: Status::Bad,
            seen: seen.into(),
            fix: Some(fix.into()),
        }
    }
}
