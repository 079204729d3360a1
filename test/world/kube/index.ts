import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Room, RoomOptions, RunningRoom } from '../room.ts';
import { asArray, asObject } from './json.ts';
import { makeAuthority, newTokenKey } from './pki.ts';
import { startKube } from './server.ts';
import type { ApiObject } from './store.ts';

/** A kubeconfig in which everything is inline. */
export function kubeconfigOf(url: string, ca: string, user: Record<string, unknown>): string {
  const certificate = Buffer.from(ca).toString('base64');
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'world',
    clusters: [{ name: 'world', cluster: { server: url, 'certificate-authority-data': certificate } }],
    users: [{ name: 'admin', user }],
    contexts: [{ name: 'world', context: { cluster: 'world', user: 'admin' } }],
  });
}

/** An API server as the platform cluster: a CA, an administrator's token and a kubeconfig file of its own. */
async function start(options: RoomOptions): Promise<RunningRoom> {
  const authority = await makeAuthority();
  const token = randomBytes(16).toString('hex');
  const server = await startKube({
    host: options.host,
    port: options.port,
    serving: await authority.issueServer([options.host, 'localhost']),
    clientCa: authority.cert,
    rootCa: authority.cert,
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc.cluster.local' },
    tokens: { [token]: { user: 'admin', groups: ['system:masters'] } },
    switchboard: options.switchboard,
  });
  for (const object of asArray(asObject(options.seed)['objects'])) server.store.put(object as ApiObject);
  const kubeconfig = join(options.folder, 'kubeconfig');
  const ca = join(options.folder, 'ca.crt');
  await writeFile(kubeconfig, kubeconfigOf(server.url, authority.cert, { token }), { mode: 0o600 });
  await writeFile(ca, authority.cert);
  return {
    line: { room: 'kube', url: server.url, credentials: { kubeconfig, token }, ca },
    close: () => server.close(),
  };
}

export const room: Room = {
  name: 'kube',
  about: 'A Kubernetes API server: CRDs, watches, server-side apply, RBAC; good enough for kubectl.',
  start,
};
