//! Certificate and key from files, read again while the server runs: whoever issues certificates replaces the files.
//!
//! The contents are compared, not times: the kubelet replaces a mounted Secret by moving a link.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use rustls::sign::CertifiedKey;
use thiserror::Error;

use super::certificate::{PairError, certified};

/// Names of the files, as cert-manager and `kubectl create secret tls` have them.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
/// More than any chain needs.
const MOST_BYTES: u64 = 1024 * 1024;

/// Why the files cannot be served.
#[derive(Debug, Error)]
pub enum FilesError {
    /// A file is missing or cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The files do not hold a certificate with its key.
    #[error("{folder}: {source}")]
    Pair {
        /// The folder of the files.
        folder: PathBuf,
        /// What is wrong.
        source: PairError,
    },
}

/// What reading the files again gives.
pub enum Refresh {
    /// They are as they were.
    Same,
    /// They hold another certificate.
    New(Box<CertifiedKey>),
    /// They changed and cannot be used now.
    Broken(FilesError),
}

/// A folder with `tls.crt` and `tls.key`.
pub struct CertificateFiles {
    folder: PathBuf,
    /// Both files as they were last seen.
    seen: Option<(Vec<u8>, Vec<u8>)>,
    /// The last problem with them, logged once.
    problem: String,
}

impl fmt::Debug for CertificateFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateFiles").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl CertificateFiles {
    /// The files of a folder; nothing is read yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), seen: None, problem: String::new() }
    }

    /// Reads the files for the first time.
    ///
    /// # Errors
    /// See [`FilesError`].
    pub fn load(&mut self) -> Result<CertifiedKey, FilesError> {
        let contents = self.read()?;
        let certified = self.pair(&contents)?;
        self.seen = Some(contents);
        Ok(certified)
    }

    /// Reads the files again. A problem is logged when it appears and when it changes.
    pub fn refresh(&mut self) -> Refresh {
        let contents = match self.read() {
            Ok(contents) => contents,
            Err(error) => return self.broken(error),
        };
        if self.seen.as_ref() == Some(&contents) {
            self.problem.clear();
            return Refresh::Same;
        }
        match self.pair(&contents) {
            // Halfway through a replacement the files do not fit; the next read finds the rest.
            Err(error) => self.broken(error),
            Ok(certified) => {
                self.seen = Some(contents);
                self.problem.clear();
                Refresh::New(Box::new(certified))
            }
        }
    }

    fn broken(&mut self, error: FilesError) -> Refresh {
        let text = error.to_string();
        if self.problem == text {
            return Refresh::Same;
        }
        self.problem = text;
        Refresh::Broken(error)
    }

    fn read(&self) -> Result<(Vec<u8>, Vec<u8>), FilesError> {
        Ok((read(&self.folder.join(CERTIFICATE))?, read(&self.folder.join(KEY))?))
    }

    fn pair(&self, (certificate, key): &(Vec<u8>, Vec<u8>)) -> Result<CertifiedKey, FilesError> {
        certified(certificate, key).map_err(|source| FilesError::Pair { folder: self.folder.clone(), source })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FilesError> {
    let unreadable = |source| FilesError::Unreadable { path: path.to_owned(), source };
    let length = fs::metadata(path).map_err(unreadable)?.len();
    if length > MOST_BYTES {
        return Err(unreadable(io::Error::other(format!("is larger than {MOST_BYTES} bytes"))));
    }
    fs::read(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::{super::certificate::tests::pair, *};

    fn write(folder: &Path, (certificate, key): (&str, &str)) {
        fs::write(folder.join(CERTIFICATE), certificate).unwrap();
        fs::write(folder.join(KEY), key).unwrap();
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = CertificateFiles::new(folder.path());
        assert!(files.load().unwrap_err().to_string().contains("tls.crt: No such file"));
        let (certificate, _) = pair("a");
        fs::write(folder.path().join(CERTIFICATE), certificate).unwrap();
        assert!(files.load().unwrap_err().to_string().contains("tls.key: No such file"));
    }

    #[test]
    fn a_new_pair_is_taken_and_a_broken_one_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (pair("a"), pair("b"));
        write(folder.path(), (&first.0, &first.1));
        let mut files = CertificateFiles::new(folder.path());
        files.load().unwrap();
        assert!(matches!(files.refresh(), Refresh::Same));
        write(folder.path(), (&second.0, &first.1));
        let Refresh::Broken(error) = files.refresh() else { panic!("halfway through a replacement") };
        assert!(error.to_string().contains("cannot be used together"), "{error}");
        assert!(matches!(files.refresh(), Refresh::Same), "reported once");
        write(folder.path(), (&second.0, &second.1));
        let Refresh::New(certified) = files.refresh() else { panic!("the replacement is complete") };
        assert_eq!(
            certified.cert,
            super::super::certified(second.0.as_bytes(), second.1.as_bytes()).unwrap().cert
        );
        assert!(matches!(files.refresh(), Refresh::Same));
        fs::remove_file(folder.path().join(KEY)).unwrap();
        assert!(matches!(files.refresh(), Refresh::Broken(FilesError::Unreadable { .. })));
        write(folder.path(), (&second.0, &second.1));
        assert!(matches!(files.refresh(), Refresh::Same), "the same pair is back");
        fs::remove_file(folder.path().join(KEY)).unwrap();
        assert!(matches!(files.refresh(), Refresh::Broken(_)), "reported again, it is another time");
    }
}
