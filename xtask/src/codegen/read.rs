//! Reads a schema: XML in, [`Schema`] out. The input may be wrong, huge or hostile.

use super::schema::{
    Base, Body, ByteOrder, Composite, Data, Encoding, Field, Group, Message, Number, Schema,
};
use super::types::{SIZE_MAX, Types, null_value, offset};
use super::xml::{attribute, children, number, required};
use anyhow::{Context, Result, bail, ensure};
use roxmltree::{Document, Node};
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// Deepest nesting of groups: real schemas have three levels.
const DEPTH_MAX: usize = 16;

/// Largest file: real schemas are below a megabyte.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Largest number of files: a schema with its includes.
const FILES_MAX: usize = 16;

/// Reads the schema in the file `path` and its includes.
///
/// # Errors
/// Place in the schema and mistake.
pub fn from_file(path: &Path) -> Result<Schema> {
    let mut texts = vec![load(path)?];
    for href in includes(&texts[0])? {
        ensure!(
            texts.len() < FILES_MAX,
            "more than {FILES_MAX} files are included"
        );
        texts.push(load(&path.with_file_name(href))?);
    }
    from_texts(&texts)
}

/// Reads a schema: the document, then its includes.
///
/// # Errors
/// Place in the schema and mistake.
pub fn from_texts(texts: &[String]) -> Result<Schema> {
    let documents = texts
        .iter()
        .map(|text| Document::parse(text).context("not well-formed XML"));
    let documents: Vec<Document<'_>> = documents.collect::<Result<_>>()?;
    let root = documents.first().context("no document")?.root_element();
    ensure!(
        is(root, "messageSchema"),
        "the root element is <{}>, not <messageSchema>",
        root.tag_name().name()
    );

    let included = documents[1..].iter().map(Document::root_element);
    let sections = children(root)
        .chain(included)
        .filter(|&node| is(node, "types"));
    let mut types = Types::new(sections)?;
    types.check()?;

    let header_type = attribute(root, "headerType").unwrap_or("messageHeader");
    let header = types.composite(header_type).context("the message header")?;
    for member in ["blockLength", "templateId", "schemaId", "version"] {
        ensure!(
            header.unsigned(member).is_some(),
            "the message header '{header_type}' has no unsigned integer '{member}'"
        );
    }
    let version = number(root, "version")?.unwrap_or(0);
    let mut reader = Reader { types, version };
    let mut messages: Vec<Message> = Vec::new();
    for node in children(root).filter(|&node| is(node, "message")) {
        let message = reader.message(node)?;
        let twice = messages
            .iter()
            .any(|other| other.id == message.id || other.name == message.name);
        ensure!(
            !twice,
            "message '{}' ({}) is there twice",
            message.name,
            message.id
        );
        messages.push(message);
    }
    Ok(Schema {
        package: attribute(root, "package").unwrap_or_default().to_owned(),
        id: number(root, "id")?.context("<messageSchema> has no attribute 'id'")?,
        version,
        byte_order: byte_order(root)?,
        header,
        messages,
    })
}

