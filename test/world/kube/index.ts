/**
 * # A Kubernetes API server, in this process
 *
 * Real HTTPS, real wire format: kubectl, client-go and our own controllers cannot tell it from kube-apiserver for what
 * they use. `test/kube` holds both to the same questions, `kubectl.test.ts` lets the real kubectl work against it.
 * There is no kubelet and no scheduler: Pods stay Pending, Deployments make nothing. Of the controller-manager it has
 * what empties namespaces, collects garbage, sums up ClusterRoles, and furnishes namespaces and token Secrets.
 *
 * The way of a request, and where to look:
 *
 * - `server.ts` listens; `pipeline.ts` leads each request through the switchboard, `authn.ts` (client certificates,
 *   tokens), `impersonate.ts`, `rbac.ts` and then `handle.ts`, which picks the work by verb. `body.ts` and `protobuf/`
 *   read what was sent; `negotiate.ts`, `answers.ts` and `table/` decide what the answer looks like.
 * - Reading: `list.ts` (pages, versions, `selectors.ts`) and `watch.ts`.
 * - Writing: `decode.ts`, `objects.ts` (create and update), `patch/`, `apply/` (server-side apply and managedFields),
 *   `delete.ts`. What may be written: `meta.ts` for all kinds, `strategy.ts` for the built-in ones, `custom.ts` for the
 *   rest, by their schema (`schema/`) and rules (`cel/`); `escalation.ts` for roles.
 * - Kinds: `builtin/` declares those that are always there; `crd.ts` and `definition-schema.ts` judge definitions,
 *   `establish.ts` takes them into service, `registry.ts` finds any of them. `discovery/` tells the world about them.
 * - `store.ts` is the "etcd": synchronous, with history. Several servers may share one; `controllers/` run once on it.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Room, RoomOptions, RunningRoom } from '../room.ts';
import { facts } from './facts.ts';
import { asArray, asObject } from './json.ts';
import { makeAuthority, newTokenKey } from './pki.ts';
import { startKube } from './server.ts';
import type { ApiObject, KubeStore } from './store.ts';

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

/** The room, with the door to its "etcd" that only a test may use. */
export interface KubeRoom extends RunningRoom {
  readonly store: KubeStore;
  restart(): Promise<void>;
}

/** An API server as the platform cluster: a CA, an administrator's token and a kubeconfig file of its own. */
export async function startKubeRoom(options: RoomOptions): Promise<KubeRoom> {
  const authority = await makeAuthority();
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
  let server = await startKube({ ...settings, port: options.port });
  for (const object of asArray(asObject(options.seed)['objects'])) server.store.put(object as ApiObject);
  const kubeconfig = join(options.folder, 'kubeconfig');
  const ca = join(options.folder, 'ca.crt');
  await writeFile(kubeconfig, kubeconfigOf(server.url, authority.cert, { token }), { mode: 0o600 });
  await writeFile(ca, authority.cert);
  return {
    store: server.store,
    line: { room: 'kube', url: server.url, credentials: { kubeconfig, token }, ca },
    restart: async () => {
      const { store, url } = server;
      await server.close();
      server = await startKube({ ...settings, store, port: Number(new URL(url).port), forbidsMilliseconds: 200 });
    },
    close: () => server.close(),
  };
}

export const room: Room = {
  ...facts,
  start: startKubeRoom,
};
