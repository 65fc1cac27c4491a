//! `types.rs`: enums, sets and composites that fields refer to.

use super::field::{layout_type, rust_type};
use super::{File, MARK, camel, check, has_view, screaming, snake};
use crate::codegen::schema::{Body, Composite, Encoding, Enum, Primitive, Schema, Set};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The file with every type that the messages of `schema` use.
pub fn file(schema: &Schema) -> Result<File> {
    let mut named = BTreeMap::new();
    for message in &schema.messages {
        collect(&message.body, has_view(message), &mut named);
    }
    let mut text = format!("{MARK}//! Enums, sets and composites.\n\nuse crate::sbe::codec::*;\n");
    for (name, encoding) in named {
        check(name)?;
        text += &match encoding {
            Encoding::Enum(choices) => enumeration(choices),
            Encoding::Set(set) => set_of_bits(set),
            Encoding::Composite(composite) => struct_of(composite),
            _ => bail!("has no name of its own"),
        }
        .with_context(|| format!("in type {name}"))?;
    }
    Ok(File {
        name: "types.rs".to_owned(),
        text,
    })
}

/// Messages that a version dropped keep their old types, so of two with one name the richer is the newer. Tables have a
/// line for each member of a composite, so only views need its type.
fn collect<'a>(body: &'a Body, is_viewed: bool, named: &mut BTreeMap<&'a str, &'a Encoding>) {
    let richness = |encoding: &Encoding| match encoding {
        Encoding::Enum(choices) => choices.values.len(),
        Encoding::Set(set) => set.choices.len(),
        _ => 0,
    };
    for field in &body.fields {
        let name = match &field.encoding {
            Encoding::Enum(choices) => &choices.name,
            Encoding::Set(set) => &set.name,
            Encoding::Composite(composite) if is_viewed && composite.exponent().is_none() => {
                &composite.name
            }
            _ => continue,
        };
        let known = named.entry(name).or_insert(&field.encoding);
        if richness(&field.encoding) > richness(known) {
            *known = &field.encoding;
        }
    }
    body.groups
        .iter()
        .for_each(|group| collect(&group.body, is_viewed, named));
}

fn enumeration(choices: &Enum) -> Result<String> {
    ensure!(
        choices.encoding.primitive.size() == 1 && choices.encoding.primitive != Primitive::I8,
        "only enums of one unsigned byte"
    );
    let (name, raw) = (camel(&choices.name), "u8");
    let literal = |value: i128| match (choices.encoding.primitive, u8::try_from(value)) {
        (Primitive::Char, Ok(byte)) if byte.is_ascii_graphic() => {
            format!("b'{}'", char::from(byte))
        }
        _ => value.to_string(),
    };
    let (mut constants, mut names) = (String::new(), String::new());
    for (value_name, value) in &choices.values {
        check(value_name)?;
        let (constant, literal) = (screaming(value_name), literal(*value));
        writeln!(
            constants,
            "/// Sent as `{literal}`.\npub const {constant}: Self = Self({literal});"
        )?;
        writeln!(names, "{literal} => \"{value_name}\",")?;
    }
    let about = match choices.encoding.primitive {
        Primitive::Char => "One of a set of characters",
        _ => "One of a set of numbers",
    };
    Ok(format!(
        "
/// {}. {about}; a value that no known schema names is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct {name}(pub {raw});

impl {name} {{
    {constants}
    /// The schema's word for the value.
    pub const fn name(self) -> Option<&'static str> {{
        Some(match self.0 {{
            {names}_ => return None,
        }})
    }}
}}

impl From<{name}> for Value<'_> {{
    fn from(value: {name}) -> Self {{
        Self::Enum {{ raw: value.0, name: value.name() }}
    }}
}}
",
        choices.name
    ))
}

fn set_of_bits(set: &Set) -> Result<String> {
    let (name, bits) = (camel(&set.name), 8 * set.encoding.size());
    let (mut methods, mut choices) = (String::new(), String::new());
    for (choice, bit) in &set.choices {
        check(choice)?;
        writeln!(choices, "({bit}, \"{choice}\"),")?;
        writeln!(
            methods,
            "/// {choice}, bit {bit}.\n#[inline]\npub const fn {}(self) -> bool {{ self.0 & {mask:#x} != 0 }}\n",
            snake(choice),
            mask = 1u64 << bit
        )?;
    }
    Ok(format!(
        "
/// {}. Any of a set of bits, bit 0 the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct {name}(pub u{bits});

impl {name} {{
    /// Bit number and name of each choice.
    pub const CHOICES: &'static [(u8, &'static str)] = &[{choices}];

    {methods}
}}

impl From<{name}> for Value<'_> {{
    fn from(value: {name}) -> Self {{
        Self::Set {{ raw: value.0.into(), choices: {name}::CHOICES }}
    }}
}}
",
        set.name
    ))
}

fn struct_of(composite: &Composite) -> Result<String> {
    let name = camel(&composite.name);
    let (mut layout, mut fields, mut reads) = (String::new(), String::new(), String::new());
    let mut end = 0;
    for member in &composite.members {
        check(&member.name)?;
        ensure!(member.offset == end, "only composites without gaps");
        let Encoding::Number(number) = &member.encoding else {
            bail!("only composites of numbers")
        };
        let (field, get) = (
            snake(&member.name),
            if number.primitive.size() == 1 {
                ""
            } else {
                ".get()"
            },
        );
        writeln!(layout, "{field}: {},", layout_type(number.primitive)?)?;
        let rust = rust_type(number.primitive)?;
        match number.null {
            Some(null) => {
                writeln!(
                    fields,
                    "/// `{}`. `None` when null.\npub {field}: Option<{rust}>,",
                    member.name
                )?;
                writeln!(reads, "{field}: present(layout.{field}{get}, {null}),")?;
            }
            None => {
                writeln!(fields, "/// `{}`.\npub {field}: {rust},", member.name)?;
                writeln!(reads, "{field}: layout.{field}{get},")?;
            }
        }
        end += number.primitive.size();
    }
    Ok(format!(
        "
/// {}.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct {name} {{
    {fields}}}

/// As it lies in a block.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct {name}Layout {{
    {layout}}}

const _: () = assert!(size_of::<{name}Layout>() == {end});

impl {name} {{
    #[inline]
    pub(super) fn new(layout: &{name}Layout) -> Self {{
        Self {{
            {reads}
        }}
    }}
}}
",
        composite.name
    ))
}
