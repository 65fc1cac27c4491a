//! Who we are to the venue, and how that is kept out of every text.

use std::fmt;
use std::hint::black_box;

/// User and password of TCP replay. They are never printed, and wiped when they are dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: Box<[u8]>,
    password: Box<[u8]>,
}

/// The longest user or password, bytes.
pub const CREDENTIAL_BYTES_MAX: usize = 64;

impl Credentials {
    /// Takes user and password, each 1 to 64 visible ASCII characters: nothing in them may end a
    /// field.
    ///
    /// # Errors
    /// Which of the two cannot be sent. The text has nothing of either.
    pub fn new(user: &str, password: &str) -> Result<Credentials, &'static str> {
        let can_be_sent = |text: &str| {
            (1..=CREDENTIAL_BYTES_MAX).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !can_be_sent(user) {
            return Err("the user has other than 1 to 64 visible ASCII characters");
        }
        if !can_be_sent(password) {
            return Err("the password has other than 1 to 64 visible ASCII characters");
        }
        Ok(Credentials {
            user: user.as_bytes().into(),
            password: password.as_bytes().into(),
        })
    }

    pub(super) fn user(&self) -> &[u8] {
        &self.user
    }

    pub(super) fn password(&self) -> &[u8] {
        &self.password
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        wipe(&mut self.user);
        wipe(&mut self.password);
    }
}

/// Zeros that are written although nobody reads them.
pub(super) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    black_box(bytes);
}
