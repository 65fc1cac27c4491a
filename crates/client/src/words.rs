//! Numbers and lists as text, and texts from outside as a screen shows them.

pub use touchline_types::text::{Visible, is_visible};

/// A number in groups of three digits: `18,204`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 overrun`, `2 overruns`.
pub fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{} {thing}s", count(number)),
    }
}

/// The name nearest to `wanted`: at most a third of its letters differ, and at least one is equal.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = wanted.chars().count();
    let most = (letters / 3).max(1).min(letters.saturating_sub(1));
    let near = names.map(|name| (distance(wanted, name), name));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= most).then_some(best.1)
}

/// Edit distance: insertions, deletions and exchanges of letters; case is ignored.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to
        .chars()
        .map(|letter| letter.to_ascii_uppercase())
        .collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (done, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = done + 1;
        for (at, other) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter.to_ascii_uppercase() != *other);
            diagonal = row[at + 1];
            row[at + 1] = exchanged.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators_and_nouns_a_plural() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(18_204), "18,204");
        assert_eq!(count(1_204_331), "1,204,331");
        assert_eq!(counted(1, "restart"), "1 restart");
        assert_eq!(counted(2, "restart"), "2 restarts");
    }

    #[test]
    fn the_nearest_similar_name_is_suggested() {
        let names = ["ESU4", "NQU4", "ZNZ4"];
        assert_eq!(nearest("ESU5", names.into_iter()), Some("ESU4"));
        assert_eq!(nearest("esu4", names.into_iter()), Some("ESU4"));
        assert_eq!(nearest("BTC-PERPETUAL", names.into_iter()), None);
        assert_eq!(nearest("", names.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
