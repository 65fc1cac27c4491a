//! Image of a static program, from scratch: an archive in the OCI image layout, of one layer,
//! <https://github.com/opencontainers/image-spec/blob/v1.1.0/spec.md>.

use super::release::Release;
use super::tree::{Entry, Tree, gzip};
use super::{Program, sha256};
use anyhow::Result;
use serde_json::{Value, json};

/// User and group of the processes. Groups of a Kubernetes pod or `--group-add` come on top.
const USER: &str = "10001:10001";

/// The archive: program, licences and bill of materials; no shell, no libraries.
///
/// # Errors
/// A path is too long for the format.
pub fn archive(usr: &Tree, release: &Release, of: Program) -> Result<Vec<u8>> {
    let layer = layer(usr).tar(release.time_s)?;
    let mut blobs = Blobs::default();
    let layer_sum = sha256(&layer);
    let packed = blobs.add(LAYER, &gzip(&layer)?);
    let config = config(release, of, &layer_sum);
    let config = blobs.add(CONFIG, config.to_string().as_bytes());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [packed],
    });
    let mut manifest = blobs.add(MANIFEST, manifest.to_string().as_bytes());
    let name = name(release, of);
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": name,
        "io.containerd.image.name": format!("localhost/{name}"),
    });
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]});
    blobs.0.file("index.json", index.to_string());
    blobs
        .0
        .file("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
    blobs.0.tar(release.time_s)
}

/// Name and tag. A tag has no tilde.
pub fn name(release: &Release, of: Program) -> String {
    format!("{}:{}", of.name(), release.version.replace('~', "-"))
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Files of a layout, each content named by its checksum.
#[derive(Default)]
struct Blobs(Tree);

impl Blobs {
    /// Adds a content and returns its descriptor.
    fn add(&mut self, media_type: &str, bytes: &[u8]) -> Value {
        let sum = sha256(bytes);
        self.0.file(&format!("blobs/sha256/{sum}"), bytes);
        json!({"mediaType": media_type, "digest": format!("sha256:{sum}"), "size": bytes.len()})
    }
}

fn layer(usr: &Tree) -> Tree {
    let mut tree = Tree::default();
    for (path, entry) in usr.iter() {
        match entry {
            Entry::File(_, bytes) if path.starts_with("bin/") => {
                tree.program(&format!("usr/{path}"), &bytes[..]);
            }
            Entry::File(_, bytes) if path.starts_with("share/doc/") => {
                tree.file(&format!("usr/{path}"), &bytes[..]);
            }
            _ => {}
        }
    }
    tree
}

/// How the image runs. Nothing but `/dev/shm` can be written, so temporary files are there too.
fn config(release: &Release, of: Program, layer_sum: &str) -> Value {
    json!({
        "created": release.time(),
        "architecture": release.processor(),
        "os": "linux",
        "config": {
            "User": USER,
            "Env": ["PATH=/usr/bin", "TMPDIR=/dev/shm"],
            "Entrypoint": [format!("/usr/bin/{}", of.name())],
            "Cmd": ["--help"],
            "Labels": {
                "org.opencontainers.image.title": of.name(),
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer_sum}")]},
        "history": [{"created": release.time(), "created_by": "cargo xtask dist"}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read;

    #[test]
    fn every_descriptor_of_an_image_finds_its_content() {
        let mut usr = Tree::default();
        usr.program("bin/touchline", "a program");
        usr.file("share/doc/touchline/copyright", "a licence");
        usr.file("lib/systemd/system/touchline.service", "a unit");
        let release = Release {
            version: "0.1.0~git1".to_owned(),
            time_s: 7,
            target: "x86_64-unknown-linux-musl".to_owned(),
        };
        let bytes = archive(&usr, &release, Program::Deployed).unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(&bytes[..]).entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.insert(path, content);
        }
        let content = |descriptor: &Value| {
            let sum = descriptor["digest"].as_str().unwrap();
            let content = &files[&format!("blobs/{}", sum.replace(':', "/"))];
            assert_eq!(format!("sha256:{}", sha256(content)), sum);
            assert_eq!(descriptor["size"], content.len());
            content.clone()
        };
        let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let index = parsed(&files["index.json"]);
        let named = &index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"];
        assert_eq!(named, "touchline:0.1.0-git1");
        let manifest = parsed(&content(&index["manifests"][0]));
        let config = parsed(&content(&manifest["config"]));
        let mut layer = Vec::new();
        flate2::read::GzDecoder::new(&content(&manifest["layers"][0])[..])
            .read_to_end(&mut layer)
            .unwrap();
        let sum = format!("sha256:{}", sha256(&layer));
        assert_eq!(config["rootfs"]["diff_ids"][0], sum);
        let mut archive = tar::Archive::new(&layer[..]);
        let entries = archive.entries().unwrap().map(|entry| entry.unwrap());
        let paths: Vec<_> = entries
            .filter(|entry| entry.header().entry_type().is_file())
            .map(|entry| entry.path().unwrap().display().to_string())
            .collect();
        let expected = ["usr/bin/touchline", "usr/share/doc/touchline/copyright"];
        assert_eq!(paths, expected);
    }
}
