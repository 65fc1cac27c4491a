//! The media driver: sends and receives datagrams, and owns the logs of all streams.

use crate::Error;
use crate::folder::{Ownership, PrivateFiles, c_path, check_private};
use crate::raw;
use crate::settings::{COUNTERS_BYTES, DriverSettings, Threading};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// Time after which a subscription that is three quarters of a window behind the fastest one of its stream is dropped. The
/// driver looks once a second, so that takes one to two seconds; Aeron requires more than the interval.
const UNTETHERED_AFTER: Duration = Duration::from_millis(1_500);

/// A media driver of this process. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Driver {
    raw: NonNull<raw::Driver>,
    // Closed after the driver, which uses it.
    _context: Context,
    settings: DriverSettings,
    warnings: Vec<String>,
    // Last: the folder belongs to this process until all of the driver is gone.
    _ownership: Ownership,
}

impl Driver {
    /// Starts a driver: checks the settings, the folder and its free space, removes the files of a dead driver, and
    /// starts the configured threads.
    ///
    /// Environment variables `AERON_…` that no setting covers reach the driver as Aeron documents them; tests inject
    /// loss with them.
    ///
    /// # Errors
    /// Settings are out of range, the folder belongs to another driver, the space is too small, or Aeron rejects a
    /// setting.
    pub fn start(settings: &DriverSettings) -> Result<Driver, Error> {
        settings.check()?;
        // SAFETY: replaces a function pointer of Aeron by one that lives as long as the program.
        unsafe { raw::touchline_aeron_be_quiet() };
        let ownership = Ownership::take(settings)?;
        let context = Context::new()?;
        let warnings = context.apply(settings)?;
        let mut driver = ptr::null_mut();
        let private = PrivateFiles::begin();
        // SAFETY: the context is open and outlives the driver: it is closed after it.
        let answer = unsafe { raw::aeron_driver_init(&raw mut driver, context.0.as_ptr()) };
        let started = NonNull::new(driver).filter(|_| answer == 0);
        let raw = started.ok_or_else(|| Error::last("the media driver does not start"))?;
        let driver = Driver {
            raw,
            _context: context,
            settings: settings.clone(),
            warnings,
            _ownership: ownership,
        };
        // SAFETY: the driver was made above and not yet started.
        let answer = unsafe { raw::aeron_driver_start(raw.as_ptr(), driver.is_embedded()) };
        drop(private);
        match answer {
            0 => check_private(&settings.folder).map(|()| driver),
            _ => Err(Error::last("the media driver does not start")),
        }
    }

    /// Runs an embedded driver once; no effect for a driver with threads. Returns the amount of work done.
    #[inline]
    pub fn do_work(&mut self) -> usize {
        if !self.is_embedded() {
            return 0;
        }
        // SAFETY: the driver is open, and has no thread that steps it.
        let answer = unsafe { raw::aeron_driver_main_do_work(self.raw.as_ptr()) };
        usize::try_from(answer).unwrap_or(0)
    }

    /// Folder of the driver, which clients of other processes connect to.
    pub fn folder(&self) -> &Path {
        &self.settings.folder
    }

    /// Warnings, one line each: socket buffers that the kernel caps.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn take_warning(&mut self) -> Option<String> {
        (!self.warnings.is_empty()).then(|| self.warnings.remove(0))
    }

    #[inline]
    pub(crate) fn is_embedded(&self) -> bool {
        self.settings.threading == Threading::Embedded
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.settings.timeout
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: the driver is open. Its threads are joined here; the context is closed after it.
        unsafe { raw::aeron_driver_close(self.raw.as_ptr()) };
    }
}

/// Settings in Aeron's form. Closing it removes the folder.
#[derive(Debug)]
struct Context(NonNull<raw::DriverContext>);

impl Context {
    fn new() -> Result<Context, Error> {
        let mut context = ptr::null_mut();
        // SAFETY: writes the new context into the variable.
        let answer = unsafe { raw::aeron_driver_context_init(&raw mut context) };
        let made = NonNull::new(context).filter(|_| answer == 0);
        made.map(Context)
            .ok_or_else(|| Error::last("the media driver has no context"))
    }

    /// Sets every setting; returns warnings.
    fn apply(&self, settings: &DriverSettings) -> Result<Vec<String>, Error> {
        let folder = c_path(&settings.folder)?;
        self.set(raw::aeron_driver_context_set_dir, folder.as_ptr())?;
        self.set_threading(settings.threading)?;
        let (caps, warnings) = Caps::of(settings.buffer_bytes);
        self.set_switches()?;
        self.set_calls(settings.datagrams_per_call)?;
        self.set_sizes(settings, &caps)?;
        self.set_times(settings)?;
        Ok(warnings)
    }

