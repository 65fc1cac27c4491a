//! Virtual cards between two network namespaces: packets cross a driver, as on a network.

use super::ipc::Failed;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

/// Beginning of the names of namespaces: a process and a side follow.
const PREFIX: &str = "touchline-bench-";

/// Pairs of cards: one of each sends, the other receives. Removed when dropped; those of a process that was killed, by the next
/// one.
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
        remove_left_over();
        let id = std::process::id();
        let across = Across {
            namespaces: ["s", "r"].map(|side| format!("{PREFIX}{id}-{side}")),
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
            // The cards go with their namespaces; an error of a namespace that was never made is ignored.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// Removes the namespaces of benchmarks whose process has ended: a signal leaves them.
fn remove_left_over() {
    let names = std::fs::read_dir("/run/netns").into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for name in names.filter(|name| process_of(name).is_some_and(has_ended)) {
        // Another benchmark may be removing it, too.
        let _ = ip(&format!("netns delete {name}"));
    }
}

/// Process that made a namespace of this name; `None` if no benchmark did.
fn process_of(name: &str) -> Option<u32> {
    let (process, side) = name.strip_prefix(PREFIX)?.split_once('-')?;
    process.parse().ok().filter(|_| ["s", "r"].contains(&side))
}

fn has_ended(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_namespaces_of_benchmarks_name_a_process() {
        assert_eq!(process_of("touchline-bench-17-s"), Some(17));
        for other in ["touchline-bench-17", "touchline-bench-17-x", "vpn-17-s"] {
            assert_eq!(process_of(other), None, "{other}");
        }
    }

    #[test]
    fn namespaces_of_dead_processes_are_removed_at_the_next_start() {
        let mut dead = Command::new("true").spawn().expect("it starts");
        let ended = format!("{PREFIX}{}-s", dead.id());
        dead.wait().expect("it ends");
        let running = format!("{PREFIX}{}-r", std::os::unix::process::parent_id());
        if ip(&format!("netns add {ended}")).is_err() {
            touchline_testing::skip("this user makes no network namespaces");
            return;
        }
        ip(&format!("netns add {running}")).expect("the other was made");
        let exists = |name: &str| Path::new("/run/netns").join(name).exists();
        let across = Across::new(1).expect("this user makes namespaces");
        let own = across.namespaces.clone();
        let left = [exists(&ended), exists(&running)];
        assert!(own.iter().all(|name| exists(name)));
        drop(across);
        ip(&format!("netns delete {running}")).expect("it was kept");
        assert_eq!(left, [false, true]);
        assert!(!own.iter().any(|name| exists(name)));
    }
}
