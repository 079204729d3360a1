/**
 * The path of a request:
 *
 * - `server.ts` listens; `request/pipeline.ts` passes each request to the interceptor, `auth/authentication.ts` (client
 *   certificates, tokens), `auth/impersonation.ts`, `auth/rbac.ts` and then `request/handle-request.ts`, which
 *   dispatches by verb. `request/read-body.ts` and `protobuf/` decode the body; `request/content-negotiation.ts`,
 *   `request/object-responses.ts` and `table/` encode the answer.
 * - Reading: `storage/list-objects.ts` (pages, versions, `storage/selectors.ts`) and `storage/watch-objects.ts`.
 * - Writing: `request/decode-object.ts`, `storage/write-object.ts` (create and update), `patch/`, `apply/` (server-side
 *   apply and managedFields), `storage/delete-object.ts`. Validation: `validation/metadata.ts` for all kinds,
 *   `validation/builtin-rules.ts` for the built-in ones, `validation/custom-resource.ts` for custom resources, by their
 *   schema (`schema/`) and rules (`cel/`); `auth/escalation.ts` for roles.
 * - Kinds: `builtin/` declares the built-in ones; `definitions/definition-rules.ts` and
 *   `definitions/definition-schema.ts` validate definitions, `definitions/establish.ts` establishes them,
 *   `storage/resource-registry.ts` finds any of them. `discovery/` publishes them.
 * - `storage/store.ts` is the "etcd": synchronous, with history. Several servers may share one; `controllers/` run once
 *   on it.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { RunningSimulator, Simulator, SimulatorOptions } from '../simulator.ts';
import { createKubeAuthority, newTokenKey } from './auth/certificates.ts';
import { kubeDescription } from './description.ts';
import { asArray, asObject } from './json.ts';
import { startKubeServer } from './server.ts';
import type { ApiObject, KubeStore } from './storage/store.ts';

/** A kubeconfig with inline data. */
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

/** The simulator, with access to its "etcd" for tests. */
export interface KubeSimulator extends RunningSimulator {
  readonly store: KubeStore;
  restart(): Promise<void>;
}

/** An API server as the platform cluster: a CA, an administrator's token and a kubeconfig file of its own. */
export async function startKubeSimulator(options: SimulatorOptions): Promise<KubeSimulator> {
  const authority = await createKubeAuthority();
  const token = randomBytes(16).toString('hex');
  const settings = {
    host: options.host,
    serving: await authority.issueServer([options.host, 'localhost']),
    clientCa: authority.cert,
    rootCa: authority.cert,
    serviceAccount: { privateKey: newTokenKey(), issuer: 'https://kubernetes.default.svc.cluster.local' },
    tokens: { [token]: { user: 'admin', groups: ['system:masters'] } },
    switchboard: options.switchboard,
  };
  let server = await startKubeServer({ ...settings, port: options.port });
  for (const object of asArray(asObject(options.seed)['objects'])) server.store.put(object as ApiObject);
  const kubeconfig = join(options.folder, 'kubeconfig');
  const ca = join(options.folder, 'ca.crt');
  await writeFile(kubeconfig, kubeconfigOf(server.url, authority.cert, { token }), { mode: 0o600 });
  await writeFile(ca, authority.cert);
  return {
    store: server.store,
    line: { simulator: 'kube', url: server.url, credentials: { kubeconfig, token }, ca },
    restart: async () => {
      const { store, url } = server;
      await server.close();
      server = await startKubeServer({ ...settings, store, port: Number(new URL(url).port), forbidsMilliseconds: 200 });
    },
    close: () => server.close(),
  };
}

export const kubeSimulator: Simulator = {
  ...kubeDescription,
  start: startKubeSimulator,
};
