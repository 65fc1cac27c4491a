//! The client of a dealing desk: its session, over any number of connections.

use super::answers::Request;
use super::log::{Numbers, Turn};
use touchline_session::fix::{
    Application, ApplicationId, Applications, Checks, Event, Memory, ResendPolicy, Role, Session,
    Settings, Store,
};
use touchline_types::ReceiveTime;

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
    pub session: Session<Numbers>,
    pub is_connected: bool,
    pub is_cut: bool,
}

impl DealingClient {
    /// A client whose last messages, of at most that many bytes, are kept to be sent again.
    pub fn new(bank: &str, name: &str, memory: Memory, turn: Turn, bytes: usize) -> DealingClient {
        let mut settings = Settings::new(Role::Acceptor, bank, name);
        settings.sending_time_s = 0;
        settings.queue_while_down = true;
        settings.checks = Checks::Standard;
        settings.applications = Applications::default().with(&APPLICATION);
        settings.limits.message_bytes_max = MESSAGE_BYTES_MAX;
        settings.limits.output_bytes = (64 * MESSAGE_BYTES_MAX).min(bytes);
        DealingClient {
            name: name.to_owned(),
            session: Session::new(settings, Numbers { memory, turn }),
            is_connected: false,
            is_cut: false,
        }
    }

    /// The numbers begin again at 1, without a word to the client.
    pub fn forget(self) -> DealingClient {
        let settings = self.session.settings().clone();
        let mut store = self.session.into_store();
        store.reset().expect("it is in memory");
        DealingClient {
            name: self.name,
            session: Session::new(settings, store),
            is_connected: false,
            is_cut: false,
        }
    }

    pub fn connected(&mut self, at: ReceiveTime) {
        self.session.connected(at);
        self.is_connected = true;
        self.is_cut = false;
    }

    pub fn listen(&mut self, requests: &mut Vec<Request>) {
        while let Some(event) = self.session.poll() {
            if let Event::Application(message, ..) = event
                && let Some(request) = Request::read(&message)
            {
                requests.push(request);
            }
        }
    }

    /// Whether the caller must close the connection.
    pub fn is_over(&self) -> bool {
        let is_done =
            self.session.disconnect_reason().is_some() && self.session.poll_transmit().is_empty();
        self.is_connected && (self.is_cut || is_done)
    }

    pub fn disconnected(&mut self, at: ReceiveTime) {
        self.session.disconnected(at);
        self.is_connected = false;
    }
}
