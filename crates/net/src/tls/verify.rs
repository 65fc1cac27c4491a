//! Verification of a server: the library's verifier, and the pins.

use super::Pin;
use ring::digest::{SHA256, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use std::sync::Arc;

/// The library's verifier, followed by the check of pins.
#[derive(Debug)]
pub struct Verifier {
    pub library: Arc<WebPkiServerVerifier>,
    pub pins: Vec<Pin>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .library
            .verify_server_cert(leaf, intermediates, name, ocsp, now)
            .map_err(|error| say_if_self_signed(error, leaf))?;
        let pinned = self.pins.is_empty() || self.pins.contains(&pin_of(leaf)?);
        match pinned {
            true => Ok(verified),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.library
            .verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.library
            .verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.library.supported_verify_schemes()
    }
}

/// SHA-256 of the public key's whole structure (SubjectPublicKeyInfo).
fn pin_of(leaf: &CertificateDer<'_>) -> Result<Pin, Error> {
    let key = ParsedCertificate::try_from(leaf)?.subject_public_key_info();
    let hash = digest(&SHA256, &key);
    let bytes = hash.as_ref().try_into();
    Ok(Pin(bytes.expect("SHA-256 has 32 bytes")))
}

/// A self-signed certificate.
#[derive(Debug, thiserror::Error)]
#[error("self-signed")]
pub struct SelfSigned;

/// The library reports a self-signed certificate as one of an unknown issuer; this names the actual
/// reason, for which users search.
fn say_if_self_signed(error: Error, leaf: &CertificateDer<'_>) -> Error {
    let about_issuer = matches!(
        error,
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_))
    );
    match about_issuer && names_itself(leaf).unwrap_or(false) {
        true => CertificateError::Other(OtherError(Arc::new(SelfSigned))).into(),
        false => error,
    }
}

/// Whether issuer and subject are equal, in X.509: a sequence with a sequence of version (tag 0xa0, optional), serial
/// number, algorithm, issuer, validity, subject. `None` if it is not a certificate.
fn names_itself(certificate: &[u8]) -> Option<bool> {
    let (_, whole, _) = element(certificate)?;
    let (_, mut rest, _) = element(whole)?;
    if let (0xa0, _, behind) = element(rest)? {
        rest = behind;
    }
    let (_, _, rest) = element(rest)?;
    let (_, _, rest) = element(rest)?;
    let (_, issuer, rest) = element(rest)?;
    let (_, _, rest) = element(rest)?;
    let (_, subject, _) = element(rest)?;
    Some(issuer == subject)
}

/// First element of DER: tag, content, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits
                .iter()
                .fold(0, |all, &digit| all << 8 | usize::from(digit));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
