//! Session of one back office, with its connection.

use super::numbers::{Numbers, OpenError};
use super::reports::Reports;
use crate::execution::config::ReportClient;
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::path::Path;
use std::rc::Rc;
use touchline_net::Connection as Link;
use touchline_net::stream::Error;
use touchline_session::Secret;
use touchline_session::access_control::{Addresses, Peer};
use touchline_session::file_store::file_name;
use touchline_session::fix::{
    Checks, DisconnectReason, Event, Role, SendError, Session, Settings, StoreError,
};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Message, tag};

/// Longest message of a client.
const MESSAGE_BYTES_MAX: usize = 16 * 1_024;
/// Output that reports may use; the rest of the room is for the session.
const OUTPUT_BYTES: usize = 64 * 1_024;
/// Reports sent in one turn, so that other clients do not wait.
const TURN: usize = 512;
/// Maximum reads of a connection in one turn.
const READS: usize = 16;
/// Longest wait until the rest is sent when the session ends.
const FLUSH_NS: u64 = 2_000_000_000;
/// BusinessRejectReason (380): unsupported message type.
const UNSUPPORTED: u64 = 3;

/// A client.
pub struct Client {
    name: String,
    session: Session<Numbers>,
    peer: Peer,
    password: Option<Secret>,
    reports: Rc<RefCell<Reports>>,
    connection: Option<Connection>,
    news: Option<News>,
}

struct Connection {
    link: Link,
    from: Ipv4Addr,
    flush_until_ns: Option<u64>,
    is_up: bool,
    is_wrong_password: bool,
}

/// Event of a client's session.
pub struct News {
    /// For the log.
    pub text: String,
    /// Source of the connection.
    pub from: Ipv4Addr,
    /// A Logon with a wrong password.
    pub is_wrong_password: bool,
}

impl Client {
    /// A client that continues with its numbers.
    ///
    /// # Errors
    /// The file of its numbers cannot be used.
    pub fn open(
        config: &ReportClient,
        folder: &Path,
        password: Option<Secret>,
        reports: &Rc<RefCell<Reports>>,
    ) -> Result<Client, OpenError> {
        let mut settings = Settings::new(Role::Acceptor, &config.sender, &config.target);
        settings.heartbeat_s = config.heartbeat_s;
        settings.checks = Checks::Standard;
        settings.check_options.any_value = true;
        settings.check_options.unknown = true;
        settings.ask = true;
        settings.limits.message_bytes_max = MESSAGE_BYTES_MAX;
        let peer = Peer::of(&settings).only_from(Addresses::of(config.blocks()));
        let name = file_name(&settings.begin_string, &config.sender, &config.target);
        let name = name.unwrap_or_else(|| config.target.clone());
        let path = folder.join(name).with_extension("numbers");
        let numbers = Numbers::open(&path, &settings, reports, boot())?;
        Ok(Client {
            name: config.target.clone(),
            session: Session::new(settings, numbers),
            peer,
            password,
            reports: Rc::clone(reports),
            connection: None,
            news: None,
        })
    }

    /// Continues with the journal that the reports are of, which was made after the client was opened.
    ///
    /// # Errors
    /// The numbers are of another engine's journal, or cannot be written.
    pub fn continue_journal(&mut self) -> Result<(), OpenError> {
        self.session.store_mut().continue_journal()
    }

    /// Identity that the acceptor requires of the client.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Whether the client is connected.
    pub fn is_taken(&self) -> bool {
        self.connection.is_some()
    }

    /// Next event since the last call.
    pub fn news(&mut self) -> Option<News> {
        self.news.take()
    }

