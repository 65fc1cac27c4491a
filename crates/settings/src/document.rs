//! The text of a file as a tree of values, and a deserializer that keeps the path of each.

use crate::error::{Error, Found, Problem};
use crate::mistakes::Mistakes;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    text: &'a str,
    root: Spanned<DeValue<'a>>,
}

impl<'a> Document<'a> {
    /// The tree of a text, and the errors of its syntax.
    pub fn parse(text: &'a str) -> (Document<'a>, Vec<toml::de::Error>) {
        let (table, errors) = DeTable::parse_recoverable(text);
        let root = Spanned::new(0..0, DeValue::Table(table.into_inner()));
        (Document { text, root }, errors)
    }

    /// All values except those at the paths that are left out.
    pub fn node<'b>(&'b self, left_out: &'b [String]) -> Node<'b> {
        Node {
            path: String::new(),
            value: &self.root,
            left_out,
        }
    }

    /// Value at a path, and the place of its key; `None` if the path leads nowhere.
    pub fn find(&self, path: &str) -> Option<(&Spanned<DeValue<'a>>, Range<usize>)> {
        let start = Some((&self.root, 0..0));
        parts(path).fold(start, |found, part| match found?.0.get_ref() {
            DeValue::Table(table) => {
                let mut keys = table.iter();
                let (key, value) = keys.find(|(key, _)| named(key.get_ref()) == part)?;
                Some((value, key.span()))
            }
            DeValue::Array(items) => {
                let value = items.get(part.parse::<usize>().ok()?)?;
                Some((value, value.span()))
            }
            _ => None,
        })
    }

    /// The path without which the others can be read: an item of a list of values is wrong with its list.
    pub fn removable<'p>(&self, path: &'p str) -> &'p str {
        let is_table =
            |path| matches!(self.find(path), Some((value, _)) if value.get_ref().is_table());
        match item(path) {
            Some(list) if !is_table(path) => self.removable(list),
            _ => path,
        }
    }

    /// Line of a place in the text, from 1.
    pub fn line(&self, start: usize) -> u32 {
        let before = &self.text.as_bytes()[..start.min(self.text.len())];
        1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32
    }

    /// Adds the lines of mistakes that a check has found: a key that is not written has that of its table.
    pub fn located(&self, mut mistakes: Mistakes) -> Mistakes {
        for mistake in mistakes.list_mut() {
            let mut path = mistake.key.as_str();
            while mistake.line.is_none() && !path.is_empty() {
                let found = self.find(path);
                mistake.line = found.map(|(_, key)| self.line(key.start));
                path = path.rsplit_once('.').map_or("", |(table, _)| table);
            }
        }
        mistakes
    }
}

/// A value that serde reads.
pub(crate) struct Node<'a> {
    path: String,
    value: &'a Spanned<DeValue<'a>>,
    left_out: &'a [String],
}

/// A key that serde reads.
struct Key<'a> {
    path: String,
    name: &'a str,
    span: Range<usize>,
}

impl<'a> Node<'a> {
    /// The value below, unless it is left out.
    fn below(&self, name: &str, value: &'a Spanned<DeValue<'a>>) -> Option<Node<'a>> {
        let path = below(&self.path, name);
        let is_left_out = self.left_out.contains(&path);
        (!is_left_out).then_some(Node {
            path,
            value,
            left_out: self.left_out,
        })
    }

    /// Reads the value; an error of a check behind it has its place too.
    fn read<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        let (path, span) = (self.path.clone(), self.value.span());
        seed.deserialize(self)
            .map_err(|error| error.at(&path, span))
    }
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let read = match self.value.get_ref() {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => integer(number, visitor),
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(Error::custom(format_args!("{number} is not a number"))),
            },
            DeValue::Boolean(is) => visitor.visit_bool(*is),
            DeValue::Datetime(_) => {
                let found = Unexpected::Other("a date or time");
                Err(Error::invalid_type(found, &visitor))
            }
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.filter_map(|(at, item)| self.below(&at.to_string(), item));
                let mut items = Items(items);
                let read = visitor.visit_seq(&mut items);
                read.and_then(|value| match items.0.count() {
                    0 => Ok(value),
                    rest => Err(Error::custom(format_args!(
                        "the list is too long by {rest}"
                    ))),
                })
            }
            DeValue::Table(table) => {
                let entries = table.iter().filter_map(|(key, value)| {
                    let value = self.below(&named(key.get_ref()), value)?;
                    let key = Key {
                        path: value.path.clone(),
                        name: key.get_ref(),
                        span: key.span(),
                    };
                    Some((key, value))
                });
                visitor.visit_map(Entries {
                    entries,
                    value: None,
                })
            }
        };
        read.map_err(|error| error.at(&self.path, self.value.span()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Refuses a list, whose items serde would take as fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value.get_ref() {
            DeValue::Array(_) => {
                let error = Error::invalid_type(Unexpected::Seq, &visitor);
                Err(error.at(&self.path, self.value.span()))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let DeValue::String(text) = self.value.get_ref() else {
            return self.deserialize_any(visitor);
        };
        let read = visitor.visit_enum(StrDeserializer::new(text));
        read.map_err(|error: Error| error.at(&self.path, self.value.span()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let read = visitor.visit_str(self.name);
        read.map_err(|error: Error| error.at(&self.path, self.span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// Items of a list.
struct Items<I>(I);

impl<'de, 'a, I: Iterator<Item = Node<'a>>> SeqAccess<'de> for Items<I> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| item.read(seed)).transpose()
    }
}

/// Keys of a table and their values.
struct Entries<'a, I> {
    entries: I,
    value: Option<Node<'a>>,
}

impl<'de, 'a, I: Iterator<Item = (Key<'a>, Node<'a>)>> MapAccess<'de> for Entries<'a, I> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.value.take();
        value
            .expect("serde reads a key before its value")
            .read(seed)
    }
}

fn integer<'de, V: Visitor<'de>>(number: &DeInteger<'_>, visitor: V) -> Result<V::Value, Error> {
    let (digits, radix) = (number.as_str(), number.radix());
    if let Ok(number) = i64::from_str_radix(digits, radix) {
        return visitor.visit_i64(number);
    }
    match u64::from_str_radix(digits, radix) {
        Ok(number) => visitor.visit_u64(number),
        Err(_) => {
            let found = Found::Integer(number.to_string());
            let expected = (&visitor as &dyn serde::de::Expected).to_string();
            Err(Problem::Type(found, expected).into())
        }
    }
}

/// A key as a part of a path.
fn named(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match !key.is_empty() && key.bytes().all(is_bare) {
        true => key.to_owned(),
        false => format!("{:?}", key.replace('.', "\u{b7}")),
    }
}

/// Path of a key of a table, or of an item of a list.
pub(crate) fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

pub(crate) fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|part| !part.is_empty())
}

/// The list of a path that is that of an item.
pub(crate) fn item(path: &str) -> Option<&str> {
    let (list, at) = path.rsplit_once('.')?;
    at.bytes().all(|byte| byte.is_ascii_digit()).then_some(list)
}
