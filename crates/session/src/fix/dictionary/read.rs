//! Conversion of XML to tables.

use super::Tables;
use crate::xml;
use roxmltree::Node;
use std::collections::HashMap;
use touchline_wire::fix::dictionary::{
    DEPTH_MAX, DataPair, FieldType, Group, Kind, MEMBERS_MAX, Member, MessageType, NO_GROUP, Span,
};

/// Line and problem.
type Wrong = (u32, String);

/// Maximum size of a dictionary, bytes; the largest known one has a third of a million.
const BYTES_MAX: usize = 8 << 20;
/// Maximum number of elements, each component counted at every use; the largest known dictionary has ten thousand.
const ELEMENTS_MAX: usize = 1_000_000;

pub(super) fn read(text: &str) -> Result<Tables, Wrong> {
    if text.len() > BYTES_MAX {
        return Err((1, format!("longer than {BYTES_MAX} bytes")));
    }
    let document = xml::parse(text)?;
    let root = document.root_element();
    if !root.has_tag_name("fix") {
        return Err(wrong(root, "begins with another element than <fix>"));
    }
    let mut reader = Reader {
        components: HashMap::new(),
        fields: HashMap::new(),
        texts: HashMap::new(),
        groups: HashMap::new(),
        elements: 0,
        tables: Tables {
            begin_string: begin_string(root)?,
            ..Tables::default()
        },
    };
    reader.fields(section(root, "fields")?)?;
    reader.components(root)?;
    reader.tables.header = reader.level(section(root, "header")?)?;
    reader.tables.trailer = reader.level(section(root, "trailer")?)?;
    reader.messages(section(root, "messages")?)?;
    Ok(reader.tables)
}

/// Tables so far, by name.
struct Reader<'a> {
    components: HashMap<&'a str, Node<'a, 'a>>,
    fields: HashMap<&'a str, Named>,
    texts: HashMap<&'a str, Span>,
    groups: HashMap<(u32, Vec<Member>), u16>,
    /// Elements visited while components are resolved.
    elements: usize,
    tables: Tables,
}

/// Definition of a field.
#[derive(Clone, Copy)]
struct Named {
    tag: u32,
    kind: Kind,
}

impl<'a> Reader<'a> {
    fn fields(&mut self, section: Node<'a, 'a>) -> Result<(), Wrong> {
        let mut numbers = HashMap::new();
        for node in elements(section) {
            let (tag, name) = (number(node)?, attribute(node, "name")?);
            let kind = kind(attribute(node, "type")?).ok_or_else(|| {
                wrong(
                    node,
                    &format!("field {name} has a type that FIX does not have"),
                )
            })?;
            if let Some(other) = numbers.insert(tag, name) {
                return Err(wrong(
                    node,
                    &format!("{tag} is the number of {other} already"),
                ));
            }
            if self.fields.insert(name, Named { tag, kind }).is_some() {
                return Err(wrong(node, &format!("field {name} is defined twice")));
            }
            let (name, values) = (self.text(name), self.values(node)?);
            self.tables.fields.push(FieldType {
                tag,
                kind,
                name,
                values,
            });
        }
        self.tables.fields.sort_by_key(|field| field.tag);
        for node in elements(section).filter(|node| is_data(*node)) {
            self.data(node)?;
        }
        self.tables.data.sort_by_key(|pair| pair.length);
        Ok(())
    }

    /// The allowed values of a field, sorted.
    fn values(&mut self, field: Node<'a, 'a>) -> Result<Span, Wrong> {
        // Such a list names some values and allows any: it is not a restriction.
        if field.attribute("allowOtherValues") == Some("true") {
            return Ok(extend(&mut self.tables.values, Vec::new()));
        }
        let mut values = elements(field)
            .map(|value| attribute(value, "enum"))
            .collect::<Result<Vec<&str>, Wrong>>()?;
        values.sort_unstable();
        values.dedup();
        let values: Vec<Span> = values.into_iter().map(|value| self.text(value)).collect();
        Ok(extend(&mut self.tables.values, values))
    }