    /// Starts a connection over which `bytes` have arrived already.
    pub fn connected(&mut self, (link, from): (Link, Ipv4Addr), bytes: &[u8], time: ReceiveTime) {
        self.session.connected(time);
        self.connection = Some(Connection {
            link,
            from,
            flush_until_ns: None,
            is_up: false,
            is_wrong_password: false,
        });
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.session.handle(rest, time);
            rest = &rest[taken..];
            self.listen(time);
            if taken == 0 {
                break;
            }
        }
    }

    /// The host's wall clock was set by this much: times of later calls have the step.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.session.wall_stepped(step_ns);
    }

    /// Starts the logout.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.session.log_out("", time);
    }

    /// Runs due work; returns whether there was any.
    ///
    /// # Errors
    /// The numbers cannot be written.
    pub fn work(&mut self, time: ReceiveTime) -> Result<bool, StoreError> {
        if self.connection.is_none() {
            return Ok(false);
        }
        let exchanged = self.exchange(time);
        if let Some(DisconnectReason::Store(error)) = self.session.disconnect_reason() {
            return Err(error);
        }
        let is_over = match (&exchanged, &mut self.connection) {
            (Err(_), _) => true,
            (Ok(_), Some(connection)) if self.session.disconnect_reason().is_some() => {
                let until = &mut connection.flush_until_ns;
                let until_ns = *until.get_or_insert(time.mono_ns + FLUSH_NS);
                let has_rest =
                    !self.session.poll_transmit().is_empty() || connection.link.has_unsent();
                !has_rest || time.mono_ns >= until_ns
            }
            _ => false,
        };
        if is_over {
            self.disconnect(exchanged.err(), time);
            return Ok(true);
        }
        Ok(exchanged.unwrap_or(true))
    }

    fn exchange(&mut self, time: ReceiveTime) -> Result<bool, Error> {
        let mut is_busy = false;
        for _ in 0..READS {
            let Some(connection) = &mut self.connection else {
                break;
            };
            let bytes = match connection.link.receive(self.session.room()) {
                Ok(bytes) => bytes,
                // The last message may still wait to be sent.
                Err(error) if self.session.poll_transmit().is_empty() => return Err(error),
                Err(_) => 0,
            };
            if bytes == 0 {
                break;
            }
            self.session.filled(bytes, time);
            self.listen(time);
            is_busy = true;
        }
        self.session.handle_timeout(time);
        is_busy |= self.send(time);
        Ok(self.flush()? || is_busy)
    }

    /// Sends reports that have no number yet.
    fn send(&mut self, time: ReceiveTime) -> bool {
        let reports = Rc::clone(&self.reports);
        let reports = reports.borrow();
        for sent in 0..TURN {
            let number = self.session.store().next_report();
            let has_room = self.session.poll_transmit().len() < OUTPUT_BYTES;
            if !self.session.is_up() || !has_room {
                return sent > 0;
            }
            let Some(report) = reports.get(number) else {
                return sent > 0;
            };
            let is_again = self.session.store().is_again(number);
            let wall_ns = Some(time.wall_ns);
            self.session.store_mut().set_sending(wall_ns);
            let done = self.session.send(b"8", time, |encoder| {
                if is_again {
                    encoder.flag(tag::POSS_RESEND, true);
                }
                report.write(encoder);
            });
            // Taken by the store, unless it was not asked.
            self.session.store_mut().set_sending(None);
            if let Err(SendError::Full | SendError::Down | SendError::Store(_)) = done {
                return sent > 0;
            }
            assert!(done.is_ok(), "a report is shorter than a message can be");
        }
        true
    }

    fn flush(&mut self) -> Result<bool, Error> {
        let mut is_busy = false;
        let Some(connection) = &mut self.connection else {
            return Ok(false);
        };
        while !self.session.poll_transmit().is_empty() {
            match connection.link.send(self.session.poll_transmit())? {
                0 => break,
                bytes => self.session.transmitted(bytes),
            }
            is_busy = true;
        }
        Ok(is_busy)
    }

    fn listen(&mut self, time: ReceiveTime) {
        loop {
            let (mut is_wrong, mut unsupported) = (None, None);
            match self.session.poll() {
                None => return,
                Some(Event::Logon(message)) => {
                    let given = field(&message, tag::PASSWORD);
                    let is_it = |password: &Secret| password.is(given);
                    is_wrong = Some(!self.password.as_ref().is_none_or(is_it));
                }
                Some(Event::LoggedOn { .. }) => self.up(),
                Some(Event::Application(message, header, _)) => {
                    let msg_type = message.msg_type().to_vec();
                    unsupported = Some((msg_type, header.msg_seq_num.unwrap_or(0)));
                }
                Some(_) => {}
            }
            match is_wrong {
                Some(true) => {
                    if let Some(connection) = &mut self.connection {
                        connection.is_wrong_password = true;
                    }
                    self.session.reject_logon("wrong password");
                }
                Some(false) => {
                    self.session.accept_logon(|_| {});
                    if self.session.is_up() {
                        self.up();
                    }
                }
                None => {}
            }
            if let Some((msg_type, number)) = unsupported {
                // Best effort: a client that floods us gets no reject if the session has no room for the message.
                let _ = self.session.send(b"j", time, |encoder| {
                    encoder
                        .unsigned(tag::REF_SEQ_NUM, number)
                        .bytes(tag::REF_MSG_TYPE, &msg_type)
                        .unsigned(tag::BUSINESS_REJECT_REASON, UNSUPPORTED)
                        .bytes(tag::TEXT, b"this session only sends reports");
                });
            }
        }
    }

    fn up(&mut self) {
        let next = self.session.store().next_report();
        if let Some(connection) = &mut self.connection
            && !std::mem::replace(&mut connection.is_up, true)
        {
            let from = connection.from;
            let text = format!(
                "{} logged on from {from}, {next} reports sent before",
                self.name
            );
            self.news = Some(News {
                text,
                from,
                is_wrong_password: false,
            });
        }
    }

    fn disconnect(&mut self, error: Option<Error>, time: ReceiveTime) {
        let reason = self.session.disconnect_reason();
        self.session.disconnected(time);
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        // Unread received bytes would turn the close into a reset, and the last messages would be lost.
        let mut unread = [0; 4_096];
        for _ in 0..READS {
            if !matches!(connection.link.receive(&mut unread), Ok(1..)) {
                break;
            }
        }
        let from = connection.from;
        let why = match (reason, error) {
            _ if connection.is_wrong_password => "wrong password".to_owned(),
            (Some(reason), _) => reason.to_string(),
            (None, Some(error)) => error.to_string(),
            (None, None) => "closed".to_owned(),
        };
        let what = if connection.is_up {
            "disconnected"
        } else {
            "refused"
        };
        self.news = Some(News {
            text: format!("{} {what}, from {from}: {why}", self.name),
            from,
            is_wrong_password: connection.is_wrong_password,
        });
    }
}

fn field<'a>(message: &Message<'a>, tag: u32) -> &'a [u8] {
    let mut fields = message.fields().map_while(Result::ok);
    let found = fields.find(|field| field.tag == tag);
    found.map_or(&[][..], |field| field.value)
}

/// The host's boot: numbers written before another one may be lost.
fn boot() -> u64 {
    let text = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, hash)
}
