//! Runs the images in containers of `buildah`, which needs no daemon.

use super::first_command;
use crate::command::{must, said};
use crate::dist::report::Report;
use crate::dist::{Made, Program};
use anyhow::{Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Runs each image; then an exchange, a gateway and a reader, each in a container, with one shared memory.
pub fn run(all: &[(&Made, &Path)], folder: &Path, report: &mut Report) -> Result<()> {
    if said(Command::new("buildah").arg("--version"))?.is_none() {
        report.left_out("images: no buildah here; try 'apt-get install buildah'");
        return Ok(());
    }
    let engine = Engine::new(folder)?;
    for (made, archive) in all {
        let name = made.of.name();
        let archive = format!("oci-archive:{}", archive.display());
        must(engine.buildah(&["from", "--name", name]).arg(archive))?;
        first_command(made.of, report, |arguments| {
            must(&mut engine.container(made.of, arguments))
        })?;
    }
    one_memory(&engine, report)
}

/// As ops/container/compose.yml, with the program that is deployed as gateway and as reader.
fn one_memory(engine: &Engine, report: &Report) -> Result<()> {
    let written = engine.shared.join("sim");
    let config = written.join("gateway.toml");
    let [written, file] = [&written, &config].map(|path| path.display().to_string());
    let exchange = ["sim", "cme", "--write", &written, "--groups", "977"];
    let _exchange = Started::of(&mut engine.container(Program::Lab, &exchange))?;
    for _ in 0..100 {
        if config.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    ensure!(config.exists(), "the exchange writes no configuration");
    let own = fs::read_to_string(&config)?;
    fs::write(
        &config,
        format!("{own}\n[publication]\ngroup = \"10001\"\n"),
    )?;
    let gateway = ["gateway", "--bus", "x", "--config", &file];
    let _gateway = Started::of(&mut engine.container(Program::Deployed, &gateway))?;
    let mut reader = engine.buildah(&["run", "--isolation", "chroot", "--user", "10002:10001"]);
    let read = must(
        reader
            .arg(format!("--env=TOUCHLINE_DIR={}", engine.buses()))
            .arg("--env=TOUCHLINE_OWNER=10001")
            .args(["touchline", "touchline", "tail", "x"])
            .args(["--live-only", "--no-images", "--count", "2000"]),
    )?;
    let updates = read.lines().filter(|line| line.contains(" live ")).count();
    ensure!(updates > 0, "the reader has no update:\n{read}");
    report.seen(&format!(
        "a reader of another user in one container received {updates} updates of a gateway in another"
    ));
    Ok(())
}

/// Storage of images and containers, and a folder in shared memory: with this isolation containers have the host's `/dev`.
struct Engine {
    storage: PathBuf,
    shared: PathBuf,
}

impl Engine {
    fn new(folder: &Path) -> Result<Engine> {
        let shared = PathBuf::from(format!("/dev/shm/touchline-dist-{}", std::process::id()));
        fs::create_dir_all(&shared)?;
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777))?;
        Ok(Engine {
            storage: folder.to_owned(),
            shared,
        })
    }

    fn buildah(&self, words: &[&str]) -> Command {
        let mut buildah = Command::new("buildah");
        buildah
            .args(["--storage-driver", "vfs"])
            .arg("--root")
            .arg(self.storage.join("root"))
            .arg("--runroot")
            .arg(self.storage.join("run"))
            .args(words);
        buildah
    }

    fn buses(&self) -> String {
        self.shared.join("buses").display().to_string()
    }

    /// A command of an image, as the user of the image.
    fn container(&self, of: Program, arguments: &[&str]) -> Command {
        let mut run = self.buildah(&["run", "--isolation", "chroot", "--env"]);
        run.arg(format!("TOUCHLINE_DIR={}", self.buses()))
            .args([of.name(), of.name()])
            .args(arguments);
        run
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.buildah(&["rm", "--all"]).output();
        let _ = fs::remove_dir_all(&self.shared);
    }
}

/// A container in the background, stopped with the command that started it.
struct Started(Child);

impl Started {
    fn of(command: &mut Command) -> Result<Started> {
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Started(quiet.spawn()?))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // SIGTERM, which buildah gives to its container.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}
