//! A client of a media driver, stepped by the thread that owns it.

use crate::counters;
use crate::folder::c_path;
use crate::publication::{ExclusivePublication, Publication};
use crate::settings::ClientSettings;
use crate::subscription::Subscription;
use crate::{Channel, Counter, Driver, Error, SystemCounter, raw};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A client, and its driver if that is embedded. It is closed when the last of its publications and subscriptions is
/// dropped.
#[derive(Debug)]
pub struct Client {
    core: Rc<Core>,
}

impl Client {
    /// A client of an embedded driver. The driver is closed with the client.
    ///
    /// # Errors
    /// Aeron rejects a setting.
    pub fn embedded(driver: Driver) -> Result<Client, Error> {
        let settings = ClientSettings {
            timeout: driver.timeout(),
            ..ClientSettings::at(driver.folder().to_owned())
        };
        Client::open(&settings, Some(driver))
    }

    /// A client of a driver in another process on this host, in C or in Java.
    ///
    /// # Errors
    /// No driver answers within the timeout, or it has another version.
    pub fn connect(settings: &ClientSettings) -> Result<Client, Error> {
        Client::open(settings, None)
    }

    fn open(settings: &ClientSettings, driver: Option<Driver>) -> Result<Client, Error> {
        // SAFETY: replaces a function pointer of Aeron by one that is valid as long as the program runs.
        unsafe { raw::touchline_aeron_be_quiet() };
        let core = Core::open(settings, driver)?;
        Ok(Client {
            core: Rc::new(core),
        })
    }

    /// One turn of the embedded driver and of the client: sends, receives, processes commands. Returns the amount of
    /// work done.
    ///
    /// Call it at least every few seconds: the driver closes a client without activity for the timeout.
    ///
    /// # Errors
    /// The client is closed: its driver has ended, or this thread paused for longer than the timeout. Create a new
    /// client.
    ///
    /// # Panics
    /// Called inside the handler of a poll.
    #[inline]
    pub fn do_work(&self) -> Result<usize, Error> {
        self.core.do_work()
    }

    /// Runs turns for this duration, so that lost datagrams of the last messages are retransmitted.
    pub fn linger(&self, time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time && self.core.do_work().is_ok() {
            std::thread::yield_now();
        }
    }

    /// Whether the client is closed and cannot be used again.
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Oldest error that Aeron reported outside of a call and that was not returned yet, for example the reason why the
    /// client is closed.
    pub fn take_error(&self) -> Option<String> {
        self.core.errors.borrow_mut().pop_front()
    }

    /// Oldest warning of the embedded driver that was not returned yet: [`Driver::warnings`].
    pub fn take_warning(&self) -> Option<String> {
        self.core.driver.borrow_mut().as_mut()?.take_warning()
    }

    /// Starts to add a publication; [`Pending::poll`] returns it once the driver has answered.
    ///
    /// # Errors
    /// The channel is invalid, or the client is closed.
    pub fn add_publication(
        &self,
        channel: &str,
        stream: i32,
    ) -> Result<Pending<Publication>, Error> {
        self.add(channel, stream)
    }

    /// Starts to add an exclusive publication, the fastest kind: no other publication writes its stream.
    ///
    /// # Errors
    /// The channel is invalid, or the client is closed.
    pub fn add_exclusive_publication(
        &self,
        channel: &str,
        stream: i32,
    ) -> Result<Pending<ExclusivePublication>, Error> {
        self.add(channel, stream)
    }

    /// Starts to add a subscription.
    ///
    /// # Errors
    /// The channel is invalid, or the client is closed.
    pub fn add_subscription(
        &self,
        channel: &str,
        stream: i32,
    ) -> Result<Pending<Subscription>, Error> {
        self.add(channel, stream)
    }

    /// Adds a publication; runs turns until the driver has answered.
    ///
    /// # Errors
    /// The channel is invalid, the driver rejects it, or there is no answer within the timeout.
    pub fn publication(&self, channel: &str, stream: i32) -> Result<Publication, Error> {
        self.add(channel, stream)?.wait()
    }

