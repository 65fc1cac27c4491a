//! The oracle against messages that others encoded, and whose values they state.

use crate::codegen::oracle::{Item, Value, decode};
use std::fs;
use touchline_testing::{captures, schemas};
use xtask::codegen::read::{from_file, from_texts};

/// The first example message of the SBE 1.0 standard, chapter 7, behind six bytes of framing. The schema is ours, from
/// the table of fields there.
#[test]
fn the_order_of_the_standard() {
    let Some(captures) = captures("examples of the SBE standard") else {
        return;
    };
    let chapter =
        fs::read_to_string(captures.join("conformance/fix-sbe-spec/v1-0-STANDARD-07Examples.md"))
            .expect("the chapter");
    let schemas: Vec<&str> = chapter
        .split("```")
        .filter(|part| part.starts_with("xml"))
        .map(|part| &part[3..])
        .collect();
    let dumps: Vec<Vec<u8>> = chapter.split("```").filter_map(hex_dump).collect();
    assert_eq!(dumps.iter().map(Vec::len).collect::<Vec<_>>(), [68, 84, 64]);

    let order =
        from_texts(&[schemas[0].trim().to_owned()]).expect("the schema of the first example");
    let (items, left) = decode(&order, &dumps[0][6..]).expect("the first example decodes");
    assert_eq!(left, 0);
    assert_eq!(
        items,
        [
            field("ClOrdID", text("ORD00001")),
            field("Account", text("ACCT01")),
            field("Symbol", text("GEM4")),
            field(
                "Side",
                Value::Enum(i128::from(b'1'), Some("Buy".to_owned()))
            ),
            field("TransactTime", Value::Integer(0x1529_6513_3bb3_1680)),
            field("OrderQty", Value::Decimal(7, 0)),
            field(
                "OrdType",
                Value::Enum(i128::from(b'2'), Some("Limit".to_owned()))
            ),
            field("Price", Value::Decimal(99_610, -3)),
            field("StopPx", Value::Null),
        ]
    );
}

/// The two messages that the conformance suite of the FIX Trading Community injects, with the values of its test plan.
#[test]
fn conformance_messages_have_the_planned_values() {
    let Some(captures) = captures("SBE conformance messages") else {
        return;
    };
    let folder = captures.join("conformance/fix-sbe-conformance");
    for number in [1, 2] {
        let schema = from_file(&folder.join(format!("schema{number}.xml"))).expect("the schema");
        let plan = fs::read_to_string(folder.join(format!("test{number}.json"))).expect("the plan");
        let plan: serde_json::Value = serde_json::from_str(&plan).expect("the plan is JSON");
        for section in ["inject", "respond"] {
            let planned = &plan[section]["messages"][0];
            let bytes =
                fs::read(folder.join(format!("test{number}{section}.sbe"))).expect("the message");
            let (items, left) = decode(&schema, &bytes).expect("the message decodes");
            assert_eq!(left, 0);
            let message = schema
                .messages
                .iter()
                .find(|message| planned["template"] == message.id)
                .expect("its template");
            let mut compared = 0;
            for field in &message.body.fields {
                let planned = &planned[field.tag.to_string()];
                let found = items.iter().find_map(|item| match item {
                    Item::Field(name, value) if *name == field.name => Some(value),
                    _ => None,
                });
                let Some(found) = found else { continue };
                compared += usize::from(agree(planned, found, &field.name));
            }
            assert!(
                compared >= 5,
                "test {number} {section}: only {compared} values were compared"
            );
        }
    }
}

/// Whether a plan's value could be compared; it then agrees.
fn agree(planned: &serde_json::Value, found: &Value, name: &str) -> bool {
    use serde_json::Value as Json;
    match (planned, found) {
        (Json::Null, Value::Null) => {}
        (Json::String(text), Value::Text(bytes)) => assert_eq!(text.as_bytes(), bytes, "{name}"),
        (Json::String(text), Value::Enum(raw, _)) => {
            assert_eq!(i128::from(text.as_bytes()[0]), *raw, "{name}")
        }
        (Json::Number(number), Value::Integer(raw)) => {
            assert_eq!(number.as_i64().map(i128::from), Some(*raw), "{name}")
        }
        (Json::Number(number), Value::Decimal(mantissa, exponent)) => {
            let value = *mantissa as f64 * 10f64.powi(i32::from(*exponent));
            assert!(
                (value - number.as_f64().expect("a number")).abs() < 1e-9,
                "{name}"
            );
        }
        // `true` echoes another message; the rest is not stated.
        _ => return false,
    }
    true
}

/// Real Logic's example: nested groups, data in groups, composites in composites, arrays, floats.
#[test]
fn the_car_of_the_reference_implementation() {
    let (Some(captures), Some(schemas)) = (captures("the car example"), schemas("the car example"))
    else {
        return;
    };
    let schema = from_file(&schemas.join("sbe/car_example-schema.xml")).expect("the schema");
    let bytes =
        fs::read(captures.join("sbe-golden/car_example_baseline_data.sbe")).expect("the message");
    let (items, left) = decode(&schema, &bytes).expect("the message decodes");
    assert_eq!(left, 0);
    for expected in [
        field("serialNumber", Value::Integer(1234)),
        field("modelYear", Value::Integer(2013)),
        field("available", Value::Enum(1, Some("T".to_owned()))),
        field("code", Value::Enum(i128::from(b'A'), Some("A".to_owned()))),
        field("vehicleCode", text("abcdef")),
        field(
            "extras",
            Value::Set(6, vec!["sportsPack".to_owned(), "cruiseControl".to_owned()]),
        ),
        field("discountedModel", Value::Integer(i128::from(b'C'))),
        field("engine.capacity", Value::Integer(2000)),
        field("engine.maxRpm", Value::Integer(9000)),
        field("engine.fuel", text("Petrol")),
        field("mpg", Value::Float(f64::from(35.9f32))),
        Item::Entry("acceleration".to_owned(), 2),
        Item::Data("manufacturer".to_owned(), b"Honda".to_vec()),
        Item::Data("model".to_owned(), b"Civic VTi".to_vec()),
        Item::Data("activationCode".to_owned(), b"abcdef".to_vec()),
    ] {
        assert!(
            items.contains(&expected),
            "{expected:?} is not among {items:#?}"
        );
    }
}

fn field(name: &str, value: Value) -> Item {
    Item::Field(name.to_owned(), value)
}

fn text(text: &str) -> Value {
    Value::Text(text.as_bytes().to_vec())
}

/// The bytes of a block such as `00 00 00 44 eb 50 ... :  D P`.
fn hex_dump(block: &str) -> Option<Vec<u8>> {
    let lines = block.trim().lines();
    let bytes = lines.flat_map(|line| {
        line.split(':')
            .next()
            .unwrap_or_default()
            .split_whitespace()
    });
    bytes
        .map(|byte| {
            u8::from_str_radix(byte, 16)
                .ok()
                .filter(|_| byte.len() == 2)
        })
        .collect::<Option<Vec<u8>>>()
        .filter(|bytes| !bytes.is_empty())
}
