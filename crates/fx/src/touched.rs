//! Memory that is taken and written once at the start, so that its first use on the path has no page to wait for.

use std::collections::HashMap;
use std::hash::Hash;

/// Room for `more` further values, written once.
pub fn vector<T: Clone>(values: &mut Vec<T>, more: usize, sample: &T) {
    let length = values.len();
    values.resize(length + more, sample.clone());
    values.truncate(length);
}

/// Room for `more` further keys, written once; `key` makes keys that differ.
pub fn map<K: Hash + Eq, V: Clone>(
    values: &mut HashMap<K, V>,
    more: usize,
    key: impl Fn(u64) -> K,
    sample: &V,
) {
    let mut room = HashMap::with_capacity(values.len() + more);
    room.extend((0..more as u64).map(|number| (key(number), sample.clone())));
    room.clear();
    room.extend(values.drain());
    *values = room;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Existing values stay, and there is room for more.
    #[test]
    fn existing_values_stay_and_capacity_is_added() {
        let mut values = vec![1, 2];
        vector(&mut values, 100, &7);
        assert_eq!(values, [1, 2]);
        assert!(values.capacity() >= 102);
        let mut named = HashMap::from([(5_u64, 'a')]);
        map(&mut named, 100, |number| number, &'x');
        assert_eq!(named, HashMap::from([(5, 'a')]));
        assert!(named.capacity() >= 101);
    }
}
