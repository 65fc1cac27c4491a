//! No allocation after a composer and a bank's stream have warmed up. A program of its own, because of its allocator.

use touchline_fx::config as fx;
use touchline_fx::input::Session;
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx::{BankStream, Setup};
use touchline_fx_live::compose::{Composer, Config};
use touchline_lab::frozen::Frozen;
use touchline_transport::shm::Root;
use touchline_transport::{Local, Subscribe};
use touchline_types::{Id, Price, Quantity, Quote, QuoteAction, QuoteChange, Side};

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;

const BANKS: usize = 20;
const TIERS: u32 = 5;

/// Output is discarded.
struct Nobody;

impl Subscribe for Nobody {
    fn update(&mut self, _: &touchline_transport::Envelope<'_>) {}
}

fn quote(bank: usize, tier: u32, side: Side, step: i64) -> Quote {
    let away = i64::from(tier) + 1 + (step + bank as i64) % 3;
    let ticks = match side {
        Side::Bid => 110_000 - away,
        Side::Ask => 110_000 + away,
    };
    Quote {
        entry: 2 * tier + side.index() as u32,
        side,
        price: Price(ticks * 10_000),
        quantity: Quantity(1_000_000),
        priority: 1,
        quote_id: Id::new(b"Q1").expect("an id"),
        ..Quote::NULL
    }
}

#[test]
fn a_composer_allocates_nothing_after_its_start() {
    let mut text =
        "bus = \"fx\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n"
            .to_owned();
    for bank in 0..BANKS {
        text += &format!(
            "[[banks]]\nname = \"LP{bank:02}\"\nttl_ms = 50\nstale_ms = 0\nsilence_ms = 1000\n"
        );
    }
    let config = Config::parse(&text).expect("a configuration");
    let root = Root::at("/nowhere");
    let composer = Composer::new(&config, root, Local::new(Nobody));
    let mut composer = composer.expect("a composer");
    let mut now_ns = 1_000_000_000;
    for bank in 0..BANKS {
        composer.input(bank, now_ns, Session::Up);
        let quotes: Vec<_> = (0..TIERS)
            .flat_map(|tier| Side::BOTH.map(|side| quote(bank, tier, side, 0)))
            .collect();
        let quoted = Quoted::All(&quotes);
        let (pair, receive_ns) = (0, now_ns);
        composer.input(
            bank,
            now_ns,
            Session::Quotes(BusQuotes {
                pair,
                receive_ns,
                bank_ns: [0; 2],
                is_unquoted: false,
                quoted,
            }),
        );
    }
    let mut run = |steps: i64| {
        for step in 0..steps {
            now_ns += 1_000_000;
            let bank = step as usize * 7 % BANKS;
            let tier = (step * 3 % i64::from(TIERS)) as u32;
            let side = Side::BOTH[step as usize / 2 % 2];
            let action = match step % 11 {
                0 => QuoteAction::Remove,
                _ => QuoteAction::Set,
            };
            let changes = [QuoteChange {
                action,
                quote: quote(bank, tier, side, step),
            }];
            let quotes = BusQuotes {
                pair: 0,
                receive_ns: now_ns,
                bank_ns: [0; 2],
                is_unquoted: false,
                quoted: Quoted::Changes(&changes),
            };
            composer.input(bank, now_ns, Session::Quotes(quotes));
            if step % 97 == 0 {
                composer.input(bank, now_ns, Session::Down);
                composer.input(bank, now_ns, Session::Up);
            }
        }
    };
    run(4_000);
    Frozen::freeze();
    run(4_000);
    assert_eq!(Frozen::thaw().allocations, 0);
}

#[test]
fn a_banks_stream_allocates_nothing_after_its_start() {
    let pair = fx::PairConfig::new("EUR/USD", 5, "20260107");
    let bank = fx::BankConfig {
        pairs: vec!["EUR/USD".to_owned()],
        ..fx::BankConfig::new("LP01")
    };
    let setup = Setup::new(fx::Config {
        pairs: vec![pair],
        banks: vec![bank],
        ..fx::Config::of_prices()
    });
    let mut stream = BankStream::new(setup.expect("a bank"));
    let messages: Vec<Vec<u8>> = (0..16).map(snapshot).collect();
    let mut now_ns = 1_000;
    stream.up(now_ns);
    let mut quotes = Vec::with_capacity(64);
    let mut run = |rounds: usize| {
        let mut changed = 0;
        for round in 0..rounds {
            now_ns += 1_000;
            stream.message(now_ns, &messages[round % messages.len()]);
            changed += stream.take_changes(0).map_or(0, <[_]>::len);
            stream.all(0, &mut quotes);
        }
        changed
    };
    assert!(run(1_000) > 1_000, "quotes change");
    Frozen::freeze();
    run(1_000);
    assert_eq!(Frozen::thaw().allocations, 0);
}

/// A snapshot of ten entries, as the session sends it.
fn snapshot(number: u64) -> Vec<u8> {
    let mut body = "35=W|262=r|55=EUR/USD|268=10|".to_owned();
    for tier in 0..5 {
        for (side, price) in [(0, 109_999 - tier), (1, 110_001 + tier)] {
            body += &format!(
                "269={side}|270=1.{:05}|271=1000000|299=q{number}-{tier}|",
                price + number % 3 - 100_000
            );
        }
    }
    let text = format!("8=FIX.4.4|9={}|{body}", body.len()).replace('|', "\x01");
    let sum = text.bytes().fold(0_u8, u8::wrapping_add);
    format!("{text}10={sum:03}\x01").into_bytes()
}
