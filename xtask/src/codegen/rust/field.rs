//! One field: its place in the layout, its Rust type, and the expression that reads it.

use super::{camel, check, snake};
use crate::codegen::schema::{Base, Constant, Encoding, Field, Number, Primitive};
use anyhow::{Result, bail, ensure};

/// How a field becomes Rust.
pub struct Accessor {
    /// The schema's name.
    pub name: String,
    /// The method.
    pub method: String,
    /// Return type of the method.
    pub returns: String,
    /// Purpose of the method; for a constant, its value.
    pub body: String,
    /// True for a value that is not on the wire.
    pub constant: bool,
    /// Sentences for the documentation.
    pub about: String,
}

/// The accessor of `field` in a block whose oldest form is `base`.
pub fn accessor(field: &Field, base: Base) -> Result<Accessor> {
    check(&field.name)?;
    let method = snake(&field.name);
    if let Encoding::Constant(constant) = &field.encoding {
        return constant_accessor(field, method, constant, base);
    }
    let optional = field.since > base.version;
    let source = Source::new(field, base, &method)?;
    let Reading {
        value,
        returns,
        nullable,
    } = Reading::new(&source, &field.encoding)?;
    let body = if optional && !nullable {
        format!("Some({value})")
    } else {
        value
    };
    let returns = if optional || nullable {
        format!("Option<{returns}>")
    } else {
        returns
    };
    let mut about = format!("{}, tag {}.{}", field.name, field.tag, unit(field));
    match (nullable, optional) {
        (true, true) => about += &format!(" `None` when null, and before version {}.", field.since),
        (true, false) => about += " `None` when null.",
        (false, true) => about += &format!(" `None` before version {}.", field.since),
        (false, false) => {}
    }
    Ok(Accessor {
        name: field.name.clone(),
        method,
        returns,
        body,
        constant: false,
        about,
    })
}

/// The type of `primitive` in a layout: no alignment, so that it lies anywhere.
pub fn layout_type(primitive: Primitive) -> Result<&'static str> {
    Ok(match primitive {
        Primitive::Char | Primitive::U8 => "u8",
        Primitive::I8 => "i8",
        Primitive::I16 => "I16",
        Primitive::I32 => "I32",
        Primitive::I64 => "I64",
        Primitive::U16 => "U16",
        Primitive::U32 => "U32",
        Primitive::U64 => "U64",
        Primitive::F32 | Primitive::F64 => {
            bail!("floats do not become Rust: prices are mantissa and exponent")
        }
    })
}

/// The type of `primitive` as a value.
pub fn rust_type(primitive: Primitive) -> Result<String> {
    Ok(layout_type(primitive)?.to_ascii_lowercase())
}

/// The type of a whole field in a layout.
pub fn field_layout(encoding: &Encoding) -> Result<String> {
    Ok(match encoding {
        Encoding::Number(number) => layout_type(number.primitive)?.to_owned(),
        Encoding::Array(number, length) => {
            format!("[{}; {length}]", layout_type(number.primitive)?)
        }
        Encoding::Enum(choices) => layout_type(choices.encoding.primitive)?.to_owned(),
        Encoding::Set(set) => layout_type(set.encoding)?.to_owned(),
        Encoding::Composite(composite) => match composite.exponent() {
            Some((mantissa, _)) => layout_type(mantissa.primitive)?.to_owned(),
            None => format!("{}Layout", camel(&composite.name)),
        },
        Encoding::Constant(_) => bail!("a constant has no place in a block"),
    })
}

/// Place of a field, as an expression: either the place itself or a reference to it.
enum Source {
    Place(String),
    Reference(String),
}

impl Source {
    /// Ends a method with `None` where the field may not be there.
    fn new(field: &Field, base: Base, method: &str) -> Result<Self> {
        let (offset, length, since) = (field.offset, usize::from(base.block_length), field.since);
        if since <= base.version {
            ensure!(
                offset + field.encoding.size() <= length,
                "field {} lies outside the oldest block",
                field.name
            );
            return Ok(Self::Place(format!("self.block.fixed.{method}")));
        }
        if offset < length {
            return Ok(Self::Place(format!("self.block.since({since})?.{method}")));
        }
        let layout = field_layout(&field.encoding)?;
        Ok(Self::Reference(format!(
            "self.block.later::<{layout}>({since}, {})?",
            offset - length
        )))
    }

