//! Processor affinity of the gateway's thread.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Error of binding a thread to a processor.
#[derive(Debug, thiserror::Error)]
#[error("loop_cpu_affinity = {processor}: {reason}; this process may run on {allowed}")]
pub struct NotBound {
    processor: usize,
    reason: rustix::io::Errno,
    allowed: String,
}

/// Binds the calling thread to a processor.
///
/// # Errors
/// The processor does not exist, or this process may not use it.
pub fn bind_to(processor: usize) -> Result<(), NotBound> {
    let refuse = |reason| NotBound {
        processor,
        reason,
        allowed: allowed(),
    };
    if processor >= CpuSet::MAX_CPU {
        return Err(refuse(rustix::io::Errno::INVAL));
    }
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).map_err(refuse)
}

/// Processors allowed for this process, such as `0, 1`.
fn allowed() -> String {
    let Ok(set) = sched_getaffinity(None) else {
        return "none that the system names".to_owned();
    };
    let processors = (0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor));
    let names: Vec<_> = processors.map(|processor| processor.to_string()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_to_its_processor_or_refused_with_those_there_are() {
        let set = sched_getaffinity(None).expect("our own affinity");
        let mine = (0..CpuSet::MAX_CPU).find(|&processor| set.is_set(processor));
        let mine = mine.expect("we run somewhere");
        std::thread::spawn(move || {
            bind_to(mine).expect("it is ours");
            let now = sched_getaffinity(None).expect("our own affinity");
            assert!(now.is_set(mine) && now.count() == 1);
        })
        .join()
        .expect("the bound thread");
        for wrong in [1_023, 4_095] {
            let said = bind_to(wrong).expect_err("no such processor").to_string();
            assert!(
                said.contains(&format!("= {wrong}")) && said.contains("may run on"),
                "{said}"
            );
        }
    }
}
