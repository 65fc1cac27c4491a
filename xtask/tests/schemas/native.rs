//! The native format as the compiler has it against `schemas/touchline.xml`: names, places, types, numbers.

use touchline_types::native::layout::{Field, Kind, MESSAGES};
use touchline_types::native::{Flags, SCHEMA_ID, SCHEMA_VERSION, code};
use touchline_types::{
    LevelAction, OptionRight, OrderAction, Phase, QuoteAction, SecurityType, Side, StatisticKind,
    TouchSource, UpdateAction, Validity,
};
use xtask::codegen::merge::merge;
use xtask::codegen::read;
use xtask::codegen::schema::{self, Body, ByteOrder, Encoding, Primitive, Schema};

fn schema() -> Schema {
    read::from_file(&xtask::root().join("schemas/touchline.xml")).unwrap()
}

#[test]
fn the_schema_is_the_one_that_is_written() {
    let schema = schema();
    assert_eq!((schema.id, schema.version), (SCHEMA_ID, SCHEMA_VERSION));
    assert_eq!(schema.byte_order, ByteOrder::Little);
    let members = schema.header.members.iter();
    let header: Vec<_> = members.map(|m| (m.name.as_str(), m.offset)).collect();
    let expected = ["blockLength", "templateId", "schemaId", "version"];
    assert_eq!(
        header,
        expected.into_iter().zip([0, 2, 4, 6]).collect::<Vec<_>>()
    );
    assert_eq!(schema.header.size, 8);
}

/// Every message, block, group and field, in order; nothing more on either side.
#[test]
fn every_byte_is_where_the_schema_says() {
    assert_eq!(differences(&schema()), Vec::<String>::new());
}

/// The comparison detects changes: each of these must be noticed, at its place.
#[test]
fn a_changed_schema_is_detected() {
    let text = std::fs::read_to_string(xtask::root().join("schemas/touchline.xml")).unwrap();
    let field = r#"<field name="bidPrice" id="40" type="Price" offset="30"/>"#;
    let deep = r#"<field name="deepIndex" id="67" type="DeepIndex" offset="24" sinceVersion="1"/>"#;
    let unversioned = deep.replace(" sinceVersion=\"1\"", "");
    let changes = [
        (deep, unversioned.as_str(), "BookUpdate"),
        ("name=\"Gap\" id=\"2\"", "name=\"Gap\" id=\"9\"", "Gap"),
        ("name=\"Gap\" id=\"2\"", "name=\"Hole\" id=\"2\"", "Gap"),
        (
            "id=\"2\" blockLength=\"97\"",
            "id=\"2\" blockLength=\"98\"",
            "Gap",
        ),
        (field, &field.replace("bidPrice", "bid"), "TopOfBook"),
        (field, "", "TopOfBook"),
        (
            "type=\"Side\" offset=\"32\"/>",
            "type=\"Side\" offset=\"33\"/>",
            "OrdersSnapshot",
        ),
        (
            "<group name=\"asks\"",
            "<group name=\"offers\"",
            "BookSnapshot",
        ),
        (
            "name=\"Priority\" primitiveType=\"uint64\"",
            "name=\"Priority\" primitiveType=\"int64\"",
            "OrdersSnapshot",
        ),
        (
            "name=\"Exponent\" primitiveType=\"int8\"",
            "name=\"Exponent\" primitiveType=\"uint8\"",
            "InstrumentDefinition",
        ),
        (
            "primitiveType=\"char\" length=\"6\"",
            "primitiveType=\"char\" length=\"5\"",
            "TradingStatus",
        ),
    ];
    for (old, new, place) in changes {
        assert!(text.contains(old), "the schema has no {old}");
        let changed = read::from_texts(&[text.replacen(old, new, 1)]).unwrap();
        let found = differences(&changed);
        assert!(
            found.iter().any(|text| text.starts_with(place)),
            "{new}: {found:?}"
        );
    }
}

fn differences(schema: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    for (at, ours) in MESSAGES.iter().enumerate() {
        let mut differs = |what: String| found.push(format!("{}: {what}", ours.name));
        let Some(message) = schema.messages.get(at) else {
            differs("is not in the schema".to_owned());
            continue;
        };
        if (message.name.as_str(), message.id) != (ours.name, ours.template_id) {
            differs(format!(
                "is {} ({}) in the schema",
                message.name, message.id
            ));
        }
        let lengths = (ours.block_length, ours.base_length);
        compare(&message.body, lengths, ours.fields, &mut differs);
        let groups: Vec<&str> = message
            .body
            .groups
            .iter()
            .map(|g| g.name.as_str())
            .collect();
        if groups
            != ours
                .groups
                .iter()
                .map(|group| group.name)
                .collect::<Vec<_>>()
        {
            differs(format!("has the groups {groups:?} in the schema"));
            continue;
        }
        for (group, ours) in message.body.groups.iter().zip(ours.groups) {
            let lengths = (ours.block_length, ours.base_length);
            compare(&group.body, lengths, ours.fields, &mut differs);
            if group.dimension.name != "groupSizeEncoding" || group.dimension.size != 4 {
                differs(format!("{} has another dimension", group.name));
            }
        }
    }
    if schema.messages.len() != MESSAGES.len() {
        found.push(format!("the schema has {} messages", schema.messages.len()));
    }
    found
}

