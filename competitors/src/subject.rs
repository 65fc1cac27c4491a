//! What the programs of most subjects do alike: the best values of their options, their roles, and opening what another process makes.

use crate::{Bench, Request};
use anyhow::{Error, Result, bail};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Longest wait for another process.
const PATIENCE: Duration = Duration::from_secs(20);

impl Request {
    /// Gives an option that is `best` its best value for this measurement: of round trips, or of throughput.
    pub fn choose(&mut self, name: &str, rtt: impl ToString, throughput: impl ToString) {
        if self.text(name) == "best" {
            match self.bench {
                Bench::Rtt => self.set(name, rtt),
                Bench::Throughput => self.set(name, throughput),
            }
        }
    }

    /// Gives `gather`, the spins of a reader of a stream that found nothing, its best value: 1000 for one reader of an
    /// unlimited stream, else 1.
    pub fn choose_gather(&mut self) {
        let spins = match self.readers == 1 && self.rate == 0.0 {
            true => 1000,
            false => 1,
        };
        self.choose("gather", spins, spins);
    }

    /// Does what this process is for.
    ///
    /// # Errors
    /// Those of its role; or there is no such role.
    pub fn play(
        &self,
        ping: impl FnOnce(&Request) -> Result<()>,
        publish: impl FnOnce(&Request) -> Result<()>,
        echo: impl FnOnce(&Request) -> Result<()>,
        read: impl FnOnce(&Request) -> Result<()>,
    ) -> Result<()> {
        match (self.role.as_deref(), self.bench) {
            (None, Bench::Rtt) => ping(self),
            (None, Bench::Throughput) => publish(self),
            (Some("echo"), _) => echo(self),
            (Some("reader"), _) => read(self),
            (Some(role), _) => bail!("no role {role}"),
        }
    }
}

/// Opens what another process makes, and waits for it.
///
/// # Errors
/// That of the last attempt, after 20 seconds.
pub fn opened<T, E: Into<Error>>(mut open: impl FnMut() -> Result<T, E>) -> Result<T> {
    let start = Instant::now();
    loop {
        match open() {
            Ok(opened) => return Ok(opened),
            Err(error) if start.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}
