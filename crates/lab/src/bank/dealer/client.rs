//! The client of a dealing desk: its session, over any number of connections.

use super::answers::Request;
use touchline_net::Stream;
use touchline_session::fix::{
    Application, ApplicationId, Applications, Checks, Event, Memory, ResendPolicy, Role, Session,
    Settings,
};
use touchline_types::ReceiveTime;

/// Reads of one turn.
const READS: usize = 16;
/// Longest message of a client.
const MESSAGE_BYTES_MAX: usize = 16 * 1_024;

/// The application of a dealing desk.
const APPLICATION: Application<'static> = Application {
    id: ApplicationId(1),
    receives: &[b"D", b"F", b"H", b"AF", b"Q"],
    sends: &[b"8", b"9", b"j"],
    resend: ResendPolicy::SendAgain,
};

/// A client: its session outlives its connections.
#[derive(Debug)]
pub struct DealingClient {
    pub name: String,
    pub session: Session<Memory>,
    pub stream: Option<Stream>,
    pub is_cut: bool,
}

impl DealingClient {
    pub fn new(bank: &str, name: &str) -> DealingClient {
        let mut settings = Settings::new(Role::Acceptor, bank, name);
        settings.sending_time_s = 0;
        settings.queue_while_down = true;
        settings.checks = Checks::Standard;
        settings.applications = Applications::default().with(&APPLICATION);
        settings.limits.message_bytes_max = MESSAGE_BYTES_MAX;
        settings.limits.output_bytes = 64 * MESSAGE_BYTES_MAX;
        DealingClient {
            name: name.to_owned(),
            session: Session::new(settings, Memory::new(65_536, 16 << 20)),
            stream: None,
            is_cut: false,
        }
    }

    pub fn connect(&mut self, stream: Stream, bytes: &[u8], at: ReceiveTime) {
        self.session.connected(at);
        self.session.handle(bytes, at);
        self.stream = Some(stream);
        self.is_cut = false;
    }

    pub fn read(&mut self, requests: &mut Vec<Request>, at: ReceiveTime) -> bool {
        let mut is_busy = false;
        for _ in 0..READS {
            self.listen(requests);
            let Some(stream) = &mut self.stream else {
                return is_busy;
            };
            match stream.receive(self.session.room()) {
                Ok(0) => break,
                Ok(bytes) => self.session.filled(bytes, at),
                Err(_) => {
                    self.is_cut = true;
                    break;
                }
            }
            is_busy = true;
        }
        self.listen(requests);
        is_busy
    }

    fn listen(&mut self, requests: &mut Vec<Request>) {
        while let Some(event) = self.session.poll() {
            if let Event::Application(message, ..) = event
                && let Some(request) = Request::read(&message)
            {
                requests.push(request);
            }
        }
    }

    pub fn write(&mut self, at: ReceiveTime) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        self.session.handle_timeout(at);
        while !self.is_cut && !self.session.poll_transmit().is_empty() {
            match stream.send(self.session.poll_transmit()) {
                Ok(0) => break,
                Ok(sent) => self.session.transmitted(sent),
                Err(_) => self.is_cut = true,
            }
        }
        let is_over =
            self.session.disconnect_reason().is_some() && self.session.poll_transmit().is_empty();
        if self.is_cut || is_over {
            self.stream = None;
            self.session.disconnected(at);
        }
    }
}
