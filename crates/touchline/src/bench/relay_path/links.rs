//! Measures links: one thread steps both sides, or each has a thread; the time until a message arrives.

use super::ends::{Link, ReceiveSide, SendSide};
use crate::output::Failure;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use touchline_lab::bench::ipc::pin;
use touchline_transport::clock::{Clock, ticks};

/// Longest time until a link connects, or a message arrives.
const ARRIVAL_MAX: Duration = Duration::from_secs(30);
/// Turns between two checks of this limit.
const TURNS_BETWEEN: u64 = 65_536;
/// Turns after which a message is published again while a link connects.
const TURNS_OF_A_TRY: u64 = 200;

/// Messages that are timed together.
#[derive(Clone, Copy, Debug)]
pub enum Sample {
    /// One message, from before its publication.
    Message,
    /// This many messages, from the first turn after their publication.
    Burst(u64),
}

/// Times of a sample, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Turns of the sending side; 0 with two threads.
    pub send_ns: u64,
    /// Turns of the receiving side; 0 with two threads.
    pub receive_ns: u64,
    /// Until the last message has arrived. With two threads the difference of two processors' counters: 0 if they differ by more
    /// than the message took.
    pub total_ns: u64,
}

/// Links that are measured in turn.
pub struct Links {
    senders: Vec<Sender>,
    receivers: Receivers,
    clock: Clock,
}

/// A sending side.
struct Sender {
    name: &'static str,
    side: Box<dyn SendSide>,
    /// Number of the last message that was published.
    published: u64,
}

/// The receiving sides.
enum Receivers {
    SameThread(Vec<Box<dyn ReceiveSide>>),
    OtherThread(ReceiveThread),
}

impl Links {
    /// Opens both sides of each link, and connects them. With `receive_cpu` a thread on this processor has the receiving sides.
    pub fn open(
        links: Vec<Link>,
        receive_cpu: Option<usize>,
        clock: Clock,
    ) -> Result<Links, Failure> {
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for link in links {
            senders.push(Sender {
                name: link.name,
                side: (link.send)()?,
                published: 0,
            });
            receivers.push(link.receive);
        }
        let open = move || receivers.into_iter().map(|open| open()).collect();
        let receivers = match receive_cpu {
            None => Receivers::SameThread(open()?),
            Some(cpu) => Receivers::OtherThread(ReceiveThread::start(cpu, open)?),
        };
        let mut links = Links {
            senders,
            receivers,
            clock,
        };
        links.connect_all()?;
        links.park();
        Ok(links)
    }

    /// Connects each link, again after a pause: their ends did not run meanwhile, so a relay may have stopped its bus.
    pub fn connect_all(&mut self) -> Result<(), Failure> {
        (0..self.senders.len()).try_for_each(|link| self.connect(link))
    }

    /// Until a message arrives: links connect, and the second bus of a relay restarts with the first batch.
    fn connect(&mut self, link: usize) -> Result<(), Failure> {
        let start = Instant::now();
        let number = self.senders[link].published + 1;
        self.receivers.request(link, number)?;
        while start.elapsed() < ARRIVAL_MAX {
            let sender = &mut self.senders[link];
            sender.published = sender.side.publish()?;
            for _ in 0..TURNS_OF_A_TRY {
                sender.side.turn()?;
                if self.receivers.arrival(link, number)?.is_some() {
                    // Earlier messages may be lost: one more proves the connection.
                    self.measure(link, Sample::Message)?;
                    return Ok(());
                }
            }
            thread::sleep(Duration::from_micros(500));
        }
        Err(self.lost(link))
    }

    /// The other thread waits for the next sample without using its processor.
    pub fn park(&self) {
        if let Receivers::OtherThread(thread) = &self.receivers {
            thread.shared.request.link.store(IDLE, Ordering::Release);
        }
    }

