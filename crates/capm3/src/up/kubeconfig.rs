//! The kubeconfig of a running `up`: a file of its own, never the user's default one, gone when `up` ends.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// A kubeconfig on disk; dropping it removes it.
pub struct KubeconfigFile {
    folder: PathBuf,
    path: PathBuf,
}

impl KubeconfigFile {
    /// Writes it into a folder that only its owner can read, named after the port.
    pub fn write(port: u16, text: &str) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("capm3-up-{port}-{}", std::process::id()));
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        let file = Self { path: folder.join("kubeconfig"), folder };
        let mut handle = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
        handle.write_all(text.as_bytes())?;
        Ok(file)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("cannot remove {}: {error}", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_owner_can_read_it_and_it_goes_with_the_program() {
        let file = KubeconfigFile::write(1, "text").unwrap();
        let path = file.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        drop(file);
        assert!(!path.exists());
    }
}
