//! Errors of a configuration.

use thiserror::Error;
use touchline_fx::SetupError;

/// An invalid configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Invalid TOML, an unknown key, or a wrong type.
    #[error("{0}")]
    Syntax(String),
    /// An invalid value of the core.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// An invalid value of the engine.
    #[error("{0}")]
    Value(String),
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
