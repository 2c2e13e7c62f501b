//! A management cluster in this process, reached by HTTP, in which the account of the manager may do only what a test allows.

use std::{
    convert::Infallible,
    io::Write,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
};

use capm3_apiserver::https::{self, Listener};
use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{
    Lab, Options,
    faults::{Access, Authorizer, Call, Faults},
    manifests::{self, Manifest},
};
use http_body_util::BodyExt;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::common::repository;

type Allows = Box<dyn Fn(&Access) -> bool + Send>;

/// The cluster; its provider is whoever uses the kubeconfig.
pub struct Site {
    runtime: Runtime,
    lab: Lab,
    address: SocketAddr,
    /// Where its user has a token of, who may do everything.
    listener: Listener,
    kubeconfig: NamedTempFile,
    authorizer: Arc<Authorizer>,
    allows: Arc<Mutex<Allows>>,
}

/// The account's token.
pub const TOKEN: &str = "the-token-of-the-account";

impl Site {
    /// With all CRDs and nothing else. Everything is allowed.
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let allows: Arc<Mutex<Allows>> = Arc::new(Mutex::new(Box::new(|_| true)));
        let asked = Arc::clone(&allows);
        let authorizer = Authorizer::new(move |access| asked.lock().unwrap()(access));
        let (lab, address, listener) = runtime.block_on(async {
            let mut lab = Lab::start(&Options { real_time: true, ..Options::default() }).await.unwrap();
            lab.stop_providers();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(serve(listener, lab.server().clone(), Arc::clone(&authorizer)));
            let listener = https::serve(lab.server().clone(), Default::default()).unwrap();
            (lab, address, listener)
        });
        let mut kubeconfig = NamedTempFile::new().unwrap();
        kubeconfig.write_all(config(address, "").as_bytes()).unwrap();
        let namespace = json!({"metadata": {"name": "capm3-system"}});
        let site = Self { runtime, lab, address, listener, kubeconfig, authorizer, allows };
        site.create(&ResourceKind::namespaces(), "", namespace);
        site
    }

    /// From now on the account may do only what this function allows.
    pub fn allow(&self, allows: impl Fn(&Access) -> bool + Send + 'static) {
        *self.allows.lock().unwrap() = Box::new(allows);
    }

    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }

    /// A kubeconfig of its one user, who is not the account of the manager.
    pub fn users_kubeconfig(&self) -> String {
        self.listener.kubeconfig()
    }

    /// A kubeconfig for one of its workload clusters.
    pub fn kubeconfig_of(&self, namespace: &str, cluster: &str) -> String {
        config(self.address, &format!("/clusters/{namespace}/{cluster}"))
    }

    pub fn apply(&self, manifests: &[Manifest]) {
        self.runtime.block_on(self.lab.apply(manifests)).unwrap();
    }

    pub fn create(&self, kind: &ResourceKind, namespace: &str, object: Value) {
        self.runtime.block_on(self.lab.client().create(kind, namespace, object)).unwrap();
    }

    pub fn patch(&self, kind: &ResourceKind, key: &ObjectKey, patch: &Value) {
        self.runtime.block_on(self.lab.patch(kind, key, patch)).unwrap();
    }

    pub fn delete(&self, kind: &ResourceKind, key: &ObjectKey) {
        self.runtime.block_on(self.lab.client().delete(kind, key, None)).unwrap();
    }

    pub fn objects(&self, kind: &str) -> Vec<Arc<Value>> {
        self.lab.objects(kind)
    }

    /// What was refused since the last call.
    pub fn take_refused(&self) -> Vec<Access> {
        self.authorizer.take_refused()
    }
}

/// The manifests of `examples/three-racks`.
pub fn three_racks() -> Vec<Manifest> {
    manifests::read(&repository().join("examples/three-racks")).unwrap()
}

pub fn config(address: SocketAddr, path: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}{path}")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    })
    .to_string()
}

async fn serve(listener: TcpListener, server: capm3_apiserver::ApiServer, authorizer: Arc<Authorizer>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (server, authorizer) = (server.clone(), Arc::clone(&authorizer));
        let answer = service_fn(move |request: Request<Incoming>| {
            let call = Call { method: request.method().clone(), path: request.uri().to_string() };
            let (server, authorizer) = (server.clone(), Arc::clone(&authorizer));
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let request = Request::from_parts(parts, Body::from(body));
                Ok::<_, Infallible>(authorizer.ask(&server, &call, request).await.unwrap())
            }
        });
        // A client that goes away in the middle is no failure.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}
