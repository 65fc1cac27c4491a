//! Messages against the dictionary of FIX 4.4: the rejected ones, each with its reason.

use crate::fix::message;
use touchline_wire::fix::{
    FIX44, Frame, Options, RefTag, SessionRejectReason as Reason, frame, validate,
};

const HEAD: &str = "49=A|56=B|34=2|52=20240102-03:04:05|";
const ORDER: &str = "11=id|21=1|40=1|54=1|38=200|55=INTC|60=20240102-03:04:05|";

/// The result for a message of this type with these fields, separated by `|`.
fn judge(msg_type: &str, fields: &str, options: &Options) -> Option<(Reason, String)> {
    let bytes = message(msg_type, fields);
    let Ok(Frame::Whole(message)) = frame(&bytes, 4096) else {
        panic!("{fields}: {:?}", frame(&bytes, 4096));
    };
    let reject = validate(&message, &FIX44, options).err()?;
    let tag = match reject.tag {
        RefTag::Number(tag) => tag.to_string(),
        RefTag::Written(text) => String::from_utf8_lossy(text).into_owned(),
    };
    Some((reject.reason, tag))
}

fn strict(msg_type: &str, fields: &str) -> Option<(Reason, String)> {
    judge(msg_type, fields, &Options::default())
}

#[track_caller]
fn rejected(msg_type: &str, fields: &str, reason: Reason, tag: &str) {
    let said = strict(msg_type, fields);
    assert_eq!(said, Some((reason, tag.to_owned())), "{msg_type} {fields}");
}

#[test]
fn valid_messages_are_accepted() {
    for (msg_type, body) in [
        ("0", ""),
        ("A", "98=0|108=30|"),
        ("D", ORDER),
        // Fields of the body in another order.
        (
            "D",
            "40=1|55=MSFT|60=20240102-03:04:05.123456789|54=1|21=3|11=id|",
        ),
        // A group, and one with no entries.
        ("D", &format!("{ORDER}386=2|336=A|625=x|336=B|")),
        (
            "d",
            "320=r|322=x|323=6|55=TBS|167=CS|336=MAIN|58=none|454=0|",
        ),
        // A group inside of a group, and a field of the body behind both.
        (
            "D",
            &format!(
                "{ORDER}453=2|448=a|447=D|452=1|802=2|523=p|803=1|523=q|803=2|448=b|447=D|452=2|58=end|"
            ),
        ),
        // Data that looks like fields, by its length.
        ("0", ""),
        ("D", &format!("{ORDER}354=10|355=a|10=999|b|")),
        // Several values of a list in one field.
        ("D", &format!("{ORDER}18=1 2 G|")),
    ] {
        assert_eq!(
            strict(msg_type, &format!("{HEAD}{body}")),
            None,
            "{msg_type} {body}"
        );
    }
    let other = "56=B|52=20240102-03:04:05|34=7|49=A|";
    assert_eq!(strict("0", other), None);
    assert_eq!(
        strict(
            "0",
            &format!("{HEAD}627=1|628=hop|629=20240102-03:04:05|630=5|112=x|")
        ),
        None
    );
}

