//! HTTP server: few connections, each with a limit of bytes and time.
//!
//! One thread accepts, and one thread serves each connection, at most [`CONNECTIONS_MAX`]. Slow clients are
//! disconnected when a new one connects, so that idle clients cannot block a scrape. The page is cached for
//! [`PAGE_AGE_MAX`]: a high rate of requests does not read shared memory more often.

use super::request::{HEAD_BYTES_MAX, Refused, Wanted, judge};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of connections.
const CONNECTIONS_MAX: usize = 8;
/// Maximum time to receive a request, and to send an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that a connection keeps its slot while others wait.
const GRACE: Duration = Duration::from_millis(200);
/// Maximum wait for the client to close, so that the answer is not cut off.
const FAREWELL: Duration = Duration::from_secs(1);
/// Age of the cached page; counters are at most this old themselves.
const PAGE_AGE_MAX: Duration = Duration::from_millis(100);
/// Stack of a connection's thread: 8 KiB of request and the answer.
const STACK_BYTES: usize = 256 * 1024;

/// A server before its start.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// Source of a page, and of its health: an error, or nothing.
pub struct Content {
    /// Writes the page.
    pub page: Box<dyn Fn() -> String + Send + Sync>,
    /// Reason why the page would be incomplete.
    pub health: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

struct Shared {
    content: Content,
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

/// A slot, held while a connection is served.
struct Connection {
    shared: Arc<Shared>,
    stream: Arc<TcpStream>,
}

impl Server {
    /// A server for this content.
    pub fn new(listener: TcpListener, content: Content) -> Server {
        let shared = Shared {
            content,
            page: Mutex::default(),
            places: Mutex::default(),
            left: Condvar::new(),
        };
        Server {
            listener,
            shared: Arc::new(shared),
        }
    }

    /// Serves on a separate thread until the process ends.
    pub fn start(self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        thread.spawn(move || self.accept())?;
        Ok(())
    }

    fn accept(&self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                // The client has closed, or no file descriptors are free: continue with the next
                // one.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Waits for a free slot and serves the connection in it.
    fn admit(&self, stream: TcpStream) {
        let stream = Arc::new(stream);
        self.shared.take_place(&stream);
        let connection = Connection {
            shared: Arc::clone(&self.shared),
            stream,
        };
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        // If no thread can be started, the connection closes and frees its slot.
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
                // Ends the wait of its thread; a closed connection is fine.
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
                let text = Arc::new((self.content.page)());
                *page = Some((Instant::now(), Arc::clone(&text)));
                text
            }
        }
    }
}

/// Locks; the guarded value is consistent at any time, so poisoning is ignored.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one request. A closed connection needs no answer.
fn serve(shared: &Shared, stream: &TcpStream) {
    let answered = match read_request(stream) {
        Ok(Some(Ok(Wanted::Metrics))) => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            answer(stream, "200 OK", kind, &shared.page())
        }
        Ok(Some(Ok(Wanted::Health))) => match (shared.content.health)() {
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
        // Errors while closing are ignored.
        let _ = take_leave(stream);
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// Reads a request; `None` if the client closed before sending one.
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

/// Reads until the client closes: closing with unread bytes would reset the connection and lose the
/// answer. A client that keeps sending is disconnected.
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

/// Remaining time; `None` after the deadline, since a socket timeout of zero means none.
fn rest_until(deadline: Instant) -> Option<Duration> {
    let rest = deadline.saturating_duration_since(Instant::now());
    (!rest.is_zero()).then_some(rest)
}

/// Whether the call timed out without an error.
fn is_in_vain(error: &std::io::Error) -> bool {
    use ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
