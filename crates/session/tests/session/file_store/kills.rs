//! A gateway that is killed at every point, restarted, and compared with its counterparty.

use super::crash_injection::{CrashingStore, Fate, Point};
use std::collections::BTreeMap;
use touchline_lab::fix::Counterparty;
use touchline_lab::random::{Random, seeds};
use touchline_session::file_store::{FileStore, Limits, Sync};
use touchline_session::fix::{Event, Role, Session, Settings};
use touchline_testing::Folder;
use touchline_types::ReceiveTime;
use touchline_wire::fix::tag;

/// 2026-01-05 00:00:00 UTC: the time stands still in these tests.
const WALL_NS: u64 = 1_767_571_200_000_000_000;
const NOW: ReceiveTime = ReceiveTime {
    wall_ns: WALL_NS,
    mono_ns: 1,
};

/// State that outlives every kill: the counterparty, the disk, and the clients' and applications'
/// knowledge.
struct World {
    folder: Folder,
    limits: Limits,
    them: Counterparty,
    random: Random,
    /// Orders reported to the client.
    told: Vec<String>,
    /// Messages that the application received, each with its duplicate mark.
    seen: Vec<(String, bool)>,
    orders: u32,
    messages: u32,
    kills: u32,
}

type Gateway = Session<CrashingStore<FileStore>>;

impl World {
    fn new(seed: u64) -> World {
        World {
            folder: Folder::new("store"),
            limits: Limits::default(),
            them: Counterparty::new("THEM", "US"),
            random: Random::from_seed(seed),
            told: Vec::new(),
            seen: Vec::new(),
            orders: 0,
            messages: 0,
            kills: 0,
        }
    }

    /// One run of the gateway, until its kill or a number of steps. `false`: it was killed.
    fn live(&mut self, fate: &Fate, steps: u32) -> bool {
        let file = FileStore::open(&self.folder, "r8.session", self.limits, Sync::Later);
        let store = CrashingStore {
            store: file.expect("it can be opened after every kill"),
            fate: fate.clone(),
        };
        let settings = Settings::new(Role::Initiator, "US", "THEM");
        let mut gateway = Session::new(settings, store);
        self.them.connect(WALL_NS);
        gateway.connected(NOW);
        for step in 0..steps {
            if gateway.is_up() && step + 20 < steps {
                match self.random.below(3) {
                    0 => self.order(&mut gateway),
                    1 => {
                        self.messages += 1;
                        self.them.send(&format!("message-{}", self.messages), "");
                    }
                    _ => {}
                }
            }
            if self.exchange(&mut gateway, fate) {
                self.kills += 1;
                return false;
            }
        }
        true
    }

    fn order(&mut self, gateway: &mut Gateway) {
        self.orders += 1;
        let id = format!("order-{}", self.orders);
        let sent = gateway.send(b"D", NOW, |body| {
            body.bytes(tag::CL_ORD_ID, id.as_bytes());
        });
        if sent.is_ok() {
            self.told.push(id);
        }
    }

    /// Exchanges some bytes in both directions. `true`: the gateway is dead.
    fn exchange(&mut self, gateway: &mut Gateway, fate: &Fate) -> bool {
        // Outgoing bytes may be on the wire, also those of a process that dies at this moment.
        let outgoing = gateway.poll_transmit().len();
        let length = match self.random.below(4) {
            0 => self.random.below(outgoing as u64 + 1) as usize,
            _ => outgoing,
        };
        self.them.hear(&gateway.poll_transmit()[..length], WALL_NS);
        if fate.is_dead() || (length > 0 && fate.pass(Point::AfterSend)) {
            return true;
        }
        gateway.transmitted(length);
        if length > 0 && fate.pass(Point::AfterAcknowledgement) {
            return true;
        }
        let bytes = std::mem::take(&mut self.them.out);
        gateway.handle(&bytes, NOW);
        while let Some(event) = gateway.poll() {
            if let Event::Application(message, marks, _) = event {
                if fate.pass(Point::BeforeDelivery) {
                    return true;
                }
                let fields = message.fields().map_while(Result::ok);
                let id = fields.clone().find(|field| field.tag == tag::CL_ORD_ID);
                let id = String::from_utf8_lossy(id.expect("an id").value).into_owned();
                self.seen.push((id, marks.poss_dup));
                if fate.pass(Point::AfterDelivery) {
                    return true;
                }
            }
        }
        gateway.handle_timeout(NOW);
        fate.is_dead()
    }

