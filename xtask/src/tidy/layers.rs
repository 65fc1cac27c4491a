//! Table of allowed dependencies between the crates.

use super::{Finding, Repository};

/// A package, its layer, and every package of ours that it may depend on. An edge outside this list is refused: a new edge
/// is a change to the design and belongs in a review of its own.
struct Package {
    name: &'static str,
    layer: u8,
    may_know: &'static [&'static str],
}

const fn package(name: &'static str, layer: u8, may_know: &'static [&'static str]) -> Package {
    Package {
        name,
        layer,
        may_know,
    }
}

const PACKAGES: &[Package] = &[
    package("touchline-types", 0, &[]),
    package("touchline-wire", 0, &[]),
    package("touchline-chart", 0, &[]),
    package("touchline-shm", 1, &[]),
    package("touchline-net", 1, &[]),
    package("touchline-aeron", 1, &[]),
    package("touchline-settings", 1, &["touchline-types"]),
    package("touchline-fx-days", 2, &["touchline-settings"]),
    package("touchline-instruments", 1, &["touchline-types"]),
    package(
        "touchline-session",
        2,
        &["touchline-types", "touchline-wire"],
    ),
    package(
        "touchline-feed",
        3,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-instruments",
            "touchline-session",
            "touchline-settings",
            "touchline-fx-days",
            "touchline-fx-events",
            "touchline-fx",
        ],
    ),
    package(
        "touchline-credentials",
        3,
        &[
            "touchline-types",
            "touchline-settings",
            "touchline-net",
            "touchline-session",
        ],
    ),
    package("touchline-book", 2, &["touchline-types"]),
    package("touchline-journal", 2, &["touchline-shm"]),
    package(
        "touchline-replication",
        3,
        &["touchline-types", "touchline-net", "touchline-journal"],
    ),
    package(TESTING, 2, &["touchline-shm"]),
    package(
        "touchline-fx-events",
        1,
        &["touchline-types", "touchline-wire"],
    ),
    package(
        "touchline-fx",
        2,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-settings",
            "touchline-fx-events",
        ],
    ),
    package(
        "touchline-transport",
        3,
        &["touchline-types", "touchline-shm", "touchline-book"],
    ),
    package(
        "touchline-tape",
        4,
        &[
            "touchline-types",
            "touchline-net",
            "touchline-instruments",
            "touchline-journal",
            "touchline-transport",
        ],
    ),
    package(
        "touchline-export",
        5,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-book",
            "touchline-journal",
            "touchline-transport",
            "touchline-tape",
        ],
    ),
    package(
        "touchline-client",
        5,
        &[
            "touchline-types",
            "touchline-book",
            "touchline-instruments",
            "touchline-fx-events",
            "touchline-fx-desk",
            "touchline-tape",
            "touchline-transport",
        ],
    ),
    package(
        "touchline-gateway",
        4,
        &[
            "touchline-types",
            "touchline-instruments",
            "touchline-wire",
            "touchline-net",
            "touchline-session",
            "touchline-settings",
            "touchline-credentials",
            "touchline-fx-days",
            "touchline-feed",
            "touchline-book",
            "touchline-transport",
        ],
    ),
    package(
        "touchline-relay",
        4,
        &[
            "touchline-types",
            "touchline-aeron",
            "touchline-settings",
            "touchline-net",
            "touchline-credentials",
            "touchline-book",
            "touchline-transport",
        ],
    ),
    package(
        LAB,
        4,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-shm",
            "touchline-settings",
            "touchline-net",
            "touchline-session",
            "touchline-fx-days",
            "touchline-feed",
            "touchline-book",
            "touchline-transport",
            TESTING,
        ],
    ),
    package(
        "touchline-load",
        4,
        &[
            "touchline-types",
            "touchline-shm",
            "touchline-aeron",
            "touchline-chart",
            "touchline-transport",
            TESTING,
        ],
    ),
    package(
        "touchline-fx-desk",
        4,
        &[
            "touchline-types",
            "touchline-fx-events",
            "touchline-journal",
            "touchline-transport",
        ],
    ),
    package(
        LIVE,
        5,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-settings",
            "touchline-net",
            "touchline-session",
            "touchline-credentials",
            "touchline-journal",
            "touchline-fx-days",
            "touchline-fx-events",
            "touchline-fx-days",
            "touchline-fx",
            "touchline-fx-desk",
            "touchline-transport",
        ],
    ),
    package(
        "touchline",
        6,
        &[
            "touchline-types",
            "touchline-instruments",
            "touchline-wire",
            "touchline-net",
            "touchline-aeron",
            "touchline-session",
            "touchline-settings",
            "touchline-credentials",
            "touchline-feed",
            "touchline-book",
            "touchline-transport",
            "touchline-client",
            "touchline-gateway",
            "touchline-relay",
            "touchline-fx-days",
            "touchline-fx-events",
            "touchline-fx",
            "touchline-fx-desk",
            LIVE,
            "touchline-client",
            "touchline-journal",
            "touchline-tape",
            "touchline-export",
            "touchline-replication",
            "touchline-load",
            "touchline-chart",
            LAB,
        ],
    ),
    // The tests publish and record with crates below the client.
    package(
        "touchline-capi",
        6,
        &[
            "touchline-types",
            "touchline-shm",
            "touchline-transport",
            "touchline-tape",
            "touchline-client",
        ],
    ),
    package(
        "touchline-python",
        6,
        &[
            "touchline-instruments",
            "touchline-transport",
            "touchline-client",
            "touchline-gateway",
        ],
    ),
    // Tools depend only on the crates of code generation, its tests and charts; fuzzing may use every crate.
    package(
        "xtask",
        4,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-net",
            "touchline-session",
            "touchline-feed",
            "touchline-chart",
            TESTING,
        ],
    ),
    package(
        "touchline-fuzz",
        7,
        &[
            "touchline-types",
            "touchline-wire",
            "touchline-shm",
            "touchline-net",
            "touchline-session",
            "touchline-feed",
            "touchline-fx-events",
            "touchline-fx",
            "touchline-journal",
            "touchline-transport",
            "touchline-relay",
            "touchline-gateway",
            LAB,
            "xtask",
        ],
    ),
];

