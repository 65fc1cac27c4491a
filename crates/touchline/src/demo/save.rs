//! Writes a demo session to files for other commands.

use super::session::Session;
use crate::output::Failure;
use std::fs;
use std::io;
use std::path::Path;
use touchline_lab::capture::write_pcap;
use touchline_lab::cme::config::{CHANNEL, config_xml};

/// Configuration of a gateway for the session.
fn config() -> String {
    format!(
        "bus = \"demo\"\n\n[venue]\nkind = \"cme\"\nchannel = {CHANNEL}\nconfig_xml = \"config.xml\"\n"
    )
}

/// Writes the capture, the channel's config.xml, the gateway's configuration and the exchange's
/// books.
pub fn save(session: &Session, folder: &Path) -> Result<(), Failure> {
    let expected_books = &session.expected;
    let written = fs::create_dir_all(folder)
        .and_then(|()| write_pcap(&session.arrivals, &folder.join("session.pcap")))
        .and_then(|()| write(folder, "config.xml", &config_xml()))
        .and_then(|()| write(folder, "cme.toml", &config()))
        .and_then(|()| write(folder, "truth-books.jsonl", &expected_books.books_jsonl()))
        .and_then(|()| write(folder, "truth-orders.jsonl", &expected_books.orders_jsonl()));
    written.map_err(|error| {
        let folder = folder.display();
        Failure::run(format!(
            "{folder}: cannot be written ({error}); give a folder that you may write, with free space"
        ))
    })
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::write(folder.join(name), text)
}
