//! FIX sessions against testers and each other, and what a file keeps of them.
#![allow(missing_docs)]

mod file_store;
mod fix;
