//! Nearest names, for misspelt settings and buses.

use strsim::osa_distance;

/// The name nearest to a misspelt one: at most a third of its letters differ, or one contains the other. `None` if
/// there is none.
pub fn nearest<'a>(misspelt: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = misspelt.chars().count();
    // One letter leaves nothing to compare.
    let most = (letters / 3).max(1).min(letters.saturating_sub(1));
    let likeness = |name: &&'a str| {
        let distance = osa_distance(misspelt, name);
        // Containment ranks after spelling; a name of two letters is contained in many by chance.
        let is_long = misspelt.len().min(name.len()) > 2;
        let is_part = is_long && (name.contains(misspelt) || misspelt.contains(name));
        match (distance <= most && most > 0, is_part) {
            (true, _) => Some((0, distance)),
            (false, true) => Some((1, distance)),
            (false, false) => None,
        }
    };
    let known = names.into_iter();
    let alike = known.filter_map(|name| Some((likeness(&name)?, name)));
    alike.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_likely_name_is_found() {
        let names = [
            "",
            "wait_ms",
            "join",
            "stale_after_ms",
            "loop_sleep",
            "cme-340",
            "cme-341",
        ];
        for (misspelt, meant) in [
            ("wait_sm", Some("wait_ms")),
            ("waitms", Some("wait_ms")),
            ("stale_after", Some("stale_after_ms")),
            ("sleep", Some("loop_sleep")),
            ("cme-34", Some("cme-340")),
            ("cme-342", Some("cme-340")),
            ("jion", Some("join")),
            ("my_join_of_all", Some("join")),
            ("nonsense", None),
            ("s", None),
            ("", None),
        ] {
            assert_eq!(nearest(misspelt, names), meant, "{misspelt}");
        }
    }
}
