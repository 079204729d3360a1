import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../../src/talos/secrets/certificates.ts';
import { toLoadableKey } from '../../src/talos/secrets/pem.ts';

/** A gRPC server on loopback with only the services that the test adds. */
export interface TalosNodeServer {
  readonly port: number;
  /** Open sessions. */
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  close(): Promise<void>;
}

const day = 24 * 60 * 60 * 1000;

/** A server certificate for 127.0.0.1, or for `names` instead. */
export function issueServerCertificate(
  authority: KeyPair,
  names: { commonName?: string; ipAddresses?: string[] } = {},
) {
  return issueCertificate(authority, {
    commonName: 'node',
    ipAddresses: ['127.0.0.1'],
    ...names,
    usages: ['server'],
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
  });
}

export function createOtherAuthority(): Promise<KeyPair> {
  return createCertificateAuthority({
    keyKind: 'ed25519',
    organization: 'talos',
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
  });
}

/** With `clientCa` it asks for a client certificate, as a configured node does; without, as one in maintenance. */
export async function startTalosNodeServer(
  routes: (router: ConnectRouter) => void,
  tls: { readonly leaf: KeyPair; readonly clientCa?: string; readonly port?: number },
): Promise<TalosNodeServer> {
  const server: Http2SecureServer = createSecureServer(
    {
      cert: tls.leaf.certificate,
      key: toLoadableKey(tls.leaf.key).reveal(),
      ...(tls.clientCa ? { ca: tls.clientCa, requestCert: true, rejectUnauthorized: true } : {}),
    },
    connectNodeAdapter({ routes }),
  );
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  await new Promise<void>((resolve) => server.listen(tls.port ?? 0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    sessions,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}
