//! A network card with its endpoints: the program goes with its interface, and another one of that name gets it.

use super::attached::{Attached, Mode};
use super::error::Error;
use super::rings::Frame;
use crate::udp::{Endpoint, Settings, Totals, named_interface};
use std::time::{Duration, Instant};

/// Time after which the queue of a process that has ended is free again.
const FREED_WITHIN: Duration = Duration::from_millis(500);

/// Interval of looks for another interface of the name; of failed attempts to attach, doubled up to the other.
const LOOK_EACH: Duration = Duration::from_secs(1);
const LOOK_EACH_MAX: Duration = Duration::from_secs(64);

/// A card.
pub(super) struct Card {
    /// Name or address of its interface.
    interface: String,
    endpoints: Vec<Endpoint>,
    settings: Settings,
    wanted: Mode,
    /// Program and queues; `None` while the interface is missing: the sockets then receive all packets.
    attached: Option<Attached>,
    /// The next queue to look at.
    turn: usize,
    /// Totals of rings that are gone.
    gone: Totals,
    /// The next look at the interface, and the pause after it.
    look: Instant,
    pause: Duration,
}

impl Card {
    /// Attaches the program for these endpoints of one interface, by name or address.
    ///
    /// # Errors
    /// There is no such interface, or those of [`Attached::new`].
    pub fn open(
        interface: &str,
        endpoints: Vec<Endpoint>,
        settings: &Settings,
        wanted: Mode,
    ) -> Result<Card, Error> {
        let found = named_interface(Some(interface)).ok_or(Error::NoInterface)?;
        let attached = Attached::new(found, &endpoints, settings, wanted, FREED_WITHIN)?;
        Ok(Card {
            interface: interface.to_owned(),
            endpoints,
            settings: settings.clone(),
            wanted,
            attached: Some(attached),
            turn: 0,
            gone: Totals::default(),
            look: Instant::now(),
            pause: LOOK_EACH,
        })
    }

    /// The attached program; `None` while the interface is missing.
    #[inline]
    pub fn attached(&self) -> Option<&Attached> {
        self.attached.as_ref()
    }

    /// Warning if the driver of the interface lacks XDP or zero copy.
    pub fn warning(&self) -> Option<String> {
        self.attached.as_ref()?.warning(self.wanted)
    }

    /// The next frame of a queue.
    #[inline]
    pub fn next(&mut self) -> Option<(usize, Frame)> {
        self.attached.as_mut()?.next(&mut self.turn)
    }

    /// Kernel statistics of the rings, from the start on.
    pub fn totals(&self) -> Totals {
        let now = self.attached.as_ref().map(Attached::totals);
        Totals {
            is_detached: self.attached.is_none(),
            ..self.gone.plus(now.unwrap_or_default())
        }
    }

    /// Looks whether the interface is there, each second; never waits.
    pub fn look_after(&mut self) {
        let now = Instant::now();
        if now >= self.look {
            self.follow_interface();
            self.look = now + self.pause;
        }
    }

    fn follow_interface(&mut self) {
        if let Some(attached) = &self.attached {
            if attached.is_there() {
                return;
            }
            self.gone = self.gone.plus(attached.totals());
            self.attached = None;
            self.pause = LOOK_EACH;
        }
        // Meanwhile the sockets receive; their own look joins the groups again.
        let Some(found) = named_interface(Some(&self.interface)) else {
            return;
        };
        let (endpoints, settings) = (&self.endpoints, &self.settings);
        let attached = Attached::new(found, endpoints, settings, self.wanted, Duration::ZERO);
        self.attached = attached.ok();
        self.pause = match self.attached {
            Some(_) => LOOK_EACH,
            None => (2 * self.pause).min(LOOK_EACH_MAX),
        };
    }
}