    fn set_switches(&self) -> Result<(), Error> {
        use raw::*;
        self.set(aeron_driver_context_set_dir_delete_on_start, false)?;
        self.set(aeron_driver_context_set_dir_delete_on_shutdown, true)?;
        self.set(aeron_driver_context_set_dir_warn_if_exists, false)?;
        self.set(aeron_driver_context_set_print_configuration, false)?;
        self.set(aeron_driver_context_set_term_buffer_sparse_file, false)?;
        self.set(aeron_driver_context_set_perform_storage_checks, true)?;
        self.set(aeron_driver_context_set_reliable_stream, true)?;
        self.set(aeron_driver_context_set_tether_subscriptions, false)
    }

    fn set_calls(&self, datagrams: u32) -> Result<(), Error> {
        use raw::*;
        self.set(
            aeron_driver_context_set_network_publication_max_messages_per_send,
            datagrams,
        )?;
        self.set(
            aeron_driver_context_set_sender_io_vector_capacity,
            datagrams,
        )?;
        self.set(
            aeron_driver_context_set_receiver_io_vector_capacity,
            datagrams,
        )
    }

    fn set_sizes(&self, settings: &DriverSettings, caps: &Caps) -> Result<(), Error> {
        use raw::*;
        let term = settings.term_bytes as usize;
        let mtu = settings.mtu_bytes as usize;
        let window = settings.window_bytes(caps.receive_bytes) as usize;
        let group = settings.group_size as usize;
        self.set(
            aeron_driver_context_set_counters_buffer_length,
            COUNTERS_BYTES as usize,
        )?;
        self.set(aeron_driver_context_set_term_buffer_length, term)?;
        self.set(aeron_driver_context_set_ipc_term_buffer_length, term)?;
        self.set(
            aeron_driver_context_set_ipc_publication_term_window_length,
            term / 2,
        )?;
        self.set(aeron_driver_context_set_mtu_length, mtu)?;
        self.set(aeron_driver_context_set_ipc_mtu_length, mtu)?;
        self.set(
            aeron_driver_context_set_socket_so_rcvbuf,
            caps.receive_bytes as usize,
        )?;
        self.set(
            aeron_driver_context_set_socket_so_sndbuf,
            caps.send_bytes as usize,
        )?;
        self.set(aeron_driver_context_set_rcv_initial_window_length, window)?;
        self.set(aeron_driver_context_set_nak_multicast_group_size, group)
    }

    fn set_times(&self, settings: &DriverSettings) -> Result<(), Error> {
        use raw::*;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let timeout = ns(settings.timeout);
        let (linger, backoff) = (ns(settings.linger), ns(settings.nak_backoff_max));
        self.set(
            aeron_driver_context_set_driver_timeout_ms,
            timeout / 1_000_000,
        )?;
        self.set(aeron_driver_context_set_client_liveness_timeout_ns, timeout)?;
        self.set(aeron_driver_context_set_image_liveness_timeout_ns, timeout)?;
        // Aeron requires more than the time after which a client counts as dead.
        self.set(
            aeron_driver_context_set_publication_unblock_timeout_ns,
            timeout + timeout / 2,
        )?;
        self.set(
            aeron_driver_context_set_publication_linger_timeout_ns,
            linger,
        )?;
        self.set_untethered_times(timeout)?;
        // The space was checked before.
        self.set(aeron_driver_context_set_low_file_store_warning_threshold, 0)?;
        self.set(
            aeron_driver_context_set_nak_multicast_max_backoff_ns,
            backoff,
        )
    }

    /// Times of a subscription that stands still while others of its stream continue. A dropped subscription rejoins only
    /// after the timeout of clients: that of a dead process is removed by then, and would stop the stream again.
    fn set_untethered_times(&self, timeout_ns: u64) -> Result<(), Error> {
        use raw::*;
        let limit = u64::try_from(UNTETHERED_AFTER.as_nanos()).unwrap_or(u64::MAX);
        self.set(
            aeron_driver_context_set_untethered_window_limit_timeout_ns,
            limit,
        )?;
        self.set(aeron_driver_context_set_untethered_linger_timeout_ns, limit)?;
        self.set(
            aeron_driver_context_set_untethered_resting_timeout_ns,
            timeout_ns.max(limit),
        )
    }

