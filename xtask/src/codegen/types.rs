//! The `<types>` of a schema: names to encodings, each worked out once.

use super::schema::{Composite, Constant, Encoding, Enum, Member, Number, Primitive, Set};
use super::xml::{attribute, children, number, required, text};
use anyhow::{Context, Result, bail, ensure};
use roxmltree::Node;
use std::collections::HashMap;
use std::rc::Rc;

/// No block is longer than its 16-bit length can say.
pub const SIZE_MAX: usize = u16::MAX as usize;

/// Types that refer to types that refer to types: real schemas go three deep.
const DEPTH_MAX: usize = 32;

/// All named types of a schema.
pub struct Types<'a> {
    nodes: HashMap<&'a str, Node<'a, 'a>>,
    known: HashMap<String, Encoding>,
    open: Vec<String>,
}

impl<'a> Types<'a> {
    /// The types below the given `<types>` elements. A type is parsed at its first use.
    pub fn new(sections: impl Iterator<Item = Node<'a, 'a>>) -> Result<Self> {
        let mut nodes = HashMap::new();
        for node in sections.flat_map(children) {
            let name = required(node, "name")?;
            ensure!(
                nodes.insert(name, node).is_none(),
                "type '{name}' is defined twice"
            );
        }
        Ok(Self {
            nodes,
            known: HashMap::new(),
            open: Vec::new(),
        })
    }

    /// Reads every type, so that a broken one is noticed even where no message uses it.
    pub fn check(&mut self) -> Result<()> {
        let names: Vec<&str> = self.nodes.keys().copied().collect();
        names
            .into_iter()
            .try_for_each(|name| self.named(name).map(drop))
    }

    /// The encoding of a type or, where no type has that name, of a primitive type.
    pub fn named(&mut self, name: &str) -> Result<Encoding> {
        if let Some(encoding) = self.known.get(name) {
            return Ok(encoding.clone());
        }
        let Some(&node) = self.nodes.get(name) else {
            let primitive =
                Primitive::named(name).with_context(|| format!("there is no type '{name}'"))?;
            return Ok(Encoding::Number(Number {
                primitive,
                null: None,
            }));
        };
        ensure!(
            !self.open.iter().any(|open| open == name),
            "type '{name}' contains itself: {}",
            self.open.join(" > ")
        );
        self.open.push(name.to_owned());
        let encoding = self
            .read(node)
            .with_context(|| format!("in type '{name}'"))?;
        self.open.pop();
        self.known.insert(name.to_owned(), encoding.clone());
        Ok(encoding)
    }

    /// The composite of that name.
    pub fn composite(&mut self, name: &str) -> Result<Rc<Composite>> {
        match self.named(name)? {
            Encoding::Composite(composite) => Ok(composite),
            _ => bail!("'{name}' has to be a composite type"),
        }
    }

    /// The value that a `valueRef` such as `Side.Buy` names.
    pub fn value_ref(&mut self, reference: &str) -> Result<Constant> {
        let (name, choice) = reference
            .split_once('.')
            .with_context(|| format!("valueRef '{reference}' is not ENUM.VALUE"))?;
        let Encoding::Enum(choices) = self.named(name)? else {
            bail!("valueRef '{reference}' does not name an enum")
        };
        let value = choices.values.iter().find(|(name, _)| name == choice);
        let (_, value) = value.with_context(|| format!("enum '{name}' has no value '{choice}'"))?;
        Ok(Constant::Integer(choices.encoding.primitive, *value))
    }

    fn read(&mut self, node: Node<'a, 'a>) -> Result<Encoding> {
        ensure!(
            self.open.len() <= DEPTH_MAX,
            "types are nested more than {DEPTH_MAX} deep"
        );
        match node.tag_name().name() {
            "type" => self.simple(node),
            "enum" => Ok(Encoding::Enum(Rc::new(self.enumeration(node)?))),
            "set" => Ok(Encoding::Set(Rc::new(self.set(node)?))),
            "composite" => Ok(Encoding::Composite(Rc::new(self.composite_of(node)?))),
            other => bail!("<{other}> is not a kind of type"),
        }
    }

    fn simple(&mut self, node: Node<'a, 'a>) -> Result<Encoding> {
        let name = required(node, "primitiveType")?;
        let primitive = Primitive::named(name)
            .with_context(|| format!("there is no primitive type '{name}'"))?;
        let length: Option<usize> = number(node, "length")?;
        if attribute(node, "presence") == Some("constant") {
            return Ok(Encoding::Constant(match attribute(node, "valueRef") {
                Some(reference) => self.value_ref(reference)?,
                None => constant(
                    primitive,
                    length,
                    text(node).context("a constant needs a value")?,
                )?,
            }));
        }
        let null = match attribute(node, "presence") {
            Some("optional") => Some(null_value(node, primitive)?),
            None | Some("required") => None,
            Some(other) => bail!("presence '{other}' is not one of required, optional, constant"),
        };
        let number = Number { primitive, null };
        match length {
            None | Some(1) => Ok(Encoding::Number(number)),
            Some(length) => {
                ensure!(
                    length <= SIZE_MAX / primitive.size(),
                    "length {length} is more than a block can hold"
                );
                Ok(Encoding::Array(number, length))
            }
        }
    }

