//! A client of a media driver, stepped by the thread that owns it.

use crate::counters;
use crate::publication::{ExclusivePublication, Publication};
use crate::settings::ClientSettings;
use crate::shared::{Added, Core};
use crate::subscription::Subscription;
use crate::{Channel, Counter, Driver, Error, SystemCounter, raw};
use std::marker::PhantomData;
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

    /// Runs the embedded driver and the client once: sends, receives, processes commands. Returns the amount of
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
