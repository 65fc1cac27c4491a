//! Certificates for tests of TLS, made when a test runs.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};

/// Issuer of certificates.
pub struct Issuer(rcgen::CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, both as PEM.
pub struct Issued {
    /// The certificate.
    pub certificate_pem: String,
    /// Private key.
    pub key_pem: String,
}

impl Issuer {
    /// An issuer that signed itself.
    pub fn new(name: &str) -> Issuer {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        Issuer(rcgen::CertifiedIssuer::self_signed(params, key).expect("an issuer"))
    }

    /// Certificate of the issuer.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a host.
    pub fn issue(&self, host: &str) -> Issued {
        self.issue_with(host, |_| {})
    }

    /// Issues a certificate that has expired.
    pub fn expired(&self, host: &str) -> Issued {
        self.issue_with(host, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    /// Issues a certificate that is not yet valid.
    pub fn not_yet(&self, host: &str) -> Issued {
        self.issue_with(host, |params| params.not_before = date_time_ymd(4000, 1, 1))
    }

    fn issue_with(&self, host: &str, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let mut params = CertificateParams::new([host.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, host);
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Issued::of(&certificate, &key)
    }
}

impl Issued {
    /// A certificate that signed itself.
    pub fn by_itself(host: &str) -> Issued {
        let mut params = CertificateParams::new([host.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, host);
        let key = KeyPair::generate().expect("a key");
        Issued::of(&params.self_signed(&key).expect("a certificate"), &key)
    }

    fn of(certificate: &rcgen::Certificate, key: &KeyPair) -> Issued {
        Issued {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        }
    }
}
