//! Market data against a slow reader that walks the fields, on real messages and made ones.

use crate::fix::message;
use touchline_wire::fix::market_data::{Entry, MassQuote, Refresh, Words};
use touchline_wire::fix::{
    Decimal, Frame, Header, LastSecond, Malformed, Message, RefTag, Reject,
    SessionRejectReason as Reason, decimal, frame, timestamp,
};

const HEAD: &str = "49=A|56=B|34=7|52=20240102-03:04:05.678|";

fn whole(bytes: &[u8]) -> Message<'_> {
    match frame(bytes, 1 << 20) {
        Ok(Frame::Whole(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// Entries as read by a walk over all fields: price and size by tag, an entry at each delimiter.
fn slow_entries(message: &Message<'_>) -> Vec<Vec<(u32, Vec<u8>)>> {
    let fields: Vec<_> = message.fields().map(|field| field.unwrap()).collect();
    let Some(count) = fields.iter().position(|field| field.tag == 268) else {
        return Vec::new();
    };
    let behind = &fields[count + 1..];
    let mut entries: Vec<Vec<(u32, Vec<u8>)>> = Vec::new();
    for field in behind {
        if field.tag == behind[0].tag {
            entries.push(Vec::new());
        }
        entries
            .last_mut()
            .unwrap()
            .push((field.tag, field.value.to_vec()));
    }
    entries
}

fn header_of<'a>(message: &Message<'a>) -> Result<Header<'a>, Reject<'a>> {
    Header::read(message, &mut LastSecond::default())
}

fn before_body<'a>(message: &Message<'a>) -> Result<Header<'a>, Malformed> {
    Header::before_body(message, &mut LastSecond::default())
}

/// Header and all, as a reader of market data has them.
fn refresh<'a>(message: &Message<'a>) -> Result<Refresh<'a>, Malformed> {
    Refresh::read(message, &before_body(message)?)
}

/// Every way to read the entries of a message gives the same result. Returns their number.
pub fn check(message: &Message<'_>) -> usize {
    let header = before_body(message).unwrap();
    let refresh = Refresh::read(message, &header).unwrap();
    let slow = slow_entries(message);
    assert_eq!(refresh.entries.unwrap_or(0) as usize, slow.len());
    let entries: Vec<Entry<'_>> = refresh.entries().map(Result::unwrap).collect();
    let words: Vec<Entry<'_>> = Refresh::<Words>::read_with(message, &header)
        .unwrap()
        .entries()
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries, words);
    assert_eq!(entries.len(), slow.len());
    let mut symbol = refresh.symbol.to_vec();
    for (entry, slow) in entries.iter().zip(&slow) {
        let value = |tag: u32| {
            slow.iter()
                .find(|(t, _)| *t == tag)
                .map(|(_, value)| &value[..])
        };
        let character = |tag| value(tag).map(|value| value[0]);
        assert_eq!(
            (entry.action, entry.kind, entry.side),
            (character(279), character(269), character(54))
        );
        let number = |tag| value(tag).map(|value| decimal(value).unwrap());
        assert_eq!((entry.price, entry.size), (number(270), number(271)));
        if let Some(time) = value(272).filter(|time| time.len() > 8) {
            assert_eq!(entry.time_ns, Some(timestamp(time).unwrap()));
        }
        symbol = value(55).map_or(symbol, <[u8]>::to_vec);
        assert_eq!(entry.symbol, symbol);
        assert_eq!(
            entry.trade_id,
            value(100_009).or(value(1003)).unwrap_or_default()
        );
        assert_eq!(entry.id, value(278).or(value(299)).unwrap_or_default());
        let again: Vec<_> = entry
            .fields()
            .map(|f| f.unwrap())
            .map(|f| (f.tag, f.value.to_vec()))
            .collect();
        assert_eq!(&again, slow);
    }
    entries.len()
}

#[test]
fn recorded_market_data_equals_a_simple_parser() {
    let Some(captures) = touchline_testing::captures("real market data of FIX") else {
        return;
    };
    let (mut messages, mut entries) = (0, 0);
    for bytes in crate::fix::real_messages(&captures) {
        let message = whole(&bytes);
        let header = header_of(&message).unwrap();
        if matches!(message.msg_type(), b"W" | b"X") {
            assert_eq!(before_body(&message), Ok(header));
            entries += check(&message);
            messages += 1;
        }
    }
    assert!(
        messages > 5_480 && entries > 9_000,
        "{messages} messages, {entries} entries"
    );
}

