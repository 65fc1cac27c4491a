//! Variants of the schema: allowed and forbidden changes.

use anyhow::{Result, ensure};
use std::fmt::Write;

/// Schema of the previous version.
pub const OLDER: &str = "schemas/history/touchline-2.xml";

/// Addition of the newer schema to each block and entry: eight bytes, written as null.
const FIELD: &str = r#"name="later" id="900" type="Ticks" sinceVersion="4""#;
const FIELD_BYTES: usize = 8;
const FIELD_READ: &str = "|later=-1";

/// Addition to each message: a group, written without entries.
const GROUP: &str = r#"    <group name="laters" id="901" dimensionType="groupSizeEncoding" blockLength="8" sinceVersion="4">
      <field name="value" id="902" type="Ticks" offset="0"/>
    </group>
"#;
const GROUP_READ: &str = "|laters=[]";

/// The next version of the schema: every block and every entry has one more field, every message one more group.
///
/// Works on lines: the length of a block is on the line that opens it.
pub fn newer(schema: &str) -> String {
    let mut newer = String::new();
    // Positions of the added fields of the open message and group; `None` once added.
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
        let mut line = line.replace("version=\"3\"", "version=\"4\"");
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

/// Reading of the newer reader, without its reports of missing fields.
pub fn without_additions(dump: &str) -> String {
    dump.replace(FIELD_READ, "").replace(GROUP_READ, "")
}

/// Whether the reading of the previous version's reader equals ours without later additions: fields at the end of a
/// block, groups behind the last, templates.
///
/// # Errors
/// The first message that it reads differently; or no field was added.
pub fn read_by_older(ours: &str, theirs: &str) -> Result<()> {
    let mut shorter = 0;
    ensure!(
        ours.lines().count() == theirs.lines().count(),
        "the reader of the previous version read a different number of messages"
    );
    for (number, (our, their)) in ours.lines().zip(theirs.lines()).enumerate() {
        if their == "Unknown" {
            continue;
        }
        // Additions follow behind a bar; otherwise both lines are the same.
        let added = our.strip_prefix(their);
        ensure!(
            added.is_some_and(|added| added.is_empty() || added.starts_with('|')),
            "message {} is read differently by the reader of the previous version\n   we: {our}\n they: {their}",
            number + 1
        );
        shorter += usize::from(our.len() > their.len());
    }
    ensure!(
        shorter > 0,
        "no message has a field that the previous version lacks"
    );
    Ok(())
}

/// The schema with the names of two fields of the same type swapped: every length is unchanged, the meaning is not.
pub fn swapped(schema: &str) -> String {
    let hidden = schema.replace("\"bidPrice\"", "\"\"");
    let half = hidden.replace("\"askPrice\"", "\"bidPrice\"");
    half.replace("\"\"", "\"askPrice\"")
}

/// The line with a longer block, and the previous length.
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

    /// The reader of schemas sees the additions in every message and every group.
    #[test]
    fn the_newer_schema_has_more_of_everything() {
        let longer = |old: &Body, new: &Body| {
            assert_eq!(new.block_length, old.block_length + FIELD_BYTES as u16);
            assert_eq!(new.fields.len(), old.fields.len() + 1);
            let last = new.fields.last().unwrap();
            assert_eq!(
                (last.since, last.offset),
                (4, usize::from(old.block_length))
            );
        };
        let (old, new) = schemas(newer);
        assert_eq!((old.version, new.version), (3, 4));
        for (old, new) in old.messages.iter().zip(&new.messages) {
            longer(&old.body, &new.body);
            assert_eq!(new.body.groups.len(), old.body.groups.len() + 1);
            for (old, new) in old.body.groups.iter().zip(&new.body.groups) {
                longer(&old.body, &new.body);
            }
        }
    }

    #[test]
    fn the_older_reader_may_know_less_and_nothing_else() {
        let ours = "A x=1|y=2\nB z=3\nC w=4\n";
        assert!(read_by_older(ours, "A x=1\nB z=3\nUnknown\n").is_ok());
        for (theirs, said) in [
            ("A x=2\nB z=3\nUnknown\n", "message 1"),
            ("A x=1|y\nB z=3\nUnknown\n", "message 1"),
            ("A x=1|y=2\nB z=3\nUnknown\n", "a field"),
            ("A x=1\n", "number"),
        ] {
            let error = read_by_older(ours, theirs).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_swapped_schema_exchanges_two_fields() {
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
