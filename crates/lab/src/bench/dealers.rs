//! Dealing desks of banks that answer at once, for a benchmark of the side that sends orders.
//!
//! One thread turns all of them. What they answer is the least that a client needs: a fill at the order's price, or a
//! confirmed cancel. Tags are numbers: the lab shares no table with what it tests.

use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_net::Stream;
use touchline_net::stream::{Error, Listener};
use touchline_session::fix::{
    Application, ApplicationId, Applications, Event, Memory, ResendPolicy, Role, Session, Settings,
};
use touchline_types::{Id, ReceiveTime};
use touchline_wire::fix::{Message, Precision};

/// Longest message.
const MESSAGE_BYTES_MAX: usize = 16 * 1_024;
/// Reports that may wait.
const OUTPUT_BYTES: usize = 1 << 20;
/// Requests of one round for which memory is reserved at the start.
const REQUESTS: usize = 2_048;

const APPLICATION: Application<'static> = Application {
    id: ApplicationId(1),
    receives: &[b"D", b"F", b"H", b"AF", b"Q"],
    sends: &[b"8", b"9", b"j"],
    resend: ResendPolicy::GapFill,
};

/// Answer to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The order is filled at its price.
    Fill,
    /// The order stays open until it is canceled.
    Open,
}

/// The desks of all banks.
#[derive(Debug)]
pub struct Dealers {
    desks: Vec<Desk>,
    requests: Vec<Request>,
    /// Answer to the next orders.
    pub answer: Answer,
    /// Orders and cancels that arrived.
    pub orders: u64,
    /// Cancels that arrived.
    pub cancels: u64,
}

#[derive(Debug)]
struct Desk {
    listener: Listener,
    session: Session<Memory>,
    stream: Option<Stream>,
}

/// A request: the fields that its answer needs.
#[derive(Debug, Clone, Copy)]
struct Request {
    is_cancel: bool,
    id: Id,
    original: Id,
    symbol: Id,
    side: Id,
    quantity: Id,
    price: Id,
}

impl Dealers {
    /// Desks of banks with these CompIDs, for the client `client`, each on a port of its own.
    ///
    /// # Errors
    /// There is no free port.
    pub fn listen(banks: &[String], client: &str) -> Result<Dealers, Error> {
        let desk = |bank: &String| {
            let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
            let mut settings = Settings::new(Role::Acceptor, bank, client);
            settings.sending_time_s = 0;
            settings.applications = Applications::default().with(&APPLICATION);
            settings.limits.message_bytes_max = MESSAGE_BYTES_MAX;
            settings.limits.output_bytes = OUTPUT_BYTES;
            Ok(Desk {
                listener: Listener::bind(any_port)?,
                session: Session::new(settings, Memory::new(16, MESSAGE_BYTES_MAX)),
                stream: None,
            })
        };
        Ok(Dealers {
            desks: banks.iter().map(desk).collect::<Result<_, Error>>()?,
            requests: Vec::with_capacity(REQUESTS),
            answer: Answer::Fill,
            orders: 0,
            cancels: 0,
        })
    }

    /// Address on which each listens.
    pub fn addresses(&self) -> Vec<SocketAddrV4> {
        let desks = self.desks.iter();
        desks.map(|desk| desk.listener.address()).collect()
    }

    /// Reads and answers the requests that have arrived; returns their number.
    pub fn turn(&mut self, time: ReceiveTime) -> usize {
        let mut count = 0;
        for desk in &mut self.desks {
            self.requests.clear();
            desk.read(&mut self.requests, time);
            count += self.requests.len();
            for request in &self.requests {
                self.orders += u64::from(!request.is_cancel);
                self.cancels += u64::from(request.is_cancel);
                if request.is_cancel || self.answer == Answer::Fill {
                    let number = self.orders + self.cancels;
                    desk.report(request, number, time);
                }
            }
            desk.write(time);
        }
        count
    }
}

impl Desk {
    fn read(&mut self, requests: &mut Vec<Request>, time: ReceiveTime) {
        if self.stream.is_none()
            && let Ok(Some((stream, _))) = self.listener.accept()
        {
            self.session.connected(time);
            self.stream = Some(stream);
        }
        let Some(stream) = &mut self.stream else {
            return;
        };
        loop {
            let read = stream.receive(self.session.room());
            match read {
                Ok(bytes) => self.session.filled(bytes, time),
                Err(_) => self.session.disconnected(time),
            }
            while let Some(event) = self.session.poll() {
                if let Event::Application(message, ..) = event {
                    requests.extend(Request::read(&message));
                }
            }
            match read {
                Ok(0) => return,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.stream = None;
    }

    fn report(&mut self, request: &Request, number: u64, time: ReceiveTime) {
        // A report that finds no room would show as an unknown order of the client.
        let _ = self.session.send(b"8", time, |report| {
            let quantity = request.quantity.as_str().as_bytes();
            let price = request.price.as_str().as_bytes();
            report.bytes(11, request.id.as_str().as_bytes());
            if request.is_cancel {
                report.bytes(41, request.original.as_str().as_bytes());
            }
            report.unsigned(37, number).unsigned(17, number);
            match request.is_cancel {
                true => report.char(150, b'4').char(39, b'4').unsigned(14, 0),
                false => report
                    .char(150, b'F')
                    .char(39, b'2')
                    .bytes(31, price)
                    .bytes(32, quantity)
                    .bytes(14, quantity),
            };
            report
                .bytes(55, request.symbol.as_str().as_bytes())
                .bytes(54, request.side.as_str().as_bytes())
                .bytes(38, quantity)
                .unsigned(151, 0)
                .unsigned(6, 0)
                .timestamp(60, time.wall_ns, Precision::Milliseconds);
        });
    }

    fn write(&mut self, time: ReceiveTime) {
        self.session.handle_timeout(time);
        let Some(stream) = &mut self.stream else {
            return;
        };
        while !self.session.poll_transmit().is_empty() {
            match stream.send(self.session.poll_transmit()) {
                Ok(0) | Err(_) => return,
                Ok(sent) => self.session.transmitted(sent),
            }
        }
    }
}

impl Request {
    fn read(message: &Message<'_>) -> Option<Request> {
        let is_cancel = match message.msg_type() {
            b"D" => false,
            b"F" => true,
            _ => return None,
        };
        let mut request = Request {
            is_cancel,
            id: Id::EMPTY,
            original: Id::EMPTY,
            symbol: Id::EMPTY,
            side: Id::EMPTY,
            quantity: Id::EMPTY,
            price: Id::EMPTY,
        };
        for field in message.fields().map_while(Result::ok) {
            let place = match field.tag {
                11 => &mut request.id,
                41 => &mut request.original,
                55 => &mut request.symbol,
                54 => &mut request.side,
                38 => &mut request.quantity,
                44 => &mut request.price,
                _ => continue,
            };
            *place = Id::lossy(field.value);
        }
        Some(request)
    }
}
