//! Resource use of processes and host so far, from `/proc`.

use serde::{Deserialize, Serialize};
use std::fs;
use std::time::Instant;

/// Ticks per second in `/proc`: the same on every current Linux.
const TICKS_PER_SECOND: f64 = 100.0;
const PAGE_BYTES: u64 = 4096;

/// Resource use of a process since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSample {
    user_s: f64,
    system_s: f64,
    switches: u64,
    involuntary_switches: u64,
    rss_bytes: u64,
}

/// Resource use of a process in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Name of the process.
    pub process: String,
    /// Processor seconds in user mode.
    pub user_s: f64,
    /// Processor seconds in the kernel.
    pub system_s: f64,
    /// Voluntary context switches.
    pub switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Resident memory, including touched shared memory, bytes.
    pub rss_bytes: u64,
}

impl ProcessSample {
    /// Sample of a process; zeros if it has ended.
    pub fn of(pid: u32) -> ProcessSample {
        let read = |path: String| fs::read_to_string(path).unwrap_or_default();
        let mut sample = ProcessSample::parse(&read(format!("/proc/{pid}/stat")));
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            sample.switches += line_number(&status, "voluntary_ctxt_switches:");
            sample.involuntary_switches += line_number(&status, "nonvoluntary_ctxt_switches:");
        }
        sample
    }

    /// `/proc/PID/stat`: the name is in brackets and may contain anything.
    fn parse(stat: &str) -> ProcessSample {
        let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        // The third field of the file is the first here.
        let fields: Vec<&str> = behind_name.split_whitespace().collect();
        let number = |field: usize| {
            fields
                .get(field - 3)
                .and_then(|text| text.parse::<u64>().ok())
                .unwrap_or(0)
        };
        ProcessSample {
            user_s: number(14) as f64 / TICKS_PER_SECOND,
            system_s: number(15) as f64 / TICKS_PER_SECOND,
            rss_bytes: number(24) * PAGE_BYTES,
            ..ProcessSample::default()
        }
    }

    /// Difference from an earlier sample.
    pub fn since(&self, earlier: &ProcessSample, process: &str) -> ProcessUse {
        ProcessUse {
            process: process.to_owned(),
            user_s: (self.user_s - earlier.user_s).max(0.0),
            system_s: (self.system_s - earlier.system_s).max(0.0),
            switches: self.switches.saturating_sub(earlier.switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            rss_bytes: self.rss_bytes,
        }
    }
}

impl ProcessUse {
    /// Processor seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

fn line_number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

/// Resource use of the host since boot.
#[derive(Clone, Debug)]
pub struct HostSample {
    at: Instant,
    /// Busy processor seconds, without network interrupts.
    busy_s: f64,
    softirq_s: f64,
    steal_s: f64,
    interface: Traffic,
    udp_buffer_errors: u64,
    tcp_retransmits: u64,
}

/// Bytes and packets of an interface, received and sent. The loopback counts each packet in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traffic {
    bytes: u64,
    packets: u64,
}

/// Resource use of the host in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Length of the window, seconds.
    pub window_s: f64,
    /// Share of the host's processors that other processes used, 0 to 1.
    pub foreign: f64,
    /// Share of network interrupts.
    pub softirq: f64,
    /// Share that the hypervisor gave to other guests.
    pub steal: f64,
    /// Bytes that the interface sent.
    pub interface_bytes: u64,
    /// Packets that the interface sent.
    pub interface_packets: u64,
    /// Datagrams dropped because a socket's buffer was full.
    pub udp_buffer_errors: u64,
    /// TCP segments retransmitted.
    pub tcp_retransmits: u64,
}

impl HostSample {
    /// Sample of this host, and of one interface.
    pub fn now(interface: &str) -> HostSample {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (busy_s, softirq_s, steal_s) = processors(&read("/proc/stat"));
        let snmp = read("/proc/net/snmp");
        HostSample {
            at: Instant::now(),
            busy_s,
            softirq_s,
            steal_s,
            interface: traffic(&read("/proc/net/dev"), interface),
            udp_buffer_errors: protocol_count(&snmp, "Udp:", "RcvbufErrors"),
            tcp_retransmits: protocol_count(&snmp, "Tcp:", "RetransSegs"),
        }
    }