    /// The integer that carries an enum or a set: a primitive type, or a type that is one.
    fn carrier(&mut self, node: Node<'a, 'a>) -> Result<Number> {
        let name = required(node, "encodingType")?;
        match self.named(name)? {
            Encoding::Number(number) if !number.primitive.is_float() => Ok(number),
            _ => bail!("encodingType '{name}' is not a single integer or character"),
        }
    }

    fn enumeration(&mut self, node: Node<'a, 'a>) -> Result<Enum> {
        let encoding = self.carrier(node)?;
        let mut values: Vec<(String, i128)> = Vec::new();
        for child in children(node) {
            let name = required(child, "name")?;
            let value = text(child).with_context(|| format!("value '{name}' is empty"))?;
            let value =
                integer(encoding.primitive, value).with_context(|| format!("in value '{name}'"))?;
            ensure!(
                values.iter().all(|(n, v)| n != name && *v != value),
                "value '{name}' is there twice"
            );
            values.push((name.to_owned(), value));
        }
        Ok(Enum {
            name: required(node, "name")?.to_owned(),
            encoding,
            values,
        })
    }

    fn set(&mut self, node: Node<'a, 'a>) -> Result<Set> {
        let encoding = self.carrier(node)?.primitive;
        ensure!(
            encoding.is_unsigned(),
            "a set needs an unsigned encodingType"
        );
        let mut choices: Vec<(String, u8)> = Vec::new();
        for child in children(node) {
            let name = required(child, "name")?;
            let bit: u8 = text(child)
                .unwrap_or_default()
                .parse()
                .with_context(|| format!("choice '{name}' is not a bit number"))?;
            ensure!(
                usize::from(bit) < encoding.size() * 8,
                "choice '{name}': there is no bit {bit}"
            );
            ensure!(
                choices.iter().all(|(n, b)| n != name && *b != bit),
                "choice '{name}' is there twice"
            );
            choices.push((name.to_owned(), bit));
        }
        Ok(Set {
            name: required(node, "name")?.to_owned(),
            encoding,
            choices,
        })
    }

    fn composite_of(&mut self, node: Node<'a, 'a>) -> Result<Composite> {
        let mut members: Vec<Member> = Vec::new();
        let mut size = 0;
        for child in children(node) {
            let name = required(child, "name")?;
            let encoding = self
                .member(child)
                .with_context(|| format!("in member '{name}'"))?;
            let offset =
                offset(child, size, &encoding).with_context(|| format!("in member '{name}'"))?;
            ensure!(
                members.iter().all(|member| member.name != name),
                "member '{name}' is there twice"
            );
            size = size.max(offset + encoding.size());
            members.push(Member {
                name: name.to_owned(),
                offset,
                encoding,
            });
        }
        Ok(Composite {
            name: required(node, "name")?.to_owned(),
            members,
            size,
        })
    }

    fn member(&mut self, node: Node<'a, 'a>) -> Result<Encoding> {
        if node.tag_name().name() == "ref" {
            return self.named(required(node, "type")?);
        }
        // Counts towards the depth like a named type, but cannot be referred to.
        self.open.push(String::new());
        let encoding = self.read(node);
        self.open.pop();
        encoding
    }
}

/// Offset of an element that follows `end` bytes: `end`, or the later offset that the element names.
pub fn offset(node: Node<'_, '_>, end: usize, encoding: &Encoding) -> Result<usize> {
    let offset = match number(node, "offset")? {
        _ if matches!(encoding, Encoding::Constant(_)) => end,
        None => end,
        Some(offset) => offset,
    };
    ensure!(
        offset >= end,
        "offset {offset} lies inside what comes before, which ends at {end}"
    );
    let fits = offset
        .checked_add(encoding.size())
        .is_some_and(|end| end <= SIZE_MAX);
    ensure!(
        fits,
        "it ends beyond byte {SIZE_MAX}, more than a block can hold"
    );
    Ok(offset)
}

/// The value that `node` names as null, else the default of its type.
pub fn null_value(node: Node<'_, '_>, primitive: Primitive) -> Result<i128> {
    match attribute(node, "nullValue") {
        Some(value) if !primitive.is_float() => integer(primitive, value).context("in nullValue"),
        _ => Ok(primitive.null()),
    }
}

fn constant(primitive: Primitive, length: Option<usize>, value: &str) -> Result<Constant> {
    match primitive {
        Primitive::Char if length.unwrap_or(value.len()) == 1 => {
            Ok(Constant::Integer(primitive, integer(primitive, value)?))
        }
        Primitive::Char => Ok(Constant::Text(value.to_owned())),
        Primitive::F32 | Primitive::F64 => Ok(Constant::Float(
            value
                .parse()
                .with_context(|| format!("'{value}' is not a number"))?,
        )),
        _ => Ok(Constant::Integer(primitive, integer(primitive, value)?)),
    }
}

/// Reads an integer, or a single character as its code.
fn integer(primitive: Primitive, value: &str) -> Result<i128> {
    if let (Primitive::Char, [byte]) = (primitive, value.as_bytes()) {
        return Ok(i128::from(*byte));
    }
    let number: i128 = value
        .parse()
        .with_context(|| format!("'{value}' is not a value of the type"))?;
    let (least, most) = primitive.range();
    ensure!(
        (least..=most).contains(&number),
        "{number} is outside {least} to {most}"
    );
    Ok(number)
}
