//! Logon fields that a venue requires.

use super::settings::{Dialect, Settings};
use crate::ReceiveTime;
use sha2::{Digest, Sha256};
use touchline_session::Secret;
use touchline_wire::fix::{Encoder, tag};
use zeroize::Zeroize;

/// Writes the Logon fields of the venue and of the configuration. Each Logon needs another `number`.
pub fn write(settings: &Settings, number: u64, time: ReceiveTime, logon: &mut Encoder<'_>) {
    match settings.dialect {
        Dialect::Deribit => deribit(settings, number, time, logon),
        Dialect::Standard => {
            if let Some(user) = &settings.user {
                logon.bytes(tag::USERNAME, user.as_bytes());
            }
            if let Some(password) = &settings.password {
                logon.bytes(tag::PASSWORD, password.expose());
            }
        }
    }
    for (tag, value) in &settings.logon_fields {
        logon.bytes(*tag, value);
    }
}

/// RawData is the time in milliseconds, a point, and a nonce in base64; Password the base64 of the
/// SHA-256 of RawData and the secret.
///
/// Source: Deribit's FIX API, Logon (A).
fn deribit(settings: &Settings, number: u64, time: ReceiveTime, logon: &mut Encoder<'_>) {
    let nonce = nonce(&settings.entropy, number, time);
    let raw_data = format!("{}.{}", time.wall_ns / 1_000_000, base64(&nonce));
    let mut hash = Sha256::new();
    hash.update(&raw_data);
    if let Some(secret) = &settings.password {
        hash.update(secret.expose());
    }
    let mut proof = base64(&hash.finalize());
    logon
        .unsigned(tag::RAW_DATA_LENGTH, raw_data.len() as u64)
        .bytes(tag::RAW_DATA, raw_data.as_bytes());
    if let Some(user) = &settings.user {
        logon.bytes(tag::USERNAME, user.as_bytes());
    }
    logon.bytes(tag::PASSWORD, proof.as_bytes());
    proof.zeroize();
}

/// Unpredictable nonces that never repeat: an observer cannot derive the next one.
fn nonce(entropy: &Secret, number: u64, time: ReceiveTime) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(entropy.expose());
    hash.update(number.to_le_bytes());
    hash.update(time.wall_ns.to_le_bytes());
    hash.finalize().into()
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let word = part.iter().enumerate().fold(0_u32, |word, (place, byte)| {
            word | u32::from(*byte) << (16 - 8 * place)
        });
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= part.len() {
                digit as char
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_rfcs_test_vectors() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_nonce_is_used_once() {
        let entropy = Secret::from("entropy");
        let one = nonce(&entropy, 1, ReceiveTime::at(5));
        assert_ne!(one, nonce(&entropy, 2, ReceiveTime::at(5)));
        assert_ne!(one, nonce(&entropy, 1, ReceiveTime::at(6)));
        assert_ne!(one, nonce(&Secret::from("other"), 1, ReceiveTime::at(5)));
    }
}
