//! CompIDs and further fields, as a configuration has them.

/// Tags that a configuration must not set: the session sets them, or their value is a secret.
const OURS: [u32; 14] = [8, 9, 10, 34, 35, 49, 52, 56, 96, 98, 108, 141, 554, 925];

/// A field written as `9001=Y`.
///
/// # Errors
/// The mistake, and the valid form. The text omits values that may be secret.
pub fn extra_field(text: &str) -> Result<(u32, Vec<u8>), String> {
    let (tag, value) = text.split_once('=').unwrap_or((text, ""));
    let tag = tag.parse().ok().filter(|tag| *tag > 0);
    let is_value = !value.is_empty() && !value.contains('\x01');
    match tag {
        Some(tag) if OURS.contains(&tag) => Err(format!(
            "tag {tag} is set by the session, or has a secret, and cannot be set here"
        )),
        Some(tag) if is_value => Ok((tag, value.as_bytes().to_vec())),
        _ => Err(format!(
            "{text:?} is not a field; write a tag and a value, as \"9001=Y\""
        )),
    }
}

/// Fields that [`extra_field`] accepts; others are left out, so a configuration refuses them first.
pub fn extra_fields(texts: &[String]) -> Vec<(u32, Vec<u8>)> {
    let fields = texts.iter().map(|text| extra_field(text));
    fields.filter_map(Result::ok).collect()
}

/// Whether a text can be a CompID: 1 to 64 printable ASCII characters. A control character would end a field of FIX, and a line of
/// a log.
pub fn is_comp_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comp_id_is_short_and_printable() {
        let longest = "A".repeat(64);
        for (text, is_id) in [
            ("T ~", true),
            (longest.as_str(), true),
            ("", false),
            ("é", false),
            ("a\x01", false),
        ] {
            assert_eq!(is_comp_id(text), is_id, "{text:?}");
        }
        assert!(!is_comp_id(&(longest + "A")));
    }

    #[test]
    fn a_field_has_a_tag_and_a_value_and_is_not_one_of_the_session() {
        assert_eq!(extra_field("553=X=Y"), Ok((553, b"X=Y".to_vec())));
        for wrong in [
            "",
            "9001",
            "9001=",
            "=Y",
            "0=Y",
            "-1=Y",
            "x=Y",
            "9001=a\x01b",
        ] {
            let error = extra_field(wrong).expect_err(wrong);
            assert!(
                error.ends_with("write a tag and a value, as \"9001=Y\""),
                "{error}"
            );
        }
        for tag in OURS {
            let error = extra_field(&format!("{tag}=sentinel")).expect_err("ours");
            assert!(!error.contains("sentinel"), "{error}");
        }
    }
}
