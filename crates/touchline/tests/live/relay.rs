//! Relays of two hosts with an Ethernet between them: kill -9 of each process, a link that is down, a receiver that is stopped, and a
//! steady flow for hours.
//!
//! Books at B are stale while something is wrong, and those of A again afterwards.

use crate::namespaces::Namespaces;
use crate::processes::{Place, Process, Processes};
use crate::relay_books::{Gateway, PARTS, Reader, becomes_right, becomes_stale};
use crate::resources::{SAMPLES_MIN, Watch};
use crate::soak::seconds;
use crate::together;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_testing::{PATIENCE, until};
use touchline_transport::shm::Root;

#[test]
fn relays_of_two_hosts_over_tcp() {
    survives(
        "tcp",
        "--to tcp://10.77.0.1:7340",
        "--from tcp://10.77.0.1:7340",
    );
}

#[cfg(feature = "aeron")]
#[test]
fn relays_of_two_hosts_over_aeron_unicast() {
    let control = "--control aeron:udp?endpoint=10.77.0.1:40457";
    survives(
        "unicast",
        &format!("--to aeron:udp?endpoint=10.77.0.2:40456 {control}"),
        &format!("--from aeron:udp?endpoint=10.77.0.2:40456 {control}"),
    );
}

#[cfg(feature = "aeron")]
#[test]
fn relays_of_two_hosts_over_aeron_with_destinations() {
    let control = "--control aeron:udp?endpoint=10.77.0.1:40457";
    let dynamic = "control=10.77.0.1:40456|control-mode=dynamic";
    survives(
        "mdc",
        &format!("--to aeron:udp?{dynamic} {control}"),
        &format!("--from aeron:udp?endpoint=10.77.0.2:40456|{dynamic} {control}"),
    );
}

/// Data and requests use one group and one port, as the documentation shows.
#[cfg(feature = "aeron")]
#[test]
fn relays_of_two_hosts_over_an_aeron_group() {
    let group = "aeron:udp?endpoint=239.255.40.41:40456|interface=10.77.0.0/24";
    survives(
        "group",
        &format!("--to {group}"),
        &format!("--from {group}"),
    );
}

#[test]
fn a_busy_relay_over_tcp_does_not_grow() {
    does_not_grow(
        "tcp-soak",
        "--to tcp://10.77.0.1:7340",
        "--from tcp://10.77.0.1:7340",
    );
}

#[cfg(feature = "aeron")]
#[test]
fn a_busy_relay_over_aeron_does_not_grow() {
    let control = "--control aeron:udp?endpoint=10.77.0.1:40457";
    does_not_grow(
        "aeron-soak",
        &format!("--to aeron:udp?endpoint=10.77.0.2:40456 {control}"),
        &format!("--from aeron:udp?endpoint=10.77.0.2:40456 {control}"),
    );
}

/// Two hosts, their relays, and a bus that the test publishes.
struct Pair {
    name: String,
    processes: Processes,
    arguments: [String; 2],
    root: Root,
    gateway: Gateway,
    send: Process,
    receive: Process,
    reader: Reader,
}

fn survives(name: &str, send: &str, receive: &str) {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let processes = Processes::within(&format!("relay-{name}"), namespaces.prefixes());
    let mut pair = Pair::start(name, processes, send, receive);
    pair.is_right("at the start");

    for seed in seeds(1) {
        // Each of them, in turns that begin with another one for another seed.
        let order: [usize; PARTS.len()] =
            std::array::from_fn(|at| (seed as usize + at) % PARTS.len());
        println!(
            "seed {seed}: killed in this order: {:?}",
            order.map(|part| PARTS[part])
        );
        let mut random = Random::from_seed(seed);
        order
            .into_iter()
            .for_each(|part| pair.restart(part, &mut random));
    }

    if name != "tcp" {
        until("the receiver does not report", PATIENCE, || {
            let stat = pair.processes.run("stat a");
            String::from_utf8_lossy(&stat.stdout).contains("relay_round_trip_ns")
        });
    }
    pair.receive.signal("STOP");
    pair.gateway.publish(2_000);
    if name == "tcp" {
        // Its queue has room for so few messages.
        thread::sleep(Duration::from_secs(2));
    } else {
        until("the stopped receiver is not named", PATIENCE, || {
            let log = pair.send.said("err");
            let mut lines = log.lines();
            lines.any(|line| line.contains("relay_receiver_slow") && line.contains("10.77.0.2:"))
        });
    }
    pair.receive.signal("CONT");
    pair.is_right("the receiver was stopped");

    let down = Instant::now();
    namespaces.set_up(false);
    pair.is_stale("the link is down");
    pair.gateway.publish(100);
    thread::sleep(Duration::from_secs(5).saturating_sub(down.elapsed()));
    namespaces.set_up(true);
    pair.is_right("the link is up again");
    assert!(pair.send.runs(), "{}", pair.send.said("err"));
    assert!(pair.receive.runs(), "{}", pair.receive.said("err"));
    pair.reader.ends_with_equal_books(name);
}