    /// Adds an exclusive publication; runs turns until the driver has answered.
    ///
    /// # Errors
    /// The channel is invalid, the driver rejects it, or there is no answer within the timeout.
    pub fn exclusive_publication(
        &self,
        channel: &str,
        stream: i32,
    ) -> Result<ExclusivePublication, Error> {
        self.add(channel, stream)?.wait()
    }

    /// Adds a subscription; runs turns until the driver has answered.
    ///
    /// # Errors
    /// The channel is invalid, the driver rejects it, or there is no answer within the timeout.
    pub fn subscription(&self, channel: &str, stream: i32) -> Result<Subscription, Error> {
        self.add(channel, stream)?.wait()
    }

    /// Passes every counter of the driver to the closure.
    pub fn each_counter(&self, handler: impl FnMut(Counter<'_>)) {
        let _inside = self.core.enter();
        // SAFETY: the client is open, and its reader lives as long as it does.
        let reader = unsafe { raw::aeron_counters_reader(self.core.raw.as_ptr()) };
        counters::each(reader, handler);
    }

    /// A counter of the whole driver.
    pub fn system_counter(&self, wanted: SystemCounter) -> i64 {
        let mut value = 0;
        self.each_counter(|counter| {
            if counter.is_system(wanted) {
                value = counter.value;
            }
        });
        value
    }

    fn add<T: Added>(&self, channel: &str, stream: i32) -> Result<Pending<T>, Error> {
        let channel = Channel::new(channel)?;
        let mut pending = ptr::null_mut();
        let what = || format!("{channel}, stream {stream}");
        // SAFETY: the client is open; Aeron copies the channel.
        let answer = unsafe {
            T::begin(
                &raw mut pending,
                self.core.raw.as_ptr(),
                channel.as_c_str().as_ptr(),
                stream,
            )
        };
        let begun = NonNull::new(pending).filter(|_| answer == 0);
        Ok(Pending {
            raw: Some(begun.ok_or_else(|| Error::last(what()))?),
            what: what(),
            core: Rc::clone(&self.core),
            kind: PhantomData,
        })
    }
}

/// Kinds of resources that a client adds, with Aeron's functions.
///
/// # Safety
/// The three functions are of one kind of resource, and `poll` returns the pointer that `own` takes.
pub(crate) unsafe trait Added: Sized {
    /// Starts to add one.
    ///
    /// # Safety
    /// The client is open, and the text ends with a zero.
    unsafe fn begin(
        pending: *mut *mut raw::Async,
        client: *mut raw::Aeron,
        channel: *const c_char,
        stream: i32,
    ) -> c_int;
    /// Polls it; 1 when it is added.
    ///
    /// # Safety
    /// It was started by `begin`, its client is open, and it was not returned yet.
    unsafe fn poll(pending: *mut raw::Async) -> (c_int, *mut c_void);
    /// Cancels it.
    ///
    /// # Safety
    /// As `poll`.
    unsafe fn cancel(client: *mut raw::Aeron, pending: *mut raw::Async) -> c_int;
    /// Takes ownership of the result of `poll`.
    ///
    /// # Safety
    /// A pointer that `poll` returned with 1, once.
    unsafe fn own(raw: NonNull<c_void>, core: Rc<Core>, what: String) -> Result<Self, Error>;
}

/// A publication or a subscription without the driver's answer. [`Client::do_work`] receives the answer.
#[derive(Debug)]
#[allow(
    private_bounds,
    reason = "what can be added is a closed set of this crate"
)]
pub struct Pending<T: Added> {
    /// `None` once it was returned.
    raw: Option<NonNull<raw::Async>>,
    what: String,
    core: Rc<Core>,
    kind: PhantomData<T>,
}

