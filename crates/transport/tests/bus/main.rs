//! The bus: what is published by one side arrives at the other, whenever it joins.

mod joining;
mod stage;
