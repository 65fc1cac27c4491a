//! Merges several versions of a schema, so that one view reads messages of all of them.
//!
//! The versions must be append-only, which is verified: each element of an older version has the same place and
//! encoding in the newer one; new elements state their version, and lie in padding, behind the old block, or after the
//! old groups. Templates that newer versions removed are kept.

use super::schema::{Body, Composite, Encoding, Field, Group, Schema};
use anyhow::{Context, Result, ensure};

/// Merges `versions` of one schema, in any order.
///
/// # Errors
/// Names the first change that is not append-only: a reader of one version would misread the
/// other.
pub fn merge(mut versions: Vec<Schema>) -> Result<Schema> {
    versions.sort_by_key(|schema| schema.version);
    let mut versions = versions.into_iter();
    let mut merged = versions.next().context("no schema was given")?;
    for newer in versions {
        let (from, to) = (merged.version, newer.version);
        merged = step(merged, newer).with_context(|| format!("from version {from} to {to}"))?;
    }
    Ok(merged)
}

fn step(older: Schema, mut newer: Schema) -> Result<Schema> {
    ensure!(
        older.version < newer.version,
        "version {} was given twice",
        newer.version
    );
    ensure!(
        older.id == newer.id,
        "these are different schemas, with ids {} and {}",
        older.id,
        newer.id
    );
    ensure!(
        older.byte_order == newer.byte_order,
        "the byte order changed"
    );
    same_composite(&older.header, &newer.header).context("in the message header")?;
    for message in older.messages {
        match newer
            .messages
            .iter_mut()
            .find(|other| other.id == message.id)
        {
            Some(other) => {
                ensure!(
                    other.name == message.name,
                    "template {} was {}, now {}",
                    message.id,
                    message.name,
                    other.name
                );
                append_only(&message.body, &mut other.body, older.version)
                    .with_context(|| format!("in {}", message.name))?;
            }
            None => newer.messages.push(message),
        }
    }
    newer.messages.sort_by_key(|message| message.id);
    Ok(newer)
}

/// Verifies that `newer` only adds to `older`, and copies the base of the oldest version.
fn append_only(older: &Body, newer: &mut Body, version: u16) -> Result<()> {
    let (was, is) = (older.block_length, newer.block_length);
    ensure!(was <= is, "the block shrank from {was} to {is} bytes");
    for field in &older.fields {
        let other = newer.fields.iter().find(|other| other.name == field.name);
        let other = other.with_context(|| format!("field {} was taken away", field.name))?;
        same_field(field, other).with_context(|| format!("in field {}", field.name))?;
    }
    for field in &newer.fields {
        if older.fields.iter().any(|other| other.name == field.name) {
            continue;
        }
        let (name, since, end) = (
            &field.name,
            field.since,
            field.offset + field.encoding.size(),
        );
        ensure!(
            since > version,
            "field {name} is new, but says that version {since} had it"
        );
        let within = end <= usize::from(was) || field.offset >= usize::from(was);
        ensure!(
            within,
            "field {name} begins in the padding of the old block and ends behind it"
        );
    }
    ensure!(
        newer.groups.len() >= older.groups.len(),
        "a group was taken away"
    );
    let (kept, added) = newer.groups.split_at_mut(older.groups.len());
    for (group, other) in older.groups.iter().zip(kept) {
        same_group(group, other, version).with_context(|| format!("in group {}", group.name))?;
    }
    for Group { name, since, .. } in added {
        ensure!(
            *since > version,
            "group {name} is new, but says that version {since} had it"
        );
    }
    let data = |body: &Body| {
        body.data
            .iter()
            .map(|data| data.name.clone())
            .collect::<Vec<_>>()
    };
    ensure!(
        data(newer).starts_with(&data(older)),
        "variable-length data was changed"
    );
    ensure!(
        older.data.is_empty() || newer.groups.len() == older.groups.len(),
        "a group was added before data"
    );
    newer.base = older.base;
    Ok(())
}

fn same_field(older: &Field, newer: &Field) -> Result<()> {
    ensure!(
        older.tag == newer.tag,
        "its id was {}, now {}",
        older.tag,
        newer.tag
    );
    ensure!(
        older.since == newer.since,
        "its sinceVersion was {}, now {}",
        older.since,
        newer.since
    );
    let constant = matches!(older.encoding, Encoding::Constant(_));
    ensure!(
        constant || older.offset == newer.offset,
        "it moved from byte {} to {}",
        older.offset,
        newer.offset
    );
    same_encoding(&older.encoding, &newer.encoding)
}

fn same_group(older: &Group, newer: &mut Group, version: u16) -> Result<()> {
    ensure!(
        older.name == newer.name,
        "its place was taken by {}",
        newer.name
    );
    ensure!(
        older.since == newer.since,
        "its sinceVersion was {}, now {}",
        older.since,
        newer.since
    );
    same_composite(&older.dimension, &newer.dimension)?;
    append_only(&older.body, &mut newer.body, version)
}

/// Same bytes, same meaning. Enums and sets may get new names and new members.
fn same_encoding(older: &Encoding, newer: &Encoding) -> Result<()> {
    match (older, newer) {
        (Encoding::Enum(older), Encoding::Enum(newer)) => {
            ensure!(
                older.name == newer.name && older.encoding == newer.encoding,
                "enum {} became {}",
                older.name,
                newer.name
            );
            let lost = older
                .values
                .iter()
                .find(|(_, value)| newer.values.iter().all(|(_, other)| other != value));
            ensure!(lost.is_none(), "enum {} lost a value: {lost:?}", older.name);
            Ok(())
        }
        (Encoding::Set(older), Encoding::Set(newer)) => {
            ensure!(
                older.name == newer.name && older.encoding == newer.encoding,
                "set {} became {}",
                older.name,
                newer.name
            );
            let lost = older
                .choices
                .iter()
                .find(|(_, bit)| newer.choices.iter().all(|(_, other)| other != bit));
            ensure!(lost.is_none(), "set {} lost a choice: {lost:?}", older.name);
            Ok(())
        }
        (Encoding::Composite(older), Encoding::Composite(newer)) => same_composite(older, newer),
        _ => {
            ensure!(older == newer, "its encoding was {older:?}, now {newer:?}");
            Ok(())
        }
    }
}

fn same_composite(older: &Composite, newer: &Composite) -> Result<()> {
    ensure!(
        older.name == newer.name,
        "composite {} became {}",
        older.name,
        newer.name
    );
    ensure!(
        older.members.len() == newer.members.len(),
        "composite {} changed its members",
        older.name
    );
    for (member, other) in older.members.iter().zip(&newer.members) {
        let same = member.name == other.name && member.offset == other.offset;
        ensure!(
            same,
            "composite {} changed its member {}",
            older.name,
            member.name
        );
        same_encoding(&member.encoding, &other.encoding)?;
    }
    Ok(())
}
