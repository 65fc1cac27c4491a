//! Composites that are changed by parts, against those of everything at once.

use crate::random::banks::Random;
use crate::random::seeds;
use std::collections::BTreeSet;
use touchline_fx::Setup;
use touchline_fx::composite::{Composites, PriceLevel};
use touchline_fx::counts::Counting;
use touchline_fx::plan::Offer;
use touchline_types::Side;

const BANKS: usize = 5;

fn setup() -> Setup {
    let mut text = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nlot = 1\n\
                    spot_date = \"20260107\"\nsizes = [1, 7, 20]\n"
        .to_owned();
    for bank in 0..BANKS {
        let (kind, most) = match bank {
            0 | 1 => ("full", 100),
            _ => ("sweep", 9),
        };
        text += &format!(
            "[[banks]]\nname = \"B{bank}\"\npairs = [\"EUR/USD\"]\nkind = \"{kind}\"\nmax_qty = {most}\n"
        );
    }
    Setup::parse(&text).expect("a configuration")
}

/// An offer of a bank; its age is that of its setting.
fn offer(bank: usize, entry: usize, age: u64, random: &mut Random) -> Offer {
    Offer {
        price: 100 + random.below(9) as i64,
        size: 1 + random.below(8) as i64,
        minimum: random.below(4) as i64,
        age,
        penalty: 0,
        entry: entry as u32,
        bank: bank as u16,
        is_full: bank < 2,
    }
}

/// Levels of offers, from the definition.
fn levels_of(offers: &[Offer]) -> Vec<PriceLevel> {
    let at_price = offers.chunk_by(|one, other| one.price == other.price);
    let level = |offers: &[Offer]| {
        let (bands, tiers): (Vec<&Offer>, Vec<&Offer>) =
            offers.iter().partition(|offer| offer.is_full);
        let banks: BTreeSet<u16> = offers.iter().map(|offer| offer.bank).collect();
        PriceLevel {
            price: offers[0].price,
            sum: tiers.iter().map(|offer| i128::from(offer.size)).sum(),
            largest: bands.iter().map(|offer| offer.size).max().unwrap_or(0),
            banks: banks.len() as u32,
        }
    };
    at_price.map(level).collect()
}

/// Entries are set, withdrawn and moved, as the books of banks do: prices, quantities, banks, averages and levels are those of
/// composites that are computed from scratch.
#[test]
fn composites_that_change_are_those_that_are_made_anew() {
    let setup = setup();
    let mut changes = 0;
    for seed in seeds() {
        println!("SEED={seed}");
        let mut random = Random::new(seed);
        let mut composites = Composites::new(&setup);
        let mut held: Vec<Counting> = vec![Counting::default(); BANKS];
        let mut ages = [0; BANKS];
        for step in 0..60 {
            let bank = random.below(BANKS as u64) as usize;
            for side in Side::BOTH {
                let offers = &mut held[bank].offers[side.index()];
                for _ in 0..random.below(3) {
                    ages[bank] += 1;
                    let at = random.below(offers.len() as u64 + 1) as usize;
                    let new = offer(bank, at, ages[bank], &mut random);
                    match random.below(4) {
                        // The last one takes its place, as in a book.
                        0 if at < offers.len() => {
                            offers.swap_remove(at);
                            if let Some(moved) = offers.get_mut(at) {
                                moved.entry = at as u32;
                            }
                        }
                        1 => offers.clear(),
                        _ if at < offers.len() => offers[at] = new,
                        _ => offers.push(new),
                    }
                }
            }
            composites.replace(&setup, (bank, 0), &held[bank]);
            changes += usize::from(composites.is_dirty(0));
            composites.refresh(&setup, 0);
            let mut anew = Composites::new(&setup);
            for (bank, counting) in held.iter().enumerate() {
                anew.replace(&setup, (bank, 0), counting);
            }
            anew.refresh(&setup, 0);
            assert_eq!(composites.of(0), anew.of(0), "SEED={seed} step {step}");
            for side in Side::BOTH {
                let offers = composites.offers(0, side);
                assert_eq!(offers, anew.offers(0, side), "SEED={seed} step {step}");
                assert_eq!(composites.levels(0, side), &levels_of(offers)[..]);
            }
        }
    }
    assert!(changes > 10 * seeds().len(), "{changes}");
}