#[test]
fn the_entry_of_the_recorded_update_is_typed() {
    let body = format!(
        "{HEAD}55=BTC-27SEP19|262=123|268=2|279=0|269=1|270=10523.0000|271=1000.0000|272=20190907-15:37:00.896|7=x|\
         279=2|278=id|290=3|55=ETH|54=2|1003=t|270=-.5|271=12.|272=20190907|273=15:37:01|299=q|58=end|"
    );
    let bytes = message("X", &body);
    let message = whole(&bytes);
    let refresh = refresh(&message).unwrap();
    assert_eq!(
        (refresh.symbol, refresh.request),
        (&b"BTC-27SEP19"[..], &b"123"[..])
    );
    let tags: Vec<u32> = refresh.fields().map(|field| field.unwrap().tag).collect();
    assert_eq!(tags, [55, 262]);
    let entries: Vec<_> = refresh.entries().map(Result::unwrap).collect();
    let decimal = |mantissa, decimals| Some(Decimal { mantissa, decimals });
    let first = Entry {
        action: Some(b'0'),
        kind: Some(b'1'),
        price: decimal(105_230_000, 4),
        size: decimal(10_000_000, 4),
        time_ns: Some(1_567_870_620_896_000_000),
        symbol: b"BTC-27SEP19",
        bytes: entries[0].bytes,
        ..Entry::default()
    };
    assert_eq!(entries[0], first);
    let second = Entry {
        action: Some(b'2'),
        price: decimal(-5, 1),
        size: decimal(12, 0),
        time_ns: Some(1_567_870_621_000_000_000),
        id: b"id",
        position: Some(3),
        symbol: b"ETH",
        trade_id: b"t",
        side: Some(b'2'),
        bytes: entries[1].bytes,
        ..Entry::default()
    };
    assert_eq!(entries[1], second);
    assert!(entries[1].bytes.ends_with(b"58=end\x01"));
}

/// The fault in the entries of a message, if there is one.
fn wrong(body: &str) -> Option<Malformed> {
    let bytes = message("X", &format!("{HEAD}{body}"));
    let refresh = match refresh(&whole(&bytes)) {
        Ok(refresh) => refresh,
        Err(error) => return Some(error),
    };
    let error = refresh.entries().find_map(Result::err);
    let after = refresh.entries().skip_while(Result::is_ok).skip(1).count();
    assert_eq!(after, 0, "nothing comes behind an error");
    error
}

