import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { withHttp2Authority } from '../../../../src/lib/net/http2-authority.ts';
import { toAuthority } from '../../../../src/lib/net/ip.ts';
import { SecurityService } from '../../../../src/talos/gen/security_pb.ts';
import { followAuthorities } from '../api/follow-authorities.ts';
import { listenGrpc } from '../api/grpc-server.ts';
import { acceptedCas } from '../certificates/accepted-authorities.ts';
import {
  createCertificateRequest,
  issueLeaf,
  type LeafCertificate,
  openAuthority,
  serverAuth,
  signCertificateRequest,
} from '../certificates/pki.ts';
import { endpointHost } from '../kubernetes/etcd.ts';
import type { TalosNode } from '../node.ts';
import { timings } from '../timings.ts';

const port = 50001;

/** Signs the serving certificates of workers: port 50001 of a control plane, for callers with the machine token. */
export async function serveTrustd(node: TalosNode): Promise<void> {
  const view = node.config?.view;
  if (!view) return;
  let authority = await openAuthority(view.osCa.crt, view.osCa.key);
  const issue = () =>
    issueLeaf(authority, {
      commonName: node.hostname,
      usages: [serverAuth],
      names: [node.hostname, 'localhost'],
      addresses: [...node.addresses, ...(view.vip ? [view.vip] : [])],
      hours: 24,
    });
  const leaf = await issue();
  const listener = await listenGrpc({
    addresses: node.addresses,
    port,
    leaf,
    routes: (router) => {
      router.service(SecurityService, {
        certificate: async (request, context) => {
          const fault = node.world.switchboard.pass('talos', 'securityapi.SecurityService/Certificate', {
            node: node.machine.name,
          });
          if (fault) throw new ConnectError('a fault was asked for', Code.Unavailable);
          const token = context.requestHeader.get('token');
          if (token !== node.config?.view.token) throw new ConnectError('unauthorized', Code.Unauthenticated);
          const crt = await signCertificateRequest(authority, Buffer.from(request.csr).toString('utf8'));
          return { ca: Buffer.from(authority.pem), crt: Buffer.from(crt) };
        },
      });
    },
    interceptors: [],
  });
  if (node.signal.aborted) return listener.close();
  node.onClose(() => listener.close());
  followAuthorities(node, async () => {
    const { crt = '', key = '' } = node.config?.view.osCa ?? {};
    authority = await openAuthority(crt, key);
    listener.renew(await issue());
  });
  node.services.set('trustd', 'Running', 'Health check successful', true);
}

/** Requests a worker's serving certificate: it asks every known control plane until one signs. */
export async function requestCertificate(
  node: TalosNode,
  names: readonly string[],
  addresses: readonly string[],
): Promise<LeafCertificate> {
  const { csr, key } = await createCertificateRequest({ commonName: node.hostname, names, addresses });
  for (;;) {
    for (const host of controlPlanes(node)) {
      const crt = await requestFrom(node, host, csr);
      if (crt !== undefined) return { cert: crt, key };
    }
    await node.sleep(timings.poll);
  }
}

function controlPlanes(node: TalosNode): string[] {
  const members = node.resources.list('cluster', 'Members.cluster.talos.dev');
  const found = members
    .map((member) => member.spec as { machineType: string; addresses: string[] })
    .filter((spec) => spec.machineType === 'controlplane')
    .flatMap((spec) => spec.addresses);
  const host = endpointHost(node.config?.view.endpoint ?? '');
  return [...new Set([...found, ...(host ? [host] : [])])];
}

async function requestFrom(node: TalosNode, host: string, csr: string): Promise<string | undefined> {
  const view = node.config?.view;
  if (!view) return undefined;
  const baseUrl = `https://${toAuthority(host, port)}`;
  const sessionManager = new Http2SessionManager(baseUrl, {}, withHttp2Authority(host, { ca: acceptedCas(node) }));
  const transport = createGrpcTransport({ baseUrl, sessionManager });
  try {
    const signal = AbortSignal.any([node.signal, AbortSignal.timeout(5000)]);
    const client = createClient(SecurityService, transport);
    const answer = await client.certificate({ csr: Buffer.from(csr) }, { headers: { token: view.token }, signal });
    return Buffer.from(answer.crt).toString('utf8');
  } catch (error) {
    node.log(`failed to sign API server CSR: ${ConnectError.from(error).message}`);
    return undefined;
  } finally {
    sessionManager.abort(new Error('done'));
  }
}
