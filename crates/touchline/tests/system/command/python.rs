//! The tests of the Python package, on the bus of a replayed session, in an environment with numpy and pytest.

use super::examples::published;
use std::path::Path;
use std::process::Command;
use touchline_testing::built;

#[test]
fn the_python_package_keeps_its_promises() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let desk = published("python");
    let package = built::python_package(&desk.path("packages"));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/tests");
    let output = Command::new(python)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg(tests)
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TOUCHLINE_DIR", desk.path("buses"))
        .env("TOUCHLINE_SESSION", desk.path("demo"))
        .output()
        .expect("the environment has an interpreter");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}
