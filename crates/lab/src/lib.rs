//! Exchange simulators, fault injection, reference models, benchmark harness.
