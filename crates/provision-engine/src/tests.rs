//! Tests of the whole program that need no server.

mod command_line;
mod pages;
mod settings;
