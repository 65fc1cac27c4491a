//! Verification of a Logon's credentials.
//!
//! RawData (96) is a timestamp in milliseconds, a point, and a nonce in base64; Password (554) is the base64 of the
//! SHA-256 of RawData and the secret of the user in Username (553). Source: Deribit's FIX API, Logon (A). It is
//! computed with another library than the client's.

use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use std::net::Ipv4Addr;
use touchline_session::Secret;
use touchline_session::access_control::Addresses;

/// The only user of the exchange.
#[derive(Debug)]
pub struct Credentials {
    user: String,
    secret: Secret,
    addresses: Addresses,
    /// Timestamp of the last logon; it must increase.
    last_ms: u64,
}

/// Credentials in a Logon.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Username (553).
    pub user: Vec<u8>,
    /// Password (554).
    pub password: Secret,
    /// RawData (96).
    pub raw_data: Vec<u8>,
}

/// Reason of a rejected Logon. The client receives the same text for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialError {
    /// RawData is malformed, or its nonce is too short.
    RawData,
    /// The timestamp differs from our time, or is not later than that of the last logon.
    Time,
    /// User, password and address do not match.
    Identity,
}

/// Text of a rejected Logon, for every reason.
pub const REFUSAL: &str = "invalid credentials";

/// Minimum bytes of a nonce.
const NONCE_BYTES_MIN: usize = 32;
/// Largest difference between the client's clock and ours. The venue does not document its limit.
const SKEW_MS_MAX: u64 = 60_000;

impl Credentials {
    /// A user with a secret.
    pub fn new(user: impl Into<String>, secret: Secret) -> Credentials {
        Credentials {
            user: user.into(),
            secret,
            addresses: Addresses::default(),
            last_ms: 0,
        }
    }

    /// Restricts the user to these addresses.
    pub fn only_from(self, addresses: Addresses) -> Credentials {
        Credentials { addresses, ..self }
    }

    /// A user with a new random secret.
    ///
    /// # Panics
    /// The system has no random numbers.
    pub fn made(user: &str) -> Credentials {
        let mut bytes = [0; 24];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.expect("the system's random numbers");
        Credentials::new(user, base64(&bytes).into())
    }

    /// User name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Secret.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Whether the user may connect from this address.
    pub fn takes(&self, from: Ipv4Addr) -> bool {
        self.addresses.have(from)
    }

    /// Verifies a Logon from this address.
    ///
    /// # Errors
    /// The reason. The check takes the same time for an unknown user or a wrong address as for a wrong password.
    pub fn check(
        &mut self,
        proof: &Proof,
        from: Ipv4Addr,
        now_ms: u64,
    ) -> Result<(), CredentialError> {
        let (time, nonce) = std::str::from_utf8(&proof.raw_data)
            .ok()
            .and_then(|text| text.split_once('.'))
            .ok_or(CredentialError::RawData)?;
        let time_ms: u64 = time.parse().map_err(|_| CredentialError::RawData)?;
        if base64_bytes(nonce).is_none_or(|bytes| bytes < NONCE_BYTES_MIN) {
            return Err(CredentialError::RawData);
        }
        let mut hash = Context::new(&SHA256);
        hash.update(&proof.raw_data);
        hash.update(self.secret.expose());
        let expected = Secret::from(base64(hash.finish().as_ref()));
        let is_user = Secret::from(self.user.as_str()).is(&proof.user);
        let is_password = proof.password == expected;
        if !(is_password & is_user & self.addresses.have(from)) {
            return Err(CredentialError::Identity);
        }
        // A client without the password learns nothing about timestamps.
        if time_ms.abs_diff(now_ms) > SKEW_MS_MAX || time_ms <= self.last_ms {
            return Err(CredentialError::Time);
        }
        self.last_ms = time_ms;
        Ok(())
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648, section 4.
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at)) as usize % 64];
            text.push(if at > part.len() {
                '='
            } else {
                char::from(digit)
            });
        }
    }
    text
}

