//! XML of dictionaries and of venues' addresses, with limits on input that would take a parser hours: millions of
//! attributes, deeply nested elements. A document type, and so an entity, is refused by the parser.

use roxmltree::{Document, ParsingOptions};

/// Attributes of an element; known files have ten.
const ATTRIBUTES_MAX: usize = 64;
/// Elements inside each other; known files have ten.
const DEPTH_MAX: usize = 64;
/// Declarations of namespaces in a document; known files have two. The parser keeps all of an element again in each element inside it.
const NAMESPACES_MAX: usize = 16;
/// Nodes of a document; the largest known one has a hundred thousand.
const NODES_MAX: u32 = 1_000_000;

/// Parses a text.
///
/// # Errors
/// Line and problem.
pub fn parse(text: &str) -> Result<Document<'_>, (u32, String)> {
    check(text)?;
    let options = ParsingOptions {
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options)
        .map_err(|error| (error.pos().row, error.to_string()))
}

/// Counts the quoted values of each tag, the tags inside each other, and the namespaces.
fn check(text: &str) -> Result<(), (u32, String)> {
    let wrong = |rest: &str, what: String| {
        let before = &text.as_bytes()[..text.len() - rest.len()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Err((line as u32, what))
    };
    let (mut rest, mut depth, mut namespaces) = (text, 0_usize, 0);
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let verbatim = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        let ends = verbatim.iter().find(|(begin, _)| rest.starts_with(begin));
        if let Some((begin, end)) = ends {
            // Without its end it is refused by the parser.
            let Some(length) = rest[begin.len()..].find(end) else {
                return Ok(());
            };
            rest = &rest[begin.len() + length + end.len()..];
            continue;
        }
        let (length, attributes) = tag(rest);
        if attributes > ATTRIBUTES_MAX {
            let what = format!("an element has more than {ATTRIBUTES_MAX} attributes");
            return wrong(rest, what);
        }
        // A value may contain the word, too; none of a known file does.
        namespaces += rest[..length].matches("xmlns").count();
        if namespaces > NAMESPACES_MAX {
            let what = format!("more than {NAMESPACES_MAX} declarations of namespaces");
            return wrong(rest, what);
        }
        match (rest.starts_with("</"), rest[..length].ends_with("/>")) {
            (true, _) => depth = depth.saturating_sub(1),
            (false, true) => {}
            (false, false) => depth += 1,
        }
        if depth > DEPTH_MAX {
            let what = format!("more than {DEPTH_MAX} elements inside each other");
            return wrong(rest, what);
        }
        rest = &rest[length..];
    }
    Ok(())
}

/// Bytes of the tag at the beginning of a text, which may have no end, and its quoted values.
fn tag(text: &str) -> (usize, usize) {
    let (mut quote, mut values) = (None, 0);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return (at + 1, values),
            (Some(open), _) if open == byte => {
                quote = None;
                values += 1;
            }
            _ => {}
        }
    }
    (text.len(), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn refused(text: &str) -> (u32, String) {
        let begun = Instant::now();
        let refused = parse(text).map(drop).expect_err("a bomb");
        assert!(begun.elapsed() < Duration::from_secs(5), "{refused:?}");
        refused
    }

    /// Each of these inputs would take the parser minutes, or the stack of the thread.
    #[test]
    fn attributes_and_elements_without_end_are_refused() {
        let attributes =
            |count: usize| -> String { (0..count).map(|at| format!(" a{at}='>\"'")).collect() };
        let (line, what) = refused(&format!(
            "<a>\n<!-- \" ' --><b{}/></a>",
            attributes(1_000_000)
        ));
        assert_eq!(line, 2, "{what}");
        assert!(what.contains("more than 64 attributes"), "{what}");
        refused(&format!("<a{}", attributes(1_000_000)));
        let (_, what) = refused(&"<a>".repeat(1_000_000));
        assert!(what.contains("inside each other"), "{what}");
        let declared: String = (0..16).map(|at| format!(" xmlns:a{at}='{at}'")).collect();
        let (line, what) = refused(&format!("<a{declared}>\n<b xmlns:c='d'/></a>"));
        assert_eq!(line, 2, "{what}");
        assert!(what.contains("more than 16 declarations"), "{what}");
        let (_, what) = refused(&format!("<a>{}</a>", "<b/>".repeat(1_000_001)));
        assert!(what.contains("nodes limit"), "{what}");
        refused("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>");
        for whole in [
            format!("<a{}/>", attributes(64)),
            format!("<a{declared}/>"),
            format!("<?xml version='1.0'?><a>{}</a>", "<b c='d'/>".repeat(1_000)),
            "<a>".repeat(64) + &"</a>".repeat(64),
            "<a><![CDATA[<b ' ]]></a>".to_owned(),
        ] {
            assert!(parse(&whole).is_ok(), "{whole:.100}");
        }
    }
}
