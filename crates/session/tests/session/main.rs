//! FIX sessions in scenarios and with each other, and their file stores.

mod file_store;
mod fix;
