//! Files of a release, in memory: archives of the same files are identical, byte for byte.

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;

/// Files by path, without a leading slash. Directories are those of the files, and added ones.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

/// Entry of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory of mode 0755.
    Directory,
    /// A file with its mode.
    File(u32, Vec<u8>),
    /// A symbolic link to a path.
    Link(String),
}

impl Tree {
    /// Adds a file that all users can read, and the directories above it.
    pub fn file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.add(path, 0o644, bytes.into());
    }

    /// Adds a program.
    pub fn program(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.add(path, 0o755, bytes.into());
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, to: &str) {
        self.entry(path, Entry::Link(to.to_owned()));
    }

    fn add(&mut self, path: &str, mode: u32, bytes: Vec<u8>) {
        self.entry(path, Entry::File(mode, bytes));
    }

    fn entry(&mut self, path: &str, entry: Entry) {
        for (at, _) in path.match_indices('/') {
            let above = path[..at].to_owned();
            self.entries.entry(above).or_insert(Entry::Directory);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// All entries, sorted by path: a directory precedes its contents.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// The contents of a file.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(path)? {
            Entry::File(_, bytes) => Some(bytes),
            Entry::Directory | Entry::Link(_) => None,
        }
    }

    /// The same files below a directory.
    pub fn below(&self, folder: &str) -> Tree {
        let mut tree = Tree::default();
        for (path, entry) in self.iter() {
            if *entry != Entry::Directory {
                tree.entry(&format!("{folder}/{path}"), entry.clone());
            }
        }
        tree
    }

    /// Size of all files, in KiB, each rounded up as Debian counts.
    pub fn size_kib(&self) -> u64 {
        self.entries
            .values()
            .map(|entry| match entry {
                Entry::Directory | Entry::Link(_) => 1,
                Entry::File(_, bytes) => (bytes.len() as u64).div_ceil(1024),
            })
            .sum()
    }

    /// [`tar`](Tree::tar), compressed.
    ///
    /// # Errors
    /// A path is too long for the format.
    pub fn tar_gz(&self, mtime_s: u64) -> Result<Vec<u8>> {
        gzip(&self.tar(mtime_s)?)
    }

    /// A tar archive: owner root, one time, sorted.
    ///
    /// # Errors
    /// A path is too long for the format.
    pub fn tar(&self, mtime_s: u64) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, entry) in self.iter() {
            let mut header = tar::Header::new_gnu();
            header.set_mtime(mtime_s);
            header.set_uid(0);
            header.set_gid(0);
            header.set_username("root")?;
            header.set_groupname("root")?;
            let (kind, mode, bytes, end) = match entry {
                Entry::Directory => (tar::EntryType::Directory, 0o755, &[][..], "/"),
                Entry::File(mode, bytes) => (tar::EntryType::Regular, *mode, &bytes[..], ""),
                Entry::Link(to) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    archive.append_link(&mut header, path, to)?;
                    continue;
                }
            };
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(bytes.len() as u64);
            archive
                .append_data(&mut header, format!("{path}{end}"), bytes)
                .with_context(|| format!("{path} cannot be archived"))?;
        }
        Ok(archive.into_inner()?)
    }
}

/// Bytes compressed without a name or a time.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    use std::io::Write;
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn an_archive_contains_the_added_files_and_is_reproducible() {
        let mut tree = Tree::default();
        tree.program("usr/bin/touchline", "a program");
        tree.file("usr/share/text", "a text");
        let packed = tree.tar_gz(7).unwrap();
        assert_eq!(packed, tree.tar_gz(7).unwrap());
        let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 7));
            let path = entry.path().unwrap().display().to_string();
            found.push((path, header.mode().unwrap(), text));
        }
        let expected = [
            ("usr/", 0o755, ""),
            ("usr/bin/", 0o755, ""),
            ("usr/bin/touchline", 0o755, "a program"),
            ("usr/share/", 0o755, ""),
            ("usr/share/text", 0o644, "a text"),
        ];
        let expected = expected.map(|(path, mode, text)| (path.to_owned(), mode, text.to_owned()));
        assert_eq!(found, expected);
        assert_eq!(tree.size_kib(), 5);
    }

    #[test]
    fn a_tree_moves_below_a_directory() {
        let mut tree = Tree::default();
        tree.file("bin/x", "x");
        let moved = tree.below("top");
        assert_eq!(moved.bytes("top/bin/x"), Some(&b"x"[..]));
        assert_eq!(moved.bytes("bin/x"), None);
        let paths: Vec<_> = moved.iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(paths, ["top", "top/bin", "top/bin/x"]);
    }
}
