//! Unsafe code has an address. That every use has its proof beside it is a lint of clippy.

use super::{Finding, Repository};

/// The only places where unsafe code is allowed: mapped memory, the kernel's interfaces, Aeron's C interface, pointers of C
/// programs, the allocator that counts, an import of Python that may not return, and the rivals, which are not shipped.
const PLACES: &[&str] = &[
    "crates/shm/",
    "crates/net/",
    "crates/aeron/",
    "crates/capi/",
    "crates/lab/src/frozen.rs",
    "crates/python/src/numpy.rs",
    "competitors/",
];

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
}