#[test]
fn each_reject_reason_has_a_case() {
    for tag in [
        "999",
        "5000",
        "0",
        "-1",
        "a",
        "055",
        "",
        "1234567890",
        "4294967351",
    ] {
        rejected(
            "0",
            &format!("{HEAD}{tag}=HI|"),
            Reason::InvalidTagNumber,
            tag,
        );
    }
    rejected(
        "0",
        "49=A|34=2|52=20240102-03:04:05|",
        Reason::RequiredTagMissing,
        "56",
    );
    let order = ORDER.replace("11=id|", "");
    rejected(
        "D",
        &format!("{HEAD}{order}"),
        Reason::RequiredTagMissing,
        "11",
    );
    rejected(
        "V",
        &format!("{HEAD}262=r|263=0|264=0|267=1|269=0|146=1|55=X|268=1|"),
        Reason::TagNotDefinedForMessage,
        "268",
    );
    rejected(
        "0",
        &format!("{HEAD}55=MSFT|"),
        Reason::TagNotDefinedForMessage,
        "55",
    );
    rejected(
        "0",
        "49=A|56=|34=2|52=20240102-03:04:05|",
        Reason::TagWithoutValue,
        "56",
    );
    rejected("0", &format!("{HEAD}112|"), Reason::TagWithoutValue, "112");
    rejected(
        "D",
        &format!("{HEAD}{}", ORDER.replace("21=1", "21=4")),
        Reason::ValueIncorrect,
        "21",
    );
    rejected(
        "D",
        &format!("{HEAD}{ORDER}167=BOO|"),
        Reason::ValueIncorrect,
        "167",
    );
    rejected(
        "D",
        &format!("{HEAD}{ORDER}18=1 ? G|"),
        Reason::ValueIncorrect,
        "18",
    );
    rejected("*", HEAD, Reason::InvalidMsgType, "35");
    rejected("DD", HEAD, Reason::InvalidMsgType, "35");
    rejected(
        "D",
        &format!("{HEAD}{ORDER}40=2|"),
        Reason::TagAppearsMoreThanOnce,
        "40",
    );
    rejected(
        "0",
        &format!("{HEAD}34=2|"),
        Reason::TagAppearsMoreThanOnce,
        "34",
    );
    for tag in ["8=FIX.4.4", "9=5", "35=D", "10=000"] {
        let name = &tag[..tag.find('=').unwrap()];
        rejected(
            "0",
            &format!("{HEAD}{tag}|"),
            Reason::TagAppearsMoreThanOnce,
            name,
        );
    }
    rejected("D", &format!("{ORDER}{HEAD}"), Reason::TagOutOfOrder, "49");
    rejected("D", &format!("55=MSFT|{HEAD}"), Reason::TagOutOfOrder, "49");
    rejected(
        "0",
        &format!("{HEAD}112=x|50=sub|"),
        Reason::TagOutOfOrder,
        "50",
    );
    rejected(
        "0",
        &format!("{HEAD}93=1|89=s|112=x|"),
        Reason::TagOutOfOrder,
        "112",
    );
    rejected(
        "D",
        &format!("{HEAD}{ORDER}386=1|625=x|336=A|"),
        Reason::GroupFieldsOutOfOrder,
        "625",
    );
    for count in ["1", "3", "0", "99999999999999999999"] {
        let body = format!("{HEAD}{ORDER}386={count}|336=A|336=B|58=x|");
        rejected("D", &body, Reason::IncorrectGroupCount, "386");
    }
    rejected(
        "D",
        &format!("{HEAD}{ORDER}386=1|"),
        Reason::IncorrectGroupCount,
        "386",
    );
    rejected(
        "D",
        &format!("{HEAD}{ORDER}386=1|336=A|625=x|625=y|"),
        Reason::TagAppearsMoreThanOnce,
        "625",
    );
}

#[test]
fn each_type_of_value_has_its_form() {
    for (field, wrong) in [
        ("60", "99991301-00:00:00"),
        ("60", "00000000-24:00:00"),
        ("38", "+200.00"),
        ("38", "1e5"),
        ("38", "."),
        ("38", "-"),
        ("38", "1.2.3"),
        ("38", "1 "),
        ("54", "12"),
        ("60", "20240102"),
        ("60", "20240230-00:00:00"),
        ("60", "20240102-24:00:00"),
        ("114", "y"),
        ("386", "x"),
        ("386", "-1"),
        ("541", "2024010"),
        ("541", "20240132"),
        ("200", "202413"),
        ("200", "202401w6"),
        ("203", "0x"),
        ("203", ""),
    ] {
        let body = format!(
            "{HEAD}{}{field}={wrong}|",
            ORDER.replace(&format!("{field}="), "999=")
        );
        let body = body
            .split('|')
            .filter(|field| !field.starts_with("999="))
            .collect::<Vec<_>>()
            .join("|");
        let reason = if wrong.is_empty() {
            Reason::TagWithoutValue
        } else {
            Reason::IncorrectDataFormat
        };
        rejected("D", &body, reason, field);
    }
    for right in [
        "38=200.",
        "200=202401",
        "200=202401w5",
        "200=20240131",
        "541=20240229",
        "60=99991231-23:59:59",
        "168=00010101-00:00:00.000",
        "126=00000000-00:00:00",
        "38=.5",
        "203=0",
    ] {
        let tag = &right[..right.find('=').unwrap() + 1];
        let order: String = ORDER
            .split_inclusive('|')
            .filter(|field| !field.starts_with(tag))
            .collect();
        assert_eq!(
            strict("D", &format!("{HEAD}{order}{right}|")),
            None,
            "{right}"
        );
    }
    // A length that does not lead to a separator, one without data, an invalid one.
    for (data, tag) in [
        ("354=7|355=a|10=999|b|", "355"),
        ("354=3|58=abc|", "58"),
        ("354=3|", "354"),
        ("354=x|355=a|", "354"),
    ] {
        rejected(
            "D",
            &format!("{HEAD}{ORDER}{data}"),
            Reason::IncorrectDataFormat,
            tag,
        );
    }
}

