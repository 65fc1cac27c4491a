//! Settings of a driver and of a client. Each default is set, none is inherited from Aeron.

use crate::Error;
use std::path::PathBuf;
use std::time::Duration;

const MIB: u32 = 1024 * 1024;
/// Terms that Aeron knows: powers of two from here to 1 GiB.
const TERM_BYTES_MIN: u32 = 64 * 1024;
const TERM_BYTES_MAX: u32 = 1024 * MIB;
/// Header of a frame of data, bytes: `mtu` is this and the payload.
pub(crate) const HEADER_BYTES: u32 = 32;
/// Values of counters, bytes: 8,192 counters. Their names take four times as much.
pub(crate) const COUNTERS_BYTES: u32 = MIB;
/// Commands, events, errors and the loss report of a driver, bytes.
const BUFFERS_BYTES: u32 = 8 * MIB;
/// Metadata of a log, bytes.
const LOG_METADATA_BYTES: u64 = 4096;

/// Who runs the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threading {
    /// The thread that calls [`crate::Client::do_work`]: no thread of its own, and the fastest on few processors.
    Embedded,
    /// One thread of its own, which sleeps this long when it has nothing to do. For IPC, where the driver is not on the
    /// path of a message.
    Shared {
        /// Sleep between two turns without work.
        sleep: Duration,
    },
    /// Three threads of its own: conductor, sender and receiver, which back off when they have nothing to do. Needs three free
    /// processors.
    Dedicated {
        /// Processors of conductor, sender and receiver; `None` leaves them to the scheduler.
        cpus: Option<[u16; 3]>,
    },
}

/// Settings of a media driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    /// Folder of the driver in memory. It is removed when the driver starts and when it ends.
    pub folder: PathBuf,
    /// Who runs the driver.
    pub threading: Threading,
    /// Bytes of a term, a power of two from 64 KiB to 1 GiB; three terms make a log. A message is at most an eighth of it.
    pub term_bytes: u32,
    /// Streams whose logs must have room in memory, publications and images together.
    pub streams: u32,
    /// Bytes of a datagram without the headers of IP and UDP, 32 bytes of Aeron's own included. More than 1408 needs jumbo
    /// frames: a datagram in parts is lost when any of them is.
    pub mtu_bytes: u32,
    /// Socket buffers and receive window, bytes. The kernel caps socket buffers at `net.core.rmem_max` and `wmem_max`;
    /// [`crate::Driver::warnings`] says when it does.
    pub buffer_bytes: u32,
    /// After this time without a sign of life a driver, a client or an image counts as dead.
    pub timeout: Duration,
    /// How long the driver keeps a publication that was closed, so that lost datagrams can be sent again.
    pub linger: Duration,
    /// Longest wait of a receiver of multicast before it reports a loss. `nak-delay` of a channel has no effect on multicast.
    pub nak_backoff_max: Duration,
    /// Receivers of a group that may see the same loss.
    pub group_size: u32,
}

impl DriverSettings {
    /// The defaults for a driver of this name, with the folder `/dev/shm/touchline-aeron-NAME`.
    pub fn named(name: &str) -> DriverSettings {
        DriverSettings::at(PathBuf::from(format!("/dev/shm/touchline-aeron-{name}")))
    }

    /// The defaults for a driver with this folder.
    pub fn at(folder: PathBuf) -> DriverSettings {
        DriverSettings {
            folder,
            threading: Threading::Embedded,
            term_bytes: 4 * MIB,
            streams: 2,
            mtu_bytes: 1408,
            buffer_bytes: 2 * MIB,
            timeout: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            nak_backoff_max: Duration::from_micros(200),
            group_size: 2,
        }
    }

    /// Bytes that the driver and its streams take in memory.
    pub fn needed_bytes(&self) -> u64 {
        let log = 3 * u64::from(self.term_bytes) + LOG_METADATA_BYTES;
        u64::from(BUFFERS_BYTES + 5 * COUNTERS_BYTES) + u64::from(self.streams) * log
    }

    /// Receive window, bytes: not more than the socket takes, nor than half a term.
    pub(crate) fn window_bytes(&self, socket_bytes: u32) -> u32 {
        let window = self.buffer_bytes.min(socket_bytes);
        window.min(self.term_bytes / 2).max(self.mtu_bytes)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Setting(why));
        let (term, mtu) = (self.term_bytes, self.mtu_bytes);
        if !term.is_power_of_two() || !(TERM_BYTES_MIN..=TERM_BYTES_MAX).contains(&term) {
            return refuse(format!(
                "term of {term} bytes: choose a power of two from 65536 to 1073741824"
            ));
        }
        if !(HEADER_BYTES * 2..=65_504).contains(&mtu) || !mtu.is_multiple_of(32) {
            return refuse(format!(
                "mtu of {mtu} bytes: choose a multiple of 32 from 64 to 65504"
            ));
        }
        if self.timeout < Duration::from_secs(1) {
            return refuse("timeout below 1 s: a short pause would end every stream".to_owned());
        }
        if self.group_size == 0 || self.streams == 0 {
            return refuse("group_size and streams start at 1".to_owned());
        }
        Ok(())
    }
}

/// Settings of a client of a driver that runs elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// Folder of the driver, in C or in Java.
    pub folder: PathBuf,
    /// Name that the driver's counters show.
    pub name: String,
    /// How long an answer of the driver may take; after this time without a sign of life the driver counts as dead.
    pub timeout: Duration,
}

impl ClientSettings {
    /// The defaults for a driver with this folder.
    pub fn at(folder: PathBuf) -> ClientSettings {
        ClientSettings {
            folder,
            name: "touchline".to_owned(),
            timeout: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_fits_a_container_and_takes_what_it_says() {
        let settings = DriverSettings::named("x");
        assert_eq!(settings.check(), Ok(()));
        assert!(
            settings.needed_bytes() < 64 << 20,
            "{}",
            settings.needed_bytes()
        );
        assert_eq!(settings.window_bytes(u32::MAX), 2 << 20);
        assert_eq!(settings.window_bytes(212_992), 212_992);
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let change = |change: fn(&mut DriverSettings)| {
            let mut settings = DriverSettings::named("x");
            change(&mut settings);
            settings.check().expect_err("out of range").to_string()
        };
        assert!(change(|s| s.term_bytes = 100_000).contains("term"));
        assert!(change(|s| s.mtu_bytes = 1400).contains("mtu"));
        assert!(change(|s| s.timeout = Duration::ZERO).contains("timeout"));
        assert!(change(|s| s.group_size = 0).contains("group_size"));
    }
}
