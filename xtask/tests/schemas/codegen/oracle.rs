//! A decoder that reads any message straight from its schema: slow, obvious, and sharing no code with the views.

use anyhow::{Context, Result, ensure};
use xtask::codegen::schema::{
    Body, ByteOrder, Composite, Constant, Encoding, Field, Number, Primitive, Schema,
};

/// Content of a message, in the order of its schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A field, or a member of a composite as `field.member`.
    Field(String, Value),
    /// An entry of a group begins, counted from 0.
    Entry(String, usize),
    /// Variable-length data.
    Data(String, Vec<u8>),
}

/// Value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The null value, or a field that the message does not have.
    Null,
    /// An integer or a character.
    Integer(i128),
    /// Mantissa and constant exponent.
    Decimal(i128, i8),
    /// A floating-point number.
    Float(f64),
    /// Fixed-length text up to its first zero byte.
    Text(Vec<u8>),
    /// An array of numbers.
    List(Vec<Value>),
    /// A value of a closed set, and its name if the schema names the value.
    Enum(i128, Option<String>),
    /// Bits, and those of them that have a name.
    Set(i128, Vec<String>),
}

/// Decodes the message in `bytes`, header included. Also returns how many bytes are left over.
pub fn decode(schema: &Schema, bytes: &[u8]) -> Result<(Vec<Item>, usize)> {
    let mut decoder = Decoder {
        schema,
        bytes,
        version: 0,
        items: Vec::new(),
    };
    let header = decoder.take(schema.header.size)?;
    let of_header = |member: &str| decoder.unsigned(&schema.header, member, header);
    let (template, length, version) = (
        of_header("templateId")?,
        of_header("blockLength")?,
        of_header("version")?,
    );
    decoder.version = version;
    let message = schema
        .messages
        .iter()
        .find(|message| usize::from(message.id) == template);
    let message = message.with_context(|| format!("there is no template {template}"))?;
    decoder.body(&message.body, length)?;
    Ok((decoder.items, decoder.bytes.len()))
}

struct Decoder<'a> {
    schema: &'a Schema,
    bytes: &'a [u8],
    version: usize,
    items: Vec<Item>,
}

impl<'a> Decoder<'a> {
    fn body(&mut self, body: &Body, block_length: usize) -> Result<()> {
        let block = self.take(block_length)?;
        for field in &body.fields {
            self.field(field, block);
        }
        for group in &body.groups {
            if usize::from(group.since) > self.version {
                continue;
            }
            let dimension = self.take(group.dimension.size)?;
            let entry_length = self.unsigned(&group.dimension, "blockLength", dimension)?;
            for index in 0..self.unsigned(&group.dimension, "numInGroup", dimension)? {
                self.items.push(Item::Entry(group.name.clone(), index));
                self.body(&group.body, entry_length)?;
            }
        }
        for data in &body.data {
            if usize::from(data.since) > self.version {
                continue;
            }
            let begin = data
                .encoding
                .member("varData")
                .context("no varData")?
                .offset;
            let head = self.take(begin)?;
            let length = self.unsigned(&data.encoding, "length", head)?;
            let content = self.take(length)?.to_vec();
            self.items.push(Item::Data(data.name.clone(), content));
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, block: &[u8]) {
        let bytes = match usize::from(field.since) <= self.version {
            true => block.get(field.offset..field.offset + field.encoding.size()),
            false => None,
        };
        self.value(field.name.clone(), &field.encoding, bytes);
    }

    fn value(&mut self, name: String, encoding: &Encoding, bytes: Option<&[u8]>) {
        let value = match (encoding, bytes) {
            (Encoding::Composite(composite), _) if composite.exponent().is_none() => {
                return self.members(&name, composite, bytes);
            }
            (Encoding::Constant(Constant::Integer(_, value)), _) => Value::Integer(*value),
            (Encoding::Constant(Constant::Float(value)), _) => Value::Float(*value),
            (Encoding::Constant(Constant::Text(text)), _) => Value::Text(text.clone().into_bytes()),
            (_, None) => Value::Null,
            (Encoding::Number(number), Some(bytes)) => self.number(*number, bytes),
            (Encoding::Array(number, _), Some(bytes)) if number.primitive == Primitive::Char => {
                Value::Text(
                    bytes
                        .iter()
                        .copied()
                        .take_while(|byte| *byte != 0)
                        .collect(),
                )
            }
            (Encoding::Array(number, _), Some(bytes)) => {
                let each = bytes.chunks(number.primitive.size());
                Value::List(each.map(|bytes| self.number(*number, bytes)).collect())
            }
            (Encoding::Enum(choices), Some(bytes)) => match self.number(choices.encoding, bytes) {
                Value::Integer(raw) => {
                    let choice = choices.values.iter().find(|(_, value)| *value == raw);
                    Value::Enum(raw, choice.map(|(name, _)| name.clone()))
                }
                null => null,
            },
            (Encoding::Set(set), Some(bytes)) => {
                let raw = self.integer(set.encoding, bytes);
                let chosen = set.choices.iter().filter(|(_, bit)| raw & (1 << bit) != 0);
                Value::Set(raw, chosen.map(|(name, _)| name.clone()).collect())
            }
            (Encoding::Composite(composite), Some(bytes)) => match composite.exponent() {
                Some((mantissa, exponent)) => {
                    match self.number(mantissa, &bytes[..mantissa.primitive.size()]) {
                        Value::Integer(mantissa) => Value::Decimal(mantissa, exponent),
                        null => null,
                    }
                }
                None => unreachable!("taken apart above"),
            },
        };
        self.items.push(Item::Field(name, value));
    }

    fn members(&mut self, name: &str, composite: &Composite, bytes: Option<&[u8]>) {
        for member in &composite.members {
            let end = member.offset + member.encoding.size();
            let bytes = bytes.and_then(|bytes| bytes.get(member.offset..end));
            self.value(format!("{name}.{}", member.name), &member.encoding, bytes);
        }
    }

    fn number(&self, Number { primitive, null }: Number, bytes: &[u8]) -> Value {
        let raw = self.integer(primitive, bytes);
        let float = match primitive {
            Primitive::F32 => f64::from(f32::from_bits(raw as u32)),
            Primitive::F64 => f64::from_bits(raw as u64),
            _ if null == Some(raw) => return Value::Null,
            _ => return Value::Integer(raw),
        };
        if null.is_some() && float.is_nan() {
            Value::Null
        } else {
            Value::Float(float)
        }
    }

    /// Byte by byte, most significant first; then the sign.
    fn integer(&self, primitive: Primitive, bytes: &[u8]) -> i128 {
        let mut ordered = bytes.to_vec();
        if self.schema.byte_order == ByteOrder::Little {
            ordered.reverse();
        }
        let unsigned = ordered
            .iter()
            .fold(0i128, |number, byte| number * 256 + i128::from(*byte));
        let (least, most) = primitive.range();
        if least < 0 && unsigned > most {
            unsigned - (1 << (8 * bytes.len()))
        } else {
            unsigned
        }
    }

    fn unsigned(&self, composite: &Composite, member: &str, bytes: &[u8]) -> Result<usize> {
        let (offset, primitive) = composite
            .unsigned(member)
            .with_context(|| format!("no {member}"))?;
        let bytes = bytes
            .get(offset..offset + primitive.size())
            .context("cut off")?;
        Ok(usize::try_from(self.integer(primitive, bytes))?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        ensure!(
            length <= self.bytes.len(),
            "{length} bytes expected, {} left",
            self.bytes.len()
        );
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(taken)
    }
}
