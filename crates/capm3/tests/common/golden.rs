//! What is checked in under `tests/expected`. With `CAPM3_BLESS=1` it is written again; read the difference before you keep it.

use std::{fs, path::Path};

/// Compares a text with the file of that name, without its `.txt`.
pub fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(format!("{name}.txt"));
    if std::env::var_os("CAPM3_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(text, expected, "not what {} says", path.display());
}
