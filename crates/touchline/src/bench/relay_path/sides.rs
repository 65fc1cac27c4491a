//! Steps both sides of links, by one thread or by one thread each, and takes the time until a message has arrived.

use super::ends::{Far, Link, Near};
use crate::output::Failure;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use touchline_lab::bench::ipc::pin;
use touchline_transport::clock::{Clock, ticks};

/// Longest time until a link connects, or a message arrives.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// Turns between two looks at that time.
const TURNS_BETWEEN: u64 = 65_536;
/// Turns after which a message is published again while a link connects.
const TURNS_OF_A_TRY: u64 = 200;

/// What is timed.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// One message, from before its publication.
    Message,
    /// This many messages, from the first turn after their publication.
    Burst(u64),
}

/// What it took until the last message had arrived, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Turns of the sending end; only with one thread.
    pub near_ns: u64,
    /// Turns of the receiving end; only with one thread.
    pub far_ns: u64,
    /// Elapsed time.
    pub total_ns: u64,
}

/// Links that are measured in turn.
pub struct Sides {
    near: Vec<NearSide>,
    far: Place,
    clock: Clock,
}

struct NearSide {
    name: &'static str,
    end: Box<dyn Near>,
    /// Number of the last message that was published.
    published: u64,
}

/// Where the reading sides are.
enum Place {
    /// On the same thread.
    Here(Vec<Box<dyn Far>>),
    /// On a thread of their own.
    There(There),
}

impl Sides {
    /// Opens both sides of each link, and connects them. With `far_cpu` a thread on this processor has the reading sides.
    pub fn open(links: Vec<Link>, far_cpu: Option<usize>, clock: Clock) -> Result<Sides, Failure> {
        let mut near = Vec::new();
        let mut far = Vec::new();
        for link in links {
            near.push((link.name, link.near));
            far.push(link.far);
        }
        let open = |(name, open): (&'static str, super::ends::Open<dyn Near>)| {
            let end = open()?;
            let published = 0;
            Ok(NearSide {
                name,
                end,
                published,
            })
        };
        let near: Result<Vec<_>, Failure> = near.into_iter().map(open).collect();
        let near = near?;
        let open = move || far.into_iter().map(|open| open()).collect();
        let far = match far_cpu {
            None => Place::Here(open()?),
            Some(cpu) => Place::There(There::start(cpu, open)?),
        };
        let mut sides = Sides { near, far, clock };
        for link in 0..sides.near.len() {
            sides.connect(link)?;
        }
        Ok(sides)
    }

    /// Until a message arrives: links connect, and the second bus of a relay restarts with the first batch. Messages before
    /// that are lost.
    fn connect(&mut self, link: usize) -> Result<(), Failure> {
        let start = Instant::now();
        self.far.ask(link, 1);
        while start.elapsed() < ARRIVAL_MAX {
            let near = &mut self.near[link];
            near.published = near.end.publish()?;
            for _ in 0..TURNS_OF_A_TRY {
                near.end.turn()?;
                if self.far.arrival(link, 1)?.is_some() {
                    // The last one may have been too early.
                    self.measure(link, Load::Message)?;
                    self.rest();
                    return Ok(());
                }
            }
            thread::sleep(Duration::from_micros(500));
        }
        Err(self.lost(link))
    }

    /// The other thread sleeps until the next measurement.
    pub fn rest(&self) {
        if let Place::There(there) = &self.far {
            there.meeting.asked.link.store(IDLE, Ordering::Release);
        }
    }

    /// Measures once over one of the links.
    pub fn measure(&mut self, link: usize, load: Load) -> Result<Spent, Failure> {
        let near = &mut self.near[link];
        let count = match load {
            Load::Message => 1,
            Load::Burst(count) => count,
        };
        let number = near.published + count;
        self.far.ask(link, number);
        let mut begun = ticks();
        while near.published < number {
            near.published = near.end.publish()?;
        }
        if matches!(load, Load::Burst(_)) {
            begun = ticks();
        }
        let spent = self.until(link, number, begun)?;
        // Outside of the measured time: the log's part of the command.
        self.near[link].end.settle();
        if let Place::Here(far) = &mut self.far {
            far[link].settle();
        }
        Ok(spent)
    }

