//! The file of one message: its view, the views of its group entries, and the layouts below them.

use super::field::{Accessor, accessor, field_layout};
use super::{camel, check, screaming, snake};
use crate::codegen::schema::{Body, Composite, Encoding, Group, Message, Primitive};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write;

/// The text of the file for `message`; `newest` is the version up to which leftover bytes are an error.
pub fn file(message: &Message, newest: u16) -> Result<String> {
    message
        .body
        .groups
        .iter()
        .try_for_each(|group| check(&group.name))?;
    let name = camel(&message.name);
    let accessors = accessors(&message.body)?;
    let mut entries = String::new();
    for group in &message.body.groups {
        entries += &entry(&name, group).with_context(|| format!("in group {}", group.name))?;
    }
    let types = uses_types(&message.body)
        || message
            .body
            .groups
            .iter()
            .any(|group| uses_types(&group.body));
    let imports = if types { "use super::types::*;\n" } else { "" };
    Ok(format!(
        "//! {0}, template {1}.

{imports}use crate::mdp3::CheckedMessage;
use crate::sbe::codec::*;

{view}{entries}",
        message.name,
        message.id,
        view = view(&name, message, newest, &accessors)?,
    ))
}

fn view(name: &str, message: &Message, newest: u16, accessors: &[Accessor]) -> Result<String> {
    let Message {
        name: schema_name,
        id,
        body,
    } = message;
    let Groups {
        members,
        splits,
        checked,
        names,
        getters,
    } = groups(name, body)?;
    let (constants, methods) = (constants(accessors)?, methods(accessors)?);
    let behind = if checked.is_empty() { "_" } else { "rest" };
    Ok(format!(
        "/// {schema_name}, template {id}.
#[derive(Clone, Copy, Debug)]
pub struct {name}<'a> {{
    block: Block<'a, Root>,
    {members}}}

impl<'a> {name}<'a> {{
    /// The template id on the wire.
    pub const TEMPLATE_ID: u16 = {id};

    /// The schema's name for the template.
    pub const NAME: &'static str = \"{schema_name}\";
    {constants}
    /// Checks the message as a whole: `body` is what follows its SBE header, which has the other two arguments.
    ///
    /// # Errors
    /// A block or group that does not lie inside `body`, is shorter than its template, or leaves bytes over.
    #[inline]
    pub fn parse(block_length: u16, version: u16, body: &'a [u8]) -> Result<Self, Malformed> {{
        let (block, rest) = Block::split(block_length, version, body)?;
        {splits}end(rest, version, {newest})?;
        Ok(Self {{ block, {names} }})
    }}

    /// The view of a message of this template that was checked.
    #[inline(always)]
    pub fn of(message: CheckedMessage<'a>) -> Self {{
        let (block_length, version, body) = message.of(Self::TEMPLATE_ID);
        let (block, {behind}) = Block::checked(block_length, version, body);
        {checked}Self {{ block, {names} }}
    }}

    /// The schema version of the writer.
    #[inline]
    pub const fn version(&self) -> u16 {{
        self.block.version()
    }}
    {methods}{getters}
}}

/// The root block in version {version}.
{layout}",
        version = body.base.version,
        layout = layout("Root", body)?,
    ))
}

/// Texts of the groups of a message: each has a part of each text.
#[derive(Default)]
struct Groups {
    members: String,
    /// Statements that split the body of a message that is checked.
    splits: String,
    /// Statements that split the body of a message that was checked.
    checked: String,
    names: String,
    getters: String,
}

fn groups(name: &str, body: &Body) -> Result<Groups> {
    let mut of = Groups::default();
    for group in &body.groups {
        let (method, entry) = (snake(&group.name), format!("{name}{}", camel(&group.name)));
        let dimension = dimension(&group.dimension)?;
        let split = format!("Group::split::<{dimension}>(version, rest)?");
        let of_checked = format!("Group::checked::<{dimension}>(version, rest)");
        writeln!(of.members, "{method}: Group<'a, {entry}<'a>>,")?;
        let is_later = group.since > body.base.version;
        let since = if is_later { group.since } else { 0 };
        for (text, split) in [(&mut of.splits, split), (&mut of.checked, of_checked)] {
            match is_later {
                true => writeln!(
                    text,
                    "let ({method}, rest) = if version >= {since} {{ {split} }} else {{ (Group::empty(), rest) }};",
                )?,
                false => writeln!(text, "let ({method}, rest) = {split};")?,
            }
        }
        write!(of.names, "{method}, ")?;
        let since = match is_later {
            true => format!(" Empty before version {since}."),
            false => String::new(),
        };
        writeln!(
            of.getters,
            "\n/// {}, tag {}.{since}\n#[inline]\npub const fn {method}(&self) -> Group<'a, {entry}<'a>> {{ self.{method} }}",
            group.name, group.tag
        )?;
    }
    // Bytes behind the last group are of a newer schema.
    if let Some(at) = of.checked.rfind(", rest) = ") {
        of.checked.replace_range(at..at + ", rest)".len(), ", _)");
    }
    Ok(of)
}

