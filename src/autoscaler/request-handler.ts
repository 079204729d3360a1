import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Code, createContextValues } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { Cluster } from '../api/openmcp/types.ts';
import type { Services } from '../controllers/shared/services.ts';
import { LruMap } from '../lib/lru-map.ts';
import { type Rate, RateLimit } from '../lib/resilience/rate-limit.ts';
import { clientCertificateOf, type Http2Handler } from '../server/mutual-tls-server.ts';
import { authorizeClient } from './authorize-client.ts';
import { createCloudProvider } from './cloud-provider.ts';
import { CloudProvider } from './gen/externalgrpc_pb.ts';
import { clusterKey } from './request-context.ts';

/** Bounds of what clients may ask for. */
export interface CallLimits {
  /** Of one client. */
  readonly rate: Rate;
  readonly callsOfClient: number;
  readonly calls: number;
  readonly messageBytes: number;
}

/**
 * An autoscaler asks for each Node that is in no group in each of its loops, ten seconds apart, and waits for one answer
 * before the next call, but for deletions. A request names at most some dozens of Nodes, with all their labels and
 * annotations.
 */
const defaultLimits: CallLimits = {
  rate: { burst: 2000, perSecond: 200 },
  callsOfClient: 16,
  calls: 64,
  messageBytes: 2 * 1024 * 1024,
};
/** A client that sends no more of its request for so long is cut off. */
const silentMs = 15_000;
/** Clients are known by the names of existing Clusters, so this is not reached by requests alone. */
const maxKnownClients = 4096;

interface ClientUse {
  readonly rate: RateLimit;
  running: number;
}

/** Answers calls of autoscalers. What a client may do is decided before anything of its message is read. */
export function createAutoscalerHandler(services: Services, limits: CallLimits = defaultLimits): Http2Handler {
  const { clock } = services;
  const callers = new WeakMap<object, Cluster>();
  const uses = new LruMap<string, ClientUse>(maxKnownClients);
  let running = 0;
  const handle = connectNodeAdapter({
    routes: (router) => router.service(CloudProvider, createCloudProvider(services)),
    connect: false,
    grpcWeb: false,
    acceptCompression: [],
    readMaxBytes: limits.messageBytes,
    contextValues: (request) => createContextValues().set(clusterKey, callers.get(request)),
    fallback: (request, response) =>
      reject(request as Http2ServerRequest, response as Http2ServerResponse, Code.Unimplemented, 'not served'),
  }) as Http2Handler;
  const useOf = (cluster: Cluster): ClientUse => {
    const key = cluster.metadata.uid ?? '';
    const known = uses.get(key) ?? { rate: new RateLimit(clock, limits.rate), running: 0 };
    uses.set(key, known);
    return known;
  };
  return (request, response) => {
    const authorized = authorizeClient(services, clientCertificateOf(request), clock.now());
    if ('rejected' in authorized) return reject(request, response, Code.PermissionDenied, authorized.rejected);
    const use = useOf(authorized.cluster);
    if (running >= limits.calls || use.running >= limits.callsOfClient || !use.rate.take())
      return reject(request, response, Code.ResourceExhausted, 'Too many calls at once. Repeat this one later.');
    running += 1;
    use.running += 1;
    request.stream.once('close', () => {
      running -= 1;
      use.running -= 1;
    });
    request.stream.setTimeout(silentMs, () => request.stream.close(constants.NGHTTP2_CANCEL));
    callers.set(request, authorized.cluster);
    handle(request, response);
  };
}

/** Answers without reading the message. */
function reject(request: Http2ServerRequest, { stream }: Http2ServerResponse, code: Code, message: string): void {
  if (stream.destroyed) return;
  const status = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message).replaceAll('%20', ' ') };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
  request.stream.close(constants.NGHTTP2_NO_ERROR);
}
