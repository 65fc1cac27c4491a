//! Which mutants to try.

use anyhow::{Context, Result, bail};

/// Which mutants to try: those with a word in their names, and of those a share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    filter: String,
    share: Share,
}

/// One of so many parts of a list: every so manyth, beginning with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    /// From 1.
    part: usize,
    parts: usize,
}

impl Default for Share {
    /// Everything.
    fn default() -> Share {
        Share { part: 1, parts: 1 }
    }
}

impl Options {
    /// Reads `[FILTER] [--share PART/PARTS]`.
    ///
    /// # Errors
    /// Names what was not understood.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let (filter, share) = match *arguments {
            [] => ("", None),
            ["--share", share] => ("", Some(share)),
            [filter] if filter != "--share" => (filter, None),
            [filter, "--share", share] => (filter, Some(share)),
            _ => bail!(
                "'{}' is not understood; mutants takes [FILTER] [--share PART/PARTS]",
                arguments.join(" ")
            ),
        };
        Ok(Options {
            filter: filter.to_owned(),
            share: share.map_or(Ok(Share::default()), Share::parse)?,
        })
    }

    /// Those with this word in their names.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Of these, the share that is wanted.
    pub fn share_of<T>(&self, all: impl Iterator<Item = T>) -> Vec<T> {
        let Share { part, parts } = self.share;
        all.skip(part - 1).step_by(parts).collect()
    }
}

impl Share {
    fn parse(text: &str) -> Result<Share> {
        let numbers = text.split_once('/').and_then(|(part, parts)| {
            let (part, parts) = (part.parse().ok()?, parts.parse().ok()?);
            (1..=parts).contains(&part).then_some(Share { part, parts })
        });
        numbers.with_context(|| format!("'{text}' is not a share; 2/6 is the second of six parts"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_everything_and_have_nothing_in_common() {
        let shares = ["1/3", "2/3", "3/3"].map(|share| {
            let options = Options::parse(&["--share", share]).unwrap();
            options.share_of(0..8)
        });
        assert_eq!(shares, [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
        let all = Options::parse(&[]).unwrap();
        assert_eq!(all.share_of(0..3), [0, 1, 2]);
    }

    #[test]
    fn a_name_and_a_share_are_read_and_nothing_else() {
        let options = Options::parse(&["feed", "--share", "2/2"]).unwrap();
        assert_eq!(
            (options.filter(), options.share_of(0..4)),
            ("feed", vec![1, 3])
        );
        for wrong in ["0/2", "3/2", "1/0", "1", "a/2", ""] {
            let error = Options::parse(&["--share", wrong]).unwrap_err();
            assert!(error.to_string().contains("is not a share"), "{wrong}");
        }
        assert!(Options::parse(&["feed", "bus"]).is_err());
        assert!(Options::parse(&["--share"]).is_err());
    }
}
