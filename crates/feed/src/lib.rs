//! Per venue: arbitration, sequence, gaps, recovery, normalisation.
