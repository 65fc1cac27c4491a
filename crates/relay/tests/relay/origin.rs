//! Origin of the data of a bus that is sent on, when the bus begins and when it changes its writer or its sender.

use crate::buses::{Buses, Market, is_alive, until, until_event};
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::{RunError, RunEvent, Sending, Work};
use touchline_relay::{ReceiverCounters, Source};
use touchline_transport::shm::{CountersFile, Publisher};

fn listening() -> (TcpSend, String) {
    let any_port = "127.0.0.1:0".parse().expect("an address");
    let link = TcpSend::bind(any_port, None, TcpSendSettings::default()).expect("a free port");
    let address = link.address().to_string();
    (link, address)
}

fn market(buses: &Buses, bus: &str) -> (Publisher, Market) {
    let mut publisher = buses.publisher(bus);
    let mut market = Market::new(1);
    market.define(&mut publisher);
    market.events(100, &mut publisher);
    (publisher, market)
}

fn forwarding(buses: &Buses, bus: &str, link: TcpSend) -> Sending<TcpSend> {
    let mut settings = buses.send_settings(bus, "here");
    settings.forward = true;
    Sending::new(settings, link).expect("the name is free")
}

/// The relay of the middle switches to another sender, and restarts its bus: what it forwards is of that sender from then on.
#[test]
fn a_forwarded_bus_has_the_origin_that_its_relay_switches_to() {
    let buses = Buses::new();
    let _publisher = market(&buses, "a");
    let (link, first) = listening();
    let mut send = buses.sending("a", "gw1", link);
    let mut middle = buses.receiving("b", TcpReceive::new(&first, None));
    let (link, second) = listening();
    let mut forward = forwarding(&buses, "b", link);
    let mut last = buses.receiving("c", TcpReceive::new(&second, None));
    let origin = || {
        let counter = |name| buses.counter("c", name);
        let source = Source::of_number(counter("relay_origin")).ok();
        (source, counter("relay_hops"))
    };
    let mut links: [&mut dyn Work; 4] = [&mut send, &mut middle, &mut forward, &mut last];
    until(&mut links, "the data of gw1", || {
        origin() == (Source::named("gw1").ok(), 2)
    });
    drop(send);
    let port = first.parse().expect("an address");
    let link = TcpSend::bind(port, None, TcpSendSettings::default());
    let mut send = buses.sending("a", "gw2", link.expect("the port is free again"));
    let mut links: [&mut dyn Work; 4] = [&mut send, &mut middle, &mut forward, &mut last];
    until(&mut links, "the data of gw2", || {
        origin() == (Source::named("gw2").ok(), 2) && buses.is_same("a", "c")
    });
}

/// The bus of a gateway is sent; a relay takes the bus over: its data is not of this host, and may only be forwarded.
#[test]
fn a_bus_that_a_relay_takes_over_is_not_sent_on_without_forward() {
    let buses = Buses::new();
    let _publisher = market(&buses, "a");
    let (gateway, _) = market(&buses, "b");
    let mut send_b = buses.sending("b", "here", MemoryLink::default());
    let is_sent = |event: &RunEvent| matches!(event, RunEvent::Sending { .. }).then_some(());
    until_event(&mut [&mut send_b], "sent", || {}, is_sent);
    drop(gateway);
    let (link, address) = listening();
    let mut send_a = buses.sending("a", "gw1", link);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    let mut refused = None;
    until(&mut [&mut send_a, &mut receive], "an error", || {
        if refused.is_none() {
            refused = send_b.work().err();
        }
        refused.is_some()
    });
    assert!(
        matches!(refused, Some(RunError::Forward { ref origin, .. }) if *origin == Source::named("gw1").expect("a name")),
        "{refused:?}"
    );
}

/// A publisher may have opened its bus and not yet its counters. A program without any is one of this host.
#[test]
fn nothing_is_sent_before_it_is_known_whose_data_it_is() {
    let buses = Buses::new();
    let mut publisher = buses.publisher_without_counters("a");
    let mut send = buses.sending("a", "here", MemoryLink::default());
    send.work().expect("it waits");
    let Some(RunEvent::Waiting { reason }) = send.event() else {
        panic!("not waiting");
    };
    assert!(reason.contains("no counters yet"), "{reason}");
    let is_sent = |event: &RunEvent| matches!(event, RunEvent::Sending { .. }).then_some(());
    until_event(
        &mut [&mut send],
        "sent",
        || is_alive(&mut publisher),
        is_sent,
    );

    let mut publisher = buses.publisher_without_counters("b");
    let mut send = buses.sending("b", "here", MemoryLink::default());
    send.work().expect("it waits");
    let table = ReceiverCounters::TABLE;
    let mut counters = CountersFile::create(publisher.lock(), 1.0, table, []).expect("a file");
    let received = ReceiverCounters {
        relay_hops: 1,
        relay_origin: Source::named("gw1").expect("a name").number(),
        ..ReceiverCounters::default()
    };
    counters.show(received.counts());
    let mut refused = None;
    touchline_testing::until("an error", touchline_testing::PATIENCE, || {
        is_alive(&mut publisher);
        refused = send.work().err();
        refused.is_some().then_some(()).ok_or("no error")
    });
    assert!(
        matches!(refused, Some(RunError::Forward { .. })),
        "{refused:?}"
    );
}
