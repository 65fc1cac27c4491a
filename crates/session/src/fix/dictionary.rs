//! Dictionaries in the XML format of QuickFIX, as venues publish them, converted to tables for [`touchline_wire::fix`].
//!
//! Components are resolved and equal groups stored once, so that validation follows no names. Fields, values and
//! messages have limits; a file that exceeds them or contradicts itself is an error that names the line.

mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use touchline_wire::fix::dictionary::{
    DataPair, Dictionary, FieldType, Group, Member, MessageType, Span,
};

/// A dictionary read at run time; [`Dictionary`] borrows it.
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
    /// Reads a dictionary; `file` is its name in errors.
    ///
    /// # Errors
    /// File, line and problem: invalid XML, an undefined field, a number used twice, a component that contains itself,
    /// a group without fields, data without a length.
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

/// Error in a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Path of the file, as given.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The problem and the valid form.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for Mistake {}