    /// Measures once over one of the links.
    pub fn measure(&mut self, link: usize, sample: Sample) -> Result<Times, Failure> {
        let sender = &mut self.senders[link];
        let count = match sample {
            Sample::Message => 1,
            Sample::Burst(count) => count,
        };
        let number = sender.published + count;
        self.receivers.request(link, number)?;
        let mut begun = ticks();
        while sender.published < number {
            sender.published = sender.side.publish()?;
        }
        if matches!(sample, Sample::Burst(_)) {
            begun = ticks();
        }
        let times = self.until(link, number, begun)?;
        // Not timed: a command logs these events beside the path.
        self.senders[link].side.drain_events();
        if let Receivers::SameThread(receivers) = &mut self.receivers {
            receivers[link].drain_events();
        }
        Ok(times)
    }

    /// Steps the sides until the message with this number has arrived.
    fn until(&mut self, link: usize, number: u64, begun: u64) -> Result<Times, Failure> {
        let mut times = Times::default();
        let is_one_thread = matches!(self.receivers, Receivers::SameThread(_));
        let now = || if is_one_thread { ticks() } else { 0 };
        let start = Instant::now();
        let mut turns = 0;
        loop {
            let before = now();
            self.senders[link].side.turn()?;
            let between = now();
            let arrival = self.receivers.arrival(link, number)?;
            times.send_ns += self.clock.between_ns(before, between);
            times.receive_ns += self.clock.between_ns(between, now());
            if let Some(arrived) = arrival {
                times.total_ns = self.clock.between_ns(begun, arrived);
                return Ok(times);
            }
            turns += 1;
            if turns % TURNS_BETWEEN == 0 && start.elapsed() > ARRIVAL_MAX {
                return Err(self.lost(link));
            }
        }
    }

    fn lost(&self, link: usize) -> Failure {
        let name = self.senders[link].name;
        let seconds = ARRIVAL_MAX.as_secs();
        Failure::run(format!("{name}: no message arrives within {seconds} s"))
    }
}

impl Receivers {
    /// Announces the number of the last message. With two threads, waits until the other one steps the receiving side of this link:
    /// the end of an earlier turn is not to be timed.
    fn request(&mut self, link: usize, number: u64) -> Result<(), Failure> {
        match self {
            Receivers::SameThread(_) => Ok(()),
            Receivers::OtherThread(thread) => thread.request(link, number),
        }
    }

    /// Time of the arrival of a message with this number or a later one, in ticks. A turn of the receiving side, if this thread
    /// has it.
    #[inline]
    fn arrival(&mut self, link: usize, number: u64) -> Result<Option<u64>, Failure> {
        match self {
            Receivers::SameThread(receivers) => {
                let latest = receivers[link].turn()?;
                Ok(latest.filter(|latest| *latest >= number).map(|_| ticks()))
            }
            Receivers::OtherThread(thread) => thread.arrival(),
        }
    }
}

/// No link is measured: the other thread is parked.
const IDLE: usize = usize::MAX;
/// The other thread ends.
const END: usize = usize::MAX - 1;
/// Instead of a request: the other thread has failed.
const FAILED: u64 = u64::MAX;

/// The thread with the receiving sides.
struct ReceiveThread {
    shared: Arc<Shared>,
    /// Number of the last request.
    requests: u64,
    thread: Option<JoinHandle<()>>,
}

/// State that both threads share. The parts that each of them writes are in cache lines of their own.
#[derive(Default)]
struct Shared {
    request: Request,
    response: Response,
    failure: Mutex<Option<Failure>>,
}

/// Written before the time starts.
#[repr(align(128))]
struct Request {
    link: AtomicUsize,
    /// Number of the last message.
    message: AtomicU64,
    /// Number of the request; written last.
    request: AtomicU64,
}

#[repr(align(128))]
#[derive(Default)]
struct Response {
    /// The last request whose link is stepped.
    seen: AtomicU64,
    /// Time of the arrival.
    ticks: AtomicU64,
    /// The last request whose message has arrived, written last; [`FAILED`] if the thread has failed.
    answered: AtomicU64,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            link: AtomicUsize::new(IDLE),
            message: AtomicU64::new(0),
            request: AtomicU64::new(0),
        }
    }
}