    fn set_threading(&self, threading: Threading) -> Result<(), Error> {
        use raw::*;
        match threading {
            Threading::Embedded => {
                self.set(aeron_driver_context_set_threading_mode, THREADING_INVOKER)
            }
            Threading::Shared { sleep } => {
                let sleep = CString::new(format!("{}ns", sleep.as_nanos())).unwrap_or_default();
                self.set(aeron_driver_context_set_threading_mode, THREADING_SHARED)?;
                // In this order: the strategy reads its arguments when it is set.
                self.set(
                    aeron_driver_context_set_shared_idle_strategy_init_args,
                    sleep.as_ptr(),
                )?;
                self.set(
                    aeron_driver_context_set_shared_idle_strategy,
                    c"sleep-ns".as_ptr(),
                )
            }
            Threading::Dedicated { cpus } => {
                self.set(aeron_driver_context_set_threading_mode, THREADING_DEDICATED)?;
                let Some([conductor, sender, receiver]) = cpus.map(|cpus| cpus.map(i32::from))
                else {
                    return Ok(());
                };
                self.set(aeron_driver_context_set_conductor_cpu_affinity, conductor)?;
                self.set(aeron_driver_context_set_sender_cpu_affinity, sender)?;
                self.set(aeron_driver_context_set_receiver_cpu_affinity, receiver)
            }
        }
    }

    /// Sets one of the settings that `raw` declares.
    fn set<T>(&self, set: raw::Set<T>, value: T) -> Result<(), Error> {
        // SAFETY: the context is open. The call stores a number, or copies a text that ends with a zero and outlives the call.
        let answer = unsafe { set(self.0.as_ptr(), value) };
        match answer {
            0.. => Ok(()),
            _ => Err(Error::last("a setting of the media driver is refused")),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is open, and the driver that used it is closed.
        unsafe { raw::aeron_driver_context_close(self.0.as_ptr()) };
    }
}

/// Socket buffers that the kernel grants.
struct Caps {
    receive_bytes: u32,
    send_bytes: u32,
}

impl Caps {
    fn of(wanted: u32) -> (Caps, Vec<String>) {
        let mut warnings = Vec::new();
        let mut cap = |name: &str, consequence: &str| {
            let path = format!("/proc/sys/net/core/{name}");
            let most = std::fs::read_to_string(path).ok();
            let most = most.and_then(|text| text.trim().parse::<u32>().ok());
            let granted = most.map_or(wanted, |most| most.min(wanted));
            if granted < wanted {
                warnings.push(format!(
                    "net.core.{name} caps the socket buffers at {granted} of {wanted} bytes: {consequence}; sysctl -w net.core.{name}={wanted}"
                ));
            }
            granted
        };
        let caps = Caps {
            receive_bytes: cap("rmem_max", "longer bursts are lost and sent again"),
            send_bytes: cap("wmem_max", "longer bursts are sent late"),
        };
        (caps, warnings)
    }
}

/// Version of the linked Aeron, such as `1.54.0`.
pub fn version() -> &'static str {
    // SAFETY: returns a text that lives as long as the program.
    let text = unsafe { CStr::from_ptr(raw::aeron_version_text()) };
    text.to_str().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DATAGRAMS_PER_CALL_MAX;

    #[test]
    fn aeron_has_the_datagrams_of_a_call() {
        let context = Context::new().expect("a context");
        for datagrams in [1, 7, DATAGRAMS_PER_CALL_MAX] {
            let settings = DriverSettings {
                datagrams_per_call: datagrams,
                ..DriverSettings::named("x")
            };
            context.apply(&settings).expect("it is in range");
            let context = context.0.as_ptr();
            // SAFETY: the context is open.
            let has = unsafe {
                [
                    raw::aeron_driver_context_get_network_publication_max_messages_per_send(
                        context,
                    ),
                    raw::aeron_driver_context_get_sender_io_vector_capacity(context),
                    raw::aeron_driver_context_get_receiver_io_vector_capacity(context),
                ]
            };
            assert_eq!(has, [datagrams; 3]);
        }
    }

    #[test]
    fn a_capped_socket_buffer_is_a_warning_with_the_fix() {
        let (caps, warnings) = Caps::of(u32::MAX);
        assert!(caps.receive_bytes < u32::MAX && caps.send_bytes < u32::MAX);
        for (warning, name) in warnings.iter().zip(["rmem_max", "wmem_max"]) {
            let fix = format!("sysctl -w net.core.{name}=4294967295");
            assert!(warning.ends_with(&fix), "{warning}");
        }
        assert_eq!(warnings.len(), 2);
        assert_eq!(Caps::of(1_024).1, Vec::<String>::new());
    }
}
