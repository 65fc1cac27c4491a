//! Allowed addresses of a counterparty.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Set of allowed addresses: every address, if no block is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    blocks: Vec<Block>,
}

/// Block of addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    first: u32,
    /// Length of the prefix, 0 to 32.
    bits: u32,
}

impl Addresses {
    /// The addresses of these blocks.
    pub fn of(blocks: Vec<Block>) -> Addresses {
        Addresses { blocks }
    }

    /// Whether an address is in the set. The time does not depend on the result.
    pub fn have(&self, address: Ipv4Addr) -> bool {
        let has = |found, block: &Block| found | block.has(address);
        self.blocks.is_empty() | self.blocks.iter().fold(false, has)
    }
}

impl Block {
    fn has(self, address: Ipv4Addr) -> bool {
        (self.first ^ u32::from(address)) & mask(self.bits) == 0
    }
}

/// Mask with this many leading ones.
fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

/// Reason why a text is not a block of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelt(pub String);

impl fmt::Display for Misspelt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misspelt {}

/// `ADDRESS[/BITS]`; without BITS a single address.
impl FromStr for Block {
    type Err = Misspelt;

    fn from_str(text: &str) -> Result<Block, Misspelt> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = bits.parse().ok().filter(|bits| is_number && *bits <= 32);
        let (Ok(address), Some(bits)) = (address.parse::<Ipv4Addr>(), bits) else {
            return Err(Misspelt(format!(
                "{text:?} is neither an IPv4 address such as 192.0.2.7 nor a block such as 192.0.2.0/24"
            )));
        };
        let block = Block {
            first: u32::from(address) & mask(bits),
            bits,
        };
        // A misspelt single address must not allow a block.
        match block.first == u32::from(address) {
            true => Ok(block),
            false => Err(Misspelt(format!(
                "{text:?} has bits beyond its prefix; write {address} or {block}"
            ))),
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.first), self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_lab::random::{Random, seeds};

    fn addresses(texts: &[&str]) -> Addresses {
        let block = |text: &&str| text.parse().expect("a block");
        Addresses::of(texts.iter().map(block).collect())
    }

    #[test]
    fn a_block_contains_its_addresses_and_no_other() {
        for (block, inside, outside) in [
            (
                "10.1.2.3",
                &["10.1.2.3"][..],
                &["10.1.2.2", "10.1.2.4", "11.1.2.3"][..],
            ),
            ("10.1.2.3/32", &["10.1.2.3"], &["10.1.2.2"]),
            (
                "10.0.0.0/8",
                &["10.0.0.0", "10.255.255.255"],
                &["9.255.255.255", "11.0.0.0"],
            ),
            (
                "192.0.2.128/25",
                &["192.0.2.128", "192.0.2.255"],
                &["192.0.2.127", "192.0.3.128"],
            ),
            ("0.0.0.0/0", &["0.0.0.0", "255.255.255.255"], &[]),
            ("128.0.0.0/1", &["128.0.0.0", "255.0.0.1"], &["127.0.0.1"]),
        ] {
            let block = addresses(&[block]);
            let has = |address: &&str| block.have(address.parse().expect("an address"));
            assert!(inside.iter().all(has), "{block:?}");
            assert!(!outside.iter().any(has), "{block:?}");
        }
    }

    #[test]
    fn several_blocks_are_all_allowed_and_an_empty_list_allows_every_address() {
        let two = addresses(&["127.0.0.2", "127.0.0.8/30"]);
        let has = |last| two.have(Ipv4Addr::new(127, 0, 0, last));
        assert!([2, 8, 9, 10, 11].into_iter().all(has));
        assert!(![1, 3, 7, 12].into_iter().any(has));
        assert!(Addresses::default().have(Ipv4Addr::new(203, 0, 113, 9)));
    }

    /// Compared with a comparison of the prefixes as text.
    #[test]
    fn a_block_is_compared_by_its_prefix() {
        let (mut inside, mut outside) = (0, 0);
        for seed in seeds(2_000) {
            let mut random = Random::from_seed(seed);
            let bits = random.index(33);
            let first = random.next_u64() >> 32 >> (32 - bits) << (32 - bits);
            let flipped = random.below(33) as u32;
            let address = first as u32 ^ 1_u32.checked_shl(flipped).unwrap_or(0);
            let text = format!("{}/{bits}", Ipv4Addr::from(first as u32));
            let block: Block = text.parse().expect("a block");
            let binary = |number: u32| format!("{number:032b}")[..bits].to_owned();
            let is_inside = binary(first as u32) == binary(address);
            assert_eq!(block.has(address.into()), is_inside, "seed {seed}: {text}");
            assert_eq!(block.to_string(), text, "seed {seed}");
            (inside, outside) = if is_inside {
                (inside + 1, outside)
            } else {
                (inside, outside + 1)
            };
        }
        assert!(inside + outside == 1 || inside.min(outside) > 100);
    }

    #[test]
    fn an_invalid_block_is_refused_with_the_correct_form() {
        for wrong in [
            "",
            "/",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "10.0.0.0/8/8",
            "10.0.0/8",
            "10.0.0.256",
            "localhost",
            "::1",
            "10.0.0.1:5001",
            " 10.0.0.1",
        ] {
            let refused = wrong.parse::<Block>().expect_err("it is none").to_string();
            assert!(refused.contains("192.0.2.0/24"), "{wrong}: {refused}");
        }
        let refused = "10.1.2.3/8".parse::<Block>().expect_err("it is both").0;
        assert!(
            refused.ends_with("write 10.1.2.3 or 10.0.0.0/8"),
            "{refused}"
        );
    }
}
