//! Recorded and independently generated captures, where they are at hand (`TOUCHLINE_CAPTURES`).