#[test]
fn wrong_group_counts_and_repeated_fields_are_errors() {
    let two = "279=0|269=0|270=1|279=0|269=1|270=2|";
    for (body, error) in [
        (format!("268=2|{two}"), None),
        (format!("268=1|{two}"), Some(Malformed::Group)),
        (format!("268=3|{two}"), Some(Malformed::Group)),
        (format!("268=0|{two}"), Some(Malformed::Group)),
        ("268=0|58=x|".into(), None),
        ("268=1|".into(), Some(Malformed::Group)),
        (two.into(), Some(Malformed::Group)),
        (format!("270=1|268=2|{two}"), Some(Malformed::Group)),
        ("58=x|".into(), Some(Malformed::Group)),
        ("268=1|270=1|279=0|".into(), Some(Malformed::Group)),
        ("268=4294967296|".into(), Some(Malformed::Overflow)),
        ("268=x|".into(), Some(Malformed::Number)),
        ("55=a|55=b|".into(), Some(Malformed::Repeated)),
        ("268=1|279=0|269=0|269=1|".into(), Some(Malformed::Repeated)),
        ("268=1|279=0|270=1|270=2|".into(), Some(Malformed::Repeated)),
        (
            "268=1|279=0|100009=1|1003=2|".into(),
            Some(Malformed::Repeated),
        ),
        ("268=1|279=00|".into(), Some(Malformed::Value)),
        ("268=1|279=|".into(), Some(Malformed::Value)),
        ("268=1|279=0|270=1x|".into(), Some(Malformed::Number)),
        ("268=1|279=0|270=1.2.3|".into(), Some(Malformed::Number)),
        (
            "268=1|279=0|270=12345678901234567890|".into(),
            Some(Malformed::Overflow),
        ),
        (
            "268=1|279=0|272=20240102-03:04:60.123456789x|".into(),
            Some(Malformed::Time),
        ),
        ("268=1|279=0|273=25:00:00|".into(), Some(Malformed::Time)),
        ("268=1|279=0|49=C|".into(), Some(Malformed::Header)),
        ("268=1|279=0|34=8|".into(), Some(Malformed::Header)),
        ("55=a|52=20240102-03:04:05|".into(), Some(Malformed::Header)),
        ("34=8|".into(), Some(Malformed::Header)),
        ("268=1|279=0|a=1|".into(), Some(Malformed::Tag)),
        ("268=1|279=0|027=1|".into(), Some(Malformed::Tag)),
        ("268=1|279=0|5|".into(), Some(Malformed::Value)),
        // Data by its length, in an entry and before the entries; an entry inside the data does not count.
        (
            "354=8|355=x|279=0|268=1|279=0|354=5|355=279=0|58=x|"
                .replace("354=8|355=x|279=0|", "354=7|355=x|279=0|"),
            None,
        ),
        ("268=1|279=0|10=000|".into(), Some(Malformed::Header)),
        ("10=000|268=1|279=0|".into(), Some(Malformed::Header)),
        ("268=1|279=0|272=2024130x|".into(), Some(Malformed::Time)),
        ("268=1|279=0|354=9|355=x|".into(), Some(Malformed::Data)),
        ("268=1|279=0|354=1|58=x|".into(), Some(Malformed::Data)),
        ("268=1|279=0|354=1|".into(), Some(Malformed::Data)),
        ("354=1|".into(), Some(Malformed::Data)),
    ] {
        assert_eq!(wrong(&body), error, "{body}");
    }
    let bytes = message("W", &format!("{HEAD}55=a|269=0|270=1|"));
    assert_eq!(refresh(&whole(&bytes)).err(), Some(Malformed::Group));
}

/// Each field of the header has one value; a second one is refused in any place.
#[test]
fn repeated_header_fields_are_refused() {
    let body = "55=X|354=4|355=34=9|58=y|";
    let good = message("D", &format!("{HEAD}{body}"));
    let header = header_of(&whole(&good)).unwrap();
    assert_eq!(header.msg_seq_num, Some(7));
    assert_eq!(
        (header.sender_comp_id, header.target_comp_id),
        (&b"A"[..], &b"B"[..])
    );
    assert_eq!(
        header.sending_time_ns,
        timestamp(b"20240102-03:04:05.678").ok()
    );
    let optional = [
        "50=a",
        "57=a",
        "142=a",
        "143=a",
        "115=a",
        "116=a",
        "144=a",
        "128=a",
        "129=a",
        "145=a",
        "43=Y",
        "97=N",
        "122=20240102-03:04:05",
        "347=a",
        "369=1",
        "627=1",
    ];
    let again = [
        "49=C",
        "56=C",
        "34=8",
        "52=20240102-03:04:06",
        "8=FIX.4.2",
        "9=10",
        "35=D",
    ];
    for field in optional.into_iter().chain(again) {
        let tag = field.split('=').next().unwrap();
        let once = optional.contains(&field);
        let twice = message(
            "D",
            &format!(
                "{HEAD}{field}|{}{body}",
                if once {
                    format!("{field}|")
                } else {
                    String::new()
                }
            ),
        );
        let reject = header_of(&whole(&twice)).unwrap_err();
        assert_eq!(
            (reject.reason, reject.tag),
            (
                Reason::TagAppearsMoreThanOnce,
                RefTag::Number(tag.parse().unwrap())
            ),
            "{field}"
        );
        for place in ["", "55=X|", body] {
            let behind = message("D", &format!("{HEAD}{place}58=z|{field}|"));
            let reject = header_of(&whole(&behind)).unwrap_err();
            assert_eq!(reject.reason, Reason::TagOutOfOrder, "{place}{field}");
        }
    }
    for (field, reason) in [
        ("43=X", Reason::IncorrectDataFormat),
        ("122=now", Reason::IncorrectDataFormat),
        // Data behind a length is passed over with it, and is there all the same.
        ("90=1|91=x|91=y", Reason::TagAppearsMoreThanOnce),
        ("212=1|213=x|213=y", Reason::TagAppearsMoreThanOnce),
        ("91=y|90=1|91=x", Reason::TagAppearsMoreThanOnce),
        // A second checksum, before the verified one.
        ("10=000", Reason::TagAppearsMoreThanOnce),
        ("55=X|10=000", Reason::TagOutOfOrder),
        ("50=", Reason::TagWithoutValue),
        ("x=1", Reason::InvalidTagNumber),
    ] {
        let bytes = message("D", &format!("{HEAD}{field}|{body}"));
        assert_eq!(
            header_of(&whole(&bytes)).unwrap_err().reason,
            reason,
            "{field}"
        );
    }
    let all = message(
        "D",
        &format!(
            "{HEAD}{}|627=2|628=a|630=1|628=b|{body}",
            optional[..15].join("|")
        ),
    );
    let header = header_of(&whole(&all)).unwrap();
    assert!(header.poss_dup && !header.poss_resend && header.orig_sending_time_ns.is_some());
    // A time that is none: the report of a bank that writes it here is used.
    for (time, expected) in [("00010101-00:00:00", Some(0)), ("20261301-00:00:00", None)] {
        let bytes = message("D", &format!("{HEAD}43=Y|122={time}|{body}"));
        let read = header_of(&whole(&bytes)).ok();
        let read = read.and_then(|header| header.orig_sending_time_ns);
        assert_eq!(read, expected, "{time}");
    }
}

