//! A message schema as values, with all offsets calculated.

use std::rc::Rc;

/// One schema, or several versions of one that were [merged](super::merge).
#[derive(Clone, Debug)]
pub struct Schema {
    /// Its name, if it has one.
    pub package: String,
    /// Tells schemas apart on the wire.
    pub id: u16,
    /// The newest version.
    pub version: u16,
    /// Order of the bytes of all numbers.
    pub byte_order: ByteOrder,
    /// Header of each message.
    pub header: Rc<Composite>,
    /// All messages, in the order of the schema.
    pub messages: Vec<Message>,
}

/// Order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The schema's name for it.
    pub name: String,
    /// The template id on the wire.
    pub id: u16,
    /// The root block, groups and data.
    pub body: Body,
}

/// Common parts of a message and a group entry: a block of fields, then groups, then variable-length data.
#[derive(Clone, Debug)]
pub struct Body {
    /// Length of the block in bytes.
    pub block_length: u16,
    /// The oldest form of the block among the versions merged.
    pub base: Base,
    /// Fields of the block, constants included.
    pub fields: Vec<Field>,
    /// Groups that follow the block.
    pub groups: Vec<Group>,
    /// Data that follows the groups.
    pub data: Vec<Data>,
}

/// The oldest form of a block: no writer sends less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its length in bytes.
    pub block_length: u16,
    /// The schema version that had it.
    pub version: u16,
}

/// A field of a block.
#[derive(Clone, Debug)]
pub struct Field {
    /// The schema's name for it.
    pub name: String,
    /// Its id: for financial schemas the FIX tag.
    pub tag: u32,
    /// The schema version that added it; 0 if it was always there.
    pub since: u16,
    /// Offset in the block; unused for a constant.
    pub offset: usize,
    /// How its bytes are read.
    pub encoding: Encoding,
    /// The FIX data type, such as `UTCTimestamp`, where it says more than the encoding.
    pub semantic: Option<String>,
}

/// A repeating group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The schema's name for it.
    pub name: String,
    /// Its id.
    pub tag: u32,
    /// The schema version that added it; 0 if it was always there.
    pub since: u16,
    /// Header of the group, before the entries.
    pub dimension: Rc<Composite>,
    /// Body of each entry.
    pub body: Body,
}

/// A variable-length field.
#[derive(Clone, Debug)]
pub struct Data {
    /// The schema's name for it.
    pub name: String,
    /// Its id.
    pub tag: u32,
    /// The schema version that added it; 0 if it was always there.
    pub since: u16,
    /// Has a member `length`, then one `varData`.
    pub encoding: Rc<Composite>,
}

/// How the bytes of a field or of a member of a composite are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoding {
    /// A single number or character.
    Number(Number),
    /// An array of this length; of characters: text.
    Array(Number, usize),
    /// One value of a closed set.
    Enum(Rc<Enum>),
    /// Any of a set of bits.
    Set(Rc<Set>),
    /// Consecutive members.
    Composite(Rc<Composite>),
    /// A value that is in the schema only, not on the wire.
    Constant(Constant),
}

/// A number or character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Its width and sign.
    pub primitive: Primitive,
    /// The null value, where null is allowed. Any not-a-number for floats.
    pub null: Option<i128>,
}

/// The primitive types of SBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Primitive {
    Char,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// A value that is in the schema and not on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// An integer, or a single character by its code.
    Integer(Primitive, i128),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(String),
}

/// A closed set of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Enum {
    /// The schema's name for it.
    pub name: String,
    /// How the value is sent.
    pub encoding: Number,
    /// Name and value of each choice. A character is its code.
    pub values: Vec<(String, i128)>,
}

/// A set of bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The schema's name for it.
    pub name: String,
    /// How the bits are sent.
    pub encoding: Primitive,
    /// Name and bit number of each choice.
    pub choices: Vec<(String, u8)>,
}

/// Consecutive members.
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    /// The schema's name for it.
    pub name: String,
    /// Its members, constants included.
    pub members: Vec<Member>,
    /// Bytes that it takes.
    pub size: usize,
}

/// A member of a composite.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The schema's name for it.
    pub name: String,
    /// Offset in the composite.
    pub offset: usize,
    /// How its bytes are read.
    pub encoding: Encoding,
}

impl Encoding {
    /// Bytes that it takes on the wire.
    pub fn size(&self) -> usize {
        match self {
            Self::Number(number) => number.primitive.size(),
            Self::Array(number, length) => number.primitive.size().saturating_mul(*length),
            Self::Enum(choices) => choices.encoding.primitive.size(),
            Self::Set(set) => set.encoding.size(),
            Self::Composite(composite) => composite.size,
            Self::Constant(_) => 0,
        }
    }
}

impl Composite {
    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Offset and type of an unsigned integer member of that name, as headers and dimensions have them.
    pub fn unsigned(&self, name: &str) -> Option<(usize, Primitive)> {
        let member = self.member(name)?;
        match member.encoding {
            Encoding::Number(Number { primitive, .. }) if primitive.is_unsigned() => {
                Some((member.offset, primitive))
            }
            _ => None,
        }
    }

    /// The constant exponent of a decimal, whose mantissa is on the wire.
    pub fn exponent(&self) -> Option<(Number, i8)> {
        let [first, second] = self.members.as_slice() else {
            return None;
        };
        match (&first.encoding, &second.encoding) {
            (Encoding::Number(mantissa), Encoding::Constant(Constant::Integer(_, exponent)))
                if first.name == "mantissa" && second.name == "exponent" && first.offset == 0 =>
            {
                Some((*mantissa, i8::try_from(*exponent).ok()?))
            }
            _ => None,
        }
    }
}

impl Primitive {
    /// The type of that name in a schema.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "char" => Self::Char,
            "int8" => Self::I8,
            "int16" => Self::I16,
            "int32" => Self::I32,
            "int64" => Self::I64,
            "uint8" => Self::U8,
            "uint16" => Self::U16,
            "uint32" => Self::U32,
            "uint64" => Self::U64,
            "float" => Self::F32,
            "double" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes that it takes.
    pub fn size(self) -> usize {
        match self {
            Self::Char | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// True for `uint8` to `uint64`.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// True for `float` and `double`.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The smallest and the largest integer that it holds, null included.
    pub fn range(self) -> (i128, i128) {
        match self {
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 => (i64::MIN.into(), i64::MAX.into()),
            Self::Char | Self::U8 => (0, u8::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
            Self::F32 | Self::F64 => (0, 0),
        }
    }

    /// The null value where a schema does not name one (SBE 1.0, "Range attributes").
    pub fn null(self) -> i128 {
        let (least, most) = self.range();
        match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => least,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => most,
            Self::Char | Self::F32 | Self::F64 => 0,
        }
    }
}
