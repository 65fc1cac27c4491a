//! Used quotes over a loss of the reader of a bus: no order is sent on a quote a second time.

use crate::world::{START_NS, config};
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx::sessions::LineReader;
use touchline_fx::{Engine, Setup};
use touchline_fx_events::Batch;
use touchline_types::{Id, Price, Quantity, Quote, QuoteAction, QuoteChange, Side};

const MS: u64 = 1_000_000;

/// An engine that reads the bus of one bank.
struct World {
    engine: Engine,
    batch: Batch,
    at_ms: u64,
}

impl World {
    /// The bank's sessions are up, it quotes `a`, and an order has used the quote.
    fn used(settings: &str) -> World {
        let setup = Setup::parse(&config("", &[("A", settings)])).expect("a configuration");
        let mut world = World {
            engine: Engine::new(setup),
            batch: Batch::default(),
            at_ms: 0,
        };
        world.input(&Input::Pricing(0, Session::Up));
        world.input(&Input::Orders(0, Session::Up));
        world.set("a");
        world.parent("P1");
        world.parent("P2");
        assert_eq!(world.orders(), 1, "the second one waits");
        world
    }

    fn input(&mut self, input: &Input<'_>) {
        self.at_ms += 1;
        self.batch.clear();
        let at_ns = START_NS + self.at_ms * MS;
        self.engine.handle(at_ns, input, &mut self.batch);
    }

    fn quotes(&mut self, is_unquoted: bool, quoted: Quoted<'_>) {
        let quotes = BusQuotes {
            pair: 0,
            receive_ns: START_NS + self.at_ms * MS,
            bank_ns: [0; 2],
            is_unquoted,
            quoted,
        };
        self.input(&Input::Pricing(0, Session::Quotes(quotes)));
    }

    /// The bank sets its quotes.
    fn set(&mut self, id: &str) {
        let changes = quotes(id, 0).map(|quote| QuoteChange {
            action: QuoteAction::Set,
            quote,
        });
        self.quotes(false, Quoted::Changes(&changes));
    }

    /// The gateway repeats the quotes, which the bank has set at this time.
    fn repeat(&mut self, id: &str, set_ms: u64) {
        let all = quotes(id, START_NS + set_ms * MS);
        self.quotes(false, Quoted::All(&all));
    }

    fn parent(&mut self, id: &str) {
        let line = format!(
            "{START_NS} - {{\"op\":\"parent\",\"id\":\"{id}\",\"pair\":\"EUR/USD\",\"side\":\"buy\",\"qty\":1000000,\"deadline_ms\":60000}}"
        );
        let mut reader = LineReader::default();
        let setup = self.engine.setup().clone();
        let (_, input) = reader
            .read(&setup, &line)
            .expect("a line")
            .expect("an input");
        self.input(&input);
    }

    fn orders(&self) -> usize {
        self.engine.trading().orders().iter().count()
    }
}

/// Both sides of a bank.
fn quotes(id: &str, set_ns: u64) -> [Quote; 2] {
    [(Side::Bid, 109_998), (Side::Ask, 110_002)].map(|(side, ticks)| Quote {
        entry: side.index() as u32,
        side,
        price: Price(ticks * 10_000),
        quantity: Quantity(5_000_000),
        quote_id: Id::new(id.as_bytes()).expect("an id"),
        set_ns,
        ..Quote::NULL
    })
}

/// An overrun, a stall of the gateway, a step of the clock, and a pair whose quotes are unknown: the snapshot behind it has the used
/// quote again. It is used until the bank sets it again, or, where orders name it, until its id changes.
#[test]
fn a_used_quote_stays_used_over_a_loss_of_the_reader() {
    let losses: [fn(&mut World); 3] = [
        |world| {
            world.input(&Input::Pricing(0, Session::Missed));
            world.input(&Input::Pricing(0, Session::Up));
        },
        |world| world.quotes(true, Quoted::All(&[])),
        // Twice, without a snapshot between them.
        |world| {
            world.quotes(true, Quoted::All(&[]));
            world.input(&Input::Pricing(0, Session::Missed));
            world.input(&Input::Pricing(0, Session::Up));
        },
    ];
    for lose in losses {
        for settings in ["", "orders = \"quoted\""] {
            let mut world = World::used(settings);
            let set_ms = 2;
            lose(&mut world);
            world.repeat("a", set_ms);
            assert_eq!(world.orders(), 1, "the same quote: {settings}");
            // A second loss: it is still used.
            lose(&mut world);
            world.repeat("a", set_ms);
            assert_eq!(world.orders(), 1, "the same quote: {settings}");
            lose(&mut world);
            world.at_ms = 300;
            world.repeat("a", 250);
            let orders = if settings.is_empty() { 2 } else { 1 };
            assert_eq!(world.orders(), orders, "set again: {settings}");
            lose(&mut world);
            world.repeat("b", set_ms);
            assert_eq!(world.orders(), 2, "another quote: {settings}");
        }
    }
}

/// The quotes of a new session are new ones: its gateway has the pair without quotes first.
#[test]
fn the_end_of_the_session_ends_the_use_of_its_quotes() {
    for is_of_bus in [false, true] {
        let mut world = World::used("orders = \"quoted\"");
        let end = match is_of_bus {
            true => Session::Missed,
            false => Session::Down,
        };
        world.input(&Input::Pricing(0, end));
        world.input(&Input::Pricing(0, Session::Up));
        if is_of_bus {
            world.quotes(true, Quoted::All(&[]));
        }
        world.repeat("a", world.at_ms);
        assert_eq!(world.orders(), 2);
    }
}