/// Compares a block of the schema with our block, in the current layout and in that of version 0.
fn compare(
    body: &Body,
    (block_length, base_length): (usize, usize),
    fields: &[Field],
    differs: &mut impl FnMut(String),
) {
    let mut ours = Vec::new();
    flatten(fields, 0, &mut ours);
    let theirs: Vec<_> = body.fields.iter().map(described).collect();
    for pair in ours.iter().zip(&theirs).filter(|(our, their)| our != their) {
        differs(format!("{pair:?}"));
    }
    let added = body.fields.iter().find(|field| field.since > 0);
    let base = added.map_or(usize::from(body.block_length), |field| field.offset);
    let lengths = (usize::from(body.block_length), base, theirs.len());
    if lengths != (block_length, base_length, ours.len()) {
        differs(format!(
            "(length, that of version 0, fields) of a block is {lengths:?} in the schema"
        ));
    }
}

/// Name, place, type.
type Described = (String, usize, String);

fn flatten(fields: &[Field], start: usize, out: &mut Vec<Described>) {
    for field in fields {
        let offset = start + field.offset;
        let kind = match field.kind {
            Kind::Number(name) => name.to_owned(),
            Kind::Text(length) => format!("char[{length}]"),
            Kind::Fields(fields) => {
                flatten(fields, offset, out);
                continue;
            }
            Kind::Reserved => continue,
        };
        out.push((camel_case(field.name), offset, kind));
    }
}

fn described(field: &schema::Field) -> Described {
    let kind = match &field.encoding {
        Encoding::Number(number) => type_name(number.primitive),
        Encoding::Array(number, length) => format!("{}[{length}]", type_name(number.primitive)),
        Encoding::Enum(choices) => type_name(choices.encoding.primitive),
        Encoding::Set(set) => type_name(set.encoding),
        Encoding::Composite(composite) => match composite.exponent() {
            Some((mantissa, -9)) => type_name(mantissa.primitive),
            _ => format!("composite {}", composite.name),
        },
        Encoding::Constant(_) => "constant".to_owned(),
    };
    (field.name.clone(), field.offset, kind)
}

/// As a schema writes it.
fn type_name(primitive: Primitive) -> String {
    let name = match primitive {
        Primitive::Char => "char",
        Primitive::I8 => "int8",
        Primitive::I16 => "int16",
        Primitive::I32 => "int32",
        Primitive::I64 => "int64",
        Primitive::U8 => "uint8",
        Primitive::U16 => "uint16",
        Primitive::U32 => "uint32",
        Primitive::U64 => "uint64",
        Primitive::F32 => "float",
        Primitive::F64 => "double",
    };
    name.to_owned()
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        camel += &first.to_uppercase();
        camel += rest;
    }
    camel
}

/// Every number of an enum has the schema's meaning here, and no other number has a meaning.
#[test]
fn enums_have_the_names_and_numbers_of_the_schema() {
    type Named = fn(u8) -> Option<String>;
    let enums: [(&str, &str, Named); 10] = [
        ("InstrumentState", "validity", |n| {
            Validity::from_code(n).map(name)
        }),
        ("Download", "phase", |n| Phase::from_code(n).map(name)),
        ("Trade", "aggressor", |n| Side::from_code(n).map(name)),
        ("Trade", "action", |n| UpdateAction::from_code(n).map(name)),
        ("BookUpdate", "changes.action", |n| {
            LevelAction::from_code(n).map(name)
        }),
        ("OrderUpdate", "changes.action", |n| {
            OrderAction::from_code(n).map(name)
        }),
        ("InstrumentDefinition", "optionRight", |n| {
            OptionRight::from_code(n).map(name)
        }),
        ("QuoteUpdate", "changes.action", |n| {
            QuoteAction::from_code(n).map(name)
        }),
        ("TopOfBook", "bidBook", |n| {
            TouchSource::from_code(n).map(name)
        }),
        ("BookUpdate", "bidState", |n| match n {
            code::LEVEL_ABSENT => Some("Absent".to_owned()),
            code::LEVEL_KNOWN => Some("Known".to_owned()),
            code::LEVEL_UNKNOWN => Some("Unknown".to_owned()),
            _ => None,
        }),
    ];
    let schema = schema();
    for (message, path, ours) in enums {
        let Encoding::Enum(choices) = encoding(&schema, message, path) else {
            panic!("{message} {path} is no enum");
        };
        let theirs = |number| {
            let choice = choices
                .values
                .iter()
                .find(|(_, value)| *value == i128::from(number));
            choice.map(|(name, _)| name.clone())
        };
        for number in 0..=u8::MAX {
            assert_eq!(ours(number), theirs(number), "{}, {number}", choices.name);
        }
    }
}