    /// The length field of a data field has its name with the suffix `Len` or `Length`.
    fn data(&mut self, field: Node<'a, 'a>) -> Result<(), Wrong> {
        let name = attribute(field, "name")?;
        let length = ["Len", "Length"]
            .iter()
            .find_map(|end| self.fields.get(format!("{name}{end}").as_str()))
            .filter(|length| length.kind == Kind::Length)
            .ok_or_else(|| {
                let what = format!("data field {name} has no field {name}Len of type LENGTH");
                wrong(field, &what)
            })?;
        let pair = DataPair {
            length: length.tag,
            data: number(field)?,
        };
        self.tables.data.push(pair);
        Ok(())
    }

    fn components(&mut self, root: Node<'a, 'a>) -> Result<(), Wrong> {
        let sections = elements(root).filter(|node| node.has_tag_name("components"));
        for node in sections.flat_map(elements) {
            let name = attribute(node, "name")?;
            if self.components.insert(name, node).is_some() {
                return Err(wrong(node, &format!("component {name} is defined twice")));
            }
        }
        Ok(())
    }

    fn messages(&mut self, section: Node<'a, 'a>) -> Result<(), Wrong> {
        let mut types = HashMap::new();
        for node in elements(section) {
            let (name, msg_type) = (attribute(node, "name")?, attribute(node, "msgtype")?);
            if let Some(other) = types.insert(msg_type, name) {
                let what = format!("{msg_type} is the type of message {other} already");
                return Err(wrong(node, &what));
            }
            let message = MessageType {
                msg_type: self.text(msg_type),
                name: self.text(name),
                members: self.level(node)?,
            };
            self.tables.messages.push(message);
        }
        let text = std::mem::take(&mut self.tables.text);
        let of = |span: Span| &text[span.start as usize..(span.start + span.len) as usize];
        self.tables
            .messages
            .sort_by_key(|message| of(message.msg_type));
        self.tables.text = text;
        Ok(())
    }

    /// Members of a message, the header or the trailer.
    fn level(&mut self, node: Node<'a, 'a>) -> Result<Span, Wrong> {
        let members = self.members(node, 0, &mut Vec::new())?;
        Ok(extend(&mut self.tables.members, members))
    }

    /// Members of a node, ascending by tag.
    fn members(
        &mut self,
        node: Node<'a, 'a>,
        depth: usize,
        inside: &mut Vec<&'a str>,
    ) -> Result<Vec<Member>, Wrong> {
        if depth > DEPTH_MAX {
            let what = format!("groups inside of groups, more than {DEPTH_MAX} deep");
            return Err(wrong(node, &what));
        }
        let mut members = Vec::new();
        self.collect(node, true, depth, inside, &mut members)?;
        if members.len() > MEMBERS_MAX {
            let what = format!("{} fields, more than {MEMBERS_MAX}", members.len());
            return Err(wrong(node, &what));
        }
        members.sort_by_key(|member| member.tag);
        Ok(members)
    }

    fn collect(
        &mut self,
        node: Node<'a, 'a>,
        all_required: bool,
        depth: usize,
        inside: &mut Vec<&'a str>,
        members: &mut Vec<Member>,
    ) -> Result<(), Wrong> {
        for child in elements(node) {
            self.elements += 1;
            if self.elements > ELEMENTS_MAX {
                let what = format!("more than {ELEMENTS_MAX} elements, components resolved");
                return Err(wrong(child, &what));
            }
            let name = attribute(child, "name")?;
            let required = all_required && child.attribute("required") == Some("Y");
            let group = match child.tag_name().name() {
                "field" => NO_GROUP,
                "group" => self.group(child, depth + 1, inside)?,
                "component" => {
                    if inside.contains(&name) {
                        let what = format!("component {name} is part of itself");
                        return Err(wrong(child, &what));
                    }
                    let component =
                        self.components.get(name).copied().ok_or_else(|| {
                            wrong(child, &format!("component {name} is not defined"))
                        })?;
                    inside.push(name);
                    self.collect(component, required, depth, inside, members)?;
                    inside.pop();
                    continue;
                }
                other => return Err(wrong(child, &format!("<{other}> is not allowed here"))),
            };
            let tag = self.field(child, name)?.tag;
            // Some venues list a field twice; it is required if either is.
            match members.iter_mut().find(|member| member.tag == tag) {
                Some(member) => member.required |= required,
                None => members.push(Member {
                    tag,
                    required,
                    place: members.len() as u16,
                    group,
                }),
            }
        }
        Ok(())
    }

