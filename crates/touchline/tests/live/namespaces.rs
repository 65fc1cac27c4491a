//! Two network namespaces of the test, with one or two pairs of virtual Ethernet devices between them.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Removed on drop.
pub struct Namespaces {
    names: [String; 2],
}

impl Namespaces {
    /// `None` if this process may not create them.
    pub fn create() -> Option<Namespaces> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (id, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let namespaces = Namespaces {
            names: ["x", "f"].map(|end| format!("touchline-{id}-{number}-{end}")),
        };
        let [exchange, firm] = &namespaces.names;
        for name in &namespaces.names {
            if !ip(&format!("netns add {name}")) {
                return None;
            }
        }
        let pair = format!("-n {exchange} link add veth type veth peer name veth netns {firm}");
        assert!(ip(&pair), "two virtual Ethernet devices");
        for (name, address) in [(exchange, "10.77.0.1/24"), (firm, "10.77.0.2/24")] {
            for line in [
                format!("-n {name} address add {address} dev veth"),
                format!("-n {name} link set veth up multicast on"),
                format!("-n {name} link set lo up"),
                format!("-n {name} route add 224.0.0.0/4 dev veth"),
            ] {
                assert!(ip(&line), "{line}");
            }
        }
        Some(namespaces)
    }

    /// [`Namespaces::create`]; `None` is reported as a skipped test.
    pub fn create_or_skip() -> Option<Namespaces> {
        let namespaces = Namespaces::create();
        if namespaces.is_none() {
            touchline_testing::skip("network namespaces are not allowed here");
        }
        namespaces
    }

    /// The same as [`Namespaces::create`] with two interfaces at the firm, `veth` and `veth-b`. The exchange's `veth` is a bridge, which sends each
    /// packet to both, by its ports `veth-a` and `veth-b`. `None` if this process may not, or the kernel has no bridge.
    pub fn with_two_cards() -> Option<Namespaces> {
        let namespaces = Namespaces::create()?;
        let [exchange, firm] = &namespaces.names;
        for line in [
            format!("-n {exchange} link set veth down"),
            format!("-n {exchange} address flush dev veth"),
            format!("-n {exchange} link set veth name veth-a"),
        ] {
            assert!(ip(&line), "{line}");
        }
        let bridge = format!("-n {exchange} link add veth type bridge mcast_snooping 0");
        if !ip(&bridge) {
            return None;
        }
        for line in [
            format!("-n {exchange} link add veth-b type veth peer name veth-b netns {firm}"),
            format!("-n {exchange} link set veth-a master veth up"),
            format!("-n {exchange} link set veth-b master veth up"),
            format!("-n {exchange} address add 10.77.0.1/24 dev veth"),
            format!("-n {exchange} link set veth up"),
            format!("-n {firm} address add 10.78.0.2/24 dev veth-b"),
            format!("-n {firm} link set veth-b up"),
        ] {
            assert!(ip(&line), "{line}");
        }
        // The exchange is not of the network of `veth-b`; a strict filter, which some systems set, would drop its packets.
        let loose = "sysctl -qw net.ipv4.conf.veth-b.rp_filter=2";
        ip(&format!("netns exec {firm} {loose}"));
        Some(namespaces)
    }

    /// Takes the Ethernet between them down, or up again.
    pub fn set_up(&self, is_up: bool) {
        self.set_card_up("veth", is_up);
    }

    /// Takes one interface of the exchange down, or up again.
    pub fn set_card_up(&self, card: &str, is_up: bool) {
        let state = if is_up { "up" } else { "down" };
        let line = format!("-n {} link set {card} {state}", self.names[0]);
        assert!(ip(&line), "{line}");
    }

    /// Takes the interface of the exchange down.
    pub fn take_down(&self) {
        self.set_up(false);
    }

    /// Removes the address of the exchange's interface.
    pub fn flush_address(&self) {
        let line = format!("-n {} address flush dev veth", self.names[0]);
        assert!(ip(&line), "{line}");
    }

    /// Removes the Ethernet between them.
    pub fn unplug(&self) {
        let line = format!("-n {} link delete veth", self.names[0]);
        assert!(ip(&line), "{line}");
    }

    /// Makes the exchange's interface as before, with any part of it left.
    pub fn restore(&self) {
        let [exchange, firm] = &self.names;
        for line in [
            format!("-n {exchange} link add veth type veth peer name veth netns {firm}"),
            format!("-n {firm} link set veth up"),
            format!("-n {exchange} address add 10.77.0.1/24 dev veth"),
            format!("-n {exchange} link set veth up multicast on"),
            format!("-n {exchange} route add 224.0.0.0/4 dev veth"),
        ] {
            // The error of a part that exists already is ignored.
            ip(&line);
        }
    }

    /// Packets that the exchange's interface has sent.
    pub fn sent(&self) -> u64 {
        let line = ["netns", "exec", &self.names[0], "cat"];
        let mut show = Command::new("ip");
        let output = show.args(line).arg("/proc/net/dev").output();
        let output = String::from_utf8_lossy(&output.expect("ip made it").stdout).into_owned();
        let card = output
            .lines()
            .find(|line| line.trim_start().starts_with("veth:"));
        let sent = card.and_then(|card| card.split_whitespace().nth(10)?.parse().ok());
        sent.expect("the card's counts")
    }

    /// XDP programs that are attached at the firm.
    pub fn programs(&self) -> usize {
        let mut show = Command::new("ip");
        let output = show.args(["-n", &self.names[1], "link", "show"]).output();
        let output = output.expect("ip made it").stdout;
        String::from_utf8_lossy(&output).matches("prog/xdp").count()
    }

    /// Limits what the exchange sends to this rate with a token bucket, behind a queue of three seconds; `false` without `tc`.
    pub fn limit(&self, rate: &str) -> bool {
        let line = format!(
            "netns exec {} tc qdisc replace dev veth root tbf rate {rate} burst 32kb latency 3s",
            self.names[0]
        );
        ip(&line)
    }

    /// Prefix of a command at the exchange and of one at the firm.
    pub fn prefixes(&self) -> [Vec<String>; 2] {
        let words = |name: &String| ["ip", "netns", "exec", name].map(str::to_owned).to_vec();
        [words(&self.names[0]), words(&self.names[1])]
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns delete {name}"));
        }
    }
}

fn ip(line: &str) -> bool {
    let output = Command::new("ip").args(line.split_whitespace()).output();
    output.is_ok_and(|output| output.status.success())
}