fn entry(message: &str, group: &Group) -> Result<String> {
    let body = &group.body;
    ensure!(
        body.groups.is_empty() && body.data.is_empty(),
        "groups and data inside groups do not become Rust"
    );
    let (name, root) = (
        format!("{message}{}", camel(&group.name)),
        format!("{}Block", camel(&group.name)),
    );
    let accessors = accessors(body)?;
    let (constants, methods) = (constants(&accessors)?, methods(&accessors)?);
    Ok(format!(
        "
/// An entry of {group_name} in [`{message}`].
#[derive(Clone, Copy, Debug)]
pub struct {name}<'a> {{
    block: Block<'a, {root}>,
}}

impl<'a> {name}<'a> {{
    {constants}{methods}
}}

impl<'a> Entry<'a> for {name}<'a> {{
    const BLOCK_LENGTH: u16 = {length};

    #[inline(always)]
    fn over(version: u16, block: &'a [u8]) -> Option<Self> {{
        Block::over(version, block).map(|block| Self {{ block }})
    }}
}}

/// An entry in version {version}.
{layout}",
        group_name = group.name,
        length = body.base.block_length,
        version = body.base.version,
        layout = layout(&root, body)?,
    ))
}

fn accessors(body: &Body) -> Result<Vec<Accessor>> {
    body.fields
        .iter()
        .map(|field| accessor(field, body.base))
        .collect()
}

fn constants(accessors: &[Accessor]) -> Result<String> {
    let mut text = String::new();
    for Accessor {
        name,
        returns,
        body,
        about,
        ..
    } in accessors.iter().filter(|accessor| accessor.constant)
    {
        writeln!(
            text,
            "/// {about}\npub const {}: {returns} = {body};\n",
            screaming(name)
        )?;
    }
    Ok(text)
}

fn methods(accessors: &[Accessor]) -> Result<String> {
    let mut text = String::new();
    for Accessor {
        name,
        method,
        returns,
        body,
        about,
        constant,
        ..
    } in accessors
    {
        let body = if *constant {
            format!("Self::{}", screaming(name))
        } else {
            body.clone()
        };
        writeln!(
            text,
            "\n/// {about}\n#[inline]\npub fn {method}(&self) -> {returns} {{ {body} }}"
        )?;
    }
    Ok(text)
}

/// The block in its oldest form, byte for byte, with later fields where they lie in its padding.
fn layout(name: &str, body: &Body) -> Result<String> {
    let length = usize::from(body.base.block_length);
    let mut fields = String::new();
    let mut end = 0;
    let gap = |end: usize, next: usize| match next - end {
        0 => String::new(),
        size => format!("_gap{end}: [u8; {size}],\n"),
    };
    let mut placed: Vec<_> = body
        .fields
        .iter()
        .filter(|field| !matches!(field.encoding, Encoding::Constant(_)) && field.offset < length)
        .collect();
    placed.sort_by_key(|field| field.offset);
    for field in placed {
        fields += &gap(end, field.offset);
        writeln!(
            fields,
            "{}: {},",
            snake(&field.name),
            field_layout(&field.encoding)?
        )?;
        end = field.offset + field.encoding.size();
    }
    fields += &gap(end, length);
    Ok(format!(
        "#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct {name} {{
    {fields}}}

const _: () = assert!(size_of::<{name}>() == {length});
"
    ))
}

/// The dimension of the run-time part that has this layout.
pub fn dimension(composite: &Composite) -> Result<&'static str> {
    let layout = (
        composite.unsigned("blockLength"),
        composite.unsigned("numInGroup"),
        composite.size,
    );
    Ok(match layout {
        (Some((0, Primitive::U16)), Some((2, Primitive::U8)), 3) => "GroupSize",
        (Some((0, Primitive::U16)), Some((7, Primitive::U8)), 8) => "GroupSize8Byte",
        (Some((0, Primitive::U16)), Some((2, Primitive::U16)), 4) => "GroupSizeEncoding",
        _ => bail!(
            "no dimension of the run-time part has the layout of '{}'",
            composite.name
        ),
    })
}

fn uses_types(body: &Body) -> bool {
    body.fields.iter().any(|field| match &field.encoding {
        Encoding::Enum(_) | Encoding::Set(_) => true,
        Encoding::Composite(composite) => composite.exponent().is_none(),
        _ => false,
    })
}
