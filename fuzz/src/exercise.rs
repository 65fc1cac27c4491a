//! A target over its seeds and their mutations, in plain Rust: short, repeatable, and part of every test run.

use crate::Target;
use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
    time::{Duration, Instant},
};
use touchline_lab::random::Random;

/// Longer than this for one input is a hang.
const TIME_MAX: Duration = Duration::from_secs(1);

/// No mutation makes an input longer than this.
const BYTES_MAX: usize = 16 * 1024;

/// Values at which arithmetic on lengths and counts goes wrong.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    u64::MAX,
];

/// An input that a target does not survive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// The bytes.
    pub input: Vec<u8>,
    /// Description of the fault.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} on {} bytes: ",
            self.target,
            self.what,
            self.input.len()
        )?;
        self.input
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Runs `target` on every one of `seeds`, on every truncation of the shortest, and on `rounds` mutations drawn from
/// `seed`.
///
/// # Errors
/// The first input that makes the target panic or takes longer than a second.
pub fn exercise(
    target: &Target,
    seeds: &[Vec<u8>],
    seed: u64,
    rounds: usize,
) -> Result<(), Failure> {
    let mut random = Random::from_seed(seed);
    for input in seeds {
        attempt(target, input)?;
    }
    if let Some(shortest) = seeds.iter().min_by_key(|input| input.len()) {
        (0..shortest.len()).try_for_each(|length| attempt(target, &shortest[..length]))?;
    }
    for _ in 0..rounds {
        let mut input = if seeds.is_empty() {
            Vec::new()
        } else {
            random.pick(seeds).clone()
        };
        for _ in 0..=random.index(4) {
            mutate(&mut input, seeds, &mut random);
        }
        input.truncate(BYTES_MAX);
        attempt(target, &input)?;
    }
    Ok(())
}

fn attempt(target: &Target, input: &[u8]) -> Result<(), Failure> {
    let failure = |what| Failure {
        target: target.name,
        input: input.to_vec(),
        what,
    };
    let run = || {
        let started = Instant::now();
        panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)))
            .map(|()| started.elapsed())
            .map_err(|panic| failure(format!("panicked: {}", message(&*panic))))
    };
    // Once may be the machine, twice is the input.
    if run()? > TIME_MAX && run()? > TIME_MAX {
        return Err(failure(format!("took longer than {TIME_MAX:?}")));
    }
    Ok(())
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.index(input.len() + 1);
    match random.below(7) {
        0 => input.truncate(at),
        1 => input.insert(at, random.next_u64() as u8),
        2 if !seeds.is_empty() => {
            let other = random.pick(seeds);
            input.truncate(at);
            input.extend(&other[random.index(other.len() + 1)..]);
        }
        3 => overwrite(
            input,
            at,
            random.pick(EDGES).to_le_bytes(),
            1 << random.below(4),
        ),
        4 => overwrite(input, at, random.pick(EDGES).to_be_bytes(), 8),
        5 => overwrite(input, at, [*random.pick(b"0123456789-.<>/\" "); 8], 1),
        _ => overwrite(input, at, random.next_u64().to_le_bytes(), 1),
    }
}

fn overwrite(input: &mut [u8], at: usize, value: [u8; 8], length: usize) {
    for (byte, new) in input[at..].iter_mut().zip(&value[..length]) {
        *byte = *new;
    }
}
