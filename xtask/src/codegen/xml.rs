//! The little that reading a schema needs of XML: any namespace prefix, trimmed text, clear errors.

use anyhow::{Context, Result};
use roxmltree::Node;
use std::str::FromStr;

/// The elements directly below `node`.
pub fn children<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

/// An attribute.
pub fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attribute(name).map(str::trim)
}

/// An attribute that has to be there.
pub fn required<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str> {
    attribute(node, name).with_context(|| {
        let position = node.document().text_pos_at(node.range().start);
        format!(
            "<{}> at {position} has no attribute '{name}'",
            node.tag_name().name()
        )
    })
}

/// A numeric attribute.
pub fn number<T: FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    node: Node<'_, '_>,
    name: &str,
) -> Result<Option<T>> {
    let parse = |value: &str| {
        value
            .parse()
            .with_context(|| format!("{name} '{value}' is not a number that fits here"))
    };
    attribute(node, name).map(parse).transpose()
}

/// The text of an element, without the white space around it. `None` if that is empty.
pub fn text<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.text().map(str::trim).filter(|text| !text.is_empty())
}
