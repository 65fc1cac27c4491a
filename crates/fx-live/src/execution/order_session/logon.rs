//! Our Logon: name, password and further fields.

use super::texts::withheld;
use crate::execution::config::SessionConfig;
use touchline_session::Secret;
use touchline_session::fix::extra_fields;
use touchline_wire::fix::{Encoder, tag};

/// Contents of our Logon beside the session's own fields.
pub(super) struct Logon {
    user: Option<String>,
    password: Option<Secret>,
    fields: Vec<(u32, Vec<u8>)>,
}

impl Logon {
    /// Makes the Logon of a configuration, without the password, which is in a file.
    pub fn new(config: &SessionConfig) -> Logon {
        Logon {
            user: config.user.clone(),
            password: None,
            fields: extra_fields(&config.logon_fields),
        }
    }

    /// Sets the password.
    pub fn set_password(&mut self, password: Option<Secret>) {
        self.password = password;
    }

    /// Writes the fields.
    pub fn write(&self, logon: &mut Encoder<'_>) {
        if let Some(user) = &self.user {
            logon.bytes(tag::USERNAME, user.as_bytes());
        }
        if let Some(password) = &self.password {
            logon.bytes(tag::PASSWORD, password.expose());
        }
        for (tag, value) in &self.fields {
            logon.bytes(*tag, value);
        }
    }

    /// A text of the bank, unless it contains the password.
    pub fn withheld(&self, text: String) -> String {
        withheld(text, self.password.as_ref())
    }
}