#[allow(
    private_bounds,
    reason = "what can be added is a closed set of this crate"
)]
impl<T: Added> Pending<T> {
    /// The result, if the driver has answered.
    ///
    /// # Errors
    /// The driver rejects the channel or did not answer in time, or the client is closed.
    pub fn poll(&mut self) -> Result<Option<T>, Error> {
        let Some(pending) = self.raw else {
            return Err(Error::Setting(format!("{}: already returned", self.what)));
        };
        if self.core.is_closed() {
            return Err(self.core.closed(&self.what));
        }
        // SAFETY: it was started, the client is open, and it was not handed out: Aeron frees it in a later turn only after that.
        let (answer, raw) = unsafe { T::poll(pending.as_ptr()) };
        if answer == 0 {
            return Ok(None);
        }
        self.raw = None;
        match NonNull::new(raw).filter(|_| answer > 0) {
            // SAFETY: the call above gave it, and never will again.
            Some(raw) => unsafe { T::own(raw, Rc::clone(&self.core), self.what.clone()) }.map(Some),
            None => Err(Error::last(self.what.clone())),
        }
    }

    /// Runs turns until the driver has answered, at most for the timeout.
    fn wait(mut self) -> Result<T, Error> {
        loop {
            if let Some(added) = self.poll()? {
                return Ok(added);
            }
            self.core.turn()?;
        }
    }
}

impl<T: Added> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some(pending) = self.raw {
            // SAFETY: it was started and not handed out. A closed client refuses, and frees it when it ends.
            unsafe { T::cancel(self.core.raw.as_ptr(), pending.as_ptr()) };
        }
    }
}

/// Aeron's client, and the driver below it.
#[derive(Debug)]
pub(crate) struct Core {
    pub raw: NonNull<raw::Aeron>,
    context: NonNull<raw::Context>,
    /// Errors that Aeron reports by callback, on the calling thread: the oldest first.
    errors: Box<RefCell<VecDeque<String>>>,
    /// Whether a handler of the program runs: then no memory that it uses may be freed.
    is_inside: Cell<bool>,
    /// Folder of the driver.
    folder: PathBuf,
    // Last: the driver ends after its client.
    driver: RefCell<Option<Driver>>,
}

/// Most errors stored for [`Client::take_error`].
const ERRORS_MAX: usize = 16;

impl Core {
    fn open(settings: &ClientSettings, driver: Option<Driver>) -> Result<Core, Error> {
        let errors = Box::new(RefCell::new(VecDeque::with_capacity(ERRORS_MAX)));
        let what = || format!("{}: no client", settings.folder.display());
        let mut context = ptr::null_mut();
        // SAFETY: writes the new context into the variable.
        let answer = unsafe { raw::aeron_context_init(&raw mut context) };
        let context = NonNull::new(context)
            .filter(|_| answer == 0)
            .ok_or_else(|| Error::last(what()))?;
        let mut client = ptr::null_mut();
        let opened = configure(context, settings, &errors).and_then(|()| {
            // SAFETY: the context is open and outlives the client.
            let answer = unsafe { raw::aeron_init(&raw mut client, context.as_ptr()) };
            NonNull::new(client)
                .filter(|_| answer == 0)
                .ok_or_else(|| Error::last(what()))
        });
        let client = match opened {
            Ok(client) => client,
            Err(error) => {
                // SAFETY: the context is open, and no client uses it.
                unsafe { raw::aeron_context_close(context.as_ptr()) };
                return Err(error);
            }
        };
        let core = Core {
            raw: client,
            context,
            errors,
            is_inside: Cell::new(false),
            folder: settings.folder.clone(),
            driver: RefCell::new(driver),
        };
        // SAFETY: the client was made above and not yet started; it has no thread, since it is stepped.
        match unsafe { raw::aeron_start(core.raw.as_ptr()) } {
            0 => Ok(core),
            _ => Err(Error::last(what())),
        }
    }

    #[inline]
    pub fn do_work(&self) -> Result<usize, Error> {
        assert!(!self.is_inside.get(), "do_work was called inside a handler");
        let mut driver = self.driver.borrow_mut();
        let driven = driver.as_mut().map_or(0, Driver::do_work);
        drop(driver);
        // SAFETY: the client is open, and stepped by its owner's thread alone: the core is neither Send nor Sync.
        let answer = unsafe { raw::aeron_main_do_work(self.raw.as_ptr()) };
        match usize::try_from(answer) {
            Ok(worked) => Ok(driven + worked),
            Err(_) => Err(self.closed("the client is closed")),
        }
    }

