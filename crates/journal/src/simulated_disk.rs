//! A disk that may lose, tear and reorder unsynced writes, and lose names of files.

use crate::disk::Disk;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

const SECTOR: usize = 512;

/// SplitMix64: a seed repeats its run.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[derive(Debug, Clone, Default)]
struct File {
    cache: Vec<u8>,
    disk: Vec<u8>,
    /// Contents of each sector since its last sync, oldest first.
    pending: BTreeMap<usize, Vec<Vec<u8>>>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Put(String, u64),
    Take(String, u64),
    Move(String, String, u64),
}

#[derive(Debug)]
struct State {
    files: Vec<File>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    changes: Vec<NameChange>,
    random: Random,
    /// Changes until the crash.
    left: usize,
    /// Syncs until one fails.
    syncs_left: usize,
    /// Whether there is no room for another file.
    is_full: bool,
    /// Whether an unsynced sector may be mixed, zeros or garbage, and not only old or new.
    garbles: bool,
}

/// A handle of the disk, for the writer and for the model.
#[derive(Debug, Clone)]
pub struct SimulatedDisk(Rc<RefCell<State>>);

const NEVER: usize = usize::MAX;

impl SimulatedDisk {
    pub fn new(seed: u64, garbles: bool) -> Self {
        Self(Rc::new(RefCell::new(State {
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            changes: Vec::new(),
            random: Random(seed),
            left: NEVER,
            syncs_left: NEVER,
            is_full: false,
            garbles,
        })))
    }

    /// The process dies at that change from here on; a sync fails at that sync.
    pub fn arm(&self, crash: Option<usize>, failed_sync: Option<usize>) {
        let mut state = self.0.borrow_mut();
        state.left = crash.unwrap_or(NEVER);
        state.syncs_left = failed_sync.unwrap_or(NEVER);
    }

    #[cfg(test)]
    pub fn set_full(&self, is_full: bool) {
        self.0.borrow_mut().is_full = is_full;
    }

    /// Whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.0.borrow().left == 0
    }

    /// The host loses power.
    pub fn lose_power(&self) {
        self.0.borrow_mut().lose_power();
    }

    #[cfg(test)]
    /// Damages durable bytes: a bit of the byte at `offset` flips, or its sector turns to zeros.
    pub fn rot(&self, name: &str, offset: usize) {
        let mut state = self.0.borrow_mut();
        let id = state.names[name] as usize;
        let zeros = state.random.one_in(3);
        let mask = 1 << state.random.below(8);
        let file = &mut state.files[id];
        let at = offset / SECTOR * SECTOR;
        if zeros && file.disk[at..at + SECTOR].iter().any(|byte| *byte != 0) {
            file.disk[at..at + SECTOR].fill(0);
        } else {
            file.disk[offset] ^= mask;
        }
        file.cache.clone_from(&file.disk);
    }
}

impl State {
    fn change(&mut self) -> io::Result<()> {
        match self.left {
            0 => return Err(dead()),
            NEVER => {}
            _ => self.left -= 1,
        }
        if self.left == 0 { Err(dead()) } else { Ok(()) }
    }

    fn id(&self, name: &str) -> io::Result<usize> {
        let id = self.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(*id as usize)
    }

    fn lose_power(&mut self) {
        let count = self.changes.len();
        let prefix = match self.random.one_in(2) {
            true => Some(self.random.below(count + 1)),
            false => None,
        };
        for (number, change) in std::mem::take(&mut self.changes).into_iter().enumerate() {
            let is_there = prefix.map_or_else(|| self.random.one_in(2), |prefix| number < prefix);
            if is_there {
                apply(&mut self.durable_names, &change);
            }
        }
        self.names = self.durable_names.clone();
        for file in &mut self.files {
            for (sector, versions) in std::mem::take(&mut file.pending) {
                let at = sector * SECTOR;
                let old = file.disk[at..at + SECTOR].to_vec();
                file.disk[at..at + SECTOR].copy_from_slice(&surviving(
                    &mut self.random,
                    old,
                    &versions,
                    self.garbles,
                ));
            }
            file.cache.clone_from(&file.disk);
        }
    }
}

