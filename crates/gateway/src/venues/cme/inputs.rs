//! Swapped files of a replay: reports a capture given as configuration, and the reverse, before the file is parsed.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use touchline_net::pcap::is_capture;

/// Content of a file, guessed from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// A capture, or a packed file, as captures often are.
    Capture,
    /// XML, as CME's `config.xml`.
    Xml,
    /// Other text.
    Text,
    /// Anything else, or not a regular file.
    Other,
}

/// Bytes read from the begin of a file.
const BYTES: usize = 512;

impl Content {
    fn of(path: &Path) -> Content {
        // The bytes of a pipe can be read once, and the opening of one waits for its writer.
        if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
            return Content::Other;
        }
        let mut first = [0; BYTES];
        let read = File::open(path).and_then(|mut file| file.read(&mut first));
        let read = read.unwrap_or(0);
        Content::of_bytes(&first[..read])
    }

    fn of_bytes(first: &[u8]) -> Content {
        if is_capture(first) {
            return Content::Capture;
        }
        let begin = first.trim_ascii_start();
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        match begin.first() {
            Some(b'<') => Content::Xml,
            Some(_) if first.iter().all(|byte| is_text(byte) || !byte.is_ascii()) => Content::Text,
            _ => Content::Other,
        }
    }
}

/// Checks that the configuration of a replay is one, or CME's `config.xml` with a channel.
///
/// # Errors
/// The sentence that says which file is what, and what to do.
pub fn check_config(config: &Path, channel: Option<u32>) -> Result<(), String> {
    let shown = config.display();
    match (Content::of(config), channel) {
        (Content::Capture, _) => Err(format!(
            "{shown} is a capture, given as the configuration; give a gateway's configuration, or CME's config.xml with a channel, and this file as a capture"
        )),
        (Content::Xml, None) => Err(format!(
            "{shown} is XML, as CME's config.xml, which has many channels: name one, in Python channel=310, in commands --config-xml FILE --channel 310"
        )),
        (Content::Text, Some(channel)) => Err(format!(
            "{shown} is not XML, and channel {channel} is one of CME's config.xml; leave out the channel, which a gateway's configuration names, or give config.xml"
        )),
        _ => Ok(()),
    }
}

/// Checks that captures are given, and none of them is a text.
///
/// # Errors
/// As [`check_config`].
pub fn check_captures<P: AsRef<Path>>(captures: &[P]) -> Result<(), String> {
    if captures.is_empty() {
        return Err("no capture is given; give one or more pcap or pcapng files".to_owned());
    }
    for capture in captures.iter().map(AsRef::as_ref) {
        if let Content::Text | Content::Xml = Content::of(capture) {
            return Err(format!(
                "{} is text, given as a capture; give pcap or pcapng files, plain or packed with gzip or zstd, as tcpdump writes them",
                capture.display()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use touchline_testing::Folder;

    /// First bytes of captures: pcap of both byte orders and both resolutions, pcapng; gzip, zstd; modified pcap, a skippable frame of zstd.
    const CAPTURES: [&[u8]; 9] = [
        &[0xa1, 0xb2, 0xc3, 0xd4],
        &[0xd4, 0xc3, 0xb2, 0xa1],
        &[0xa1, 0xb2, 0x3c, 0x4d],
        &[0x4d, 0x3c, 0xb2, 0xa1],
        &[0x0a, 0x0d, 0x0d, 0x0a],
        &[0x1f, 0x8b],
        &[0x28, 0xb5, 0x2f, 0xfd],
        &[0x34, 0xcd, 0xb2, 0xa1],
        &[0x5a, 0x2a, 0x4d, 0x18],
    ];

    #[test]
    fn files_are_known_by_their_first_bytes() {
        let of = Content::of_bytes;
        for magic in CAPTURES {
            assert_eq!(of(&[magic, &[2, 0]].concat()), Content::Capture);
        }
        assert_eq!(of(b"\n<?xml version=\"1.0\"?>"), Content::Xml);
        assert_eq!(of(b"bus = \"cme\"\n"), Content::Text);
        assert_eq!(of("# Gr\u{f6}\u{df}e\n".as_bytes()), Content::Text);
        assert_eq!(of(b""), Content::Other);
        assert_eq!(of(&[1, 2, 3, 4]), Content::Other);
        assert_eq!(Content::of(Path::new("/dev/null")), Content::Other);
    }

    #[test]
    fn each_exchanged_file_has_its_sentence() {
        let folder = Folder::new("inputs");
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).expect("a file");
            path
        };
        let capture = file("a.pcap", &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
        let toml = file("a.toml", b"bus = \"a\"\n");
        let xml = file("config.xml", b"<configuration/>\n");
        let csv = file("a.csv", b"time,price\n1,2\n");
        let said = |config: &Path, channel, captures: &[&Path]| {
            let checked = check_config(config, channel).and_then(|()| check_captures(captures));
            checked.expect_err("exchanged")
        };
        assert!(said(&capture, None, &[&toml]).contains("a.pcap is a capture, given as"));
        assert!(said(&xml, None, &[&capture]).contains("name one, in Python channel=310"));
        assert!(said(&toml, Some(310), &[&capture]).contains("leave out the channel"));
        assert!(said(&toml, None, &[&capture, &csv]).contains("a.csv is text, given as a capture"));
        assert!(said(&toml, None, &[]).contains("no capture is given"));
        assert_eq!(check_config(&toml, None), Ok(()));
        assert_eq!(check_config(&xml, Some(310)), Ok(()));
        assert_eq!(check_captures(&[&capture]), Ok(()));
        // The check does not wait for the writer of a pipe, and takes no byte of a pipe with a writer.
        let pipe = folder.join("pipe");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe");
        assert_eq!(check_config(&pipe, None), Ok(()));
        let mut both = File::options()
            .read(true)
            .write(true)
            .open(&pipe)
            .expect("a pipe");
        both.write_all(b"text").expect("room");
        assert_eq!(check_captures(&[&pipe]), Ok(()));
        both.read_exact(&mut [0; 4]).expect("all of it");
        // A missing file is reported by the code that opens it.
        assert_eq!(check_config(&folder.join("none"), None), Ok(()));
        assert_eq!(check_captures(&[folder.join("none")]), Ok(()));
    }
}
