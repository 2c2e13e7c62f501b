//! A certificate that is replaced while the server runs.

use std::fs;

use capm3_admission::https::{CertificateFiles, Limits, Refresh, Served};

use crate::client::{Client, connect, pair, start};

#[tokio::test]
async fn a_new_certificate_is_served_on_the_next_connection_and_open_ones_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let write = |(certificate, key): &(String, String)| {
        fs::write(folder.path().join("tls.crt"), certificate).unwrap();
        fs::write(folder.path().join("tls.key"), key).unwrap();
    };
    let (first, second) = (pair(), pair());
    write(&first);
    let mut files = CertificateFiles::new(folder.path());
    let served = Served::new(files.load().unwrap());
    let server = start(served.clone(), Limits::default()).await;
    let address = server.local_addr();
    let mut open = Client::over(connect(address, &first.0, "h2").await.unwrap()).await;
    assert_eq!(open.post("/nothing", "").await.0, 404);
    // A broken pair is not served.
    fs::write(folder.path().join("tls.key"), "no key").unwrap();
    assert!(matches!(files.refresh(), Refresh::Broken(_)));
    connect(address, &first.0, "h2").await.unwrap();
    write(&second);
    let Refresh::New(certified) = files.refresh() else { panic!("the files have changed") };
    served.replace(*certified);
    let refused = connect(address, &first.0, "h2").await.unwrap_err().to_string();
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    let mut new = Client::over(connect(address, &second.0, "h2").await.unwrap()).await;
    assert_eq!(new.post("/nothing", "").await.0, 404);
    assert_eq!(open.post("/nothing", "").await.0, 404, "the open connection goes on");
}
