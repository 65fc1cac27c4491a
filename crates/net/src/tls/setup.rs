//! Settings of TLS: certificates, keys, pins.

use std::fmt;

/// Settings, with certificates and keys in PEM.
#[derive(Clone, Copy, Default)]
pub struct Settings<'a> {
    /// Name or address of the host: sent as SNI, and required in the certificate.
    pub server_name: &'a str,
    /// Trusted issuers; Mozilla's if `None`.
    pub roots: Option<&'a [u8]>,
    /// Public keys of which the server must have one; empty: no further condition.
    pub pins: &'a [Pin],
    /// Client certificate, if the server requests one.
    pub identity: Option<Identity<'a>>,
}

/// A client certificate.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// The client's certificate first, then the chain to its issuer.
    pub certificates: &'a [u8],
    /// The private key of the first one.
    pub key: &'a [u8],
}

/// SHA-256 of a certificate's public key (SubjectPublicKeyInfo).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin(pub [u8; 32]);

/// Invalid settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// Invalid name.
    #[error("not a host name and not an address")]
    NoName,
    /// Invalid roots.
    #[error(
        "there is no certificate of an issuer in it; it must have PEM blocks `BEGIN CERTIFICATE`"
    )]
    NoRoots,
    /// Invalid certificate.
    #[error(
        "there is no certificate in it; it must have PEM blocks `BEGIN CERTIFICATE`, ours first"
    )]
    NoCertificate,
    /// Invalid key.
    #[error("there is no private key in it; it must have one PEM block `BEGIN PRIVATE KEY`")]
    NoKey,
    /// Client certificate and key do not match.
    #[error("the client certificate and its key do not belong together")]
    NotOurs,
    /// Certificate and key of a server do not match.
    #[error("the certificate and its key do not belong together")]
    NotOfServer,
    /// Invalid pin.
    #[error("a pin has 64 hexadecimal digits: SHA-256 of the certificate's SubjectPublicKeyInfo")]
    BadPin,
}

impl Pin {
    /// Reads 64 hexadecimal digits, with or without colons between bytes.
    ///
    /// # Errors
    /// Wrong characters or length.
    pub fn read(text: &str) -> Result<Pin, SetupError> {
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b':').collect();
        if digits.len() != 64 {
            return Err(SetupError::BadPin);
        }
        let mut pin = [0; 32];
        for (byte, pair) in pin.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(SetupError::BadPin);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Ok(Pin(pin))
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self})")
    }
}