    /// Runs without a kill until all messages are exchanged, and compares.
    fn settle(&mut self) -> Result<(), String> {
        let forever = Fate::new(Point::AfterSend, u32::MAX);
        self.live(&forever, 60);
        self.live(&forever, 60);
        if let Some(fault) = self.them.faults.first() {
            return Err(fault.clone());
        }
        let told: Vec<(String, bool)> = self.them.orders.clone();
        once("their orders", &told, &self.told)?;
        let sent: Vec<String> = (1..=self.messages)
            .map(|n| format!("message-{n}"))
            .collect();
        once("our messages", &self.seen, &sent)
    }
}

/// Checks that each sent message arrived, and a second time only with its duplicate mark.
fn once(what: &str, came: &[(String, bool)], sent: &[String]) -> Result<(), String> {
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for (id, is_repetition) in came {
        let times = times.entry(id).or_default();
        *times += 1;
        if *times > 1 && !is_repetition {
            return Err(format!("{what}: {id} came twice as if it were new"));
        }
    }
    match sent.iter().find(|id| !times.contains_key(id.as_str())) {
        Some(lost) => Err(format!("{what}: {lost} never came")),
        None => Ok(()),
    }
}

#[test]
fn a_kill_at_every_point_loses_and_repeats_nothing() {
    for point in Point::ALL {
        for passages in 0..12 {
            let mut world = World::new(u64::from(passages));
            world.live(&Fate::new(point, passages), 120);
            assert_eq!(
                world.kills, 1,
                "nobody was killed at {point:?}, passage {passages}"
            );
            let settled = world.settle();
            assert_eq!(settled, Ok(()), "{point:?}, passage {passages}");
            assert!(world.told.len() + world.seen.len() > 5, "nothing happened");
        }
    }
}

#[test]
fn random_kills_lose_and_repeat_nothing() {
    for seed in seeds(40) {
        let mut world = World::new(seed);
        if seed % 2 == 0 {
            // Small enough to be rewritten occasionally, large enough for requests.
            world.limits.messages = 64;
        }
        for _ in 0..5 {
            let point = *world.random.pick(&Point::ALL);
            let passages = world.random.below(30) as u32;
            world.live(&Fate::new(point, passages), 100);
        }
        assert!(world.kills > 0, "SEED={seed}: nobody was killed");
        assert_eq!(world.settle(), Ok(()), "SEED={seed}");
    }
}

/// Messages removed from the file are covered by one gap fill when requested; the rest is resent.
#[test]
fn removed_messages_are_gap_filled_on_request() {
    let mut world = World::new(1);
    world.limits.messages = 16;
    let forever = Fate::new(Point::AfterSend, u32::MAX);
    world.live(&forever, 400);
    let last = world.them.highest();
    assert!(world.told.len() > 80, "{}", world.told.len());
    let file = FileStore::open(&world.folder, "r8.session", world.limits, Sync::Later);
    let store = CrashingStore {
        store: file.expect("it is whole"),
        fate: forever.clone(),
    };
    assert!(store.store.messages() <= 33, "{}", store.store.messages());
    let mut gateway = Session::new(Settings::new(Role::Initiator, "US", "THEM"), store);
    world.them.connect(WALL_NS);
    gateway.connected(NOW);
    for step in 0..60 {
        if step == 30 {
            assert_eq!(world.them.faults, Vec::<String>::new());
            world.them.repeated = 0;
            world.them.ask_again(1);
        }
        world.exchange(&mut gateway, &forever);
    }
    // The store keeps sixteen, and the Logon of this connection is one of them.
    assert_eq!(world.them.repeated, 15);
    let filled = world.them.faults.iter();
    assert!(
        filled
            .clone()
            .all(|fault| fault.contains(" and is filled:"))
    );
    assert_eq!(filled.count() as u64, last - 1 - 15);
    assert_eq!(world.them.highest(), last + 1);
}
