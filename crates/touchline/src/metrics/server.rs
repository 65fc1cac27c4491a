//! Listening: few connections, each with a limit on its bytes and its time.
//!
//! One thread accepts, one answers each connection, and there are at most [`CONNECTIONS_MAX`]. Who is
//! slow gives way to who comes, so that no number of idle clients keeps a scrape out. What is asked for
//! again at once is the same page: no rate of requests makes us read shared memory more often.

use super::page;
use super::request::{HEAD_BYTES_MAX, Refused, Wanted, judge};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use touchline_client::monitor::Monitor;

/// Connections at one time.
const CONNECTIONS_MAX: usize = 8;
/// How long a request may take to come, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection has its place for itself when others wait.
const GRACE: Duration = Duration::from_millis(200);
/// How long the end of a connection is waited for, so that its answer is not cut off.
const FAREWELL: Duration = Duration::from_secs(1);
/// Counters are at most that old anyway.
const PAGE_AGE_MAX: Duration = Duration::from_millis(100);
/// For eight kibibytes of request and a line of answer.
const STACK_BYTES: usize = 256 * 1024;

/// A server that is not yet started.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    monitor: Monitor,
    page: Mutex<Option<(Instant, Arc<String>)>>,
    places: Mutex<Vec<Place>>,
    left: Condvar,
}

/// A connection that is being served.
struct Place {
    stream: Arc<TcpStream>,
    since: Instant,
    is_asked_to_leave: bool,
}

/// A place, for as long as a connection is served.
struct Connection {
    shared: Arc<Shared>,
    stream: Arc<TcpStream>,
}

impl Server {
    /// For the buses of a directory.
    pub fn new(listener: TcpListener, monitor: Monitor) -> Server {
        let shared = Shared {
            monitor,
            page: Mutex::default(),
            places: Mutex::default(),
            left: Condvar::new(),
        };
        Server {
            listener,
            shared: Arc::new(shared),
        }
    }

    /// Serves from a thread of its own, until the process ends.
    pub fn start(self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        thread.spawn(move || self.accept())?;
        Ok(())
    }

    fn accept(&self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                // The client is gone already, or there are no handles left: the next may do better.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Waits for a place, and serves the connection there.
    fn admit(&self, stream: TcpStream) {
        let stream = Arc::new(stream);
        self.shared.take_place(&stream);
        let connection = Connection {
            shared: Arc::clone(&self.shared),
            stream,
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        // Where there is no thread to be had, the connection ends with its seat.
        let _ = thread.spawn(move || serve(&connection.shared, &connection.stream));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        locked(&self.shared.places).retain(|place| !Arc::ptr_eq(&place.stream, &self.stream));
        self.shared.left.notify_one();
    }
}

impl Shared {
    fn take_place(&self, stream: &Arc<TcpStream>) {
        let mut places = locked(&self.places);
        while places.len() == CONNECTIONS_MAX {
            if let Some(slow) = places
                .iter_mut()
                .find(|place| !place.is_asked_to_leave && place.since.elapsed() >= GRACE)
            {
                slow.is_asked_to_leave = true;
                // Whatever its thread waits for comes to an end; gone already is as well.
                let _ = slow.stream.shutdown(Shutdown::Both);
            }
            let waited = self.left.wait_timeout(places, GRACE / 8);
            places = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        places.push(Place {
            stream: Arc::clone(stream),
            since: Instant::now(),
            is_asked_to_leave: false,
        });
    }

    fn page(&self) -> Arc<String> {
        let mut page = locked(&self.page);
        match &*page {
            Some((made, text)) if made.elapsed() < PAGE_AGE_MAX => Arc::clone(text),
            _ => {
                let text = Arc::new(page::of(&self.monitor));
                *page = Some((Instant::now(), Arc::clone(&text)));
                text
            }
        }
    }
}

/// What it guards is whole at any instant.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request, one answer. A client that has gone needs none.
fn serve(shared: &Shared, stream: &TcpStream) {
    let answered = match read_request(stream) {
        Ok(Some(Ok(Wanted::Metrics))) => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            answer(stream, "200 OK", kind, &shared.page())
        }
        Ok(Some(Ok(Wanted::Health))) => match page::health(&shared.monitor) {
            Ok(()) => answer(stream, "200 OK", PLAIN, "ok\n"),
            Err(error) => answer(
                stream,
                "503 Service Unavailable",
                PLAIN,
                &format!("{error}\n"),
            ),
        },
        Ok(Some(Err(refused))) => answer(stream, refused.status(), PLAIN, refused.fix()),
        Ok(None) | Err(_) => return,
    };
    if answered.is_ok() {
        // If it does not end well, it ends.
        let _ = take_leave(stream);
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// `None` if the client went away before it had asked for anything.
fn read_request(mut stream: &TcpStream) -> std::io::Result<Option<Result<Wanted, Refused>>> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = [0; HEAD_BYTES_MAX];
    let mut length = 0;
    loop {
        let Some(rest) = rest_until(deadline) else {
            return Ok(Some(Err(Refused::TooSlow)));
        };
        stream.set_read_timeout(Some(rest))?;
        match stream.read(&mut head[length..]) {
            Ok(0) => return Ok(None),
            Ok(bytes) => length += bytes,
            Err(error) if is_in_vain(&error) => continue,
            Err(error) => return Err(error),
        }
        if let Some(judged) = judge(&head[..length]) {
            return Ok(Some(judged));
        }
    }
}

fn answer(stream: &TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let allow = if status.starts_with("405") {
        "Allow: GET\r\n"
    } else {
        ""
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    let deadline = Instant::now() + PATIENCE;
    write_until(stream, head.as_bytes(), deadline)?;
    write_until(stream, body.as_bytes(), deadline)
}

fn write_until(mut stream: &TcpStream, mut bytes: &[u8], deadline: Instant) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let rest = rest_until(deadline).ok_or(ErrorKind::TimedOut)?;
        stream.set_write_timeout(Some(rest))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if is_in_vain(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closing with bytes unread would take the answer back; a client that goes on sending is left.
fn take_leave(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let deadline = Instant::now() + FAREWELL;
    let mut ignored = [0; 1024];
    while let Some(rest) = rest_until(deadline) {
        stream.set_read_timeout(Some(rest))?;
        if stream.read(&mut ignored)? == 0 {
            break;
        }
    }
    Ok(())
}

/// `None` when the time is over: a time-out of zero would be none at all.
fn rest_until(deadline: Instant) -> Option<Duration> {
    let rest = deadline.saturating_duration_since(Instant::now());
    (!rest.is_zero()).then_some(rest)
}

/// Nothing was read or written, and nothing is wrong.
fn is_in_vain(error: &std::io::Error) -> bool {
    use ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
