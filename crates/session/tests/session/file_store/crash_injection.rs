//! A store whose process is killed at a labelled point.

use std::cell::Cell;
use std::rc::Rc;
use touchline_session::fix::{Store, StoreError};

/// Point of the kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    BeforeStore,
    AfterStore,
    AfterSend,
    AfterAcknowledgement,
    /// The session has returned a message, and the application still has to process it.
    BeforeDelivery,
    /// The application has received a message.
    AfterDelivery,
    BeforeCount,
    AfterCount,
}

impl Point {
    pub const ALL: [Point; 8] = [
        Point::BeforeStore,
        Point::AfterStore,
        Point::AfterSend,
        Point::AfterAcknowledgement,
        Point::BeforeDelivery,
        Point::AfterDelivery,
        Point::BeforeCount,
        Point::AfterCount,
    ];
}

/// Number of passages of a point before the kill; whether it has happened.
#[derive(Clone, Debug)]
pub struct Fate {
    point: Point,
    passages: Rc<Cell<u32>>,
    is_dead: Rc<Cell<bool>>,
}

impl Fate {
    pub fn new(point: Point, passages: u32) -> Fate {
        Fate {
            point,
            passages: Rc::new(Cell::new(passages)),
            is_dead: Rc::new(Cell::new(false)),
        }
    }

    /// Records a passage. `true`: the process is dead from here on.
    pub fn pass(&self, point: Point) -> bool {
        if point == self.point && !self.is_dead.get() {
            let passages = self.passages.get();
            self.passages.set(passages.saturating_sub(1));
            self.is_dead.set(passages == 0);
        }
        self.is_dead.get()
    }

    pub fn is_dead(&self) -> bool {
        self.is_dead.get()
    }
}

/// A dead process writes nothing more; every call returns an error.
pub struct CrashingStore<S> {
    pub store: S,
    pub fate: Fate,
}

const DEAD: Result<(), StoreError> = Err(StoreError::System(0));

impl<S: Store> Store for CrashingStore<S> {
    fn next_out(&self) -> u64 {
        self.store.next_out()
    }

    fn next_in(&self) -> u64 {
        self.store.next_in()
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        if self.fate.pass(Point::BeforeStore) {
            return DEAD;
        }
        self.store.add(message)?;
        match self.fate.pass(Point::AfterStore) {
            true => DEAD,
            false => Ok(()),
        }
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        if self.fate.pass(Point::BeforeCount) {
            return DEAD;
        }
        self.store.expect(next_in)?;
        match self.fate.pass(Point::AfterCount) {
            true => DEAD,
            false => Ok(()),
        }
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.store.read(number, room)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.store.reset()
    }
}
