//! Reasons of failed TLS connections, with the fix.

use super::verify::SelfSigned;
use rustls::{AlertDescription, CertificateError, Error, OtherError, PeerIncompatible};

/// Reason of a failed handshake or connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The certificate has expired.
    #[error(
        "the server's certificate has expired; check this host's clock, else the venue must renew it"
    )]
    Expired,
    /// The certificate is not valid yet.
    #[error("the server's certificate is not valid yet; check this host's clock")]
    NotYetValid,
    /// The certificate belongs to another host.
    #[error(
        "the server's certificate is for another host; check the host and `server_name` of the configuration"
    )]
    WrongHost,
    /// Its issuer is not trusted.
    #[error(
        "the server's certificate was issued by an unknown issuer; name the issuer's certificate in `roots_file` if \
         the venue has an issuer of its own"
    )]
    UnknownIssuer,
    /// The certificate is self-signed.
    #[error(
        "the server's certificate is self-signed; name it in `roots_file` if the venue says so, \
         else another host answers in its place"
    )]
    SelfSigned,
    /// Another fault of the certificate.
    #[error("the server's certificate is damaged, withdrawn or not for a server; ask the venue")]
    BadCertificate,
    /// The certificate is valid, but its key is not pinned.
    #[error(
        "the key of the server's certificate is none of `pins`; ask the venue whether it has a new key, and \
         pin that one before the old one is taken away"
    )]
    PinDiffers,
    /// The server supports no TLS 1.2 or later.
    #[error("the server does not support TLS 1.2 or later; ask the venue for another address")]
    TooOld,
    /// The server requires a client certificate.
    #[error(
        "the server wants a client certificate; name one in `client_certificate_file` and `client_key`"
    )]
    CertificateWanted,
    /// The server rejected the client certificate.
    #[error("the server refused the client certificate; check which one the venue knows")]
    CertificateRefused,
    /// The received bytes are not TLS.
    #[error("the server does not speak TLS; check the port, and whether TLS is wanted there")]
    NotTls,
    /// The server ended the handshake with an unknown alert.
    #[error("the server refused the handshake; check that the port is the one for TLS clients")]
    Refused,
    /// A client has no certificate.
    #[error("the client showed no certificate; give it one of the issuers in `client_roots_file`")]
    ClientWithout,
    /// A client's certificate is not accepted.
    #[error(
        "the client's certificate is not of an issuer in `client_roots_file`, or its time is over"
    )]
    ClientRefused,
    /// A client without TLS, or with a version below 1.2.
    #[error(
        "the client does not use TLS 1.2 or later; switch TLS on at the client (of a relay, its address begins with tls://)"
    )]
    ClientNotTls,
    /// A client ended the handshake.
    #[error(
        "the client refused this server's certificate; compare its `roots_file` and `server_name`"
    )]
    ServerRefused,
    /// The connection ended without close_notify.
    #[error("the connection ended without a close_notify of TLS; connect again")]
    Cut,
    /// Received data was altered or invalid.
    #[error(
        "received data was damaged or manipulated; connect again, and check the network between"
    )]
    Broken,
}

impl Refusal {
    pub(super) fn of(error: &Error) -> Refusal {
        match error {
            Error::InvalidCertificate(error) => Refusal::of_certificate(error),
            Error::NoCertificatesPresented => Refusal::BadCertificate,
            Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Refusal::TooOld,
            Error::PeerIncompatible(_) => Refusal::Refused,
            Error::InvalidMessage(_) => Refusal::NotTls,
            Error::AlertReceived(alert) => Refusal::of_alert(*alert),
            _ => Refusal::Broken,
        }
    }

    /// Error of a client's connection, from the server's side.
    pub(super) fn of_client(error: &Error) -> Refusal {
        match error {
            Error::NoCertificatesPresented => Refusal::ClientWithout,
            Error::InvalidCertificate(_) => Refusal::ClientRefused,
            Error::InvalidMessage(_) | Error::PeerIncompatible(_) => Refusal::ClientNotTls,
            Error::AlertReceived(_) => Refusal::ServerRefused,
            _ => Refusal::Broken,
        }
    }

    fn of_certificate(error: &CertificateError) -> Refusal {
        use CertificateError as E;
        match error {
            E::Expired | E::ExpiredContext { .. } => Refusal::Expired,
            E::NotValidYet | E::NotValidYetContext { .. } => Refusal::NotYetValid,
            E::NotValidForName | E::NotValidForNameContext { .. } => Refusal::WrongHost,
            E::UnknownIssuer => Refusal::UnknownIssuer,
            E::ApplicationVerificationFailure => Refusal::PinDiffers,
            E::Other(OtherError(other)) if other.is::<SelfSigned>() => Refusal::SelfSigned,
            _ => Refusal::BadCertificate,
        }
    }

    fn of_alert(alert: AlertDescription) -> Refusal {
        use AlertDescription as A;
        match alert {
            A::ProtocolVersion => Refusal::TooOld,
            A::CertificateRequired | A::NoCertificate => Refusal::CertificateWanted,
            A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            | A::AccessDenied => Refusal::CertificateRefused,
            A::DecodeError | A::BadRecordMac | A::DecryptError => Refusal::Broken,
            _ => Refusal::Refused,
        }
    }
}