#[test]
fn mass_quotes_are_typed() {
    let body = format!(
        "{HEAD}117=q|296=2|302=1|311=u|295=2|299=0|106=1|134=1000000|135=50.5|188=1.51218|190=1.51223|299=1|132=1|302=2|55=S|295=1|299=5|55=T|133=2|9000=x|"
    );
    let bytes = message("i", &body);
    let message_ = whole(&bytes);
    let header = header_of(&message_).unwrap();
    let quote = MassQuote::read(&message_, &header).unwrap();
    assert_eq!(
        (quote.quote_id, quote.sets, header.msg_seq_num),
        (&b"q"[..], 2, Some(7))
    );
    let quotes: Vec<_> = quote.quotes().map(Result::unwrap).collect();
    let seen: Vec<_> = quotes
        .iter()
        .map(|q| (q.set, q.id, q.symbol, q.bid, q.offer, q.bid_size))
        .collect();
    let decimal = |mantissa, decimals| Some(Decimal { mantissa, decimals });
    assert_eq!(
        seen,
        [
            (
                &b"1"[..],
                &b"0"[..],
                &b""[..],
                decimal(151_218, 5),
                decimal(151_223, 5),
                decimal(1_000_000, 0)
            ),
            (b"1", b"1", b"", decimal(1, 0), None, None),
            (b"2", b"5", b"T", None, decimal(2, 0), None),
        ]
    );
    let texts = quotes.iter().map(|quote| {
        let text = String::from_utf8_lossy(quote.bytes);
        text.replace('\u{1}', "|")
    });
    assert_eq!(
        texts.collect::<Vec<_>>(),
        [
            "299=0|106=1|134=1000000|135=50.5|188=1.51218|190=1.51223|",
            "299=1|132=1|",
            "299=5|55=T|133=2|9000=x|",
        ]
    );
    for (body, error) in [
        ("117=q|", Malformed::Group),
        ("296=1|", Malformed::Group),
        ("296=1|302=1|295=2|299=0|", Malformed::Group),
        ("296=1|302=1|295=1|299=0|299=1|", Malformed::Group),
        (
            "296=1|302=1|295=1|299=0|302=2|295=1|299=1|",
            Malformed::Group,
        ),
        ("296=2|302=1|295=1|299=0|", Malformed::Group),
        ("296=1|302=1|295=1|299=0|188=1|188=2|", Malformed::Repeated),
        ("296=1|302=1|55=A|55=B|295=1|299=0|", Malformed::Repeated),
        ("296=1|302=1|295=1|299=0|10=000|", Malformed::Header),
        ("296=1|302=1|295=1|299=0|188=x|", Malformed::Number),
        ("296=1|302=1|295=1|299=0|49=x|", Malformed::Header),
    ] {
        let bytes = message("i", &format!("{HEAD}{body}"));
        let message = whole(&bytes);
        let header = before_body(&message).unwrap();
        let read = MassQuote::read(&message, &header);
        let found = read.map(|quote| quote.quotes().find_map(Result::err));
        assert_eq!(found.unwrap_or_else(Some), Some(error), "{body}");
    }
}
