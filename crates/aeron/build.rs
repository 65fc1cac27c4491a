//! Compiles Aeron's C client and C media driver, with the feature `aeron`; does nothing without it.
//!
//! `AERON_SOURCE` names a folder with Aeron's sources (the one with `version.txt` in it). Without it the sources are those
//! of the package that `source/Cargo.lock` pins. The build script of that package, which needs CMake and libclang, never runs.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "aeron")]
    if let Err(why) = aeron::build() {
        println!("cargo::error={why}");
    }
}

#[cfg(feature = "aeron")]
mod aeron {
    use std::env;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    const MANIFEST: &str = "source/Cargo.toml";
    /// The package of the sources. It contains all of Aeron below `aeron`.
    const PACKAGE: &str = "libaeron_driver-sys";
    const CLIENT: &str = "aeron-client/src/main/c";
    const DRIVER: &str = "aeron-driver/src/main/c";
    /// The driver's `main`.
    const PROGRAM: &str = "aeronmd.c";
    /// The file that opens sockets, and the header that is included before it.
    const SOCKETS: [&str; 2] = ["media/aeron_udp_channel_transport.c", "c/sockets.h"];

    /// Macros that Aeron's CMake files define on Linux with glibc. Without `HAVE_ARC4RANDOM` and `HAVE_UUID_GENERATE` Aeron
    /// reads `/dev/urandom` itself, and needs neither libbsd nor libuuid.
    const DEFINES: &[&str] = &[
        "AERON_DRIVER",
        "DISABLE_BOUNDS_CHECKS",
        "NDEBUG",
        "HAVE_FALLOCATE",
        "HAVE_POSIX_FALLOCATE",
        "HAVE_DEV_URANDOM",
        "HAVE_POSIX_MEMALIGN",
        "HAVE_POLL",
        "HAVE_EPOLL",
        "HAVE_STRUCT_MMSGHDR",
        "HAVE_RECVMMSG",
        "HAVE_SENDMMSG",
        "_DEFAULT_SOURCE",
    ];

    pub fn build() -> Result<(), String> {
        for path in ["c", "source/Cargo.lock", MANIFEST] {
            println!("cargo::rerun-if-changed={path}");
        }
        println!("cargo::rerun-if-env-changed=AERON_SOURCE");
        let source = source()?;
        let version = version(&source)?;
        let mut files = vec![PathBuf::from("c/boundary.c")];
        for folder in [CLIENT, DRIVER] {
            collect(&source.join(folder), &mut files)?;
        }
        let [sockets, sockets_header] = SOCKETS;
        files.retain(|file| !file.ends_with(PROGRAM) && !file.ends_with(sockets));
        // The order of a folder differs between file systems; sorted, the library is the same everywhere.
        files.sort();
        let mut build = cc::Build::new();
        build
            .include(source.join(CLIENT))
            .include(source.join(DRIVER))
            .std("gnu11")
            .opt_level(3)
            .debug(false)
            .warnings(false)
            .define("_FILE_OFFSET_BITS", "64");
        for name in DEFINES {
            build.define(name, None);
        }
        for (name, value) in version {
            build.define(name, value.as_str());
        }
        let failed = |error: cc::Error| format!("Aeron's C sources do not compile: {error}");
        let sockets = build
            .clone()
            .file(source.join(DRIVER).join(sockets))
            .flag("-include")
            .flag(sockets_header)
            .try_compile_intermediates();
        build
            .files(files)
            .objects(sockets.map_err(failed)?)
            .try_compile("touchline_aeron")
            .map_err(failed)?;
        println!("cargo::rustc-link-lib=m");
        Ok(())
    }

    /// Folder of Aeron's sources.
    fn source() -> Result<PathBuf, String> {
        match env::var_os("AERON_SOURCE") {
            Some(folder) => Ok(PathBuf::from(folder)),
            None => fetched(),
        }
    }

    /// Folder of the sources in the package that the lock file pins; cargo fetches and verifies it.
    fn fetched() -> Result<PathBuf, String> {
        let cargo = env::var_os("CARGO").ok_or("CARGO is not set; build with cargo")?;
        let target = env::var("TARGET").map_err(|error| format!("TARGET: {error}"))?;
        let output = Command::new(cargo)
            .args(["metadata", "--locked", "--format-version", "1"])
            .args(["--manifest-path", MANIFEST, "--filter-platform", &target])
            .output()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().lines().last().unwrap_or("nothing");
            return Err(format!(
                "Aeron's sources cannot be fetched ({said}); connect to a registry, or set AERON_SOURCE to a folder with them"
            ));
        }
        let metadata = String::from_utf8_lossy(&output.stdout);
        manifest_folder(&metadata)
            .map(|folder| folder.join("aeron"))
            .ok_or_else(|| format!("cargo metadata of {MANIFEST} does not name {PACKAGE}"))
    }

    /// Folder of the package, from the path of its manifest in cargo's JSON.
    fn manifest_folder(metadata: &str) -> Option<PathBuf> {
        let manifests = metadata.split("\"manifest_path\":\"").skip(1);
        manifests
            .filter_map(|rest| Path::new(rest.split('"').next()?).parent())
            .find(|folder| {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                name.strip_prefix(PACKAGE)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
            .map(Path::to_owned)
    }

    /// Aeron's version as its own defines want it.
    fn version(source: &Path) -> Result<Vec<(&'static str, String)>, String> {
        let path = source.join("version.txt");
        let text = fs::read_to_string(&path).map_err(|error| {
            let path = path.display();
            format!(
                "{path}: {error}; AERON_SOURCE names the folder of Aeron that contains version.txt"
            )
        })?;
        let text = text.trim();
        let mut numbers = text
            .split(['.', '-'])
            .map(|part| part.parse::<u8>().unwrap_or(0).to_string());
        let mut next = || numbers.next().unwrap_or_else(|| "0".to_owned());
        Ok(vec![
            ("AERON_VERSION_TXT", format!("\"{text}\"")),
            ("AERON_VERSION_GITSHA", "\"package\"".to_owned()),
            ("AERON_VERSION_MAJOR", next()),
            ("AERON_VERSION_MINOR", next()),
            ("AERON_VERSION_PATCH", next()),
        ])
    }

    /// All C files of a folder and of those below it.
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                collect(&path, files)?;
            } else if path.extension().is_some_and(|extension| extension == "c") {
                files.push(path);
            }
        }
        Ok(())
    }
}
