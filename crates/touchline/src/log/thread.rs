//! A log whose lines a thread writes, for a caller that must never wait: standard error may be a full pipe without a reader.

use super::events::Event;
use super::{Field, Lines, Log};
use std::collections::VecDeque;
use std::io::{Stderr, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Lines that wait for the thread.
const LINES_MAX: usize = 1_024;
/// How often the last line of events that stopped repeating is looked for.
const FLUSH: Duration = Duration::from_millis(100);
/// Pause of a wait for room at the end.
const NAP: Duration = Duration::from_millis(1);

type LogLine = (&'static Event, Vec<Field>);

/// A log that is written by a thread.
#[derive(Debug)]
pub struct LogThread<W = Stderr> {
    lines: SyncSender<LogLine>,
    /// Lines for which there was no room.
    held: VecDeque<LogLine>,
    is_for_programs: bool,
    /// The log, when the thread has written everything.
    ended: Receiver<Log<W>>,
}

impl<W: Write + Send + 'static> LogThread<W> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(log: Log<W>) -> std::io::Result<LogThread<W>> {
        let (lines, received) = sync_channel(LINES_MAX);
        let (end, ended) = sync_channel(1);
        let is_for_programs = log.is_for_programs();
        let body = move || {
            let log = written(log, &received);
            // The caller may have stopped to wait for it.
            let _ = end.send(log);
        };
        thread::Builder::new().name("log".to_owned()).spawn(body)?;
        Ok(LogThread {
            lines,
            held: VecDeque::new(),
            is_for_programs,
            ended,
        })
    }

    /// Whether the log takes a line now. If not, keep what you would write, and ask again later.
    pub fn is_ready(&mut self) -> bool {
        while let Some(line) = self.held.pop_front() {
            match self.lines.try_send(line) {
                Ok(()) => {}
                Err(TrySendError::Full(line)) => {
                    self.held.push_front(line);
                    return false;
                }
                Err(TrySendError::Disconnected(_)) => unreachable!("the log's thread ended early"),
            }
        }
        true
    }

    /// Hands a line over. It never waits; without room the line is held.
    pub fn write(&mut self, event: &'static Event, fields: impl Into<Vec<Field>>) {
        self.held.push_back((event, fields.into()));
        self.is_ready();
    }

    /// Waits at most this long until every line is written, and returns the log; `None` if the lines cannot be written meanwhile.
    pub fn finish(mut self, wait: Duration) -> Option<Log<W>> {
        let end = Instant::now() + wait;
        while !self.is_ready() {
            if Instant::now() >= end {
                return None;
            }
            thread::sleep(NAP);
        }
        drop(self.lines);
        let wait = end.saturating_duration_since(Instant::now());
        self.ended.recv_timeout(wait).ok()
    }
}

impl<W: Write + Send + 'static> Lines for LogThread<W> {
    fn write(&mut self, event: &'static Event, fields: impl Into<Vec<Field>>) {
        LogThread::write(self, event, fields);
    }

    fn is_for_programs(&self) -> bool {
        self.is_for_programs
    }
}

fn written<W: Write>(mut log: Log<W>, lines: &Receiver<LogLine>) -> Log<W> {
    loop {
        match lines.recv_timeout(FLUSH) {
            Ok((event, fields)) => log.write(event, fields),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        log.flush();
    }
    log.finish();
    log
}

#[cfg(test)]
mod tests {
    use super::super::events;
    use super::*;
    use std::sync::mpsc::Sender;
    use std::sync::{Arc, Mutex};

    /// A pipe without a reader until the other end says so.
    struct Pipe {
        read: Receiver<()>,
        text: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.read.recv();
            self.text.lock().expect("no panic").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn stuck() -> (Log<Pipe>, Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let (open, read) = std::sync::mpsc::channel();
        let text = Arc::default();
        let pipe = Pipe {
            read,
            text: Arc::clone(&text),
        };
        let log = Log::to(pipe, super::super::Format::Text, Vec::new());
        (log, open, text)
    }

    fn line(number: u64) -> Vec<Field> {
        vec![("text", format!("alarm {number}").into())]
    }

    #[test]
    fn a_log_that_nobody_reads_delays_no_caller() {
        let (log, open, _text) = stuck();
        let mut log = LogThread::start(log).expect("a thread");
        let mut count = 0;
        while log.is_ready() {
            log.write(&events::FX_ALARM, line(count));
            count += 1;
            assert!(count < 10_000, "the queue has no limit");
        }
        assert!(count >= LINES_MAX as u64, "{count}");
        assert!(log.finish(Duration::from_millis(1)).is_none());
        drop(open);
    }

    #[test]
    fn every_line_is_written_in_order_once_somebody_reads() {
        let (log, open, text) = stuck();
        let mut log = LogThread::start(log).expect("a thread");
        let count = 2 * LINES_MAX as u64;
        let mut written = 0;
        while written < count {
            if log.is_ready() {
                log.write(&events::FX_ALARM, line(written));
                written += 1;
            } else {
                let _ = open.send(());
            }
        }
        // A closed pipe takes everything.
        drop(open);
        log.is_ready();
        while !log.is_ready() {
            thread::yield_now();
        }
        log.finish(Duration::from_secs(20)).expect("all is written");
        let text = text.lock().expect("no panic");
        let text = String::from_utf8_lossy(&text);
        let numbers = text
            .lines()
            .map(|line| line.rsplit("alarm ").next().expect("a number"));
        let numbers: Vec<String> = numbers
            .map(|n| n.trim_end_matches('"').to_owned())
            .collect();
        let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        assert_eq!(numbers, expected);
    }
}
