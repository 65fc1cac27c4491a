//! The kernel's own description of its functions (BTF): a program names one by its number there.

use std::fs;

/// Type information of the running kernel (BTF).
const KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// Number of a function of the running kernel; `None` if it has none of that name, or no description.
pub(super) fn function(name: &str) -> Option<u32> {
    find(&fs::read(KERNEL).ok()?, name)
}

/// Kinds of a type, of `linux/btf.h`.
mod kind {
    pub(super) const FUNCTION: u32 = 12;
}

/// Bytes behind the three words of a type: for each of its members, and once.
fn more_bytes(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        // An integer, a variable, a tag of a declaration.
        1 | 14 | 17 => 4,
        // An array.
        3 => 12,
        // A structure, a union, a section, an enumeration of 64 bits.
        4 | 5 | 15 | 19 => 12 * members,
        // An enumeration, a prototype.
        6 | 13 => 8 * members,
        2 | 7..=11 | kind::FUNCTION | 16 | 18 => 0,
        _ => return None,
    })
}

fn find(bytes: &[u8], name: &str) -> Option<u32> {
    const MAGIC: u16 = 0xeb9f;
    let magic = bytes.first_chunk().map(|first| u16::from_ne_bytes(*first));
    if magic != Some(MAGIC) {
        return None;
    }
    let offset = |at| word(bytes, at).map(|word| word as usize);
    let head = offset(4)?;
    let types = bytes.get(head + offset(8)?..)?.get(..offset(12)?)?;
    let names = bytes.get(head + offset(16)?..)?.get(..offset(20)?)?;
    let (mut at, mut number) = (0, 1);
    while at < types.len() {
        let info = word(types, at + 4)?;
        let (kind, members) = (info >> 24 & 0x1f, info & 0xffff);
        let own = || {
            let rest = names.get(word(types, at)? as usize..)?;
            rest.strip_prefix(name.as_bytes())?.first().copied()
        };
        if kind == kind::FUNCTION && own() == Some(0) {
            return Some(number);
        }
        at += 12 + more_bytes(kind, members as usize)?;
        number += 1;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of an integer, a structure of two members, and the functions `ab` and `abc`.
    fn described() -> Vec<u8> {
        let names = b"\0ab\0abc\0";
        let kind = |kind: u32, members: u32| kind << 24 | members;
        let types = [
            &[0, kind(1, 0), 4, 32][..],
            &[0, kind(4, 2), 8, 0, 1, 0, 0, 1, 32],
            &[4, kind(kind::FUNCTION, 1), 0],
            &[1, kind(kind::FUNCTION, 1), 0],
        ]
        .concat();
        let head = [
            24,
            0,
            4 * types.len() as u32,
            4 * types.len() as u32,
            names.len() as u32,
        ];
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        bytes.extend(
            head.iter()
                .chain(&types)
                .flat_map(|word| word.to_le_bytes()),
        );
        bytes.extend(names);
        bytes
    }

    #[test]
    fn functions_have_the_number_of_their_place() {
        let bytes = described();
        assert_eq!(find(&bytes, "abc"), Some(3));
        assert_eq!(find(&bytes, "ab"), Some(4));
        assert_eq!(find(&bytes, "a"), None);
        for len in 0..bytes.len() - 1 {
            assert_eq!(find(&bytes[..len], "none"), None, "{len} bytes");
        }
    }

    #[test]
    fn the_running_kernel_is_understood() {
        if fs::metadata(KERNEL).is_err() {
            touchline_testing::skip("this kernel does not describe itself");
            return;
        }
        assert!(function("schedule").is_some());
        assert_eq!(function("no_such_function_of_a_kernel"), None);
    }
}
