//! Generated code and the native format against their schemas, in one program.

mod codegen;
mod native;
