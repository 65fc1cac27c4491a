//! The schema as it may become, and as it must not be.

use std::fmt::Write;

/// What the newer schema adds to each block and to each entry: eight bytes, written as null.
const FIELD: &str = r#"name="later" id="900" type="Ticks" sinceVersion="2""#;
const FIELD_BYTES: usize = 8;
const FIELD_READ: &str = "|later=-1";

/// What it adds to each message: a group, written without entries.
const GROUP: &str = r#"    <group name="laters" id="901" dimensionType="groupSizeEncoding" blockLength="8" sinceVersion="2">
      <field name="value" id="902" type="Ticks" offset="0"/>
    </group>
"#;
const GROUP_READ: &str = "|laters=[]";

/// The next version of the schema: every block and every entry has one more field, every message one more group.
///
/// Works on lines, as the schema is written: a block's length stands on the line that opens it.
pub fn newer(schema: &str) -> String {
    let mut newer = String::new();
    // Where the added field of the open message and of the open group goes; `None` once it is there.
    let (mut message, mut group) = (None, None);
    for line in schema.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("<group ") || trimmed.starts_with("</sbe:message>") {
            add_field(&mut newer, "    ", message.take());
        }
        if trimmed.starts_with("</group>") {
            add_field(&mut newer, "      ", group.take());
        }
        if trimmed.starts_with("</sbe:message>") {
            newer.push_str(GROUP);
        }
        let mut line = line.replace("version=\"1\"", "version=\"2\"");
        let is_message = trimmed.starts_with("<sbe:message ");
        if is_message || trimmed.starts_with("<group ") {
            let place = if is_message { &mut message } else { &mut group };
            (line, *place) = lengthened(&line);
        }
        newer.push_str(&line);
        newer.push('\n');
    }
    newer
}

/// What the newer reader read, without what it found missing.
pub fn without_additions(dump: &str) -> String {
    dump.replace(FIELD_READ, "").replace(GROUP_READ, "")
}

/// The schema with the names of two fields of one type changed: it fits every length, and means something else.
pub fn swapped(schema: &str) -> String {
    let hidden = schema.replace("\"bidPrice\"", "\"\"");
    let half = hidden.replace("\"askPrice\"", "\"bidPrice\"");
    half.replace("\"\"", "\"askPrice\"")
}

/// The line with a longer block, and the length before.
fn lengthened(line: &str) -> (String, Option<usize>) {
    const NAME: &str = "blockLength=\"";
    let parts = line.split_once(NAME).and_then(|(before, rest)| {
        rest.split_once('"')
            .map(|(length, rest)| (before, length, rest))
    });
    match parts {
        Some((before, length, rest)) if length.parse::<usize>().is_ok() => {
            let length: usize = length.parse().unwrap_or_default();
            let line = format!("{before}{NAME}{}\"{rest}", length + FIELD_BYTES);
            (line, Some(length))
        }
        _ => (line.to_owned(), None),
    }
}

fn add_field(schema: &mut String, indent: &str, offset: Option<usize>) {
    if let Some(offset) = offset {
        let _ = writeln!(schema, "{indent}<field {FIELD} offset=\"{offset}\"/>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::read;
    use crate::codegen::schema::{Body, Schema};

    fn schemas(change: fn(&str) -> String) -> (Schema, Schema) {
        let path = crate::root().join("schemas/touchline.xml");
        let text = std::fs::read_to_string(path).unwrap();
        let read = |text| read::from_texts(&[text]).unwrap();
        (read(text.clone()), read(change(&text)))
    }

    /// The reader of schemas finds everything longer, in every message and every group.
    #[test]
    fn the_newer_schema_has_more_of_everything() {
        let longer = |old: &Body, new: &Body| {
            assert_eq!(new.block_length, old.block_length + FIELD_BYTES as u16);
            assert_eq!(new.fields.len(), old.fields.len() + 1);
            let last = new.fields.last().unwrap();
            assert_eq!(
                (last.since, last.offset),
                (2, usize::from(old.block_length))
            );
        };
        let (old, new) = schemas(newer);
        assert_eq!((old.version, new.version), (1, 2));
        for (old, new) in old.messages.iter().zip(&new.messages) {
            longer(&old.body, &new.body);
            assert_eq!(new.body.groups.len(), old.body.groups.len() + 1);
            for (old, new) in old.body.groups.iter().zip(&new.body.groups) {
                longer(&old.body, &new.body);
            }
        }
    }

    #[test]
    fn the_swapped_schema_has_two_fields_in_each_others_place() {
        let (old, new) = schemas(swapped);
        let offset = |schema: &Schema, message: &str, field: &str| {
            let message = schema.messages.iter().find(|m| m.name == message).unwrap();
            let field = message
                .body
                .fields
                .iter()
                .find(|f| f.name == field)
                .unwrap();
            field.offset
        };
        for message in ["BookUpdate", "TopOfBook"] {
            let (bid, ask) = (
                offset(&old, message, "bidPrice"),
                offset(&old, message, "askPrice"),
            );
            assert_ne!(bid, ask);
            assert_eq!(offset(&new, message, "bidPrice"), ask);
            assert_eq!(offset(&new, message, "askPrice"), bid);
        }
    }
}
