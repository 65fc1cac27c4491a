//! Checks of the network on the receive side.

use super::finding::{Asked, Finding};
use super::host::{Host, Unknown};
use super::memory::has_capability;
use crate::format::bytes;
use std::net::Ipv4Addr;
use touchline_gateway::config::Network;

type Look = Result<Finding, Unknown>;

/// `CAP_NET_ADMIN` of `linux/capability.h`.
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;
/// First kernel that attaches a program by a descriptor; first kernel that checks our program without `CAP_PERFMON`.
const XDP_FROM: (u32, u32) = (5, 9);
const NO_PERFMON_FROM: (u32, u32) = (6, 7);
/// Packets of a burst of a busy channel that an interface queues.
const BACKLOG_PACKETS: u64 = 5_000;
/// Default limit of the kernel. A channel has eight groups, each on a socket of its own.
const MEMBERSHIPS: u64 = 20;
/// A multicast group as venues use them.
const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 31, 1);
/// Flags of `linux/if.h`.
const UP: u64 = 0x1;
const LOOPBACK: u64 = 0x8;
const MULTICAST: u64 = 0x1000;

pub fn receive_buffer(host: &Host, _: &Asked) -> Look {
    let max = host.number("/proc/sys/net/core/rmem_max")?;
    let usual = host.number("/proc/sys/net/core/rmem_default")?;
    let wanted = Network::default().receive_buffer_bytes as u64;
    let seen = format!("up to {}, {} by default", bytes(max), bytes(usual));
    Ok(match max >= wanted {
        true => Finding::ok(seen),
        false if has_capability(host, CAP_NET_ADMIN) => {
            Finding::ok(format!("{seen}; more with CAP_NET_ADMIN"))
        }
        false => Finding::warn(
            format!("{seen}; a gateway requests {}", bytes(wanted)),
            format!("sysctl -w net.core.rmem_max={wanted}"),
        ),
    })
}

/// Socket buffers of a media driver of Aeron.
const AERON_BUFFER_BYTES: u64 = 2 * 1024 * 1024;

/// A media driver requests its buffers without `SO_RCVBUFFORCE`, so `CAP_NET_ADMIN` does not help.
pub fn aeron_receive_buffer(host: &Host, _: &Asked) -> Look {
    let max = host.number("/proc/sys/net/core/rmem_max")?;
    let seen = format!("up to {}", bytes(max));
    Ok(match max >= AERON_BUFFER_BYTES {
        true => Finding::ok(seen),
        // The limit that a gateway needs as well.
        false => Finding::warn(
            format!(
                "{seen}, also with CAP_NET_ADMIN; a relay over Aeron requests {}",
                bytes(AERON_BUFFER_BYTES)
            ),
            format!(
                "sysctl -w net.core.rmem_max={}",
                Network::default().receive_buffer_bytes
            ),
        ),
    })
}

pub fn send_buffer(host: &Host, _: &Asked) -> Look {
    let max = host.number("/proc/sys/net/core/wmem_max")?;
    let seen = format!("up to {}", bytes(max));
    Ok(match max >= AERON_BUFFER_BYTES {
        true => Finding::ok(seen),
        false => Finding::warn(
            format!(
                "{seen}; a relay over Aeron requests {}",
                bytes(AERON_BUFFER_BYTES)
            ),
            format!("sysctl -w net.core.wmem_max={AERON_BUFFER_BYTES}"),
        ),
    })
}

pub fn backlog(host: &Host, _: &Asked) -> Look {
    let packets = host.number("/proc/sys/net/core/netdev_max_backlog")?;
    let seen = format!("{packets} packets");
    Ok(match packets {
        ..BACKLOG_PACKETS => Finding::warn(seen, "sysctl -w net.core.netdev_max_backlog=10000"),
        _ => Finding::ok(seen),
    })
}

