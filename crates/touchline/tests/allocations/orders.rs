//! Allocations of orders: none from the quote to the order in the kernel, to its report, to the journal and the drop copy.
//!
//! Goal: after the start the engine of `touchline fx run` takes no memory for an order. Method: the rig of `bench fx-trade`, banks
//! over sockets and buses; the thread is frozen for each round of the engine, and thawed while banks quote and answer. A
//! parent order may allocate where it is kept, not where its command is read.

#[path = "../../src/bench/fx_banks.rs"]
mod fx_banks;
#[path = "../../src/bench/fx_trade/rig.rs"]
mod rig;

use fx_banks::now;
use rig::{Plan, Rig};
use touchline_fx_events::command::{Command, Order};
use touchline_lab::frozen::{Count, Frozen};
use touchline_testing::Folder;
use touchline_types::{Id, Side};

const BANKS: usize = 20;
/// Bursts before the measured ones: buses, books and the batches of the drop copy reach their size.
const WARM: usize = 20;
const BURSTS: usize = 400;

/// A command of the desk is read without memory.
#[test]
fn a_command_is_read_without_memory() {
    let text = |text: &str| Id::lossy(text.as_bytes());
    let order = Order {
        limit: Some(text("1.10001")),
        ..Order::new(text("P1"), text("EUR/USD"), Side::Bid, 1_000)
    };
    let mut bytes = Vec::new();
    Command::Parent(order).encode(&mut bytes);
    Frozen::freeze();
    let read = Command::decode(&bytes);
    let count = Frozen::thaw();
    assert_eq!(
        (read, count),
        (Ok(Command::Parent(order)), Count::default())
    );
}

#[test]
fn order_messages_do_not_allocate() {
    let folder = Folder::new("orders");
    let plan = Plan {
        banks: BANKS,
        tiers: 5,
        buses: &folder.join("buses"),
        journal: &folder.join("journal"),
        is_disk: false,
        tail_bytes: 16 << 20,
        spin: true,
    };
    let mut rig = Rig::open(&plan, 7).expect("sessions and buses come up");
    for _ in 0..WARM {
        rig.quote();
        rig.settle().expect("orders are answered");
    }
    let before = *rig.trader.totals();
    let mut count = Count::default();
    for _ in 0..BURSTS {
        rig.quote();
        let mut answered = 1;
        while answered > 0 || !rig.trader.engine().trading().orders().live().is_empty() {
            Frozen::freeze();
            let worked = rig.trader.work();
            let took = Frozen::thaw();
            count.allocations += took.allocations;
            count.bytes += took.bytes;
            count.frees += took.frees;
            answered = rig.dealers.turn(now()) + worked.expect("the engine works");
        }
    }
    let after = *rig.trader.totals();
    assert_eq!(after.orders - before.orders, BURSTS as u64);
    assert_eq!(after.fills - before.fills, BURSTS as u64);
    assert_eq!(count, Count::default());
    rig.trader.finish().expect("the journal ends");
}
