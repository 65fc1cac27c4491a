//! kill -9 of every process between the gateway's bus and a reader on the other host, while data flows.

use super::books::{Gateway, PARTS, Reader, becomes_right, becomes_stale};
use super::{Desk, Relay};
use touchline_lab::random::{Random, seeds};
use touchline_transport::shm::Root;

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
    random: Random,
    gateway: Gateway,
    send: Relay,
    receive: Relay,
    reader: Reader,
    /// Address of the sending relay.
    address: String,
    kills: [u32; PARTS.len()],
}

impl<'a> Processes<'a> {
    fn start(desk: &'a Desk, seed: u64) -> Processes<'a> {
        let root = Root::at(desk.folder.join("buses"));
        let mut gateway = Gateway::start(&root, seed);
        gateway.publish(200);
        let mut send = Relay::start(desk, &["a", "--to", "tcp://127.0.0.1:0"]);
        let address = send.address();
        let receive = Relay::start(desk, &["--from", &address, "--bus", "b"]);
        let reader = Reader::start(&root, &desk.folder);
        let processes = Processes {
            desk,
            root,
            seed,
            random: Random::from_seed(seed),
            gateway,
            send,
            receive,
            reader,
            address,
            kills: [0; PARTS.len()],
        };
        becomes_right(&processes.root, &format!("seed {seed}, at the start"));
        processes
    }

    /// Kills a part while data flows, and starts another process in its place.
    fn kill(&mut self, part: usize, round: usize) {
        let what = format!(
            "seed {}, round {round}, kill of the {}",
            self.seed, PARTS[part]
        );
        let receive = ["--from", &self.address, "--bus", "b"];
        let flow = self.gateway.begins_flow(&mut self.random);
        match part {
            0 => {
                self.gateway.kill_in(&flow, &what);
                becomes_stale(&self.root, &what);
                self.gateway = Gateway::start(&self.root, self.seed + 1 + round as u64);
            }
            1 => {
                self.send.0.kill();
                becomes_stale(&self.root, &what);
                self.send = Relay::start(self.desk, &["a", "--to", &self.address]);
            }
            2 => {
                self.receive.0.kill();
                becomes_stale(&self.root, &what);
                self.receive = Relay::start(self.desk, &receive);
            }
            _ => {
                self.reader.kill();
                self.reader = Reader::start(&self.root, &self.desk.folder);
            }
        }
        self.kills[part] += 1;
        if part != 0 {
            self.gateway.ends_flow(&flow, &what);
        }
        self.gateway.publish(50);
        becomes_right(&self.root, &what);
    }
}