    /// Steps both sides until the message with this number has arrived.
    fn until(&mut self, link: usize, number: u64, begun: u64) -> Result<Spent, Failure> {
        let mut spent = Spent::default();
        let start = Instant::now();
        let mut turns = 0;
        loop {
            let before = ticks();
            self.near[link].end.turn()?;
            let between = ticks();
            let arrival = self.far.arrival(link, number)?;
            if matches!(self.far, Place::Here(_)) {
                spent.near_ns += self.clock.between_ns(before, between);
                spent.far_ns += self.clock.between_ns(between, ticks());
            }
            if let Some(arrived) = arrival {
                spent.total_ns = self.clock.between_ns(begun, arrived);
                return Ok(spent);
            }
            turns += 1;
            if turns % TURNS_BETWEEN == 0 && start.elapsed() > ARRIVAL_MAX {
                return Err(self.lost(link));
            }
        }
    }

    fn lost(&self, link: usize) -> Failure {
        let name = self.near[link].name;
        let seconds = ARRIVAL_MAX.as_secs();
        Failure::run(format!("{name}: no message arrives within {seconds} s"))
    }
}

impl Place {
    /// Announces the number of the last message.
    fn ask(&mut self, link: usize, number: u64) {
        if let Place::There(there) = self {
            there.request += 1;
            let asked = &there.meeting.asked;
            asked.link.store(link, Ordering::Relaxed);
            asked.number.store(number, Ordering::Relaxed);
            asked.request.store(there.request, Ordering::Release);
        }
    }

    /// Time of the arrival of a message with this number or a later one, in ticks. A turn of the reading side, if this thread
    /// has it.
    #[inline]
    fn arrival(&mut self, link: usize, number: u64) -> Result<Option<u64>, Failure> {
        match self {
            Place::Here(far) => {
                let latest = far[link].turn()?;
                Ok(latest.filter(|latest| *latest >= number).map(|_| ticks()))
            }
            Place::There(there) => there.arrival(),
        }
    }
}

/// No link is measured: the other thread sleeps.
const IDLE: usize = usize::MAX;
/// The other thread ends.
const END: usize = usize::MAX - 1;
/// Instead of a request: the other thread has failed.
const FAILED: u64 = u64::MAX;

/// The thread with the reading sides.
struct There {
    meeting: Arc<Meeting>,
    request: u64,
    thread: Option<JoinHandle<()>>,
}

/// What both threads share. The parts that each of them writes are in lines of their own.
struct Meeting {
    asked: Asked,
    answered: Answered,
    failure: Mutex<Option<Failure>>,
}

/// Written before the time starts.
#[repr(align(128))]
struct Asked {
    link: AtomicUsize,
    /// Number of the last message.
    number: AtomicU64,
    /// Written last.
    request: AtomicU64,
}

#[repr(align(128))]
struct Answered {
    /// Time of the arrival.
    ticks: AtomicU64,
    /// Written last; [`FAILED`] if the thread has failed.
    request: AtomicU64,
}

impl There {
    /// Starts the thread, on this processor, and waits until it has opened its sides.
    fn start(
        cpu: usize,
        open: impl FnOnce() -> Result<Vec<Box<dyn Far>>, Failure> + Send + 'static,
    ) -> Result<There, Failure> {
        let meeting = Arc::new(Meeting {
            asked: Asked {
                link: AtomicUsize::new(IDLE),
                number: AtomicU64::new(0),
                request: AtomicU64::new(0),
            },
            answered: Answered {
                ticks: AtomicU64::new(0),
                request: AtomicU64::new(0),
            },
            failure: Mutex::new(None),
        });
        let (opened, is_open) = mpsc::channel();
        let shared = meeting.clone();
        let body = move || {
            let far = pin(cpu)
                .map_err(|error| Failure::run(error.0))
                .and_then(|()| open());
            let ended = far.and_then(|mut far| {
                // The other side waits for it.
                let _ = opened.send(());
                shared.read(&mut far)
            });
            if let Err(failure) = ended {
                shared.fail(failure);
            }
        };
        let thread = thread::Builder::new().name("far".to_owned()).spawn(body);
        let there = There {
            meeting,
            request: 0,
            thread: Some(thread.map_err(Failure::run)?),
        };
        match is_open.recv() {
            Ok(()) => Ok(there),
            Err(_) => Err(there.meeting.failure()),
        }
    }

