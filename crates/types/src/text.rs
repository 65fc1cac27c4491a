//! Short texts of venues and of ours, stored in place.

use core::fmt;
use core::hash::{Hash, Hasher};

/// Up to `N` bytes of printable ASCII, zeros behind them.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct FixedText<const N: usize>([u8; N]);

/// A short code: a venue, a provider, an account, a currency.
pub type Code = FixedText<16>;

/// An identifier that goes back as it came: of an order, a quote or an execution.
pub type Id = FixedText<64>;

impl<const N: usize> FixedText<N> {
    /// No text.
    pub const EMPTY: Self = FixedText([0; N]);

    /// The text, whole: `None` where it is longer than `N` bytes or has a byte that is not printable ASCII. An
    /// identifier that was cut would name something else.
    ///
    /// ```
    /// use touchline_types::Code;
    /// assert_eq!(Code::new(b"EUR").unwrap().as_str(), "EUR");
    /// assert_eq!(Code::new(b"seventeen letters"), None);
    /// assert_eq!(Code::new(b"a\0b"), None);
    /// ```
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut fixed = [0; N];
        fixed.get_mut(..text.len())?.copy_from_slice(text);
        text.iter()
            .all(|byte| is_printable(*byte))
            .then_some(FixedText(fixed))
    }

    /// The text as far as it fits, for people: bytes that are not printable ASCII become `?`.
    pub fn lossy(text: &[u8]) -> Self {
        let mut fixed = [0; N];
        for (place, byte) in fixed.iter_mut().zip(text) {
            *place = if is_printable(*byte) { *byte } else { b'?' };
        }
        FixedText(fixed)
    }

    /// Text up to the first zero byte; `None` if a byte of it is not printable ASCII.
    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8; N]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(N);
        FixedText::new(&bytes[..end])
    }

    /// The bytes, with zeros behind the text.
    #[inline]
    pub(crate) const fn bytes(&self) -> [u8; N] {
        self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    /// The text as bytes, without another check.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(N);
        &self.0[..end]
    }

    /// Whether the text is empty.
    pub const fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

/// Rule for the name of a bus or of a bank.
pub const NAMES: &str = "letters, digits, '-', '_' and '.', not starting with '.'";

/// Whether a text may be the name of a bus or of a bank, which is the name of its gateway's bus: 1 to 64 of [`NAMES`]. It is the name of
/// a file, and every tool shows it the same.
pub fn is_name(text: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(is_safe) && !text.starts_with('.')
}

/// Whether a character shows itself and does nothing else: it ends no line, controls no terminal, and steers neither the
/// direction nor the place of the characters beside it.
pub fn is_visible(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text from outside as every screen, error and log line shows it: on one line, each character that is not
/// [visible](is_visible) escaped.
///
/// ```
/// use touchline_types::text::Visible;
/// assert_eq!(Visible("Zürich\n\u{202e}\x1b[2J").to_string(), "Zürich\\n\\u{202e}\\u{1b}[2J");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(|letter| !is_visible(letter)) {
            let (shown, behind) = rest.split_at(at);
            f.write_str(shown)?;
            let mut letters = behind.chars();
            if let Some(letter) = letters.next() {
                write!(f, "{}", letter.escape_default())?;
            }
            rest = letters.as_str();
        }
        f.write_str(rest)
    }
}

/// Whether a screen and a FIX message can carry the byte.
pub(crate) const fn is_printable(byte: u8) -> bool {
    byte.is_ascii_graphic() || byte == b' '
}

/// The text by words, without the zeros behind it: most identifiers are short, and a hash of 64 bytes takes longer than the rest of
/// a look into a table.
impl<const N: usize> Hash for FixedText<N> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (words, rest) = self.0.as_chunks();
        let words = words.iter().map(|word| u64::from_ne_bytes(*word));
        for word in words.take_while(|word| *word != 0) {
            state.write_u64(word);
        }
        state.write(rest);
        // No text of a key is the beginning of another one: two texts in a key do not run into each other.
        state.write_u8(0);
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> fmt::Display for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use core::hash::{BuildHasher, BuildHasherDefault};
    use std::collections::HashSet;

    /// Number of hashed bytes.
    #[derive(Default)]
    struct Bytes(u64);

    impl Hasher for Bytes {
        fn write(&mut self, bytes: &[u8]) {
            self.0 += bytes.len() as u64;
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }

    fn id(text: &str) -> Id {
        Id::new(text.as_bytes()).expect("it is short")
    }

    /// A ClOrdID of the engine has 12 characters of 64.
    #[test]
    fn zeros_behind_a_text_are_not_hashed() {
        let bytes = BuildHasherDefault::<Bytes>::default();
        let counted = ["", "T00000000001", &"x".repeat(64)].map(|text| bytes.hash_one(id(text)));
        assert_eq!(counted, [1, 17, 65]);
        assert_eq!(bytes.hash_one(FixedText::<12>::lossy(b"abcdefghijkl")), 13);
    }

    /// Texts that differ in any word, and pairs whose texts differ only in where the first one ends.
    #[test]
    fn different_texts_have_different_hashes() {
        let random = std::hash::RandomState::new();
        let long = "x".repeat(64);
        let texts = (0..=64).map(|length| id(&long[..length]));
        let hashes: HashSet<u64> = texts.map(|text| random.hash_one(text)).collect();
        assert_eq!(hashes.len(), 65);
        let pairs = [("aaaaaaaabbbbbbbb", "c"), ("aaaaaaaa", "bbbbbbbbc")];
        let [one, other] = pairs.map(|(a, b)| random.hash_one((id(a), id(b))));
        assert_ne!(one, other);
        assert_eq!(random.hash_one(id("LP001")), random.hash_one(id("LP001")));
    }
}
