//! Which of many connections have something to read: one system call for all of them.

use super::{Error, Listener, Stream, error};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Most connections that one call reports. Unread bytes stay in the socket, so the next call reports the others.
const CALL_MAX: usize = 64;

/// Does not wait.
const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Which connections have bytes to read, as of the last [`Readiness::look`].
#[derive(Debug)]
pub struct Readiness {
    epoll: Arc<OwnedFd>,
    is_ready: Vec<bool>,
}

/// Adds connections under one number, one after the other.
#[derive(Debug, Clone)]
pub struct Watch {
    epoll: Arc<OwnedFd>,
    number: u64,
}

impl Readiness {
    /// For this many connections at a time. None is watched yet.
    ///
    /// # Errors
    /// The process has no free file descriptors.
    pub fn new(connections: usize) -> Result<Readiness, Error> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|errno| error(errno.into()))?;
        Ok(Readiness {
            epoll: Arc::new(epoll),
            is_ready: vec![true; connections],
        })
    }

    /// Adds the connections of a number, below that of [`Readiness::new`].
    pub fn watch(&self, number: usize) -> Watch {
        Watch {
            epoll: Arc::clone(&self.epoll),
            number: number as u64,
        }
    }

    /// Asks the system, without waiting.
    pub fn look(&mut self) {
        let mut events = [const { MaybeUninit::uninit() }; CALL_MAX];
        match epoll::wait(&*self.epoll, &mut events, Some(&NOW)) {
            Ok((events, _)) => {
                self.is_ready.fill(false);
                for event in events {
                    self.is_ready[event.data.u64() as usize] = true;
                }
            }
            // An interrupted call has no answer: then each connection is read.
            Err(_) => self.is_ready.fill(true),
        }
    }

    /// Sleeps until a connection has bytes, or a port has a connection, or for `ns` nanoseconds. True: something is there.
    pub fn wait(&mut self, ns: u64) -> bool {
        let mut events = [const { MaybeUninit::uninit() }; CALL_MAX];
        let limit = Timespec {
            tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (ns % 1_000_000_000) as i64,
        };
        // An interrupted call has no answer: then each connection is read.
        epoll::wait(&*self.epoll, &mut events, Some(&limit))
            .map_or(true, |(events, _)| !events.is_empty())
    }

    /// Whether the connection of a number has bytes, or has ended.
    #[inline]
    pub fn is_ready(&self, number: usize) -> bool {
        self.is_ready[number]
    }
}

impl Watch {
    /// Watches a connection, until it is dropped.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn begin(&self, stream: &Stream) -> Result<(), Error> {
        self.add(&stream.socket)
    }

    /// Watches a port for connections, until it is dropped.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn begin_port(&self, listener: &Listener) -> Result<(), Error> {
        self.add(&listener.socket)
    }

    fn add(&self, socket: &socket2::Socket) -> Result<(), Error> {
        let (data, flags) = (EventData::new_u64(self.number), EventFlags::IN);
        epoll::add(&*self.epoll, socket, data, flags).map_err(|errno| error(errno.into()))
    }
}