/// A steady flow for `SOAK_SECONDS`: books stay equal, and memory, descriptors and the driver's files do not grow.
fn does_not_grow(name: &str, send: &str, receive: &str) {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let processes = Processes::within(&format!("relay-{name}"), namespaces.prefixes());
    let mut pair = Pair::start(name, processes, send, receive);
    pair.is_right("at the start");
    let (mut watch, mut files) = (Watch::default(), Vec::new());
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds(5)) || files.len() < SAMPLES_MIN {
        for _ in 0..20 {
            pair.gateway.publish(100);
            thread::sleep(Duration::from_millis(20));
        }
        pair.is_right("under a steady flow");
        let pids = [pair.send.id(), pair.receive.id()];
        watch.note("sending relay", pids[0]);
        watch.note("receiving relay", pids[1]);
        files.push(pids.map(driver_bytes));
    }
    println!("{}files of drivers: {:?}", watch.describe(), files.last());
    assert_eq!(watch.leaks(), Vec::<String>::new());
    assert_eq!(files.first(), files.last(), "bytes of the drivers' files");
}

/// Bytes of the files of a relay's media driver in shared memory; 0 if it has none.
fn driver_bytes(pid: u32) -> u64 {
    fn bytes(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let of = |entry: fs::DirEntry| match entry.path() {
            path if path.is_dir() => bytes(&path),
            path => fs::metadata(path).map_or(0, |file| file.len()),
        };
        entries.map(of).sum()
    }
    bytes(Path::new(&format!("/dev/shm/touchline-aeron-relay-{pid}")))
}

/// kill -9.
fn end(process: &mut Process) {
    process.signal("KILL");
    until("it ends", PATIENCE, || !process.runs());
}

impl Pair {
    fn start(name: &str, processes: Processes, send: &str, receive: &str) -> Pair {
        let root = Root::at(processes.path("buses"));
        let mut gateway = Gateway::start(&root, 31);
        gateway.publish(200);
        let arguments = [
            format!("relay a {send}"),
            format!("relay {receive} --bus b"),
        ];
        let mut send = processes.start(Place::Exchange, "send", &arguments[0], &[]);
        send.wait_for("relay_started");
        let receive = processes.start(Place::Firm, "receive", &arguments[1], &[]);
        let reader = Reader::start(&root, &processes.path(""));
        Pair {
            name: name.to_owned(),
            processes,
            arguments,
            root,
            gateway,
            send,
            receive,
            reader,
        }
    }

    /// kill -9 of one process while data flows, and another one in its place.
    fn restart(&mut self, part: usize, random: &mut Random) {
        let what = format!("{} was killed", PARTS[part]);
        let flow = self.gateway.begins_flow(random);
        match part {
            0 => {
                self.gateway.kill_in(&flow, &what);
                self.is_stale(&what);
                self.gateway = Gateway::start(&self.root, 32);
            }
            1 => {
                end(&mut self.send);
                self.is_stale(&what);
                let arguments = &self.arguments[0];
                self.send = self
                    .processes
                    .start(Place::Exchange, "send", arguments, &[]);
            }
            2 => {
                end(&mut self.receive);
                self.is_stale(&what);
                let arguments = &self.arguments[1];
                self.receive = self.processes.start(Place::Firm, "receive", arguments, &[]);
            }
            _ => {
                self.reader.kill();
                self.reader = Reader::start(&self.root, &self.processes.path(""));
            }
        }
        if part != 0 {
            self.gateway.ends_flow(&flow, &what);
        }
        self.gateway.publish(50);
        self.is_right(&format!("{what}, and there is another one"));
    }

    fn is_stale(&self, what: &str) {
        becomes_stale(&self.root, &format!("{}: {what}", self.name));
    }

    fn is_right(&self, what: &str) {
        becomes_right(&self.root, &format!("{}: {what}", self.name));
    }
}
