//! The bill of materials: CycloneDX 1.5 in JSON, <https://cyclonedx.org/docs/1.5/json/>.

use super::linked::Package;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bill of materials of a package of ours. The same packages give the same document.
pub fn document(packages: &[Package], name: &str, version: &str, rustc: &str, time: &str) -> Value {
    let (own, others): (Vec<_>, Vec<_>) = packages.iter().partition(|package| package.name == name);
    let mut components: Vec<Value> = others.iter().map(|package| component(package)).collect();
    components.push(json!({
        "type": "library",
        "bom-ref": "rust-std",
        "name": "rust-std",
        "version": rustc,
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }));
    let dependencies: Vec<Value> = packages.iter().map(needs).collect();
    let application = json!({
        "type": "application",
        "bom-ref": own.first().map(|own| reference(own)),
        "name": name,
        "version": version,
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    });
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time, "component": application},
        "components": components,
        "dependencies": dependencies,
    });
    document["serialNumber"] = json!(serial_number(&document.to_string()));
    document
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "licenses": [{"expression": package.licence}],
    });
    if let Some(checksum) = &package.checksum {
        component["purl"] = json!(reference(package));
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn needs(package: &Package) -> Value {
    let needed = package.needs.iter();
    let needed: Vec<String> = needed.map(|(name, version)| purl(name, version)).collect();
    json!({"ref": reference(package), "dependsOn": needed})
}

fn reference(package: &Package) -> String {
    purl(&package.name, &package.version)
}

fn purl(name: &str, version: &str) -> String {
    // Of the characters in versions, only the plus sign needs escaping.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// A UUID of version 8 (RFC 9562), derived from the contents of the document.
fn serial_number(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..15],
        &hex[15..18],
        &hex[18..30]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_is_a_component_and_each_dependency_refers_to_one() {
        let of = |name: &str, checksum: Option<&str>, needs: &[&str]| Package {
            name: name.to_owned(),
            version: "1.0.0+x".to_owned(),
            licence: "MIT".to_owned(),
            checksum: checksum.map(str::to_owned),
            needs: needs
                .iter()
                .map(|name| ((*name).to_owned(), "1.0.0+x".to_owned()))
                .collect(),
            ..Package::default()
        };
        let packages = [
            of("touchline", None, &["linked"]),
            of("linked", Some("00ff"), &[]),
        ];
        let document = document(
            &packages,
            "touchline",
            "1.0.0",
            "1.95.0",
            "2026-01-01T00:00:00Z",
        );
        let components = document["components"].as_array().unwrap();
        let names: Vec<_> = components.iter().map(|one| one["name"].as_str()).collect();
        assert_eq!(names, [Some("linked"), Some("rust-std")]);
        assert_eq!(components[0]["hashes"][0]["content"], "00ff");
        assert_eq!(components[0]["purl"], "pkg:cargo/linked@1.0.0%2Bx");
        let edge = &document["dependencies"][0];
        assert_eq!(edge["ref"], document["metadata"]["component"]["bom-ref"]);
        assert_eq!(edge["dependsOn"][0], components[0]["bom-ref"]);
        let serial = document["serialNumber"].as_str().unwrap();
        assert_eq!(serial.len(), "urn:uuid:".len() + 36);
    }
}