/// Content of a sector after the loss of power.
fn surviving(random: &mut Random, old: Vec<u8>, versions: &[Vec<u8>], garbles: bool) -> Vec<u8> {
    let new = versions.last().unwrap_or(&old).clone();
    match random.below(if garbles { 8 } else { 5 }) {
        0 | 1 => old,
        2 | 3 => new,
        4 => versions[random.below(versions.len())].clone(),
        5 => {
            let words = old.chunks(8).zip(new.chunks(8));
            let mixed = words.map(|(old, new)| if random.one_in(2) { old } else { new });
            mixed.flatten().copied().collect()
        }
        6 => vec![0; SECTOR],
        _ => (0..SECTOR).map(|_| random.next() as u8).collect(),
    }
}

fn apply(names: &mut BTreeMap<String, u64>, change: &NameChange) {
    match change {
        NameChange::Put(name, id) => {
            names.insert(name.clone(), *id);
        }
        NameChange::Take(name, id) => {
            if names.get(name) == Some(id) {
                names.remove(name);
            }
        }
        NameChange::Move(from, to, id) => {
            if names.get(from) == Some(id) {
                names.remove(from);
            }
            names.insert(to.clone(), *id);
        }
    }
}

fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl Disk for SimulatedDisk {
    fn names(&mut self) -> io::Result<Vec<String>> {
        Ok(self.0.borrow().names.keys().cloned().collect())
    }

    fn length(&mut self, name: &str) -> io::Result<u64> {
        let state = self.0.borrow();
        Ok(state.files[state.id(name)?].cache.len() as u64)
    }

    fn read(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.0.borrow();
        let file = &state.files[state.id(name)?];
        let range = offset as usize..offset as usize + buffer.len();
        let bytes = file.cache.get(range).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn read_direct(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let state = self.0.borrow();
        Ok(Some(state.files[state.id(name)?].disk.clone()))
    }

    fn create(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.change()?;
        if state.is_full {
            return Err(io::Error::from_raw_os_error(28));
        }
        let length = (bytes as usize).next_multiple_of(SECTOR);
        // mutant: simulation: a new file has the bytes of an old one
        let content = vec![0; length];
        state.files.push(File {
            cache: content.clone(),
            disk: content,
            pending: BTreeMap::new(),
        });
        let id = state.files.len() as u64 - 1;
        let change = NameChange::Put(name.to_owned(), id);
        apply(&mut state.names, &change);
        state.changes.push(change);
        Ok(())
    }

    fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        if state.left == 0 {
            return Err(dead());
        }
        let id = state.id(name)?;
        let result = state.change();
        // A write in which the process dies is short.
        let count = match result {
            Ok(()) => bytes.len(),
            Err(_) => state.random.below(bytes.len() + 1),
        };
        let file = &mut state.files[id];
        let start = offset as usize;
        file.cache[start..start + count].copy_from_slice(&bytes[..count]);
        if count > 0 {
            for sector in start / SECTOR..=(start + count - 1) / SECTOR {
                let at = sector * SECTOR;
                let content = file.cache[at..at + SECTOR].to_vec();
                file.pending.entry(sector).or_default().push(content);
            }
        }
        result
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.change()?;
        let id = state.id(name)?;
        let fails = state.syncs_left == 1;
        if state.syncs_left != NEVER && state.syncs_left > 0 {
            state.syncs_left -= 1;
        }
        let State { files, random, .. } = &mut *state;
        let file = &mut files[id];
        for (sector, versions) in std::mem::take(&mut file.pending) {
            // After a failed sync the system holds lost pages for clean.
            if fails && random.one_in(2) {
                continue;
            }
            let at = sector * SECTOR;
            let new = versions.last().expect("a pending sector has content");
            file.disk[at..at + SECTOR].copy_from_slice(new);
        }
        match fails {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }

    fn sync_names(&mut self) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.change()?;
        for change in std::mem::take(&mut state.changes) {
            apply(&mut state.durable_names, &change);
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.change()?;
        let id = state.id(from)? as u64;
        let change = NameChange::Move(from.to_owned(), to.to_owned(), id);
        apply(&mut state.names, &change);
        state.changes.push(change);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.change()?;
        let id = state.id(name)? as u64;
        let change = NameChange::Take(name.to_owned(), id);
        apply(&mut state.names, &change);
        state.changes.push(change);
        Ok(())
    }
}