impl ReceiveThread {
    /// Starts the thread, on this processor, and waits until it has opened its sides.
    fn start(
        cpu: usize,
        open: impl FnOnce() -> Result<Vec<Box<dyn ReceiveSide>>, Failure> + Send + 'static,
    ) -> Result<ReceiveThread, Failure> {
        let shared = Arc::new(Shared::default());
        let (opened, is_open) = mpsc::channel();
        let own = shared.clone();
        let run = move || {
            pin(cpu).map_err(|error| Failure::run(error.0))?;
            let mut receivers = open()?;
            // The other thread waits for it.
            let _ = opened.send(());
            own.step(&mut receivers)
        };
        let own = shared.clone();
        let body = move || {
            let ended = catch_unwind(AssertUnwindSafe(run));
            let panicked = || Failure::run("the receiving thread panicked");
            if let Err(failure) = ended.unwrap_or_else(|_| Err(panicked())) {
                own.fail(failure);
            }
        };
        let thread = thread::Builder::new().name("receive".to_owned());
        let thread = ReceiveThread {
            shared,
            requests: 0,
            thread: Some(thread.spawn(body).map_err(Failure::run)?),
        };
        match is_open.recv() {
            Ok(()) => Ok(thread),
            // Its end of the channel is gone before the failure is there.
            Err(_) => loop {
                thread.check()?;
                thread::yield_now();
            },
        }
    }

    fn request(&mut self, link: usize, message: u64) -> Result<(), Failure> {
        self.requests += 1;
        let request = &self.shared.request;
        let before = request.link.swap(link, Ordering::Relaxed);
        request.message.store(message, Ordering::Relaxed);
        request.request.store(self.requests, Ordering::Release);
        if before == IDLE {
            self.unpark();
        }
        while self.shared.response.seen.load(Ordering::Acquire) != self.requests {
            self.check()?;
            spin_loop();
        }
        Ok(())
    }

    #[inline]
    fn arrival(&self) -> Result<Option<u64>, Failure> {
        let response = &self.shared.response;
        match response.answered.load(Ordering::Acquire) {
            FAILED => Err(self.shared.failure()),
            answered if answered == self.requests => {
                Ok(Some(response.ticks.load(Ordering::Relaxed)))
            }
            _ => {
                spin_loop();
                Ok(None)
            }
        }
    }

    /// The failure of the thread, if it has failed.
    fn check(&self) -> Result<(), Failure> {
        match self.shared.response.answered.load(Ordering::Acquire) {
            FAILED => Err(self.shared.failure()),
            _ => Ok(()),
        }
    }

