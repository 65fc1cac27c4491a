//! Silence of the session, and of any subset of its pairs, in virtual time: a usable quote on the bus is never older than its bound.

use super::{BID, CONFIG, Stage, later, snapshot};
use touchline_lab::random::{Random, at_once, seeds};
use touchline_types::Validity;

/// Each pair with its only quote.
const PAIRS: [(&str, &str); 2] = [
    ("EUR/USD", BID),
    ("USD/JPY", "269=0|270=150.001|271=1000000|299=c|"),
];
const SILENCE_MS: u64 = 400;
const STALE_MS: u64 = 250;
/// Interval of the checks, of the gateway and here.
const CHECK_MS: u64 = 10;
const STEPS: u64 = 1_500;

#[derive(Debug, Default)]
struct Seen {
    /// Checks with a usable pair, and of each pair behind either bound.
    usable: u64,
    silent: u64,
    stale: u64,
}

/// A bank, by plain bookkeeping.
#[derive(Default)]
struct Bank {
    heard_ms: u64,
    quoted_ms: [u64; 2],
    /// Time until which the bank sends no message; the same of the quotes of each pair.
    quiet_until_ms: u64,
    unquoted_until_ms: [u64; 2],
}

#[test]
fn nothing_is_usable_beyond_the_bound_of_a_silence() {
    let runs = at_once(4, seeds(20), run);
    let seen = runs.into_iter().fold(Seen::default(), |sum, run| Seen {
        usable: sum.usable + run.usable,
        silent: sum.silent + run.silent,
        stale: sum.stale + run.stale,
    });
    println!("{seen:?}");
    // The runs must reach usable pairs, and pairs beyond either bound; otherwise the test proves nothing.
    assert!(seen.usable > 100 && seen.silent > 100 && seen.stale > 100);
}

/// A BodyLength that is too large swallows the messages behind it, and the answers to our TestRequests: only bytes arrive.
#[test]
fn bytes_without_a_message_do_not_end_a_silence() {
    let mut stage = Stage::logged_on(&CONFIG.replace("silence_ms = 0", "silence_ms = 1000"));
    stage.quote_both();
    let too_large = |bytes: Vec<u8>| {
        let rest = bytes.strip_prefix(b"8=FIX.4.4\x019=").expect("a message");
        [b"8=FIX.4.4\x019=500", rest].concat()
    };
    stage.quote_as(&snapshot("EUR/USD", &[BID]), too_large);
    for tenths in 1..30 {
        stage.now = later(stage.now, 100);
        stage.quote(&snapshot("EUR/USD", &[BID]));
        let expected = match tenths {
            ..10 => Validity::Live,
            _ => Validity::Stale,
        };
        assert_eq!(stage.reader().channel, Some(expected), "{tenths}");
    }
}

fn run(seed: u64) -> Seen {
    let guards = format!("silence_ms = {SILENCE_MS}\nstale_ms = {STALE_MS}");
    let mut stage = Stage::logged_on(&CONFIG.replace("silence_ms = 0", &guards));
    stage.quote_both();
    let mut random = Random::from_seed(seed);
    let mut bank = Bank::default();
    let mut seen = Seen::default();
    for step in 1..=STEPS {
        let now_ms = step * CHECK_MS;
        stage.now = later(stage.now, CHECK_MS);
        bank.falls_silent(now_ms, &mut random);
        stage.advance();
        if now_ms >= bank.quiet_until_ms {
            bank.sends(now_ms, &mut stage, &mut random);
        }
        bank.check(now_ms, &mut stage, &mut seen)
            .unwrap_or_else(|wrong| panic!("SEED={seed} step {step}: {wrong}"));
    }
    seen
}

impl Bank {
    fn falls_silent(&mut self, now_ms: u64, random: &mut Random) {
        let until_ms = |random: &mut Random| now_ms + random.below(2 * SILENCE_MS);
        if random.chance(0.01) {
            self.quiet_until_ms = until_ms(random);
        }
        for unquoted_until_ms in &mut self.unquoted_until_ms {
            if random.chance(0.01) {
                *unquoted_until_ms = until_ms(random);
            }
        }
    }

    /// A Heartbeat, or quotes of the pairs that it quotes; it answers the gateway's TestRequests.
    fn sends(&mut self, now_ms: u64, stage: &mut Stage, random: &mut Random) {
        self.heard_ms = now_ms;
        stage.send(b"0", "");
        for (pair, (symbol, quote)) in PAIRS.into_iter().enumerate() {
            if now_ms >= self.unquoted_until_ms[pair] && random.chance(0.3) {
                self.quoted_ms[pair] = now_ms;
                stage.send(b"W", &snapshot(symbol, &[quote]));
            }
        }
        stage.exchange(|bytes| bytes);
    }

    /// The channel is live exactly while the bank is not silent; a pair has usable prices exactly while its bank and its quotes are within both bounds.
    fn check(&self, now_ms: u64, stage: &mut Stage, seen: &mut Seen) -> Result<(), String> {
        let is_silent = now_ms - self.heard_ms >= SILENCE_MS;
        let is_channel_live = stage.reader().channel == Some(Validity::Live);
        for (pair, (symbol, _)) in PAIRS.into_iter().enumerate() {
            let book = stage.book(pair as u32);
            let is_usable = is_channel_live && book.0 > 0 && book.1 == Validity::Live;
            let is_stale = now_ms - self.quoted_ms[pair] >= STALE_MS;
            if is_usable == (is_silent || is_stale) || is_channel_live == is_silent {
                return Err(format!(
                    "{}: channel live {is_channel_live}, book {book:?}; the bank is silent for {} ms, the pair for {} ms",
                    symbol,
                    now_ms - self.heard_ms,
                    now_ms - self.quoted_ms[pair]
                ));
            }
            seen.usable += u64::from(is_usable);
            seen.silent += u64::from(is_silent);
            seen.stale += u64::from(is_stale);
        }
        Ok(())
    }
}
