//! Dictionaries in the XML form of QuickFIX, which venues hand out, as tables for [`touchline_wire::fix`].
//!
//! Components are resolved and equal groups kept once, so that validating a message follows no names. Fields, values and
//! messages have limits; what is beyond them, or contradicts itself, is an error that names the line.

mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use touchline_wire::fix::dictionary::{
    DataPair, Dictionary, FieldType, Group, Member, MessageType, Span,
};

/// A dictionary read at run time, which lends itself as [`Dictionary`].
#[derive(Clone, Debug, Default)]
pub struct Tables {
    begin_string: String,
    text: String,
    fields: Vec<FieldType>,
    values: Vec<Span>,
    messages: Vec<MessageType>,
    members: Vec<Member>,
    groups: Vec<Group>,
    header: Span,
    trailer: Span,
    data: Vec<DataPair>,
}

impl Tables {
    /// Reads a dictionary; `file` is what errors call it.
    ///
    /// # Errors
    /// File, line, and what is wrong there: no XML, a field that is not defined, a number given twice, a component inside
    /// of itself, a group without fields, data without a length.
    pub fn read(file: &str, text: &str) -> Result<Tables, Mistake> {
        read::read(text).map_err(|(line, what)| Mistake {
            file: file.to_owned(),
            line,
            what,
        })
    }

    /// The tables.
    pub fn lend(&self) -> Dictionary<'_> {
        Dictionary {
            begin_string: &self.begin_string,
            text: &self.text,
            fields: &self.fields,
            values: &self.values,
            messages: &self.messages,
            members: &self.members,
            groups: &self.groups,
            header: self.header,
            trailer: self.trailer,
            data: &self.data,
        }
    }
}

/// What is wrong with a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong there, and what would be right.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for Mistake {}
