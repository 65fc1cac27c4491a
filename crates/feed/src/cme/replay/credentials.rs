//! Our user name and password at the venue.

use touchline_session::Secret;

/// User and password of TCP replay. They are never printed, and wiped when they are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    user: Secret,
    password: Secret,
}

/// The longest user or password, bytes.
pub const CREDENTIAL_BYTES_MAX: usize = 64;

impl Credentials {
    /// Takes user and password, each 1 to 64 visible ASCII characters: nothing in them may end a
    /// field.
    ///
    /// # Errors
    /// Which of the two cannot be sent. The text has nothing of either.
    pub fn new(user: &str, password: impl Into<Secret>) -> Result<Credentials, &'static str> {
        let can_be_sent = |secret: &Secret| {
            (1..=CREDENTIAL_BYTES_MAX).contains(&secret.len())
                && secret.expose().iter().all(u8::is_ascii_graphic)
        };
        let (user, password) = (user.into(), password.into());
        if !can_be_sent(&user) {
            return Err("the user has other than 1 to 64 visible ASCII characters");
        }
        if !can_be_sent(&password) {
            return Err("the password has other than 1 to 64 visible ASCII characters");
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
