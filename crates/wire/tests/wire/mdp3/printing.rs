//! Printed form of messages.

use crate::mdp3::bytes::{Bytes, book, packet};
use touchline_wire::mdp3::Packet;

#[test]
fn a_packet_prints_as_lines() {
    let unknown = Bytes::default().header(4, 999, 9).u32(1);
    let bytes = packet().raw(&book(9).sized().0).raw(&unknown.sized().0);
    let packet = Packet::parse(&bytes.0).expect("a right packet");
    let lines = [
        "packet 4711 sent 2022-08-01T15:31:10.041719045Z",
        "  MDIncrementalRefreshBook46(46) TransactTime=2022-08-01T15:31:10.041633809Z MatchEventIndicator=LastQuoteMsg|EndOfEvent",
        "    NoMDEntries[1] MDEntryPx=4500.25 MDEntrySize=12 SecurityID=118 RptSeq=7 NumberOfOrders=3 MDPriceLevel=1 \
         MDUpdateAction=New MDEntryType=Bid TradeableSize=-",
        "    NoMDEntries[2] MDEntryPx=- MDEntrySize=- SecurityID=-5 RptSeq=8 NumberOfOrders=- MDPriceLevel=10 \
         MDUpdateAction=Delete MDEntryType=ImpliedOffer TradeableSize=-",
        "    NoOrderIDEntries[1] OrderID=707132284827 MDOrderPriority=16882484350 MDDisplayQty=2 ReferenceID=1 OrderUpdateAction=New",
        "  unknown template(999) version=9 bytes=4",
    ];
    assert_eq!(packet.to_string(), lines.join("\n"));
}

#[test]
fn debug_output_is_one_line() {
    let bytes = book(9);
    let text = format!("{:?}", bytes.message());
    assert!(
        text.contains("MDIncrementalRefreshBook46 TransactTime="),
        "{text}"
    );
    assert!(text.contains(" NoMDEntries[2] "), "{text}");
    assert_eq!(text.lines().count(), 1);
}