    /// A turn while the driver's answer is awaited.
    pub fn turn(&self) -> Result<(), Error> {
        self.do_work()?;
        match self
            .driver
            .borrow()
            .as_ref()
            .is_some_and(Driver::is_embedded)
        {
            true => std::thread::yield_now(),
            false => std::thread::sleep(Duration::from_micros(100)),
        }
        Ok(())
    }

    pub fn is_closed(&self) -> bool {
        // SAFETY: the client is open in the sense of this call until it is dropped.
        unsafe { raw::aeron_is_closed(self.raw.as_ptr()) }
    }

    /// Reason why the client is closed.
    pub fn closed(&self, what: &str) -> Error {
        let said = self.errors.borrow().back().cloned();
        match said {
            // Aeron's text for a driver without a sign of life.
            Some(said) if said.contains("MediaDriver") => Error::Folder {
                folder: self.folder.clone(),
                why: format!(
                    "the media driver has ended or stands still; start it, and then this process again ({said})"
                ),
            },
            Some(said) => Error::Aeron {
                what: what.to_owned(),
                said,
                code: 0,
            },
            None => Error::last(what),
        }
    }

    /// Marks that a handler runs, until this value is dropped.
    pub fn enter(&self) -> Inside<'_> {
        let before = self.is_inside.replace(true);
        Inside {
            is_inside: &self.is_inside,
            before,
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: nothing of the client is left: each publication, subscription and pending one holds the core. The context is
        // closed after the client that used it.
        unsafe {
            raw::aeron_close(self.raw.as_ptr());
            raw::aeron_context_close(self.context.as_ptr());
        }
    }
}

/// A handler of the program runs.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    is_inside: &'a Cell<bool>,
    before: bool,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.is_inside.set(self.before);
    }
}

fn configure(
    context: NonNull<raw::Context>,
    settings: &ClientSettings,
    errors: &RefCell<VecDeque<String>>,
) -> Result<(), Error> {
    let folder = c_path(&settings.folder)?;
    let name = CString::new(settings.name.as_str())
        .map_err(|_| Error::Setting("the name of a client contains a zero byte".to_owned()))?;
    let timeout_ms = u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX);
    let context = context.as_ptr();
    let errors = ptr::from_ref(errors).cast_mut().cast();
    // SAFETY: the context is open and Aeron copies the folder. The list of errors is boxed and outlives the client.
    let answers = unsafe {
        [
            raw::aeron_context_set_dir(context, folder.as_ptr()),
            raw::aeron_context_set_client_name(context, name.as_ptr()),
            raw::aeron_context_set_driver_timeout_ms(context, timeout_ms),
            // Resources are unmapped at once: no other thread can still read them.
            raw::aeron_context_set_resource_linger_duration_ns(context, 0),
            raw::aeron_context_set_pre_touch_mapped_memory(context, true),
            raw::aeron_context_set_use_conductor_agent_invoker(context, true),
            // Aeron's own handler would end the process.
            raw::aeron_context_set_error_handler(context, on_error, errors),
        ]
    };
    match answers.iter().all(|answer| *answer == 0) {
        true => Ok(()),
        false => Err(Error::last("a setting of the client is refused")),
    }
}

/// Aeron reports an error outside of a call.
extern "C" fn on_error(errors: *mut c_void, code: c_int, message: *const c_char) {
    // SAFETY: `configure` gave the list, which lives as long as the client; the message ends with a zero.
    let (errors, message) = unsafe {
        (
            &*errors.cast::<RefCell<VecDeque<String>>>(),
            CStr::from_ptr(message),
        )
    };
    let said = crate::error::one_line(&message.to_string_lossy());
    if let Ok(mut errors) = errors.try_borrow_mut() {
        if errors.len() == ERRORS_MAX {
            errors.pop_front();
        }
        errors.push_back(format!("{said} (Aeron's error {code})"));
    }
}
