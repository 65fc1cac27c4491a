//! Text format of book states, in order, a line each: `sequence security_id hash`, the hash in sixteen hexadecimal
//! digits. A file can be read while it grows.

use super::BookState;
use std::fmt;
use std::str::FromStr;

impl fmt::Display for BookState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sequence,
            security_id,
            hash,
        } = self;
        write!(f, "{sequence} {security_id} {hash:016x}")
    }
}

/// Error: a line is not a [`BookState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoState;

impl fmt::Display for NoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the line is not `sequence security_id hash`; check that the file is a complete log of expected books")
    }
}

impl std::error::Error for NoState {}

impl FromStr for BookState {
    type Err = NoState;

    fn from_str(line: &str) -> Result<Self, NoState> {
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or(NoState);
        let state = Self {
            sequence: next()?.parse().map_err(|_| NoState)?,
            security_id: next()?.parse().map_err(|_| NoState)?,
            hash: Some(next()?)
                .filter(|hash| hash.len() == 16)
                .and_then(|hash| u64::from_str_radix(hash, 16).ok())
                .ok_or(NoState)?,
        };
        match words.next() {
            None => Ok(state),
            Some(_) => Err(NoState),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_and_a_truncated_one_is_not() {
        let state = BookState {
            sequence: 12,
            security_id: -7,
            hash: 0x0012_3456_789a_bcde,
        };
        let line = state.to_string();
        assert_eq!(line, "12 -7 00123456789abcde");
        assert_eq!(line.parse(), Ok(state));
        for cut in 0..line.len() {
            assert_eq!(
                line[..cut].parse::<BookState>(),
                Err(NoState),
                "{}",
                &line[..cut]
            );
        }
        assert!((line + " 1").parse::<BookState>().is_err());
    }
}
