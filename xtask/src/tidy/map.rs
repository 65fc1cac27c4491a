//! The map of ARCHITECTURE.md is that of the code: layers in their order, and the excerpt of the path.

use super::{Finding, Repository, layers};

const PAGE: &str = "ARCHITECTURE.md";
const PIPELINE: &str = "crates/gateway/src/pipeline.rs";

/// The table has every crate once, with its layer, in the order of the layers; the first `rust` block is a part of the pipeline.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let Some(page) = repository.files.get(PAGE) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut find = |line: usize, what: String, fix: &str| {
        findings.push(Finding::new(PAGE, line, what, fix));
    };
    let mut named = Vec::new();
    let mut before = 0;
    for (number, line) in (1..).zip(page.lines()) {
        let Some((layer, cell)) = row(line) else {
            continue;
        };
        if layer < before {
            let what = format!("layer {layer} behind layer {before}");
            find(number, what, "order the rows of the map by layer");
        }
        before = layer;
        for name in crates(cell) {
            let known = layers::layer_of(name);
            if known != Some(layer) {
                let what = format!("{name} is of layer {known:?} and not {layer}");
                find(number, what, "state the layer of xtask/src/tidy/layers.rs");
            }
            named.push(name.to_owned());
        }
    }
    for name in layers::crates() {
        if !named.iter().any(|of| of == name) {
            find(
                1,
                format!("no row of the map has {name}"),
                "add the crate to the map",
            );
        }
    }
    let pipeline = repository.files.get(PIPELINE);
    let code = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        lines
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect()
    };
    let (excerpt, path) = (
        code(excerpt(page)),
        code(pipeline.map_or("", String::as_str)),
    );
    if !path
        .windows(excerpt.len().max(1))
        .any(|lines| lines == excerpt)
    {
        let what = format!("the excerpt is not of {PIPELINE}");
        find(1, what, "copy the lines; comments may differ");
    }
    findings
}

/// Layer and crates of a row of the map.
fn row(line: &str) -> Option<(u8, &str)> {
    let (layer, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
    let (cell, _) = rest.split_once(" | ")?;
    Some((layer.parse().ok()?, cell))
}

/// Folders of the crates that a cell links to.
fn crates(cell: &str) -> impl Iterator<Item = &str> {
    let links = cell.split("](crates/").skip(1);
    links.filter_map(|rest| rest.split('/').next())
}

/// The first `rust` block.
fn excerpt(page: &str) -> &str {
    let block = page.split_once("```rust\n").map_or("", |(_, rest)| rest);
    block.split_once("```").map_or(block, |(block, _)| block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_layer_a_wrong_order_and_another_excerpt_are_found() {
        let page = "```rust\nlet a = 1;   // one\nlet c = 3;\n```\n\
                    | 1 | [shm](crates/shm/src/lib.rs) | memory |\n| 1 | [types](crates/types/src/lib.rs) | prices |\n\
                    | 0 | [wire](crates/wire/src/lib.rs) | codecs |\n";
        let path = "fn apply() {\n    let a = 1;\n    let b = 2;\n    let c = 3;\n}\n";
        let findings = |page: &str| {
            let repository = Repository::of(&[(PAGE, page), (PIPELINE, path)]);
            let found = check(&repository).into_iter();
            let found = found.filter(|finding| !finding.what.starts_with("no row"));
            found.map(|finding| finding.what).collect::<Vec<_>>()
        };
        let expected = [
            "types is of layer Some(0) and not 1",
            "layer 0 behind layer 1",
            "the excerpt is not of crates/gateway/src/pipeline.rs",
        ];
        assert_eq!(findings(page), expected);
        let right = page
            .replace("let c", "let b = 2; let c")
            .replace("let b = 2; ", "let b = 2;\n");
        assert_eq!(findings(&right).len(), 2);
        assert!(
            check(&Repository::of(&[(PAGE, page)]))
                .iter()
                .any(|found| found.what.contains("has gateway"))
        );
    }
}
