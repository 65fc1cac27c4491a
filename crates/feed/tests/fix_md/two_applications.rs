//! Market data and orders on one session: each message reaches its application, and each application decides which of its
//! messages are resent.

use crate::world::settings;
use touchline_feed::fix_md::{APPLICATION, Dialect, MarketData, Step};
use touchline_feed::{Batch, ReceiveTime};
use touchline_instruments::Instruments;
use touchline_session::fix::{
    Application, ApplicationId, Applications, Event as Said, Memory, ResendPolicy, Role, Session,
    Settings as SessionSettings,
};
use touchline_types::{Event, Instrument, Validity};
use touchline_wire::fix::tag;

const ORDERS: Application<'static> = Application {
    id: ApplicationId(1),
    receives: &[b"D"],
    sends: &[b"8"],
    // An old execution must not be acted on.
    resend: ResendPolicy::GapFill,
};

const NOW: ReceiveTime = ReceiveTime {
    wall_ns: 1_700_000_000_000_000_000,
    mono_ns: 1,
};

/// The owner of the session and both applications.
struct Host {
    session: Session<Memory>,
    market_data: MarketData,
    /// ClOrdIDs of the received orders, each answered with an execution.
    orders: Vec<Vec<u8>>,
    instruments: Instruments,
    batch: Batch,
    events: Vec<Event>,
}

impl Host {
    fn new() -> Host {
        let settings = settings(Dialect::Standard);
        let applications = Applications::default().with(&APPLICATION).with(&ORDERS);
        let session = SessionSettings {
            applications,
            ..settings.session.clone()
        };
        let mut market_data = MarketData::new(settings, 0);
        Host {
            session: Session::new(session, Memory::default()),
            instruments: market_data.take_instruments(),
            market_data,
            orders: Vec::new(),
            batch: Batch::new(1_024),
            events: Vec::new(),
        }
    }

    fn work(&mut self) {
        loop {
            self.batch.events.clear();
            self.market_data.poll(NOW, &mut self.batch);
            self.events.append(&mut self.batch.events);
            let mut order = None;
            let step = match self.session.poll() {
                Some(Said::Application(message, _, Some(id))) if id == ORDERS.id => {
                    let mut fields = message.fields().map_while(Result::ok);
                    let id = fields.find(|field| field.tag == tag::CL_ORD_ID);
                    order = id.map(|id| id.value.to_vec());
                    Step::Noted
                }
                Some(said) => {
                    self.market_data
                        .hear(said, NOW, &mut self.instruments, &mut self.batch)
                }
                None => Step::Idle,
            };
            if let Some(id) = order {
                let sent = self.session.send(b"8", NOW, |report| {
                    report.bytes(tag::CL_ORD_ID, &id);
                });
                sent.expect("both are logged on");
                self.orders.push(id);
            }
            self.market_data
                .carry_out(step, &mut self.session, NOW, &mut self.batch);
            self.events.append(&mut self.batch.events);
            if step == Step::Idle {
                self.market_data.ask(&mut self.session, NOW);
                if !self.market_data.has_pending() {
                    return;
                }
            }
        }
    }
}

/// Exchanges bytes until neither side has any to send. Returns the messages that the venue's application received, by
/// type, and whether each was resent.
fn settle(venue: &mut Session<Memory>, host: &mut Host) -> Vec<(String, bool)> {
    let mut shown = Vec::new();
    loop {
        let there = host.session.handle(venue.poll_transmit(), NOW);
        venue.transmitted(there);
        host.work();
        let back = venue.handle(host.session.poll_transmit(), NOW);
        host.session.transmitted(back);
        while let Some(said) = venue.poll() {
            if let Said::Application(message, header, _) = said {
                let kind = String::from_utf8_lossy(message.msg_type()).into_owned();
                shown.push((kind, header.poss_dup));
            }
        }
        if there + back == 0 {
            return shown;
        }
    }
}

fn send(venue: &mut Session<Memory>, kind: &[u8], fields: &[(u32, &[u8])]) {
    let sent = venue.send(kind, NOW, |body| {
        for (tag, value) in fields {
            body.bytes(*tag, value);
        }
    });
    sent.expect("both are logged on");
}

fn order(venue: &mut Session<Memory>, id: &[u8]) {
    send(venue, b"D", &[(tag::CL_ORD_ID, id)]);
}

fn shown(kind: &str, is_again: bool) -> (String, bool) {
    (kind.to_owned(), is_again)
}

/// The venue missed the request for market data and the first executions. It sends a resend request: the market data
/// request is resent, the executions become a gap fill, and both applications continue.
#[test]
fn orders_are_gap_filled_and_market_data_is_resent() {
    let mut theirs = SessionSettings::new(Role::Acceptor, "DERIBITSERVER", "FIRM");
    theirs.reset_on_logon = true;
    let mut venue = Session::new(theirs, Memory::default());
    let mut host = Host::new();
    venue.connected(NOW);
    host.session.connected(NOW);
    host.market_data.connected();
    // The Logons cross; the next messages of the host are lost.
    let logon = venue.handle(host.session.poll_transmit(), NOW);
    host.session.transmitted(logon);
    while venue.poll().is_some() {}
    order(&mut venue, b"o1");
    order(&mut venue, b"o2");
    let there = host.session.handle(venue.poll_transmit(), NOW);
    venue.transmitted(there);
    host.work();
    assert_eq!(host.orders, [b"o1", b"o2"]);
    host.session.transmitted(usize::MAX);

    order(&mut venue, b"o3");
    let came = settle(&mut venue, &mut host);
    let expected = [shown("V", true), shown("8", false)];
    assert_eq!(came, expected, "the execution that was not lost");
    let counters = host.session.counters();
    assert_eq!(counters.messages_resent, 1);
    assert_eq!(counters.resends_served, 1);
    assert!(counters.gap_fills_sent > 0);

    // Both continue with the next numbers.
    order(&mut venue, b"o4");
    let book: [(u32, &[u8]); 6] = [
        (tag::SYMBOL, b"EUR/USD"),
        (tag::MD_REQ_ID, b"1"),
        (268, b"1"),
        (269, b"0"),
        (270, b"1.1"),
        (271, b"5"),
    ];
    send(&mut venue, b"W", &book);
    assert_eq!(settle(&mut venue, &mut host), [shown("8", false)]);
    assert_eq!(host.orders.len(), 4);
    assert_eq!(host.market_data.validity(Instrument(0)), Validity::Live);
    let is_rebuilt = |event: &Event| matches!(event, Event::BookRebuilt(..));
    assert_eq!(
        host.events.iter().filter(|event| is_rebuilt(event)).count(),
        1
    );
    assert_eq!(host.market_data.counters().messages_unknown, 0);
}