    #[inline]
    fn arrival(&self) -> Result<Option<u64>, Failure> {
        let answered = &self.meeting.answered;
        match answered.request.load(Ordering::Acquire) {
            FAILED => Err(self.meeting.failure()),
            request if request == self.request => Ok(Some(answered.ticks.load(Ordering::Relaxed))),
            _ => {
                spin_loop();
                Ok(None)
            }
        }
    }
}

impl Drop for There {
    fn drop(&mut self) {
        self.meeting.asked.link.store(END, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Meeting {
    /// Steps the side that is asked for, and answers each request once.
    fn read(&self, far: &mut [Box<dyn Far>]) -> Result<(), Failure> {
        let mut answered = 0;
        loop {
            let link = self.asked.link.load(Ordering::Acquire);
            let Some(end) = far.get_mut(link) else {
                match link {
                    END => return Ok(()),
                    _ => thread::sleep(Duration::from_millis(1)),
                }
                continue;
            };
            let Some(latest) = end.turn()? else {
                continue;
            };
            let now = ticks();
            let request = self.asked.request.load(Ordering::Acquire);
            // It may be of another link since the turn.
            let is_asked = self.asked.link.load(Ordering::Relaxed) == link;
            if request != answered
                && is_asked
                && latest >= self.asked.number.load(Ordering::Relaxed)
            {
                answered = request;
                self.answered.ticks.store(now, Ordering::Relaxed);
                self.answered.request.store(request, Ordering::Release);
                end.settle();
            }
        }
    }

    fn fail(&self, failure: Failure) {
        if let Ok(mut slot) = self.failure.lock() {
            slot.get_or_insert(failure);
        }
        self.answered.request.store(FAILED, Ordering::Release);
    }

    fn failure(&self) -> Failure {
        let taken = self.failure.lock().ok().and_then(|mut slot| slot.take());
        taken.unwrap_or_else(|| Failure::run("the thread of the reading side panicked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading side that fails in this turn.
    struct Failing(u64);

    impl Far for Failing {
        fn turn(&mut self) -> Result<Option<u64>, Failure> {
            self.0 -= 1;
            match self.0 {
                0 => Err(Failure::run("the far side")),
                _ => Ok(None),
            }
        }
    }

    fn sides(links: Vec<Link>, far_cpu: Option<usize>) -> Result<Sides, Failure> {
        Sides::open(links, far_cpu, Clock::calibrated())
    }

    #[test]
    fn each_link_brings_its_own_messages_to_the_other_thread() {
        let links = vec![Link::cache_line(), Link::udp().expect("two sockets")];
        let mut sides = sides(links, Some(0)).expect("both links connect");
        for _ in 0..100 {
            for link in [0, 1] {
                let spent = sides.measure(link, Load::Message).expect("it arrives");
                assert!(spent.total_ns > 0 && spent.near_ns == 0 && spent.far_ns == 0);
                sides.rest();
                sides.measure(link, Load::Burst(3)).expect("it arrives");
            }
        }
        let published: Vec<_> = sides.near.iter().map(|near| near.published).collect();
        // What connecting took, and 100 times 1 and 3.
        assert!(published.iter().all(|count| *count >= 402), "{published:?}");
    }

    #[test]
    fn a_failure_of_either_thread_ends_the_measurement() {
        for far_cpu in [None, Some(0)] {
            for turns in [1, 1_000] {
                let far = move || Ok(Box::new(Failing(turns)) as Box<dyn Far>);
                let link = Link {
                    far: Box::new(far),
                    ..Link::cache_line()
                };
                let failure = sides(vec![link], far_cpu)
                    .err()
                    .expect("no message arrives");
                assert!(
                    format!("{failure:?}").contains("the far side"),
                    "{failure:?}"
                );
            }
            let link = Link {
                far: Box::new(|| Err(Failure::run("not opened"))),
                ..Link::cache_line()
            };
            let failure = sides(vec![link], far_cpu).err().expect("it is not open");
            assert!(format!("{failure:?}").contains("not opened"), "{failure:?}");
        }
    }
}
