//! The codecs from outside, in one program.

mod fix;
mod mdp3;