fn load(path: &Path) -> Result<String> {
    let size = fs::metadata(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .len();
    ensure!(
        size <= FILE_BYTES_MAX,
        "{} has {size} bytes, more than any schema",
        path.display()
    );
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn includes(text: &str) -> Result<Vec<String>> {
    let document = Document::parse(text).context("not well-formed XML")?;
    let includes = children(document.root_element()).filter(|&node| is(node, "include"));
    includes
        .map(|node| required(node, "href").map(str::to_owned))
        .collect()
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name
}

fn byte_order(root: Node<'_, '_>) -> Result<ByteOrder> {
    match attribute(root, "byteOrder") {
        None | Some("littleEndian") => Ok(ByteOrder::Little),
        Some("bigEndian") => Ok(ByteOrder::Big),
        Some(other) => bail!("byteOrder '{other}' is neither littleEndian nor bigEndian"),
    }
}

struct Reader<'a> {
    types: Types<'a>,
    version: u16,
}

impl<'a> Reader<'a> {
    fn message(&mut self, node: Node<'a, 'a>) -> Result<Message> {
        let name = required(node, "name")?;
        let place = || format!("in message '{name}'");
        let id = number(node, "id")
            .with_context(place)?
            .with_context(|| format!("message '{name}' has no id"))?;
        let body = self.body(node, DEPTH_MAX).with_context(place)?;
        Ok(Message {
            name: name.to_owned(),
            id,
            body,
        })
    }

    fn body(&mut self, node: Node<'a, 'a>, depth: usize) -> Result<Body> {
        ensure!(depth > 0, "groups are nested more than {DEPTH_MAX} deep");
        let (mut fields, mut groups, mut data) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = 0;
        for child in children(node) {
            let name = required(child, "name")?;
            let place = || format!("in {} '{name}'", child.tag_name().name());
            match child.tag_name().name() {
                "field" if groups.is_empty() && data.is_empty() => {
                    let field = self.field(child, name, end).with_context(place)?;
                    end = end.max(field.offset + field.encoding.size());
                    fields.push(field);
                }
                "group" if data.is_empty() => {
                    groups.push(self.group(child, name, depth).with_context(place)?)
                }
                "data" => data.push(self.data(child, name).with_context(place)?),
                "field" | "group" => {
                    bail!("'{name}' is out of order: fields come first, then groups, then data")
                }
                other => bail!("<{other}> is not part of a message"),
            }
        }
        ensure!(
            end <= SIZE_MAX,
            "the block has {end} bytes, more than {SIZE_MAX}"
        );
        let block_length = number(node, "blockLength")?.unwrap_or(end as u16);
        ensure!(
            usize::from(block_length) >= end,
            "blockLength {block_length} is less than its fields take, {end}"
        );
        let base = Base {
            block_length,
            version: self.version,
        };
        Ok(Body {
            block_length,
            base,
            fields,
            groups,
            data,
        })
    }

    fn field(&mut self, node: Node<'a, 'a>, name: &str, end: usize) -> Result<Field> {
        let encoding = self.encoding(node)?;
        Ok(Field {
            name: name.to_owned(),
            tag: tag(node)?,
            since: self.since(node)?,
            offset: offset(node, end, &encoding)?,
            encoding,
            semantic: attribute(node, "semanticType").map(str::to_owned),
        })
    }

    /// The encoding of a field's type, as changed by the field's own `presence`.
    fn encoding(&mut self, node: Node<'a, 'a>) -> Result<Encoding> {
        let named = self.types.named(required(node, "type")?)?;
        let null = |number: Number| -> Result<Number> {
            let null = number
                .null
                .map_or_else(|| null_value(node, number.primitive), Ok)?;
            Ok(Number {
                null: Some(null),
                ..number
            })
        };
        match attribute(node, "presence") {
            None | Some("required") => Ok(named),
            Some("constant") => match (attribute(node, "valueRef"), named) {
                (Some(reference), _) => Ok(Encoding::Constant(self.types.value_ref(reference)?)),
                (None, constant @ Encoding::Constant(_)) => Ok(constant),
                (None, _) => bail!("a constant field needs a valueRef or a constant type"),
            },
            Some("optional") => Ok(match named {
                Encoding::Number(number) => Encoding::Number(null(number)?),
                Encoding::Array(number, length) => Encoding::Array(null(number)?, length),
                Encoding::Enum(choices) => {
                    let encoding = null(choices.encoding)?;
                    Encoding::Enum(Rc::new(super::schema::Enum {
                        encoding,
                        ..(*choices).clone()
                    }))
                }
                other => other,
            }),
            Some(other) => bail!("presence '{other}' is not one of required, optional, constant"),
        }
    }

    fn group(&mut self, node: Node<'a, 'a>, name: &str, depth: usize) -> Result<Group> {
        let dimension = self
            .types
            .composite(attribute(node, "dimensionType").unwrap_or("groupSizeEncoding"))?;
        for member in ["blockLength", "numInGroup"] {
            let there = dimension.unsigned(member).is_some();
            ensure!(
                there,
                "the dimension '{}' has no unsigned integer '{member}'",
                dimension.name
            );
        }
        let body = self.body(node, depth - 1)?;
        Ok(Group {
            name: name.to_owned(),
            tag: tag(node)?,
            since: self.since(node)?,
            dimension,
            body,
        })
    }

    fn data(&mut self, node: Node<'a, 'a>, name: &str) -> Result<Data> {
        let encoding = self.types.composite(required(node, "type")?)?;
        check_data(&encoding)?;
        Ok(Data {
            name: name.to_owned(),
            tag: tag(node)?,
            since: self.since(node)?,
            encoding,
        })
    }

    fn since(&self, node: Node<'_, '_>) -> Result<u16> {
        let since = number(node, "sinceVersion")?.unwrap_or(0);
        ensure!(
            since <= self.version,
            "sinceVersion {since} is newer than the schema, {}",
            self.version
        );
        Ok(since)
    }
}

fn check_data(encoding: &Composite) -> Result<()> {
    let name = &encoding.name;
    let (length, primitive) = encoding
        .unsigned("length")
        .with_context(|| format!("'{name}' has no unsigned 'length'"))?;
    let data = encoding
        .member("varData")
        .with_context(|| format!("'{name}' has no member 'varData'"))?;
    ensure!(
        data.offset >= length + primitive.size(),
        "in '{name}' the data does not follow its length"
    );
    Ok(())
}

fn tag(node: Node<'_, '_>) -> Result<u32> {
    number(node, "id")?.with_context(|| format!("<{}> has no id", node.tag_name().name()))
}
