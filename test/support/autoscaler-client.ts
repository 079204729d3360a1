import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { CloudProvider } from '../../src/autoscaler/gen/externalgrpc_pb.ts';
import { createTestAuthority, type PemKeyPair, type TestAuthority } from '../peers/test-authority.ts';

/** The certificates of a server for autoscalers, in a folder as a Secret is mounted, and their authority. */
export interface AutoscalerCertificates {
  readonly folder: string;
  readonly authority: TestAuthority;
  /** A client certificate with this URI. */
  client(uri: string): Promise<PemKeyPair>;
}

export async function createAutoscalerCertificates(): Promise<AutoscalerCertificates> {
  const folder = await mkdtemp(join(tmpdir(), 'autoscaler-'));
  const authority = await createTestAuthority('autoscalers');
  await writeServingCertificate(folder, authority);
  return { folder, authority, client: (uri) => authority.client('autoscaler', [], [uri]) };
}

/** Replaces the files, as a renewal does. */
export async function writeServingCertificate(folder: string, authority: TestAuthority): Promise<void> {
  const { cert, key } = await authority.serving(['127.0.0.1'], ['localhost']);
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
    ['ca.crt', authority.ca],
  ] as const)
    await writeFile(join(folder, name), text);
}

export interface AutoscalerClient extends Client<typeof CloudProvider> {
  close(): void;
}

/** A client as cluster-autoscaler is one: gRPC over one HTTP/2 session with mutual TLS. */
export function openAutoscalerClient(address: string, ca: string, pair: PemKeyPair | undefined): AutoscalerClient {
  const baseUrl = `https://${address}`;
  const tls = { ca, ...(pair && { cert: pair.cert, key: pair.key }), servername: 'localhost' };
  const session = new Http2SessionManager(baseUrl, {}, tls);
  const transport = createGrpcTransport({ baseUrl, sessionManager: session, defaultTimeoutMs: 10_000 });
  return Object.assign(createClient(CloudProvider, transport), { close: () => session.abort() });
}