/// The simulators: any test may use them, no library may.
const LAB: &str = "touchline-lab";

/// Crate that tests share: any test, the lab and the load test may use it, no library may.
const TESTING: &str = "touchline-testing";

/// The composer writes sessions: tests of the core replay them.
const LIVE: &str = "touchline-fx-live";

/// The writer of tapes: tests of readers have one.
const JOURNAL: &str = "touchline-journal";

/// Each dependency between our packages is in the table; a test may also use the lab, what tests share, the writers
/// of recorded sessions and tapes, and its own package with other features.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edge in &repository.edges {
        let manifest = manifest(repository, &edge.from);
        let line = line_of(repository, &manifest, &edge.to);
        let Some(package) = PACKAGES.iter().find(|package| package.name == edge.from) else {
            findings.push(Finding::new(
                &manifest,
                1,
                format!("package {} has no place in the dependency table", edge.from),
                "give it a layer in xtask/src/tidy/layers.rs",
            ));
            continue;
        };
        let allowed = package.may_know.contains(&edge.to.as_str())
            || (edge.dev
                && [LAB, TESTING, LIVE, JOURNAL, edge.from.as_str()].contains(&edge.to.as_str()));
        if !allowed {
            findings.push(Finding::new(
                &manifest,
                line,
                format!("{} (layer {}) may not depend on {}", edge.from, package.layer, edge.to),
                "move the code to the crate that may use both, or change the design and the table in \
                 xtask/src/tidy/layers.rs",
            ));
        }
    }
    findings
}

/// Layer of the package in a folder of `crates`.
pub fn layer_of(folder: &str) -> Option<u8> {
    let package = PACKAGES
        .iter()
        .find(|package| folder_of(package.name) == folder);
    package.map(|package| package.layer)
}

/// Folders of the packages in `crates`.
pub fn crates() -> impl Iterator<Item = &'static str> {
    let outside = ["xtask", "touchline-fuzz"];
    let packages = PACKAGES.iter().map(|package| package.name);
    packages
        .filter(move |name| !outside.contains(name))
        .map(folder_of)
}

fn folder_of(package: &str) -> &str {
    package.strip_prefix("touchline-").unwrap_or(package)
}

