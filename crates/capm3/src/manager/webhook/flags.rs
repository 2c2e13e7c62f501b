//! Flags of the webhooks, as the Go manager names them.

use std::path::{Path, PathBuf};

use capm3_admission::https::TlsOptions;
use clap::Args;

use crate::{exit::Failure, numbers};

/// Where webhooks are served, and with which certificate.
#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// Port of the webhooks, on all addresses; 0 serves none
    #[arg(long, default_value = "9443", value_name = "PORT", value_parser = numbers::whole::<u16>)]
    webhook_port: u16,

    /// Folder with tls.crt and tls.key of the webhooks; replaced files are served without a restart
    #[arg(long, default_value = "/tmp/k8s-webhook-server/serving-certs/", value_name = "DIR")]
    webhook_cert_dir: PathBuf,

    /// Lowest version of TLS: VersionTLS12 or VersionTLS13; lower ones are taken and mean VersionTLS12
    #[arg(long, default_value = "VersionTLS12", value_name = "VERSION")]
    tls_min_version: String,

    /// Cipher suites of TLS 1.2 by Go's names, separated by commas; if not set, all that are safe
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tls_cipher_suites: Vec<String>,
}

impl WebhookArgs {
    /// The port; none if no webhooks are served.
    pub fn port(&self) -> Option<u16> {
        Some(self.webhook_port).filter(|port| *port != 0)
    }

    /// The folder of the certificate.
    pub fn cert_dir(&self) -> &Path {
        &self.webhook_cert_dir
    }

    /// Version and cipher suites.
    pub fn tls(&self) -> Result<TlsOptions, Failure> {
        let version = self.tls_min_version.as_str();
        let suites: Vec<String> = self.tls_cipher_suites.iter().map(|name| name.trim().to_owned()).collect();
        let suites: Vec<String> = suites.into_iter().filter(|name| !name.is_empty()).collect();
        TlsOptions::by_names(version, &[])
            .map_err(|error| Failure::Usage(format!("--tls-min-version: {error}")))
            .and_then(|_| {
                TlsOptions::by_names(version, &suites)
                    .map_err(|error| Failure::Usage(format!("--tls-cipher-suites: {error}")))
            })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        webhooks: WebhookArgs,
    }

    fn parse(arguments: &[&str]) -> WebhookArgs {
        Command::try_parse_from(["manager"].iter().chain(arguments)).unwrap().webhooks
    }

    #[test]
    fn defaults_are_those_of_the_go_manager() {
        let args = parse(&[]);
        assert_eq!(args.port(), Some(9443));
        assert_eq!(args.cert_dir(), Path::new("/tmp/k8s-webhook-server/serving-certs/"));
        assert_eq!(args.tls().unwrap(), TlsOptions::default());
        assert_eq!(parse(&["--webhook-port=0"]).port(), None);
        assert_eq!(parse(&["--tls-cipher-suites="]).tls().unwrap(), TlsOptions::default());
    }

    #[test]
    fn a_name_that_cannot_be_used_is_told_by_its_flag() {
        let suites = "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_NULL";
        for (argument, start) in [
            ("--tls-min-version=1.2", "--tls-min-version: '1.2' cannot be used: use one of VersionTLS10, "),
            (suites, "--tls-cipher-suites: 'TLS_NULL' cannot be used: use one of TLS_AES_128_GCM_SHA256, "),
        ] {
            let Err(Failure::Usage(said)) = parse(&[argument]).tls() else { panic!("{argument}") };
            assert!(said.starts_with(start), "{said}");
        }
    }
}
