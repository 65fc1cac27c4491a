//! `cargo xtask codegen --fix`: generates the tables of [`touchline_wire::fix::dictionary`] from a FIX dictionary.

use super::rust::MARK;
use anyhow::{Context, Result, ensure};
use std::fmt::{Display, Write};
use std::fs;
use std::path::Path;
use touchline_session::fix::dictionary::Tables;
use touchline_wire::fix::dictionary::{Dictionary, Span};

/// Path of the tables of FIX 4.4.
pub const PLACE: &str = "crates/wire/src/fix/generated/fix44.rs";
/// Approximate length of a generated line.
const COLUMNS: usize = 110;

/// Writes the tables, or compares them.
///
/// # Errors
/// The dictionary cannot be read; with `check` the committed tables differ.
pub fn run(root: &Path, dictionary: &Path, check: bool) -> Result<()> {
    let text = tables(dictionary)?;
    let place = root.join(PLACE);
    if check {
        let committed = fs::read_to_string(&place).unwrap_or_default();
        ensure!(
            committed == text,
            "{PLACE} differs from {}",
            dictionary.display()
        );
        println!("{PLACE} matches the dictionary");
    } else {
        fs::write(&place, text).with_context(|| format!("cannot write {}", place.display()))?;
        println!("{PLACE} written");
    }
    Ok(())
}

/// The Rust file of a dictionary.
///
/// # Errors
/// File, line and mistake.
pub fn tables(path: &Path) -> Result<String> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let tables = Tables::read(&path.display().to_string(), &text)?;
    Ok(write(&tables.lend()))
}

/// Functions of the file, which make its tables short.
const FUNCTIONS: &str = "\
const fn s(start: u32, len: u32) -> Span {
    Span { start, len }
}

const fn f(tag: u32, kind: Kind, name: Span, values: Span) -> FieldType {
    FieldType {
        tag,
        kind,
        name,
        values,
    }
}

const fn t(msg_type: Span, name: Span, members: Span) -> MessageType {
    MessageType {
        msg_type,
        name,
        members,
    }
}

/// A member that counts no group.
const fn m(tag: u32, place: u16, required: bool) -> Member {
    g(tag, place, required, u16::MAX)
}

/// A member that counts a group.
const fn g(tag: u32, place: u16, required: bool, group: u16) -> Member {
    Member {
        tag,
        required,
        place,
        group,
    }
}

const fn e(delimiter: u32, members: Span) -> Group {
    Group { delimiter, members }
}

const fn d(length: u32, data: u32) -> DataPair {
    DataPair { length, data }
}";

fn write(dictionary: &Dictionary<'_>) -> String {
    let mut out = String::from(MARK);
    let begin = dictionary.begin_string;
    let name = begin.replace('.', "");
    let (header, trailer) = (span(dictionary.header), span(dictionary.trailer));
    let _ = writeln!(
        out,
        "//! The dictionary of {begin}: {} fields, {} messages, {} groups.

use crate::fix::dictionary::{{
    DataPair, Dictionary, FieldType, Group, Kind, Member, MessageType, Span,
}};

/// The fields, messages and groups of {begin}, without any venue's own.
pub static {name}: Dictionary<'static> = Dictionary {{
    begin_string: \"{begin}\",
    text: TEXT,
    fields: FIELDS,
    values: VALUES,
    messages: MESSAGES,
    members: MEMBERS,
    groups: GROUPS,
    header: {header},
    trailer: {trailer},
    data: DATA,
}};

{FUNCTIONS}",
        dictionary.fields.len(),
        dictionary.messages.len(),
        dictionary.groups.len()
    );
    write_text(&mut out, dictionary.text);
    write_rows(&mut out, dictionary);
    out
}

fn write_text(out: &mut String, text: &str) {
    let mut line = String::new();
    out.push_str("\n#[rustfmt::skip]\nconst TEXT: &str = \"\\\n");
    for character in text.chars() {
        // A space at the start of a line would be lost with the line's indentation.
        if line.len() >= COLUMNS && character != ' ' {
            let _ = writeln!(out, "{line}\\");
            line.clear();
        }
        line.extend(character.escape_default());
    }
    let _ = writeln!(out, "{line}\";");
}

fn write_rows(out: &mut String, dictionary: &Dictionary<'_>) {
    let fields = dictionary.fields.iter().map(|field| {
        let (name, values) = (span(field.name), span(field.values));
        format!("f({}, Kind::{:?}, {name}, {values})", field.tag, field.kind)
    });
    rows(out, "FIELDS: &[FieldType]", fields);
    rows(
        out,
        "VALUES: &[Span]",
        dictionary.values.iter().copied().map(span),
    );
    let messages = dictionary.messages.iter().map(|message| {
        let (kind, name) = (span(message.msg_type), span(message.name));
        format!("t({kind}, {name}, {})", span(message.members))
    });
    rows(out, "MESSAGES: &[MessageType]", messages);
    let members = dictionary.members.iter().map(|member| {
        let (tag, place, required) = (member.tag, member.place, member.required);
        if member.group == u16::MAX {
            format!("m({tag}, {place}, {required})")
        } else {
            format!("g({tag}, {place}, {required}, {})", member.group)
        }
    });
    rows(out, "MEMBERS: &[Member]", members);
    let groups = dictionary.groups.iter();
    let groups = groups.map(|group| format!("e({}, {})", group.delimiter, span(group.members)));
    rows(out, "GROUPS: &[Group]", groups);
    let data = dictionary.data.iter();
    rows(
        out,
        "DATA: &[DataPair]",
        data.map(|pair| format!("d({}, {})", pair.length, pair.data)),
    );
}

fn span(span: Span) -> String {
    format!("s({}, {})", span.start, span.len)
}

/// A table, as many rows on a line as fit.
fn rows(out: &mut String, head: &str, rows: impl Iterator<Item = impl Display>) {
    let _ = writeln!(out, "\n#[rustfmt::skip]\nconst {head} = &[");
    let mut line = String::new();
    for row in rows {
        let row = row.to_string();
        if !line.is_empty() && line.len() + row.len() + 2 > COLUMNS {
            let _ = writeln!(out, "   {line}");
            line.clear();
        }
        let _ = write!(line, " {row},");
    }
    let _ = writeln!(out, "   {line}\n];");
}
