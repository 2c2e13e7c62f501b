//! Flags of the webhooks, as the Go manager names them.

use std::path::{Path, PathBuf};

use capm3_admission::{https::TlsOptions, self_managed::Service};
use capm3_api::crd::CONVERSION_SERVICE;
use capm3_engine::client::ServiceAccount;
use clap::{ArgAction, Args};

use crate::{exit::Failure, manager::flags as go, numbers};

/// Where webhooks are served, and with which certificate.
#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// Port of the webhooks, on all addresses; 0 serves none
    #[arg(long, default_value = "9443", value_name = "PORT", value_parser = numbers::whole::<u16>)]
    webhook_port: u16,

    /// Folder with tls.crt and tls.key of the webhooks; replaced files are served without a restart
    #[arg(long, default_value = "/tmp/k8s-webhook-server/serving-certs/", value_name = "DIR")]
    webhook_cert_dir: PathBuf,

    /// Generate the webhook certificate instead of reading it from files, and give its CA to the API server
    ///
    /// An authority and a certificate are kept in the Secret capm3-webhook-self-managed-cert, which all replicas share,
    /// and replaced in time. The authority is written into caBundle of the webhook configurations and CRDs of capm3.
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_parser = go::boolean, value_name = "BOOL")]
    self_managed_certs: bool,

    /// Namespace of the Service capm3-webhook-service and of that Secret; without it, that of the pod
    #[arg(long, value_name = "NAMESPACE")]
    webhook_service_namespace: Option<String>,

    /// Lowest version of TLS: VersionTLS12 or VersionTLS13; a lower version is accepted and means VersionTLS12
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

    /// The Service for which certificates are made here; none if they come from files. `account` is that of the pod.
    pub fn self_managed(&self, account: &ServiceAccount) -> Result<Option<Service>, Failure> {
        if !self.self_managed_certs {
            return Ok(None);
        }
        let named = self.webhook_service_namespace.clone().filter(|namespace| !namespace.is_empty());
        let namespace = named.map_or_else(|| account.namespace(), Ok).map_err(|error| {
            let way = "set --webhook-service-namespace NAMESPACE";
            Failure::Usage(format!("the namespace of the webhook Service is not known: {way} ({error})"))
        })?;
        Ok(Some(Service { namespace, name: CONVERSION_SERVICE.1.to_owned() }))
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
    fn certificates_are_made_here_only_if_asked_for_and_for_a_known_namespace() {
        let service = |arguments: &[&str]| {
            let found = parse(arguments).self_managed(&ServiceAccount::at("/nonexistent"));
            found.map(|service| service.map(|it| it.namespace)).map_err(|error| error.to_string())
        };
        assert_eq!(service(&["--webhook-service-namespace=n"]), Ok(None));
        assert_eq!(service(&["--self-managed-certs=false"]), Ok(None));
        let both = ["--self-managed-certs", "--webhook-service-namespace=n"];
        assert_eq!(service(&both), Ok(Some("n".to_owned())));
        let message = service(&["--self-managed-certs=true"]).unwrap_err();
        assert!(message.contains("set --webhook-service-namespace NAMESPACE"), "{message}");
    }

    #[test]
    fn a_name_that_cannot_be_used_is_reported_by_its_flag() {
        let suites = "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_NULL";
        for (argument, start) in [
            ("--tls-min-version=1.2", "--tls-min-version: '1.2' cannot be used: use one of VersionTLS10, "),
            (suites, "--tls-cipher-suites: 'TLS_NULL' cannot be used: use one of TLS_AES_128_GCM_SHA256, "),
        ] {
            let Err(Failure::Usage(message)) = parse(&[argument]).tls() else { panic!("{argument}") };
            assert!(message.starts_with(start), "{message}");
        }
    }
}
