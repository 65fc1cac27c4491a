//! Credentials of the simulator and files for a gateway.

use super::arguments::Arguments;
use crate::output::Failure;
use std::fs::{File, Permissions};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use touchline_credentials::SecretSource;
use touchline_lab::deribit::Credentials;

/// User name of generated credentials.
const USER: &str = "sim";
/// The file with the secret, beside gateway.toml.
const SECRET_FILE: &str = "secret";

/// The credentials of the file, or new ones.
pub fn credentials(arguments: &Arguments) -> Result<Credentials, Failure> {
    let Some(file) = &arguments.credentials else {
        return Ok(Credentials::made(USER));
    };
    let line = SecretSource::File(file.clone()).read();
    let line = line.map_err(|error| Failure::configuration(&error))?;
    let refuse = || {
        Failure::usage(format!(
            "{}: no line `USER:SECRET`; write user and secret into it, in visible ASCII characters",
            file.display()
        ))
    };
    let bytes = line.expose();
    let colon = bytes.iter().position(|byte| *byte == b':');
    let (user, secret) = bytes.split_at(colon.ok_or_else(refuse)?);
    let secret = &secret[1..];
    let is_good = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_graphic);
    let user = std::str::from_utf8(user).ok();
    match user.filter(|user| is_good(user.as_bytes()) && is_good(secret)) {
        Some(user) => Ok(Credentials::new(user, secret.into())),
        None => Err(refuse()),
    }
}

/// Writes `gateway.toml` and the secret for a gateway of this simulator.
pub fn write(folder: &Path, address: SocketAddrV4, access: &Credentials) -> Result<(), Failure> {
    let host = match *address.ip() {
        Ipv4Addr::UNSPECIFIED => Ipv4Addr::LOCALHOST,
        host => host,
    };
    let toml = format!(
        "bus = \"deribit-sim\"\n\n[venue]\nkind = \"deribit\"\nhosts = [\"{host}:{}\"]\nsender = \"TOUCHLINE\"\n\
         user = \"{}\"\npassword = {{ file = \"{SECRET_FILE}\" }}\n",
        address.port(),
        access.user().replace(['\\', '"'], "_"),
    );
    std::fs::create_dir_all(folder)
        .and_then(|()| write_secret(&folder.join(SECRET_FILE), access.secret().expose()))
        .and_then(|()| std::fs::write(folder.join("gateway.toml"), toml))
        .map_err(|error| {
            Failure::run(format!(
                "{}: {error}; give a folder that you may write, with free space",
                folder.display()
            ))
        })
}

/// Writes a file with mode 0600, as a gateway requires.
fn write_secret(path: &Path, secret: &[u8]) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(secret)?;
    file.write_all(b"\n")
}
