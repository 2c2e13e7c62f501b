//! The server as a `tower::Service`: reads the body, finds the cluster, hands over to `handler`.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use parking_lot::RwLock;
use serde_json::Value;
use tower::{BoxError, Service};

use crate::{
    admission::Admission,
    cluster::Cluster,
    conversion::Conversion,
    handler,
    history::Revision,
    options::Options,
    record::RequestCount,
    resource::ResourceKey,
    response::{self, ResponseBody},
    server_context::Env,
    status::ApiError,
};

/// The largest request body, as in kube-apiserver.
pub(crate) const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// How much of a larger body is read nevertheless.
const DRAIN_LIMIT: usize = 32 * 1024 * 1024;
/// Where the APIs of workload clusters live.
const CLUSTERS_PREFIX: &str = "/clusters/";

/// An in-process Kubernetes API server. Clones share everything.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
    /// Requests go to this cluster, whatever their path; see [`ApiServer::cluster`].
    scope: Option<Arc<str>>,
}

struct Shared {
    env: Arc<Env>,
    management: Arc<Cluster>,
    workload: RwLock<BTreeMap<String, Arc<Cluster>>>,
}

impl ApiServer {
    /// A server with the built-in kinds and the namespaces `default` and `kube-system`.
    pub fn new(options: Options) -> Self {
        let env = Arc::new(Env::new(options));
        let management = Arc::new(Cluster::new(None, Arc::clone(&env)));
        let shared = Shared { env, management, workload: RwLock::default() };
        Self { shared: Arc::new(shared), scope: None }
    }

    /// Adds another, empty API under `/clusters/<id>/`. Does nothing if it is there already. The id may contain
    /// slashes, as in `metal3/my-cluster`.
    pub fn add_cluster(&self, id: &str) {
        let create = || Arc::new(Cluster::new(Some(id.to_owned()), Arc::clone(&self.shared.env)));
        self.shared.workload.write().entry(id.to_owned()).or_insert_with(create);
    }

    /// Removes a cluster and ends its watches; requests to it are answered with 503 from then on.
    pub fn remove_cluster(&self, id: &str) {
        let removed = self.shared.workload.write().remove(id);
        if let Some(cluster) = removed {
            cluster.close();
        }
    }

    /// From now on a cluster (`None`: the management API) reports this version of Kubernetes, such as `v1.27.3`. It changes
    /// nothing else. Does nothing if the cluster is not there.
    pub fn report_version(&self, cluster: Option<&str>, version: &str) {
        if let Some(cluster) = self.named(cluster) {
            cluster.report_version(version);
        }
    }

    /// This server as seen by a client of one workload cluster: paths need no prefix.
    #[must_use]
    pub fn cluster(&self, id: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), scope: Some(id.into()) }
    }

    /// Says of a token that it is the user's, whoever asks.
    pub(crate) fn accept_token(&self, token: &str) {
        self.shared.env.tokens.add(token);
    }

    /// Installs rules that may change or refuse writes, in all clusters.
    pub fn set_admission(&self, admission: Arc<dyn Admission>) {
        self.shared.env.set_admission(admission);
    }

    /// Installs the conversion between versions of custom resources, in all clusters.
    pub fn set_conversion(&self, conversion: Arc<dyn Conversion>) {
        self.shared.env.set_conversion(conversion);
    }

    /// How often each kind of request was answered, ordered by caller, verb, resource and code.
    pub fn requests(&self) -> Vec<RequestCount> {
        self.shared.env.counters.snapshot()
    }

    /// Every stored object of a cluster (`None`: the management API), ordered by resource, namespace and name.
    pub fn objects(&self, cluster: Option<&str>) -> Vec<Arc<Value>> {
        self.named(cluster).map(|cluster| cluster.objects(|_| true)).unwrap_or_default()
    }

    /// The stored objects of some kinds of the management API, ordered by resource, namespace and name. Only these
    /// are parsed.
    pub fn objects_of(&self, kinds: &[&str]) -> Vec<Arc<Value>> {
        self.shared.management.objects(|resource| kinds.contains(&resource.kind.as_str()))
    }

    /// Every change of a resource of a cluster (`None`: the management API), oldest first. `None` if the resource is
    /// not served, or if more changes happened than [`Options::log_capacity`] and
    /// [`Options::log_bytes`] keep.
    pub fn history(&self, cluster: Option<&str>, group: &str, plural: &str) -> Option<Vec<Revision>> {
        self.named(cluster)?.history(&ResourceKey::new(group, plural))
    }

    fn named(&self, cluster: Option<&str>) -> Option<Arc<Cluster>> {
        match cluster {
            None => Some(Arc::clone(&self.shared.management)),
            Some(id) => self.shared.workload.read().get(id).cloned(),
        }
    }

    /// The cluster a path belongs to, and the rest of the path.
    fn find<'p>(&self, path: &'p str) -> Result<(Arc<Cluster>, &'p str), ApiError> {
        let unreachable = |id: &str| ApiError::Unavailable(format!("cluster {id:?} is not reachable"));
        let workload = self.shared.workload.read();
        if let Some(id) = &self.scope {
            return workload.get(&**id).map(|it| (Arc::clone(it), path)).ok_or_else(|| unreachable(id));
        }
        let Some(rest) = path.strip_prefix(CLUSTERS_PREFIX) else {
            return Ok((Arc::clone(&self.shared.management), path));
        };
        // Ids may contain slashes, so the longest known one wins.
        let candidates = rest.match_indices('/').rev().map(|(at, _)| rest.split_at(at));
        let found =
            candidates.into_iter().find_map(|(id, path)| workload.get(id).map(|it| (Arc::clone(it), path)));
        found.ok_or_else(|| unreachable(rest))
    }

    fn answer(&self, parts: &http::request::Parts, body: Result<Bytes, ApiError>) -> Response<ResponseBody> {
        let path = parts.uri.path();
        let result = body.and_then(|body| {
            self.find(path).map(|(cluster, path)| handler::handle(&cluster, path, parts, &body))
        });
        result.unwrap_or_else(|error| response::error(&error))
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let clusters: Vec<String> = self.shared.workload.read().keys().cloned().collect();
        f.debug_struct("ApiServer")
            .field("scope", &self.scope)
            .field("clusters", &clusters)
            .finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for ApiServer
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        let (parts, body) = request.into_parts();
        Box::pin(async move {
            let body = read(body).await;
            Ok(response::to(&parts.method, server.answer(&parts, body)))
        })
    }
}

/// The whole body. Of one that is too large the rest is read and forgotten, as far as that makes sense: many clients
/// look for an answer only after they have sent everything.
async fn read<B>(body: B) -> Result<Bytes, ApiError>
where
    B: Body + Send,
    B::Error: Into<BoxError>,
{
    if body.size_hint().lower() > DRAIN_LIMIT as u64 {
        return Err(ApiError::BodyTooLarge);
    }
    // As large as announced, so that a growing buffer does not take twice the memory.
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(BODY_LIMIT).min(BODY_LIMIT);
    let (mut body, mut kept, mut seen) = (pin!(body), BytesMut::with_capacity(announced), 0);
    while let Some(frame) = body.as_mut().frame().await {
        let frame = frame.map_err(|error| {
            ApiError::bad_request(format!("the request body could not be read: {}", error.into()))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.remaining();
        if seen > DRAIN_LIMIT {
            break;
        }
        if seen > BODY_LIMIT {
            kept = BytesMut::new();
        } else {
            kept.put(data);
        }
    }
    if seen > BODY_LIMIT { Err(ApiError::BodyTooLarge) } else { Ok(kept.freeze()) }
}