/// These enums read an unknown value as another case: an older reader accepts the values of a newer writer.
#[test]
fn enums_that_may_grow_read_the_unknown_as_other() {
    type Named = fn(u8) -> String;
    let enums: [(&str, &str, usize, Named); 2] = [
        ("Statistics", "kind", 15, |n| {
            name(StatisticKind::from_code(n).unwrap_or(StatisticKind::Other))
        }),
        ("InstrumentDefinition", "securityType", 11, |n| {
            name(SecurityType::from_code(n).unwrap_or(SecurityType::Other))
        }),
    ];
    let schema = schema();
    for (message, path, count, ours) in enums {
        let Encoding::Enum(choices) = encoding(&schema, message, path) else {
            panic!("{message} {path} is no enum");
        };
        assert_eq!(choices.values.len(), count, "{}", choices.name);
        for (theirs, number) in &choices.values {
            assert_eq!(*theirs, ours(*number as u8));
        }
        for number in count as u8..u8::MAX {
            assert_eq!(ours(number), "Other", "{}, {number}", choices.name);
        }
    }
}

/// A reader of the version before finds everything where it was.
#[test]
fn this_version_only_adds_to_the_one_before() {
    let before = xtask::root().join("schemas/history/touchline-2.xml");
    let before = read::from_file(&before).unwrap();
    assert_eq!(before.version + 1, SCHEMA_VERSION);
    let merged = merge(vec![before, schema()]).expect("append-only");
    assert_eq!(merged.version, SCHEMA_VERSION);
}

fn name(value: impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

#[test]
fn bits_have_the_names_and_places_of_the_schema() {
    let schema = schema();
    let choices = |message, path| match encoding(&schema, message, path) {
        Encoding::Set(set) => set.choices.clone(),
        _ => panic!("{message} {path} is no set"),
    };
    let bits = |ours: &[(&str, u8)]| -> Vec<(String, u8)> {
        let bit = |mask: u8| mask.trailing_zeros() as u8;
        ours.iter()
            .map(|(name, mask)| ((*name).to_owned(), bit(*mask)))
            .collect()
    };
    let flags = [
        ("endOfBatch", Flags::END_OF_BATCH.0),
        ("continued", Flags::CONTINUED.0),
        ("more", Flags::MORE.0),
        ("direct", Flags::DIRECT.0),
        ("cut", Flags::CUT.0),
        ("stampedByCard", Flags::STAMPED_BY_CARD.0),
        ("stampedByKernel", Flags::STAMPED_BY_KERNEL.0),
    ];
    assert_eq!(choices("Reset", "flags"), bits(&flags));
    let levels = [("implied", code::IMPLIED), ("unknown", code::UNKNOWN)];
    assert_eq!(choices("BookUpdate", "changes.levelFlags"), bits(&levels));
    let quotes = [
        ("indicative", code::INDICATIVE),
        ("fullAmount", code::FULL_AMOUNT),
    ];
    assert_eq!(choices("QuoteUpdate", "changes.quoteFlags"), bits(&quotes));
    let streams = [("unquoted", code::UNQUOTED)];
    assert_eq!(choices("QuoteUpdate", "streamFlags"), bits(&streams));
}

/// The values that stand for null.
#[test]
fn nulls_are_those_of_the_schema() {
    let schema = schema();
    let of = |message, path| match encoding(&schema, message, path) {
        Encoding::Number(number) => number.null,
        Encoding::Composite(composite) => composite.exponent().and_then(|(n, _)| n.null),
        other => panic!("{path} is {other:?}"),
    };
    let null = |path| of("Trade", path);
    let largest = Some(i64::MAX.into());
    for path in ["multiplier", "lot", "strike", "highLimit", "underlying"] {
        assert_eq!(of("InstrumentDefinition", path), largest, "{path}");
    }
    for path in ["displayNumerator", "displayDenominator", "maturity"] {
        assert_eq!(of("InstrumentDefinition", path), Some(0), "{path}");
    }
    assert_eq!(of("QuoteUpdate", "changes.tier"), Some(u16::MAX.into()));
    assert_eq!(null("price"), Some(touchline_types::Price::NULL.0.into()));
    assert_eq!(
        null("quantity"),
        Some(touchline_types::Quantity::NULL.0.into())
    );
    assert_eq!(null("orders"), Some(-1));
    assert_eq!(null("instrument"), Some(u32::MAX.into()));
    assert_eq!(
        code::NULL,
        u8::MAX,
        "the null that SBE gives every enum of a byte"
    );
}

/// The encoding of a field, `group.field` inside a group.
fn encoding<'a>(schema: &'a Schema, message: &str, path: &str) -> &'a Encoding {
    let mut messages = schema.messages.iter();
    let message = messages
        .find(|m| m.name == message)
        .expect("the message is there");
    let (fields, name) = match path.split_once('.') {
        Some((group, name)) => {
            let mut groups = message.body.groups.iter();
            let group = groups
                .find(|g| g.name == group)
                .expect("the group is there");
            (&group.body.fields, name)
        }
        None => (&message.body.fields, path),
    };
    let field = fields.iter().find(|field| field.name == name);
    &field.expect("the field is there").encoding
}
