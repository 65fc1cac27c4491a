//! kill -9 of every process between the gateway's bus and a reader on the other host, while data flows.

use super::books::{Gateway, Reader, joined, until};
use super::{Desk, Relay};
use std::time::Duration;
use touchline_lab::random::seeds;
use touchline_transport::shm::Root;
use touchline_types::Validity;

const PARTS: [&str; 4] = ["gateway", "sending relay", "receiving relay", "reader"];

/// Every part is killed twice, in turns that begin with another part for another seed.
#[test]
fn after_a_kill_of_any_process_books_are_stale_and_then_recover() {
    for seed in seeds(1) {
        let desk = Desk::bare("relay-kills");
        let mut processes = Processes::start(&desk, seed);
        for round in 0..2 * PARTS.len() {
            processes.kill((seed as usize + round) % PARTS.len(), round);
        }
        println!("seed {seed}: killed {:?}", processes.kills);
        assert_eq!(processes.kills, [2; PARTS.len()], "seed {seed}");
        processes
            .reader
            .ends_with_equal_books(&format!("seed {seed}, at the end"));
    }
}

struct Processes<'a> {
    desk: &'a Desk,
    root: Root,
    seed: u64,
    gateway: Gateway,
    send: Relay,
    receive: Relay,
    reader: Reader,
    /// Address of the sending relay.
    address: String,
    kills: [u32; PARTS.len()],
}

/// More than can be published before a kill.
const MANY: usize = 100_000;

impl<'a> Processes<'a> {
    fn start(desk: &'a Desk, seed: u64) -> Processes<'a> {
        let root = Root::at(desk.folder.join("buses"));
        let mut gateway = Gateway::start(&root, seed);
        gateway.publish(200);
        let send = Relay::start(desk, &["a", "--to", "tcp://127.0.0.1:0"]);
        let address = send.address();
        let receive = Relay::start(desk, &["--from", &address, "--bus", "b"]);
        let reader = Reader::start(&root, &desk.folder);
        let processes = Processes {
            desk,
            root,
            seed,
            gateway,
            send,
            receive,
            reader,
            address,
            kills: [0; PARTS.len()],
        };
        processes.is_right(&format!("seed {seed}, at the start"));
        processes
    }

    /// Kills a part while data flows, and starts another process in its place.
    fn kill(&mut self, part: usize, round: usize) {
        let what = format!(
            "seed {}, round {round}, kill of the {}",
            self.seed, PARTS[part]
        );
        let receive = ["--from", &self.address, "--bus", "b"];
        self.gateway.begin(if part == 0 { MANY } else { 2_000 });
        match part {
            0 => {
                // It is in the middle of it.
                std::thread::sleep(Duration::from_millis(5));
                self.gateway.kill();
                until(&format!("{what}: books live"), || is_stale(&self.root));
                self.gateway = Gateway::start(&self.root, self.seed + 1 + round as u64);
                self.gateway.begin(200);
            }
            1 => {
                self.send.kill();
                until(&format!("{what}: books live"), || is_stale(&self.root));
                self.send = Relay::start(self.desk, &["a", "--to", &self.address]);
            }
            2 => {
                self.receive.kill();
                until(&format!("{what}: books live"), || is_stale(&self.root));
                self.receive = Relay::start(self.desk, &receive);
            }
            _ => {
                self.reader.kill();
                self.reader = Reader::start(&self.root, &self.desk.folder);
            }
        }
        self.kills[part] += 1;
        self.gateway.ends();
        self.gateway.publish(50);
        self.is_right(&what);
    }

    /// Books at B are live, and those at A.
    fn is_right(&self, what: &str) {
        until(&format!("{what}: books differ"), || {
            let b = joined(&self.root, "b");
            let is_live = b.iter().any(|(_, validity)| *validity == Validity::Live);
            is_live && b == joined(&self.root, "a")
        });
    }
}

/// No book at B is live.
fn is_stale(root: &Root) -> bool {
    let books = joined(root, "b");
    books
        .iter()
        .all(|(_, validity)| *validity == Validity::Stale)
}