    fn reference(&self) -> String {
        match self {
            Self::Place(place) => format!("&{place}"),
            Self::Reference(reference) => reference.clone(),
        }
    }

    fn number(&self, primitive: Primitive) -> String {
        match self {
            Self::Place(place) | Self::Reference(place) if primitive.size() > 1 => {
                format!("{place}.get()")
            }
            Self::Place(place) => place.clone(),
            Self::Reference(reference) => format!("*{reference}"),
        }
    }
}

/// Type of a read field.
struct Reading {
    value: String,
    returns: String,
    nullable: bool,
}

impl Reading {
    fn new(source: &Source, encoding: &Encoding) -> Result<Self> {
        match encoding {
            Encoding::Number(number) => Ok(Self::number(
                source,
                *number,
                None,
                rust_type(number.primitive)?,
            )),
            Encoding::Array(
                Number {
                    primitive: Primitive::Char,
                    ..
                },
                _,
            ) => {
                let value = format!("Text::new({})", source.reference());
                Ok(Self {
                    value,
                    returns: "Text<'a>".to_owned(),
                    nullable: false,
                })
            }
            Encoding::Enum(choices) => {
                let name = camel(&choices.name);
                Ok(Self::number(
                    source,
                    choices.encoding,
                    Some(&name),
                    name.clone(),
                ))
            }
            Encoding::Set(set) => {
                let (name, number) = (
                    camel(&set.name),
                    Number {
                        primitive: set.encoding,
                        null: None,
                    },
                );
                Ok(Self::number(source, number, Some(&name), name.clone()))
            }
            Encoding::Composite(composite) => match composite.exponent() {
                Some((mantissa, exponent)) => {
                    ensure!(
                        mantissa.primitive == Primitive::I64,
                        "only decimals of eight bytes become Rust"
                    );
                    Ok(Self::number(
                        source,
                        mantissa,
                        Some("Decimal::new"),
                        format!("Decimal<{exponent}>"),
                    ))
                }
                None => {
                    let returns = camel(&composite.name);
                    Ok(Self {
                        value: format!("{returns}::new({})", source.reference()),
                        returns,
                        nullable: false,
                    })
                }
            },
            Encoding::Array(..) => bail!("only arrays of characters become Rust"),
            Encoding::Constant(_) => bail!("a constant has no place in a block"),
        }
    }

    /// A number, put into `wrapper` unless it is null.
    fn number(source: &Source, number: Number, wrapper: Option<&str>, returns: String) -> Self {
        let get = source.number(number.primitive);
        let value = match (number.null, wrapper) {
            (None, None) => get,
            (None, Some(wrapper)) => format!("{wrapper}({get})"),
            (Some(null), None) => format!("present({get}, {null})"),
            (Some(null), Some(wrapper)) => format!("present({get}, {null}).map({wrapper})"),
        };
        Self {
            value,
            returns,
            nullable: number.null.is_some(),
        }
    }
}

fn constant_accessor(
    field: &Field,
    method: String,
    constant: &Constant,
    base: Base,
) -> Result<Accessor> {
    ensure!(
        field.since <= base.version,
        "field {}: a constant cannot come later",
        field.name
    );
    let (returns, body) = match constant {
        Constant::Integer(Primitive::Char, code) => {
            let code = u8::try_from(*code)?;
            ("u8".to_owned(), format!("b'{}'", code.escape_ascii()))
        }
        Constant::Integer(primitive, value) => (rust_type(*primitive)?, value.to_string()),
        _ => bail!(
            "field {}: only constant integers and characters become Rust",
            field.name
        ),
    };
    let about = format!(
        "{}, tag {}. Not on the wire: always `{body}`.",
        field.name, field.tag
    );
    Ok(Accessor {
        name: field.name.clone(),
        method,
        returns,
        body,
        constant: true,
        about,
    })
}

fn unit(field: &Field) -> &'static str {
    match (&field.encoding, field.semantic.as_deref()) {
        (
            Encoding::Number(Number {
                primitive: Primitive::U64,
                ..
            }),
            Some("UTCTimestamp"),
        ) => " Nanoseconds since 1970-01-01 UTC.",
        (
            Encoding::Number(Number {
                primitive: Primitive::U16,
                ..
            }),
            Some("LocalMktDate"),
        ) => " Days since 1970-01-01.",
        _ => "",
    }
}