    /// Row of a group; equal groups share one.
    fn group(
        &mut self,
        node: Node<'a, 'a>,
        depth: usize,
        inside: &mut Vec<&'a str>,
    ) -> Result<u16, Wrong> {
        let members = self.members(node, depth, inside)?;
        let first = members.iter().find(|member| member.place == 0);
        let delimiter = first
            .ok_or_else(|| wrong(node, "a group without fields"))?
            .tag;
        let key = (delimiter, members);
        if let Some(row) = self.groups.get(&key) {
            return Ok(*row);
        }
        let row = u16::try_from(self.tables.groups.len())
            .ok()
            .filter(|row| *row != NO_GROUP)
            .ok_or_else(|| wrong(node, "more groups than fit"))?;
        let members = extend(&mut self.tables.members, key.1.clone());
        self.tables.groups.push(Group { delimiter, members });
        self.groups.insert(key, row);
        Ok(row)
    }

    fn field(&self, node: Node<'_, '_>, name: &str) -> Result<Named, Wrong> {
        let field = self.fields.get(name).copied();
        field.ok_or_else(|| wrong(node, &format!("field {name} is not defined in <fields>")))
    }

    fn text(&mut self, text: &'a str) -> Span {
        let all = &mut self.tables.text;
        *self.texts.entry(text).or_insert_with(|| {
            let start = all.len() as u32;
            all.push_str(text);
            Span {
                start,
                len: text.len() as u32,
            }
        })
    }
}

fn extend<T>(table: &mut Vec<T>, rows: Vec<T>) -> Span {
    let span = Span {
        start: table.len() as u32,
        len: rows.len() as u32,
    };
    table.extend(rows);
    span
}

/// `FIX.4.4`, from type, major and minor.
fn begin_string(root: Node<'_, '_>) -> Result<String, Wrong> {
    let kind = root.attribute("type").unwrap_or("FIX");
    let (major, minor) = (attribute(root, "major")?, attribute(root, "minor")?);
    Ok(format!("{kind}.{major}.{minor}"))
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "INT" | "SEQNUM" | "DAYOFMONTH" | "DAY" => Kind::Int,
        "LENGTH" => Kind::Length,
        "NUMINGROUP" => Kind::Count,
        "FLOAT" | "QTY" | "QUANTITY" | "PRICE" | "PRICEOFFSET" | "AMT" | "PERCENTAGE" => {
            Kind::Number
        }
        "CHAR" => Kind::Char,
        "BOOLEAN" => Kind::Flag,
        "MULTIPLEVALUESTRING" | "MULTIPLESTRINGVALUE" | "MULTIPLECHARVALUE" => Kind::Words,
        "UTCTIMESTAMP" | "TIME" => Kind::Timestamp,
        "UTCTIMEONLY" => Kind::Time,
        "UTCDATEONLY" | "UTCDATE" | "LOCALMKTDATE" | "DATE" => Kind::Date,
        "MONTHYEAR" => Kind::Month,
        "DATA" | "XMLDATA" => Kind::Data,
        "STRING" | "CURRENCY" | "EXCHANGE" | "COUNTRY" | "LANGUAGE" | "TENOR" | "RESERVED"
        | "TZTIMEONLY" | "TZTIMESTAMP" | "LOCALMKTTIME" | "XID" | "XIDREF" => Kind::Text,
        _ => return None,
    })
}

fn is_data(field: Node<'_, '_>) -> bool {
    field.attribute("type").and_then(kind) == Some(Kind::Data)
}

/// Number of a field.
fn number(node: Node<'_, '_>) -> Result<u32, Wrong> {
    let text = attribute(node, "number")?;
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=999_999_999).contains(number));
    number.ok_or_else(|| {
        wrong(
            node,
            &format!("'{text}' is not a tag; a tag has up to nine digits"),
        )
    })
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, Wrong> {
    let value = node.attribute(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let element = node.tag_name().name();
        wrong(node, &format!("<{element}> has no attribute '{name}'"))
    })
}

fn section<'a>(root: Node<'a, 'a>, name: &str) -> Result<Node<'a, 'a>, Wrong> {
    let found = elements(root).find(|node| node.has_tag_name(name));
    found.ok_or_else(|| wrong(root, &format!("has no section <{name}>")))
}

fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

fn wrong(node: Node<'_, '_>, what: &str) -> Wrong {
    let line = node.document().text_pos_at(node.range().start).row;
    (line, what.to_owned())
}
