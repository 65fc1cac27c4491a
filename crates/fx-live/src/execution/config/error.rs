//! Errors of a configuration.

use thiserror::Error;
use touchline_settings::Mistakes;

/// An invalid configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Mistakes of the text.
    #[error(transparent)]
    Mistakes(#[from] Mistakes),
    /// The file of a password cannot be used.
    #[error("sessions: {bank}: password_file: {error}")]
    Password {
        /// Bank.
        bank: String,
        /// Place, problem and fix.
        error: touchline_credentials::ConfigError,
    },
    /// A file or setting of TLS cannot be used.
    #[error("sessions: {bank}: tls: {error}")]
    Tls {
        /// Bank.
        bank: String,
        /// Place, problem and fix.
        error: touchline_credentials::ConfigError,
    },
}
