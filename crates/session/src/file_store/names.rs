//! File names from CompIDs, which others choose.

use std::fmt::Write;

/// Maximum length of a file name, less the suffix during a rewrite.
const NAME_BYTES_MAX: usize = 255 - 4;

/// File name of a session between two CompIDs. Letters, digits, `_` and `-` stay; every other byte becomes `%` and two
/// digits, so that no name leaves its folder and names are unique. `None`: too long.
pub fn file_name(begin_string: &str, sender: &str, target: &str) -> Option<String> {
    let parts = [begin_string, sender, target].map(escaped);
    let name = format!("{}~{}~{}.session", parts[0], parts[1], parts[2]);
    (name.len() <= NAME_BYTES_MAX).then_some(name)
}

fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(byte.into()),
            _ => {
                let _ = write!(name, "%{byte:02x}");
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_stays_in_its_directory() {
        let name = |sender: &str| file_name("FIX.4.4", sender, "T");
        assert_eq!(name("ISLD").as_deref(), Some("FIX%2e4%2e4~ISLD~T.session"));
        let hostile = ["../x", "/etc/x", "a\0b", ".", "CON", "", "a~b", "%2f", "é"];
        let mut names: Vec<String> = hostile.iter().filter_map(|sender| name(sender)).collect();
        for name in &names {
            let is_plain = name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-%~.".contains(&byte));
            assert!(is_plain && name.matches('.').count() == 1, "{name}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), hostile.len(), "two sessions with one name");
        assert_eq!(name(&"x".repeat(300)), None);
    }
}