    fn unpark(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for ReceiveThread {
    fn drop(&mut self) {
        self.shared.request.link.store(END, Ordering::Release);
        self.unpark();
        if let Some(thread) = self.thread.take() {
            // A panic was reported as a failure.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Steps the side of the requested link, and answers each request once.
    fn step(&self, receivers: &mut [Box<dyn ReceiveSide>]) -> Result<(), Failure> {
        let (mut seen, mut answered) = (0, 0);
        loop {
            let link = self.request.link.load(Ordering::Acquire);
            let Some(side) = receivers.get_mut(link) else {
                match link {
                    END => return Ok(()),
                    _ => thread::park(),
                }
                continue;
            };
            let latest = side.turn()?;
            let now = ticks();
            let request = self.request.request.load(Ordering::Acquire);
            if self.request.link.load(Ordering::Relaxed) != link {
                continue; // The turn was of another link.
            }
            if seen != request {
                seen = request;
                self.response.seen.store(request, Ordering::Release);
            }
            let message = self.request.message.load(Ordering::Relaxed);
            if answered != request && latest.is_some_and(|latest| latest >= message) {
                answered = request;
                side.drain_events();
                self.response.ticks.store(now, Ordering::Relaxed);
                self.response.answered.store(request, Ordering::Release);
            }
        }
    }

    fn fail(&self, failure: Failure) {
        if let Ok(mut slot) = self.failure.lock() {
            slot.get_or_insert(failure);
        }
        self.response.answered.store(FAILED, Ordering::Release);
    }

    fn failure(&self) -> Failure {
        let taken = self.failure.lock().ok().and_then(|mut slot| slot.take());
        taken.unwrap_or_else(|| Failure::run("the receiving thread has failed before"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Turn<T> = Box<dyn FnMut() -> Result<T, Failure> + Send>;

    /// A sending side by script.
    struct Sending {
        published: u64,
        turn: Turn<()>,
    }

    /// A receiving side by script.
    struct Receiving(Turn<Option<u64>>);

    impl SendSide for Sending {
        fn publish(&mut self) -> Result<u64, Failure> {
            self.published += 1;
            Ok(self.published)
        }

        fn turn(&mut self) -> Result<(), Failure> {
            (self.turn)()
        }
    }

    impl ReceiveSide for Receiving {
        fn turn(&mut self) -> Result<Option<u64>, Failure> {
            (self.0)()
        }
    }

    fn link(
        send: impl FnMut() -> Result<(), Failure> + Send + 'static,
        receive: impl FnMut() -> Result<Option<u64>, Failure> + Send + 'static,
    ) -> Link {
        let (published, turn) = (0, Box::new(send));
        Link {
            name: "script",
            payload_bytes: 0,
            send: Box::new(move || Ok(Box::new(Sending { published, turn }))),
            receive: Box::new(move || Ok(Box::new(Receiving(Box::new(receive))))),
        }
    }

    fn open(links: Vec<Link>, receive_cpu: Option<usize>) -> Result<Links, Failure> {
        Links::open(links, receive_cpu, Clock::calibrated())
    }

    fn failure(links: Vec<Link>, receive_cpu: Option<usize>) -> String {
        format!("{:?}", open(links, receive_cpu).err().expect("it fails"))
    }

    #[test]
    fn a_message_of_another_link_is_no_arrival() {
        // Connecting takes two messages of each link; later ones of the second link arrive after some turns of its sending side.
        let turns = Arc::new(AtomicU64::new(0));
        let due = Arc::new(AtomicU64::new(0));
        let (turned, until, now) = (turns.clone(), due.clone(), turns.clone());
        let send = move || {
            turned.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let receive = move || {
            let is_due = now.load(Ordering::SeqCst) >= until.load(Ordering::SeqCst);
            Ok(Some(if is_due { 1_000 } else { 2 }))
        };
        let links = vec![link(|| Ok(()), || Ok(Some(1_000))), link(send, receive)];
        let mut links = open(links, Some(0)).expect("both connect");
        for _ in 0..20 {
            links.measure(0, Sample::Message).expect("it arrives");
            due.store(turns.load(Ordering::SeqCst) + 100, Ordering::SeqCst);
            let times = links.measure(1, Sample::Burst(3)).expect("it arrives");
            assert!(turns.load(Ordering::SeqCst) >= due.load(Ordering::SeqCst));
            assert_eq!((times.send_ns, times.receive_ns), (0, 0));
            links.park();
        }
    }

    #[test]
    fn messages_arrive_over_sockets_and_cache_lines() {
        for cpu in [None, Some(0)] {
            let links = vec![Link::cache_line(), Link::udp().expect("two sockets")];
            let mut links = open(links, cpu).expect("both connect");
            let mut stepped_ns = 0;
            for number in 0..50 {
                let times = links.measure(number % 2, Sample::Message);
                let times = times.expect("it arrives");
                // Counters of two processors may differ by more than a cache line takes.
                assert!(times.total_ns > 0 || cpu.is_some(), "{times:?}");
                stepped_ns += times.send_ns + times.receive_ns;
            }
            assert_eq!(stepped_ns > 0, cpu.is_none());
        }
    }

    #[test]
    fn a_failure_or_panic_of_either_side_ends_the_measurement() {
        let failed = |what: &'static str| move || Err(Failure::run(what));
        for cpu in [None, Some(0)] {
            let links = vec![link(failed("send side"), || Ok(None))];
            assert!(failure(links, cpu).contains("send side"));
            for turns in [1, 1_000] {
                let mut left = turns;
                let receive = move || {
                    left -= 1;
                    match left {
                        0 => Err(Failure::run("receive side")),
                        _ => Ok(None),
                    }
                };
                let links = vec![link(|| Ok(()), receive)];
                assert!(failure(links, cpu).contains("receive side"));
            }
            let links = vec![Link {
                receive: Box::new(|| Err(Failure::run("not opened"))),
                ..Link::cache_line()
            }];
            assert!(failure(links, cpu).contains("not opened"));
        }
        let links = vec![link(|| Ok(()), || panic!("a test"))];
        assert!(failure(links, Some(0)).contains("panicked"));
    }
}
