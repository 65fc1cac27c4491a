//! Slots or pairs whose state changed.

/// Marked places, in the order in which they were marked.
///
/// Invariant: a place is in the list once if it is marked, else not at all.
#[derive(Debug, Clone)]
pub(super) struct DirtySet {
    places: Vec<usize>,
    is_marked: Vec<bool>,
}

impl DirtySet {
    /// Places below `count`, none marked.
    pub fn new(count: usize) -> DirtySet {
        DirtySet {
            places: Vec::with_capacity(count),
            is_marked: vec![false; count],
        }
    }

    /// Marks a place.
    pub fn mark(&mut self, place: usize) {
        if !std::mem::replace(&mut self.is_marked[place], true) {
            self.places.push(place);
        }
    }

    /// Removes the mark of the place that was marked last.
    pub fn pop(&mut self) -> Option<usize> {
        let place = self.places.pop()?;
        let was_marked = std::mem::take(&mut self.is_marked[place]);
        assert!(was_marked, "a place in the list is marked");
        Some(place)
    }

    /// Removes all marks.
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    /// Marked places, in the order in which they were marked.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Whether no place is marked.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}
