//! FIX sessions in scenarios and with each other, and their file stores.
#![allow(missing_docs)]

mod file_store;
mod fix;
