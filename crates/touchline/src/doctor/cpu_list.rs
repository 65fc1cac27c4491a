//! Lists of processors in the kernel's format: `0-3,8,10-11`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The kernel's maximum.
const CPUS_MAX: usize = 8192;

/// Set of processor numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<usize>);

impl CpuList {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Processors in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Processors that are not in the other list.
    pub fn without(&self, other: &CpuList) -> CpuList {
        CpuList(&self.0 - &other.0)
    }

    /// Processors in both lists.
    pub fn both(&self, other: &CpuList) -> CpuList {
        CpuList(&self.0 & &other.0)
    }

    /// Processors in either list.
    pub fn either(&self, other: &CpuList) -> CpuList {
        CpuList(&self.0 | &other.0)
    }

    /// Parses a file of the kernel; `None` if it is empty or `(null)`.
    pub fn of_kernel(text: &str) -> Option<CpuList> {
        match text.trim() {
            "" | "(null)" => Some(CpuList::default()),
            list => list.parse().ok(),
        }
    }
}

impl FromIterator<usize> for CpuList {
    fn from_iter<T: IntoIterator<Item = usize>>(cpus: T) -> Self {
        CpuList(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuList, String> {
        let refused = || format!("{text:?} is not a list of processors; write 2,3 or 4-7");
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|number: &usize| *number < CPUS_MAX)
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
                _ => return Err(refused()),
            }
        }
        Ok(CpuList(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        for (text, written) in [
            ("0", "0"),
            ("2,3", "2-3"),
            ("0-3,8,10-11", "0-3,8,10-11"),
            ("5,4,4", "4-5"),
        ] {
            let list: CpuList = text.parse().expect(text);
            assert_eq!(list.to_string(), written);
        }
        for text in [
            "",
            "a",
            "1-",
            "-1",
            "3-2",
            "1,,2",
            "1 2",
            "8192",
            "0-99999999999999999999",
        ] {
            assert!(text.parse::<CpuList>().is_err(), "{text:?}");
        }
        assert_eq!(CpuList::of_kernel(" (null)\n"), Some(CpuList::default()));
        assert_eq!(
            CpuList::of_kernel("1-2\n"),
            Some([1, 2].into_iter().collect())
        );
        assert_eq!(CpuList::of_kernel("x"), None);
    }
}
