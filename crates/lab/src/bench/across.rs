//! Virtual cards between two network namespaces: packets cross a driver, as on a network.

use super::ipc::Failed;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

/// Pairs of cards: one of each sends, the other receives. Removed when dropped.
#[derive(Debug)]
pub struct Across {
    namespaces: [String; 2],
}

/// A side of the pairs.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// The sending cards.
    Sends,
    /// The receiving ones.
    Receives,
}

impl Across {
    /// Makes as many pairs, at most 200.
    ///
    /// # Errors
    /// This user may not make namespaces, or there is no `ip`.
    pub fn new(pairs: u8) -> Result<Across, Failed> {
        let id = std::process::id();
        let across = Across {
            namespaces: ["s", "r"].map(|side| format!("touchline-bench-{id}-{side}")),
        };
        let [sends, receives] = &across.namespaces;
        for name in &across.namespaces {
            ip(&format!("netns add {name}"))?;
        }
        for pair in 0..pairs.min(200) {
            let [from, to] = [Side::Sends, Side::Receives].map(|side| card(side, pair));
            ip(&format!(
                "-n {sends} link add {from} type veth peer name {to} netns {receives}"
            ))?;
            for (namespace, card, host) in [(sends, &from, 1), (receives, &to, 2)] {
                ip(&format!(
                    "-n {namespace} address add 10.77.{pair}.{host}/24 dev {card}"
                ))?;
                ip(&format!("-n {namespace} link set {card} up"))?;
            }
        }
        Ok(across)
    }

    /// A program in the namespace of one side.
    pub fn program(&self, side: Side, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespaces[side as usize]]);
        command.arg(program);
        command
    }

    /// Runs a closure on a thread of one side: sockets that it opens stay there.
    ///
    /// # Errors
    /// Those of the closure, or the namespace is gone.
    pub fn within<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> Result<T, Failed> + Send,
    ) -> Result<T, Failed> {
        let namespace = File::open(format!("/run/netns/{}", self.namespaces[side as usize]))?;
        let run = move || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network)
                .map_err(|error| Failed(format!("entering a network namespace: {error}")))?;
            work()
        };
        std::thread::scope(|scope| scope.spawn(run).join())
            .map_err(|_| Failed("a thread of a namespace panicked".to_owned()))?
    }
}

/// Name of a card.
pub fn card(side: Side, pair: u8) -> String {
    match side {
        Side::Sends => format!("out{pair}"),
        Side::Receives => format!("in{pair}"),
    }
}

impl Drop for Across {
    fn drop(&mut self) {
        for name in &self.namespaces {
            // The cards go with their namespaces; what was not made cannot be removed.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

fn ip(line: &str) -> Result<(), Failed> {
    let output = Command::new("ip").args(line.split_whitespace()).output();
    let output = output.map_err(|error| Failed(format!("ip: {error}; install iproute2")))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failed(format!(
            "'ip {line}' fails ({}); run it as root",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}
