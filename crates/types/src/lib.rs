//! The vocabulary of Touchline: prices, quantities, instruments, events and updates.
