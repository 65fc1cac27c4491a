//! Validates the files of `ops` for containers against the schemas of Compose and Kubernetes.

use crate::command::{must, said};
use crate::dist::report::Report;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Validators, which contain their schemas: packages of PyPI.
const VALIDATORS: [&str; 2] = ["check-jsonschema==0.39.0", "kubernetes-validate==1.37.0"];

/// Validates each file.
pub fn run(root: &Path, report: &mut Report) -> Result<()> {
    let bin = match validators(root) {
        Ok(bin) => bin,
        Err(error) => {
            let error = format!("{error:#}");
            let last = error.lines().last().unwrap_or_default();
            report.left_out(format!("schemas of Compose and Kubernetes: {last}"));
            return Ok(());
        }
    };
    let compose = "ops/container/compose.yml";
    must(
        Command::new(bin.join("check-jsonschema"))
            .args(["--builtin-schema", "vendor.compose-spec", compose])
            .current_dir(root),
    )?;
    report.seen(&format!("{compose}: valid"));
    let kubernetes = "ops/container/kubernetes.yml";
    must(
        Command::new(bin.join("kubernetes-validate"))
            .args(["--strict", kubernetes])
            .current_dir(root),
    )?;
    report.seen(&format!("{kubernetes}: valid"));
    Ok(())
}

/// Folder of the validators, installed below the target folder unless they are there already.
fn validators(root: &Path) -> Result<PathBuf> {
    let folder = crate::target_folder(root).join("tools/validators");
    let bin = folder.join("bin");
    let is_there = said(Command::new(bin.join("pip")).arg("freeze"))
        .ok()
        .flatten()
        .is_some_and(|found| VALIDATORS.iter().all(|wanted| found.contains(wanted)));
    if !is_there {
        must(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        must(
            Command::new(bin.join("pip"))
                .args(["install", "--quiet"])
                .args(VALIDATORS),
        )?;
    }
    Ok(bin)
}
