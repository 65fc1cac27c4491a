//! Secrets: passwords and keys that are never printed.

use std::fmt;
use std::hint::black_box;
use zeroize::Zeroize;

/// A secret. It prints as `<secret>`, is compared in a time that depends only on lengths, and is
/// wiped when dropped.
///
/// Owned bytes are taken over; borrowed bytes are copied, and the caller wipes them.
#[derive(Clone, Default)]
pub struct Secret {
    // Never resized: that would leave a copy behind.
    bytes: Vec<u8>,
}

impl Secret {
    /// The bytes, for the code that sends them or signs with them.
    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }

    /// Length, bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the secret is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Compares with bytes. The time is the same for right and wrong ones of the same length.
    pub fn is(&self, bytes: &[u8]) -> bool {
        let is_as_long = self.bytes.len() == bytes.len();
        is_as_long & are_alike(self.bytes.iter().zip(bytes))
    }

    /// Whether an external text contains the secret and must not be printed.
    pub fn stands_in(&self, text: &[u8]) -> bool {
        !self.is_empty() && text.windows(self.len()).any(|bytes| self.is(bytes))
    }
}

/// Compares every pair, without an early end.
fn are_alike<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> bool {
    let differing = |(one, other): (&u8, &u8)| one ^ other;
    let differs = pairs
        .map(differing)
        .fold(0, |all, each| black_box(all | each));
    differs == 0
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Secret {
        Secret { bytes }
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        text.into_bytes().into()
    }
}

impl From<&[u8]> for Secret {
    fn from(bytes: &[u8]) -> Secret {
        bytes.to_vec().into()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Secret {
        text.as_bytes().into()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.is(&other.bytes)
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

impl Zeroize for Secret {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTINEL: &str = "sentinel-71b1e02a";

    #[test]
    fn no_formatted_text_contains_a_secret() {
        #[derive(Debug)]
        #[expect(dead_code, reason = "it is printed")]
        struct Holder {
            secret: Secret,
            perhaps: Option<Secret>,
        }
        let secret = Secret::from(SENTINEL);
        let holder = Holder {
            secret: secret.clone(),
            perhaps: Some(secret.clone()),
        };
        let shown = format!("{secret} {secret:?} {secret:#?} {holder:?} {holder:#?}");
        assert!(!shown.contains("sentinel"), "{shown}");
        assert_eq!(shown.matches("<secret>").count(), 7);
    }

    #[test]
    fn secrets_are_equal_only_with_equal_bytes() {
        let secret = Secret::from(SENTINEL);
        assert!(secret.is(SENTINEL.as_bytes()));
        assert_eq!(secret, Secret::from(SENTINEL.to_owned()));
        for wrong in [
            "",
            "sentinel-71b1e02",
            "sentinel-71b1e02b",
            "Sentinel-71b1e02a",
        ] {
            assert!(!secret.is(wrong.as_bytes()), "{wrong}");
        }
        assert!(!secret.is(format!("{SENTINEL}\0").as_bytes()));
        assert!(Secret::default().is(b"") && Secret::default().is_empty());
    }

    #[test]
    fn a_text_that_contains_the_secret_is_detected() {
        let secret = Secret::from(SENTINEL);
        assert!(secret.stands_in(b"wrong password: sentinel-71b1e02a"));
        assert!(!secret.stands_in(b"wrong password: sentinel-71b1e02"));
        assert!(!Secret::default().stands_in(b"") && !Secret::default().stands_in(b"x"));
    }

    /// Counts the compared bytes: the position of the first difference does not matter.
    #[test]
    fn a_comparison_reads_every_byte() {
        let right = SENTINEL.as_bytes();
        for place in 0..=right.len() {
            let mut other = right.to_vec();
            if let Some(byte) = other.get_mut(place) {
                *byte ^= 1;
            }
            let mut seen = 0;
            let pairs = right.iter().zip(&other).inspect(|_| seen += 1);
            assert_eq!(are_alike(pairs), place == right.len());
            assert_eq!(seen, right.len(), "it stopped behind byte {place}");
        }
    }

    #[test]
    fn a_wiped_secret_is_empty() {
        let mut secret = Secret::from(SENTINEL);
        assert_eq!(secret.len(), SENTINEL.len());
        secret.zeroize();
        assert!(secret.is_empty());
    }
}
