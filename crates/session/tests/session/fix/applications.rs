//! Several applications on one session, selected by message type.

use touchline_session::fix::{
    Application, ApplicationId, Applications, Event, Memory, ResendPolicy, Role, Session, Settings,
    Store,
};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Header, Message, tag};

const NOW: ReceiveTime = ReceiveTime {
    wall_ns: 1_767_571_200_000_000_000,
    mono_ns: 1,
};

const MARKET_DATA: Application<'static> = Application {
    id: ApplicationId(0),
    receives: &[b"V"],
    sends: &[b"W"],
    resend: ResendPolicy::SendAgain,
};

/// Old executions must not be acted on: they are not resent.
const ORDERS: Application<'static> = Application {
    id: ApplicationId(1),
    receives: &[b"D"],
    sends: &[b"8"],
    resend: ResendPolicy::GapFill,
};

/// Answers a request for market data with a snapshot.
#[derive(Default)]
struct MarketData {
    requests: Vec<Vec<u8>>,
}

impl MarketData {
    fn take(&mut self, request: &Message<'_>) {
        self.requests.push(value(request, tag::MD_REQ_ID));
    }

    fn answer(&mut self, session: &mut Session<Memory>) {
        for request in self.requests.drain(..) {
            send(session, b"W", |snapshot| {
                snapshot.bytes(tag::MD_REQ_ID, &request);
            });
        }
    }
}

/// Answers an order with an execution report.
#[derive(Default)]
struct Orders {
    orders: Vec<(Vec<u8>, bool)>,
    answered: usize,
}

impl Orders {
    fn take(&mut self, order: &Message<'_>, header: &Header<'_>) {
        self.orders
            .push((value(order, tag::CL_ORD_ID), header.poss_dup));
    }

    fn answer(&mut self, session: &mut Session<Memory>) {
        for (order, _) in &self.orders[self.answered..] {
            send(session, b"8", |report| {
                report.bytes(tag::CL_ORD_ID, order);
            });
        }
        self.answered = self.orders.len();
    }
}

/// Binds a session and its applications.
struct Host {
    session: Session<Memory>,
    market_data: MarketData,
    orders: Orders,
    unknown: usize,
}

impl Host {
    fn new() -> Host {
        let settings = Settings {
            applications: Applications::default().with(&MARKET_DATA).with(&ORDERS),
            ..Settings::new(Role::Acceptor, "US", "THEM")
        };
        Host {
            session: Session::new(settings, Memory::default()),
            market_data: MarketData::default(),
            orders: Orders::default(),
            unknown: 0,
        }
    }

    fn work(&mut self) {
        while let Some(event) = self.session.poll() {
            let Event::Application(message, header, to) = event else {
                continue;
            };
            match to {
                Some(id) if id == MARKET_DATA.id => self.market_data.take(&message),
                Some(id) if id == ORDERS.id => self.orders.take(&message, &header),
                _ => self.unknown += 1,
            }
        }
        self.market_data.answer(&mut self.session);
        self.orders.answer(&mut self.session);
    }
}

fn send(session: &mut Session<Memory>, kind: &[u8], body: impl FnOnce(&mut Encoder<'_>)) {
    session.send(kind, NOW, body).expect("both are logged on");
}

fn value(message: &Message<'_>, tag: u32) -> Vec<u8> {
    let mut fields = message.fields().map_while(Result::ok);
    let field = fields.find(|field| field.tag == tag);
    field.map_or(Vec::new(), |field| field.value.to_vec())
}

/// Exchanges bytes until neither side has output; returns the client's messages: type, id, possible duplicate.
fn settle(client: &mut Session<Memory>, host: &mut Host) -> Vec<(String, String, bool)> {
    let mut shown = Vec::new();
    loop {
        let there = host.session.handle(client.poll_transmit(), NOW);
        client.transmitted(there);
        host.work();
        let back = client.handle(host.session.poll_transmit(), NOW);
        host.session.transmitted(back);
        while let Some(event) = client.poll() {
            if let Event::Application(message, header, to) = event {
                assert_eq!(to, None, "the client has registered none");
                let id = match message.msg_type() {
                    b"W" => value(&message, tag::MD_REQ_ID),
                    _ => value(&message, tag::CL_ORD_ID),
                };
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                shown.push((text(message.msg_type()), text(&id), header.poss_dup));
            }
        }
        if there + back == 0 && client.poll_transmit().is_empty() {
            return shown;
        }
    }
}

fn order(client: &mut Session<Memory>, id: &[u8]) {
    send(client, b"D", |order| {
        order.bytes(tag::CL_ORD_ID, id);
    });
}

fn request(client: &mut Session<Memory>, id: &[u8]) {
    send(client, b"V", |request| {
        request.bytes(tag::MD_REQ_ID, id);
    });
}

fn shown(kind: &str, id: &str, is_again: bool) -> (String, String, bool) {
    (kind.to_owned(), id.to_owned(), is_again)
}

/// A client logged on to a host with both applications.
fn connected() -> (Session<Memory>, Host) {
    let settings = Settings::new(Role::Initiator, "THEM", "US");
    let mut client = Session::new(settings, Memory::default());
    let mut host = Host::new();
    host.session.connected(NOW);
    client.connected(NOW);
    assert_eq!(settle(&mut client, &mut host), []);
    assert!(client.is_up());
    (client, host)
}

#[test]
fn a_message_reaches_the_application_of_its_type() {
    let (mut client, mut host) = connected();
    request(&mut client, b"r1");
    order(&mut client, b"o1");
    send(&mut client, b"R", |_| {});
    order(&mut client, b"o2");
    assert_eq!(
        settle(&mut client, &mut host),
        [
            shown("W", "r1", false),
            shown("8", "o1", false),
            shown("8", "o2", false)
        ]
    );
    assert_eq!(host.unknown, 1);
    let orders: Vec<&[u8]> = host.orders.orders.iter().map(|(id, _)| &id[..]).collect();
    assert_eq!(orders, [b"o1", b"o2"]);
}

/// Messages of the host are lost and requested: market data is resent, executions are gap-filled. The numbers of both
/// sides continue.
#[test]
fn a_resend_request_gap_fills_orders_and_resends_market_data() {
    let (mut client, mut host) = connected();
    request(&mut client, b"r1");
    order(&mut client, b"o1");
    order(&mut client, b"o2");
    let there = host.session.handle(client.poll_transmit(), NOW);
    client.transmitted(there);
    host.work();
    // Lost: one snapshot and two executions.
    host.session.transmitted(usize::MAX);
    order(&mut client, b"o3");
    assert_eq!(
        settle(&mut client, &mut host),
        [shown("W", "r1", true)],
        "o3 was asked for again as well, with all behind the gap"
    );
    let counters = host.session.counters();
    assert_eq!((counters.messages_resent, counters.resends_served), (1, 1));
    assert_eq!(counters.gap_fills_sent, 1, "one for all three executions");
    order(&mut client, b"o4");
    assert_eq!(settle(&mut client, &mut host), [shown("8", "o4", false)]);
    let (ours, theirs) = (host.session.store(), client.store());
    assert_eq!(ours.next_in(), theirs.next_out());
    assert_eq!(theirs.next_in(), ours.next_out());
}