/// Number of bytes that a base64 text encodes; `None` if it is malformed.
fn base64_bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches('=');
    let is_whole = text.len().is_multiple_of(4) && text.len() - digits.len() <= 2;
    let is_base64 = is_whole && digits.bytes().all(|byte| DIGITS.contains(&byte));
    is_base64.then_some(digits.len() * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const NOW_MS: u64 = 1_700_000_000_000;
    const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
    const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

    fn proof(user: &str, secret: &str, time_ms: u64, nonce: &[u8]) -> Proof {
        let raw_data = format!("{time_ms}.{}", base64(nonce)).into_bytes();
        let mut hash = Context::new(&SHA256);
        hash.update(&raw_data);
        hash.update(secret.as_bytes());
        Proof {
            user: user.into(),
            password: base64(hash.finish().as_ref()).into(),
            raw_data,
        }
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(base64_bytes(text), Some(bytes.len()));
        }
        for wrong in ["Z", "Zg=", "Zg", "Zg===", "====", "Z===", "Zm9v!A=="] {
            assert_eq!(base64_bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_a_logon_with_the_secret_is_accepted_and_once() {
        let mut credentials = Credentials::new("user", "secret".into());
        let nonce = [7; 32];
        let right = proof("user", "secret", NOW_MS, &nonce);
        for (wrong, error) in [
            (
                proof("user", "Secret", NOW_MS, &nonce),
                CredentialError::Identity,
            ),
            (
                proof("other", "secret", NOW_MS, &nonce),
                CredentialError::Identity,
            ),
            (
                proof("", "secret", NOW_MS, &nonce),
                CredentialError::Identity,
            ),
            (
                proof("user", "secret", NOW_MS - 60_001, &nonce),
                CredentialError::Time,
            ),
            (
                proof("user", "secret", NOW_MS + 60_001, &nonce),
                CredentialError::Time,
            ),
            (
                proof("user", "secret", NOW_MS, &nonce[..31]),
                CredentialError::RawData,
            ),
            (Proof::default(), CredentialError::RawData),
            (
                Proof {
                    raw_data: b"1.!".to_vec(),
                    ..right.clone()
                },
                CredentialError::RawData,
            ),
            (
                Proof {
                    password: Secret::default(),
                    ..right.clone()
                },
                CredentialError::Identity,
            ),
        ] {
            assert_eq!(
                credentials.check(&wrong, HERE, NOW_MS),
                Err(error),
                "{wrong:?}"
            );
        }
        assert_eq!(credentials.check(&right, HERE, NOW_MS), Ok(()));
        assert_eq!(
            credentials.check(&right, HERE, NOW_MS),
            Err(CredentialError::Time),
            "a replay"
        );
        let later = proof("user", "secret", NOW_MS + 1, &nonce);
        assert_eq!(credentials.check(&later, HERE, NOW_MS), Ok(()));
    }

    fn here_alone() -> Credentials {
        let here = "127.0.0.1".parse().expect("an address");
        Credentials::new("user", "secret".into()).only_from(Addresses::of(vec![here]))
    }

    #[test]
    fn a_logon_is_accepted_only_from_a_listed_address() {
        let mut credentials = here_alone();
        let right = proof("user", "secret", NOW_MS, &[7; 32]);
        let elsewhere = credentials.check(&right, ELSEWHERE, NOW_MS);
        assert_eq!(elsewhere, Err(CredentialError::Identity));
        // The timestamp was not consumed.
        assert_eq!(credentials.check(&right, HERE, NOW_MS), Ok(()));
    }

    /// Medians of many alternating tries, by the clock. A load of the host affects all reasons alike; a difference
    /// would show in each round.
    #[test]
    fn a_refusal_takes_constant_time() {
        let mut credentials = here_alone();
        let cases = [
            (proof("user", "Secret", NOW_MS, &[7; 32]), HERE),
            (proof("nobody", "secret", NOW_MS, &[7; 32]), HERE),
            (proof("user", "secret", NOW_MS, &[7; 32]), ELSEWHERE),
        ];
        let mut round = || {
            let mut took_ns = [const { Vec::new() }; 3];
            for _ in 0..10_000 {
                for ((proof, from), took_ns) in cases.iter().zip(&mut took_ns) {
                    let start = Instant::now();
                    let checked = credentials.check(proof, *from, NOW_MS);
                    took_ns.push(start.elapsed().as_nanos());
                    assert_eq!(checked, Err(CredentialError::Identity));
                }
            }
            took_ns.map(|mut all| *all.select_nth_unstable(5_000).1)
        };
        let rounds: Vec<_> = (0..5).map(|_| round()).collect();
        let is_alike = |middles: &[u128; 3]| {
            let (least, most) = (middles.iter().min(), middles.iter().max());
            most.zip(least)
                .is_some_and(|(most, least)| 10 * most < 11 * least)
        };
        assert!(rounds.iter().any(is_alike), "{rounds:?} ns");
    }

    #[test]
    fn generated_secrets_differ() {
        let (one, other) = (Credentials::made("u"), Credentials::made("u"));
        assert_eq!(one.secret().len(), 32);
        assert_ne!(one.secret(), other.secret());
    }
}
