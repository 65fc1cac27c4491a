//! Our user name and password at the venue.

use touchline_session::Secret;

/// User and password of TCP replay. They are never printed, and wiped on drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    user: Secret,
    password: Secret,
}

/// Longest user or password, bytes.
pub const CREDENTIAL_BYTES_MAX: usize = 64;

impl Credentials {
    /// Accepts user and password of 1 to 64 visible ASCII characters each: no character may end a field.
    ///
    /// # Errors
    /// The invalid one of the two. The text does not contain their characters.
    pub fn new(user: &str, password: impl Into<Secret>) -> Result<Credentials, &'static str> {
        let can_be_sent = |secret: &Secret| {
            (1..=CREDENTIAL_BYTES_MAX).contains(&secret.len())
                && secret.expose().iter().all(u8::is_ascii_graphic)
        };
        let (user, password) = (user.into(), password.into());
        if !can_be_sent(&user) {
            return Err("the user must have 1 to 64 visible ASCII characters");
        }
        if !can_be_sent(&password) {
            return Err("the password must have 1 to 64 visible ASCII characters");
        }
        Ok(Credentials { user, password })
    }

    pub(super) fn user(&self) -> &[u8] {
        self.user.expose()
    }

    pub(super) fn password(&self) -> &[u8] {
        self.password.expose()
    }
}
