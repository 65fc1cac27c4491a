//! Settings of a driver and of a client. Each default is set here, none is inherited from Aeron.

use crate::Error;
use std::path::PathBuf;
use std::time::Duration;

const MIB: u32 = 1024 * 1024;
/// Term lengths that Aeron accepts: powers of two from here to 1 GiB.
const TERM_BYTES_MIN: u32 = 64 * 1024;
const TERM_BYTES_MAX: u32 = 1024 * MIB;
/// Most datagrams that Aeron sends or receives in one call.
pub const DATAGRAMS_PER_CALL_MAX: u32 = 64;
/// Bytes of a data frame's header; `mtu` includes it.
pub(crate) const HEADER_BYTES: u32 = 32;
/// Size of the counter values, bytes: 8,192 counters. Their labels need four times as much.
pub(crate) const COUNTERS_BYTES: u32 = MIB;
/// Commands, events, errors and the loss report of a driver, bytes.
const BUFFERS_BYTES: u32 = 8 * MIB;
/// Metadata of a log, bytes.
const LOG_METADATA_BYTES: u64 = 4096;

/// Threads of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threading {
    /// The thread that calls [`crate::Client::do_work`]: no additional thread, and the fastest with few processors.
    Embedded,
    /// One thread, which sleeps for this time when idle. For IPC, where the driver is not on the path of a message.
    Shared {
        /// Sleep between two turns without work.
        sleep: Duration,
    },
    /// Three threads: conductor, sender and receiver, with a backoff when idle. Needs three free processors.
    Dedicated {
        /// Processors of conductor, sender and receiver; `None` leaves them to the scheduler.
        cpus: Option<[u16; 3]>,
    },
}

/// Settings of a media driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    /// Folder of the driver in memory. It is removed at start and at the end.
    pub folder: PathBuf,
    /// Threads of the driver.
    pub threading: Threading,
    /// Bytes of a term, a power of two from 64 KiB to 1 GiB; three terms make a log. A message is at most an eighth of it.
    pub term_bytes: u32,
    /// Number of streams whose logs must fit, publications and images together.
    pub streams: u32,
    /// Bytes of a datagram without IP and UDP headers, including 32 bytes of Aeron's header. More than 1408 needs jumbo
    /// frames: a fragmented datagram is lost if any fragment is lost.
    pub mtu_bytes: u32,
    /// Socket buffers and receive window, bytes. The kernel caps socket buffers at `net.core.rmem_max` and `wmem_max`;
    /// [`crate::Driver::warnings`] says when it does.
    pub buffer_bytes: u32,
    /// Timeout after which an inactive driver, client or image counts as dead. A subscription that stands still is dropped
    /// within two seconds, if another one of its stream continues.
    pub timeout: Duration,
    /// Time for which the driver keeps a closed publication, to retransmit lost datagrams.
    pub linger: Duration,
    /// Longest delay before a multicast receiver sends a NAK. `nak-delay` of a channel has no effect on multicast.
    pub nak_backoff_max: Duration,
    /// Number of receivers of a group that may have the same loss.
    pub group_size: u32,
    /// Most datagrams in one `sendmmsg` or `recvmmsg`, 1 to [`DATAGRAMS_PER_CALL_MAX`]; Aeron's own default is 4. A turn of the
    /// driver makes one such call for each stream and each socket, so with few datagrams a burst needs many turns.
    pub datagrams_per_call: u32,
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
            datagrams_per_call: 32,
        }
    }

    /// Bytes of memory for the driver and its streams.
    pub fn needed_bytes(&self) -> u64 {
        let log = 3 * u64::from(self.term_bytes) + LOG_METADATA_BYTES;
        u64::from(BUFFERS_BYTES + 5 * COUNTERS_BYTES) + u64::from(self.streams) * log
    }

    /// Receive window, bytes: at most the socket buffer, and half a term.
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
        if !(1..=DATAGRAMS_PER_CALL_MAX).contains(&self.datagrams_per_call) {
            return refuse(format!(
                "datagrams_per_call of {}: choose 1 to {DATAGRAMS_PER_CALL_MAX}",
                self.datagrams_per_call
            ));
        }
        Ok(())
    }
}

/// Settings of a client of a driver in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// Folder of the driver, in C or in Java.
    pub folder: PathBuf,
    /// Name in the driver's counters.
    pub name: String,
    /// Timeout for an answer of the driver, and for its activity.
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
    fn the_default_fits_a_container_and_states_its_size() {
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
        assert!(change(|s| s.datagrams_per_call = 0).contains("datagrams_per_call"));
        assert!(change(|s| s.datagrams_per_call = 65).contains("datagrams_per_call"));
    }
}
