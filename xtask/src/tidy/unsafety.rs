//! Unsafe code has an address, and every use has a proof beside it.

use super::{Finding, Repository, source::Line};
use std::{collections::BTreeMap, ops::Range};

/// The only places where unsafe code is allowed: mapped memory, the kernel's interfaces, Aeron's C interface, the allocator that
/// counts, and the rivals, which are not shipped.
const PLACES: &[&str] = &[
    "crates/shm/",
    "crates/net/",
    "crates/aeron/",
    "crates/lab/src/frozen.rs",
    "competitors/",
];

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Unsafe code is only where the design allows it.
pub fn places(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        if PLACES.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for (at, _) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.has_word("unsafe"))
        {
            let fix = format!(
                "write it safely, or move it to one of {}",
                PLACES.join(", ")
            );
            findings.push(Finding::new(
                path,
                at + 1,
                "unsafe code outside its crates",
                fix,
            ));
        }
    }
    findings
}

/// Each unsafe block, implementation and function has its proof directly above or at the end of its line.
pub fn reasons(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        let mut implementation = 0..0;
        for at in 0..lines.len() {
            if lines[at].has_word("unsafe") && lines[at].code.contains("impl ") {
                implementation = block(lines, at);
            }
            // A pointer type such as `unsafe extern "C" fn(i32)` does nothing by itself; what is called through it is
            // an unsafe block of its own. The contract of a method of an unsafe trait is the trait's.
            let is_type = lines[at].code.contains(": unsafe extern");
            let is_method = implementation.contains(&at) && lines[at].code.contains("unsafe fn");
            let is_use = lines[at].has_word("unsafe") && !is_type && !is_method;
            if is_use && !is_justified(lines, at) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    "unsafe without its proof",
                    "say above it, after `// SAFETY:` (or under `# Safety` in the docs of a function), why each \
                     requirement holds",
                ));
            }
        }
    }
    findings
}

/// The lines of the braces that open on line `start`.
fn block(lines: &[Line], start: usize) -> Range<usize> {
    let mut depth = 0;
    for (at, line) in lines.iter().enumerate().skip(start) {
        depth += line.code.matches('{').count();
        depth = depth.saturating_sub(line.code.matches('}').count());
        if depth == 0 {
            return start..at + 1;
        }
    }
    start..lines.len()
}

/// Whether the comment and attribute lines directly above line `at`, or the line itself, hold a safety note.
fn is_justified(lines: &[Line], at: usize) -> bool {
    let notes = |line: &Line| line.comment.contains("SAFETY:") || line.comment.contains("# Safety");
    let above = lines[..at]
        .iter()
        .rev()
        .take_while(|line| line.is_comment() || line.code.trim_start().starts_with("#["));
    notes(&lines[at]) || above.into_iter().any(notes)
}

/// A crate that has no unsafe code says so to the compiler.
pub fn forbidden(repository: &Repository) -> Vec<Finding> {
    let mut uses: BTreeMap<&str, bool> = BTreeMap::new();
    for (path, lines) in repository.rust_lines() {
        *uses.entry(package(path)).or_default() |= lines.iter().any(|line| line.has_word("unsafe"));
    }
    repository
        .crate_roots()
        .filter(|(path, text)| !uses[package(path)] && !text.contains(FORBID))
        .map(|(path, _)| {
            Finding::new(
                path,
                1,
                "nothing forbids unsafe code here",
                format!("add {FORBID}"),
            )
        })
        .collect()
}

/// The folder of the package that `path` belongs to.
fn package(path: &str) -> &str {
    path.split_once("/src/")
        .map_or(path, |(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVEN: &str = "// SAFETY: the pointer was checked.\nunsafe { f() }";

    #[test]
    fn unsafe_outside_its_crates_is_found() {
        let outside = Repository::of(&[("crates/book/src/lib.rs", PROVEN)]);
        assert_eq!(places(&outside)[0].line, 2);
        let inside = [
            ("crates/shm/src/lib.rs", PROVEN),
            ("crates/lab/src/frozen.rs", PROVEN),
            ("competitors/src/bin/rival.rs", PROVEN),
        ];
        assert_eq!(places(&Repository::of(&inside)), []);
        let words = [(
            "crates/book/src/lib.rs",
            "#![forbid(unsafe_code)] // not unsafe\nlet a = \"unsafe\";",
        )];
        assert_eq!(places(&Repository::of(&words)), []);
    }

    #[test]
    fn unsafe_in_competitors_needs_a_safety_comment() {
        let rival = [("competitors/src/bin/rival.rs", "unsafe { f() }")];
        assert_eq!(places(&Repository::of(&rival)), []);
        assert_eq!(reasons(&Repository::of(&rival)).len(), 1);
    }

    #[test]
    fn unsafe_without_a_safety_comment_is_found() {
        for (text, count) in [
            (PROVEN, 0),
            (
                "/// Does.\n/// # Safety\n/// The caller keeps it mapped.\npub unsafe fn f() {}",
                0,
            ),
            (
                "// SAFETY: one owner.\n#[inline]\nunsafe impl Send for A {}",
                0,
            ),
            ("let a = unsafe { f() }; // SAFETY: checked above.", 0),
            ("type Call = A { call: unsafe extern \"C\" fn(i32) }", 0),
            (
                "// SAFETY: hands on.\nunsafe impl A for B {\n    unsafe fn f() {\n    }\n}",
                0,
            ),
            (
                "// SAFETY: hands on.\nunsafe impl A for B {\n    fn f() { unsafe { g() } }\n}",
                1,
            ),
            (
                "// SAFETY: hands on.\nunsafe impl A for B {}\nunsafe fn f() {}",
                1,
            ),
            ("unsafe { f() }", 1),
            ("// SAFETY: of another line\nlet a = 1;\nunsafe { f() }", 1),
            ("// quick\nunsafe impl Sync for A {}", 1),
        ] {
            assert_eq!(
                reasons(&Repository::of(&[("crates/shm/src/a.rs", text)])).len(),
                count,
                "{text}"
            );
        }
    }

    #[test]
    fn a_crate_without_unsafe_must_forbid_it() {
        let open = [("crates/book/src/lib.rs", "//! Books.")];
        assert_eq!(forbidden(&Repository::of(&open)).len(), 1);
        let closed = [(
            "crates/book/src/lib.rs",
            "//! Books.\n#![forbid(unsafe_code)]",
        )];
        assert_eq!(forbidden(&Repository::of(&closed)), []);
        let used = [
            ("crates/shm/src/lib.rs", "//! Ring."),
            ("crates/shm/src/ring.rs", PROVEN),
        ];
        assert_eq!(forbidden(&Repository::of(&used)), []);
    }
}
