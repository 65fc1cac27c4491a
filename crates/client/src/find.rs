//! Ways to find an instrument.

use crate::registry::Registry;
use crate::{Error, Instrument, Key, SecurityId};

/// Value that identifies an instrument: its symbol (`&str`), its [`SecurityId`], its [`Key`], or its handle.
pub trait Find: sealed::Find {}

impl<T: sealed::Find> Find for T {}

pub(crate) mod sealed {
    use super::*;

    pub trait Find {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error>;
    }

    impl Find for &str {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry
                .by_symbol(self)
                .ok_or_else(|| registry.no_instrument(self))
        }
    }

    impl Find for &String {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            self.as_str().look_up(registry)
        }
    }

    impl Find for SecurityId {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry
                .by_security_id(self.0)
                .ok_or_else(|| registry.no_instrument(&self.0.to_string()))
        }
    }

    impl Find for Key {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry.by_key(self).ok_or_else(|| {
                registry.no_instrument(&format!("{}:{}", self.venue, self.security_id))
            })
        }
    }

    impl Find for Instrument {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry.check(*self).map(|_| *self)
        }
    }
}