#[test]
fn configured_tolerances_accept_those_faults_only() {
    let own = Options {
        user_defined: true,
        ..Options::default()
    };
    assert_eq!(judge("0", &format!("{HEAD}5000=x|100009=y|"), &own), None);
    let twice = judge("0", &format!("{HEAD}5000=x|5000=x|"), &own);
    assert_eq!(twice, Some((Reason::TagAppearsMoreThanOnce, "5000".into())));
    let low = judge("0", &format!("{HEAD}4999=x|"), &own);
    assert_eq!(low, Some((Reason::InvalidTagNumber, "4999".into())));
    let many: String = (0..70).map(|tag| format!("{}=x|", 6000 + tag)).collect();
    let said = judge("0", &format!("{HEAD}{many}"), &own);
    assert_eq!(said, Some((Reason::UndefinedTag, "6064".into())));
    // A venue's own fields inside of entries, as often as there are entries.
    let entries = "268=2|279=0|269=0|270=1|7001=a|279=0|269=1|270=2|7001=b|";
    assert_eq!(judge("X", &format!("{HEAD}{entries}"), &own), None);
    rejected(
        "X",
        &format!("{HEAD}{entries}"),
        Reason::IncorrectGroupCount,
        "268",
    );

    let unknown = Options {
        unknown: true,
        ..own
    };
    let group = "1907=2|1903=A|1906=0|1903=B|1906=5|";
    let fields = format!("{HEAD}999=x|55=y|{group}{many}");
    assert_eq!(judge("0", &fields, &unknown), None);
    let twice = judge("0", &format!("{HEAD}112=x|112=x|"), &unknown);
    assert_eq!(twice, Some((Reason::TagAppearsMoreThanOnce, "112".into())));
    let any_order = Options {
        any_order: true,
        ..Options::default()
    };
    assert_eq!(judge("D", &format!("{ORDER}{HEAD}"), &any_order), None);
    let double = judge("D", &format!("{ORDER}{HEAD}49=C|"), &any_order);
    assert_eq!(double, Some((Reason::TagAppearsMoreThanOnce, "49".into())));
    let any_value = Options {
        any_value: true,
        ..Options::default()
    };
    assert_eq!(
        judge("D", &format!("{HEAD}{ORDER}167=BOO|"), &any_value),
        None
    );
    let any_missing = Options {
        any_missing: true,
        ..Options::default()
    };
    assert_eq!(judge("D", HEAD, &any_missing), None);
    let strict_groups = Options {
        strict_groups: true,
        ..Options::default()
    };
    let mixed = format!("{HEAD}268=1|279=0|270=1|269=0|");
    assert_eq!(strict("X", &mixed), None);
    assert_eq!(
        judge("X", &mixed, &strict_groups),
        Some((Reason::GroupFieldsOutOfOrder, "269".into()))
    );
}

/// A tag without an equals sign is not a data field.
#[test]
fn data_without_an_equals_sign_is_not_data() {
    let body = format!("{HEAD}{ORDER}354=7|355|79=0|5|58=x|");
    rejected("D", &body, Reason::TagWithoutValue, "355");
}

/// Fields behind a bad one can be walked, so that a session can answer with the message's number.
#[test]
fn fields_behind_an_invalid_one_are_readable() {
    for bad in ["0=x", "-1=x", "a=x", "=x", "55=", "55", "1234567890=x"] {
        let bytes = message("0", &format!("49=A|{bad}|34=7|"));
        let Ok(Frame::Whole(message)) = frame(&bytes, 4096) else {
            panic!("{bad}");
        };
        let tags: Vec<Option<u32>> = message
            .fields()
            .map(|field| field.ok().map(|field| field.tag))
            .collect();
        assert_eq!(tags, [Some(49), None, Some(34)], "{bad}");
        let written = message.fields().find_map(Result::err).unwrap().tag;
        let expected = bad.split('=').next().unwrap();
        assert_eq!(written, expected.as_bytes(), "{bad}");
    }
}
