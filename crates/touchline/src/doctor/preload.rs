//! Check of a library that takes the calls to sockets: Onload, VMA, XLIO.

use super::finding::{Asked, Finding};
use super::host::{Host, Unknown};

/// Libraries by their names in maps and in LD_PRELOAD.
const LIBRARIES: [&str; 3] = ["libonload", "libvma", "libxlio"];
/// The device of Onload's module.
const DEVICE: &str = "onload";

/// Checks the libraries and the environment of this process, which a gateway started in the same way would have.
pub fn socket_library(host: &Host, _: &Asked) -> Result<Finding, Unknown> {
    let maps = host.text("/proc/self/maps")?;
    let environment = host.text("/proc/self/environ")?;
    let value = |name: &str| {
        let mut all = environment.split('\0');
        all.find_map(|one| one.strip_prefix(name)?.strip_prefix('='))
    };
    let listed = host.text("/etc/ld.so.preload").unwrap_or_default();
    let preloaded = [value("LD_PRELOAD").unwrap_or_default(), &listed].join(" ");
    let named = |text: &str| LIBRARIES.into_iter().find(|name| text.contains(name));
    Ok(match (named(&maps), named(&preloaded)) {
        (Some("libonload"), _) if value("EF_RX_TIMESTAMPING").is_none_or(|set| set == "0") => {
            Finding::warn(
                "libonload is loaded, and takes no times of the card",
                "EF_RX_TIMESTAMPING=1 onload --profile=latency touchline gateway --config FILE",
            )
        }
        (Some(library), _) => Finding::ok(format!("{library} is loaded")),
        (None, Some(library)) => Finding::bad(
            format!("{library} is to be preloaded, and is not loaded"),
            "the Debian package or the tarball linux-gnu: a static program loads no library",
        ),
        (None, None) if host.names("/dev").iter().any(|name| name == DEVICE) => Finding::warn(
            "this host has Onload, and this command runs without it",
            "onload --profile=latency touchline doctor; docs/host.md has the options",
        ),
        (None, None) => Finding::ok("none is loaded"),
    })
}
