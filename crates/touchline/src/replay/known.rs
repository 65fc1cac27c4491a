//! Definitions of the files of `--definitions`, for captures and for tapes.

use crate::output::{Failure, notice};
use std::path::PathBuf;
use std::sync::Arc;
use touchline_gateway::venues::cme::{
    CaptureError, ChannelConfig, CmeConfig, CmePipeline, Definitions,
};
use touchline_gateway::venues::read_definitions;
use touchline_instruments::KnownDefinitions;
use touchline_transport::Publish;

/// The definitions for a tape.
pub fn for_tape(files: &[PathBuf]) -> Result<Arc<KnownDefinitions>, Failure> {
    if files.is_empty() {
        return Ok(Arc::default());
    }
    let known = read_definitions(files, None).map_err(|all| Failure::mistakes(all.lines()))?;
    Ok(Arc::new(known))
}

/// Gives the definitions of `--definitions` to the path.
pub fn define<P: Publish>(
    files: &[PathBuf],
    config: &CmeConfig,
    channel: &ChannelConfig,
    pipeline: &mut CmePipeline<P>,
) -> Result<Option<Definitions>, Failure> {
    if files.is_empty() {
        return Ok(None);
    }
    let mut definitions = Definitions::open(files, config).map_err(of_definitions)?;
    let mut truncations = Vec::new();
    while definitions
        .step(channel, pipeline, &mut truncations)
        .map_err(of_definitions)?
    {}
    for truncation in truncations {
        notice(format_args!(
            "warning: {truncation}; the definitions before are used"
        ));
    }
    Ok(Some(definitions))
}

/// A file of definitions that cannot be used: a line for each mistake.
fn of_definitions(error: CaptureError) -> Failure {
    match error {
        CaptureError::Definitions(lines) => Failure::mistakes(lines.lines()),
        other => Failure::run(other),
    }
}
