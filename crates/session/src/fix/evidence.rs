//! Messages as text for a log.

/// Longest text, bytes.
const TEXT_BYTES_MAX: usize = 400;

/// Fields that may have a secret: data of a Logon (96), Password (554), NewPassword (925).
const SECRETS: [&[u8]; 3] = [b"96=", b"554=", b"925="];

/// Bytes of a counterparty with `|` for the separator: printable, shortened, and without the values of secret fields.
pub fn printed(bytes: &[u8]) -> String {
    let mut text = String::new();
    for field in bytes.split_inclusive(|byte| *byte == 1) {
        let secret = SECRETS.iter().find(|tag| field.starts_with(tag));
        if let Some(tag) = secret {
            text.push_str(&String::from_utf8_lossy(tag));
            text.push_str("<secret>|");
            continue;
        }
        let rest = TEXT_BYTES_MAX.saturating_sub(text.len());
        text.extend(field.iter().take(rest).map(|byte| match byte {
            1 => '|',
            b' '..=b'~' => char::from(*byte),
            _ => '?',
        }));
        if field.len() > rest {
            text.push_str("...");
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_printed_without_its_passwords() {
        let bytes = b"8=FIX.4.4\x0135=A\x01553=u\x01554=secret\x0196=secret\x01925=secret\x0158=a\x02\xff\x01";
        let text = printed(bytes);
        assert!(
            !text.contains("secret\u{1}") && !text.contains("=secret"),
            "{text}"
        );
        assert_eq!(
            text,
            "8=FIX.4.4|35=A|553=u|554=<secret>|96=<secret>|925=<secret>|58=a??|"
        );
    }

    #[test]
    fn a_long_message_is_shortened() {
        let text = printed(&[b'x'; 1_000]);
        assert_eq!(text.len(), TEXT_BYTES_MAX + 3);
        assert_eq!(printed(b""), "");
    }
}