    /// Difference from an earlier sample, with the processor seconds of our own processes.
    pub fn since(&self, earlier: &HostSample, own_s: f64, cores: usize) -> HostUse {
        let window_s = self.at.duration_since(earlier.at).as_secs_f64().max(1e-6);
        let capacity = window_s * cores.max(1) as f64;
        HostUse {
            window_s,
            foreign: ((self.busy_s - earlier.busy_s - own_s) / capacity).max(0.0),
            softirq: ((self.softirq_s - earlier.softirq_s) / capacity).max(0.0),
            steal: ((self.steal_s - earlier.steal_s) / capacity).max(0.0),
            interface_bytes: self.interface.bytes.saturating_sub(earlier.interface.bytes),
            interface_packets: self
                .interface
                .packets
                .saturating_sub(earlier.interface.packets),
            udp_buffer_errors: self
                .udp_buffer_errors
                .saturating_sub(earlier.udp_buffer_errors),
            tcp_retransmits: self.tcp_retransmits.saturating_sub(earlier.tcp_retransmits),
        }
    }
}

/// Seconds busy, in soft interrupts, and stolen: `cpu user nice system idle iowait irq softirq steal`.
fn processors(stat: &str) -> (f64, f64, f64) {
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first
        .split_whitespace()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0.0) / TICKS_PER_SECOND;
    (at(0) + at(1) + at(2) + at(5), at(6), at(7))
}

/// Counters of an interface: `name: received bytes, packets, 6 more, sent bytes, packets, …`.
fn traffic(dev: &str, interface: &str) -> Traffic {
    let line = dev.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == interface).then_some(numbers)
    });
    let numbers: Vec<u64> = line
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|text| text.parse().ok())
        .collect();
    let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
    Traffic {
        bytes: at(8),
        packets: at(9),
    }
}

/// A count of `/proc/net/snmp`: a line of names, then a line of numbers.
fn protocol_count(snmp: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = snmp.lines().filter(|line| line.starts_with(protocol));
    let (names, numbers) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let mut pairs = names.split_whitespace().zip(numbers.split_whitespace());
    let found = pairs.find(|(found, _)| *found == name);
    found
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_proc_are_parsed() {
        let fields: Vec<String> = (3..=30).map(|field| (field * 10).to_string()).collect();
        let sample = ProcessSample::parse(&format!("7 (a) b) {}", fields.join(" ")));
        assert_eq!((sample.user_s, sample.system_s), (1.4, 1.5));
        assert_eq!(sample.rss_bytes, 240 * 4096);
        assert_eq!(
            processors("cpu  100 0 50 800 10 5 20 30 0 0\ncpu0 1"),
            (1.55, 0.2, 0.3)
        );
        let dev = "Inter-| Receive\n face |bytes\n    lo: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n  eth0: 1 1 0 0 0 0 0 0 9 9 0";
        assert_eq!(
            traffic(dev, "lo"),
            Traffic {
                bytes: 20,
                packets: 2
            }
        );
        assert_eq!(traffic(dev, "eth1"), Traffic::default());
        let snmp = "Udp: InDatagrams RcvbufErrors\nUdp: 7 3\n";
        assert_eq!(protocol_count(snmp, "Udp:", "RcvbufErrors"), 3);
        assert_eq!(protocol_count(snmp, "Tcp:", "RetransSegs"), 0);
    }

    #[test]
    fn a_busy_process_uses_time_and_memory() {
        let before = ProcessSample::of(std::process::id());
        let since = || ProcessSample::of(std::process::id()).since(&before, "this");
        let begin = Instant::now();
        // The host may give it no processor for a while.
        while since().cpu_s() == 0.0 && begin.elapsed().as_secs() < 60 {
            std::hint::spin_loop();
        }
        let done = since();
        assert!(done.cpu_s() > 0.0 && done.rss_bytes > 0, "{done:?}");
        assert_eq!(ProcessSample::of(u32::MAX), ProcessSample::default());
    }
}
