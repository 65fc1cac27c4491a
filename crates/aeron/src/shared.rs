//! Aeron's client and the driver below it, shared by everything that a client added.

use crate::folder::c_path;
use crate::settings::ClientSettings;
use crate::{Driver, Error, raw};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::time::Duration;

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

/// Aeron's client, and the driver below it.
#[derive(Debug)]
pub(crate) struct Core {
    pub raw: NonNull<raw::Aeron>,
    context: NonNull<raw::Context>,
    /// Errors that Aeron reports by callback, on the calling thread: the oldest first.
    pub errors: Box<RefCell<VecDeque<String>>>,
    /// Whether a handler of the program runs: then no memory that it uses may be freed.
    is_inside: Cell<bool>,
    /// Folder of the driver.
    folder: PathBuf,
    // Last: the driver ends after its client.
    pub driver: RefCell<Option<Driver>>,
}

/// Most errors stored for [`Client::take_error`](crate::Client::take_error).
const ERRORS_MAX: usize = 16;

impl Core {
    pub fn open(settings: &ClientSettings, driver: Option<Driver>) -> Result<Core, Error> {
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
        // SAFETY: no object of the client is left: each publication, subscription and pending one holds the core. The context is
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