pub fn busy_poll(host: &Host, _: &Asked) -> Look {
    let us = host.number("/proc/sys/net/core/busy_read")?;
    Ok(match us {
        0 if has_capability(host, CAP_NET_ADMIN) => Finding::ok("any duration, with CAP_NET_ADMIN"),
        0 => Finding::warn(
            "0 us",
            "sysctl -w net.core.busy_read=50, if busy_poll_us is used",
        ),
        _ => Finding::ok(format!("{us} us")),
    })
}

pub fn interface(host: &Host, asked: &Asked) -> Look {
    let name = chosen(host, asked)?;
    let Ok(flags) = host.text(&format!("/sys/class/net/{name}/flags")) else {
        let there = host.names("/sys/class/net").join(", ");
        return Ok(match there.is_empty() {
            true => return Err(Unknown::because("/sys/class/net shows no interface")),
            false => Finding::bad(
                format!("there is no {name}"),
                format!("--interface with one of these: {there}"),
            ),
        });
    };
    let flags = flags
        .strip_prefix("0x")
        .and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let flags = flags.ok_or_else(|| Unknown(format!("the flags of {name} are not a number")))?;
    Ok(if flags & UP == 0 {
        Finding::bad(format!("{name} is down"), format!("ip link set {name} up"))
    } else if flags & (MULTICAST | LOOPBACK) == 0 {
        let fix = format!("ip link set {name} multicast on");
        Finding::bad(format!("{name} has no multicast"), fix)
    } else {
        // The loopback interface delivers multicast without the flag.
        Finding::ok(format!("{name} is up and has multicast"))
    })
}

pub fn multicast_route(host: &Host, asked: &Asked) -> Look {
    let routed = routed(host)?;
    let fix = |name: &str| {
        format!("ip route add 224.0.0.0/4 dev {name}, or interface = \"{name}\" in [venue]")
    };
    Ok(match (routed, &asked.interface) {
        (Some(by), None) => Finding::ok(format!("by {by}")),
        (Some(by), Some(name)) if by == *name => Finding::ok(format!("by {by}")),
        (Some(by), Some(name)) => Finding::warn(format!("through {by}, not {name}"), fix(name)),
        (None, name) => Finding::warn("none", fix(name.as_deref().unwrap_or("IF"))),
    })
}

pub fn reverse_path(host: &Host, asked: &Asked) -> Look {
    const CONF: &str = "/proc/sys/net/ipv4/conf";
    let name = chosen(host, asked)?;
    let of_all = host.number(&format!("{CONF}/all/rp_filter"))?;
    let own = host.number(&format!("{CONF}/{name}/rp_filter"))?;
    // The kernel uses the higher value; 1 is strict, 2 loose.
    Ok(match of_all.max(own) {
        0 => Finding::ok("off"),
        1 => Finding::warn(
            format!("strict on {name}"),
            format!("sysctl -w net.ipv4.conf.{name}.rp_filter=2"),
        ),
        _ => Finding::ok("loose"),
    })
}

pub fn memberships(host: &Host, _: &Asked) -> Look {
    let groups = host.number("/proc/sys/net/ipv4/igmp_max_memberships")?;
    let seen = format!("{groups} groups a socket");
    let fix = format!("sysctl -w net.ipv4.igmp_max_memberships={MEMBERSHIPS}");
    Ok(match groups {
        0 => Finding::bad(seen, fix),
        1..MEMBERSHIPS => Finding::warn(seen, fix),
        _ => Finding::ok(seen),
    })
}

pub fn timestamps(host: &Host, asked: &Asked) -> Look {
    let name = chosen(host, asked)?;
    let timestamps = host.timestamps(&name)?;
    let clock = match timestamps.clock {
        Some(number) => format!(", clock /dev/ptp{number}"),
        None => String::new(),
    };
    Ok(match (timestamps.hardware, timestamps.software) {
        (true, _) => Finding::ok(format!(
            "{name} timestamps every packet{clock}; `hwstamp_ctl -i {name} -r 1` enables it"
        )),
        (false, true) => Finding::warn(
            format!("{name}: timestamps of the kernel only"),
            "a card that timestamps every packet (`ethtool -T IF`: HWTSTAMP_FILTER_ALL)",
        ),
        (false, false) => Finding::bad(
            format!("{name}: no timestamps"),
            "another driver, or stamps = false in [network]",
        ),
    })
}

