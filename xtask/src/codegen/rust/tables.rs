//! `tables.rs`: a line per field of each message.

use super::message::dimension;
use super::{File, MARK, camel, check};
use crate::codegen::schema::{Body, Constant, Encoding, Field, Number, Primitive, Schema};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write;

/// The tables of all messages, by ascending template id.
pub fn file(schema: &Schema) -> Result<File> {
    let mut messages: Vec<_> = schema.messages.iter().collect();
    messages.sort_by_key(|message| message.id);
    let mut text = format!(
        "{MARK}//! Each message as a table.

use super::types::*;
use crate::sbe::codec::*;
use crate::sbe::template::Kind::*;
use crate::sbe::template::{{BlockTable, GroupTable, Template, dimension, field}};

/// All templates, by ascending id.
// A line per field, which rustfmt would break.
#[rustfmt::skip]
pub static TEMPLATES: [Template; {}] = [\n",
        messages.len()
    );
    for message in messages {
        let table = table(&message.body, schema.version)
            .with_context(|| format!("in message {}", message.name))?;
        writeln!(
            text,
            "    Template {{\n        id: {}, name: \"{}\", newest: {},\n        {table},\n    }},",
            message.id, message.name, schema.version
        )?;
    }
    text += "];\n";
    Ok(File {
        name: "tables.rs".to_owned(),
        text,
    })
}

/// The members `block` and `groups` of a template.
fn table(body: &Body, newest: u16) -> Result<String> {
    ensure!(
        body.data.is_empty(),
        "variable-length data does not become Rust"
    );
    let mut groups = String::new();
    for group in &body.groups {
        ensure!(
            group.body.groups.is_empty() && group.body.data.is_empty(),
            "groups and data inside groups do not become Rust"
        );
        let since = later(group.since, body.base.version);
        writeln!(
            groups,
            "            GroupTable {{ name: \"{}\", tag: {}, since: {since}, dimension: dimension::<{}>,\n              entry: {} }},",
            group.name,
            group.tag,
            dimension(&group.dimension)?,
            block(&group.body, 16).with_context(|| format!("in group {}", group.name))?
        )?;
    }
    ensure!(newest > 0, "a schema without a version");
    let groups = match groups.as_str() {
        "" => String::new(),
        groups => format!("\n{groups}        "),
    };
    Ok(format!(
        "block: {},\n        groups: &[{groups}]",
        block(body, 8)?
    ))
}

/// The version that added a field; 0 if the oldest block contains the field.
fn later(since: u16, oldest: u16) -> u16 {
    if since > oldest { since } else { 0 }
}

/// The lines of its fields, `indent` deep and the brackets around them.
fn block(body: &Body, indent: usize) -> Result<String> {
    let mut fields = String::new();
    for field in &body.fields {
        check(&field.name)?;
        let since = later(field.since, body.base.version);
        let lines = lines(field, since).with_context(|| format!("in field {}", field.name))?;
        for line in lines {
            writeln!(fields, "{:indent$}    {line},", "")?;
        }
    }
    Ok(format!(
        "BlockTable {{ length: {}, fields: &[\n{fields}{:indent$}] }}",
        body.base.block_length, ""
    ))
}

/// The line of a field, or one for each member of a composite.
fn lines(field: &Field, since: u16) -> Result<Vec<String>> {
    if let Encoding::Composite(composite) = &field.encoding
        && composite.exponent().is_none()
    {
        ensure!(
            since == 0,
            "a composite that came later does not become Rust"
        );
        let members = composite.members.iter().map(|member| {
            let Encoding::Number(number) = &member.encoding else {
                bail!("only composites of numbers become Rust")
            };
            let name = format!("{}.{}", field.name, member.name);
            let kind = number_kind(number.primitive)?;
            line(
                &name,
                field.tag,
                field.offset + member.offset,
                0,
                &kind,
                Some(*number),
            )
        });
        return members.collect();
    }
    let number = null_of(&field.encoding);
    let kind = kind(field)?;
    line(&field.name, field.tag, field.offset, since, &kind, number).map(|line| vec![line])
}

fn line(
    name: &str,
    tag: u32,
    offset: usize,
    since: u16,
    kind: &str,
    number: Option<Number>,
) -> Result<String> {
    let mut text = format!("field(\"{name}\", {tag}, {offset}, {kind})");
    if let Some(Number {
        primitive,
        null: Some(null),
    }) = number
    {
        // The null value as the block stores it.
        let bits = 8 * primitive.size();
        write!(text, ".or({})", null & ((1 << bits) - 1))?;
    }
    if since > 0 {
        write!(text, ".since({since})")?;
    }
    Ok(text)
}

/// The number type that encodes a field; its null value is the field's null value.
fn null_of(encoding: &Encoding) -> Option<Number> {
    match encoding {
        Encoding::Number(number) => Some(*number),
        Encoding::Enum(choices) => Some(choices.encoding),
        Encoding::Composite(composite) => composite.exponent().map(|(mantissa, _)| mantissa),
        _ => None,
    }
}

fn kind(field: &Field) -> Result<String> {
    Ok(match (&field.encoding, field.semantic.as_deref()) {
        (Encoding::Number(number), semantic) => match (number.primitive, semantic) {
            (Primitive::Char, _) => "Char".to_owned(),
            (Primitive::U64, Some("UTCTimestamp")) => "TimeNs".to_owned(),
            (Primitive::U16, Some("LocalMktDate")) => "Days".to_owned(),
            (primitive, _) => number_kind(primitive)?,
        },
        (Encoding::Array(number, length), _) => {
            ensure!(
                number.primitive == Primitive::Char,
                "only arrays of characters become Rust"
            );
            format!("Text({length})")
        }
        (Encoding::Enum(choices), _) => format!("Enum(|raw| {}(raw).name())", camel(&choices.name)),
        (Encoding::Set(set), _) => format!(
            "Set({}, {}::CHOICES)",
            set.encoding.size(),
            camel(&set.name)
        ),
        (Encoding::Composite(composite), _) => {
            let (mantissa, exponent) = composite.exponent().context("a composite has members")?;
            format!("Decimal({}, {exponent})", mantissa.primitive.size())
        }
        (Encoding::Constant(constant), _) => match constant {
            Constant::Integer(Primitive::Char, code) => {
                let code = u8::try_from(*code)?;
                format!("Constant(Value::Char(b'{}'))", code.escape_ascii())
            }
            Constant::Integer(primitive, value) if primitive.is_unsigned() => {
                format!("Constant(Value::Unsigned({value}))")
            }
            Constant::Integer(_, value) => format!("Constant(Value::Signed({value}))"),
            _ => bail!("only constant integers and characters become Rust"),
        },
    })
}

fn number_kind(primitive: Primitive) -> Result<String> {
    Ok(match primitive {
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 | Primitive::Char => {
            format!("Unsigned({})", primitive.size())
        }
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => {
            format!("Signed({})", primitive.size())
        }
        Primitive::F32 | Primitive::F64 => bail!("floats do not become Rust"),
    })
}
