//! Converts the schema's names to Rust: acronyms as words, `MDEntryPx` as `MdEntryPx` or `md_entry_px`.

use anyhow::{Result, ensure};

/// For types: `MdEntryPx`.
pub fn camel(name: &str) -> String {
    words(name)
        .iter()
        .map(|word| word[..1].to_ascii_uppercase() + &word[1..])
        .collect()
}

/// For methods, fields and files: `md_entry_px`. Reserved words get an underscore.
pub fn snake(name: &str) -> String {
    const KEPT: &[&str] = &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
        "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
        "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
        "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type",
        "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    ];
    let name = words(name).join("_");
    if KEPT.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

/// For constants: `MD_ENTRY_PX`.
pub fn screaming(name: &str) -> String {
    words(name).join("_").to_ascii_uppercase()
}

/// Refuses a name that is not possible in Rust.
///
/// # Errors
/// The name.
pub fn check(name: &str) -> Result<()> {
    let letters = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic());
    ensure!(
        letters && starts,
        "'{name}' cannot become a name in Rust: letters, digits and _, and a letter first"
    );
    Ok(())
}

/// Splits a name into words, in lower case. A word begins at a capital after a small letter, and at the last capital
/// of a row of them if a small letter follows; digits belong to the word before them.
fn words(name: &str) -> Vec<String> {
    let bytes = name.as_bytes();
    let mut words = vec![String::new()];
    for (index, byte) in bytes.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(index + 1);
        let begins = byte.is_ascii_uppercase()
            && (before.is_some_and(|byte| byte.is_ascii_lowercase())
                || before.is_some_and(|byte| byte.is_ascii_uppercase())
                    && after.is_some_and(u8::is_ascii_lowercase));
        if begins || *byte == b'_' {
            words.push(String::new());
        }
        if let (Some(word), false) = (words.last_mut(), *byte == b'_') {
            word.push(byte.to_ascii_lowercase().into());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acronyms_are_split_into_words() {
        for (name, type_name, method) in [
            (
                "MDIncrementalRefreshBook46",
                "MdIncrementalRefreshBook46",
                "md_incremental_refresh_book46",
            ),
            (
                "NoOrderIDEntries",
                "NoOrderIdEntries",
                "no_order_id_entries",
            ),
            ("NoMDFeedTypes", "NoMdFeedTypes", "no_md_feed_types"),
            ("SecurityID", "SecurityId", "security_id"),
            ("CFICode", "CfiCode", "cfi_code"),
            ("eFIXInstrument", "EFixInstrument", "e_fix_instrument"),
            (
                "RepoAverage8_30AM",
                "RepoAverage830am",
                "repo_average8_30am",
            ),
            ("type", "Type", "type_"),
        ] {
            assert_eq!(camel(name), type_name);
            assert_eq!(snake(name), method);
        }
        assert_eq!(screaming("DeleteThru"), "DELETE_THRU");
    }

    #[test]
    fn invalid_names_are_refused() {
        for name in ["", "word!", "1st", "_", "invalid field name"] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