/// Check for `receive = "xdp"` alone. A capability that this process lacks is reported, not counted as a fault of the host.
pub fn xdp(host: &Host, asked: &Asked) -> Look {
    let name = chosen(host, asked)?;
    let (release, version) = kernel(host)?;
    if version < XDP_FROM {
        let fix = "a kernel of 5.9 or later, or receive = \"sockets\"";
        return Ok(Finding::warn(
            format!("kernel {release} is too old for AF_XDP"),
            fix,
        ));
    }
    let protocols = host.text("/proc/net/protocols")?;
    if !protocols.lines().any(|line| line.starts_with("XDP ")) {
        let fix = "a kernel of 5.9 or later with CONFIG_XDP_SOCKETS, or receive = \"sockets\"";
        return Ok(Finding::warn("this kernel has no AF_XDP", fix));
    }
    let bytes = host.number(&format!("/sys/class/net/{name}/mtu"))?;
    let bytes_max = u64::from(touchline_net::xdp::PACKET_BYTES_MAX);
    if bytes > bytes_max {
        return Ok(Finding::warn(
            format!("{name} has packets of {bytes} bytes, AF_XDP at most {bytes_max}"),
            format!("ip link set {name} mtu 1500, if no venue sends longer ones"),
        ));
    }
    if host.has_directory(&format!("/sys/class/net/{name}/bonding")) {
        let fix = format!(
            "its card in use ('cat /proc/net/bonding/{name}'), or receive = \"xdp-generic\""
        );
        return Ok(Finding::warn(
            format!("{name} is a bond, whose frames are those of its cards"),
            fix,
        ));
    }
    let needed = [
        ("CAP_NET_ADMIN", CAP_NET_ADMIN, true),
        ("CAP_BPF", CAP_BPF, true),
        ("CAP_NET_RAW", CAP_NET_RAW, true),
        ("CAP_PERFMON", CAP_PERFMON, version < NO_PERFMON_FROM),
    ];
    let missing = needed
        .iter()
        .filter(|(_, one, is_needed)| *is_needed && !has_capability(host, *one));
    let missing: Vec<_> = missing.map(|(name, ..)| *name).collect();
    Ok(Finding::ok(match missing.is_empty() {
        true => format!("{name} can be read by AF_XDP"),
        false => format!("{name} can be read by AF_XDP with {}", missing.join(", ")),
    }))
}

/// Release of the kernel, with its version.
fn kernel(host: &Host) -> Result<(String, (u32, u32)), Unknown> {
    let release = host.text("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|one: char| !one.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    match (number(), number()) {
        (Some(major), Some(minor)) => Ok((release, (major, minor))),
        _ => Err(Unknown::because("the kernel's release has no version")),
    }
}

/// The given interface, or the one that the kernel would select.
fn chosen(host: &Host, asked: &Asked) -> Result<String, Unknown> {
    match &asked.interface {
        Some(name) => Ok(name.clone()),
        None => routed(host)?.ok_or_else(|| {
            Unknown::because(
                "no interface is given, and no multicast route names one: --interface IF",
            )
        }),
    }
}

/// Interface of the most specific route to a group.
fn routed(host: &Host) -> Result<Option<String>, Unknown> {
    let routes = host.text("/proc/net/route")?;
    let route = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        // The kernel's byte order: the first byte of an address is the lowest.
        let address =
            |word: Option<&&str>| u32::from_str_radix(word?, 16).ok().map(u32::swap_bytes);
        let (network, mask) = (address(words.get(1))?, address(words.get(7))?);
        (GROUP.to_bits() & mask == network).then(|| (mask, (*words[0]).to_owned()))
    };
    let found = routes.lines().skip(1).filter_map(route);
    // The first of equal routes has the lowest metric.
    let narrowest = found.reduce(|best, next| if next.0 > best.0 { next } else { best });
    Ok(narrowest.map(|(_, name)| name))
}