/// Each edge of the table is used: an unused edge would permit an unwanted dependency.
pub fn unused(repository: &Repository) -> Vec<Finding> {
    let is_used = |from: &str, to: &str| {
        let mut edges = repository.edges.iter();
        edges.any(|edge| edge.from == from && edge.to == to)
    };
    let mut findings = Vec::new();
    for package in PACKAGES {
        let spare = package.may_know.iter();
        for known in spare.filter(|known| !is_used(package.name, known)) {
            findings.push(Finding::new(
                "xtask/src/tidy/layers.rs",
                1,
                format!("{} may depend on {known} but does not", package.name),
                "remove the edge from the table",
            ));
        }
    }
    findings
}

/// Path of the manifest that declares `package`.
fn manifest(repository: &Repository, package: &str) -> String {
    let declaration = format!("name = \"{package}\"");
    repository
        .with_extension("toml")
        .find(|(path, text)| path.ends_with("Cargo.toml") && text.contains(&declaration))
        .map_or_else(|| "Cargo.toml".to_owned(), |(path, _)| path.to_owned())
}

/// Line of the dependency on `package` in a manifest, from 1.
fn line_of(repository: &Repository, manifest: &str, package: &str) -> usize {
    let text = repository.files.get(manifest).map_or("", String::as_str);
    let names = |line: &str| {
        line.strip_prefix(package)
            .is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    };
    text.lines().position(names).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::{super::Edge, *};

    fn with_edge(from: &str, to: &str, dev: bool) -> Vec<Finding> {
        let manifest =
            format!("[package]\nname = \"{from}\"\n[dependencies]\n{to}.workspace = true\n");
        let mut repository = Repository::of(&[("crates/x/Cargo.toml", &manifest)]);
        repository.edges.insert(Edge {
            from: from.into(),
            to: to.into(),
            dev,
        });
        check(&repository)
    }

    #[test]
    fn every_edge_of_the_table_points_to_a_lower_layer() {
        for package in PACKAGES {
            for known in package.may_know {
                let below = PACKAGES
                    .iter()
                    .find(|r| r.name == *known)
                    .expect("each room of the table exists");
                assert!(below.layer < package.layer, "{} -> {known}", package.name);
            }
        }
    }

    #[test]
    fn an_edge_of_the_table_is_allowed() {
        assert_eq!(with_edge("touchline-feed", "touchline-wire", false), []);
    }

    #[test]
    fn an_edge_that_points_up_or_sideways_is_found_where_it_stands() {
        for (from, to) in [
            ("touchline-wire", "touchline-types"),
            ("touchline-book", "touchline-feed"),
            ("touchline-gateway", "touchline-shm"),
            ("touchline-gateway", "touchline-lab"),
            ("touchline-types", "touchline"),
        ] {
            let findings = with_edge(from, to, false);
            assert_eq!(findings.len(), 1, "{from} -> {to}");
            assert_eq!(
                (findings[0].path.as_str(), findings[0].line),
                ("crates/x/Cargo.toml", 4)
            );
        }
    }

    #[test]
    fn an_unused_edge_is_found() {
        let mut repository = Repository::of(&[]);
        for package in PACKAGES {
            for known in package.may_know {
                repository.edges.insert(Edge {
                    from: package.name.into(),
                    to: (*known).into(),
                    dev: false,
                });
            }
        }
        assert_eq!(unused(&repository), []);
        repository
            .edges
            .retain(|edge| (&*edge.from, &*edge.to) != ("touchline-book", "touchline-types"));
        let findings = unused(&repository);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("touchline-book"));
    }

    #[test]
    fn only_tests_may_use_the_lab() {
        assert_eq!(with_edge("touchline-book", "touchline-lab", true), []);
        assert_eq!(with_edge("touchline-book", "touchline-lab", false).len(), 1);
        assert_eq!(
            with_edge("touchline-book", "touchline-gateway", true).len(),
            1
        );
    }

    #[test]
    fn a_package_without_a_layer_is_found() {
        let findings = with_edge("touchline-attic", "touchline-types", false);
        assert!(findings[0].what.contains("no place"), "{findings:?}");
    }
}
